/* The family's schema, and its entries. */
#include "kernels/gemm/host/gemm.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

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

static const struct dt_backend_family family = {
    .name = "gemm",
    .facts = facts, .n_facts = ARRAY_SIZE (facts),
    .request_fields = fields, .n_request_fields = ARRAY_SIZE (fields),
    .params = params, .n_params = ARRAY_SIZE (params),
};

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_plan *ret, struct dt_backend_error *err)
{
    struct gemm_shape s;
    int r;

    if ((r = gemm_shape_init (&s, call, ctx->identity.units, err)) < 0)
        return r;
    *ret = (struct dt_backend_plan){
        .operand_bytes = s.operand_bytes,
        .output_bytes = s.output_bytes,
        .workspace_bytes = s.workspace_bytes,
        .launch = { s.launch[0], s.launch[1] },
    };
    return 0;
}

static int rows (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_row *ret, struct dt_backend_error *err)
{
    struct gemm_shape s;
    size_t i, at = 0;
    int r;

    if ((r = gemm_shape_init (&s, call, ctx->identity.units, err)) < 0)
        return r;
    for (i = 0; i < s.n_requests; i++) {
        size_t length = (size_t)call->request[i] * s.n * (s.output_bf16 ? 2 : 4);

        ret[i] = (struct dt_backend_row){ .offset = at, .length = length };
        at += length;
    }
    return 0;
}

const struct host_family host_gemm = {
    .family = &family, .plan = plan, .fill = gemm_fill, .run = gemm_run, .rows = rows,
};
