/* Schedule a call's blocks over the threads: gate and up, down, then the combination. */
#include "kernels/moe/host/moe.h"
#include "kernels/moe/host/plant.h"

#include <errno.h>
#include <string.h>

/* Tokens that one task combines. */
#define COMBINE_TOKENS 8

struct job {
    const struct moe_shape *s;
    const struct product_kernels *kernels;
    const char *operands;
    char *output, *workspace;
    const int32_t *pairs;
    const struct moe_block *blocks;
    size_t n_blocks;
};

/* One of the three products: rows of x or h times an expert's weights. */
struct side {
    size_t k, step, panels;
    const char *w;      /* of expert 0 */
    int from_h;         /* rows: of h by pair, else of x by token */
};

static struct side side_of (const struct job *j, size_t weights)
{
    const struct moe_shape *s = j->s;
    int down = weights == s->down;

    return (struct side){
        .k = down ? s->intermediate : s->hidden, .step = down ? s->down_step : s->up_step,
        .panels = down ? s->down_panels : s->up_panels,
        .w = j->operands + weights, .from_h = down,
    };
}

static float *h_of (const struct job *j, size_t pair)
{
    return (float *)(j->workspace + j->s->h) + pair * j->s->up_panels * PRODUCT_PANEL;
}

static float *y_of (const struct job *j, size_t pair)
{
    return (float *)(j->workspace + j->s->y) + pair * j->s->down_panels * PRODUCT_PANEL;
}

/* k in [k, k + n) of the block's rows, in fp32, side by side.  ret [b->n][MOE_MAX_STEP] */
static void gather (const struct job *j, const struct moe_block *b, const struct side *side,
                    size_t k, size_t n, float *ret)
{
    const struct moe_shape *s = j->s;
    size_t elem = s->bf16 ? 2 : 4, i;

    for (i = 0; i < b->n; i++, ret += MOE_MAX_STEP) {
        size_t pair = (size_t)j->pairs[b->first + i];
        const char *x = j->operands + s->x + (pair / s->top_k * s->hidden + k) * elem;

        if (side->from_h)
            memcpy (ret, h_of (j, pair) + k, n * sizeof *ret);
        else if (s->bf16)
            j->kernels->widen (x, n, ret);
        else
            memcpy (ret, x, n * sizeof *ret);
    }
}

/* Panels [panel, panel + panels) of one product of a block.  acc [b->n][tile_n],
 * wide [b->n][MOE_MAX_STEP] */
static void multiply (const struct job *j, const struct moe_block *b, const struct side *side,
                      size_t panel, size_t panels, float *acc, float *wide)
{
    const struct moe_shape *s = j->s;
    size_t elem = s->bf16 ? 2 : 4, step = side->step, rows = b->n, k, n, i, r;
    struct product p = { .bf16 = s->bf16, .ld_w = side->k, .ld_x = MOE_MAX_STEP,
                         .ld_acc = s->tile_n };

    if (MOE_PLANTED (FULL) && b->n == s->block_m)
        step = 32;
    if (MOE_PLANTED (STALE) && b->n > 1 && b->n < s->block_m)
        rows--;
    for (i = 0; i < b->n; i++)
        memset (acc + i * s->tile_n, 0, panels * PRODUCT_PANEL * sizeof *acc);
    p.panels = rows == 1 ? panels : 1; /* one row takes four panels at a time */
    for (k = 0; k < side->k; k += n) {
        n = host_min (step ? step : MOE_CHUNK, side->k - k);
        gather (j, b, side, k, n, wide);
        p.n = n;
        for (i = 0; i < panels; i += p.panels)
            for (r = 0; r < rows; r += p.rows) {
                p.rows = host_min (PRODUCT_ROWS, rows - r);
                p.x = wide + r * MOE_MAX_STEP;
                p.w = side->w + ((b->expert * side->panels + panel + i) * side->k + k)
                                * PRODUCT_PANEL * elem;
                p.acc = acc + r * s->tile_n + i * PRODUCT_PANEL;
                (step ? j->kernels->sum : j->kernels->chain) (&p);
            }
    }
}

/* The block and first panel of an item. */
static const struct moe_block *item_of (const struct job *j, size_t item, size_t panels,
                                        size_t *ret_panel, size_t *ret_panels)
{
    size_t width = j->s->tile_n / PRODUCT_PANEL, tiles = host_div_up (panels, width);
    size_t block = j->s->columns_first ? item / tiles : item % j->n_blocks;
    size_t tile = j->s->columns_first ? item % tiles : item / j->n_blocks;

    *ret_panel = tile * width;
    *ret_panels = host_min (width, panels - *ret_panel);
    return &j->blocks[block];
}

static float *scratch_of (const struct job *j, size_t thread)
{
    return (float *)(j->workspace + j->s->scratches + thread * j->s->scratch_bytes);
}

/* Some columns of h: gate and up of a block, one after the other. */
static void run_up (void *arg, size_t thread, size_t item)
{
    const struct job *j = arg;
    const struct moe_shape *s = j->s;
    float *acc = scratch_of (j, thread), *wide = acc + s->block_m * s->tile_n;
    struct side gate = side_of (j, s->gate), up = side_of (j, s->up);
    size_t panel, panels, i;
    const struct moe_block *b = item_of (j, item, s->up_panels, &panel, &panels);

    multiply (j, b, &gate, panel, panels, acc, wide);
    for (i = 0; i < b->n; i++)
        memcpy (h_of (j, (size_t)j->pairs[b->first + i]) + panel * PRODUCT_PANEL,
                acc + i * s->tile_n, panels * PRODUCT_PANEL * sizeof *acc);
    multiply (j, b, &up, panel, panels, acc, wide);
    for (i = 0; i < b->n; i++)
        j->kernels->silu (h_of (j, (size_t)j->pairs[b->first + i]) + panel * PRODUCT_PANEL,
                          acc + i * s->tile_n, panels * PRODUCT_PANEL, s->bf16);
}

