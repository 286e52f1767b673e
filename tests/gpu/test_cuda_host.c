/* What of the CUDA backend needs no GPU: judging records, errors of CUPTI, sizes,
 * operands, and what a machine without a device is told. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <nccl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/cuda/clock.h"
#include "kernels/cuda/library.h"
#include "kernels/gemm/cuda/lt.h"
#include "tests/suite.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

/* ---- spans ---- */

static const struct {
    const char *what;
    struct cuda_stamp stamp[3];
    size_t n, expected;
    enum cuda_span want;
    uint64_t want_ns;
} spans[] = {
    { "one kernel", { { 100, 160 } }, 1, 1, CUDA_SPAN_OK, 60 },
    { "two in order", { { 100, 160 }, { 170, 200 } }, 2, 2, CUDA_SPAN_OK, 100 },
    { "two at once, the later one inside", { { 100, 300 }, { 120, 200 } }, 2, 2, CUDA_SPAN_OK, 200 },
    { "records out of order", { { 170, 200 }, { 100, 160 } }, 2, 2, CUDA_SPAN_OK, 100 },
    { "none of one", { { 0, 0 } }, 0, 1, CUDA_SPAN_MISSING, 0 },
    { "none of none is no time", { { 0, 0 } }, 0, 0, CUDA_SPAN_MISSING, 0 },
    { "one of two", { { 100, 160 } }, 1, 2, CUDA_SPAN_MISSING, 0 },
    { "a stranger's", { { 100, 160 }, { 170, 200 } }, 2, 1, CUDA_SPAN_EXTRA, 0 },
    { "no start", { { 0, 160 } }, 1, 1, CUDA_SPAN_NO_TIME, 0 },
    { "no end beside a good one", { { 100, 160 }, { 170, 0 } }, 2, 2, CUDA_SPAN_NO_TIME, 0 },
    { "reversed", { { 160, 100 } }, 1, 1, CUDA_SPAN_REVERSED, 0 },
    { "reversed beside a good one", { { 100, 160 }, { 300, 200 } }, 2, 2, CUDA_SPAN_REVERSED, 0 },
    { "no length can never win", { { 100, 100 } }, 1, 1, CUDA_SPAN_REVERSED, 0 },
};

START_TEST (span_case)
{
    uint64_t ns = 7;

    ck_assert_msg (cuda_span_of (spans[_i].stamp, spans[_i].n, spans[_i].expected, &ns)
                   == spans[_i].want, "%s", spans[_i].what);
    ck_assert_uint_eq (ns, spans[_i].want == CUDA_SPAN_OK ? spans[_i].want_ns : 7);
    ck_assert_uint_gt (strlen (cuda_span_text (spans[_i].want)), 0);
}
END_TEST

static const struct {
    const char *what;
    struct cuda_stamp stamp[6];
    size_t n, calls;
    enum cuda_span want;
    uint64_t want_ns;
} rows[] = {
    { "the first call's wait is not counted", { { 100, 900 }, { 910, 950 }, { 955, 1000 } }, 3, 3,
      CUDA_SPAN_OK, 50 },
    { "records out of order", { { 955, 1000 }, { 100, 900 }, { 910, 950 } }, 3, 3, CUDA_SPAN_OK, 50 },
    { "two kernels a call", { { 1, 4 }, { 5, 10 }, { 11, 14 }, { 15, 30 } }, 4, 2, CUDA_SPAN_OK, 20 },
    { "no whole number of records", { { 1, 4 }, { 5, 10 }, { 11, 14 } }, 3, 2, CUDA_SPAN_EXTRA, 0 },
    { "fewer than calls", { { 1, 4 } }, 1, 2, CUDA_SPAN_MISSING, 0 },
    { "all end at once", { { 1, 9 }, { 2, 9 } }, 2, 2, CUDA_SPAN_REVERSED, 0 },
};

START_TEST (row_case)
{
    uint64_t ns = 7;

    ck_assert_msg (cuda_span_row (rows[_i].stamp, rows[_i].n, rows[_i].calls, &ns) == rows[_i].want,
                   "%s", rows[_i].what);
    ck_assert_uint_eq (ns, rows[_i].want == CUDA_SPAN_OK ? rows[_i].want_ns : 7);
}
END_TEST

START_TEST (tally_breaks_beyond_its_share)
{
    struct cuda_tally t = { 0 };
    int i;

    for (i = 0; i < (int)CUDA_TALLY_GRACE; i++)
        cuda_tally_add (&t, CUDA_SPAN_MISSING);
    ck_assert (!cuda_tally_broken (&t)); /* a few at the start say little */
    cuda_tally_add (&t, CUDA_SPAN_REVERSED);
    ck_assert (cuda_tally_broken (&t));
    t = (struct cuda_tally){ .runs = 400, .dropped = 4 };
    ck_assert (!cuda_tally_broken (&t));
    t.dropped = 5;
    ck_assert (cuda_tally_broken (&t));
}
END_TEST

