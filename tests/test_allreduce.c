/* kernels/allreduce: values, bits that no schedule and no batch changes, lost ranks,
 * wrong calls. */
#include "tests/family_check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/allreduce/host/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

enum { BY_RANK, RING };
enum { PUSH, PULL, TWO_SHOT };

/* ranks, bf16, max_bytes */
static const int64_t sites[][3] = {
    { 2, 0, 1 << 24 }, { 3, 1, 1 << 24 }, { 4, 0, 1 << 24 }, { 5, 0, 1 << 24 },
    { 8, 0, 1 << 24 }, { 8, 1, 1 << 24 },
};

/* order, algorithm, chunk */
static const int64_t bound[][3] = {
    { BY_RANK, PUSH, 256 }, { BY_RANK, PULL, 1024 }, { BY_RANK, TWO_SHOT, 256 },
    { BY_RANK, TWO_SHOT, 4096 }, { RING, PUSH, 256 },
};

static const int64_t chunks[] = { 256, 1024, 4096, 16384 };

static struct fam rig, planted;

/* The messages, [ranks][n], as kernels/allreduce/host/allreduce.h states. */
static void *messages (const struct fam_job *job, size_t *ret_n)
{
    const int64_t *f = job->call.fact;
    size_t elem = f[1] ? 2 : 4, n = 0, at = 0, i;
    void *x;

    for (i = 0; i < job->call.n_requests; i++)
        n += (size_t)job->call.request[2 * i] / elem;
    fam_place (job, &at, (job->call.n_requests + 1) * 8);
    x = fam_place (job, &at, (size_t)f[0] * n * elem);
    ck_assert_uint_eq (at, job->plan.operand_bytes);
    *ret_n = n;
    return x;
}

/* --- values against float64 ------------------------------------------------------ */

static const int64_t mixed[] = { 4, 0, 0, 0, 44, 1, 4096, 0, 9996, 1 };
static const uint64_t seeds[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };

START_TEST (values)
{
    const int64_t *site = sites[_i % (int)ARRAY_SIZE (sites)];
    struct fam_call call = { .fact = site, .param = bound[_i / (int)ARRAY_SIZE (sites) % 5],
                             .n = 5, .request = mixed, .seed = seeds, .units = 2 };
    size_t ranks = (size_t)site[0], n, i, r, e, first = 0;
    int bf16 = (int)site[1];
    struct fam_job job;
    const void *x;

    call.data = (uint32_t)_i / (ARRAY_SIZE (sites) * 5);
    fam_job_init (&job, &rig, &call);
    fam_job_run (&job);
    x = messages (&job, &n);
    for (i = 0; i < call.n; i++) {
        size_t own = (size_t)mixed[2 * i] / (bf16 ? 2 : 4);

        for (r = 0; r < ranks; r++)
            for (e = 0; e < own; e++) {
                double got = (double)fam_value (job.output + job.row[i].offset, r * own + e, bf16);
                double want = 0, scale = 0;

                for (size_t k = 0; k < ranks; k++) {
                    double term = (double)fam_value (x, k * n + first + e, bf16);

                    want += term;
                    scale += fabs (term);
                }
                ck_assert_msg (fabs (got - want) <= scale * (double)ranks * 0x1p-24
                               + fabs (want) * (bf16 ? 0x1p-8 : 0x1p-23),
                               "request %zu rank %zu element %zu: %.9g, want %.9g", i, r, e, got,
                               want);
            }
        first += own;
    }
    fam_job_done (&job);
}
END_TEST

/* The order itself: rank order in fp32 from +0, of terms up to 2^40 apart. */
START_TEST (rank_order)
{
    struct fam_call call = { .fact = sites[_i], .param = bound[_i % 4], .n = 5, .request = mixed,
                             .seed = seeds, .data = DT_BACKEND_SPREAD, .units = 1 };
    size_t ranks = (size_t)sites[_i][0], n, e, k, other = 0;
    int bf16 = (int)sites[_i][1];
    struct fam_job job;
    const void *x;

    fam_job_init (&job, &rig, &call);
    fam_job_run (&job);
    x = messages (&job, &n);
    for (e = 0; e < (size_t)mixed[8] / (bf16 ? 2 : 4); e++) {
        size_t at = n - (size_t)mixed[8] / (bf16 ? 2 : 4) + e;
        volatile float sum = 0, back = 0;
        unsigned char want[4];

        for (k = 0; k < ranks; k++) {
            sum += fam_value (x, k * n + at, bf16);
            back += fam_value (x, (ranks - 1 - k) * n + at, bf16);
        }
        fam_put (want, 0, sum, bf16);
        ck_assert_mem_eq (job.output + job.row[4].offset + e * (bf16 ? 2 : 4), want,
                          bf16 ? 2 : 4);
        other += sum != back;
    }
    ck_assert_msg (ranks == 2 || other > 0, "the data do not tell orders apart");
    fam_job_done (&job);
}
END_TEST

