#include "kernels/cuda/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cuda/library.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

/* One run's records fit; CUPTI asks for another when they do not. */
#define BUFFER_BYTES ((size_t)256 << 10)
/* How long records may take after the device is idle, and between two looks. */
#define WAIT_NS 1000000000u
#define LOOK_NS 20000u

struct cuda_clock {
    struct cuda_cupti api;
    CUpti_SubscriberHandle subscriber;
    int subscribed, kernels, copies, sets; /* what `free` must undo */
    pthread_mutex_t lock; /* the fields below: CUPTI's thread writes them */
    int graphs;           /* only records of graphs count */
    size_t n;             /* records */
    size_t lost;          /* records that CUPTI or this clock had no room for */
    CUptiResult failed;   /* the first error while reading a buffer */
    uint64_t longest_ns;
    char kernel[256];
    struct cuda_stamp stamp[CUDA_CLOCK_RECORDS];
    struct cuda_tally tally;
};

/* CUPTI's callbacks take no argument of ours. */
static struct cuda_clock *open_clock;
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t CUPTIAPI stamp_now (void)
{
    return cuda_host_ns ();
}

int cuda_cupti_load (struct cuda_cupti *ret, struct dt_backend_error *err)
{
    static const struct cuda_symbol symbols[] = {
        { "cuptiGetVersion", offsetof (struct cuda_cupti, get_version) },
        { "cuptiSubscribe", offsetof (struct cuda_cupti, subscribe) },
        { "cuptiUnsubscribe", offsetof (struct cuda_cupti, unsubscribe) },
        { "cuptiActivitySetAttribute", offsetof (struct cuda_cupti, set_attribute) },
        { "cuptiActivityRegisterCallbacks", offsetof (struct cuda_cupti, register_callbacks) },
        { "cuptiActivityRegisterTimestampCallback",
          offsetof (struct cuda_cupti, register_timestamp) },
        { "cuptiActivityEnable", offsetof (struct cuda_cupti, enable) },
        { "cuptiActivityDisable", offsetof (struct cuda_cupti, disable) },
        { "cuptiActivityFlushAll", offsetof (struct cuda_cupti, flush_all) },
        { "cuptiActivityGetNextRecord", offsetof (struct cuda_cupti, next_record) },
        { "cuptiActivityGetNumDroppedRecords", offsetof (struct cuda_cupti, dropped) },
        { "cuptiGetResultString", offsetof (struct cuda_cupti, result_string) },
    };

    return cuda_library_load ("libcupti.so.13", symbols, ARRAY_SIZE (symbols), ret, err);
}

/* One sentence: what CUPTI said, and what to do. */
static int refuse (const struct cuda_clock *c, CUptiResult result, const char *what,
                   struct dt_backend_error *err)
{
    static const struct {
        CUptiResult result;
        const char *cause;
    } known[] = {
        { CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
          "another profiler has it: end Nsight, compute-sanitizer, cuda-gdb or whatever"
          " CUDA_INJECTION64_PATH loads into this process" },
        { CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
          "this user may not profile: load the driver with NVreg_RestrictProfilingToAdminUsers=0"
          " or run as root" },
        { CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
          "the virtual GPU may not be profiled: have its host allow it" },
        { CUPTI_ERROR_NOT_COMPATIBLE,
          "its version does not fit the driver: install the CUPTI of the driver's CUDA version"
          " or newer" },
        { CUPTI_ERROR_NOT_INITIALIZED,
          "it could not start: see that the driver and its libcuda.so.1 are there" },
    };
    const char *text = NULL;
    size_t i;

    for (i = 0; i < ARRAY_SIZE (known); i++)
        if (known[i].result == result)
            return cuda_fail (err, -DT_BACKEND_EDEVICE, "CUPTI refuses to %s (%d): %s; or set"
                              " DETENT_CUDA_CLOCK=events to time by events", what, (int)result,
                              known[i].cause);
    if (c->api.result_string (result, &text) != CUPTI_SUCCESS)
        text = NULL;
    return cuda_fail (err, -DT_BACKEND_EDEVICE, "CUPTI refuses to %s (%d): %s; set"
                      " DETENT_CUDA_CLOCK=events to time by events", what, (int)result,
                      text ? text : "no text");
}