START_TEST (reasons_that_spoil_a_time)
{
    ck_assert_ptr_null (cuda_reasons_text (0));
    ck_assert_ptr_null (cuda_reasons_text (0x1)); /* idle */
    ck_assert_ptr_null (cuda_reasons_text (0x4)); /* the software power cap is normal */
    ck_assert_str_eq (cuda_reasons_text (0x8 | 0x40), "hardware thermal slowdown");
    ck_assert_ptr_nonnull (cuda_reasons_text (0x4 | 0x20));
    ck_assert_ptr_nonnull (cuda_reasons_text (0x80));
}
END_TEST

START_TEST (clocks_that_are_low)
{
    ck_assert (!cuda_clock_is_low (1980, 1188, 0));
    ck_assert (!cuda_clock_is_low (1188, 1188, 0));
    ck_assert (cuda_clock_is_low (1089, 1188, 0)); /* 55% of 1980 */
    ck_assert (cuda_clock_is_low (345, 1188, 0x1)); /* at rest */
    ck_assert (!cuda_clock_is_low (1089, 1188, 0x4)); /* the power cap is why */
    ck_assert (!cuda_clock_is_low (1089, 1188, 0x2)); /* the operator is */
    ck_assert (!cuda_clock_is_low (0, 1188, 0)); /* nobody knows */
    ck_assert (!cuda_clock_is_low (1089, 0, 0));
}
END_TEST

/* ---- a CUPTI of our own ---- */

static struct {
    CUptiResult subscribe, enable, flush, next, dropped;
    size_t lost;
    CUpti_ActivityKernel10 record[8];
    size_t n; /* handed over at the next flush */
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    int subscribed, enabled;
} fake;

static CUptiResult fake_version (uint32_t *version)
{
    *version = 130001;
    return CUPTI_SUCCESS;
}

static CUptiResult fake_subscribe (CUpti_SubscriberHandle *s, CUpti_CallbackFunc f, void *user)
{
    (void)s, (void)f, (void)user;
    fake.subscribed += fake.subscribe == CUPTI_SUCCESS;
    return fake.subscribe;
}

static CUptiResult fake_unsubscribe (CUpti_SubscriberHandle s)
{
    (void)s;
    fake.subscribed--;
    return CUPTI_SUCCESS;
}

static CUptiResult fake_attribute (CUpti_ActivityAttribute a, size_t *size, void *value)
{
    (void)a, (void)size, (void)value;
    return CUPTI_SUCCESS;
}

static CUptiResult fake_callbacks (CUpti_BuffersCallbackRequestFunc request,
                                   CUpti_BuffersCallbackCompleteFunc complete)
{
    fake.request = request;
    fake.complete = complete;
    return CUPTI_SUCCESS;
}

static CUptiResult fake_timestamp (CUpti_TimestampCallbackFunc now)
{
    return now () > 0 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult fake_enable (CUpti_ActivityKind kind)
{
    (void)kind;
    fake.enabled += fake.enable == CUPTI_SUCCESS;
    return fake.enable;
}

static CUptiResult fake_disable (CUpti_ActivityKind kind)
{
    (void)kind;
    fake.enabled--;
    return CUPTI_SUCCESS;
}

static CUptiResult fake_flush (uint32_t flag)
{
    uint8_t *buffer;
    size_t size, max, bytes = fake.n * sizeof *fake.record;

    (void)flag;
    if (fake.flush != CUPTI_SUCCESS || fake.n == 0)
        return fake.flush;
    fake.request (&buffer, &size, &max);
    memcpy (buffer, fake.record, bytes);
    fake.n = 0;
    fake.complete (NULL, 0, buffer, size, bytes);
    return CUPTI_SUCCESS;
}

static CUptiResult fake_next (uint8_t *buffer, size_t bytes, CUpti_Activity **record)
{
    uint8_t *next = *record ? (uint8_t *)*record + sizeof *fake.record : buffer;

    if (fake.next != CUPTI_SUCCESS)
        return fake.next;
    if (next >= buffer + bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)next;
    return CUPTI_SUCCESS;
}

static CUptiResult fake_dropped (CUcontext context, uint32_t stream, size_t *n)
{
    (void)context, (void)stream;
    *n = fake.lost;
    return fake.dropped;
}

static CUptiResult fake_text (CUptiResult result, const char **text)
{
    (void)result;
    *text = "CUPTI_ERROR_SOMETHING";
    return CUPTI_SUCCESS;
}

static const struct cuda_cupti fake_cupti = {
    fake_version, fake_subscribe, fake_unsubscribe, fake_attribute, fake_callbacks,
    fake_timestamp, fake_enable, fake_disable, fake_flush, fake_next, fake_dropped, fake_text,
};

static void fake_records (size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        memset (&fake.record[i], 0, sizeof fake.record[i]);
        fake.record[i].kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        fake.record[i].start = 1000 + 100 * i;
        fake.record[i].end = 1050 + 100 * i;
        fake.record[i].name = i == 0 ? "first" : "later";
    }
    fake.n = n;
}

