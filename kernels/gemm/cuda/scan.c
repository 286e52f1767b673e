/* detent-gemm-scan: which configurations of cuBLASLt keep the canonical order, and how
 * fast they are.  Prints one line for each configuration that the library takes for a
 * shape and a token count; a catalogue (configs.inc) is chosen from them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/clock.h"
#include "kernels/cuda/sweep.h"
#include "kernels/cuda/timed.h"
#include "kernels/gemm/cuda/lt.h"

#define MAX_CONFIGS 8192u
/* Configurations of a point that are timed by CUPTI, and how often. */
#define FINALISTS 24u
#define ROUNDS 9u
/* Custom options tried beyond the plain one. */
#define MAX_CUSTOM 7u
/* From this many tokens on, what was this many times slower than the best at the count
 * before is not tried again: it only gets slower. */
#define PRUNE_TOKENS 512u
#define PRUNE_TIMES 4.0f
/* From this many tokens on a run is long enough to be timed at once, and the time for
 * a point is doubled. */
#define LONG_TOKENS 2048u

static const int64_t default_tokens[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096,
    8192 };
static const int64_t default_sites[][2] = {
    /* Llama-3.1-70B at TP=4: qkv, o, gate and up, down */
    { 2560, 8192 }, { 8192, 2048 }, { 14336, 8192 }, { 8192, 7168 },
    /* Qwen3-30B-A3B's attention at TP=4 and TP=1: qkv, o */
    { 1280, 2048 }, { 2048, 1024 }, { 5120, 2048 }, { 2048, 4096 },
};

/* Head start of the host, so that a launch's own delay is not in the rough time. */
#define DELAY_NS 15000u

struct found {
    struct gemm_config config;
    size_t slot;      /* in scan.differ */
    long long differ; /* outputs that are not the reference's */
    float screen_us;  /* one run between events */
    double median_us; /* by CUPTI; 0: no finalist */
};

struct scan {
    struct dt_backend_ctx *ctx;
    struct gemm_lt *lt;
    struct gemm_shape shape;
    struct gemm_lt_call call;
    char *operands, *workspace;
    void *want, *got;
    unsigned long long *differ;   /* device: [MAX_CONFIGS] outputs that differ */
    unsigned long long *differs;  /* host */
    struct found *found, *last;   /* of this point, and of the one before at this site */
    size_t n, n_last;
    float last_us;                /* the fastest of it */
    uint64_t until_ns;
    struct dt_backend_error err;
};

static int die (const struct scan *s, const char *what)
{
    fprintf (stderr, "detent-gemm-scan: %s: %s\n", what, s->err.text);
    return 1;
}

static int ok (struct scan *s, cudaError_t e, const char *what)
{
    return cuda_check (s->ctx, e, what, &s->err);
}

static int run (struct scan *s, void *y)
{
    return cuda_cause (s->ctx, gemm_lt_launch (&s->call, s->lt, s->ctx->stream,
                                               s->operands + s->shape.x, s->operands + s->shape.w,
                                               y, s->workspace, &s->err), &s->err);
}

/* The next run finds nothing in the cache. */
static int sweep (struct scan *s)
{
    return ok (s, cuda_sweep_launch (s->ctx->stream, s->ctx->sweep, s->ctx->sweep_bytes), "sweep");
}

/* Was it far too slow at the count before? */
static int is_hopeless (const struct scan *s, const struct gemm_config *config)
{
    size_t i;

    if (s->shape.tokens < PRUNE_TOKENS)
        return 0;
    for (i = 0; i < s->n_last; i++)
        if (memcmp (&s->last[i].config, config, sizeof *config) == 0)
            return s->last[i].screen_us > PRUNE_TIMES * s->last_us;
    return s->n_last > 0;
}

