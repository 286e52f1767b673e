/* The family's schema, and its entries. */
#include "kernels/moe/host/moe.h"

static const struct dt_backend_fact facts[MOE_N_FACTS] = {
    [MOE_EXPERTS] = { "experts", "", 1, MOE_MAX_EXPERTS },
    [MOE_TOP_K] = { "top_k", "", 1, MOE_MAX_TOP_K },
    [MOE_HIDDEN] = { "hidden", "", 1, 1 << 16 },
    [MOE_INTERMEDIATE] = { "intermediate", "", 1, 1 << 16 },
    [MOE_BF16] = { "bf16", "", 0, 1 },
    [MOE_OUTPUT_BF16] = { "output_bf16", "", 0, 1 },
};

static const char *const fields[MOE_N_FIELDS] = {
    [MOE_TOKENS] = "tokens", [MOE_LOAD] = "load",
};

static const int64_t k_step[] = { 0, 32, 128, MOE_MAX_STEP };
static const int64_t combine[] = { MOE_SLOTS, MOE_PAIRS };
static const int64_t block_m[] = { 1, 6, 12, 24, 48 };
static const int64_t tile_n[] = { 16, 64, 256 };
static const int64_t order[] = { 0, 1 };

static const struct dt_backend_param params[MOE_N_PARAMS] = {
    [MOE_K_STEP] = { "k_step", "", 1, 0, k_step, ARRAY_SIZE (k_step),
        "binding: each step of k starts from +0, and adding it to the sum rounds" },
    [MOE_COMBINE] = { "combine", "", 1, 0, combine, ARRAY_SIZE (combine),
        "binding: a token's experts are added slot by slot (0) or in pairs (1)" },
    [MOE_BLOCK_M] = { "block_m", "pairs", 0, 0, block_m, ARRAY_SIZE (block_m),
        "free: a pair's operations do not depend on the pairs beside it" },
    [MOE_TILE_N] = { "tile_n", "columns", 0, 0, tile_n, ARRAY_SIZE (tile_n),
        "free: an output's operations do not depend on the columns beside it" },
    [MOE_ORDER] = { "order", "", 0, 0, order, ARRAY_SIZE (order),
        "free: blocks share nothing, so any may be first (0: down the blocks, 1: along them)" },
};

static const struct dt_backend_family family = HOST_FAMILY ("moe");

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct host_size *ret, struct dt_backend_error *err)
{
    struct moe_shape s;
    int r = moe_shape_init (&s, call, ctx->identity.units, err);

    if (r == 0)
        *ret = s.size;
    return r;
}

const struct host_family host_moe = {
    .family = &family, .plan = plan, .fill = moe_fill, .run = moe_run,
};