/* No value says that a message is empty: -0 and NaN of any bits are values. */
START_TEST (any_value)
{
    static const int64_t request[] = { 400, 0 };
    struct fam_call call = { .fact = sites[2], .param = bound[_i], .n = 1, .request = request,
                             .seed = seeds, .units = 2 };
    size_t n, e, k;
    struct fam_job job;
    char *x;

    fam_job_init (&job, &rig, &call);
    x = messages (&job, &n);
    for (k = 0; k < 4; k++)
        for (e = 0; e < n; e++)
            fam_put (x, k * n + e, -0.0f, 0);
    memset (x + (n + 7) * 4, 0xff, 4); /* rank 1, element 7 */
    fam_job_run (&job);
    for (k = 0; k < 4; k++)
        for (e = 0; e < n; e++)
            if (e == 7)
                ck_assert (isnan (fam_value (job.output, k * n + e, 0)));
            else
                ck_assert_mem_eq (job.output + (k * n + e) * 4, "\0\0\0\0", 4);
    fam_job_done (&job);
}
END_TEST

/* --- bits -------------------------------------------------------------------------- */

static void shuffle_free (struct fam_call *call, int64_t *param, uint64_t *state)
{
    param[1] = (int64_t)(fam_random (state) % 3);
    param[2] = chunks[fam_random (state) % ARRAY_SIZE (chunks)];
    call->units = 1 + (int)(fam_random (state) % FAM_MAX_UNITS);
}

/* Stock: a ring for large messages. */
static int64_t order_by_bytes (const int64_t *request, size_t n)
{
    int64_t total = 0;
    size_t i;

    for (i = 0; i < n; i++)
        total += request[2 * i];
    return total > 32768 ? RING : BY_RANK;
}

static const int64_t watched[] = { 1024, 4096, 12, 0, 16384, 40000, 1024, 8 };

/* Requests in random batches that are not as when they are alone.  order < 0: chosen
 * by the batch's bytes. */
static int count_changed (struct fam *fam, const int64_t *site, int64_t order, uint32_t data)
{
    struct fam_job alone[ARRAY_SIZE (watched)];
    uint64_t state = 7;
    int bad = 0, trial;
    size_t i;

    for (i = 0; i < ARRAY_SIZE (watched); i++) {
        int64_t request[2] = { watched[i], 0 };
        int64_t param[3] = { order < 0 ? order_by_bytes (request, 1) : order, PULL, 1024 };
        struct fam_call call = { .fact = site, .param = param, .n = 1, .request = request,
                                 .seed = &seeds[i], .data = data, .units = 1 };

        fam_job_init (&alone[i], fam, &call);
        fam_job_run (&alone[i]);
        bad += fam_not_finite (&alone[i], (int)site[1]) != 0;
    }
    for (trial = 0; trial < 15; trial++) {
        int64_t request[24], param[3];
        uint64_t seed[12];
        size_t which[12], n = 1 + fam_random (&state) % 12;
        struct fam_call call = { .fact = site, .param = param, .n = n, .request = request,
                                 .seed = seed, .data = data };
        struct fam_job job;

        for (i = 0; i < n; i++) {
            which[i] = fam_random (&state) % (ARRAY_SIZE (watched) * 3 / 2);
            request[2 * i] = which[i] < ARRAY_SIZE (watched)
                ? watched[which[i]] : (int64_t)(fam_random (&state) % 5000 * 4);
            request[2 * i + 1] = 0;
            seed[i] = which[i] < ARRAY_SIZE (watched) ? seeds[which[i]] : fam_random (&state);
        }
        param[0] = order < 0 ? order_by_bytes (request, n) : order;
        shuffle_free (&call, param, &state);
        fam_job_init (&job, fam, &call);
        fam_job_run (&job);
        for (i = 0; i < n; i++)
            if (which[i] < ARRAY_SIZE (watched))
                bad += !fam_same_row (&job, i, &alone[which[i]], 0);
        fam_job_done (&job);
    }
    for (i = 0; i < ARRAY_SIZE (watched); i++)
        fam_job_done (&alone[i]);
    return bad;
}

START_TEST (invariance)
{
    ck_assert_int_eq (count_changed (&rig, sites[_i % (int)ARRAY_SIZE (sites)], BY_RANK,
                                     (uint32_t)_i / ARRAY_SIZE (sites)), 0);
}
END_TEST

