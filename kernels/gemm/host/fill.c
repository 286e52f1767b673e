/* A call's operands: seeded rows, keyed by request and token, and the site's weights. */
#include "kernels/gemm/host/gemm.h"
#include "kernels/host/terms.h"

#include <errno.h>

enum stream { STREAM_X = 1, STREAM_W };

struct fill {
    const struct gemm_shape *s;
    const struct dt_backend_call *call;
    char *operands;
};

/* The rows of one request. */
static void fill_rows (void *arg, size_t thread, size_t request)
{
    const struct fill *f = arg;
    const struct gemm_shape *s = f->s;
    const int64_t *start = (const int64_t *)(f->operands + s->start);
    size_t row, i;

    (void)thread;
    for (row = (size_t)start[request]; row < (size_t)start[request + 1]; row++) {
        uint64_t key = seed_key (f->call->seed[request], STREAM_X, row - (size_t)start[request], 0);

        for (i = 0; i < s->k; i++)
            seed_put (f->operands + s->x, row * s->k + i,
                      terms_value (key, terms_at (i, s->k, f->call->exchange), s->k,
                                   f->call->data, 1), s->bf16);
    }
}

/* One panel of weights. */
static void fill_panel (void *arg, size_t thread, size_t panel)
{
    const struct fill *f = arg;
    const struct gemm_shape *s = f->s;
    size_t column, i;

    (void)thread;
    for (column = panel * PRODUCT_PANEL; column < (panel + 1) * PRODUCT_PANEL; column++) {
        uint64_t key = seed_key (s->k, STREAM_W, column, 0);

        for (i = 0; i < s->k; i++)
            seed_put (f->operands + s->w,
                      (panel * s->k + i) * PRODUCT_PANEL + column % PRODUCT_PANEL,
                      column >= s->n ? 0.0f
                      : terms_value (key, terms_at (i, s->k, f->call->exchange), s->k,
                                     f->call->data, 0), s->bf16);
    }
}

int gemm_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
               uint64_t scatter, void *operands, struct dt_backend_error *err)
{
    struct gemm_shape s;
    struct fill f = { &s, call, operands };
    int64_t *start;
    size_t i;
    int r;

    (void)scatter; /* rows and weights have one place each */
    if ((r = gemm_shape_init (&s, call, ctx->identity.units, err)) < 0)
        return r;
    if (!operands)
        return host_fail (err, -EINVAL, "gemm: fill of %zu requests without a buffer",
                          s.n_requests);
    start = (int64_t *)(f.operands + s.start);
    start[0] = 0;
    for (i = 0; i < s.n_requests; i++)
        start[i + 1] = start[i] + call->request[i];
    host_pool_run (ctx->pool, fill_rows, &f, s.n_requests);
    host_pool_run (ctx->pool, fill_panel, &f, s.panels);
    return 0;
}