static void CUPTIAPI on_request (uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = calloc (1, BUFFER_BYTES); /* zeroed, as CUPTI was told */
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void add (struct cuda_clock *c, uint32_t graph, uint64_t start, uint64_t end,
                 const char *name)
{
    if (c->graphs && graph == 0)
        return;
    if (c->n == CUDA_CLOCK_RECORDS) {
        c->lost++;
        return;
    }
    c->stamp[c->n++] = (struct cuda_stamp){ .start_ns = start, .end_ns = end };
    if (name && end > start && end - start > c->longest_ns) {
        c->longest_ns = end - start;
        snprintf (c->kernel, sizeof c->kernel, "%s", name);
    }
}

static void read_record (struct cuda_clock *c, const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        /* Later versions append fields; those read here keep their places. */
        const CUpti_ActivityKernel10 *k = (const CUpti_ActivityKernel10 *)record;

        add (c, k->graphId, k->start, k->end, k->name);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const CUpti_ActivityMemset4 *m = (const CUpti_ActivityMemset4 *)record;

        add (c, m->graphId, m->start, m->end, NULL);
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const CUpti_ActivityMemcpy6 *m = (const CUpti_ActivityMemcpy6 *)record;

        add (c, m->graphId, m->start, m->end, NULL);
        break;
    }
    default:
        break;
    }
}

static void CUPTIAPI on_complete (CUcontext context, uint32_t stream, uint8_t *buffer,
                                  size_t size, size_t valid)
{
    struct cuda_clock *c = open_clock;
    CUpti_Activity *record = NULL;
    CUptiResult r = CUPTI_SUCCESS;
    size_t lost = 0;

    (void)size;
    if (!c) {
        free (buffer);
        return;
    }
    pthread_mutex_lock (&c->lock);
    while (valid > 0 && (r = c->api.next_record (buffer, valid, &record)) == CUPTI_SUCCESS)
        read_record (c, record);
    if (valid > 0 && r != CUPTI_ERROR_MAX_LIMIT_REACHED && c->failed == CUPTI_SUCCESS)
        c->failed = r;
    if ((r = c->api.dropped (context, stream, &lost)) != CUPTI_SUCCESS
        && c->failed == CUPTI_SUCCESS)
        c->failed = r; /* not knowing is not "none" */
    c->lost += lost;
    pthread_mutex_unlock (&c->lock);
    free (buffer);
}

static void CUPTIAPI on_call (void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void *data)
{
    (void)user; /* no callback is enabled: the subscription keeps others out */
    (void)domain;
    (void)id;
    (void)data;
}

static CUptiResult set_attribute (struct cuda_clock *c, CUpti_ActivityAttribute attr,
                                  size_t value, size_t size)
{
    uint8_t byte = (uint8_t)value;

    return c->api.set_attribute (attr, &size, size == 1 ? (void *)&byte : (void *)&value);
}

