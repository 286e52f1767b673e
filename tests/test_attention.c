/* kernels/attention: values, bits that no build changes, launches, wrong calls. */
#include "tests/attention_rig.h"
#include "tests/suite.h"

#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static struct fam rig;

/* One output vector in float64.  ret[head_dim]; returns the sum of p max |v| / l,
 * the scale of its rounding error. */
static double reference (const struct fam_job *job, const struct rig_layout *lay, size_t request,
                         size_t token, size_t head, double *ret)
{
    size_t d = (size_t)job->call.fact[0], q_heads = (size_t)job->call.fact[1], i, j;
    size_t kv_heads = (size_t)job->call.fact[2], ps = (size_t)job->call.fact[3];
    const int64_t *lengths = &job->call.request[2 * request];
    size_t position = (size_t)(lengths[1] - lengths[0]) + token;
    size_t q = (((size_t)lay->q_start[request] + token) * q_heads + head) * d;
    size_t kv_head = head / (q_heads / kv_heads);
    int bf16 = (int)job->call.fact[4];
    double *t = malloc ((position + 1) * sizeof *t), max = -INFINITY, sum = 0, scale = 0;
    size_t window = (size_t)job->call.fact[9], low = window && position >= window
                                                 ? position - window + 1 : 0;

    memset (ret, 0, d * sizeof *ret);
    for (j = low; j <= position; j++) {
        size_t page = (size_t)lay->table[(size_t)lay->kv_start[request] + j / ps];
        size_t k = (page * kv_heads + kv_head) * d * ps + j % ps;

        for (t[j] = 0, i = 0; i < d; i++)
            t[j] += (double)fam_value (lay->q, q + i, bf16) * fam_value (lay->k, k + i * ps, bf16);
        t[j] /= sqrt ((double)d);
        max = fmax (max, t[j]);
    }
    for (j = low; j <= position; j++) {
        size_t page = (size_t)lay->table[(size_t)lay->kv_start[request] + j / ps];
        size_t v = ((page * kv_heads + kv_head) * ps + j % ps) * d;
        double p = exp (t[j] - max), largest = 0;

        sum += p;
        for (i = 0; i < d; i++) {
            ret[i] += p * fam_value (lay->v, v + i, bf16);
            largest = fmax (largest, fabs ((double)fam_value (lay->v, v + i, bf16)));
        }
        scale += p * largest;
    }
    for (i = 0; i < d; i++)
        ret[i] /= sum;
    free (t);
    return scale / sum;
}

static const struct rig_site sites[] = {
    { 64, 8, 2, 16, 0, 0, 4096, 64, 1024 }, { 16, 1, 1, 1, 0, 0, 4096, 64, 1024 },
    { 128, 4, 4, 32, 1, 1, 4096, 64, 1024 }, { 256, 5, 1, 8, 1, 0, 4096, 64, 1024 },
    { 80, 6, 3, 256, 0, 1, 4096, 64, 1024 },
    { 32, 4, 2, 16, 0, 0, 4096, 64, 1024, 1 }, { 32, 4, 1, 8, 0, 0, 4096, 64, 1024, 100 },
    { 64, 2, 2, 16, 1, 1, 4096, 64, 1024, 256 },
};

static const struct rig_request requests[] = {
    { 1, 1, 1 }, { 2, 2, 2 }, { 15, 15, 3 }, { 3, 16, 4 }, { 17, 17, 5 }, { 0, 0, 6 },
    { 1, 127, 7 }, { 1, 128, 8 }, { 2, 129, 9 }, { 1, 255, 10 }, { 1, 256, 11 }, { 3, 257, 12 },
    { 1, 511, 13 }, { 5, 513, 14 }, { 0, 40, 15 }, { 7, 1000, 16 },
};

static const struct rig_params params[] = {
    { 16, 0, 1, 1 }, { 32, 256, 4, 2 }, { 64, 512, 16, 4 }, { 128, 256, 32, 8 }, { 128, 0, 64, 1 },
};