static struct cuda_clock *fake_clock (void)
{
    struct dt_backend_error err = { "" };
    struct cuda_clock *clock = NULL;

    memset (&fake, 0, sizeof fake);
    ck_assert_msg (cuda_clock_new (&fake_cupti, &clock, &err) == 0, "%s", err.text);
    ck_assert_int_eq (fake.enabled, 3);
    return clock;
}

static const struct {
    int at_enable;
    CUptiResult result;
    const char *cause;
} refusals[] = {
    { 0, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "another profiler has it" },
    { 0, CUPTI_ERROR_NOT_INITIALIZED, "could not start" },
    { 0, CUPTI_ERROR_NOT_COMPATIBLE, "does not fit the driver" },
    { 1, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "may not profile" },
    { 1, CUPTI_ERROR_NOT_COMPATIBLE, "does not fit the driver" },
    { 1, CUPTI_ERROR_HARDWARE, "CUPTI_ERROR_SOMETHING" },
};

START_TEST (refused_cupti)
{
    struct dt_backend_error err = { "" };
    struct cuda_clock *clock = NULL;

    memset (&fake, 0, sizeof fake);
    *(refusals[_i].at_enable ? &fake.enable : &fake.subscribe) = refusals[_i].result;
    ck_assert_int_eq (cuda_clock_new (&fake_cupti, &clock, &err), -DT_BACKEND_EDEVICE);
    ck_assert_ptr_null (clock);
    ck_assert_msg (strstr (err.text, refusals[_i].cause) != NULL, "%s", err.text);
    ck_assert_msg (strstr (err.text, "DETENT_CUDA_CLOCK=events") != NULL, "%s", err.text);
    ck_assert_ptr_null (strchr (err.text, '\n'));
    ck_assert_int_eq (fake.subscribed, 0); /* nothing is held after a refusal */
    ck_assert_int_eq (fake.enabled, 0);
}
END_TEST

START_TEST (one_clock_of_a_process)
{
    struct cuda_clock *clock = fake_clock (), *other = NULL;
    struct dt_backend_error err = { "" };

    ck_assert_int_eq (cuda_clock_new (&fake_cupti, &other, &err), -EBUSY);
    cuda_clock_free (clock);
    ck_assert_int_eq (cuda_clock_new (&fake_cupti, &other, &err), 0);
    cuda_clock_free (other);
    ck_assert_int_eq (fake.subscribed, 0);
    ck_assert_int_eq (fake.enabled, 0);
}
END_TEST

static int take (struct cuda_clock *clock, size_t n, size_t expected, enum cuda_span *verdict,
                 uint64_t *ns, struct dt_backend_error *err)
{
    int r;

    if ((r = cuda_clock_begin (clock, 0, err)) < 0)
        return r;
    fake_records (n);
    return cuda_clock_end (clock, expected, verdict, ns, err);
}

START_TEST (clock_reads_spans)
{
    struct cuda_clock *clock = fake_clock ();
    struct dt_backend_error err = { "" };
    enum cuda_span verdict = CUDA_SPAN_MISSING;
    uint64_t ns = 0;

    ck_assert_int_eq (take (clock, 2, 2, &verdict, &ns, &err), 0);
    ck_assert_int_eq (verdict, CUDA_SPAN_OK);
    ck_assert_uint_eq (ns, 150);
    ck_assert_str_eq (cuda_clock_kernel (clock), "first");
    /* What is left over from before a run is never mixed in. */
    fake_records (5);
    ck_assert_int_eq (take (clock, 1, 1, &verdict, &ns, &err), 0);
    ck_assert_int_eq (verdict, CUDA_SPAN_OK);
    ck_assert_uint_eq (ns, 50);
    ck_assert_int_eq (take (clock, 3, 2, &verdict, &ns, &err), 0);
    ck_assert_int_eq (verdict, CUDA_SPAN_EXTRA);
    ck_assert_int_eq (take (clock, 1, 2, &verdict, &ns, &err), 0); /* waits a second */
    ck_assert_int_eq (verdict, CUDA_SPAN_MISSING);
    ck_assert_uint_eq (ns, 50);
    ck_assert_uint_eq (cuda_clock_tally (clock)->runs, 4);
    ck_assert_uint_eq (cuda_clock_tally (clock)->dropped, 2);
    cuda_clock_free (clock);
}
END_TEST

