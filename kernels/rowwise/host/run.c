/* Schedule a call's rows over the threads. */
#include <errno.h>
#include <string.h>

#include "kernels/host/lanes.h"
#include "kernels/host/seed.h"
#include "kernels/rowwise/host/plant.h"
#include "kernels/rowwise/host/rowwise.h"

struct job {
    const struct row_shape *s;
    const struct row_kernels *kernels;
    const char *operands;
    char *output, *workspace;
};

uint64_t row_key (uint64_t seed, uint64_t position)
{
    return seed_mix (seed ^ seed_mix (position + 0x9e3779b97f4a7c15u));
}

static struct row_part part_of (const struct job *j, size_t row, size_t shard, size_t worker,
                                size_t workers)
{
    const struct row_shape *s = j->s;
    size_t vectors = s->block / LANES;

    return (struct row_part){
        .shape = s,
        .x = j->operands + s->x
             + (shard * s->n_rows + row) * (s->width + ROW_PAD) * (s->bf16 ? 2 : 4),
        .first = shard * s->width,
        .lane = worker * vectors / workers * LANES,
        .end_lane = (worker + 1) * vectors / workers * LANES,
    };
}

static void choose (const struct job *j, size_t row, const struct row_part *p,
                    struct row_best *best)
{
    const uint64_t *seed = (const uint64_t *)(j->operands + j->s->seed);
    const uint64_t *position = (const uint64_t *)(j->operands + j->s->position);

    j->kernels->choose (p, row_key (seed[row], position[row]), best);
}

static float logit_at (const struct job *j, size_t row, size_t column)
{
    const struct row_shape *s = j->s;
    struct row_part p = part_of (j, row, column / s->width, 0, 1);

    return load_one (p.x, column % s->width, s->bf16);
}

static void put_sample (const struct job *j, size_t row, const struct row_best *best, float max,
                        float log_sum)
{
    struct row_sample y = { .token = best->token, .log_prob = -__builtin_inff () };

    if (best->token >= 0)
        y.log_prob = logit_at (j, row, (size_t)best->token) - max - log_sum;
    memcpy (j->output + row * j->s->size.row_bytes, &y, sizeof y);
}

/* Write the outputs of worker's part of a row, given its shards' maxima and sums. */
static void finish (const struct job *j, size_t row, size_t worker, size_t workers,
                    const float *max, const float *sum, const struct row_best *best)
{
    const struct row_shape *s = j->s;
    char *out = j->output + row * s->size.row_bytes;
    float largest, log_sum;
    size_t shard;

    if (s->op == ROW_NORM) {
        struct row_part p = part_of (j, row, 0, worker, workers);
        float scale = 1.0f / __builtin_sqrtf (sum[0] / (float)s->columns + ROW_EPSILON);

        j->kernels->norm (&p, j->operands + s->weight, scale, out);
        return;
    }
    log_sum = j->kernels->log_sum (s->shards, max, sum, &largest);
    if (s->op == ROW_SAMPLE) {
        if (worker == 0)
            put_sample (j, row, best, largest, log_sum);
        return;
    }
    for (shard = 0; shard < s->shards; shard++) {
        struct row_part p = part_of (j, row, shard, worker, workers);

        j->kernels->logs (&p, largest, log_sum, out);
    }
}

/* --- one thread for a row ------------------------------------------------------ */

static void run_row (const struct job *j, size_t row)
{
    const struct row_shape *s = j->s;
    struct row_best best = { -__builtin_inff (), -1 };
    float max[ROW_MAX_SHARDS], sum[ROW_MAX_SHARDS], lanes[ROW_MAX_BLOCK];
    size_t shard;

    for (shard = 0; shard < s->shards; shard++) {
        struct row_part p = part_of (j, row, shard, 0, 1);

        if (s->op == ROW_NORM) {
            j->kernels->squares (&p, lanes);
        } else {
            max[shard] = j->kernels->max (&p);
            j->kernels->powers (&p, max[shard], lanes);
        }
        if (s->op == ROW_SAMPLE)
            choose (j, row, &p, &best);
        sum[shard] = j->kernels->tree (lanes, s->block);
    }
    finish (j, row, 0, 1, max, sum, &best);
}

static void run_rows (void *arg, size_t thread, size_t task)
{
    const struct job *j = arg;
    size_t row = task * j->s->group, end = row + j->s->group;

    (void)thread;
    for (; row < end && row < j->s->n_rows; row++)
        run_row (j, row);
}

/* --- several threads for a row: each takes some lanes ---------------------------- */

static struct row_best *best_at (const struct job *j, size_t row)
{
    return (struct row_best *)(j->workspace + j->s->best) + row * j->s->workers;
}

static float *max_at (const struct job *j, size_t row, size_t shard)
{
    return (float *)(j->workspace + j->s->max) + (row * j->s->shards + shard) * j->s->workers;
}

static float *sum_at (const struct job *j, size_t row, size_t shard)
{
    return (float *)(j->workspace + j->s->sum) + (row * j->s->shards + shard) * j->s->block;
}