START_TEST (values)
{
    const struct rig_site *site = &sites[_i % (int)ARRAY_SIZE (sites)];
    struct rig_call call = { site, params[_i / (int)ARRAY_SIZE (sites)], ARRAY_SIZE (requests),
                             requests, (uint64_t)_i, 2 };
    double want[256], relative = site->bf16 ? 0x1p-9 : 0x1p-20;
    size_t d = (size_t)site->head_dim, i, token, head, e;
    struct fam_job job;
    struct rig_layout lay;

    rig_job_init (&job, &rig, &call);
    fam_job_run (&job);
    rig_layout (&job, &lay);
    for (i = 0; i < call.n; i++)
        for (token = 0; token < (size_t)requests[i].query_len; token += 2)
            for (head = 0; head < (size_t)site->q_heads; head += 3) {
                double scale = reference (&job, &lay, i, token, head, want);
                size_t at = (((size_t)lay.q_start[i] + token) * (size_t)site->q_heads + head) * d;

                for (e = 0; e < d; e++) {
                    double got = fam_value (job.output, at + e, (int)site->output_bf16);
                    double slack = relative * scale
                                   + (site->output_bf16 ? 0x1p-8 * fabs (want[e]) : 0);

                    ck_assert_msg (fabs (got - want[e]) <= slack, "request %zu token %zu head %zu"
                                   " element %zu: %.9g, want %.9g +- %.2g", i, token, head, e,
                                   got, want[e], slack);
                }
            }
    fam_job_done (&job);
}
END_TEST

static uint64_t digest_output (uint64_t h, const struct fam_job *job)
{
    size_t i;

    for (i = 0; i < job->plan.output_bytes; i++)
        h = (h ^ job->output[i]) * 0x100000001b3u;
    return h;
}

/* Of the sites [first, end). */
static uint64_t digest_all (size_t first, size_t end)
{
    uint64_t h = 0xcbf29ce484222325u;
    size_t i;

    for (i = 0; i < (end - first) * ARRAY_SIZE (params); i++) {
        struct rig_call call = { &sites[first + i % (end - first)], params[i / (end - first)],
                                 ARRAY_SIZE (requests), requests, i, 2 };
        struct fam_job job;

        rig_job_init (&job, &rig, &call);
        fam_job_run (&job);
        h = digest_output (h, &job);
        fam_job_done (&job);
    }
    return h;
}

/* Each operation is one IEEE operation, so neither compiler, flags nor processor
 * change a bit.  A change of this number is a change of the canonical order (or
 * of the data), and must be meant. */
START_TEST (bits_of_every_build)
{
    ck_assert_uint_eq (digest_all (0, 5), 0xa1898d00b07ca485u);
    ck_assert_uint_eq (digest_all (5, 8), 0xef9258b34e981947u);
}
END_TEST

/* An engine's rounding mode and flushing of subnormals do not reach the kernels. */
START_TEST (floating_point_environment)
{
    struct rig_call call = { &sites[0], params[1], ARRAY_SIZE (requests), requests, 1, 2 };
    struct fam_job job;
    uint64_t plain;

    rig_job_init (&job, &rig, &call);
    fam_job_run (&job);
    plain = digest_output (0, &job);
    fesetround (FE_UPWARD);
#ifdef __SSE__
    _mm_setcsr (_mm_getcsr () | 0x8040); /* flush results and operands */
#endif
    fam_job_run (&job);
    ck_assert_int_eq (fegetround (), FE_UPWARD);
    fesetenv (FE_DFL_ENV);
    ck_assert_uint_eq (digest_output (0, &job), plain);
    fam_job_done (&job);
}
END_TEST

