/* Schedule a call's tiles and splits over the threads. */
#include "kernels/gemm/host/gemm.h"
#include "kernels/gemm/host/plant.h"

#include <errno.h>
#include <string.h>

struct job {
    const struct gemm_shape *s;
    const struct product_kernels *kernels;
    const char *operands;
    char *output, *workspace;
};

/* One item: rows [row, row + rows) and panels of one split. */
struct tile {
    size_t row, rows, panel, panels, split;
    float *acc;    /* [rows][ld_acc] */
    size_t ld_acc;
    float *wide;   /* [rows][2 * GEMM_CHUNK], of x in fp32 */
};

/* Where split i of the k begins; split `splits` is the end. */
static size_t split_at (const struct gemm_shape *s, size_t i)
{
    size_t units = s->k / GEMM_UNIT + (s->k % GEMM_UNIT != 0);

    return host_min (i * units / s->splits * GEMM_UNIT, s->k);
}

static float *partial_at (const struct job *j, size_t split, size_t row)
{
    const struct gemm_shape *s = j->s;

    return (float *)(j->workspace + s->partials) + (split * s->m + row) * s->panels * PRODUCT_PANEL;
}

static void tile_init (const struct job *j, size_t thread, size_t item, struct tile *t)
{
    const struct gemm_shape *s = j->s;
    size_t tiles = s->row_tiles * s->column_tiles, at = item % tiles;
    size_t row = s->columns_first ? at / s->column_tiles : at % s->row_tiles;
    size_t column = s->columns_first ? at % s->column_tiles : at / s->row_tiles;
    size_t width = s->tile_n / PRODUCT_PANEL;
    float *scratch = (float *)(j->workspace + thread * s->scratch_bytes);

    *t = (struct tile){ .row = row * s->tile_m, .panel = column * width, .split = item / tiles };
    t->rows = host_min (s->tile_m, s->m - t->row);
    t->panels = host_min (width, s->panels - t->panel);
    t->acc = s->splits == 1 ? scratch
                            : partial_at (j, t->split, t->row) + t->panel * PRODUCT_PANEL;
    t->ld_acc = s->splits == 1 ? s->tile_n : s->panels * PRODUCT_PANEL;
    t->wide = s->splits == 1 ? scratch + s->tile_m * s->tile_n : scratch;
}

/* k in [k, k + n) of the tile into its sums.  step: as a chain of its own. */
static void run_chunk (const struct job *j, const struct tile *t, size_t k, size_t n, int step)
{
    const struct gemm_shape *s = j->s;
    size_t elem = s->bf16 ? 2 : 4, i, r;
    const char *x = j->operands + s->x + (t->row * s->k + k) * elem;
    struct product p = { .bf16 = s->bf16, .n = n, .ld_w = s->k, .ld_acc = t->ld_acc };

    for (i = 0; s->bf16 && i < t->rows; i++)
        j->kernels->widen (x + i * s->k * elem, n, t->wide + i * 2 * GEMM_CHUNK);
    p.ld_x = s->bf16 ? 2 * GEMM_CHUNK : s->k;
    p.panels = t->rows == 1 ? t->panels : 1; /* one row takes four panels at a time */
    for (i = 0; i < t->panels; i += p.panels)
        for (r = 0; r < t->rows; r += p.rows) {
            p.rows = host_min (PRODUCT_ROWS, t->rows - r);
            if (GEMM_PLANTED (ROW17) && t->row + r <= 17)
                p.rows = 1;
            p.x = (s->bf16 ? t->wide : (const float *)x) + r * p.ld_x;
            p.w = j->operands + s->w + ((t->panel + i) * s->k + k) * PRODUCT_PANEL * elem;
            p.acc = t->acc + r * t->ld_acc + i * PRODUCT_PANEL;
            (step || (GEMM_PLANTED (ROW17) && t->row + r == 17) ? j->kernels->sum
                                                                : j->kernels->chain) (&p);
        }
}

static void run_item (void *arg, size_t thread, size_t item)
{
    const struct job *j = arg;
    const struct gemm_shape *s = j->s;
    size_t k, n, end, i, first;
    struct tile t;

    tile_init (j, thread, item, &t);
    first = k = split_at (s, t.split);
    end = split_at (s, t.split + 1);
    for (i = 0; i < t.rows; i++)
        memset (t.acc + i * t.ld_acc, 0, t.panels * PRODUCT_PANEL * sizeof (float));
    if (GEMM_PLANTED (TAIL) && t.rows < s->tile_m && end > first)
        run_chunk (j, &t, --end, 1, 0);
    for (; k < end; k += n) {
        n = host_min (s->k_step ? s->k_step : GEMM_CHUNK, end - k);
        run_chunk (j, &t, k, n, s->k_step != 0);
    }
    for (i = 0; s->splits == 1 && i < t.rows; i++)
        j->kernels->finish (t.acc + i * t.ld_acc,
                            host_min (t.panels * PRODUCT_PANEL, s->n - t.panel * PRODUCT_PANEL),
                            j->output, (t.row + i) * s->n + t.panel * PRODUCT_PANEL,
                            s->output_bf16);
}

/* Add the splits of one row, left to right. */
static void fold_row (void *arg, size_t thread, size_t row)
{
    const struct job *j = arg;
    const struct gemm_shape *s = j->s;
    float *acc = partial_at (j, 0, row);
    size_t i;

    (void)thread;
    for (i = 1; i < s->splits; i++)
        j->kernels->add (acc, partial_at (j, i, row), s->panels * PRODUCT_PANEL);
    j->kernels->finish (acc, s->n, j->output, row * s->n, s->output_bf16);
}

static const struct product_kernels *choose_kernels (const struct dt_backend_ctx *ctx)
{
#ifdef __x86_64__
    if (ctx->fused && !GEMM_PLANTED (BASE))
        return &product_fma;
#endif
    (void)ctx;
    return &product_base;
}

int gemm_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
              const void *operands, void *output, void *workspace,
              struct dt_backend_error *err)
{
    struct gemm_shape s;
    struct job j = { .s = &s, .kernels = choose_kernels (ctx), .operands = operands,
                     .output = output, .workspace = workspace };
    uint64_t begin;
    int r;

    if ((r = gemm_shape_init (&s, call, ctx->identity.units, err)) < 0)
        return r;
    if (s.n_items && (!operands || !output || (s.size.workspace_bytes && !workspace)))
        return host_fail (err, -EINVAL, "gemm: run of %zu requests without a buffer",
                          s.n_requests);
    begin = host_now_ns ();
    host_pool_run (ctx->pool, run_item, &j, s.n_items);
    if (s.splits > 1)
        host_pool_run (ctx->pool, fold_row, &j, s.m);
    ctx->elapsed_ns = host_now_ns () - begin;
    return 0;
}
