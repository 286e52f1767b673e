/* The family's schema, and its entries. */
#include "kernels/gemm/host/gemm.h"

static const struct dt_backend_fact facts[GEMM_N_FACTS] = {
    [GEMM_N] = { "n", "columns", 1, 1 << 20 },
    [GEMM_K] = { "k", "", 0, 1 << 20 },
    [GEMM_BF16] = { "bf16", "", 0, 1 },
    [GEMM_OUTPUT_BF16] = { "output_bf16", "", 0, 1 },
};

static const char *const fields[GEMM_N_FIELDS] = { [GEMM_TOKENS] = "tokens" };

static const int64_t splits[] = { 1, 2, 4, 8, 16 };
static const int64_t k_step[] = { 0, 32, 128, 512 };
static const int64_t tile_m[] = { 6, 24, 48, 96 };
static const int64_t tile_n[] = { 16, 64, 128, 256 };
static const int64_t order[] = { 0, 1 };

static const struct dt_backend_param params[GEMM_N_PARAMS] = {
    [GEMM_SPLITS] = { "splits", "", 1, 0, splits, ARRAY_SIZE (splits),
        "binding: each split of k starts from +0, and adding their sums rounds" },
    [GEMM_K_STEP] = { "k_step", "", 1, 0, k_step, ARRAY_SIZE (k_step),
        "binding: each step of k starts from +0, and adding it to the sum rounds" },
    [GEMM_TILE_M] = { "tile_m", "rows", 0, 0, tile_m, ARRAY_SIZE (tile_m),
        "free: an output's operations do not depend on the rows beside it" },
    [GEMM_TILE_N] = { "tile_n", "columns", 0, 0, tile_n, ARRAY_SIZE (tile_n),
        "free: an output's operations do not depend on the columns beside it" },
    [GEMM_ORDER] = { "order", "", 0, 0, order, ARRAY_SIZE (order),
        "free: tiles share nothing, so any may be first (0: down the rows, 1: along them)" },
};

static const struct dt_backend_family family = HOST_FAMILY ("gemm");

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct host_size *ret, struct dt_backend_error *err)
{
    struct gemm_shape s;
    int r = gemm_shape_init (&s, call, ctx->identity.units, err);

    if (r == 0)
        *ret = s.size;
    return r;
}

const struct host_family host_gemm = {
    .family = &family, .plan = plan, .fill = gemm_fill, .run = gemm_run,
};