/* The same test finds a ring, and one that large messages take. */
START_TEST (ring_changes_bits)
{
    ck_assert_int_gt (count_changed (&rig, sites[2], RING, DT_BACKEND_SPREAD), 0);
    ck_assert_int_gt (count_changed (&rig, sites[4], -1, DT_BACKEND_RANDOM), 0);
    ck_assert_int_gt (count_changed (&rig, sites[5], -1, DT_BACKEND_CANCEL), 0);
}
END_TEST

/* Every rank has the same bits. */
START_TEST (ranks_agree)
{
    static const int64_t request[] = { 20000, 0 };
    struct fam_call call = { .fact = sites[4], .param = bound[_i], .n = 1, .request = request,
                             .seed = seeds, .data = DT_BACKEND_SPREAD, .units = 2 };
    struct fam_job job;
    size_t r;

    fam_job_init (&job, &rig, &call);
    fam_job_run (&job);
    for (r = 1; r < 8; r++)
        ck_assert_mem_eq (job.output + r * 20000, job.output, 20000);
    fam_job_done (&job);
}
END_TEST

static const struct {
    enum ar_plant plant;
    int caught;
} plants[] = { { AR_PLANT_NONE, 0 }, { AR_PLANT_OWNER, 1 }, { AR_PLANT_ROUND, 1 } };

static void plant (enum ar_plant fault)
{
    fam_plant (&planted, "ar_plant", fault);
}

START_TEST (planted_fault)
{
    int bad;

    plant (plants[_i].plant);
    bad = count_changed (&planted, sites[4], BY_RANK, DT_BACKEND_SPREAD);
    ck_assert_msg ((bad > 0) == plants[_i].caught, "fault %d: %d rows differ",
                   (int)plants[_i].plant, bad);
}
END_TEST

/* Two ranks exchanged: an exact sum is the same, and its bits are not. */
START_TEST (exchanged_ranks)
{
    static const int64_t request[] = { 4096, 0 };
    struct fam_call call = { .fact = sites[2], .param = bound[0], .n = 1, .request = request,
                             .seed = seeds, .data = (uint32_t)_i, .units = 1 };
    struct fam_job a, b;
    size_t e, n = 1024, changed = 0;

    fam_job_init (&a, &rig, &call);
    fam_job_run (&a);
    call.exchange = 1;
    fam_job_init (&b, &rig, &call);
    fam_job_run (&b);
    for (e = 0; e < n; e++)
        changed += memcmp (a.output + 4 * e, b.output + 4 * e, 4) != 0;
    ck_assert_msg (changed > n / 20, "%zu of %zu elements", changed, n);
    fam_job_done (&a);
    fam_job_done (&b);
}
END_TEST

/* --- ranks that do not come -------------------------------------------------------- */

START_TEST (lost_rank)
{
    struct fam_call call = { .fact = sites[2], .param = bound[_i], .n = 5, .request = mixed,
                             .seed = seeds, .units = 1 };
    struct dt_backend_error err = { "" };
    struct fam_job job;

    plant (AR_PLANT_LOST);
    fam_job_init (&job, &planted, &call);
    ck_assert_int_eq (fam_job_try (&job, &err), -DT_BACKEND_EDEVICE);
    ck_assert_msg (strstr (err.text, "allreduce: rank 1 of 4 did not come to a barrier")
                   && strstr (err.text, "chunk="), "%s", err.text);
    plant (AR_PLANT_NONE); /* all of them ended, so the context is as good as before */
    fam_job_run (&job);
    ck_assert_uint_eq (fam_not_finite (&job, 0), 0);
    fam_job_done (&job);
}
END_TEST

/* A rank that is still somewhere cannot be called again. */
START_TEST (stuck_rank)
{
    struct fam_call call = { .fact = sites[2], .param = bound[1], .n = 5, .request = mixed,
                             .seed = seeds, .units = 3 };
    struct dt_backend_error err = { "" };
    struct fam_job job;

    plant (AR_PLANT_STUCK);
    fam_job_init (&job, &planted, &call);
    ck_assert_int_eq (fam_job_try (&job, &err), -DT_BACKEND_EDEVICE);
    ck_assert_msg (strstr (err.text, "rank 1 of 4 did not end"), "%s", err.text);
    ck_assert_int_eq (planted.b->run (job.ctx, &job.call, job.operands, job.output,
                                      job.workspace, &err), -DT_BACKEND_EDEVICE);
    ck_assert_msg (strstr (err.text, "open another"), "%s", err.text);
    fam_job_done (&job); /* the plant touches no buffer once its barrier has failed */
    planted.b->close (planted.ctx[3]);
    planted.ctx[3] = NULL;
    plant (AR_PLANT_NONE);
    fam_job_init (&job, &planted, &call);
    fam_job_run (&job);
    fam_job_done (&job);
}
END_TEST