static const struct {
    const char *what;
    struct rig_params a, b;
    struct rig_request request;
    int equal;
    int64_t window;
} launches[] = {
    { "the same", { 32, 0, 4, 1 }, { 32, 0, 4, 1 }, { 8, 300, 1 }, 1 },
    { "another block", { 32, 0, 4, 1 }, { 64, 0, 4, 1 }, { 8, 300, 1 }, 0 },
    { "a stride that cuts", { 32, 0, 4, 1 }, { 32, 256, 4, 1 }, { 8, 300, 1 }, 0 },
    { "a stride as long as the keys", { 32, 0, 4, 1 }, { 32, 256, 4, 1 }, { 8, 256, 1 }, 1 },
    { "strides beyond the keys", { 32, 512, 4, 1 }, { 32, 4096, 4, 8 }, { 8, 300, 1 }, 1 },
    { "two runs", { 32, 256, 4, 1 }, { 32, 256, 4, 2 }, { 8, 300, 1 }, 0 },
    { "more workers than splits", { 32, 256, 4, 2 }, { 32, 256, 4, 8 }, { 8, 300, 1 }, 1 },
    { "workers without splits", { 32, 0, 4, 1 }, { 32, 0, 4, 8 }, { 8, 300, 1 }, 1 },
    { "another tile", { 32, 0, 4, 1 }, { 32, 0, 16, 1 }, { 8, 300, 1 }, 0 },
    { "tiles beyond the rows", { 32, 0, 4, 1 }, { 32, 0, 64, 1 }, { 1, 300, 1 }, 1 },
    { "nothing to do", { 32, 0, 4, 1 }, { 32, 256, 64, 4 }, { 0, 300, 1 }, 1 },
    { "workers beyond what a window shows", { 32, 256, 4, 2 }, { 32, 256, 4, 8 }, { 1, 2000, 1 }, 1, 400 },
    { "workers of what a window shows", { 32, 256, 4, 2 }, { 32, 256, 4, 8 }, { 1, 2000, 1 }, 0, 800 },
};

START_TEST (launch)
{
    struct rig_site site = sites[0];
    struct rig_call call = { &site, launches[_i].a, 1, &launches[_i].request, 1, 1 };
    struct fam_job a, b;

    site.window = launches[_i].window;
    rig_job_init (&a, &rig, &call);
    call.params = launches[_i].b;
    rig_job_init (&b, &rig, &call);
    ck_assert_msg ((memcmp (a.plan.launch, b.plan.launch, sizeof a.plan.launch) == 0)
                   == launches[_i].equal, "%s", launches[_i].what);
    fam_job_done (&a);
    fam_job_done (&b);
}
END_TEST

static const struct {
    struct rig_site site;
    struct rig_params params;
    struct rig_request request;
    int want;
    const char *says;
} wrong[] = {
#define GOOD_SITE { 64, 8, 2, 16, 0, 0, 4096, 64, 1024 }
#define GOOD_PARAMS { 32, 256, 4, 1 }
    { { 20, 8, 2, 16, 0, 0, 4096, 64, 1024 }, GOOD_PARAMS, { 1, 1, 0 }, -EINVAL, "head_dim" },
    { { 512, 8, 2, 16, 0, 0, 4096, 64, 1024 }, GOOD_PARAMS, { 1, 1, 0 }, -EINVAL, "head_dim" },
    { { 64, 8, 3, 16, 0, 0, 4096, 64, 1024 }, GOOD_PARAMS, { 1, 1, 0 }, -EINVAL, "kv_heads" },
    { { 64, 8, 0, 16, 0, 0, 4096, 64, 1024 }, GOOD_PARAMS, { 1, 1, 0 }, -EINVAL, "kv_heads" },
    { { 64, 8, 2, 24, 0, 0, 4096, 64, 1024 }, GOOD_PARAMS, { 1, 1, 0 }, -EINVAL, "page_size" },
    { { 64, 8, 2, 16, 2, 0, 4096, 64, 1024 }, GOOD_PARAMS, { 1, 1, 0 }, -EINVAL, "bf16" },
    { { 64, 8, 2, 16, 0, 0, INT64_MAX, 64, 1024 }, GOOD_PARAMS, { 1, 1, 0 }, -EINVAL,
      "max_context" },
    { { 64, 8, 2, 16, 0, 0, 4096, 64, 1024, -1 }, GOOD_PARAMS, { 1, 1, 0 }, -EINVAL, "window" },
    { GOOD_SITE, { 48, 0, 4, 1 }, { 1, 1, 0 }, -EINVAL, "block_n" },
    { GOOD_SITE, { 32, 257, 4, 1 }, { 1, 1, 0 }, -EINVAL, "split_stride" },
    { GOOD_SITE, { 32, -256, 4, 1 }, { 1, 1, 0 }, -EINVAL, "split_stride" },
    { GOOD_SITE, { 32, 256, 0, 1 }, { 1, 1, 0 }, -EINVAL, "tile_m" },
    { GOOD_SITE, { 32, 256, 4, INT64_MIN }, { 1, 1, 0 }, -EINVAL, "workers_per_request" },
    { GOOD_SITE, GOOD_PARAMS, { 1, 0, 0 }, -EINVAL, "more queries than keys" },
    { GOOD_SITE, GOOD_PARAMS, { -1, 5, 0 }, -EINVAL, "negative" },
    { GOOD_SITE, GOOD_PARAMS, { INT64_MIN, INT64_MIN, 0 }, -EINVAL, "negative" },
    { GOOD_SITE, GOOD_PARAMS, { 1, INT64_MAX, 0 }, -EINVAL, "max_context" },
    { GOOD_SITE, GOOD_PARAMS, { 1, 4097, 0 }, -EINVAL, "max_context" },
    { GOOD_SITE, GOOD_PARAMS, { 1025, 2000, 0 }, -EINVAL, "max_query" },
    { { 256, 1024, 1, 1, 0, 0, 1 << 20, 1 << 16, 1 << 20 }, { 16, 256, 1, 8 },
      { 1 << 20, 1 << 20, 0 }, -DT_BACKEND_EUNSUPPORTED, "tiles" },
};

