/* Is what the backend calls cold cold?  caches.
 *
 * Products of a few bytes to 256 MiB of weights, timed as a timed context does it, and the same
 * without its sweep of the L2 cache.  What fits the cache must be slower cold than warm, and
 * every one as slow in the first runs after its operands are written as in many; and a sweep
 * of twice the size must find no more to empty.
 * Exit status: 0 as it should be, 1 not, 77 no device. */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/clock.h"
#include "kernels/cuda/sweep.h"
#include "kernels/cuda/timed.h"
#include "kernels/gemm/cuda/gemm.h"
#include "tests/gpu/must.h"

#define MOST 200
#define FEW 20
#define SLOT 0
/* Of two medians that are to be alike: 5%, or two ticks of the device's clock.  What fits is
 * slower cold by more than these ticks: of 20 MiB, which are read for 8 us, by 2 to 4%. */
#define ALIKE 0.05
#define TICKS_US 0.064

static struct dt_backend_ctx ctx;
static struct cuda_family warm_gemm; /* the same without the sweep */

static int alike (double a, double b)
{
    double by = a > b ? a - b : b - a;

    return by <= ALIKE * b || by <= TICKS_US;
}

struct job {
    struct dt_backend_call call;
    void *operands, *output, *workspace;
};

/* The median of `n` runs. */
static double take (const struct job *job, const struct cuda_family *family, size_t n)
{
    const struct cuda_run run = { .family = family, .slot = SLOT, .call = &job->call,
                                  .operands = job->operands, .output = job->output,
                                  .workspace = job->workspace };
    double us[MOST];
    size_t i, tries = 0;

    for (i = 0; i < n; tries++) {
        struct dt_backend_error err = { "" };
        int r = cuda_run_timed (&ctx, &run, &err);

        if (r < 0 && (r != -EAGAIN || tries > 2 * n))
            gpu_die ("run", err.text);
        if (r == 0)
            us[i++] = (double)ctx.elapsed_ns / 1000;
    }
    return gpu_median (us, n);
}

/* Work of some 40 ms, so that the first runs are not those of a clock that rises. */
static void wake (void)
{
    int i;

    for (i = 0; i < 1000; i++)
        gpu_must (cuda_sweep_launch (ctx.stream, ctx.sweep, ctx.sweep_bytes), "sweep");
    gpu_must (cudaStreamSynchronize (ctx.stream), "sweep");
}

/* Leaves what it wrote in the cache. */
static void fill (const struct job *job)
{
    struct dt_backend_error err = { "" };

    if (cuda_gemm.fill (&ctx, SLOT, &job->call, 0, job->operands, &err) < 0)
        gpu_die ("fill", err.text);
    gpu_must (cudaStreamSynchronize (ctx.stream), "fill");
}

/* By how much is swept, in halves of the cache: is what the backend sweeps enough? */
static int print_sweeps (const struct job *job)
{
    static const size_t halves[] = { 0, 1, 2, 2 * CUDA_SWEEP_TIMES, 4 * CUDA_SWEEP_TIMES };
    size_t usual = ctx.sweep_bytes, i;
    double us[5];

    printf ("sweeps:");
    for (i = 0; i < sizeof halves / sizeof *halves; i++) {
        ctx.sweep_bytes = halves[i] * ctx.l2_bytes / 2;
        us[i] = take (job, &cuda_gemm, MOST);
        printf (" %.1f of the L2 cache %.2f us%s", (double)halves[i] / 2, us[i],
                i < 4 ? "," : "\n");
    }
    ctx.sweep_bytes = usual;
    return alike (us[3], us[4]);
}

