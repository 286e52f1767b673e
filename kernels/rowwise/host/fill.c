/* A call's operands: seeded values, keyed by request and position. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "kernels/host/seed.h"
#include "kernels/rowwise/host/rowwise.h"

/* More than bf16 and fp32 round off a logit of at most 24 and its noise. */
#define ROUNDINGS 0.25
/* Most columns of random data whose weight is 0. */
#define WEIGHTLESS 128
/* The largest block. */
#define MOST_LANES 1024

enum stream { STREAM_X = 1, STREAM_WEIGHT, STREAM_SAMPLE };

struct fill {
    const struct row_shape *s;
    const struct dt_backend_call *call;
    char *operands;
    float pad; /* what lies where no column is */
};

/* A norm's last columns whose weights are 0, so that an exchange there changes order
 * alone. */
static size_t weightless (const struct fill *f)
{
    size_t half = f->s->columns / 2;

    return f->call->data != DT_BACKEND_RANDOM || half < WEIGHTLESS ? half : WEIGHTLESS;
}

/* The column whose value stands at 'column', with the last one and the one 'by' before
 * it exchanged. */
static size_t standing_at (const struct fill *f, size_t by, size_t column)
{
    size_t last = f->s->columns - 1;

    if (by == 0 || by >= weightless (f))
        return column;
    return column == last ? last - by : column == last - by ? last : column;
}

/* The one heavy logit of a cancelling row: anywhere, or in the last one's lane (of as many
 * lanes as a block may have and a shard has columns for). */
static size_t heaviest (const struct row_shape *s, uint64_t key)
{
    uint32_t h = seed_word (key, s->columns);
    size_t lanes = MOST_LANES;

    while (lanes >= s->width)
        lanes /= 2;
    return h % 2 ? s->columns - 1 - lanes : h / 2 % s->columns;
}

/* Nothing cancels in sums of squares or powers; "cancelling" data are those in which they
 * show most.  Norms: either sign, over 8 binades, or 40; cancelling: the columns that an
 * exchange by a power of two moves are most of the sum.  Logits: within 8 of each other,
 * or 48; cancelling: one is heavy, all others together a twentieth of it, so that the sum
 * is rounded at each of them and its logarithm, near 0, shows each rounding. */
static float value_of (const struct row_shape *s, uint64_t key, size_t column, uint32_t data)
{
    size_t by = s->columns - 1 - column;
    uint32_t h = seed_word (key, column);
    float x = seed_uniform (h);

    if (s->op != ROW_NORM)
        return data == DT_BACKEND_RANDOM   ? x * 4.0f
               : data == DT_BACKEND_SPREAD ? x * 24.0f
               : heaviest (s, key) != column ? x * 2.5f - 11.5f : 0.0f;
    if (data == DT_BACKEND_SPREAD)
        return x * seed_power ((int)(h % 41) - 20);
    if (data == DT_BACKEND_CANCEL && (by & (by - 1)) == 0 && by < s->columns / 2)
        return x * seed_power (8);
    return x * seed_power ((int)(h & 7) - 4);
}

/* g_j of the README, in float64. */
static double noise_of (uint64_t sampler, size_t column)
{
    uint32_t h = (uint32_t)(seed_mix (sampler + (column + 1) * 0x9e3779b97f4a7c15u) >> 41);

    return -log (-log ((2.0 * h + 1) * 0x1p-24));
}

/* The exchange of a row whose token is drawn: only of terms that are not drawn at either
 * place, for then the token stays, and what its log-probability shows is order alone. */
static size_t exchange_of (const struct fill *f, uint64_t key, uint64_t sampler)
{
    size_t by = f->call->exchange, last = f->s->columns - 1, j;
    double logit = -INFINITY, noise = -INFINITY, drawn = -INFINITY;

    for (j = 0; by && j <= last; j++) {
        double x = value_of (f->s, key, j, f->call->data);
        double g = noise_of (sampler, j);

        if (j == last || j + by == last) {
            logit = fmax (logit, x);
            noise = fmax (noise, g);
        } else {
            drawn = fmax (drawn, x + g);
        }
    }
    return logit + noise + ROUNDINGS < drawn ? by : 0;
}

/* One row: columns of all shards, each with its padding. */
static void fill_row (const struct fill *f, size_t row, uint64_t key, size_t by)
{
    const struct row_shape *s = f->s;
    size_t stride = s->width + ROW_PAD, shard, j;

    for (shard = 0; shard < s->shards; shard++) {
        size_t at = (shard * s->n_rows + row) * stride;

        for (j = 0; j < s->width; j++) {
            size_t column = standing_at (f, by, shard * s->width + j);

            seed_put (f->operands + s->x, at + j,
                      value_of (s, key, column, f->call->data), s->bf16);
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
        uint64_t key = seed_key (seed, STREAM_X, row - first, 0);
        uint64_t sample = seed_key (seed, STREAM_SAMPLE, 0, 0);

        if (s->op != ROW_SAMPLE) {
            fill_row (f, row, key, f->call->exchange);
            continue;
        }
        fill_row (f, row, key, exchange_of (f, key, row_key (sample, row - first)));
        ((uint64_t *)(f->operands + s->seed))[row] = sample;
        ((uint64_t *)(f->operands + s->position))[row] = row - first;
    }
}

/* Weights are the site's, not a request's: near 1, but for the last. */
static void fill_weight (const struct fill *f)
{
    const struct row_shape *s = f->s;
    uint64_t key = seed_key (0, STREAM_WEIGHT, 0, 0);
    size_t j;

    for (j = 0; j < s->columns; j++) {
        float w = 1.0f + 0.25f * seed_uniform (seed_word (key, j));

        if (j >= s->columns - weightless (f))
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
    if (call->exchange && s.op == ROW_LOG_SOFTMAX)
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
