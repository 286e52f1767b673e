/* kernels/gemm: a request's bits do not follow its batch, its row, a free parameter or
 * the threads; and planted faults show that these tests see. */
#include "tests/family_check.h"

#include "kernels/gemm/host/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

enum { FACTS = 4 };
enum { SPLITS, K_STEP, TILE_M, TILE_N, ORDER, PARAMS };

/* n, k, bf16, output_bf16 */
static const int64_t sites[][FACTS] = { { 72, 600, 0, 0 }, { 40, 530, 1, 0 }, { 19, 1100, 1, 1 } };
static const int64_t bound[][2] = { { 1, 0 }, { 4, 0 }, { 1, 128 }, { 16, 32 } };

static const int64_t watched[] = { 1, 3, 0, 1, 12, 2, 40 };

static struct fam fam, planted;

static int count_batches (struct fam *f, const int64_t *site, const int64_t *binding, int trials)
{
    int64_t param[PARAMS] = { binding[0], binding[1], 6, 16, 0 };
    struct fam_batches b = { site, param, (int)site[3], watched, ARRAY_SIZE (watched), 30, 1, 16,
                             trials };

    return fam_count_batches (f, &b);
}

START_TEST (invariance)
{
    ck_assert_int_eq (count_batches (&fam, sites[_i % (int)ARRAY_SIZE (sites)],
                                     bound[_i / (int)ARRAY_SIZE (sites)], 60), 0);
}
END_TEST

/* M = 1 is row 0 of M = 64, and any row of it. */
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
    int bad;

    fam_plant (&planted, "gemm_plant", plants[_i].plant);
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
    static const int64_t chain[PARAMS] = { 1, 0, 24, 64, 0 };
    int64_t param[PARAMS] = { other[_i / 2][0], other[_i / 2][1], 24, 64, 0 };
    struct fam_call a = { sites[_i % 2 * 2], chain, 16, tokens, seed,
                          _i % 2 ? DT_BACKEND_CANCEL : DT_BACKEND_RANDOM, 0, 1, 1 }, b = a;

    b.param = param;
    ck_assert_uint_ge (fam_count_changed (&fam, &a, &b), 15);
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

    ck_assert_uint_gt (fam_count_exchanged (&fam, &call, by[_i / 3],
                                            _i % 3 == DT_BACKEND_SPREAD ? 0.1 : 1e-3), 0);
}
END_TEST

static void add_tests (TCase *tc)
{
    int all = (int)(ARRAY_SIZE (sites) * ARRAY_SIZE (bound));

    tcase_add_loop_test (tc, invariance, 0, all);
    tcase_add_loop_test (tc, one_row_of_many, 0, all);
    tcase_add_loop_test (tc, planted_fault, 0, (int)ARRAY_SIZE (plants));
    tcase_add_loop_test (tc, binding_parameters_change_bits, 0, 10);
    tcase_add_loop_test (tc, exchange, 0, 9);
}

int main (void)
{
    return fam_suite ("kernels/gemm_invariance", "gemm", &fam, &planted, add_tests);
}
