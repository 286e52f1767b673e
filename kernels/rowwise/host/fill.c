/* A call's operands: seeded values, keyed by request and position. */
#include <errno.h>
#include <string.h>

#include "kernels/host/seed.h"
#include "kernels/rowwise/host/rowwise.h"

enum stream { STREAM_X = 1, STREAM_WEIGHT, STREAM_SAMPLE };

struct fill {
    const struct row_shape *s;
    const struct dt_backend_call *call;
    char *operands;
    float pad; /* what lies where no column is */
};

/* The column whose value stands at 'column', with the last one and the one
 * `exchange` before it exchanged. */
static size_t standing_at (const struct fill *f, size_t column)
{
    size_t by = f->call->exchange, last = f->s->columns - 1;

    if (by == 0 || by >= f->s->columns / 2)
        return column;
    return column == last ? last - by : column == last - by ? last : column;
}

/* Norms: either sign, over 8 binades, or over 40.  Logits: within 8 of each other,
 * so that every column has a part in the sum; spread ones lie over 48. */
static float value_of (const struct row_shape *s, uint32_t h, uint32_t data)
{
    int spread = data == DT_BACKEND_SPREAD;

    if (s->op == ROW_NORM)
        return seed_uniform (h) * seed_power (spread ? (int)(h % 41) - 20 : (int)(h & 7) - 4);
    return seed_uniform (h) * (spread ? 24.0f : 4.0f);
}

/* One row: columns of all shards, each with its padding. */
static void fill_row (const struct fill *f, size_t row, uint64_t key)
{
    const struct row_shape *s = f->s;
    size_t stride = s->width + ROW_PAD, shard, j;

    for (shard = 0; shard < s->shards; shard++) {
        size_t at = (shard * s->n_rows + row) * stride;

        for (j = 0; j < s->width; j++) {
            size_t column = standing_at (f, shard * s->width + j);

            seed_put (f->operands + s->x, at + j,
                      value_of (s, seed_word (key, column), f->call->data), s->bf16);
        }
        for (; j < stride; j++)
            seed_put (f->operands + s->x, at + j, f->pad, s->bf16);
    }
}

static void fill_request (void *arg, size_t thread, size_t request)
{
    const struct fill *f = arg;
    const struct row_shape *s = f->s;
    const int64_t *start = (const int64_t *)(f->operands + s->start);
    uint64_t seed = f->call->seed[request];
    size_t row, first = (size_t)start[request], end = (size_t)start[request + 1];

    (void)thread;
    for (row = first; row < end; row++) {
        fill_row (f, row, seed_key (seed, STREAM_X, row - first, 0));
        if (s->op != ROW_SAMPLE)
            continue;
        ((uint64_t *)(f->operands + s->seed))[row] = seed_key (seed, STREAM_SAMPLE, 0, 0);
        ((uint64_t *)(f->operands + s->position))[row] = row - first;
    }
}

/* Weights are the site's, not a request's: near 1.  The later half of them is 0 in
 * data that cancels or is spread, so that an exchange there changes order alone. */
static void fill_weight (const struct fill *f)
{
    const struct row_shape *s = f->s;
    uint64_t key = seed_key (0, STREAM_WEIGHT, 0, 0);
    size_t j;

    for (j = 0; j < s->columns; j++) {
        float w = 1.0f + 0.25f * seed_uniform (seed_word (key, j));

        if (f->call->data != DT_BACKEND_RANDOM && j >= s->columns / 2)
            w = 0.0f;
        seed_put (f->operands + s->weight, j, w, s->bf16);
    }
}

int row_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call, uint64_t scatter,
              void *operands, struct dt_backend_error *err)
{
    struct row_shape s;
    struct fill f = { .s = &s, .call = call, .operands = operands,
                      .pad = scatter & 1 ? 0x1p20f : __builtin_nanf ("") };
    int64_t *start;
    size_t i;
    int r;

    if ((r = row_shape_init (&s, call, err)) < 0)
        return r;
    if (!operands)
        return host_fail (err, -EINVAL, "rowwise: fill of %zu requests without a buffer",
                          s.n_requests);
    if (call->exchange && s.op != ROW_NORM)
        return host_fail (err, -DT_BACKEND_EUNSUPPORTED, "rowwise: op=%d has an output for each"
                          " term: no two can be exchanged", (int)s.op);
    start = (int64_t *)(f.operands + s.start);
    for (start[0] = 0, i = 0; i < s.n_requests; i++)
        start[i + 1] = start[i] + call->request[i * ROW_N_FIELDS + ROW_TOKENS];
    if (s.op == ROW_NORM)
        fill_weight (&f);
    host_pool_run (ctx->pool, fill_request, &f, s.n_requests);
    return 0;
}