START_TEST (wrong_call)
{
    struct rig_call call = { &wrong[_i].site, wrong[_i].params, 1, &wrong[_i].request, 1, 1 };
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan = { .operand_bytes = 1 };
    struct fam_job job;
    char buffer[1];

    rig_call_init (&job, &rig, &call);
    ck_assert_int_eq (rig.b->plan (job.ctx, &job.call, &plan, &err), wrong[_i].want);
    ck_assert_uint_eq (plan.operand_bytes, 1);
    ck_assert_msg (strncmp (err.text, "attention: ", 11) == 0 && strstr (err.text, wrong[_i].says)
                   && strstr (err.text, "block_n=") && !strchr (err.text, '\n'), "%s", err.text);
    ck_assert_int_eq (rig.b->plan (job.ctx, &job.call, &plan, NULL), wrong[_i].want);
    ck_assert_int_eq (rig.b->fill (job.ctx, &job.call, 1, buffer, NULL), wrong[_i].want);
    ck_assert_int_eq (rig.b->run (job.ctx, &job.call, buffer, buffer, buffer, NULL),
                      wrong[_i].want);
    fam_job_done (&job);
}
END_TEST

/* Calls that are not even a call. */
START_TEST (malformed_call)
{
    struct rig_call call = { &sites[0], params[0], 1, requests, 1, 1 };
    struct dt_backend_error err = { "" };
    const struct dt_backend_family *family;
    struct dt_backend_plan plan;
    struct fam_job job;

    rig_call_init (&job, &rig, &call);
    family = job.call.family;
    ck_assert_int_eq (rig.b->plan (job.ctx, NULL, &plan, &err), -EINVAL);
    job.call.n_requests = SIZE_MAX;
    ck_assert_int_eq (rig.b->plan (job.ctx, &job.call, &plan, &err), -EINVAL);
    job.call.n_requests = 1;
    job.call.seed = NULL;
    ck_assert_int_eq (rig.b->plan (job.ctx, &job.call, &plan, &err), -EINVAL);
    job.call.n_requests = 0;
    job.call.request = NULL;
    ck_assert_int_eq (rig.b->plan (job.ctx, &job.call, &plan, &err), 0);
    ck_assert_uint_eq (plan.output_bytes, 0);
    job.call.family = NULL;
    ck_assert_int_eq (rig.b->plan (job.ctx, &job.call, &plan, &err), -EINVAL);
    job.call.family = family;
    job.call.data = DT_BACKEND_DATA_KINDS;
    ck_assert_int_eq (rig.b->plan (job.ctx, &job.call, &plan, &err), -EINVAL);
    ck_assert_ptr_nonnull (strstr (err.text, "no kind 3 of data"));
    fam_job_done (&job);
}
END_TEST

/* The outputs of a decode of 96 keys and of a prefill of 8, fp32, for one kind of
 * data and exchange. */
enum { DECODE_VALUES = 4 * 32, PREFILL_VALUES = 8 * DECODE_VALUES };