/* Some columns of y. */
static void run_down (void *arg, size_t thread, size_t item)
{
    const struct job *j = arg;
    const struct moe_shape *s = j->s;
    float *acc = scratch_of (j, thread), *wide = acc + s->block_m * s->tile_n;
    struct side down = side_of (j, s->down);
    size_t panel, panels, i;
    const struct moe_block *b = item_of (j, item, s->down_panels, &panel, &panels);

    multiply (j, b, &down, panel, panels, acc, wide);
    for (i = 0; i < b->n; i++)
        memcpy (y_of (j, (size_t)j->pairs[b->first + i]) + panel * PRODUCT_PANEL,
                acc + i * s->tile_n, panels * PRODUCT_PANEL * sizeof *acc);
}

/* Slots of one token whose sum is a tree: (0 + 1) + (2 + 3), ..., an odd one is kept.
 * Each was multiplied by its weight.  Leaves the sum in the first. */
static void add_pairs (const struct job *j, float **slot, size_t n)
{
    size_t i, kept;

    for (; n > 1; n = kept)
        for (i = kept = 0; i < n; i += 2) {
            if (i + 1 < n)
                j->kernels->add (slot[i], slot[i + 1], j->s->down_panels * PRODUCT_PANEL);
            slot[kept++] = slot[i];
        }
}

static void combine_token (const struct job *j, size_t token)
{
    const struct moe_shape *s = j->s;
    size_t width = s->down_panels * PRODUCT_PANEL, n = 0, i, slot;
    const int32_t *id = (const int32_t *)(j->operands + s->id) + token * s->top_k;
    const float *weight = (const float *)(j->operands + s->weight) + token * s->top_k;
    float *part[MOE_MAX_TOP_K], *first = y_of (j, token * s->top_k);

    for (slot = 0; slot < s->top_k; slot++) {
        if (id[slot] < 0)
            continue;
        part[n] = y_of (j, token * s->top_k + slot);
        for (i = 0; i < width; i++)
            part[n][i] *= weight[slot];
        n++;
    }
    if (MOE_PLANTED (SORTED) && n > 1 && j->pairs[0] / (int32_t)s->top_k == (int32_t)token) {
        float *swap = part[0];

        part[0] = part[n - 1];
        part[n - 1] = swap;
    }
    if (s->pairwise || (MOE_PLANTED (COMBINE) && s->m > 16))
        add_pairs (j, part, n);
    else
        for (i = 1; i < n; i++)
            j->kernels->add (part[0], part[i], width);
    if (n == 0)
        memset (first, 0, width * sizeof *first);
    j->kernels->finish (n ? part[0] : first, s->hidden, j->output, token * s->hidden,
                        s->output_bf16);
}

static void run_combine (void *arg, size_t thread, size_t task)
{
    const struct job *j = arg;
    size_t token, end = host_min (j->s->m, (task + 1) * COMBINE_TOKENS);

    (void)thread;
    for (token = task * COMBINE_TOKENS; token < end; token++)
        combine_token (j, token);
}

static const struct product_kernels *choose_kernels (const struct dt_backend_ctx *ctx)
{
#ifdef __x86_64__
    if (ctx->fused && !MOE_PLANTED (BASE))
        return &product_fma;
#endif
    (void)ctx;
    return &product_base;
}

int moe_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
             const void *operands, void *output, void *workspace,
             struct dt_backend_error *err)
{
    struct moe_shape s;
    struct job j = { .s = &s, .kernels = choose_kernels (ctx), .operands = operands,
                     .output = output, .workspace = workspace };
    uint64_t begin;
    size_t width;
    int r;

    if ((r = moe_shape_init (&s, call, ctx->identity.units, err)) < 0)
        return r;
    if (s.n_pairs && (!operands || !output || !workspace))
        return host_fail (err, -EINVAL, "moe: run of %zu requests without a buffer",
                          s.n_requests);
    begin = host_now_ns ();
    if (s.n_pairs) {
        j.pairs = (const int32_t *)(j.workspace + s.pairs);
        j.blocks = (const struct moe_block *)(j.workspace + s.blocks);
        if ((r = moe_align (&s, (const int32_t *)(j.operands + s.id),
                            (int32_t *)(j.workspace + s.pairs),
                            (struct moe_block *)(j.workspace + s.blocks), &j.n_blocks, err)) < 0)
            return r;
        width = s.tile_n / PRODUCT_PANEL;
        host_pool_run (ctx->pool, run_up, &j, j.n_blocks * host_div_up (s.up_panels, width));
        host_pool_run (ctx->pool, run_down, &j, j.n_blocks * host_div_up (s.down_panels, width));
        host_pool_run (ctx->pool, run_combine, &j, host_div_up (s.m, COMBINE_TOKENS));
    }
    ctx->elapsed_ns = host_now_ns () - begin;
    return 0;
}
