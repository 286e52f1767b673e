/* The family's schema, and its entries. */
#include "kernels/rowwise/host/rowwise.h"

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

static const struct dt_backend_family family = HOST_FAMILY ("rowwise");

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct host_size *ret, struct dt_backend_error *err)
{
    struct row_shape s;
    int r = row_shape_init (&s, call, err);

    (void)ctx;
    if (r == 0)
        *ret = s.size;
    return r;
}

const struct host_family host_rowwise = {
    .family = &family, .plan = plan, .fill = row_fill, .run = row_run,
};
