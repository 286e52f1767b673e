/* moe/host/moe.h - the sizes, layout and blocks of one call of experts.
 * Uses: kernels/host/.  Used by: kernels/moe/host, its tests. */
#ifndef KERNELS_MOE_H
#define KERNELS_MOE_H

#include "kernels/host/host.h"
#include "kernels/host/product.h"

/* k between two visits of a panel, as gemm's. */
#define MOE_CHUNK 256
#define MOE_MAX_STEP 512
#define MOE_MAX_EXPERTS 1024
#define MOE_MAX_TOP_K 64
/* Most token-expert pairs of one call, so that int32 holds them. */
#define MOE_MAX_PAIRS (1u << 28)

enum moe_fact { MOE_EXPERTS, MOE_TOP_K, MOE_HIDDEN, MOE_INTERMEDIATE, MOE_BF16, MOE_OUTPUT_BF16,
                MOE_N_FACTS };
enum moe_field { MOE_TOKENS, MOE_LOAD, MOE_N_FIELDS };
enum moe_param { MOE_K_STEP, MOE_COMBINE, MOE_BLOCK_M, MOE_TILE_N, MOE_ORDER, MOE_N_PARAMS };
enum moe_combine { MOE_SLOTS, MOE_PAIRS };

/* A checked call.  Offsets are in bytes from the start of the buffer.
 *
 * Operands:
 *   start   int64 [n_requests + 1]      first token of each request
 *   id      int32 [m][top_k]            expert of each slot; -1: none
 *   weight  float [m][top_k]
 *   x       [m][hidden]                 tokens, requests in the call's order
 *   gate    [experts][up_panels][hidden][16]
 *   up      likewise
 *   down    [experts][down_panels][intermediate][16]
 * Output:   [m][hidden]
 * Workspace: pairs int32 [m top_k], blocks [m top_k], h [m top_k][16 up_panels],
 *            y [m top_k][16 down_panels], then `units` scratches */
struct moe_shape {
    size_t experts, top_k, hidden, intermediate, up_panels, down_panels;
    int bf16, output_bf16;
    size_t m, n_requests, n_pairs;
    size_t up_step, down_step;  /* k_step, 0 if it is not below the product's k */
    size_t block_m, tile_n;     /* as they come to bear; tile_n in columns, whole panels */
    int pairwise, columns_first;
    size_t start, id, weight, x, gate, up, down;
    size_t pairs, blocks, h, y, scratches, scratch_bytes;
    struct host_size size;
};

/* Pairs [first, first + n) of the sorted list, all of one expert. */
struct moe_block {
    uint32_t expert, first, n;
};

/* Check a call and find its sizes.  Errors as `plan` of the interface. */
int moe_shape_init (struct moe_shape *ret, const struct dt_backend_call *call, size_t units,
                    struct dt_backend_error *err);
/* Sort the call's pairs by expert and cut them into blocks; slots of no expert are left
 * out.  pairs [n_pairs], blocks [n_pairs]; *ret_n_blocks.
 *   -EINVAL  an id that is no expert, with token and slot */
int moe_align (const struct moe_shape *s, const int32_t *id, int32_t *pairs,
               struct moe_block *blocks, size_t *ret_n_blocks, struct dt_backend_error *err);
int moe_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
              uint64_t scatter, void *operands, struct dt_backend_error *err);
int moe_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
             const void *operands, void *output, void *workspace,
             struct dt_backend_error *err);

#endif