static void outputs_of (uint32_t data, uint32_t exchange,
                        float ret[DECODE_VALUES + PREFILL_VALUES])
{
    static const struct rig_site site = { 32, 4, 1, 16, 0, 0, 4096, 64, 1024 };
    static const struct rig_request both[] = { { 1, 96, 5 }, { 8, 96, 6 } };
    struct rig_call call = { &site, { 32, 0, 16, 1 }, 2, both, 1, 1 };
    struct fam_job job;

    rig_job_init (&job, &rig, &call);
    job.call.data = data;
    job.call.exchange = exchange;
    ck_assert_int_eq (rig.b->set (job.ctx, job.operands, 0x7f, job.plan.operand_bytes, NULL), 0);
    ck_assert_int_eq (rig.b->fill (job.ctx, &job.call, 1, job.operands, NULL), 0);
    fam_job_run (&job);
    memcpy (ret, job.output, sizeof (float[DECODE_VALUES + PREFILL_VALUES]));
    fam_job_done (&job);
}

/* An exchange is seen in the bits of a decode and hardly in its values, and leaves a
 * prefill alone; cancelling data sums to about nothing. */
START_TEST (exchanged_terms)
{
    static const uint32_t by[] = { 1, 2, 31 };
    float plain[DECODE_VALUES + PREFILL_VALUES], other[DECODE_VALUES + PREFILL_VALUES];
    float most = 0, moved = 0;

    for (size_t k = 0; k < ARRAY_SIZE (by); k++) {
        outputs_of ((uint32_t)_i, 0, plain);
        outputs_of ((uint32_t)_i, by[k], other);
        ck_assert (memcmp (plain, other, DECODE_VALUES * sizeof *plain) != 0);
        ck_assert (memcmp (plain + DECODE_VALUES, other + DECODE_VALUES,
                           PREFILL_VALUES * sizeof *plain) == 0);
        for (size_t i = 0; i < DECODE_VALUES; i++) {
            most = fmaxf (most, fabsf (plain[i]));
            moved = fmaxf (moved, fabsf (plain[i] - other[i]));
        }
    }
    if (_i == DT_BACKEND_CANCEL)
        ck_assert_float_lt (most, 1e-2f);
    else
        ck_assert_float_gt (most, 0.1f);
    ck_assert_float_lt (moved, _i == DT_BACKEND_RANDOM ? 1e-5f : _i == DT_BACKEND_CANCEL ? 1e-2f : 1.0f);
}
END_TEST

START_TEST (who_computes)
{
    struct rig_call call = { &sites[0], params[0], 1, requests, 1, 3 };
    const struct dt_backend_identity *id, *other;
    struct dt_backend_options none = { .device = 1 }, alone = { .units = 3, .identify = 1 };
    struct dt_backend_ctx *ctx = NULL;
    struct dt_backend_error err = { "" };
    struct fam_job job;

    rig_job_init (&job, &rig, &call);
    id = rig.b->identity (job.ctx);
    ck_assert_str_eq (id->name, "host");
    ck_assert_uint_eq (strlen (id->build), 64);
    ck_assert_uint_eq (id->units, 3);
    ck_assert (id->device[0] != 0);
    ck_assert_int_eq (rig.b->open (&alone, &ctx, &err), 0); /* without threads */
    other = rig.b->identity (ctx);
    ck_assert_str_eq (other->build, id->build);
    ck_assert_str_eq (other->device, id->device);
    ck_assert_uint_eq (other->units, id->units);
    rig.b->close (ctx);
    ctx = NULL;
    fam_job_run (&job);
    ck_assert_uint_gt (rig.b->elapsed_ns (job.ctx), 0);
    fam_job_done (&job);
    ck_assert_int_eq (rig.b->open (&none, &ctx, &err), -ENODEV);
    ck_assert_ptr_null (ctx);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("kernels/attention");
    TCase *tc = tcase_create ("all");
    int failed;

    fam_open (&rig, ".libs/detent-backend-host.so", "attention");
    tcase_set_timeout (tc, 120);
    tcase_add_loop_test (tc, values, 0, (int)(ARRAY_SIZE (sites) * ARRAY_SIZE (params)));
    tcase_add_test (tc, bits_of_every_build);
    tcase_add_test (tc, floating_point_environment);
    tcase_add_loop_test (tc, launch, 0, (int)ARRAY_SIZE (launches));
    tcase_add_loop_test (tc, wrong_call, 0, (int)ARRAY_SIZE (wrong));
    tcase_add_test (tc, malformed_call);
    tcase_add_loop_test (tc, exchanged_terms, 0, DT_BACKEND_DATA_KINDS);
    tcase_add_test (tc, who_computes);
    suite_add_tcase (s, tc);
    failed = suite_run (s);
    fam_close (&rig);
    return failed;
}