static int start (struct cuda_clock *c, struct dt_backend_error *err)
{
    CUptiResult r;

    if ((r = c->api.subscribe (&c->subscriber, on_call, NULL)) != CUPTI_SUCCESS)
        return refuse (c, r, "serve this process", err);
    c->subscribed = 1;
    if ((r = c->api.register_callbacks (on_request, on_complete)) != CUPTI_SUCCESS)
        return refuse (c, r, "take buffers", err);
    if ((r = c->api.register_timestamp (stamp_now)) != CUPTI_SUCCESS)
        return refuse (c, r, "stamp by CLOCK_MONOTONIC_RAW", err);
    /* These three only save time; a version without them still records. */
    set_attribute (c, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 0, 1);
    set_attribute (c, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1, 1);
    set_attribute (c, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, 3, sizeof (size_t));
    if ((r = c->api.enable (CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) != CUPTI_SUCCESS)
        return refuse (c, r, "record kernels", err);
    c->kernels = 1;
    if ((r = c->api.enable (CUPTI_ACTIVITY_KIND_MEMSET)) != CUPTI_SUCCESS)
        return refuse (c, r, "record memsets", err);
    c->sets = 1;
    if ((r = c->api.enable (CUPTI_ACTIVITY_KIND_MEMCPY)) != CUPTI_SUCCESS)
        return refuse (c, r, "record copies", err);
    c->copies = 1;
    return 0;
}

int cuda_clock_new (const struct cuda_cupti *api, struct cuda_clock **ret,
                    struct dt_backend_error *err)
{
    struct cuda_clock *c = calloc (1, sizeof *c);
    int r;

    if (!c)
        return cuda_fail (err, -ENOMEM, "clock: out of memory");
    c->api = *api;
    pthread_mutex_init (&c->lock, NULL);
    pthread_mutex_lock (&open_lock);
    if (open_clock)
        r = cuda_fail (err, -EBUSY, "a clock is open in this process; close the other context");
    else
        open_clock = c, r = 0;
    pthread_mutex_unlock (&open_lock);
    if (r < 0) {
        pthread_mutex_destroy (&c->lock);
        free (c);
        return r;
    }
    if ((r = start (c, err)) < 0) {
        cuda_clock_free (c);
        return r;
    }
    *ret = c;
    return 0;
}

struct cuda_clock *cuda_clock_free (struct cuda_clock *c)
{
    if (!c)
        return NULL;
    if (c->copies)
        c->api.disable (CUPTI_ACTIVITY_KIND_MEMCPY);
    if (c->sets)
        c->api.disable (CUPTI_ACTIVITY_KIND_MEMSET);
    if (c->kernels)
        c->api.disable (CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (c->subscribed) {
        c->api.flush_all (CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
        c->api.unsubscribe (c->subscriber);
    }
    pthread_mutex_lock (&open_lock);
    open_clock = NULL;
    pthread_mutex_unlock (&open_lock);
    pthread_mutex_destroy (&c->lock);
    free (c);
    return NULL;
}

static int flush (struct cuda_clock *c, struct dt_backend_error *err)
{
    CUptiResult r = c->api.flush_all (0);

    return r == CUPTI_SUCCESS ? 0 : refuse (c, r, "hand over its records", err);
}

int cuda_clock_begin (struct cuda_clock *c, int graphs, struct dt_backend_error *err)
{
    int r;

    if ((r = flush (c, err)) < 0)
        return r;
    pthread_mutex_lock (&c->lock);
    c->graphs = graphs;
    c->n = 0;
    c->lost = 0;
    c->longest_ns = 0;
    c->kernel[0] = 0;
    pthread_mutex_unlock (&c->lock);
    return 0;
}

/* Flush until 'expected' records are there or time is up. */
static int wait_for (struct cuda_clock *c, size_t expected, struct dt_backend_error *err)
{
    const struct timespec look = { .tv_nsec = LOOK_NS };
    uint64_t end = cuda_host_ns () + WAIT_NS;
    size_t have;
    int r;

    for (;;) {
        if ((r = flush (c, err)) < 0)
            return r;
        pthread_mutex_lock (&c->lock);
        have = c->n + c->lost;
        pthread_mutex_unlock (&c->lock);
        if (have >= expected || cuda_host_ns () >= end)
            return 0;
        nanosleep (&look, NULL);
    }
}

int cuda_clock_end (struct cuda_clock *c, size_t expected, enum cuda_span *ret_verdict,
                    uint64_t *ret_ns, struct dt_backend_error *err)
{
    enum cuda_span verdict;
    CUptiResult failed;
    int r;

    if ((r = wait_for (c, expected, err)) < 0)
        return r;
    pthread_mutex_lock (&c->lock);
    failed = c->failed;
    verdict = c->lost ? CUDA_SPAN_LOST : cuda_span_of (c->stamp, c->n, expected, ret_ns);
    cuda_tally_add (&c->tally, verdict);
    pthread_mutex_unlock (&c->lock);
    if (failed != CUPTI_SUCCESS)
        return refuse (c, failed, "read its records", err);
    *ret_verdict = verdict;
    return 0;
}

const char *cuda_clock_kernel (const struct cuda_clock *c)
{
    return c->kernel;
}

const struct cuda_stamp *cuda_clock_stamps (const struct cuda_clock *c, size_t *ret_n)
{
    *ret_n = c->n;
    return c->stamp;
}

const struct cuda_tally *cuda_clock_tally (const struct cuda_clock *c)
{
    return &c->tally;
}
