/* Schedule a call's items over the threads. */
#include "kernels/attention/host/attention.h"
#include "kernels/attention/host/plant.h"

#include <errno.h>
#include <string.h>

struct job {
    const struct attn_shape *s;
    const struct dt_backend_call *call;
    const struct attn_kernels *kernels;
    const char *operands;
    char *output, *workspace;
    const struct attn_item *items;
    float scale;
};

static struct attn_state state_at (const struct attn_shape *s, void *memory)
{
    float *f = memory;

    return (struct attn_state){ .m = f, .l = f + s->tile_rows, .o = f + 2 * s->tile_rows };
}

static struct attn_state slot_at (const struct job *j, size_t slot)
{
    return state_at (j->s, j->workspace + j->s->states + slot * j->s->state_bytes);
}

/* The scratch of 'thread', dressed as the tile of 'item'; '*ret_total' is the
 * memory for the folded state. */
static void tile_init (const struct job *j, size_t thread, const struct attn_item *item,
                       struct attn_tile *t, struct attn_state *ret_total)
{
    const struct attn_shape *s = j->s;
    const int64_t *x = j->call->request + item->request * ATTN_N_FIELDS;
    const int64_t *kv_start = (const int64_t *)(j->operands + s->kv_start);
    char *scratch = j->workspace + s->scratches + thread * s->scratch_bytes;
    float *work = (float *)(scratch + 2 * s->state_bytes);

    *ret_total = state_at (s, scratch);
    *t = (struct attn_tile){
        .shape = s,
        .k_pages = j->operands + s->k,
        .v_pages = j->operands + s->v,
        .pages = (const int32_t *)(j->operands + s->table) + kv_start[item->request],
        .kv_len = (size_t)x[ATTN_KV_LEN],
        .head = item->head,
        .first = (size_t)(x[ATTN_KV_LEN] - x[ATTN_QUERY_LEN]),
        .row = item->row,
        .n_rows = item->n_rows,
        .scale = j->scale,
        .n_calls = s->n_requests,
        .request = item->request,
        .k = work,
        .v = work + s->head_dim * s->block_n,
        .q = work + 2 * s->head_dim * s->block_n,
        .part = state_at (s, scratch + s->state_bytes),
    };
    t->low = attn_low (s->window, t->first + t->row / s->group);
    t->s = t->q + s->tile_rows * s->head_dim;
    t->alpha = t->s + s->tile_rows * s->block_n;
}

static void state_clear (const struct attn_shape *s, struct attn_state *a)
{
    size_t i;

    for (i = 0; i < s->tile_rows; i++)
        a->m[i] = -__builtin_inff ();
    memset (a->l, 0, s->tile_rows * sizeof *a->l);
    memset (a->o, 0, s->tile_rows * s->head_dim * sizeof *a->o);
}

#ifdef DT_PLANT
/* Bits that only a comparison of bits tells apart. */
static void plant_bits (const struct attn_shape *s, const struct attn_item *item, char *out)
{
    static const uint32_t bits[][2] = {
        [PLANT_MINUS] = { 0, 0x80000000 }, [PLANT_PAYLOAD] = { 0x7fc00000, 0x7fc00001 },
        [PLANT_SAME_NAN] = { 0x7fc00000, 0x7fc00000 },
    };

    if (attn_plant >= PLANT_MINUS && attn_plant <= PLANT_SAME_NAN && item->head == 0
        && item->row == 0 && !s->output_bf16)
        memcpy (out, &bits[attn_plant][s->n_requests > 1], 4);
}
#endif

static void finish (const struct job *j, const struct attn_item *item,
                    const struct attn_tile *t, const struct attn_state *a)
{
    const struct attn_shape *s = j->s;
    const int64_t *q_start = (const int64_t *)(j->operands + s->q_start);
    size_t token = s->q_heads * s->head_dim * (s->output_bf16 ? 2 : 4);

    j->kernels->finish (t, a, j->output + (size_t)q_start[item->request] * token);
#ifdef DT_PLANT
    plant_bits (s, item, j->output + (size_t)q_start[item->request] * token);
#endif
}

/* Compute one split into 'part'.  Blocks before the window are the identity, and are
 * left out; where a block begins does not follow the window. */
