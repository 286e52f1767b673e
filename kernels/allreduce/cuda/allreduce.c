/* The family's schema and entries. */
#include "kernels/allreduce/cuda/allreduce.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/allreduce/cuda/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static const struct dt_backend_fact facts[AR_N_FACTS] = {
    [AR_RANKS] = { "ranks", "", 2, AR_MAX_RANKS },
    [AR_BF16] = { "bf16", "", 0, 1 },
    [AR_MAX_BYTES] = { "max_bytes", "bytes", 2, 1 << 30 },
};

static const char *const fields[AR_N_FIELDS] = {
    [AR_BYTES] = "bytes", [AR_CAPTURED] = "captured",
};

static const int64_t order[] = { AR_BY_RANK, AR_NCCL };
static const int64_t algorithm[] = { AR_PUSH, AR_PULL, AR_TWO_SHOT, AR_WORDS };
static const int64_t blocks[] = { 4, 8, 16, 32, 64, AR_MAX_BLOCKS };

static const struct dt_backend_param params[AR_N_PARAMS] = {
    [AR_ORDER] = { "order", "0: by rank, 1: NCCL's", 1, 0, order, ARRAY_SIZE (order),
        "binding: NCCL's tree adds the ranks in an order of its own" },
    [AR_ALGORITHM] = { "algorithm", "0: push, 1: pull, 2: two-shot, 3: words", 0, 0, algorithm,
        ARRAY_SIZE (algorithm),
        "free: each element is summed in rank order, wherever that is done" },
    [AR_BLOCKS] = { "blocks", "thread blocks", 0, 0, blocks, ARRAY_SIZE (blocks),
        "free: elements are summed one by one; a block says which come together" },
};

static const struct dt_backend_family family = {
    .name = "allreduce",
    .facts = facts, .n_facts = ARRAY_SIZE (facts),
    .request_fields = fields, .n_request_fields = ARRAY_SIZE (fields),
    .params = params, .n_params = ARRAY_SIZE (params),
};

static int open_state (struct dt_backend_ctx *ctx, size_t slot, struct dt_backend_error *err)
{
    struct ar_group *g;
    int r;

    if ((r = ar_group_open (ctx, &g, err)) < 0)
        return r;
    ctx->state[slot] = g;
    return 0;
}

static void close_state (struct dt_backend_ctx *ctx, size_t slot)
{
    ctx->state[slot] = ar_group_free (ctx->state[slot]);
}

static int join (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_join *j,
                 struct dt_backend_error *err)
{
    return ar_group_join (ctx, ctx->state[slot], j, err);
}

static int plan (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 struct dt_backend_plan *ret, struct dt_backend_error *err)
{
    struct ar_shape s;
    int r;

    if ((r = ar_shape_init (&s, ctx->state[slot], call, err)) < 0)
        return r;
    *ret = (struct dt_backend_plan){
        .operand_bytes = s.operand_bytes,
        .output_bytes = s.output_bytes,
        .workspace_bytes = s.workspace_bytes,
        .launch = { s.launch[0], s.launch[1] },
    };
    return 0;
}

static int fill (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 uint64_t scatter, void *operands, struct dt_backend_error *err)
{
    char *base = operands;
    struct ar_shape s;
    int64_t *start;
    size_t bytes, i;
    int r;

    (void)scatter; /* there are no addresses to permute */
    if ((r = ar_shape_init (&s, ctx->state[slot], call, err)) < 0)
        return r;
    bytes = (s.n_requests + 1) * sizeof *start;
    if (!(start = malloc (bytes)))
        return cuda_fail (err, -ENOMEM, "out of memory");
    for (start[0] = 0, i = 0; i < s.n_requests; i++)
        start[i + 1] = start[i] + call->request[i * AR_N_FIELDS + AR_BYTES] / (s.bf16 ? 2 : 4);
    /* On the stream that fills, or the two would race.  What is copied from memory that is not
     * pinned is staged before the call returns, so 'start' may go. */
    r = cuda_check (ctx, cudaMemcpyAsync (base + s.start, start, bytes, cudaMemcpyHostToDevice,
                    ctx->stream), "rows", err);
    free (start);
    if (r == 0 && s.n_requests)
        r = cuda_check (ctx, cudaMemcpyAsync (base + s.seed, call->seed,
                        s.n_requests * sizeof *call->seed, cudaMemcpyHostToDevice, ctx->stream),
                        "seeds", err);
    if (r == 0)
        r = cuda_check (ctx, ar_fill_launch (ctx->stream, &s, call->data, call->exchange, operands),
                        "fill", err);
    return r;
}

