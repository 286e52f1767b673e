/* kernels/gemm: values, bits that no build changes, launches, wrong calls. */
#include "tests/family_check.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm/host/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

enum { N, K, BF16, OUTPUT_BF16, FACTS };
enum { SPLITS, K_STEP, TILE_M, TILE_N, ORDER, PARAMS };

static struct fam fam, planted;

static const int64_t sites[][FACTS] = {
    { 40, 1000, 0, 0 }, { 64, 517, 1, 0 }, { 1, 300, 1, 1 }, { 17, 1, 0, 0 }, { 33, 15, 0, 1 },
    { 16, 0, 0, 0 }, { 300, 64, 0, 0 }, { 5, 0, 1, 1 },
};

static const int64_t params[][PARAMS] = {
    { 1, 0, 96, 256, 0 }, { 4, 0, 6, 16, 1 }, { 1, 32, 24, 64, 0 }, { 16, 32, 48, 128, 1 },
    { 2, 512, 6, 64, 0 },
};

/* As the README states it, operation by operation. */
static float chain (const float *x, const float *w, size_t n)
{
    float c = 0;
    size_t i;

    for (i = 0; i < n; i++)
        c = fmaf (x[i], w[i], c);
    return c;
}

static float canonical (const float *x, const float *w, size_t k, size_t splits, size_t step)
{
    size_t u = (k + 15) / 16, i, at;
    float y = 0;

    splits = splits > u ? (u ? u : 1) : splits;
    for (i = 0; i < splits; i++) {
        size_t begin = 16 * (i * u / splits), end = 16 * ((i + 1) * u / splits);
        float a = 0;

        end = end > k ? k : end;
        if (step == 0)
            a = chain (x + begin, w + begin, end - begin);
        for (at = begin; step && at < end; at += step)
            a = a + chain (x + at, w + at, at + step < end ? step : end - at);
        y = i ? y + a : a;
    }
    return y + 0.0f;
}

