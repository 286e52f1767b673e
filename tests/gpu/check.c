/* Checks of the CUDA backend on a GPU: gpu_check PLUGIN WHAT.
 *   small       values of the smallest site, for compute-sanitizer
 *   values      our chain and the catalogue against float64
 *   bits        every configuration and padding against our chain, on data that cancels
 *   alone       a request's bits alone and among others
 *   workspace   bits with a workspace full of 0x00, 0xff and 0x5a
 *   errors      what is refused, and in which words
 *   lost        of the planted backend: what is said of a context that a kernel ended
 *   noise       1,000 pairs of a kernel against itself
 *   clocks      the same runs of a long kernel by CUPTI and by events
 *   time N K TOKENS CONFIG    median of 101 runs, in us, and the clock's name
 * Exit status: 0 as it should be, 1 not, 77 no device. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/clock.h"
#include "kernels/gemm/cuda/gemm.h"
#include "tests/gpu/rig.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static struct gpu_rig rig;

static double bf16 (uint16_t bits)
{
    uint32_t u = (uint32_t)bits << 16;
    float f;

    memcpy (&f, &u, sizeof f);
    return (double)f;
}

/* One output in float64 of the values that `fill` writes, and the sum of its terms'
 * sizes, against which an error is to be judged. */
static double exact (const struct gpu_job *job, size_t request, size_t row, size_t column,
                     double *ret_size)
{
    const struct gemm_shape s = { .n = (size_t)job->fact[GEMM_N], .k = (size_t)job->fact[GEMM_K] };
    uint64_t x = gemm_row_key (job->seed[request], GEMM_STREAM_X, row);
    uint64_t w = gemm_row_key (0, GEMM_STREAM_W, column);
    double sum = 0, size = 0;
    struct gemm_terms t;
    uint32_t j;

    gemm_terms_init (&t, &s, job->call.data, job->call.exchange);
    for (j = 0; j < t.k; j++) {
        double p = bf16 (gemm_term (&t, x, j, 1)) * bf16 (gemm_term (&t, w, j, 0));

        sum += p;
        size += fabs (p);
    }
    *ret_size = size;
    return sum;
}

static void *read_output (const struct gpu_job *job, size_t *ret_bytes)
{
    struct dt_backend_error err = { "" };
    size_t bytes = 0, i, n = job->call.n_requests;
    struct dt_backend_row row[GPU_MAX_REQUESTS];
    void *p;

    if (rig.b->rows (rig.ctx, &job->call, row, &err) < 0)
        gpu_die ("rows", err.text);
    for (i = 0; i < n; i++)
        bytes = row[i].offset + row[i].length > bytes ? row[i].offset + row[i].length : bytes;
    if (!(p = malloc (bytes + 1)))
        gpu_die ("read", "out of memory");
    if (rig.b->read (rig.ctx, job->output, 0, bytes, p, &err) < 0)
        gpu_die ("read", err.text);
    *ret_bytes = bytes;
    return p;
}

/* Run with the output poisoned, so that what is not written shows. */
static void run (struct gpu_job *job)
{
    struct dt_backend_error err = { "" };

    if (rig.b->set (rig.ctx, job->output, 0xff, job->plan.output_bytes, &err) < 0
        || gpu_job_run (job, &rig, &err) < 0)
        gpu_die ("run", err.text);
}

static void fill (struct gpu_job *job)
{
    struct dt_backend_error err = { "" };

    if (gpu_job_fill (job, &rig, &err) < 0)
        gpu_die ("fill", err.text);
}

static size_t taken; /* configurations of the library, each time that it took one */

/* Set the configuration.  Does the library take it for the job's shape? */
static int is_supported (struct gpu_job *job, int64_t config)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    int r;

    gpu_job_set (job, "config", config);
    r = rig.b->plan (rig.ctx, &job->call, &plan, &err);
    if (r < 0 && r != -DT_BACKEND_EUNSUPPORTED)
        gpu_die ("plan", err.text);
    taken += r == 0 && config != GEMM_CONFIG_CHAIN;
    return r == 0;
}

