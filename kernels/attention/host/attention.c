/* The family's schema, and its entries. */
#include "kernels/attention/host/attention.h"

#include <errno.h>

static const struct dt_backend_fact facts[ATTN_N_FACTS] = {
    [ATTN_HEAD_DIM] = { "head_dim", "elements", 16, ATTN_MAX_HEAD_DIM },
    [ATTN_Q_HEADS] = { "q_heads", "", 1, 1024 },
    [ATTN_KV_HEADS] = { "kv_heads", "", 1, 1024 },
    [ATTN_PAGE_SIZE] = { "page_size", "tokens", 1, 256 },
    [ATTN_BF16] = { "bf16", "", 0, 1 },
    [ATTN_OUTPUT_BF16] = { "output_bf16", "", 0, 1 },
    [ATTN_MAX_CONTEXT] = { "max_context", "tokens", 1, 1 << 20 },
    [ATTN_MAX_BATCH] = { "max_batch", "requests", 1, 1 << 16 },
    [ATTN_MAX_QUERY] = { "max_query", "tokens", 1, 1 << 20 },
    [ATTN_WINDOW] = { "window", "tokens", 0, 1 << 20, .optional = 1 },
};

static const char *const fields[ATTN_N_FIELDS] = {
    [ATTN_QUERY_LEN] = "query_len", [ATTN_KV_LEN] = "kv_len",
};

static const int64_t block_n[] = { 16, 32, 64, 128 };
static const int64_t split_stride[] = { 0, 256, 512, 1024, 2048, 4096 };
static const int64_t tile_m[] = { 1, 4, 16, 32, 64 };
static const int64_t workers[] = { 1, 2, 4, 8 };

static const struct dt_backend_param params[ATTN_N_PARAMS] = {
    [ATTN_BLOCK_N] = { "block_n", "tokens", 1, 0, block_n, ARRAY_SIZE (block_n),
        "binding: the running maximum, and so each rounding of P and of the sums, follows the"
        " key blocks" },
    [ATTN_SPLIT_STRIDE] = { "split_stride", "tokens", 1, 0, split_stride,
        ARRAY_SIZE (split_stride),
        "binding: each split starts from an empty state, and folding states rounds" },
    [ATTN_TILE_M] = { "tile_m", "rows", 0, 1, tile_m, ARRAY_SIZE (tile_m),
        "free: a row's operations do not depend on the rows beside it" },
    [ATTN_WORKERS] = { "workers_per_request", "threads", 0, 1, workers, ARRAY_SIZE (workers),
        "free: splits are folded left to right, whoever computed them" },
};

static const struct dt_backend_family family = HOST_FAMILY ("attention");

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct host_size *ret, struct dt_backend_error *err)
{
    struct attn_shape s;
    int r = attn_shape_init (&s, call, ctx->identity.units, err);

    if (r == 0)
        *ret = s.size;
    return r;
}

const struct host_family host_attention = {
    .family = &family, .plan = plan, .fill = attn_fill, .run = attn_run,
};
