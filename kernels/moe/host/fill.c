/* A call's operands: seeded tokens and routing, keyed by request and token, and the
 * site's experts. */
#include "kernels/moe/host/moe.h"
#include "kernels/host/terms.h"

#include <errno.h>

enum stream { STREAM_X = 1, STREAM_ROUTE, STREAM_WEIGHT, STREAM_GATE, STREAM_UP, STREAM_DOWN };

/* Draws for one slot before the first free expert is taken. */
#define MAX_TRIES 64

struct fill {
    const struct moe_shape *s;
    const struct dt_backend_call *call;
    char *operands;
};

/* Expert e is popular as 1 / sqrt (e + 1): the square of a uniform number. */
static int32_t draw_expert (const struct moe_shape *s, uint64_t key, size_t draw)
{
    double u = (double)seed_word (key, draw) * 0x1p-32;

    return (int32_t)(u * u * (double)s->experts);
}

static int has (const int32_t *id, size_t n, int32_t expert)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (id[i] == expert)
            return 1;
    return 0;
}

/* Distinct experts of one token, as routers choose them. */
static void route (const struct moe_shape *s, uint64_t key, int32_t *ret)
{
    size_t slot, draw = 0, tries;

    for (slot = 0; slot < s->top_k; slot++) {
        for (tries = 0; tries < MAX_TRIES; tries++) {
            ret[slot] = draw_expert (s, key, draw++);
            if (!has (ret, slot, ret[slot]))
                break;
        }
        if (tries == MAX_TRIES)
            for (ret[slot] = 0; has (ret, slot, ret[slot]);)
                ret[slot]++;
    }
}

static void fill_token (const struct fill *f, uint64_t seed, size_t position, size_t token)
{
    const struct moe_shape *s = f->s;
    int32_t expert[MOE_MAX_TOP_K], *id = (int32_t *)(f->operands + s->id) + token * s->top_k;
    float *weight = (float *)(f->operands + s->weight) + token * s->top_k;
    uint64_t key = seed_key (seed, STREAM_WEIGHT, position, 0);
    size_t i;

    route (s, seed_key (seed, STREAM_ROUTE, position, 0), expert);
    for (i = 0; i < s->top_k; i++) {
        size_t from = terms_at (i, s->top_k, f->call->exchange);

        id[i] = expert[from];
        weight[i] = (seed_uniform (seed_word (key, from)) + 1.5f) / (float)s->top_k;
    }
    key = seed_key (seed, STREAM_X, position, 0);
    for (i = 0; i < s->hidden; i++)
        seed_put (f->operands + s->x, token * s->hidden + i,
                  terms_value (key, terms_at (i, s->hidden, f->call->exchange), s->hidden,
                               f->call->data, 1), s->bf16);
}

static void fill_request (void *arg, size_t thread, size_t request)
{
    const struct fill *f = arg;
    const int64_t *start = (const int64_t *)(f->operands + f->s->start);
    size_t token;

    (void)thread;
    for (token = (size_t)start[request]; token < (size_t)start[request + 1]; token++)
        fill_token (f, f->call->seed[request], token - (size_t)start[request], token);
}

/* One panel of one expert's weights: n columns, k terms each.  The columns of gate and
 * up are the terms of down, and are exchanged with them. */
static void fill_panel (const struct fill *f, enum stream stream, size_t expert, size_t panel)
{
    const struct moe_shape *s = f->s;
    int down = stream == STREAM_DOWN;
    size_t n = down ? s->hidden : s->intermediate, k = down ? s->intermediate : s->hidden, c, i;
    size_t panels = down ? s->down_panels : s->up_panels;
    char *w = f->operands + (down ? s->down : stream == STREAM_UP ? s->up : s->gate);

    for (c = panel * PRODUCT_PANEL; c < (panel + 1) * PRODUCT_PANEL; c++) {
        size_t from = down || c >= n ? c : terms_at (c, n, f->call->exchange);
        uint64_t key = seed_key (k, stream, from, expert);

        for (i = 0; i < k; i++)
            seed_put (w, ((expert * panels + panel) * k + i) * PRODUCT_PANEL + c % PRODUCT_PANEL,
                      c >= n ? 0.0f
                      : terms_value (key, terms_at (i, k, f->call->exchange), k,
                                     down ? DT_BACKEND_RANDOM : f->call->data, 0), s->bf16);
    }
}

static void fill_expert (void *arg, size_t thread, size_t expert)
{
    const struct fill *f = arg;
    size_t i;

    (void)thread;
    for (i = 0; i < f->s->up_panels; i++) {
        fill_panel (f, STREAM_GATE, expert, i);
        fill_panel (f, STREAM_UP, expert, i);
    }
    for (i = 0; i < f->s->down_panels; i++)
        fill_panel (f, STREAM_DOWN, expert, i);
}

int moe_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
              uint64_t scatter, void *operands, struct dt_backend_error *err)
{
    struct moe_shape s;
    struct fill f = { &s, call, operands };
    int64_t *start;
    size_t i;
    int r;

    (void)scatter; /* tokens and weights have one place each */
    if ((r = moe_shape_init (&s, call, ctx->identity.units, err)) < 0)
        return r;
    if (!operands)
        return host_fail (err, -EINVAL, "moe: fill of %zu requests without a buffer",
                          s.n_requests);
    start = (int64_t *)(f.operands + s.start);
    start[0] = 0;
    for (i = 0; i < s.n_requests; i++)
        start[i + 1] = start[i] + call->request[i * MOE_N_FIELDS + MOE_TOKENS];
    host_pool_run (ctx->pool, fill_request, &f, s.n_requests);
    host_pool_run (ctx->pool, fill_expert, &f, s.experts);
    return 0;
}
