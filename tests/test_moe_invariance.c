/* kernels/moe: a request's bits do not follow its batch, its row, the experts of others,
 * a free parameter or the threads; and planted faults show that these tests see. */
#include "tests/moe_rig.h"

#include <check.h>
#include <dlfcn.h>
#include <string.h>

#include "kernels/moe/host/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static const int64_t sites[][FACTS] = {
    { 8, 4, 128, 64, 0, 0 }, { 4, 3, 96, 80, 1, 0 }, { 6, 5, 200, 48, 1, 1 },
};
static const int64_t bound[][2] = { { 0, 0 }, { 32, 0 }, { 0, 1 }, { 128, 1 } }; /* k_step, combine */
static const int64_t watched[] = { 1, 3, 0, 1, 9, 2, 30 };
static const int64_t block_m[] = { 1, 6, 12, 24, 48 }, tile_n[] = { 16, 64, 256 };

static struct fam fam, planted;

/* Rows of random batches that are not as when their request is alone. */
static int count_batches (struct fam *f, const int64_t *site, const int64_t *binding, int trials)
{
    enum { W = ARRAY_SIZE (watched), MAX = 12 };
    int64_t param[PARAMS] = { binding[0], binding[1], 6, 16, 0 }, own[W][2];
    struct fam_job alone[W];
    uint64_t state = 7, seed[W];
    int bad = 0, trial;
    size_t i;

    for (i = 0; i < W; i++) {
        struct fam_call call = { site, param, 1, own[i], &seed[i], (uint32_t)i % 3, 0, 1, 1 };

        seed[i] = 100 + i;
        own[i][0] = watched[i];
        own[i][1] = 0;
        fam_job_init (&alone[i], f, &call);
        fam_job_run (&alone[i]);
        bad += fam_not_finite (&alone[i], (int)site[OUTPUT_BF16]) != 0;
    }
    for (trial = 0; trial < trials; trial++) {
        int64_t request[MAX][2], free_param[PARAMS] = { binding[0], binding[1], 0, 0, 0 };
        uint64_t seeds[MAX];
        size_t which[MAX], n = 1 + fam_random (&state) % MAX;
        struct fam_call call = { site, free_param, n, request[0], seeds, (uint32_t)trial % 3, 0, 1,
                                 1 + (int)(fam_random (&state) % FAM_MAX_UNITS) };
        struct fam_job job;

        for (i = 0; i < n; i++) { /* watched ones of this kind of data, and strangers */
            which[i] = fam_random (&state) % (2 * W);
            request[i][0] = which[i] < W ? watched[which[i]] : (int64_t)(fam_random (&state) % 20);
            request[i][1] = (int64_t)(fam_random (&state) % 9);
            seeds[i] = which[i] < W ? seed[which[i]] : fam_random (&state);
        }
        free_param[BLOCK_M] = block_m[fam_random (&state) % ARRAY_SIZE (block_m)];
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
                                     bound[_i / (int)ARRAY_SIZE (sites)], 50), 0);
}
END_TEST

static const struct {
    enum moe_plant plant;
    int caught;
} plants[] = {
    { MOE_PLANT_NONE, 0 }, { MOE_PLANT_BASE, 0 }, { MOE_PLANT_COMBINE, 1 },
    { MOE_PLANT_SORTED, 1 }, { MOE_PLANT_FULL, 1 }, { MOE_PLANT_STALE, 1 },
};

START_TEST (planted_fault)
{
    enum moe_plant *fault = dlsym (planted.object, "moe_plant");
    int bad;

    ck_assert_ptr_nonnull (fault);
    *fault = plants[_i].plant;
    bad = count_batches (&planted, sites[0], bound[0], plants[_i].plant == MOE_PLANT_BASE ? 6 : 50);
    ck_assert_msg ((bad > 0) == plants[_i].caught, "fault %d: %d rows differ",
                   (int)plants[_i].plant, bad);
}
END_TEST