static void run_split (const struct job *j, struct attn_tile *t, size_t split)
{
    const struct attn_shape *s = j->s;
    size_t end = attn_visible (t->first, t->row, t->n_rows, s->group), begin = 0;

    state_clear (s, &t->part);
    if (s->split_stride) {
        begin = split * s->split_stride;
        end = host_min (end, begin + s->split_stride);
    }
    if (begin < t->low)
        begin = t->low - t->low % s->block_n;
    j->kernels->split (t, begin, end);
}

static void run_item (void *arg, size_t thread, size_t index)
{
    const struct job *j = arg;
    const struct attn_shape *s = j->s;
    const struct attn_item *item = &j->items[index];
    const int64_t *q_start = (const int64_t *)(j->operands + s->q_start);
    size_t token = s->q_heads * s->head_dim * (s->bf16 ? 2 : 4), split;
    struct attn_tile tile;
    struct attn_state total;
    int folds = item->run == 0 || PLANTED (FOLD_RUNS);

    tile_init (j, thread, item, &tile, &total);
    j->kernels->load_q (&tile, j->operands + s->q + (size_t)q_start[item->request] * token);
    if (folds && item->n_runs > 1)
        total = slot_at (j, item->slot);
    if (folds)
        state_clear (s, &total);
    for (split = item->split; split < item->end_split; split++) {
        if (!folds)
            tile.part = slot_at (j, item->slot + split - item->split);
        run_split (j, &tile, split);
        if (folds)
            j->kernels->fold (&tile, &total, &tile.part);
    }
    if (item->n_runs == 1)
        finish (j, item, &tile, &total);
}

/* Fold the states of a tile that several threads worked on, left to right. */
static void fold_item (void *arg, size_t thread, size_t index)
{
    const struct job *j = arg;
    const struct attn_item *item = &j->items[index];
    struct attn_tile tile;
    struct attn_state total, next;
    size_t i, n, step = 1;

    if (item->n_runs == 1 || item->run != 0)
        return; /* the first run of a tile stands for it */
    tile_init (j, thread, item, &tile, &total);
    total = slot_at (j, item->slot);
    n = item->tile_end - item->end_split + 1;
    if (PLANTED (FOLD_RUNS)) { /* each later run has one state, in its first slot */
        for (i = 1; i < item->n_runs; i++) {
            next = slot_at (j, j->items[index + i].slot);
            j->kernels->fold (&tile, &total, &next);
        }
    } else if (PLANTED (PAIRWISE)) {
        for (; step < n; step *= 2)
            for (i = 0; i + step < n; i += 2 * step) {
                total = slot_at (j, item->slot + i);
                next = slot_at (j, item->slot + i + step);
                j->kernels->fold (&tile, &total, &next);
            }
        total = slot_at (j, item->slot);
    } else {
        for (i = 1; i < n; i++) {
            next = slot_at (j, item->slot + i);
            j->kernels->fold (&tile, &total, &next);
        }
    }
    finish (j, item, &tile, &total);
}

static const struct attn_kernels *choose_kernels (const struct dt_backend_ctx *ctx)
{
#ifdef __x86_64__
    if (ctx->wide && !PLANTED (BASE))
        return &attn_kernels_avx2;
#endif
    (void)ctx;
    return &attn_kernels_base;
}

int attn_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
              const void *operands, void *output, void *workspace,
              struct dt_backend_error *err)
{
    struct attn_shape s;
    struct job j;
    uint64_t begin;
    int r;

    if ((r = attn_shape_init (&s, call, ctx->identity.units, err)) < 0)
        return r;
    if (s.n_items && (!operands || !output || !workspace))
        return host_fail (err, -EINVAL, "attention: run of %zu requests without a buffer",
                          s.n_requests);
    /* Both roundings are of correctly rounded operations: the same everywhere. */
    j = (struct job){
        .s = &s, .call = call, .kernels = choose_kernels (ctx),
        .operands = operands, .output = output, .workspace = workspace, .items = workspace,
        .scale = (float)(0x1.71547652b82fep+0 / __builtin_sqrt ((double)s.head_dim)),
    };
    attn_shape_items (&s, call, workspace);
    begin = host_now_ns ();
#ifdef DT_PLANT
    attn_running++;
#endif
    host_pool_run (ctx->pool, run_item, &j, s.n_items);
    if (s.n_folds)
        host_pool_run (ctx->pool, fold_item, &j, s.n_items);
#ifdef DT_PLANT
    attn_running--;
#endif
    ctx->elapsed_ns = host_now_ns () - begin;
    return 0;
}
