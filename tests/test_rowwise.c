/* kernels/rowwise: values, bits that no build and no batch changes, wrong calls. */
#include "tests/family_check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/rowwise/host/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

enum { NORM, LOG_SOFTMAX, SAMPLE };
enum { PAD = 8 };

/* op, columns, shards, bf16, output_bf16, token_budget */
static const int64_t sites[][6] = {
    { NORM, 8, 1, 0, 0, 4096 }, { NORM, 1000, 1, 0, 0, 4096 }, { NORM, 4096, 1, 1, 1, 4096 },
    { NORM, 5120, 1, 1, 0, 4096 }, { LOG_SOFTMAX, 1536, 1, 0, 0, 4096 },
    { LOG_SOFTMAX, 2048, 8, 0, 0, 4096 }, { LOG_SOFTMAX, 3000, 3, 1, 1, 4096 },
    { SAMPLE, 2000, 1, 0, 0, 4096 }, { SAMPLE, 4096, 4, 1, 0, 4096 },
};

/* block, rows, workers_per_row */
static const int64_t bound[][3] = { { 64, 1, 1 }, { 256, 4, 2 }, { 1024, 16, 8 }, { 512, 64, 1 } };

static const int64_t blocks[] = { 64, 128, 256, 512, 1024 };
static const int64_t groups[] = { 1, 4, 16, 64 }, workers[] = { 1, 2, 4, 8 };

static struct fam rig, planted;

static struct fam_call call_of (const int64_t *site, const int64_t *param, size_t n,
                                const int64_t *tokens, const uint64_t *seed)
{
    return (struct fam_call){ .fact = site, .param = param, .n = n,
                              .request = tokens, .seed = seed, .units = 2 };
}

/* Where the operands lie, as kernels/rowwise/host/rowwise.h states. */
struct layout {
    uint64_t *seed, *position;
    void *weight, *x;
    size_t columns, width, rows;
    int bf16;
};

static void lay_out (const struct fam_job *job, struct layout *l)
{
    const int64_t *f = job->call.fact;
    size_t elem, at = 0, i;

    *l = (struct layout){ .columns = (size_t)f[1], .width = (size_t)(f[1] / f[2]),
                          .bf16 = (int)f[3] };
    elem = l->bf16 ? 2 : 4;
    for (i = 0; i < job->call.n_requests; i++)
        l->rows += (size_t)job->call.request[i];
    fam_place (job, &at, (job->call.n_requests + 1) * 8);
    l->seed = fam_place (job, &at, f[0] == SAMPLE ? l->rows * 8 : 0);
    l->position = fam_place (job, &at, f[0] == SAMPLE ? l->rows * 8 : 0);
    l->weight = fam_place (job, &at, f[0] == NORM ? l->columns * elem : 0);
    l->x = fam_place (job, &at, (size_t)f[2] * l->rows * (l->width + PAD) * elem);
    ck_assert_uint_eq (at, job->plan.operand_bytes);
}

static size_t index_of (const struct layout *l, size_t row, size_t column)
{
    return (column / l->width * l->rows + row) * (l->width + PAD) + column % l->width;
}

static double x_at (const struct layout *l, size_t row, size_t column)
{
    return (double)fam_value (l->x, index_of (l, row, column), l->bf16);
}

/* --- values against float64 ------------------------------------------------------ */

static double log_sum (const struct layout *l, size_t row)
{
    double max = -INFINITY, sum = 0;
    size_t j;

    for (j = 0; j < l->columns; j++)
        max = fmax (max, x_at (l, row, j));
    for (j = 0; j < l->columns; j++)
        sum += exp (x_at (l, row, j) - max);
    return max + log (sum);
}

