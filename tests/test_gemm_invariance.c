/* kernels/gemm: a request's bits do not follow its batch, its row, a free parameter or
 * the threads; and planted faults show that these tests see. */
#include "tests/family_rig.h"

#include <check.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm/host/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

enum { FACTS = 4 };
enum { SPLITS, K_STEP, TILE_M, TILE_N, ORDER, PARAMS };

/* n, k, bf16, output_bf16 */
static const int64_t sites[][FACTS] = { { 72, 600, 0, 0 }, { 40, 530, 1, 0 }, { 19, 1100, 1, 1 } };
static const int64_t bound[][2] = { { 1, 0 }, { 4, 0 }, { 1, 128 }, { 16, 32 } };

static const int64_t watched[] = { 1, 3, 0, 1, 12, 2, 40 };
static const int64_t tile_m[] = { 6, 24, 48, 96 }, tile_n[] = { 16, 64, 128, 256 };

static struct fam fam, planted;

/* Rows of random batches that are not as when their request is alone. */
static int count_batches (struct fam *f, const int64_t *site, const int64_t *binding, int trials)
{
    enum { W = ARRAY_SIZE (watched), MAX = 16 };
    struct fam_job alone[W];
    uint64_t state = 7, seed[W];
    int64_t param[PARAMS] = { binding[0], binding[1], 6, 16, 0 };
    int bad = 0, trial;
    size_t i;

    for (i = 0; i < W; i++) {
        struct fam_call call = { site, param, 1, &watched[i], &seed[i], (uint32_t)i % 3, 0, 1, 1 };

        seed[i] = 100 + i;
        fam_job_init (&alone[i], f, &call);
        fam_job_run (&alone[i]);
        bad += fam_not_finite (&alone[i], (int)site[3]) != 0;
    }
    for (trial = 0; trial < trials; trial++) {
        int64_t tokens[MAX], free_param[PARAMS];
        uint64_t seeds[MAX];
        size_t which[MAX], n = 1 + fam_random (&state) % MAX;
        struct fam_call call = { site, free_param, n, tokens, seeds, (uint32_t)trial % 3, 0, 1,
                                 1 + (int)(fam_random (&state) % FAM_MAX_UNITS) };
        struct fam_job job;

        for (i = 0; i < n; i++) { /* watched ones of this kind of data, and strangers */
            which[i] = fam_random (&state) % (2 * W);
            tokens[i] = which[i] < W ? watched[which[i]] : (int64_t)(fam_random (&state) % 30);
            seeds[i] = which[i] < W ? seed[which[i]] : fam_random (&state);
        }
        free_param[SPLITS] = param[SPLITS];
        free_param[K_STEP] = param[K_STEP];
        free_param[TILE_M] = tile_m[fam_random (&state) % ARRAY_SIZE (tile_m)];
        free_param[TILE_N] = tile_n[fam_random (&state) % ARRAY_SIZE (tile_n)];
        free_param[ORDER] = (int64_t)(fam_random (&state) % 2);
        fam_job_init (&job, f, &call);
        fam_job_run (&job);
        for (i = 0; i < n; i++)
            if (which[i] < W && which[i] % 3 == (size_t)trial % 3)
                bad += !fam_same_row (&job, i, &alone[which[i]], 0);
        fam_job_done (&job);
    }
    for (i = 0; i < W; i++)
        fam_job_done (&alone[i]);
    return bad;
}

START_TEST (invariance)
{
    ck_assert_int_eq (count_batches (&fam, sites[_i % (int)ARRAY_SIZE (sites)],
                                     bound[_i / (int)ARRAY_SIZE (sites)], 60), 0);
}
END_TEST

/* Bug log B35: M = 1 is row 0 of M = 64, and any row of it. */
START_TEST (one_row_of_many)
{
    const int64_t *site = sites[_i % (int)ARRAY_SIZE (sites)];
    int64_t param[PARAMS] = { bound[_i / (int)ARRAY_SIZE (sites)][0],
                              bound[_i / (int)ARRAY_SIZE (sites)][1], 48, 64, 0 };
    int64_t ones[64];
    uint64_t seed[64];
    struct fam_call call = { site, param, 64, ones, seed, DT_BACKEND_CANCEL, 0, 1, 2 };
    struct fam_job all, one;

    for (uint64_t i = 0; i < 64; i++) {
        ones[i] = 1;
        seed[i] = 7 * i;
    }
    fam_job_init (&all, &fam, &call);
    fam_job_run (&all);
    call.n = 1;
    for (size_t i = 0; i < 64; i++) {
        call.seed = &seed[i];
        fam_job_init (&one, &fam, &call);
        fam_job_run (&one);
        ck_assert (fam_same_row (&all, i, &one, 0));
        fam_job_done (&one);
    }
    fam_job_done (&all);
}
END_TEST

