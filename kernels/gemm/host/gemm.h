/* gemm/host/gemm.h - the sizes, layout and items of one product.
 * Uses: kernels/host/.  Used by: kernels/gemm/host, its tests. */
#ifndef KERNELS_GEMM_H
#define KERNELS_GEMM_H

#include "kernels/host/host.h"
#include "kernels/host/product.h"

/* Splits are cut at multiples of so many k. */
#define GEMM_UNIT 16
/* k between two visits of a panel: 16 KiB of it stay in the first cache while the rows
 * of a tile pass. */
#define GEMM_CHUNK 256
/* Most items of one call; each takes at least a microsecond. */
#define GEMM_MAX_ITEMS (1u << 24)

enum gemm_fact { GEMM_N, GEMM_K, GEMM_BF16, GEMM_OUTPUT_BF16, GEMM_N_FACTS };
enum gemm_field { GEMM_TOKENS, GEMM_N_FIELDS };
enum gemm_param { GEMM_SPLITS, GEMM_K_STEP, GEMM_TILE_M, GEMM_TILE_N, GEMM_ORDER, GEMM_N_PARAMS };

/* A checked call.  Offsets are in bytes from the start of the buffer.
 *
 * Operands:
 *   start   int64 [n_requests + 1]      first row of each request
 *   x       [m][k]                      rows, requests in the call's order
 *   w       [panels][k][16]             weights; columns past n are 0
 * Output:   [m][n]
 * Workspace: `units` scratches; with several splits, partial sums [splits][m][16 panels] */
struct gemm_shape {
    size_t m, n, k, panels, n_requests;
    int bf16, output_bf16;
    size_t splits, k_step;          /* as they come to bear on this k */
    size_t tile_m, tile_n;          /* likewise; tile_n in columns, whole panels */
    int columns_first;
    size_t start, x, w;
    size_t row_tiles, column_tiles, n_items; /* items: tiles times splits */
    size_t scratch_bytes, partials;
    struct host_size size;
};

/* Check a call and find its sizes.  Errors as `plan` of the interface. */
int gemm_shape_init (struct gemm_shape *ret, const struct dt_backend_call *call, size_t units,
                     struct dt_backend_error *err);
int gemm_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
               uint64_t scatter, void *operands, struct dt_backend_error *err);
int gemm_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
              const void *operands, void *output, void *workspace,
              struct dt_backend_error *err);
#endif