/* --- launches and wrong calls ------------------------------------------------------ */

static const struct {
    const char *what;
    int64_t a[3], b[3], request[2];
    int equal;
} launches[] = {
    { "the same", { 0, 0, 256 }, { 0, 0, 256 }, { 4096, 0 }, 1 },
    { "another algorithm", { 0, 0, 256 }, { 0, 1, 256 }, { 4096, 0 }, 0 },
    { "another order", { 0, 0, 256 }, { 1, 0, 256 }, { 4096, 0 }, 0 },
    { "a ring knows no algorithm", { 1, 0, 256 }, { 1, 2, 1024 }, { 4096, 0 }, 1 },
    { "chunks beyond the message", { 0, 0, 4096 }, { 0, 0, 16384 }, { 4096, 0 }, 1 },
    { "nothing to do", { 0, 0, 256 }, { 1, 2, 4096 }, { 0, 0 }, 1 },
};

START_TEST (launch)
{
    struct fam_call call = { .fact = sites[2], .param = launches[_i].a, .n = 1,
                             .request = launches[_i].request, .seed = seeds, .units = 1 };

    fam_check_launch (&rig, &call, launches[_i].b, launches[_i].equal, launches[_i].what);
}
END_TEST

static const struct {
    int64_t site[3], param[3], request[4];
    const char *says;
} wrong[] = {
    { { 1, 0, 64 }, { 0, 0, 256 }, { 4, 0, 4, 0 }, "ranks" },
    { { 9, 0, 64 }, { 0, 0, 256 }, { 4, 0, 4, 0 }, "ranks" },
    { { 4, 2, 64 }, { 0, 0, 256 }, { 4, 0, 4, 0 }, "bf16" },
    { { 4, 0, INT64_MAX }, { 0, 0, 256 }, { 4, 0, 4, 0 }, "max_bytes" },
    { { 4, 0, 64 }, { 2, 0, 256 }, { 4, 0, 4, 0 }, "order" },
    { { 4, 0, 64 }, { 0, 3, 256 }, { 4, 0, 4, 0 }, "algorithm" },
    { { 4, 0, 64 }, { 0, 0, 0 }, { 4, 0, 4, 0 }, "chunk" },
    { { 4, 0, 64 }, { 0, 0, 256 }, { 4, 0, 6, 0 }, "part of an element" },
    { { 4, 0, 64 }, { 0, 0, 256 }, { 4, 0, -4, 0 }, "negative" },
    { { 4, 0, 64 }, { 0, 0, 256 }, { 4, 2, 4, 0 }, "captured" },
    { { 4, 0, 64 }, { 0, 0, 256 }, { 60, 0, 8, 0 }, "more than max_bytes" },
    { { 4, 0, 64 }, { 0, 0, 256 }, { 4, 0, INT64_MAX - 3, 0 }, "more than max_bytes" },
};

START_TEST (wrong_call)
{
    struct fam_call call = { .fact = wrong[_i].site, .param = wrong[_i].param, .n = 2,
                             .request = wrong[_i].request, .seed = seeds, .units = 1 };

    fam_check_refused (&rig, &call, -EINVAL, wrong[_i].says);
}
END_TEST

static void add_tests (TCase *tc)
{
    tcase_add_loop_test (tc, values, 0, (int)ARRAY_SIZE (sites) * 5 * DT_BACKEND_DATA_KINDS);
    tcase_add_loop_test (tc, rank_order, 0, (int)ARRAY_SIZE (sites));
    tcase_add_loop_test (tc, any_value, 0, (int)ARRAY_SIZE (bound));
    tcase_add_loop_test (tc, invariance, 0, (int)ARRAY_SIZE (sites) * DT_BACKEND_DATA_KINDS);
    tcase_add_test (tc, ring_changes_bits);
    tcase_add_loop_test (tc, ranks_agree, 0, (int)ARRAY_SIZE (bound));
    tcase_add_loop_test (tc, planted_fault, 0, (int)ARRAY_SIZE (plants));
    tcase_add_loop_test (tc, exchanged_ranks, 0, DT_BACKEND_DATA_KINDS);
    tcase_add_loop_test (tc, lost_rank, 0, (int)ARRAY_SIZE (bound));
    tcase_add_test (tc, stuck_rank);
    tcase_add_loop_test (tc, launch, 0, (int)ARRAY_SIZE (launches));
    tcase_add_loop_test (tc, wrong_call, 0, (int)ARRAY_SIZE (wrong));
}

int main (void)
{
    return fam_suite ("kernels/allreduce", "allreduce", &rig, &planted, add_tests);
}