static const struct {
    enum gemm_plant plant;
    int caught;
} plants[] = {
    { GEMM_PLANT_NONE, 0 }, { GEMM_PLANT_BASE, 0 }, { GEMM_PLANT_SPLIT, 1 },
    { GEMM_PLANT_MANY, 1 }, { GEMM_PLANT_ROW17, 1 }, { GEMM_PLANT_TAIL, 1 },
};

START_TEST (planted_fault)
{
    enum gemm_plant *fault = dlsym (planted.object, "gemm_plant");
    int bad;

    ck_assert_ptr_nonnull (fault);
    *fault = plants[_i].plant;
    bad = count_batches (&planted, sites[0], bound[0], plants[_i].plant == GEMM_PLANT_BASE ? 9 : 60);
    ck_assert_msg ((bad > 0) == plants[_i].caught, "fault %d: %d rows differ",
                   (int)plants[_i].plant, bad);
}
END_TEST

/* The data have power: another order shows in fp32 rows and, of cancelling data, in
 * bf16 ones. */
START_TEST (binding_parameters_change_bits)
{
    static const int64_t other[][2] = { { 2, 0 }, { 4, 0 }, { 16, 0 }, { 1, 32 }, { 1, 128 } };
    static const int64_t tokens[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    static const uint64_t seed[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    const int64_t *site = sites[_i % 2 * 2];
    int64_t a[PARAMS] = { 1, 0, 24, 64, 0 }, b[PARAMS] = { 1, 0, 24, 64, 0 };
    struct fam_call call = { site, a, 16, tokens, seed,
                             _i % 2 ? DT_BACKEND_CANCEL : DT_BACKEND_RANDOM, 0, 1, 1 };
    struct fam_job x, y;
    int changed = 0;

    b[SPLITS] = other[_i / 2][0];
    b[K_STEP] = other[_i / 2][1];
    fam_job_init (&x, &fam, &call);
    fam_job_run (&x);
    call.param = b;
    fam_job_init (&y, &fam, &call);
    fam_job_run (&y);
    for (size_t i = 0; i < 16; i++)
        changed += !fam_same_row (&x, i, &y, i);
    ck_assert_int_ge (changed, 15);
    fam_job_done (&x);
    fam_job_done (&y);
}
END_TEST

/* The exchange of two terms shows, in every kind of data, and changes no value. */
START_TEST (exchange)
{
    static const int64_t tokens[4] = { 1, 2, 1, 3 };
    static const uint64_t seed[4] = { 1, 2, 3, 4 };
    static const uint32_t by[] = { 1, 2, 31 };
    int64_t param[PARAMS] = { 1, 0, 24, 64, 0 };
    struct fam_call call = { sites[0], param, 4, tokens, seed, (uint32_t)_i % 3, 0, 1, 1 };
    struct fam_job x, y;
    size_t changed = 0;

    fam_job_init (&x, &fam, &call);
    fam_job_run (&x);
    call.exchange = by[_i / 3];
    fam_job_init (&y, &fam, &call);
    fam_job_run (&y);
    for (size_t i = 0; i < 7 * (size_t)sites[0][0]; i++) {
        double a = (double)fam_value (x.output, i, 0), b = (double)fam_value (y.output, i, 0);

        changed += a != b;
        ck_assert_double_eq_tol (a, b, _i % 3 == DT_BACKEND_SPREAD ? 0.1 : 1e-3);
    }
    ck_assert_uint_gt (changed, 0);
    fam_job_done (&x);
    fam_job_done (&y);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("kernels/gemm_invariance");
    TCase *tc = tcase_create ("all");
    SRunner *runner;
    int failed, all = (int)(ARRAY_SIZE (sites) * ARRAY_SIZE (bound));

    fam_open (&fam, ".libs/detent-backend-host.so", "gemm");
    fam_open (&planted, "tests/.libs/backend-planted.so", "gemm");
    tcase_set_timeout (tc, 120);
    tcase_add_loop_test (tc, invariance, 0, all);
    tcase_add_loop_test (tc, one_row_of_many, 0, all);
    tcase_add_loop_test (tc, planted_fault, 0, (int)ARRAY_SIZE (plants));
    tcase_add_loop_test (tc, binding_parameters_change_bits, 0, 10);
    tcase_add_loop_test (tc, exchange, 0, 9);
    suite_add_tcase (s, tc);
    runner = srunner_create (s);
    srunner_run_all (runner, CK_ENV);
    failed = srunner_ntests_failed (runner);
    srunner_free (runner);
    fam_close (&fam);
    fam_close (&planted);
    return failed != 0;
}
