/* A call's operands: seeded values, keyed by request, rank and element. */
#include <errno.h>
#include <string.h>

#include "kernels/allreduce/host/allreduce.h"
#include "kernels/host/seed.h"

enum stream { STREAM_X = 1 };

struct fill {
    const struct ar_shape *s;
    const struct dt_backend_call *call;
    char *operands;
};

/* The rank whose values stand at 'rank', with the last one and the one `exchange`
 * before it exchanged. */
static size_t standing_at (const struct fill *f, size_t rank)
{
    size_t by = f->call->exchange, last = f->s->ranks - 1;

    if (by == 0 || by > last)
        return rank;
    return rank == last ? last - by : rank == last - by ? last : rank;
}

/* One rank's part of one request: either sign, over 8 binades; over 40 in data that are
 * spread or cancel, so that also sums of few bf16 numbers round.
 * Cancelling data: the later half of the ranks has the negated values of the earlier,
 * in the same order; all of a sum vanishes but what was rounded in between. */
static void fill_part (const struct fill *f, size_t request, size_t rank)
{
    const struct ar_shape *s = f->s;
    const int64_t *start = (const int64_t *)(f->operands + s->start);
    size_t n = (size_t)(start[request + 1] - start[request]), at, i;
    size_t source = standing_at (f, rank), half = s->ranks / 2;
    float sign = 1.0f;
    uint64_t key;

    if (f->call->data == DT_BACKEND_CANCEL && source >= half && source < 2 * half) {
        source -= half;
        sign = -1.0f;
    }
    key = seed_key (f->call->seed[request], STREAM_X, source, 0);
    at = rank * s->n + (size_t)start[request];
    for (i = 0; i < n; i++) {
        uint32_t h = seed_word (key, i);
        int by = f->call->data != DT_BACKEND_RANDOM ? (int)(h % 41) - 20 : (int)(h & 7) - 4;

        seed_put (f->operands + s->x, at + i, sign * seed_uniform (h) * seed_power (by), s->bf16);
    }
}

static void fill_task (void *arg, size_t thread, size_t task)
{
    const struct fill *f = arg;

    (void)thread;
    fill_part (f, task / f->s->ranks, task % f->s->ranks);
}

int ar_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call, uint64_t scatter,
             void *operands, struct dt_backend_error *err)
{
    struct ar_shape s;
    struct fill f = { .s = &s, .call = call, .operands = operands };
    int64_t *start;
    size_t i;
    int r;

    (void)scatter; /* a message lies in one piece: there are no addresses to permute */
    if ((r = ar_shape_init (&s, call, err)) < 0)
        return r;
    if (!operands)
        return host_fail (err, -EINVAL, "allreduce: fill of %zu requests without a buffer",
                          s.n_requests);
    start = (int64_t *)(f.operands + s.start);
    for (start[0] = 0, i = 0; i < s.n_requests; i++)
        start[i + 1] = start[i] + call->request[i * AR_N_FIELDS + AR_BYTES] / (int64_t)ar_elem (&s);
    host_pool_run (ctx->pool, fill_task, &f, s.n_requests * s.ranks);
    return 0;
}