static float max_of (const struct job *j, size_t row, size_t shard)
{
    const float *max = max_at (j, row, shard);
    float m = max[0];
    size_t w;

    for (w = 1; w < j->s->workers; w++)
        m = max[w] > m ? max[w] : m;
    return m;
}

/* First pass: each part's maximum and best column. */
static void find_part (const struct job *j, size_t row, size_t worker)
{
    const struct row_shape *s = j->s;
    struct row_best best = { -__builtin_inff (), -1 };
    size_t shard;

    for (shard = 0; shard < s->shards; shard++) {
        struct row_part p = part_of (j, row, shard, worker, s->workers);

        max_at (j, row, shard)[worker] = j->kernels->max (&p);
        if (s->op == ROW_SAMPLE)
            choose (j, row, &p, &best);
    }
    best_at (j, row)[worker] = best;
}

/* Second pass: each part's lanes. */
static void sum_part (const struct job *j, size_t row, size_t worker)
{
    const struct row_shape *s = j->s;
    size_t shard;

    for (shard = 0; shard < s->shards; shard++) {
        struct row_part p = part_of (j, row, shard, worker, s->workers);

        if (s->op == ROW_NORM)
            j->kernels->squares (&p, sum_at (j, row, shard));
        else
            j->kernels->powers (&p, max_of (j, row, shard), sum_at (j, row, shard));
    }
}

/* Planted fault: each thread's lanes, then the threads. */
static float add_shares (const struct job *j, float *lanes)
{
    size_t share = j->s->block / j->s->workers, w;
    float sum = 0;

    for (w = 0; w < j->s->workers; w++)
        sum += j->kernels->tree (lanes + w * share, share);
    return sum;
}

/* Last pass: every part adds the lanes of the row, the same way, and writes its
 * outputs.  The tree spoils its lanes, so it works on a copy. */
static void finish_part (const struct job *j, size_t row, size_t worker)
{
    const struct row_shape *s = j->s;
    const struct row_best *best = best_at (j, row);
    struct row_best all = best[0];
    float max[ROW_MAX_SHARDS] = { 0 }, sum[ROW_MAX_SHARDS], lanes[ROW_MAX_BLOCK];
    size_t shard, w;

    for (shard = 0; shard < s->shards; shard++) {
        memcpy (lanes, sum_at (j, row, shard), s->block * sizeof *lanes);
        if (s->op != ROW_NORM)
            max[shard] = max_of (j, row, shard);
        sum[shard] = ROW_PLANTED (SHARE) ? add_shares (j, lanes)
                                         : j->kernels->tree (lanes, s->block);
    }
    for (w = 1; s->op == ROW_SAMPLE && w < s->workers; w++)
        if (best[w].key > all.key || (best[w].key == all.key && best[w].token < all.token))
            all = best[w];
    finish (j, row, worker, s->workers, max, sum, &all);
}

static void each_row (const struct job *j, size_t task,
                      void (*visit) (const struct job *j, size_t row, size_t worker))
{
    const struct row_shape *s = j->s;
    size_t row = task / s->workers * s->group, end = row + s->group;

    for (; row < end && row < s->n_rows; row++)
        visit (j, row, task % s->workers);
}

static void find_task (void *arg, size_t thread, size_t task)
{
    (void)thread;
    each_row (arg, task, find_part);
}

static void sum_task (void *arg, size_t thread, size_t task)
{
    (void)thread;
    each_row (arg, task, sum_part);
}

static void finish_task (void *arg, size_t thread, size_t task)
{
    (void)thread;
    each_row (arg, task, finish_part);
}

static const struct row_kernels *choose_kernels (const struct dt_backend_ctx *ctx)
{
#ifdef __x86_64__
    if (ctx->wide && !ROW_PLANTED (BASE))
        return &row_kernels_avx2;
#endif
    (void)ctx;
    return &row_kernels_base;
}

int row_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
             const void *operands, void *output, void *workspace,
             struct dt_backend_error *err)
{
    struct row_shape s;
    struct job j;
    uint64_t begin;
    size_t tasks;
    int r;

    if ((r = row_shape_init (&s, call, err)) < 0)
        return r;
    if (s.n_rows && (!operands || !output || (s.size.workspace_bytes && !workspace)))
        return host_fail (err, -EINVAL, "rowwise: run of %zu requests without a buffer",
                          s.n_requests);
    j = (struct job){
        .s = &s, .kernels = choose_kernels (ctx),
        .operands = operands, .output = output, .workspace = workspace,
    };
    begin = host_now_ns ();
    tasks = s.n_rows ? (s.n_rows + s.group - 1) / s.group : 0;
    if (s.workers == 1) {
        host_pool_run (ctx->pool, run_rows, &j, tasks);
    } else {
        if (s.op != ROW_NORM)
            host_pool_run (ctx->pool, find_task, &j, tasks * s.workers);
        host_pool_run (ctx->pool, sum_task, &j, tasks * s.workers);
        host_pool_run (ctx->pool, finish_task, &j, tasks * s.workers);
    }
    ctx->elapsed_ns = host_now_ns () - begin;
    return 0;
}