/* 1: as it should be. */
static int compare (int64_t n, int64_t k, int64_t tokens, int64_t config)
{
    int64_t fact[GEMM_N_FACTS] = { [GEMM_N] = n, [GEMM_K] = k, [GEMM_OUTPUT_BF16] = 1 };
    struct dt_backend_value param[GEMM_N_PARAMS] = { [GEMM_SPLITS] = { 1, NULL }, [GEMM_CONFIG] = { config, NULL },
                                                     [GEMM_PAD] = { 1, NULL } };
    uint64_t seed = 5;
    struct job job = { .call = { .family = cuda_gemm.family, .fact = fact, .n_requests = 1, .request = &tokens,
                                 .seed = &seed, .param = param } };
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    double few, many, warm;
    int fits, good;

    if (cuda_gemm.plan (&ctx, SLOT, &job.call, &plan, &err) < 0)
        gpu_die ("plan", err.text);
    gpu_must (cudaMalloc (&job.operands, plan.operand_bytes), "memory");
    gpu_must (cudaMalloc (&job.output, plan.output_bytes), "memory");
    gpu_must (cudaMalloc (&job.workspace, plan.workspace_bytes), "memory");
    wake ();
    fill (&job);
    few = take (&job, &cuda_gemm, FEW);
    many = take (&job, &cuda_gemm, MOST);
    warm = take (&job, &warm_gemm, MOST);
    fits = plan.operand_bytes < ctx.l2_bytes / 2;
    good = alike (few, many) && (fits ? many > warm + TICKS_US : many > (1 - ALIKE) * warm);
    printf ("caches: %lld x %lld, %lld tokens, config %lld, weights of %.1f KiB: cold %.2f us (the first %d runs"
            " %.2f), warm %.2f us: %s\n", (long long)n, (long long)k, (long long)tokens, (long long)config,
            (double)(n * k) * 2 / 1024, many, FEW, few, warm, good ? "as stated" : "NOT AS STATED");
    if (fits && !print_sweeps (&job)) {
        printf ("caches: a longer sweep empties more: NOT AS STATED\n");
        good = 0;
    }
    cudaFree (job.operands);
    cudaFree (job.output);
    cudaFree (job.workspace);
    return good;
}

/* How long a sweep takes: it comes before each run of a tune. */
static void print_cost (void)
{
    enum { TIMES = 100 };
    float ms = 0;
    int i;

    gpu_must (cudaEventRecord (ctx.begin, ctx.stream), "event");
    for (i = 0; i < TIMES; i++)
        gpu_must (cuda_sweep_launch (ctx.stream, ctx.sweep, ctx.sweep_bytes), "sweep");
    gpu_must (cudaEventRecord (ctx.end, ctx.stream), "event");
    gpu_must (cudaStreamSynchronize (ctx.stream), "sweep");
    gpu_must (cudaEventElapsedTime (&ms, ctx.begin, ctx.end), "event");
    printf ("sweeps: %.0f MB in %.1f us before each run\n", (double)ctx.sweep_bytes * 1e-6,
            (double)ms * 1000 / TIMES);
}

int main (void)
{
    static const struct {
        int64_t n, k, tokens, config;
    } sizes[] = {
        { 8, 16, 1, 0 }, { 64, 1024, 1, 0 }, { 128, 2048, 1, 0 }, /* 256 B, 128 KiB, 512 KiB */
        { 1280, 2048, 8, 38 }, { 2560, 4096, 8, 38 }, { 16384, 8192, 8, 38 }, /* to 256 MiB */
    };
    struct dt_backend_error err = { "" };
    struct cudaDeviceProp prop;
    struct cuda_cupti api;
    int devices = 0, good = 1;
    size_t i;

    if (cudaGetDeviceCount (&devices) != cudaSuccess || devices == 0)
        gpu_skip ("no device");
    if (cuda_cupti_load (&api, &err) < 0 || cuda_clock_new (&api, &ctx.clock, &err) < 0)
        gpu_die ("CUPTI", err.text);
    gpu_must (cudaGetDeviceProperties (&prop, 0), "device");
    gpu_must (cudaStreamCreateWithFlags (&ctx.stream, cudaStreamNonBlocking), "stream");
    gpu_must (cudaEventCreate (&ctx.begin), "event");
    gpu_must (cudaEventCreate (&ctx.end), "event");
    ctx.l2_bytes = (size_t)prop.l2CacheSize;
    ctx.timed = 1;
    ctx.sweep_bytes = CUDA_SWEEP_TIMES * ctx.l2_bytes;
    gpu_must (cudaMalloc (&ctx.sweep, 2 * ctx.sweep_bytes), "memory");
    gpu_must (cudaMemsetAsync (ctx.sweep, 0, 2 * ctx.sweep_bytes, ctx.stream), "memory");
    if (cuda_gemm.open (&ctx, SLOT, &err) < 0)
        gpu_die ("gemm", err.text);
    warm_gemm = cuda_gemm;
    warm_gemm.cold = 0;
    print_cost ();
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        good &= compare (sizes[i].n, sizes[i].k, sizes[i].tokens, sizes[i].config);
    cuda_clock_free (ctx.clock);
    return !good;
}
