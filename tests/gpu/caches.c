/* Is what the backend calls cold cold?  caches.
 *
 * Products whose weights fit the L2 cache, timed as a timed context does it, on the next of
 * several copies of the operands each time, and timed on one copy all the time.  Cold must
 * be slower than warm, and the same after few runs as after many.
 * Exit status: 0 as it should be, 1 not, 77 no device. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/clock.h"
#include "kernels/gemm/cuda/gemm.h"

#define MOST 200
#define FEW 20
#define SLOT 0

static struct dt_backend_ctx ctx;
static struct cuda_clock *timer;

static void die (const char *what, const char *why) __attribute__ ((noreturn));

static void die (const char *what, const char *why)
{
    fprintf (stderr, "caches: %s: %s\n", what, why);
    exit (1);
}

static void must (cudaError_t e, const char *what)
{
    if (e != cudaSuccess)
        die (what, cudaGetErrorString (e));
}

static int by_time (const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median (const double *us, size_t n)
{
    double sorted[MOST];

    memcpy (sorted, us, n * sizeof *us);
    qsort (sorted, n, sizeof *sorted, by_time);
    return sorted[n / 2];
}

/* `MOST` times of one call; `turns`: the next copy of the operands each time. */
static void take (const struct dt_backend_call *call, const void *operands, void *output, void *workspace,
                  int turns, double *us)
{
    struct dt_backend_error err = { "" };
    int i;

    for (i = -FEW; i < MOST; i++) {
        enum cuda_span how = CUDA_SPAN_MISSING;
        uint64_t ns = 0;

        ctx.turn += (uint64_t)turns;
        if (cuda_clock_begin (timer, 0, &err) < 0
            || cuda_gemm.launch (&ctx, SLOT, call, operands, output, workspace, &err) < 0)
            die ("launch", err.text);
        must (cudaStreamSynchronize (ctx.stream), "run");
        if (cuda_clock_end (timer, 1, &how, &ns, &err) < 0 || how != CUDA_SPAN_OK)
            die ("clock", err.text[0] ? err.text : cuda_span_text (how));
        if (i >= 0)
            us[i] = (double)ns / 1000;
    }
}

/* 1: as it should be. */
static int compare (int64_t n, int64_t k, int64_t tokens)
{
    int64_t fact[GEMM_N_FACTS] = { [GEMM_N] = n, [GEMM_K] = k, [GEMM_OUTPUT_BF16] = 1 };
    struct dt_backend_value param[GEMM_N_PARAMS] = { [GEMM_SPLITS] = { 1, NULL }, [GEMM_CONFIG] = { 38, NULL },
                                                     [GEMM_PAD] = { 1, NULL } };
    uint64_t seed = 5;
    struct dt_backend_call call = { .family = cuda_gemm.family, .fact = fact, .n_requests = 1, .request = &tokens,
                                    .seed = &seed, .param = param };
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    double cold[MOST], warm[MOST], few, many, in_cache;
    void *operands, *output, *workspace;
    int good;

    if (cuda_gemm.plan (&ctx, SLOT, &call, &plan, &err) < 0)
        die ("plan", err.text);
    must (cudaMalloc (&operands, plan.operand_bytes), "memory");
    must (cudaMalloc (&output, plan.output_bytes), "memory");
    must (cudaMalloc (&workspace, plan.workspace_bytes + 1), "memory");
    if (cuda_gemm.fill (&ctx, SLOT, &call, 0, operands, &err) < 0)
        die ("fill", err.text);
    must (cudaStreamSynchronize (ctx.stream), "fill");
    take (&call, operands, output, workspace, 1, cold);
    take (&call, operands, output, workspace, 0, warm);
    cudaFree (operands);
    cudaFree (output);
    cudaFree (workspace);
    few = median (cold, FEW);
    many = median (cold, MOST);
    in_cache = median (warm, MOST);
    good = many > 1.02 * in_cache && few > 0.95 * many && few < 1.05 * many;
    printf ("caches: %lld x %lld, %lld tokens, weights of %.1f MB: cold %.2f us (of the first %d runs %.2f), warm"
            " %.2f us: %s\n", (long long)n, (long long)k, (long long)tokens, (double)(n * k) * 2e-6, many, FEW, few,
            in_cache, good ? "as stated" : "NOT AS STATED");
    return good;
}

int main (void)
{
    struct dt_backend_error err = { "" };
    struct cudaDeviceProp prop;
    struct cuda_cupti api;
    int devices = 0, good;

    if (cuda_cupti_load (&api, &err) < 0 || cuda_clock_new (&api, &timer, &err) < 0)
        die ("CUPTI", err.text);
    if (cudaGetDeviceCount (&devices) != cudaSuccess || devices == 0) {
        fprintf (stderr, "SKIP: no device\n");
        return 77;
    }
    must (cudaGetDeviceProperties (&prop, 0), "device");
    must (cudaStreamCreateWithFlags (&ctx.stream, cudaStreamNonBlocking), "stream");
    ctx.l2_bytes = (size_t)prop.l2CacheSize;
    ctx.timed = 1;
    if (cuda_gemm.open (&ctx, SLOT, &err) < 0)
        die ("gemm", err.text);
    good = compare (1280, 2048, 8);
    good &= compare (2560, 4096, 8);
    cuda_clock_free (timer);
    return !good;
}
