/* The family's schema, and its entries. */
#include "kernels/allreduce/host/allreduce.h"

static const struct dt_backend_fact facts[AR_N_FACTS] = {
    [AR_RANKS] = { "ranks", "", 2, HOST_MAX_RANKS },
    [AR_BF16] = { "bf16", "", 0, 1 },
    [AR_MAX_BYTES] = { "max_bytes", "bytes", 2, 1 << 28 },
};

static const char *const fields[AR_N_FIELDS] = {
    [AR_BYTES] = "bytes", [AR_CAPTURED] = "captured",
};

static const int64_t order[] = { AR_BY_RANK, AR_RING };
static const int64_t algorithm[] = { AR_PUSH, AR_PULL, AR_TWO_SHOT };
static const int64_t chunk[] = { 256, 1024, 4096, 16384 };

static const struct dt_backend_param params[AR_N_PARAMS] = {
    [AR_ORDER] = { "order", "0: by rank, 1: ring", 1, 0, order, ARRAY_SIZE (order),
        "binding: a ring adds the ranks from another start in each part of the message" },
    [AR_ALGORITHM] = { "algorithm", "0: push, 1: pull, 2: two-shot", 0, 0, algorithm,
        ARRAY_SIZE (algorithm),
        "free: each element is summed in rank order, wherever that is done" },
    [AR_CHUNK] = { "chunk", "elements", 0, 0, chunk, ARRAY_SIZE (chunk),
        "free: elements are summed one by one; a chunk says which come together" },
};

static const struct dt_backend_family family = HOST_FAMILY ("allreduce");

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct host_size *ret, struct dt_backend_error *err)
{
    struct ar_shape s;
    int r = ar_shape_init (&s, call, err);

    (void)ctx;
    if (r == 0)
        *ret = s.size;
    return r;
}

const struct host_family host_allreduce = {
    .family = &family, .plan = plan, .fill = ar_fill, .run = ar_run,
};
