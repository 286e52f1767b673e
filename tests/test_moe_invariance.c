/* kernels/moe: a request's bits do not follow its batch, its row, the experts of others,
 * a free parameter or the threads; and planted faults show that these tests see. */
#include "tests/family_check.h"
#include "tests/moe_rig.h"

#include "kernels/moe/host/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static const int64_t sites[][FACTS] = {
    { 8, 4, 128, 64, 0, 0 }, { 4, 3, 96, 80, 1, 0 }, { 6, 5, 200, 48, 1, 1 },
};
static const int64_t bound[][2] = { { 0, 0 }, { 32, 0 }, { 0, 1 }, { 128, 1 } }; /* k_step, combine */
static const int64_t watched[] = { 1, 3, 0, 1, 9, 2, 30 };

static struct fam fam, planted;

static int count_batches (struct fam *f, const int64_t *site, const int64_t *binding, int trials)
{
    int64_t param[PARAMS] = { binding[0], binding[1], 6, 16, 0 };
    struct fam_batches b = { site, param, (int)site[OUTPUT_BF16], watched, ARRAY_SIZE (watched), 20,
                             9, 12, trials };

    return fam_count_batches (f, &b);
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
    int bad;

    fam_plant (&planted, "moe_plant", plants[_i].plant);
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
                             1 }, other = call;

    for (size_t i = 0; i < 16; i++) {
        request[i][0] = 1;
        request[i][1] = 0;
        seed[i] = i;
    }
    other.param = b;
    ck_assert_uint_ge (fam_count_changed (&fam, &call, &other), 12);
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

    ck_assert_uint_gt (fam_count_exchanged (&fam, &call, by[_i], 1e-4),
                       7 * (size_t)sites[0][HIDDEN] / 10);
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

static void add_tests (TCase *tc)
{
    tcase_add_loop_test (tc, invariance, 0, (int)(ARRAY_SIZE (sites) * ARRAY_SIZE (bound)));
    tcase_add_loop_test (tc, planted_fault, 0, (int)ARRAY_SIZE (plants));
    tcase_add_loop_test (tc, binding_parameters_change_bits, 0, 4);
    tcase_add_loop_test (tc, exchange, 0, 3);
    tcase_add_test (tc, routes);
}

int main (void)
{
    return fam_suite ("kernels/moe_invariance", "moe", &fam, &planted, add_tests);
}