START_TEST (plain_launches_beside_a_graph)
{
    struct cuda_clock *clock = fake_clock ();
    enum cuda_span verdict = CUDA_SPAN_MISSING;
    struct dt_backend_error err = { "" };
    uint64_t ns = 0;

    ck_assert_int_eq (cuda_clock_begin (clock, 1, &err), 0);
    fake_records (4);
    fake.record[1].graphId = 3;
    fake.record[2].graphId = 3;
    ck_assert_int_eq (cuda_clock_end (clock, 2, &verdict, &ns, &err), 0);
    ck_assert_int_eq (verdict, CUDA_SPAN_OK);
    ck_assert_uint_eq (ns, 150); /* of the second and third */
    cuda_clock_free (clock);
}
END_TEST

START_TEST (lost_records_give_no_time)
{
    struct dt_backend_error err = { "" };
    enum cuda_span verdict = CUDA_SPAN_REVERSED;
    struct cuda_clock *clock = fake_clock ();
    uint64_t ns = 7;

    fake.lost = 2;
    ck_assert_int_eq (take (clock, 3, 3, &verdict, &ns, &err), 0);
    ck_assert_int_eq (verdict, CUDA_SPAN_LOST);
    ck_assert_uint_eq (ns, 7);
    ck_assert_uint_eq (cuda_clock_tally (clock)->dropped, 1);
    fake.lost = 0; /* the next run is as good as any */
    ck_assert_int_eq (take (clock, 1, 1, &verdict, &ns, &err), 0);
    ck_assert_int_eq (verdict, CUDA_SPAN_OK);
    ck_assert_uint_eq (ns, 50);
    cuda_clock_free (clock);
    verdict = CUDA_SPAN_REVERSED;
    clock = fake_clock ();
    fake.dropped = CUPTI_ERROR_UNKNOWN; /* a counter that cannot be read is not zero */
    ck_assert_int_eq (take (clock, 3, 3, &verdict, &ns, &err), -DT_BACKEND_EDEVICE);
    cuda_clock_free (clock);
    clock = fake_clock ();
    fake.next = CUPTI_ERROR_INVALID_KIND;
    ck_assert_int_eq (take (clock, 1, 0, &verdict, &ns, &err), -DT_BACKEND_EDEVICE);
    cuda_clock_free (clock);
    clock = fake_clock ();
    fake.flush = CUPTI_ERROR_HARDWARE;
    ck_assert_int_eq (take (clock, 1, 1, &verdict, &ns, &err), -DT_BACKEND_EDEVICE);
    ck_assert_int_eq (verdict, CUDA_SPAN_REVERSED); /* untouched by all of them */
    cuda_clock_free (clock);
}
END_TEST

START_TEST (absent_library)
{
    struct dt_backend_error err = { "" };
    void *table[1] = { NULL };
    const struct cuda_symbol symbol = { "no_such_function", 0 };

    ck_assert_int_eq (cuda_library_load ("libno-such.so.9", &symbol, 1, table, &err), -ENOENT);
    ck_assert_msg (strstr (err.text, "(libno-such.so.9: cannot open") && strstr (err.text, "LD_LIBRARY_PATH"),
                   "%s", err.text);
    ck_assert_int_eq (cuda_library_load ("libc.so.6", &symbol, 1, table, &err), -ENOENT);
    ck_assert_msg (strstr (err.text, "no_such_function") != NULL, "%s", err.text);
    ck_assert_ptr_null (table[0]);
}
END_TEST

/* NCCL's own header, or ours where it is not: what NCCL knows by number and by place. */
START_TEST (nccl_header)
{
    const ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

    ck_assert_uint_eq (sizeof (ncclUniqueId), 128);
    ck_assert_int_eq (ncclSuccess, 0);
    ck_assert_int_eq (ncclSystemError, 2);
    ck_assert_int_eq (ncclRemoteError, 6);
    ck_assert_int_eq (ncclInProgress, 7);
    ck_assert_int_eq (ncclSum, 0);
    ck_assert_int_eq (ncclFloat32, 7);
    ck_assert_int_eq (ncclBfloat16, 9);
    ck_assert_uint_eq (config.size, sizeof config);
    ck_assert_uint_eq (config.magic, 0xcafebeef);
    ck_assert_uint_ge (config.version, 21800);
    ck_assert_uint_eq (offsetof (ncclConfig_t, magic), 8);
    ck_assert_uint_eq (offsetof (ncclConfig_t, version), 12);
    ck_assert_uint_eq (offsetof (ncclConfig_t, blocking), 16);
    ck_assert_uint_eq (offsetof (ncclConfig_t, cgaClusterSize), 20);
    ck_assert_uint_eq (offsetof (ncclConfig_t, minCTAs), 24);
    ck_assert_uint_eq (offsetof (ncclConfig_t, maxCTAs), 28);
    ck_assert_uint_eq (offsetof (ncclConfig_t, netName), 32);
    ck_assert_uint_eq (offsetof (ncclConfig_t, splitShare), 40);
    ck_assert (config.blocking == INT_MIN && config.minCTAs == INT_MIN && !config.netName);
}
END_TEST