/* Another order shows in nearly every row: of bf16 outputs, if the sums cancel. */
START_TEST (binding_parameters_change_bits)
{
    static const struct {
        size_t site;
        uint32_t data;
        int64_t k_step, combine;
    } cases[] = {
        { 0, DT_BACKEND_RANDOM, 32, 0 }, { 0, DT_BACKEND_RANDOM, 0, 1 },
        { 1, DT_BACKEND_RANDOM, 32, 0 }, { 2, DT_BACKEND_CANCEL, 32, 0 },
    };
    int64_t a[PARAMS] = { 0, 0, 24, 64, 0 }, request[16][2];
    int64_t b[PARAMS] = { cases[_i].k_step, cases[_i].combine, 24, 64, 0 };
    uint64_t seed[16];
    struct fam_call call = { sites[cases[_i].site], a, 16, request[0], seed, cases[_i].data, 0, 1,
                             1 };
    struct fam_job x, y;
    int changed = 0;

    for (size_t i = 0; i < 16; i++) {
        request[i][0] = 1;
        request[i][1] = 0;
        seed[i] = i;
    }
    fam_job_init (&x, &fam, &call);
    fam_job_run (&x);
    call.param = b;
    fam_job_init (&y, &fam, &call);
    fam_job_run (&y);
    for (size_t i = 0; i < 16; i++)
        changed += !fam_same_row (&x, i, &y, i);
    ck_assert_int_ge (changed, 12);
    fam_job_done (&x);
    fam_job_done (&y);
}
END_TEST

/* The exchange of two terms of the sums shows, and hardly moves a value. */
START_TEST (exchange)
{
    static const uint32_t by[] = { 1, 2, 31 };
    static const int64_t request[] = { 1, 0, 2, 0, 4, 0 };
    static const uint64_t seed[] = { 1, 2, 3 };
    int64_t param[PARAMS] = { 0, 0, 24, 64, 0 };
    struct fam_call call = { sites[0], param, 3, request, seed, 0, 0, 1, 1 };
    size_t n = 7 * (size_t)sites[0][HIDDEN], changed = 0;
    struct fam_job x, y;

    fam_job_init (&x, &fam, &call);
    fam_job_run (&x);
    call.exchange = by[_i];
    fam_job_init (&y, &fam, &call);
    fam_job_run (&y);
    for (size_t i = 0; i < n; i++) {
        double a = (double)fam_value (x.output, i, 0), b = (double)fam_value (y.output, i, 0);

        changed += a != b;
        ck_assert_double_eq_tol (a, b, 1e-4);
    }
    ck_assert_uint_gt (changed, n / 10);
    fam_job_done (&x);
    fam_job_done (&y);
}
END_TEST

/* Routing as stated: distinct experts, each of them used, the first ones most. */
START_TEST (routes)
{
    static const int64_t request[] = { 400, 0 };
    static const uint64_t seed = 5;
    int64_t param[PARAMS] = { 0, 0, 24, 64, 0 };
    struct fam_call call = { sites[0], param, 1, request, &seed, 0, 0, 1, 1 };
    size_t count[8] = { 0 }, i, k;
    struct moe_layout l;
    struct fam_job job;

    fam_job_init (&job, &fam, &call);
    l = moe_layout (&job);
    for (i = 0; i < 400; i++)
        for (k = 0; k < 4; k++) {
            ck_assert_int_ge (l.id[4 * i + k], 0);
            ck_assert_int_lt (l.id[4 * i + k], 8);
            count[l.id[4 * i + k]]++;
            for (size_t o = 0; o < k; o++)
                ck_assert_int_ne (l.id[4 * i + o], l.id[4 * i + k]);
        }
    for (i = 0; i < 8; i++)
        ck_assert_uint_gt (count[i], 80);
    ck_assert_uint_gt (count[0], count[7]);
    fam_job_done (&job);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("kernels/moe_invariance");
    TCase *tc = tcase_create ("all");
    SRunner *runner;
    int failed;

    fam_open (&fam, ".libs/detent-backend-host.so", "moe");
    fam_open (&planted, "tests/.libs/backend-planted.so", "moe");
    tcase_set_timeout (tc, 120);
    tcase_add_loop_test (tc, invariance, 0, (int)(ARRAY_SIZE (sites) * ARRAY_SIZE (bound)));
    tcase_add_loop_test (tc, planted_fault, 0, (int)ARRAY_SIZE (plants));
    tcase_add_loop_test (tc, binding_parameters_change_bits, 0, 4);
    tcase_add_loop_test (tc, exchange, 0, 3);
    tcase_add_test (tc, routes);
    suite_add_tcase (s, tc);
    runner = srunner_create (s);
    srunner_run_all (runner, CK_ENV);
    failed = srunner_ntests_failed (runner);
    srunner_free (runner);
    fam_close (&fam);
    fam_close (&planted);
    return failed != 0;
}