/* A check of the library's configurations that met none has checked nothing. */
static void check_taken (const char *what)
{
    gpu_verdict (taken > 0, "%s: the library took no configuration", what);
}

/* Copy outputs on the device; the runs that follow on another stream may write over 'from'. */
static void keep (void *to, const void *from, size_t bytes)
{
    if (cudaMemcpy (to, from, bytes, cudaMemcpyDeviceToDevice) != cudaSuccess
        || cudaDeviceSynchronize () != cudaSuccess)
        gpu_die ("keep", "cannot copy");
}

static const struct site {
    int64_t n, k;
} sites[] = { { 2560, 8192 }, { 8192, 2048 }, { 14336, 8192 }, { 8192, 7168 },
              { 1280, 2048 }, { 2048, 1024 }, { 5120, 2048 }, { 2048, 4096 }, { 136, 72 } };

/* ---- values ---- */

static void check_output (const struct gpu_job *job, int64_t config)
{
    size_t bytes, n = (size_t)job->fact[GEMM_N], tokens = (size_t)job->tokens[0], i;
    int is_bf16 = (int)job->fact[GEMM_OUTPUT_BF16];
    void *y = read_output (job, &bytes);
    double worst = 0;

    for (i = 0; i < (config == 0 ? 400u : 40u); i++) {
        uint64_t h = gemm_mix (i + 1);
        size_t row = h % tokens, column = (h >> 32) % n, at = row * n + column;
        double got = is_bf16 ? bf16 (((uint16_t *)y)[at]) : (double)((float *)y)[at], size, want;
        double bound;

        want = exact (job, 0, row, column, &size);
        /* fp32 sums of k terms, then one rounding. */
        bound = size * (double)job->fact[GEMM_K] * 0x1p-24
                + (is_bf16 ? fabs (want) * 0x1p-8 : 0) + 1e-30;
        gpu_verdict (fabs (got - want) <= bound, "values: %lld x %lld, %zu tokens, config %lld, output"
                     " %zu,%zu is %g, not %g (within %g)", (long long)job->fact[GEMM_N],
                     (long long)job->fact[GEMM_K], tokens, (long long)config, row, column, got, want,
                     bound);
        if (size > 0 && fabs (got - want) / size > worst)
            worst = fabs (got - want) / size;
    }
    if (config == 0)
        printf ("values: %lld x %lld, %zu tokens, %s, data %u: worst error %.2g of the terms' size\n",
                (long long)job->fact[GEMM_N], (long long)job->fact[GEMM_K], tokens,
                is_bf16 ? "bf16" : "fp32", job->call.data, worst);
    free (y);
}

static void check_values (size_t first)
{
    static const int64_t tokens[] = { 1, 17, 200 };
    const int64_t *configs;
    int64_t n_configs = gpu_values (&rig, "config", &configs), c;
    size_t i, t;
    int out;

    for (i = first; i < ARRAY_SIZE (sites); i++)
        for (t = 0; t < ARRAY_SIZE (tokens); t++)
            for (out = 0; out < 2; out++) {
                struct gpu_job job;

                gpu_job_init (&job, &rig, sites[i].n, sites[i].k, out, &tokens[t], 1);
                job.call.data = (uint32_t)(t % DT_BACKEND_DATA_KINDS);
                fill (&job);
                for (c = 0; c < n_configs; c += t == 0 ? 1 : 7) {
                    if (!is_supported (&job, configs[c]))
                        continue;
                    run (&job);
                    check_output (&job, configs[c]);
                }
                gpu_job_done (&job, &rig);
            }
}

/* ---- bits ---- */

static unsigned long long *differ; /* device */