static uint64_t mix (uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The noise of one column, as the README states it, in float64. */
static double noise (uint64_t seed, uint64_t position, size_t column)
{
    const uint64_t g = 0x9e3779b97f4a7c15u;
    uint64_t h = mix (mix (seed ^ mix (position + g)) + (column + 1) * g) >> 41;

    return -log (-log ((2.0 * (double)h + 1) / 16777216.0));
}

static void check_row (const struct fam_job *job, const struct layout *l, size_t row)
{
    const int64_t *f = job->call.fact;
    double want, slack, scale = 0, lse = 0;
    size_t j;

    for (j = 0; f[0] == NORM && j < l->columns; j++)
        scale += x_at (l, row, j) * x_at (l, row, j);
    if (f[0] == NORM)
        scale = 1 / sqrt (scale / (double)l->columns + 0x1p-20);
    else
        lse = log_sum (l, row);
    for (j = 0; j < l->columns; j++) {
        double got = (double)fam_value (job->output, row * l->columns + j, (int)f[4]);

        if (f[0] == NORM)
            want = x_at (l, row, j) * scale * (double)fam_value (l->weight, j, l->bf16);
        else
            want = x_at (l, row, j) - lse;
        slack = fabs (want) * (f[4] ? 0x1p-8 : 0x1p-20) + (f[0] == NORM ? 0 : 0x1p-18);
        ck_assert_msg (fabs (got - want) <= slack, "row %zu column %zu: %.9g, want %.9g +- %.2g",
                       row, j, got, want, slack);
    }
}

static void check_sample (const struct fam_job *job, const struct layout *l, size_t row)
{
    double best = -INFINITY, chosen = -INFINITY, want;
    int32_t token;
    float got;
    size_t j;

    memcpy (&token, job->output + row * 8, 4);
    memcpy (&got, job->output + row * 8 + 4, 4);
    ck_assert (token >= 0 && (size_t)token < l->columns);
    for (j = 0; j < l->columns; j++) {
        double z = x_at (l, row, j) + noise (l->seed[row], l->position[row], j);

        best = fmax (best, z);
        chosen = j == (size_t)token ? z : chosen;
    }
    ck_assert_msg (chosen > best - 1e-4, "row %zu: token %d has %.9g, the best %.9g", row, token,
                   chosen, best);
    want = x_at (l, row, (size_t)token) - log_sum (l, row);
    ck_assert_double_eq_tol ((double)got, want, 1e-4);
}

START_TEST (values)
{
    static const int64_t tokens[] = { 1, 0, 5, 2 };
    static const uint64_t seed[] = { 1, 2, 3, 4 };
    const int64_t *site = sites[_i % (int)ARRAY_SIZE (sites)];
    struct fam_call call = call_of (site, bound[_i / (int)ARRAY_SIZE (sites) % 4], 4, tokens,
                                    seed);
    struct fam_job job;
    struct layout l;
    size_t row;

    call.data = (uint32_t)_i / (ARRAY_SIZE (sites) * 4);
    fam_job_init (&job, &rig, &call);
    fam_job_run (&job);
    lay_out (&job, &l);
    for (row = 0; row < l.rows; row++)
        if (site[0] == SAMPLE)
            check_sample (&job, &l, row);
        else
            check_row (&job, &l, row);
    fam_job_done (&job);
}
END_TEST

/* A zero is +0, no finite logit gives no token, and of equal keys the lowest wins. */
START_TEST (corners)
{
    static const int64_t tokens[] = { 3 };
    static const uint64_t seed[] = { 5 };
    struct fam_call call = call_of (sites[1], bound[_i], 1, tokens, seed);
    struct fam_job job;
    struct layout l;
    int32_t token;
    float p;
    size_t j;

    fam_job_init (&job, &rig, &call);
    lay_out (&job, &l);
    for (j = 0; j < l.columns; j++)
        fam_put (l.x, index_of (&l, 1, j), j % 2 ? -0.0f : 0.0f, 0);
    fam_job_run (&job);
    for (j = 0; j < l.columns; j++)
        ck_assert_mem_eq (job.output + (l.columns + j) * 4, "\0\0\0\0", 4);
    fam_job_done (&job);

    call.fact = sites[7];
    fam_job_init (&job, &rig, &call);
    lay_out (&job, &l);
    for (j = 0; j < l.columns; j++) {
        fam_put (l.x, index_of (&l, 0, j), -INFINITY, 0);
        fam_put (l.x, index_of (&l, 1, j), j == 77 ? 1.0f : -INFINITY, 0);
        fam_put (l.x, index_of (&l, 2, j), j < 11 ? 0.0f : 0x1p30f, 0); /* noise is rounded off */
    }
    fam_job_run (&job);
    memcpy (&token, job.output, 4);
    ck_assert_int_eq (token, -1);
    memcpy (&token, job.output + 8, 4);
    memcpy (&p, job.output + 12, 4);
    ck_assert_int_eq (token, 77);
    ck_assert (p == 0);
    memcpy (&token, job.output + 16, 4);
    ck_assert_int_eq (token, 11);
    fam_job_done (&job);
}
END_TEST

/* Draws follow the logits: 4,000 tokens over 8 columns. */
START_TEST (frequencies)
{
    static const int64_t site[] = { SAMPLE, 8, 1, 0, 0, 4096 }, tokens[] = { 4000 };
    static const uint64_t seed[] = { 1 };
    static const int weight[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    struct fam_call call = call_of (site, bound[0], 1, tokens, seed);
    struct fam_job job;
    struct layout l;
    double count[8] = { 0 }, squares = 0;
    size_t row, j;

    fam_job_init (&job, &rig, &call);
    lay_out (&job, &l);
    for (row = 0; row < l.rows; row++)
        for (j = 0; j < 8; j++)
            fam_put (l.x, index_of (&l, row, j), logf ((float)weight[j]), 0);
    fam_job_run (&job);
    for (row = 0; row < l.rows; row++) {
        int32_t token;

        memcpy (&token, job.output + row * 8, 4);
        count[token]++;
    }
    for (j = 0; j < 8; j++) {
        double want = 4000.0 * weight[j] / 255;

        squares += (count[j] - want) * (count[j] - want) / want;
    }
    ck_assert_msg (squares < 24.3, "chi squared of 7 degrees: %.1f", squares); /* 1 in 1,000 */
    fam_job_done (&job);
}
END_TEST

/* --- bits -------------------------------------------------------------------------- */

static uint64_t digest (uint64_t h, const struct fam_job *job)
{
    size_t i;

    for (i = 0; i < job->plan.output_bytes; i++)
        h = (h ^ job->output[i]) * 0x100000001b3u;
    return h;
}

static uint64_t digest_all (struct fam *fam)
{
    static const int64_t tokens[] = { 1, 0, 5, 2 };
    static const uint64_t seed[] = { 1, 2, 3, 4 };
    uint64_t h = 0xcbf29ce484222325u;
    size_t i;

    for (i = 0; i < ARRAY_SIZE (sites) * ARRAY_SIZE (bound); i++) {
        struct fam_call call = call_of (sites[i % ARRAY_SIZE (sites)],
                                        bound[i / ARRAY_SIZE (sites)], 4, tokens, seed);
        struct fam_job job;

        fam_job_init (&job, fam, &call);
        fam_job_run (&job);
        h = digest (h, &job);
        fam_job_done (&job);
    }
    return h;
}

/* A change of this number is a change of the canonical order (or of the data), and
 * must be meant. */
START_TEST (bits_of_every_build)
{
    ck_assert_uint_eq (digest_all (&rig), 0xdd36edfb21713355u);
}
END_TEST

static const int64_t watched[] = { 1, 3, 0, 17, 1, 2, 64, 1, 9 };

static void shuffle_free (struct fam_call *call, int64_t *param, uint64_t *state)
{
    param[1] = groups[fam_random (state) % ARRAY_SIZE (groups)];
    param[2] = workers[fam_random (state) % ARRAY_SIZE (workers)];
    call->units = 1 + (int)(fam_random (state) % FAM_MAX_UNITS);
    call->scatter = fam_random (state);
}

static int has_nan (const struct fam_job *job)
{
    int bf16 = job->call.fact[0] != SAMPLE && job->call.fact[4];
    size_t i, elem = bf16 ? 2 : 4;

    for (i = 0; i < job->plan.output_bytes / elem; i++)
        if (isnan (fam_value (job->output, i, bf16)))
            return 1;
    return 0;
}

/* Stock: the block an engine would take for so many tokens. */
static int64_t block_by_tokens (const int64_t *tokens, size_t n)
{
    int64_t total = 0;
    size_t i;

    for (i = 0; i < n; i++)
        total += tokens[i];
    return total < 16 ? 1024 : total < 64 ? 512 : 256;
}

/* Requests in random batches, rows, neighbours, schedules and thread counts that
 * are not as when they are alone.  block 0: chosen by the batch. */
static int count_changed (struct fam *fam, const int64_t *site, int64_t block, uint32_t data)
{
    unsigned char *alone[ARRAY_SIZE (watched)];
    uint64_t state = 7;
    int bad = 0, trial;
    size_t i;

    for (i = 0; i < ARRAY_SIZE (watched); i++) {
        uint64_t seed = 100 + i;
        int64_t param[] = { block ? block : block_by_tokens (&watched[i], 1), 1, 1 };
        struct fam_call call = call_of (site, param, 1, &watched[i], &seed);
        struct fam_job job;

        call.data = data;
        fam_job_init (&job, fam, &call);
        fam_job_run (&job);
        bad += has_nan (&job);
        alone[i] = malloc (job.row[0].length + 1);
        memcpy (alone[i], job.output, job.row[0].length);
        fam_job_done (&job);
    }
    for (trial = 0; trial < 20; trial++) {
        int64_t tokens[12];
        uint64_t seed[12];
        size_t which[12], n = 1 + fam_random (&state) % 12;
        int64_t param[3] = { 0 };
        struct fam_call call = call_of (site, param, n, tokens, seed);
        struct fam_job job;

        for (i = 0; i < n; i++) {
            which[i] = fam_random (&state) % (ARRAY_SIZE (watched) * 3 / 2); /* some strangers */
            tokens[i] = which[i] < ARRAY_SIZE (watched) ? watched[which[i]]
                                                        : (int64_t)(fam_random (&state) % 20);
            seed[i] = which[i] < ARRAY_SIZE (watched) ? 100 + which[i] : fam_random (&state);
        }
        param[0] = block ? block : block_by_tokens (tokens, n);
        call.data = data;
        shuffle_free (&call, param, &state);
        fam_job_init (&job, fam, &call);
        fam_job_run (&job);
        for (i = 0; i < n; i++)
            if (which[i] < ARRAY_SIZE (watched))
                bad += memcmp (job.output + job.row[i].offset, alone[which[i]],
                               job.row[i].length) != 0;
        fam_job_done (&job);
    }
    for (i = 0; i < ARRAY_SIZE (watched); i++)
        free (alone[i]);
    return bad;
}

START_TEST (invariance)
{
    const int64_t *site = sites[_i % (int)ARRAY_SIZE (sites)];
    int64_t block = blocks[_i % 5];

    ck_assert_int_eq (count_changed (&rig, site, block, (uint32_t)_i % 3), 0);
}
END_TEST

/* The same test finds the block chosen by the batch. */
START_TEST (stock_changes_bits)
{
    static const size_t where[] = { 1, 4, 8 }; /* a norm, log-softmax, sampling; fp32 out */

    ck_assert_int_gt (count_changed (&rig, sites[where[_i]], 0, DT_BACKEND_RANDOM), 0);
}
END_TEST

static const struct {
    enum row_plant plant;
    int caught;
} plants[] = {
    { ROW_PLANT_NONE, 0 }, { ROW_PLANT_BASE, 0 }, { ROW_PLANT_BLOCK, 1 }, { ROW_PLANT_FUSED, 1 },
    { ROW_PLANT_SHARE, 1 }, { ROW_PLANT_PAD, 1 },
};

START_TEST (planted_fault)
{
    int bad;

    fam_plant (&planted, "row_plant", plants[_i].plant);
    bad = count_changed (&planted, sites[1], 256, DT_BACKEND_RANDOM);
    ck_assert_msg ((bad > 0) == plants[_i].caught, "fault %d: %d rows differ",
                   (int)plants[_i].plant, bad);
    if (!plants[_i].caught)
        ck_assert_uint_eq (digest_all (&planted), digest_all (&rig));
}
END_TEST

/* Rows that differ between two blocks, or with two terms exchanged.  A norm hides
 * much: its root halves what rounding did. */
static size_t count_different (const struct fam_call *a, const struct fam_call *b)
{
    struct fam_job x, y;
    size_t i, n = 0, len;

    fam_job_init (&x, &rig, a);
    fam_job_run (&x);
    fam_job_init (&y, &rig, b);
    fam_job_run (&y);
    len = x.row[0].length / (size_t)x.call.request[0];
    for (i = 0; i < x.plan.output_bytes / len; i++)
        n += memcmp (x.output + i * len, y.output + i * len, len) != 0;
    fam_job_done (&x);
    fam_job_done (&y);
    return n;
}

START_TEST (power)
{
    static const int64_t tokens[] = { 4096 };
    static const int64_t other[] = { 512, 4, 2 };
    static const uint64_t seed[] = { 9 };
    struct fam_call a = call_of (sites[1], bound[1], 1, tokens, seed), b = a;

    b.param = other;
    ck_assert_uint_gt (count_different (&a, &b), 100);
    a.data = b.data = DT_BACKEND_CANCEL;
    b.param = a.param;
    b.exchange = 1;
    ck_assert_uint_gt (count_different (&a, &b), 20);
    b.exchange = 256; /* within one of 256 lanes: hardly one row in 1,000 shows it */
    ck_assert_uint_gt (count_different (&a, &b), 0);
    b.exchange = 500;
    ck_assert_uint_eq (count_different (&a, &b), 0);
}
END_TEST

/* Where two terms that are not drawn change places, the token stays, and the order of the
 * sum shows in its log-probability. */
START_TEST (sampled_power)
{
    static const int64_t tokens[] = { 500 };
    static const uint64_t seed[] = { 9 };
    const int64_t *site = sites[7 + _i / 2];
    struct fam_call a = call_of (site, bound[1], 1, tokens, seed), b = a;
    struct fam_job x, y;
    size_t n = 0, i;

    a.data = b.data = DT_BACKEND_CANCEL;
    b.exchange = _i % 2 ? 16 : 1;
    fam_job_init (&x, &rig, &a);
    fam_job_run (&x);
    fam_job_init (&y, &rig, &b);
    fam_job_run (&y);
    for (i = 0; i < 500; i++) {
        const unsigned char *p = x.output + i * 8, *q = y.output + i * 8;

        ck_assert_mem_eq (p, q, 4);
        n += memcmp (p + 4, q + 4, 4) != 0;
    }
    ck_assert_uint_gt (n, 20);
    fam_job_done (&x);
    fam_job_done (&y);
}
END_TEST

/* --- launches and wrong calls ------------------------------------------------------ */

static const struct {
    const char *what;
    int64_t a[3], b[3], tokens;
    int equal;
} launches[] = {
    { "the same", { 64, 4, 1 }, { 64, 4, 1 }, 20, 1 },
    { "another block", { 64, 4, 1 }, { 128, 4, 1 }, 20, 0 },
    { "another group", { 64, 4, 1 }, { 64, 16, 1 }, 20, 0 },
    { "groups beyond the rows", { 64, 16, 1 }, { 64, 64, 1 }, 9, 1 },
    { "two threads a row", { 64, 4, 1 }, { 64, 4, 2 }, 20, 0 },
    { "nothing to do", { 64, 4, 1 }, { 512, 1, 8 }, 0, 1 },
};

START_TEST (launch)
{
    static const uint64_t seed[] = { 1 };
    struct fam_call call = call_of (sites[1], launches[_i].a, 1, &launches[_i].tokens, seed);

    fam_check_launch (&rig, &call, launches[_i].b, launches[_i].equal, launches[_i].what);
}
END_TEST

static const struct {
    int64_t site[6], param[3], tokens;
    const char *says;
} wrong[] = {
    { { 3, 64, 1, 0, 0, 10 }, { 64, 1, 1 }, 1, "op" },
    { { 0, 12, 1, 0, 0, 10 }, { 64, 1, 1 }, 1, "columns" },
    { { 0, INT64_MAX, 1, 0, 0, 10 }, { 64, 1, 1 }, 1, "columns" },
    { { 1, 64, 3, 0, 0, 10 }, { 64, 1, 1 }, 1, "shards" },
    { { 1, 64, 0, 0, 0, 10 }, { 64, 1, 1 }, 1, "shards" },
    { { 0, 64, 2, 0, 0, 10 }, { 64, 1, 1 }, 1, "one shard" },
    { { 0, 64, 1, 2, 0, 10 }, { 64, 1, 1 }, 1, "bf16" },
    { { 0, 64, 1, 0, 0, 10 }, { 96, 1, 1 }, 1, "block" },
    { { 0, 64, 1, 0, 0, 10 }, { 64, 0, 1 }, 1, "rows" },
    { { 0, 64, 1, 0, 0, 10 }, { 64, 1, -1 }, 1, "workers_per_row" },
    { { 0, 64, 1, 0, 0, 10 }, { 64, 1, 1 }, 11, "token_budget" },
    { { 0, 64, 1, 0, 0, 10 }, { 64, 1, 1 }, -1, "-1 tokens" },
    { { 0, 64, 1, 0, 0, 10 }, { 64, 1, 1 }, INT64_MAX, "token_budget" },
};

START_TEST (wrong_call)
{
    static const uint64_t seed[] = { 1 };
    struct fam_call call = call_of (wrong[_i].site, wrong[_i].param, 1, &wrong[_i].tokens, seed);

    fam_check_refused (&rig, &call, -EINVAL, wrong[_i].says);
}
END_TEST

/* Outputs of their own for each term: no exchange says anything about order. */
START_TEST (no_exchange)
{
    static const int64_t tokens[] = { 1 };
    static const uint64_t seed[] = { 1 };
    struct fam_call call = call_of (sites[4], bound[0], 1, tokens, seed);
    struct dt_backend_error err = { "" };
    struct fam_job job;

    fam_job_init (&job, &rig, &call);
    job.call.exchange = 1;
    ck_assert_int_eq (rig.b->fill (job.ctx, &job.call, 1, job.operands, &err),
                      -DT_BACKEND_EUNSUPPORTED);
    fam_job_done (&job);
}
END_TEST

static void add_tests (TCase *tc)
{
    tcase_add_loop_test (tc, values, 0,
                         (int)(ARRAY_SIZE (sites) * ARRAY_SIZE (bound)) * DT_BACKEND_DATA_KINDS);
    tcase_add_loop_test (tc, corners, 0, (int)ARRAY_SIZE (bound));
    tcase_add_test (tc, frequencies);
    tcase_add_test (tc, bits_of_every_build);
    tcase_add_loop_test (tc, invariance, 0, (int)ARRAY_SIZE (sites) * 5);
    tcase_add_loop_test (tc, stock_changes_bits, 0, 3);
    tcase_add_loop_test (tc, planted_fault, 0, (int)ARRAY_SIZE (plants));
    tcase_add_test (tc, power);
    tcase_add_loop_test (tc, launch, 0, (int)ARRAY_SIZE (launches));
    tcase_add_loop_test (tc, wrong_call, 0, (int)ARRAY_SIZE (wrong));
    tcase_add_loop_test (tc, sampled_power, 0, 4);
    tcase_add_test (tc, no_exchange);
}

int main (void)
{
    return fam_suite ("kernels/rowwise", "rowwise", &rig, &planted, add_tests);
}
