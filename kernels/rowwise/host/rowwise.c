/* The family's schema, and its entries. */
#include "kernels/rowwise/host/rowwise.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static const struct dt_backend_fact facts[ROW_N_FACTS] = {
    [ROW_OP] = { "op", "0: norm, 1: log-softmax, 2: sample", ROW_NORM, ROW_SAMPLE },
    [ROW_COLUMNS] = { "columns", "elements", 8, 1 << 20 },
    [ROW_SHARDS] = { "shards", "", 1, ROW_MAX_SHARDS },
    [ROW_BF16] = { "bf16", "", 0, 1 },
    [ROW_OUTPUT_BF16] = { "output_bf16", "", 0, 1 },
    [ROW_TOKEN_BUDGET] = { "token_budget", "tokens", 1, 1 << 20 },
};

static const char *const fields[ROW_N_FIELDS] = { [ROW_TOKENS] = "tokens" };

static const int64_t block[] = { 64, 128, 256, 512, ROW_MAX_BLOCK };
static const int64_t rows[] = { 1, 4, 16, 64 };
static const int64_t workers[] = { 1, 2, 4, 8 };

static const struct dt_backend_param params[ROW_N_PARAMS] = {
    [ROW_BLOCK] = { "block", "lanes", 1, 0, block, ARRAY_SIZE (block),
        "binding: a row is summed in as many partial sums, which a tree then adds" },
    [ROW_ROWS] = { "rows", "rows", 0, 0, rows, ARRAY_SIZE (rows),
        "free: a row's operations do not depend on the rows beside it" },
    [ROW_WORKERS] = { "workers_per_row", "threads", 0, 0, workers, ARRAY_SIZE (workers),
        "free: threads share out whole lanes, and one tree adds them whoever computed them" },
};

static const struct dt_backend_family family = {
    .name = "rowwise",
    .facts = facts, .n_facts = ARRAY_SIZE (facts),
    .request_fields = fields, .n_request_fields = ARRAY_SIZE (fields),
    .params = params, .n_params = ARRAY_SIZE (params),
};

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_plan *ret, struct dt_backend_error *err)
{
    struct row_shape s;
    int r;

    (void)ctx;
    if ((r = row_shape_init (&s, call, err)) < 0)
        return r;
    *ret = (struct dt_backend_plan){
        .operand_bytes = s.operand_bytes,
        .output_bytes = s.output_bytes,
        .workspace_bytes = s.workspace_bytes,
        .launch = { s.launch[0], s.launch[1] },
    };
    return 0;
}

static int rows_of (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                    struct dt_backend_row *ret, struct dt_backend_error *err)
{
    struct row_shape s;
    size_t i, at = 0;
    int r;

    (void)ctx;
    if ((r = row_shape_init (&s, call, err)) < 0)
        return r;
    for (i = 0; i < s.n_requests; i++) {
        size_t length = (size_t)call->request[i * ROW_N_FIELDS + ROW_TOKENS] * s.row_bytes;

        ret[i] = (struct dt_backend_row){ .offset = at, .length = length };
        at += length;
    }
    return 0;
}

const struct host_family host_rowwise = {
    .family = &family, .plan = plan, .fill = row_fill, .run = row_run, .rows = rows_of,
};