/* Outputs in which two buffers of the job's size differ. */
static unsigned long long compare (const struct gpu_job *job, const void *a, const void *b,
                                   size_t bytes)
{
    unsigned long long n = 0;

    if (cudaMemset (differ, 0, sizeof *differ) != cudaSuccess
        || gemm_compare_launch (NULL, a, b, bytes, (int)job->fact[GEMM_OUTPUT_BF16], differ)
            != cudaSuccess
        || cudaMemcpy (&n, differ, sizeof n, cudaMemcpyDeviceToHost) != cudaSuccess)
        gpu_die ("bits", "cannot compare");
    return n;
}

static void check_bits (void)
{
    static const int64_t tokens[] = { 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129,
        255, 256, 257, 1023, 1024, 1025, 4096, 8192 };
    const int64_t *configs, *pads;
    int64_t n_configs = gpu_values (&rig, "config", &configs), c;
    int64_t n_pads = gpu_values (&rig, "pad", &pads);
    size_t i, t, points = 0, refused = 0;

    if (cudaMalloc ((void **)&differ, sizeof *differ) != cudaSuccess)
        gpu_die ("bits", "no memory on the device");
    for (i = 0; i < ARRAY_SIZE (sites); i++)
        for (t = 0; t < ARRAY_SIZE (tokens); t++) {
            size_t bytes = (size_t)(tokens[t] * sites[i].n) * 2;
            struct gpu_job job;
            void *want = NULL;

            gpu_job_init (&job, &rig, sites[i].n, sites[i].k, 1, &tokens[t], 1);
            job.call.data = DT_BACKEND_CANCEL;
            fill (&job);
            run (&job);
            if (cudaMalloc (&want, bytes) != cudaSuccess)
                gpu_die ("bits", "no memory on the device");
            keep (want, job.output, bytes);
            for (c = 1; c < n_configs; c++) {
                unsigned long long n;

                gpu_job_set (&job, "pad", pads[(size_t)c % (size_t)n_pads]);
                if (!is_supported (&job, configs[c])) {
                    refused++;
                    continue;
                }
                run (&job);
                points++;
                n = compare (&job, want, job.output, bytes);
                gpu_verdict (n == 0, "bits: %lld x %lld, %lld tokens, config %lld, pad %lld: %llu of %zu"
                             " outputs differ", (long long)sites[i].n, (long long)sites[i].k,
                             (long long)tokens[t], (long long)configs[c],
                             (long long)pads[(size_t)c % (size_t)n_pads], n, bytes / 2);
            }
            cudaFree (want);
            gpu_job_done (&job, &rig);
        }
    printf ("bits: %zu points (site, tokens, configuration) against our chain, %zu refused by the"
            " library, %d differ\n", points, refused, gpu_failures);
    check_taken ("bits");
}

/* ---- alone and among others ---- */

static void check_alone (void)
{
    static const int64_t tokens[] = { 3, 1, 130, 64, 1, 700, 16, 5 };
    const int64_t *configs;
    int64_t n_configs = gpu_values (&rig, "config", &configs), c;
    size_t i, q;

    for (i = 0; i < ARRAY_SIZE (sites); i += 2)
        for (c = 0; c < n_configs; c++) {
            struct dt_backend_error err = { "" };
            struct dt_backend_row row[ARRAY_SIZE (tokens)];
            struct gpu_job all;
            size_t bytes;
            char *among;

            gpu_job_init (&all, &rig, sites[i].n, sites[i].k, 1, tokens, ARRAY_SIZE (tokens));
            all.call.data = DT_BACKEND_CANCEL;
            if (!is_supported (&all, configs[c]))
                continue;
            fill (&all);
            run (&all);
            among = read_output (&all, &bytes);
            if (rig.b->rows (rig.ctx, &all.call, row, &err) < 0)
                gpu_die ("rows", err.text);
            for (q = (size_t)c % 3; q < ARRAY_SIZE (tokens); q += 3) {
                struct gpu_job one;
                char *alone;

                gpu_job_init (&one, &rig, sites[i].n, sites[i].k, 1, &tokens[q], 1);
                one.call.data = DT_BACKEND_CANCEL;
                one.seed[0] = all.seed[q];
                if (is_supported (&one, configs[c])) {
                    fill (&one);
                    run (&one);
                    alone = read_output (&one, &bytes);
                    gpu_verdict (bytes == row[q].length
                                 && memcmp (alone, among + row[q].offset, bytes) == 0,
                                 "alone: %lld x %lld, config %lld: request %zu of %lld tokens has other"
                                 " bits among others", (long long)sites[i].n, (long long)sites[i].k,
                                 (long long)configs[c], q, (long long)tokens[q]);
                    free (alone);
                }
                gpu_job_done (&one, &rig);
            }
            free (among);
            gpu_job_done (&all, &rig);
        }
    printf ("alone: %d requests compared, %d differ\n", gpu_checks, gpu_failures);
    check_taken ("alone");
}