static struct ar_args args_of (const struct ar_group *g, const struct ar_shape *s, const char *operands,
                               char *output, char *workspace)
{
    struct ar_args a = {
        .x = operands + s->x, .out = output, .ranks = (uint32_t)s->ranks, .first = (uint32_t)s->first,
        .chunk = (uint32_t)s->chunk, .vectors = s->vectors, .lost = g->lost_device,
        .timeout_ns = g->timeout_ns,
    };
    size_t i;

#ifdef DT_PLANT
    a.plant = ar_plant_only < 0 || ar_plant_only == (int)s->algorithm ? ar_plant : AR_PLANT_NONE;
#endif
    if (g->ranks > 1) {
        memcpy (a.bank, g->bank, sizeof a.bank);
        a.slot_blocks = AR_MAX_BLOCKS;
        a.slots_at = ar_slots_at (s->ranks, a.slot_blocks);
        return a;
    }
    for (i = 0; i < s->ranks; i++)
        a.bank[i] = workspace + s->bank + i * s->bank_bytes;
    a.slot_blocks = (uint32_t)s->blocks;
    a.slots_at = ar_slots_at (s->ranks, a.slot_blocks);
    a.out = workspace;
    return a;
}

/* All ranks in one launch, on memory that the caller lent: the flags start anew. */
static int launch_logical (struct dt_backend_ctx *ctx, const struct ar_shape *s, const struct ar_args *a,
                           const void *operands, void *output, struct dt_backend_error *err)
{
    size_t i;
    int r;

    for (i = 0; i < s->ranks; i++)
        if ((r = cuda_check (ctx, cudaMemsetAsync (a->bank[i], 0, s->algorithm == AR_WORDS
                                              ? a->slots_at : AR_WORDS_AT, ctx->stream),
                             "flags", err)) < 0)
            return r;
    if ((r = cuda_check (ctx, ar_launch (ctx->stream, a, s), "launch", err)) < 0)
        return r;
    return cuda_check (ctx, ar_gather_launch (ctx->stream, s, operands, a->out, output), "gather", err);
}

/* A rank that did not come: the others' memory may be written at any time from here on,
 * so the context gives no more sums. */
static int rank_lost (const struct ar_group *g, const struct dt_backend_call *call,
                      struct dt_backend_error *err)
{
    char which[32] = "some rank";

    if (*g->lost != AR_SOME_RANK)
        snprintf (which, sizeof which, "rank %u", *g->lost - 1);
    return cuda_refuse (call, err, -DT_BACKEND_EPEER, "%s is lost: it did not come within %llu ms;"
                        " start all ranks again", which, (unsigned long long)(g->timeout_ns / 1000000));
}

/* An error with the call that met it; of NCCL it may say that a rank is lost. */
static int check (struct ar_group *g, const struct dt_backend_call *call, int r,
                  const struct dt_backend_error *why, struct dt_backend_error *err)
{
    if (r == -DT_BACKEND_EPEER) {
        *g->lost = AR_SOME_RANK;
        return cuda_refuse (call, err, r, "%s; start all ranks again", why->text);
    }
    if (*g->lost && r != -DT_BACKEND_ELOST) /* this rank's own device says more */
        return rank_lost (g, call, err);
    return r < 0 ? cuda_refuse (call, err, r, "%s", why->text) : 0;
}

static int launch (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                   const void *operands, void *output, void *workspace,
                   struct dt_backend_error *err)
{
    struct ar_group *g = ctx->state[slot];
    struct dt_backend_error why = { "" };
    struct ar_shape s;
    struct ar_args a;
    int r;

    if ((r = ar_shape_init (&s, g, call, err)) < 0 || s.n == 0)
        return r;
    if (*g->lost)
        return rank_lost (g, call, err);
    a = args_of (g, &s, operands, output, workspace);
    if (s.order == AR_NCCL)
        r = ar_nccl_launch (g->nccl, ctx, a.x, output, s.n, s.bf16, &why);
    else if (g->ranks > 1)
        r = cuda_check (ctx, ar_launch (ctx->stream, &a, &s), "launch", &why);
    else
        r = launch_logical (ctx, &s, &a, operands, output, &why);
    return check (g, call, r, &why, err);
}

static int wait (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 struct dt_backend_error *err)
{
    struct ar_group *g = ctx->state[slot];
    struct dt_backend_error why = { "" };
    int r;

    if (g->ranks > 1 && call->param[AR_ORDER].one == AR_NCCL)
        r = ar_nccl_wait (g->nccl, ctx, &why);
    else
        r = cuda_check (ctx, cudaStreamSynchronize (ctx->stream), "run", &why);
    return check (g, call, r, &why, err);
}

static int rows (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 struct dt_backend_row *ret, struct dt_backend_error *err)
{
    struct ar_shape s;
    size_t i, at = 0;
    int r;

    if ((r = ar_shape_init (&s, ctx->state[slot], call, err)) < 0)
        return r;
    for (i = 0; i < s.n_requests; i++) {
        size_t length = (size_t)call->request[i * AR_N_FIELDS + AR_BYTES] * s.here;

        ret[i] = (struct dt_backend_row){ .offset = at, .length = length };
        at += length;
    }
    return 0;
}

const struct cuda_family cuda_allreduce = {
    .family = &family, .library = ar_group_library, .open = open_state, .close = close_state,
    .join = join, .plan = plan, .fill = fill, .launch = launch, .wait = wait, .rows = rows,
    .peers = 1,
};