static const struct {
    cudaError_t e;
    const char *name;
    int ends;
} device_errors[] = {
    { cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable (214)", 1 },
    { cudaErrorLaunchFailure, "cudaErrorLaunchFailure (719)", 1 },
    { cudaErrorIllegalAddress, "cudaErrorIllegalAddress (700)", 1 },
    { cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable (46)", 1 },
    { cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation (2)", 0 },
    { cudaErrorInvalidValue, "cudaErrorInvalidValue (1)", 0 },
};

START_TEST (device_error)
{
    static struct dt_backend_ctx lost;
    struct dt_backend_error err = { "" };

    lost.dead[0] = 0;
    ck_assert_int_eq (cuda_check (&lost, cudaSuccess, "run", &err), 0);
    ck_assert_str_eq (err.text, "");
    ck_assert_int_eq (cuda_check (&lost, device_errors[_i].e, "run", &err),
                      device_errors[_i].ends ? -DT_BACKEND_ELOST : -DT_BACKEND_EDEVICE);
    ck_assert_msg (strstr (err.text, device_errors[_i].name) != NULL, "%s", err.text);
    ck_assert_int_eq (lost.dead[0] != 0, device_errors[_i].ends);
    if (device_errors[_i].ends) { /* the first such error stays the reason */
        cuda_check (&lost, cudaErrorUnknown, "later", &err);
        ck_assert_msg (strstr (lost.dead, device_errors[_i].name) != NULL, "%s", lost.dead);
    }
}
END_TEST

/* ---- the gemm's sizes ---- */

struct gemm_args {
    const char *what;
    int64_t n, k, tokens[2], splits, config, pad;
    int want;
};

static int shape_of (const struct gemm_args *a, struct gemm_shape *ret,
                     struct dt_backend_error *err)
{
    const int64_t fact[GEMM_N_FACTS] = { a->n, a->k, 1 };
    const uint64_t seed[2] = { 1, 2 };
    const struct dt_backend_value param[GEMM_N_PARAMS] = { { a->splits, NULL },
        { a->config, NULL }, { a->pad, NULL } };
    const struct dt_backend_call call = {
        .family = cuda_gemm.family, .fact = fact, .n_requests = 2, .request = a->tokens,
        .seed = seed, .param = param,
    };

    return gemm_shape_init (ret, &call, err);
}

static const struct gemm_args shapes[] = {
    { "one token", 2560, 8192, { 1, 0 }, 1, 0, 1, 0 },
    { "nothing at all", 2560, 8192, { 0, 0 }, 1, 0, 1, 0 },
    { "as many as the site takes", 2560, 8192, { 1, GEMM_MAX_TOKENS - 1 }, 1, 1, 256, 0 },
    { "one more", 2560, 8192, { 2, GEMM_MAX_TOKENS - 1 }, 1, 1, 1, -EINVAL },
    { "less than none", 2560, 8192, { -1, 3 }, 1, 1, 1, -EINVAL },
    { "more than there are", 2560, 8192, { INT64_MAX, INT64_MAX }, 1, 1, 1, -EINVAL },
    { "n that the tensor cores cannot load", 2561, 8192, { 1, 0 }, 1, 0, 1, -EINVAL },
    { "k out of range", 2560, 8, { 1, 0 }, 1, 0, 1, -EINVAL },
    { "no such split", 2560, 8192, { 1, 0 }, 9, 1, 1, -EINVAL },
    { "no such configuration", 2560, 8192, { 1, 0 }, 1, GEMM_N_CONFIGS + 1, 1, -EINVAL },
    { "our chain has no split", 2560, 8192, { 1, 0 }, 2, 0, 1, -DT_BACKEND_EUNSUPPORTED },
    { "no such padding", 2560, 8192, { 1, 0 }, 1, 0, 3, -EINVAL },
};

START_TEST (shape_case)
{
    struct dt_backend_error err = { "" };
    struct gemm_shape s = { .n = 77 };
    int r = shape_of (&shapes[_i], &s, &err);

    ck_assert_msg (r == shapes[_i].want, "%s: %d %s", shapes[_i].what, r, err.text);
    if (r < 0) {
        ck_assert_uint_eq (s.n, 77);
        ck_assert_msg (strstr (err.text, "gemm: ") && strstr (err.text, "config="), "%s", err.text);
        return;
    }
    ck_assert_uint_eq (s.rows % (size_t)shapes[_i].pad, 0);
    ck_assert_uint_ge (s.rows, s.tokens);
    ck_assert_uint_ge (s.x_rows, s.rows);
    ck_assert_uint_eq (s.output_bytes, s.rows * s.n * 2);
}
END_TEST

START_TEST (operands_do_not_follow_parameters)
{
    struct gemm_args a = { "", 1280, 2048, { 7, 5 }, 1, 0, 1, 0 }, b = a;
    struct dt_backend_error err = { "" };
    struct gemm_shape s, t;

    b.config = 1;
    b.pad = 128;
    ck_assert_int_eq (shape_of (&a, &s, &err), 0);
    ck_assert_int_eq (shape_of (&b, &t, &err), 0);
    ck_assert_uint_eq (s.operand_bytes, t.operand_bytes);
    ck_assert_uint_eq (s.w, t.w);
    ck_assert_uint_ne (s.launch[0], t.launch[0]);
}
END_TEST

/* Whatever the parameters, nothing is started. */
START_TEST (no_tokens_are_one_launch)
{
    struct gemm_args a = { "", 1280, 2048, { 0, 0 }, 1, 0, 1, 0 }, b = a;
    struct dt_backend_error err = { "" };
    struct gemm_shape s, t;

    b.splits = 2;
    b.config = 1;
    b.pad = 128;
    ck_assert_int_eq (shape_of (&a, &s, &err), 0);
    ck_assert_int_eq (shape_of (&b, &t, &err), 0);
    ck_assert_mem_eq (s.launch, t.launch, sizeof s.launch);
}
END_TEST

static double value_of (uint16_t bits)
{
    uint32_t u = (uint32_t)bits << 16;
    float f;

    memcpy (&f, &u, sizeof f);
    return (double)f;
}

/* k, and the terms' products summed in double: exact, but for SPREAD. */
static const uint32_t depths[] = { 16, 24, 2048, 7168, 8192 };

START_TEST (data_kinds)
{
    const struct gemm_shape s = { .k = depths[_i] };
    double product[3] = { 0 }, size = 0, least = 1e30, most = 0;
    uint64_t x = gemm_row_key (5, GEMM_STREAM_X, 3), w = gemm_row_key (0, GEMM_STREAM_W, 9);
    struct gemm_terms t;
    uint32_t j, moved = 0;

    gemm_terms_init (&t, &s, DT_BACKEND_CANCEL, 0);
    for (j = 0; j < t.k; j++) {
        double p = value_of (gemm_term (&t, x, j, 1)) * value_of (gemm_term (&t, w, j, 0));

        product[0] += p;
        size += fabs (p);
    }
    ck_assert (product[0] == 0.0); /* it cancels exactly */
    ck_assert (size > 0.05 * t.k); /* and not for want of terms */
    gemm_terms_init (&t, &s, DT_BACKEND_RANDOM, 0);
    for (j = 0; j < t.k; j++)
        product[1] += value_of (gemm_term (&t, x, j, 1)) * value_of (gemm_term (&t, w, j, 0));
    t.exchange = 9;
    for (j = 0; j < t.k; j++) {
        struct gemm_terms plain = t;

        plain.exchange = 0;
        moved += gemm_term (&t, x, j, 1) != gemm_term (&plain, x, j, 1);
        product[2] += value_of (gemm_term (&t, x, j, 1)) * value_of (gemm_term (&t, w, j, 0));
    }
    ck_assert (product[1] == product[2] && product[1] != 0.0); /* the same sum in another order */
    ck_assert_uint_eq (moved, 2);
    gemm_terms_init (&t, &s, DT_BACKEND_SPREAD, 0);
    for (j = 0; j < t.k; j++) {
        double v = fabs (value_of (gemm_term (&t, x, j, 1)));

        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    ck_assert (t.k < 2048 || most / least > 0x1p30);
}
END_TEST

/* The catalogue was scanned under one version of the library, and serves no other. */
static const struct {
    const char *version, *text;
    int64_t config;
    int want;
} versions[] = {
    { "130200", "configurations are those of cublasLt 130100, and 130200 is loaded", 1,
      -DT_BACKEND_EUNSUPPORTED },
    { "130002", "and 130002 is loaded; scan it anew", 39, -DT_BACKEND_EUNSUPPORTED },
    { "130100", "CUBLAS_STATUS_NOT_SUPPORTED", 1, -DT_BACKEND_EDEVICE },
    { "130200", "", 0, 0 }, /* our own chain needs no library */
};

START_TEST (catalogue_of_another_version)
{
    static struct dt_backend_ctx one;
    static char names[sizeof one.libraries];
    const int64_t fact[GEMM_N_FACTS] = { 2560, 8192, 1 }, tokens = 8;
    const struct dt_backend_value param[GEMM_N_PARAMS] = { { 1, NULL }, { versions[_i].config, NULL },
                                                           { 1, NULL } };
    const uint64_t seed = 1;
    const struct dt_backend_call call = { .family = cuda_gemm.family, .fact = fact, .n_requests = 1,
                                          .request = &tokens, .seed = &seed, .param = param };
    const char *top = getenv ("top_builddir");
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan = { .output_bytes = 7 };
    char path[4096];
    void *library;

    /* A library of this name that is there already is taken. */
    snprintf (path, sizeof path, "%s/tests/gpu/.libs/libcublasLt.so.13", top ? top : ".");
    setenv ("DT_CUBLASLT_VERSION", versions[_i].version, 1);
    ck_assert_msg ((library = dlopen (path, RTLD_NOW | RTLD_LOCAL)) != NULL, "%s", dlerror ());
    cuda_gemm.library (&one);
    ck_assert_int_eq (cuda_gemm.open (&one, 0, &err), 0);
    snprintf (names, sizeof names, "cublasLt %c%c.%c.0", versions[_i].version[0],
              versions[_i].version[1], versions[_i].version[3]);
    ck_assert_msg (strncmp (one.libraries, names, strlen (names) - 1) == 0, "%s", one.libraries);
    ck_assert_int_eq (cuda_gemm.plan (&one, 0, &call, &plan, &err), versions[_i].want);
    ck_assert_msg (strstr (err.text, versions[_i].text) != NULL, "%s", err.text);
    if (versions[_i].want < 0)
        ck_assert_uint_eq (plan.output_bytes, 7);
    cuda_gemm.close (&one, 0);
    dlclose (library);
}
END_TEST

/* No attribute is left to the library, but for the stages of algorithm 66, for which it lists
 * one value, 64xAUTO: there is no other to set. */
START_TEST (catalogue)
{
    size_t i, j;

    for (i = 0; i < GEMM_N_CONFIGS; i++) {
        const struct gemm_config *g = &gemm_configs[i];

        ck_assert_int_eq (gemm_config_values[i + 1], (int64_t)i + 1);
        ck_assert_uint_gt (g->cluster, CUBLASLT_CLUSTER_SHAPE_AUTO);
        ck_assert_uint_gt (g->tile, CUBLASLT_MATMUL_TILE_UNDEFINED);
        ck_assert_uint_gt (g->stages, CUBLASLT_MATMUL_STAGES_UNDEFINED);
        ck_assert_msg (g->stages < CUBLASLT_MATMUL_STAGES_8xAUTO
                       || (g->algo == 66 && g->stages == CUBLASLT_MATMUL_STAGES_64xAUTO),
                       "configuration %zu: stages %u", i + 1, g->stages);
        for (j = 0; j < i; j++)
            ck_assert (memcmp (g, &gemm_configs[j], sizeof *g) != 0);
    }
}
END_TEST

/* ---- all-reduce ---- */

static const struct {
    int64_t ranks, bf16, bytes, algorithm, order, blocks;
    uint32_t group; /* ranks of the process's group; 1: logical ranks */
    int want;
    const char *text; /* of the error, or NULL */
} sums[] = {
    { 2, 1, 0, AR_PUSH, 0, 4, 1, 0, NULL },
    { 2, 1, 2, AR_PULL, 0, 128, 1, 0, NULL },
    { 3, 0, 4, AR_PUSH, 0, 128, 1, 0, NULL },
    { 16, 1, 6000002, AR_TWO_SHOT, 0, 128, 1, 0, NULL },
    { 8, 1, 1 << 26, AR_PUSH, 0, 128, 1, 0, NULL },
    { 2, 1, 1 << 26, AR_PUSH, 0, 128, 2, 0, NULL },
    { 2, 1, 20, AR_WORDS, 0, 128, 2, 0, NULL },
    { 8, 0, 1 << 26, AR_WORDS, 0, 128, 1, 0, NULL },
    { 4, 1, 16384, AR_PUSH, 0, 64, 2, -EINVAL, "one of 2 ranks" },
    { 2, 1, 16384, AR_PUSH, 1, 64, 1, -DT_BACKEND_EUNSUPPORTED, "a process and a device" },
    { 2, 1, 3, AR_PUSH, 0, 64, 1, -EINVAL, "no whole number" },
    { 2, 1, -2, AR_PUSH, 0, 64, 1, -EINVAL, "no whole number" },
    { 2, 1, 1 << 27, AR_PUSH, 0, 64, 1, -EINVAL, "max_bytes" },
    { 1, 1, 2, AR_PUSH, 0, 64, 1, -EINVAL, "ranks must be in 2..16" },
    { 2, 1, 2, AR_PUSH, 0, 5, 1, -EINVAL, "blocks has no value 5" },
    { 2, 1, 2, AR_N_ALGORITHMS, 0, 4, 1, -EINVAL, "algorithm has no value 4" },
};

START_TEST (sum_case)
{
    int64_t fact[AR_N_FACTS] = { sums[_i].ranks, sums[_i].bf16, 1 << 26 };
    int64_t request[AR_N_FIELDS] = { sums[_i].bytes, 0 };
    struct dt_backend_value param[AR_N_PARAMS] = { { .one = sums[_i].order },
                                                   { .one = sums[_i].algorithm },
                                                   { .one = sums[_i].blocks } };
    uint64_t seed = 1;
    struct dt_backend_call call = { .family = cuda_allreduce.family, .fact = fact, .n_requests = 1,
                                    .request = request, .seed = &seed, .param = param };
    struct ar_group g = { .ranks = sums[_i].group, .resident = 264 };
    struct dt_backend_error err = { "" };
    struct ar_shape s;
    size_t sent = 0;

    ck_assert_int_eq (ar_shape_init (&s, &g, &call, &err), sums[_i].want);
    if (sums[_i].text) {
        ck_assert_msg (strstr (err.text, sums[_i].text) != NULL, "%s", err.text);
        return;
    }
    ck_assert_uint_eq (s.vectors, ((size_t)sums[_i].bytes + 15) / 16);
    ck_assert_uint_ge (s.blocks, 1);
    ck_assert_uint_le (s.blocks * s.here, g.resident); /* all run at once */
    ck_assert_uint_le (s.chunk, AR_CHUNK);
    /* As the kernel walks: each block its chunks, and together every vector once. */
    for (size_t b = 0; b < s.blocks; b++)
        for (size_t at = b * s.chunk; at < s.vectors; at += s.blocks * s.chunk)
            sent += s.vectors - at < s.chunk ? s.vectors - at : s.chunk;
    ck_assert_uint_eq (sent, s.vectors);
    ck_assert_uint_eq (s.workspace_bytes != 0, s.here > 1);
    if (s.here > 1)
        ck_assert_uint_ge (s.workspace_bytes, s.bank + s.ranks * ar_bank_bytes (s.ranks, s.blocks));
}
END_TEST

/* ---- the plugin, as a worker meets it ---- */

START_TEST (plugin_without_a_device)
{
    const char *top = getenv ("top_builddir");
    struct dt_backend_options options = { .device = 0, .timed = 1 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *opened = NULL;
    const struct dt_backend *b;
    dt_backend_get_f get;
    char path[4096];
    void *object;
    int r;

    snprintf (path, sizeof path, "%s/.libs/detent-backend-cuda.so", top ? top : ".");
    ck_assert_msg ((object = dlopen (path, RTLD_NOW | RTLD_LOCAL)) != NULL, "%s", dlerror ());
    *(void **)&get = dlsym (object, DT_BACKEND_SYMBOL);
    ck_assert_ptr_nonnull (get);
    b = get ();
    ck_assert_uint_eq (b->abi, DT_BACKEND_ABI);
    ck_assert_uint_ge (b->n_families, 1);
    ck_assert_str_eq (b->families[0].name, "gemm");
    options.device = 1000000; /* nowhere there */
    ck_assert_int_eq (b->open (&options, &opened, &err), -ENODEV);
    ck_assert_msg (strstr (err.text, "no device") != NULL, "%s", err.text);
    ck_assert_int_eq (b->device_name (1000000, path, sizeof path, &err), -ENODEV);
    options.identify = 1;
    ck_assert_int_eq (b->open (&options, &opened, &err), -ENODEV);
    options.identify = 0;
    options.device = 0;
    if ((r = b->open (&options, &opened, &err)) == 0) {
        b->close (opened);
        printf ("plugin_without_a_device: there is one; only an absent ordinal was tried\n");
    } else {
        ck_assert_int_eq (r, -ENODEV);
        ck_assert_msg (strstr (err.text, "no device") != NULL, "%s", err.text);
        ck_assert_ptr_null (opened);
    }
    dlclose (object);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("kernels/cuda");
    TCase *tc = tcase_create ("all");

    tcase_add_loop_test (tc, span_case, 0, ARRAY_SIZE (spans));
    tcase_add_loop_test (tc, row_case, 0, ARRAY_SIZE (rows));
    tcase_add_test (tc, tally_breaks_beyond_its_share);
    tcase_add_test (tc, reasons_that_spoil_a_time);
    tcase_add_test (tc, clocks_that_are_low);
    tcase_add_loop_test (tc, refused_cupti, 0, ARRAY_SIZE (refusals));
    tcase_add_test (tc, one_clock_of_a_process);
    tcase_add_test (tc, clock_reads_spans);
    tcase_add_test (tc, plain_launches_beside_a_graph);
    tcase_add_test (tc, lost_records_give_no_time);
    tcase_add_test (tc, absent_library);
    tcase_add_test (tc, nccl_header);
    tcase_add_loop_test (tc, device_error, 0, ARRAY_SIZE (device_errors));
    tcase_add_loop_test (tc, shape_case, 0, ARRAY_SIZE (shapes));
    tcase_add_test (tc, operands_do_not_follow_parameters);
    tcase_add_test (tc, no_tokens_are_one_launch);
    tcase_add_loop_test (tc, data_kinds, 0, ARRAY_SIZE (depths));
    tcase_add_test (tc, catalogue);
    tcase_add_loop_test (tc, catalogue_of_another_version, 0, ARRAY_SIZE (versions));
    tcase_add_loop_test (tc, sum_case, 0, ARRAY_SIZE (sums));
    tcase_add_test (tc, plugin_without_a_device);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