/* Run one configuration: its bits and a rough time. */
static int screen (void *arg, const struct gemm_config *config)
{
    struct scan *s = arg;
    struct found *f;
    int r;

    if (s->n == MAX_CONFIGS || cuda_host_ns () > s->until_ns)
        return -ETIME;
    if (!config || is_hopeless (s, config))
        return 0;
    f = &s->found[s->n];
    *f = (struct found){ .config = *config, .slot = s->n };
    if ((r = ok (s, cudaMemsetAsync (s->got, 0xff, s->shape.output_bytes, s->ctx->stream), "set"))
        < 0)
        return r;
    if (s->shape.tokens < LONG_TOKENS && (r = run (s, s->got)) < 0)
        return r == -DT_BACKEND_ELOST ? r : 0; /* refused after all */
    if ((r = sweep (s)) < 0
        || (r = ok (s, cuda_delay_launch (s->ctx->stream, DELAY_NS), "delay")) < 0
        || (r = ok (s, cudaEventRecord (s->ctx->begin, s->ctx->stream), "event")) < 0)
        return r;
    if ((r = run (s, s->got)) < 0)
        return r == -DT_BACKEND_ELOST ? r : 0;
    if ((r = ok (s, cudaEventRecord (s->ctx->end, s->ctx->stream), "event")) < 0
        || (r = ok (s, gemm_compare_launch (s->ctx->stream, s->want, s->got,
                                            s->shape.output_bytes, s->shape.output_bf16,
                                            &s->differ[s->n]), "compare")) < 0
        || (r = ok (s, cudaStreamSynchronize (s->ctx->stream), "run")) < 0
        || (r = ok (s, cudaEventElapsedTime (&f->screen_us, s->ctx->begin, s->ctx->end), "time"))
            < 0)
        return r;
    f->screen_us *= 1000.0f;
    s->n++;
    return 0;
}

/* Those of the canonical order first, then the fastest. */
static int by_screen (const void *a, const void *b)
{
    const struct found *f = a, *g = b;

    if (!f->differ != !g->differ)
        return f->differ ? 1 : -1;
    return f->screen_us < g->screen_us ? -1 : f->screen_us > g->screen_us;
}