/* ---- the workspace ---- */

/* The job's configuration with each content, against the first. */
static void compare_contents (struct gpu_job *job, int64_t config, void *want)
{
    static const int contents[] = { 0x00, 0xff, 0x5a };
    size_t bytes = (size_t)(job->tokens[0] * job->fact[GEMM_N]) * 2, i;
    struct dt_backend_error err = { "" };

    for (i = 0; i < ARRAY_SIZE (contents); i++) {
        unsigned long long n;

        if (rig.b->set (rig.ctx, job->workspace, contents[i], job->plan.workspace_bytes, &err) < 0)
            gpu_die ("set", err.text);
        run (job);
        if (i == 0)
            keep (want, job->output, bytes);
        n = i ? compare (job, want, job->output, bytes) : 0;
        if (i)
            gpu_verdict (n == 0, "workspace: %lld x %lld, %lld tokens, config %lld: %llu of %zu outputs"
                         " differ with 0x%02x in it", (long long)job->fact[GEMM_N],
                         (long long)job->fact[GEMM_K], (long long)job->tokens[0], (long long)config, n,
                         bytes / 2, (unsigned)contents[i]);
    }
}

static void check_workspace (void)
{
    static const int64_t tokens[] = { 1, 48 };
    const int64_t *configs;
    int64_t n_configs = gpu_values (&rig, "config", &configs), c;
    size_t i, t, refused = 0;

    if (cudaMalloc ((void **)&differ, sizeof *differ) != cudaSuccess)
        gpu_die ("workspace", "no memory on the device");
    for (i = 0; i < ARRAY_SIZE (sites); i++)
        for (t = 0; t < ARRAY_SIZE (tokens); t++) {
            struct gpu_job job;
            void *want = NULL;

            gpu_job_init (&job, &rig, sites[i].n, sites[i].k, 1, &tokens[t], 1);
            fill (&job);
            if (cudaMalloc (&want, job.plan.output_bytes) != cudaSuccess)
                gpu_die ("workspace", "no memory on the device");
            for (c = 0; c < n_configs; c++) {
                if (is_supported (&job, configs[c]))
                    compare_contents (&job, configs[c], want);
                else
                    refused++;
            }
            cudaFree (want);
            gpu_job_done (&job, &rig);
        }
    printf ("workspace: %zu sites, %lld configurations: %d compared, %zu refused by the library, %d differ\n",
            ARRAY_SIZE (sites), (long long)n_configs, gpu_checks, refused, gpu_failures);
    check_taken ("workspace");
}

/* ---- errors ---- */