static float round_bf16 (float x)
{
    uint32_t u;

    memcpy (&u, &x, sizeof u);
    u = (u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000u;
    memcpy (&x, &u, sizeof x);
    return x + 0.0f;
}

/* Row `row` of x and column `column` of w, as fp32. */
static void operands (const struct fam_job *job, size_t m, size_t row, size_t column, float *x,
                      float *w)
{
    const int64_t *f = job->call.fact;
    size_t k = (size_t)f[K], elem = f[BF16] ? 2 : 4, i;
    size_t x_at = (8 * (job->call.n_requests + 1) + 255) / 256 * 256;
    size_t w_at = (x_at + m * k * elem + 255) / 256 * 256;

    for (i = 0; i < k; i++) {
        x[i] = fam_value (job->operands + x_at, row * k + i, (int)f[BF16]);
        w[i] = fam_value (job->operands + w_at, (column / 16 * k + i) * 16 + column % 16,
                          (int)f[BF16]);
    }
}

static const int64_t tokens[] = { 3, 0, 1, 7, 0, 2 };
static const uint64_t seeds[] = { 1, 2, 3, 4, 5, 6 };
#define M 13

/* Each output: the bits that the README states, and near float64's value. */
START_TEST (values)
{
    const int64_t *f = sites[_i % (int)ARRAY_SIZE (sites)];
    size_t kind = (size_t)_i / ARRAY_SIZE (sites) % DT_BACKEND_DATA_KINDS;
    const int64_t *p = params[(size_t)_i / ARRAY_SIZE (sites) / DT_BACKEND_DATA_KINDS];
    struct fam_call call = { f, p, ARRAY_SIZE (tokens), tokens, seeds, (uint32_t)kind, 0, 1, 2 };
    size_t k = (size_t)f[K], row, column, i;
    float *x = malloc ((k + 1) * sizeof *x), *w = malloc ((k + 1) * sizeof *w);
    struct fam_job job;

    fam_job_init (&job, &fam, &call);
    fam_job_run (&job);
    ck_assert_uint_eq (job.plan.output_bytes, M * (size_t)f[N] * (f[OUTPUT_BF16] ? 2 : 4));
    for (row = 0; row < M; row++)
        for (column = 0; column < (size_t)f[N]; column++) {
            float got = fam_value (job.output, row * (size_t)f[N] + column, (int)f[OUTPUT_BF16]);
            double exact = 0, size = 0;
            float want;

            operands (&job, M, row, column, x, w);
            want = canonical (x, w, k, (size_t)p[SPLITS], (size_t)p[K_STEP]);
            want = f[OUTPUT_BF16] ? round_bf16 (want) : want;
            ck_assert_msg (memcmp (&got, &want, sizeof got) == 0, "row %zu column %zu: %a, not %a",
                           row, column, (double)got, (double)want);
            for (i = 0; i < k; i++) {
                exact += (double)x[i] * (double)w[i];
                size += fabs ((double)x[i] * (double)w[i]);
            }
            ck_assert_double_le (fabs ((double)got - exact),
                                 size * 0x1p-24 * (double)(k + 20)
                                     + fabs (exact) * (f[OUTPUT_BF16] ? 0x1p-8 : 0));
            if (kind == DT_BACKEND_CANCEL) /* what is left is rounding */
                ck_assert_double_le (fabs (exact), size * 1e-12);
        }
    fam_job_done (&job);
    free (x);
    free (w);
}
END_TEST

/* The kernels for any processor give the bits of those for this one. */
START_TEST (bits_of_every_build)
{
    static const int64_t f[] = { 40, 333, 0, 0 };
    struct fam_call call = { f, params[_i], ARRAY_SIZE (tokens), tokens, seeds, 0, 0, 1, 1 };

    fam_plant (&planted, "gemm_plant", GEMM_PLANT_BASE);
    fam_check_same (&fam, &planted, &call);
}
END_TEST

/* fp32 keeps 24 bits; a product that took TF32's 11 would give 14336. */
START_TEST (all_bits_of_fp32)
{
    static const int64_t site[FACTS] = { 1, 3, 0, 0 }, one[] = { 1 };
    static const float x[] = { 2049, 4097, 8193 };
    struct fam_call call = { site, params[_i], 1, one, seeds, 0, 0, 1, 1 };
    struct fam_job job;
    size_t at = 0, i;
    float *row, *w;

    fam_job_init (&job, &fam, &call);
    fam_place (&job, &at, 2 * sizeof (int64_t));
    row = fam_place (&job, &at, 3 * sizeof *row);
    w = fam_place (&job, &at, 16 * 3 * sizeof *w);
    ck_assert_uint_eq (at, job.plan.operand_bytes);
    for (i = 0; i < 3; i++) {
        row[i] = x[i];
        w[i * 16] = 1; /* the first column of a panel of 16 */
    }
    fam_job_run (&job);
    ck_assert (fam_value (job.output, 0, 0) == 14339.0f);
    fam_job_done (&job);
}
END_TEST

/* M = 0, 1, 0, 7: nothing is started for none, and the rest is unmoved. */
START_TEST (no_rows)
{
    static const int64_t none[] = { 0, 0 }, one[] = { 1 };
    const int64_t *f = sites[0];
    struct fam_call call = { f, params[_i], 2, none, seeds, 0, 0, 1, 1 };
    struct fam_job empty, full;

    fam_job_init (&empty, &fam, &call);
    ck_assert_uint_eq (empty.plan.output_bytes, 0);
    ck_assert_uint_eq (empty.plan.workspace_bytes, 0);
    fam_job_run (&empty);
    call.param = params[0];
    fam_call_init (&full, &fam, &call);
    ck_assert_int_eq (fam_plan (&full, NULL), 0);
    ck_assert_mem_eq (full.plan.launch, empty.plan.launch, sizeof full.plan.launch);
    call.n = 0;
    fam_call_init (&full, &fam, &call);
    ck_assert_int_eq (fam_plan (&full, NULL), 0);
    ck_assert_uint_eq (full.plan.output_bytes, 0);
    call = (struct fam_call){ f, params[_i], 1, one, seeds, 0, 0, 1, 1 };
    fam_job_init (&full, &fam, &call);
    fam_job_run (&full);
    ck_assert_uint_eq (fam_not_finite (&full, 0), 0);
    fam_job_run (&empty);
    fam_job_done (&empty);
    fam_job_done (&full);
}
END_TEST

static const struct {
    const char *what;
    int64_t k, tokens;
    int64_t a[PARAMS], b[PARAMS];
    int same;
} launches[] = {
    { "more splits than units", 40, 9, { 4, 0, 6, 16, 0 }, { 8, 0, 6, 16, 0 }, 1 },
    { "splits", 1000, 9, { 4, 0, 6, 16, 0 }, { 8, 0, 6, 16, 0 }, 0 },
    { "a step of all k", 500, 9, { 1, 0, 6, 16, 0 }, { 1, 512, 6, 16, 0 }, 1 },
    { "a step", 600, 9, { 1, 0, 6, 16, 0 }, { 1, 512, 6, 16, 0 }, 0 },
    { "tiles longer than the call", 100, 9, { 1, 0, 24, 256, 0 }, { 1, 0, 96, 256, 0 }, 1 },
    { "tiles", 100, 30, { 1, 0, 24, 256, 0 }, { 1, 0, 96, 256, 0 }, 0 },
    { "columns wider than n", 100, 9, { 1, 0, 6, 128, 0 }, { 1, 0, 6, 256, 0 }, 1 },
    { "order of one column of tiles", 100, 9, { 1, 0, 6, 128, 0 }, { 1, 0, 6, 128, 1 }, 1 },
    { "order", 100, 9, { 1, 0, 6, 16, 0 }, { 1, 0, 6, 16, 1 }, 0 },
};

START_TEST (launch)
{
    int64_t f[FACTS] = { 120, launches[_i].k, 0, 0 };
    struct fam_call call = { f, launches[_i].a, 1, &launches[_i].tokens, seeds, 0, 0, 1, 1 };

    fam_check_launch (&fam, &call, launches[_i].b, launches[_i].same, launches[_i].what);
}
END_TEST

static const struct {
    int64_t fact[FACTS], param[PARAMS], tokens[2];
    int code;
    const char *text;
} wrong[] = {
    { { 0, 8, 0, 0 }, { 1, 0, 6, 16, 0 }, { 1, 1 }, -EINVAL, "n must be in" },
    { { 8, -1, 0, 0 }, { 1, 0, 6, 16, 0 }, { 1, 1 }, -EINVAL, "k must be in" },
    { { 8, 8, 2, 0 }, { 1, 0, 6, 16, 0 }, { 1, 1 }, -EINVAL, "bf16 must be in" },
    { { 8, 8, 0, 0 }, { 3, 0, 6, 16, 0 }, { 1, 1 }, -EINVAL, "splits has no value 3" },
    { { 8, 8, 0, 0 }, { 1, 16, 6, 16, 0 }, { 1, 1 }, -EINVAL, "k_step has no value 16" },
    { { 8, 8, 0, 0 }, { 1, 0, 6, 16, 2 }, { 1, 1 }, -EINVAL, "order has no value 2" },
    { { 8, 8, 0, 0 }, { 1, 0, 6, 16, 0 }, { 1, -1 }, -EINVAL, "request 1 has -1 tokens" },
    { { 8, 8, 0, 0 }, { 1, 0, 6, 16, 0 }, { INT64_MAX, INT64_MAX }, -EINVAL, "overflows" },
    { { 1 << 20, 1 << 20, 0, 0 }, { 16, 0, 6, 16, 0 }, { 1ll << 40, 1 }, -EINVAL, "overflows" },
    { { 1 << 20, 0, 0, 0 }, { 1, 0, 6, 16, 0 }, { 1 << 20, 1 },
      -DT_BACKEND_EUNSUPPORTED, "more than 16777216 tiles" },
};

START_TEST (wrong_call)
{
    struct fam_call call = { wrong[_i].fact, wrong[_i].param, 2, wrong[_i].tokens, seeds, 0, 0, 1,
                             1 };

    fam_check_refused (&fam, &call, wrong[_i].code, wrong[_i].text);
}
END_TEST

static void add_tests (TCase *tc)
{
    tcase_add_loop_test (tc, values, 0,
                         (int)(ARRAY_SIZE (sites) * DT_BACKEND_DATA_KINDS * ARRAY_SIZE (params)));
    tcase_add_loop_test (tc, bits_of_every_build, 0, (int)ARRAY_SIZE (params));
    tcase_add_loop_test (tc, all_bits_of_fp32, 0, (int)ARRAY_SIZE (params));
    tcase_add_loop_test (tc, no_rows, 0, (int)ARRAY_SIZE (params));
    tcase_add_loop_test (tc, launch, 0, (int)ARRAY_SIZE (launches));
    tcase_add_loop_test (tc, wrong_call, 0, (int)ARRAY_SIZE (wrong));
}

int main (void)
{
    return fam_suite ("kernels/gemm", "gemm", &fam, &planted, add_tests);
}