static int by_value (const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* The span of one run by CUPTI, or 0. */
static int timed (struct scan *s, double *ret_us)
{
    enum cuda_span verdict = CUDA_SPAN_MISSING;
    uint64_t ns = 0, first = UINT64_MAX, last = 0;
    const struct cuda_stamp *stamp;
    size_t n, i;
    int r;

    if ((r = sweep (s)) < 0
        || (r = ok (s, cudaStreamSynchronize (s->ctx->stream), "sweep")) < 0
        || (r = cuda_clock_begin (s->ctx->clock, 0, &s->err)) < 0 || (r = run (s, s->got)) < 0
        || (r = ok (s, cudaStreamSynchronize (s->ctx->stream), "run")) < 0
        || (r = cuda_clock_end (s->ctx->clock, 1, &verdict, &ns, &s->err)) < 0)
        return r;
    stamp = cuda_clock_stamps (s->ctx->clock, &n); /* a pick with split-K has several */
    for (i = 0; i < n; i++) {
        first = stamp[i].start_ns < first ? stamp[i].start_ns : first;
        last = stamp[i].end_ns > last ? stamp[i].end_ns : last;
    }
    *ret_us = n && last > first ? (double)(last - first) / 1e3 : 0;
    return 0;
}

/* The finalists and the library's first pick, in interleaved rounds. */
static int race (struct scan *s, size_t n, double *ret_first_us, char *kernel, size_t size)
{
    double us[FINALISTS + 1][ROUNDS];
    size_t i, round;
    int r;

    for (round = 0; round < ROUNDS; round++)
        for (i = 0; i <= n; i++) {
            r = i == n ? gemm_lt_choose_first (&s->call, s->lt, &s->err)
                       : gemm_lt_choose (&s->call, s->lt, &s->found[i].config, 1, &s->err);
            if (r < 0 || (r = timed (s, &us[i][round])) < 0)
                return r;
            if (i == n)
                snprintf (kernel, size, "%s", cuda_clock_kernel (s->ctx->clock));
        }
    for (i = 0; i <= n; i++)
        qsort (us[i], ROUNDS, sizeof us[i][0], by_value);
    for (i = 0; i < n; i++)
        s->found[i].median_us = us[i][ROUNDS / 2];
    *ret_first_us = us[n][ROUNDS / 2];
    return 0;
}

static int kernel_of (struct scan *s, const struct gemm_config *g, char *kernel, size_t size)
{
    double us;
    int r;

    if ((r = gemm_lt_choose (&s->call, s->lt, g, 1, &s->err)) < 0 || (r = timed (s, &us)) < 0)
        return r;
    snprintf (kernel, size, "%s", cuda_clock_kernel (s->ctx->clock));
    return 0;
}

static void print_config (const char *what, const struct scan *s, const struct gemm_config *g,
                          int splits, double screen_us, double median_us, long long differ,
                          const char *kernel)
{
    printf ("%s\t%zu\t%zu\t%zu\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%d\t%.2f\t%.3f\t%lld\t%s\n", what,
            s->shape.n, s->shape.k, s->shape.tokens, g->algo, g->tile, g->stages, g->cluster,
            g->custom, g->inner, g->swizzle, splits, screen_us, median_us, differ, kernel);
}

/* What is due before configurations are tried: buffers, data, the reference's output. */
static int prepare (struct scan *s, int64_t n, int64_t k, int64_t tokens)
{
    const int64_t fact[GEMM_N_FACTS] = { n, k, 1 };
    const uint64_t seed = 1;
    const struct dt_backend_value param[GEMM_N_PARAMS] = { { 1, NULL }, { 0, NULL }, { 1, NULL } };
    const struct dt_backend_call call = {
        .family = cuda_gemm.family, .fact = fact, .n_requests = 1, .request = &tokens,
        .seed = &seed, .param = param, .data = DT_BACKEND_CANCEL,
    };
    int r;

    if ((r = gemm_shape_init (&s->shape, &call, &s->err)) < 0
        || (r = ok (s, cudaMalloc ((void **)&s->operands, s->shape.operand_bytes), "operands")) < 0
        || (r = ok (s, cudaMalloc ((void **)&s->workspace, GEMM_WORKSPACE_BYTES), "workspace")) < 0
        || (r = ok (s, cudaMalloc (&s->want, s->shape.output_bytes), "output")) < 0
        || (r = ok (s, cudaMalloc (&s->got, s->shape.output_bytes), "output")) < 0
        || (r = ok (s, cudaMemsetAsync (s->differ, 0, MAX_CONFIGS * sizeof *s->differ,
                                        s->ctx->stream), "set")) < 0
        || (r = cuda_gemm.fill (s->ctx, 0, &call, 0, s->operands, &s->err)) < 0)
        return r;
    if ((r = ok (s, gemm_chain_launch (s->ctx->stream, &s->shape, s->operands + s->shape.x,
                                       s->operands + s->shape.w, s->want, s->workspace),
                 "chain")) < 0
        || (r = ok (s, cudaStreamSynchronize (s->ctx->stream), "chain")) < 0)
        return r;
    return gemm_lt_call_init (&s->call, s->lt, &s->shape, &s->err);
}

static void release (struct scan *s)
{
    gemm_lt_call_done (&s->call, s->lt);
    cudaFree (s->operands);
    cudaFree (s->workspace);
    cudaFree (s->want);
    cudaFree (s->got);
    s->operands = s->workspace = NULL;
    s->want = s->got = NULL;
}

/* The library's pick, then every configuration, fastest first. */
static int report (struct scan *s, size_t n_finalists, double first_us, const char *first_kernel)
{
    struct gemm_config first;
    char kernel[256] = "";
    int splits, r;
    size_t i;

    if ((r = gemm_lt_choose_first (&s->call, s->lt, &s->err)) < 0)
        return r;
    gemm_lt_describe (&s->call, s->lt, &first, &splits);
    print_config ("first", s, &first, splits, 0, first_us, -1, first_kernel);
    for (i = 0; i < s->n; i++) {
        if (i < n_finalists && (r = kernel_of (s, &s->found[i].config, kernel, sizeof kernel)) < 0)
            return r;
        print_config ("config", s, &s->found[i].config, 1, (double)s->found[i].screen_us,
                      s->found[i].median_us, s->found[i].differ,
                      i < n_finalists ? kernel : "");
    }
    fflush (stdout);
    return 0;
}

static int point (struct scan *s, int64_t n, int64_t k, int64_t tokens, double seconds)
{
    char kernel[256] = "";
    double first_us = 0;
    size_t finalists, i;
    int r;

    if ((r = prepare (s, n, k, tokens)) < 0)
        goto fail;
    s->n = 0;
    s->until_ns = cuda_host_ns () + (uint64_t)((tokens < LONG_TOKENS ? 1 : 2) * seconds * 1e9);
    r = gemm_lt_each (&s->call, s->lt, MAX_CUSTOM, screen, s);
    if (r < 0 && r != -ETIME)
        goto fail;
    fprintf (stderr, "%lld x %lld, %lld tokens: %zu configurations%s\n", (long long)n,
             (long long)k, (long long)tokens, s->n, r == -ETIME ? ", time is up" : "");
    if ((r = ok (s, cudaMemcpy (s->differs, s->differ, s->n * sizeof *s->differ,
                                cudaMemcpyDeviceToHost), "bits")) < 0)
        goto fail;
    for (i = 0; i < s->n; i++)
        s->found[i].differ = (long long)s->differs[s->found[i].slot];
    qsort (s->found, s->n, sizeof *s->found, by_screen);
    finalists = s->n < FINALISTS ? s->n : FINALISTS;
    if ((r = race (s, finalists, &first_us, kernel, sizeof kernel)) < 0)
        goto fail;
    r = report (s, finalists, first_us, kernel);
    memcpy (s->last, s->found, s->n * sizeof *s->last);
    s->n_last = s->n;
    s->last_us = s->n ? s->found[0].screen_us : 0;
fail:
    release (s);
    return r;
}

/* What each algorithm lists, as the scan's first lines. */
static int print_caps (struct scan *s)
{
    int ids[256], n, i, r;
    struct gemm_lt_caps caps;
    uint32_t j;

    if ((r = prepare (s, default_sites[0][0], default_sites[0][1], 64)) < 0)
        return r;
    n = gemm_lt_algos (&s->call, s->lt, ids);
    for (i = 0; i < n; i++) {
        if (gemm_lt_caps (&s->call, s->lt, ids[i], &caps) < 0)
            continue;
        printf ("algo\t%d\ttiles %u\tcustom options to %u\tswizzles %u\tstages", ids[i],
                caps.tiles, caps.customs, caps.swizzles);
        for (j = 0; j < caps.n_stages; j++)
            printf (" %u", caps.stages[j]);
        printf ("\n");
    }
    release (s);
    return 0;
}

static int open_device (struct scan *s)
{
    struct cudaDeviceProp prop;
    struct cuda_cupti api;
    int r;

    if ((r = ok (s, cudaGetDeviceProperties (&prop, 0), "no device")) < 0
        || (r = cuda_cupti_load (&api, &s->err)) < 0
        || (r = cuda_clock_new (&api, &s->ctx->clock, &s->err)) < 0
        || (r = ok (s, cudaSetDevice (0), "device")) < 0
        || (r = ok (s, cudaStreamCreateWithFlags (&s->ctx->stream, cudaStreamNonBlocking),
                    "stream")) < 0
        || (r = ok (s, cudaEventCreate (&s->ctx->begin), "event")) < 0
        || (r = ok (s, cudaEventCreate (&s->ctx->end), "event")) < 0
        || (r = ok (s, cudaMalloc ((void **)&s->differ, MAX_CONFIGS * sizeof *s->differ),
                    "counts")) < 0)
        return r;
    s->ctx->sweep_bytes = CUDA_SWEEP_TIMES * (size_t)prop.l2CacheSize;
    if ((r = ok (s, cudaMalloc (&s->ctx->sweep, s->ctx->sweep_bytes), "sweep")) < 0
        || (r = ok (s, cudaMemsetAsync (s->ctx->sweep, 0, s->ctx->sweep_bytes, s->ctx->stream),
                       "sweep")) < 0)
        return r;
    if ((r = gemm_lt_new (&s->lt, &s->err)) < 0)
        return r;
    printf ("device\t%s\t%d SMs\tcublasLt %zu\n", prop.name, prop.multiProcessorCount,
            gemm_lt_version (s->lt));
    return 0;
}

static int usage (FILE *to)
{
    fprintf (to, "usage: detent-gemm-scan [SECONDS [N K [TOKENS...]]]\n\n"
                 "Tries every configuration of cuBLASLt without split-K, at most SECONDS (3) for\n"
                 "each shape and token count, and prints which keep the canonical order and how\n"
                 "fast they are: what, n, k, tokens, algorithm, tile, stages, cluster, custom\n"
                 "option, inner shape, swizzle, splits, us in one run, median us by CUPTI (of the\n"
                 "fastest), outputs that differ from the reference, kernel.\n");
    return to == stdout ? 0 : 2;
}

/* The sites and counts of the command line, or ours. */
static int scan_all (struct scan *s, int argc, char **argv)
{
    double seconds = argc > 1 ? strtod (argv[1], NULL) : 3;
    size_t i, j, n_sites = sizeof default_sites / sizeof *default_sites;
    size_t n_tokens = sizeof default_tokens / sizeof *default_tokens;
    int r;

    if (argc > 3)
        n_sites = 1;
    if (argc > 4)
        n_tokens = (size_t)argc - 4;
    for (i = 0; i < n_sites; i++)
        for (s->n_last = 0, j = 0; j < n_tokens; j++)
            if ((r = point (s, argc > 3 ? atoll (argv[2]) : default_sites[i][0],
                            argc > 3 ? atoll (argv[3]) : default_sites[i][1],
                            argc > 4 ? atoll (argv[4 + j]) : default_tokens[j], seconds)) < 0)
                return r;
    return 0;
}

static int scan (struct scan *s, int argc, char **argv)
{
    s->ctx = calloc (1, sizeof *s->ctx);
    s->found = calloc (MAX_CONFIGS, sizeof *s->found);
    s->last = calloc (MAX_CONFIGS, sizeof *s->last);
    s->differs = calloc (MAX_CONFIGS, sizeof *s->differs);
    if (!s->ctx || !s->found || !s->last || !s->differs) {
        cuda_fail (&s->err, -ENOMEM, "out of memory");
        return die (s, "start");
    }
    if (open_device (s) < 0)
        return die (s, "device");
    if (print_caps (s) < 0 || scan_all (s, argc, argv) < 0)
        return die (s, "scan");
    return 0;
}

int main (int argc, char **argv)
{
    struct scan s = { .ctx = NULL };
    int status;

    if (argc == 2 && strcmp (argv[1], "--help") == 0)
        return usage (stdout);
    if (argc == 3 || (argc > 1 && strtod (argv[1], NULL) <= 0))
        return usage (stderr);
    status = scan (&s, argc, argv);
    if (s.ctx)
        cuda_clock_free (s.ctx->clock);
    free (s.ctx);
    free (s.found);
    free (s.last);
    free (s.differs);
    return status;
}