static void check_errors (void)
{
    const int64_t tokens = 5;
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    struct gpu_job job;
    void *buffer;
    int r;

    gpu_job_init (&job, &rig, 2560, 8192, 1, &tokens, 1);
    gpu_job_set (&job, "splits", 16);
    gpu_job_set (&job, "config", 1);
    r = rig.b->plan (rig.ctx, &job.call, &plan, &err); /* the library takes it, or is said not to */
    gpu_verdict (r == 0 || (r == -DT_BACKEND_EUNSUPPORTED && strstr (err.text, "cublasLt ")
                            && strstr (err.text, "splits=16 config=1")),
                 "errors: 16 splits: %d %s", r, err.text);
    if (r < 0)
        printf ("errors: %s\n", err.text);
    gpu_job_set (&job, "splits", 2);
    gpu_job_set (&job, "config", 0);
    gpu_verdict (rig.b->plan (rig.ctx, &job.call, &plan, &err) == -DT_BACKEND_EUNSUPPORTED
                 && strstr (err.text, "gemm: ") && strstr (err.text, "config=0"), "errors: %s", err.text);
    printf ("errors: %s\n", err.text);
    gpu_verdict (rig.b->alloc (rig.ctx, (size_t)1 << 50, &buffer, &err) == -ENOMEM
                 && strstr (err.text, "cudaErrorMemoryAllocation (2)"), "errors: 1 PiB: %s", err.text);
    printf ("errors: %s\n", err.text);
    gpu_job_set (&job, "splits", 1);
    fill (&job);
    run (&job); /* the failed allocation's error is gone */
    gpu_job_done (&job, &rig);
}

/* ---- a lost device ---- */

/* The backend with the fault "trap": what each entry says of a context that a kernel ended.
 * A context beside it has met no error itself, and asks the device. */
static void check_lost (void)
{
    static const char *const asked[] = { "alloc", "set", "fill", "the chain", "cuBLASLt" };
    const struct dt_backend_options options = { .timed = 0 };
    const int64_t tokens = 5;
    struct dt_backend_ctx *beside[ARRAY_SIZE (asked)];
    struct dt_backend_error err = { "" };
    struct gpu_job job;
    void *buffer = NULL;
    size_t i, turn;
    int r = 0;

    for (i = 0; i < ARRAY_SIZE (asked); i++)
        if (rig.b->open (&options, &beside[i], &err) < 0)
            gpu_die ("a context beside the first", err.text);
    gpu_job_init (&job, &rig, 2560, 8192, 1, &tokens, 1);
    fill (&job);
    for (turn = 0; r == 0 && turn < 100; turn++)
        r = gpu_job_run (&job, &rig, &err);
    gpu_verdict (r == -DT_BACKEND_ELOST && strstr (err.text, "(719)"), "lost: run %zu: %d %s", turn, r,
                 err.text);
    printf ("lost: run: %s\n", err.text);
    for (i = 0; i < ARRAY_SIZE (asked); i++) {
        err.text[0] = 0;
        gpu_job_set (&job, "config", i == 4 ? 38 : 0);
        r = i == 0   ? rig.b->alloc (beside[i], 4096, &buffer, &err)
            : i == 1 ? rig.b->set (beside[i], job.output, 0, job.plan.output_bytes, &err)
            : i == 2 ? rig.b->fill (beside[i], &job.call, 0, job.operands, &err)
                     : rig.b->run (beside[i], &job.call, job.operands, job.output, job.workspace, &err);
        gpu_verdict (r == -DT_BACKEND_ELOST && strstr (err.text, "(719)"), "lost: %s: %d %s", asked[i], r,
                     err.text);
        printf ("lost: %s: %s\n", asked[i], err.text);
    }
    gpu_verdict (rig.b->alloc (rig.ctx, 4096, &buffer, &err) == -DT_BACKEND_ELOST
                 && strstr (err.text, "no more answers since"), "lost: alloc, later: %s", err.text);
    printf ("lost: alloc, later: %s\n", err.text);
    for (i = 0; i < ARRAY_SIZE (asked); i++)
        rig.b->close (beside[i]);
}

/* ---- times ---- */

static double time_once (struct gpu_job *job)
{
    struct dt_backend_error err = { "" };
    uint64_t ns;

    if (gpu_job_run (job, &rig, &err) < 0)
        gpu_die ("run", err.text);
    ns = rig.b->elapsed_ns (rig.ctx);
    if (ns == 0)
        gpu_die ("run", "no time");
    return (double)ns / 1e3;
}

