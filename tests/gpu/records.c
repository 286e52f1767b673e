/* Records of a GPU's clock that must not be lost, mixed or made up: records.
 *   million   1,000,000 launches through buffers of 8 KiB: as many records as launches
 *   warm-up   what ran before a run began is not among its records
 *   idle      a run after a pause has its records
 *   overflow  more launches than there is room for: counted as lost, no time
 *   counter   a counter of lost records that cannot be read: an error, no time
 * Exit status: 0 as it should be, 1 not, 77 no device. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cuda/clock.h"
#include "kernels/cuda/timed.h"
#include "tests/gpu/must.h"

#define BUFFER_BYTES 8192 /* some 30 records */
#define RUN 50000u
#define RUNS 20u
#define PAUSE_S 5

static cudaStream_t stream;
static struct cuda_cupti real;
static CUpti_BuffersCallbackRequestFunc request_large;
static unsigned long buffers;

/* The clock's own buffer, of which CUPTI is told a part. */
static void CUPTIAPI request_small (uint8_t **buffer, size_t *size, size_t *max_records)
{
    request_large (buffer, size, max_records);
    if (*size > BUFFER_BYTES)
        *size = BUFFER_BYTES;
    __atomic_add_fetch (&buffers, 1, __ATOMIC_RELAXED);
}

static CUptiResult register_small (CUpti_BuffersCallbackRequestFunc requested,
                                   CUpti_BuffersCallbackCompleteFunc completed)
{
    request_large = requested;
    return real.register_callbacks (request_small, completed);
}

static CUptiResult no_counter (CUcontext context, uint32_t stream_id, size_t *n)
{
    (void)context;
    (void)stream_id;
    (void)n;
    return CUPTI_ERROR_UNKNOWN;
}

static struct cuda_clock *open_clock (const struct cuda_cupti *api)
{
    struct dt_backend_error err = { "" };
    struct cuda_clock *clock;

    if (cuda_clock_new (api, &clock, &err) < 0)
        gpu_die ("clock", err.text);
    return clock;
}

static void launch (size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        gpu_must (cuda_delay_launch (stream, 0), "launch");
    gpu_must (cudaStreamSynchronize (stream), "run");
}

/* A run of n launches; the clock's result, its verdict and time. */
static int run (struct cuda_clock *clock, size_t n, enum cuda_span *ret_verdict, uint64_t *ret_ns,
                struct dt_backend_error *err)
{
    int r;

    if ((r = cuda_clock_begin (clock, 0, err)) < 0)
        return r;
    launch (n);
    return cuda_clock_end (clock, n, ret_verdict, ret_ns, err);
}

static void check_run (struct cuda_clock *clock, size_t n, const char *what)
{
    enum cuda_span how = CUDA_SPAN_MISSING;
    struct dt_backend_error err = { "" };
    const struct cuda_stamp *stamp;
    uint64_t ns = 0;
    size_t have, i, bad = 0;
    int r = run (clock, n, &how, &ns, &err);

    stamp = cuda_clock_stamps (clock, &have);
    for (i = 0; i < have; i++)
        bad += stamp[i].start_ns == 0 || stamp[i].end_ns <= stamp[i].start_ns;
    gpu_verdict (r == 0 && how == CUDA_SPAN_OK && ns > 0 && have == n, "%s: %zu launches, %zu records: %s%s",
                 what, n, have, r < 0 ? err.text : "", r < 0 ? "" : cuda_span_text (how));
    gpu_verdict (bad == 0, "%s: %zu of %zu records do not end after their start", what, bad, have);
}

static void check_million (void)
{
    struct cuda_cupti api = real;
    struct cuda_clock *clock;
    uint32_t i;

    api.register_callbacks = register_small;
    clock = open_clock (&api);
    buffers = 0;
    for (i = 0; i < RUNS; i++)
        check_run (clock, RUN, "million");
    printf ("million: %u launches through %lu buffers of %d bytes; %llu of %llu runs dropped\n", RUN * RUNS,
            buffers, BUFFER_BYTES, (unsigned long long)cuda_clock_tally (clock)->dropped,
            (unsigned long long)cuda_clock_tally (clock)->runs);
    cuda_clock_free (clock);
}

static void check_warm_up (struct cuda_clock *clock)
{
    launch (1000); /* their records wait in a buffer that is not full */
    check_run (clock, 10, "after a warm-up");
    launch (1);
    check_run (clock, 1, "one after one");
}

static void check_idle (struct cuda_clock *clock)
{
    struct timespec pause = { .tv_sec = PAUSE_S };

    nanosleep (&pause, NULL);
    check_run (clock, 100, "after a pause");
}

/* No time, as records are lost. */
static void check_overflow (struct cuda_clock *clock)
{
    enum cuda_span how = CUDA_SPAN_OK;
    struct dt_backend_error err = { "" };
    uint64_t ns = 7;
    int r = run (clock, CUDA_CLOCK_RECORDS + 1000, &how, &ns, &err);

    gpu_verdict (r == 0 && how == CUDA_SPAN_LOST && ns == 7, "overflow: %d, %llu ns, %s%s", r,
                 (unsigned long long)ns, cuda_span_text (how), err.text);
    printf ("overflow: %s\n", cuda_span_text (how));
}

/* No time, and an error that says why. */
static void check_error (struct cuda_clock *clock, size_t n, const char *what, const char *words)
{
    enum cuda_span how = CUDA_SPAN_MISSING;
    struct dt_backend_error err = { "" };
    uint64_t ns = 7;
    int r = run (clock, n, &how, &ns, &err);

    gpu_verdict (r < 0 && how == CUDA_SPAN_MISSING && strstr (err.text, words),
                 "%s: %d, %llu ns, '%s'", what, r, (unsigned long long)ns, err.text);
    printf ("%s: %s\n", what, err.text);
}

int main (void)
{
    struct dt_backend_error err = { "" };
    struct cuda_cupti api;
    struct cuda_clock *clock;
    int devices = 0;

    if (cuda_cupti_load (&real, &err) < 0)
        gpu_die ("CUPTI", err.text);
    if (cudaGetDeviceCount (&devices) != cudaSuccess || devices == 0)
        gpu_skip ("no device");
    gpu_must (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking), "stream");
    check_million ();
    clock = open_clock (&real);
    check_run (clock, 1, "first");
    check_warm_up (clock);
    check_idle (clock);
    check_overflow (clock);
    check_run (clock, 10, "after an overflow");
    cuda_clock_free (clock);
    api = real;
    api.dropped = no_counter;
    clock = open_clock (&api);
    check_error (clock, 10, "counter", "records");
    cuda_clock_free (clock);
    return gpu_tally ("records");
}