static void check_noise (int64_t n, int64_t k, int64_t tokens, int64_t config)
{
    enum { PAIRS = 1000 };
    static double ratio[PAIRS], half[PAIRS / 2], us[PAIRS];
    struct gpu_job job;
    double median, low, high;
    size_t i;

    gpu_job_init (&job, &rig, n, k, 1, &tokens, 1);
    gpu_job_set (&job, "config", config);
    fill (&job);
    for (i = 0; i < PAIRS; i++) {
        double a = time_once (&job), b = time_once (&job);

        ratio[i] = log (b / a);
        us[i] = a;
    }
    for (i = 0; i < PAIRS / 2; i++)
        half[i] = ratio[i];
    median = gpu_median (ratio, PAIRS);
    low = ratio[PAIRS / 20];
    high = ratio[PAIRS - 1 - PAIRS / 20];
    printf ("noise: %lld x %lld, %lld tokens, config %lld: median %.2f us; 1000 pairs against"
            " itself: median ratio %+.3f%% (first half %+.3f%%), 5%% to 95%%: %+.2f%% to %+.2f%%\n",
            (long long)n, (long long)k, (long long)tokens, (long long)config,
            gpu_median (us, PAIRS), 100 * median, 100 * gpu_median (half, PAIRS / 2), 100 * low,
            100 * high);
    gpu_job_done (&job, &rig);
}

/* A context by hand: the backend's own times are by one clock or the other. */
static void check_clocks (void)
{
    enum { RUNS = 101 };
    static struct dt_backend_ctx ctx;
    const int64_t fact[GEMM_N_FACTS] = { 2560, 8192, 1 }, tokens = 2048;
    const uint64_t seed = 1;
    const struct dt_backend_value param[GEMM_N_PARAMS] = { { 1, NULL }, { 0, NULL }, { 1, NULL } };
    const struct dt_backend_call call = {
        .family = cuda_gemm.family, .fact = fact, .n_requests = 1, .request = &tokens,
        .seed = &seed, .param = param,
    };
    double cupti[RUNS], events[RUNS], ratio[RUNS], share;
    struct dt_backend_error err = { "" };
    char *operands = NULL, *y = NULL;
    struct gemm_shape s;
    struct cuda_cupti api;
    size_t i;

    if (cuda_cupti_load (&api, &err) < 0 || cuda_clock_new (&api, &ctx.clock, &err) < 0
        || gemm_shape_init (&s, &call, &err) < 0
        || cuda_check (&ctx, cudaStreamCreate (&ctx.stream), "stream", &err) < 0
        || cuda_check (&ctx, cudaEventCreate (&ctx.begin), "event", &err) < 0
        || cuda_check (&ctx, cudaEventCreate (&ctx.end), "event", &err) < 0
        || cuda_check (&ctx, cudaMalloc ((void **)&operands, s.operand_bytes), "memory", &err) < 0
        || cuda_check (&ctx, cudaMalloc ((void **)&y, s.output_bytes), "memory", &err) < 0
        || cuda_gemm.fill (&ctx, 0, &call, 0, operands, &err) < 0)
        gpu_die ("clocks", err.text);
    for (i = 0; i < RUNS; i++) {
        enum cuda_span span = CUDA_SPAN_MISSING;
        uint64_t ns = 0;
        float ms = 0;

        if (cuda_clock_begin (ctx.clock, 0, &err) < 0
            || cuda_check (&ctx, cudaEventRecord (ctx.begin, ctx.stream), "event", &err) < 0
            || cuda_check (&ctx, gemm_chain_launch (ctx.stream, &s, operands + s.x,
                           operands + s.w, y, NULL), "chain", &err) < 0
            || cuda_check (&ctx, cudaEventRecord (ctx.end, ctx.stream), "event", &err) < 0
            || cuda_check (&ctx, cudaStreamSynchronize (ctx.stream), "run", &err) < 0
            || cuda_clock_end (ctx.clock, 1, &span, &ns, &err) < 0
            || cuda_check (&ctx, cudaEventElapsedTime (&ms, ctx.begin, ctx.end), "event", &err) < 0)
            gpu_die ("clocks", err.text);
        gpu_verdict (span == CUDA_SPAN_OK, "clocks: run %zu: %s", i, cuda_span_text (span));
        cupti[i] = (double)ns / 1e3;
        events[i] = (double)ms * 1e3;
        ratio[i] = cupti[i] / events[i];
    }
    share = gpu_median (ratio, RUNS);
    printf ("clocks: our chain, 2560 x 8192, 2048 tokens, 101 runs: CUPTI %.1f us, events %.1f us,"
            " median ratio %.4f\n", gpu_median (cupti, RUNS), gpu_median (events, RUNS), share);
    gpu_verdict (fabs (share - 1) < 0.02, "clocks: the median ratio is %.4f", share);
    cuda_clock_free (ctx.clock);
}

static void print_time (char **arg)
{
    enum { RUNS = 101 };
    const int64_t tokens = atoll (arg[2]);
    double us[RUNS];
    struct gpu_job job;
    size_t i;

    gpu_job_init (&job, &rig, atoll (arg[0]), atoll (arg[1]), 1, &tokens, 1);
    gpu_job_set (&job, "config", atoll (arg[3]));
    fill (&job);
    for (i = 0; i < RUNS; i++)
        us[i] = time_once (&job);
    printf ("%.3f %s\n", gpu_median (us, RUNS), rig.b->clock);
    gpu_job_done (&job, &rig);
}

/* Asked without a context, the backend says the same of itself. */
static void check_identity (void)
{
    const struct dt_backend_identity *id = rig.b->identity (rig.ctx), *other;
    struct dt_backend_options options = { .identify = 1 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx;

    if (rig.b->open (&options, &ctx, &err) < 0)
        gpu_die ("identity", err.text);
    other = rig.b->identity (ctx);
    gpu_verdict (!strcmp (id->build, other->build) && !strcmp (id->libraries, other->libraries)
                 && !strcmp (id->driver, other->driver) && !strcmp (id->device, other->device)
                 && id->units == other->units, "identity: %s, %s, driver %s", other->device,
                 other->libraries, other->driver);
    rig.b->close (ctx);
}

int main (int argc, char **argv)
{
    const struct dt_backend_identity *id;
    int timed;

    if (argc < 3)
        gpu_die ("usage", "gpu_check PLUGIN small|values|bits|alone|workspace|errors|lost|noise|clocks|time ...");
    if (strcmp (argv[2], "clocks") == 0) {
        gpu_open (&rig, argv[1], 0); /* names a machine without a device */
        gpu_close (&rig);
        check_clocks ();
        return gpu_failures != 0;
    }
    timed = strcmp (argv[2], "noise") == 0 || strcmp (argv[2], "time") == 0;
    gpu_open (&rig, argv[1], timed);
    id = rig.b->identity (rig.ctx);
    if (strcmp (argv[2], "time") != 0)
        printf ("# %s, %u SMs, driver %s, %s, build %.12s\n", id->device, id->units, id->driver,
                id->libraries, id->build);
    if (strcmp (argv[2], "values") == 0) {
        check_values (0);
        check_taken ("values");
    } else if (strcmp (argv[2], "small") == 0)
        check_values (ARRAY_SIZE (sites) - 1);
    else if (strcmp (argv[2], "bits") == 0)
        check_bits ();
    else if (strcmp (argv[2], "alone") == 0)
        check_alone ();
    else if (strcmp (argv[2], "workspace") == 0)
        check_workspace ();
    else if (strcmp (argv[2], "errors") == 0) {
        check_identity ();
        check_errors ();
    } else if (strcmp (argv[2], "lost") == 0)
        check_lost ();
    else if (strcmp (argv[2], "noise") == 0) {
        check_noise (2560, 8192, 8, 1);
        check_noise (14336, 8192, 256, 17);
    } else if (strcmp (argv[2], "time") == 0 && argc == 7)
        print_time (argv + 3);
    else
        gpu_die (argv[2], "unknown check");
    if (!timed)
        gpu_tally (argv[2]);
    gpu_close (&rig);
    return gpu_failures != 0;
}
