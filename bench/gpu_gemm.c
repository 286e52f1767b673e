/* bench/gpu_gemm - the gemm of the CUDA backend beside cuBLASLt's own first pick.
 * Usage: bench/gpu_gemm PLUGIN [SITES]   (SITES: how many of the eight, in order)
 *
 * For each site and token count every configuration of the catalogue is run, the
 * fastest few in more rounds, and the winner again beside the library's pick in rounds
 * of its own, which are the ones printed: choosing and reporting share no sample.
 * Rounds are interleaved.  Then the one configuration that is best over all counts.
 * Within a site every output has the same bits, whichever configuration is taken
 * (tests/gpu/check bits); the library's own picks are marked where they split K. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/rig.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))
#define MAX_CONFIGS 256
#define SCREEN_ROUNDS 3
#define FINALISTS 6
#define FINAL_ROUNDS 9
#define ROUNDS 25

static const struct site {
    const char *name;
    int64_t n, k;
} sites[] = {
    { "Llama-3.1-70B, TP 4, qkv", 2560, 8192 }, { "attention out", 8192, 2048 },
    { "gate and up", 14336, 8192 }, { "down", 8192, 7168 },
    { "Qwen3-30B-A3B, TP 4, qkv", 1280, 2048 }, { "attention out", 2048, 1024 },
    { "Qwen3-30B-A3B, TP 1, qkv", 5120, 2048 }, { "attention out", 2048, 4096 },
};
static const int64_t counts[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192 };

struct point {
    double us[MAX_CONFIGS]; /* median of the screening rounds; 0: refused */
    double first_us, best_us;
    int64_t best;
    double single_first_us, single_us;
};

static struct gpu_rig rig;

static double run (struct gpu_job *job, int64_t splits, int64_t config)
{
    struct dt_backend_error err = { "" };

    gpu_job_set (job, "splits", splits);
    gpu_job_set (job, "config", config);
    if (gpu_job_run (job, &rig, &err) < 0)
        gpu_die ("run", err.text);
    return (double)rig.b->elapsed_ns (rig.ctx) / 1e3;
}

static int is_supported (struct gpu_job *job, int64_t config)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;

    gpu_job_set (job, "splits", 1);
    gpu_job_set (job, "config", config);
    return rig.b->plan (rig.ctx, &job->call, &plan, &err) == 0;
}

/* Medians of interleaved rounds of the configurations and, last, the library's pick. */
static void race (struct gpu_job *job, const int64_t *config, size_t n, size_t rounds,
                  double *ret_us)
{
    static double us[MAX_CONFIGS + 1][ROUNDS];
    size_t i, r;

    for (r = 0; r < rounds; r++)
        for (i = 0; i <= n; i++)
            us[i][r] = i < n ? run (job, 1, config[i]) : run (job, 0, 0);
    for (i = 0; i <= n; i++)
        ret_us[i] = gpu_median (us[i], rounds);
}

/* The configurations with the 'n' least times, fastest first. */
static size_t fastest (const struct point *p, const int64_t *config, size_t n_configs, size_t n,
                       int64_t *ret)
{
    size_t found = 0, i, j;

    for (i = 0; i < n_configs; i++) {
        if (p->us[i] <= 0)
            continue;
        for (j = found < n ? found++ : n; j > 0 && p->us[i] < p->us[ret[j - 1]]; j--)
            if (j < n)
                ret[j] = ret[j - 1];
        if (j < n)
            ret[j] = (int64_t)i;
    }
    for (i = 0; i < found; i++)
        ret[i] = config[ret[i]];
    return found;
}

static void measure_point (struct gpu_job *job, struct point *p, const int64_t *config,
                           size_t n_configs)
{
    int64_t takes[MAX_CONFIGS], final[FINALISTS];
    double us[MAX_CONFIGS + 1];
    size_t where[MAX_CONFIGS], n = 0, i;

    for (i = 0; i < n_configs; i++) {
        p->us[i] = 0;
        if (is_supported (job, config[i])) {
            where[n] = i;
            takes[n++] = config[i];
        }
    }
    race (job, takes, n, SCREEN_ROUNDS, us);
    for (i = 0; i < n; i++)
        p->us[where[i]] = us[i];
    n = fastest (p, config, n_configs, FINALISTS, final);
    race (job, final, n, FINAL_ROUNDS, us);
    for (p->best = final[0], i = 1; i < n; i++)
        if (us[i] < us[0]) {
            us[0] = us[i];
            p->best = final[i];
        }
    race (job, &p->best, 1, ROUNDS, us);
    p->best_us = us[0];
    p->first_us = us[1];
}

/* The configuration, taken at every count, with the least mean of log times; -1: none is
 * taken everywhere. */
static int64_t best_single (const struct point *p, const int64_t *config, size_t n_configs)
{
    double least = INFINITY;
    int64_t best = -1;
    size_t i, t;

    for (i = 0; i < n_configs; i++) {
        double sum = 0;

        for (t = 0; t < ARRAY_SIZE (counts); t++)
            sum += p[t].us[i] > 0 ? log (p[t].us[i]) : INFINITY;
        if (sum < least) {
            least = sum;
            best = config[i];
        }
    }
    return best;
}

static void fill (struct gpu_job *job, const struct site *site, int64_t tokens)
{
    struct dt_backend_error err = { "" };

    gpu_job_init (job, &rig, site->n, site->k, 1, &tokens, 1);
    if (gpu_job_fill (job, &rig, &err) < 0)
        gpu_die ("fill", err.text);
}

struct sums {
    double log_best, log_single, worst_best, worst_single;
    size_t n;
};

static void print_site (const struct site *site, const struct point *p, int64_t single,
                        struct sums *sums)
{
    struct sums s = { .n = ARRAY_SIZE (counts) };
    size_t t;

    printf ("\n%s: %lld x %lld\n%8s %10s %10s %7s %7s   one for all: %lld\n", site->name,
            (long long)site->n, (long long)site->k, "tokens", "first us", "class us", "config",
            "ratio", (long long)single);
    for (t = 0; t < ARRAY_SIZE (counts); t++) {
        double ratio = p[t].best_us / p[t].first_us, one = p[t].single_us / p[t].single_first_us;

        printf ("%8lld %10.2f %10.2f %7lld %7.3f %10.3f\n", (long long)counts[t], p[t].first_us,
                p[t].best_us, (long long)p[t].best, ratio, one);
        s.log_best += log (ratio);
        s.log_single += log (one);
        s.worst_best = fmax (s.worst_best, ratio);
        s.worst_single = fmax (s.worst_single, one);
    }
    printf ("geometric mean %.3f, worst %.3f; one for all: %.3f, worst %.3f\n",
            exp (s.log_best / (double)s.n), s.worst_best, exp (s.log_single / (double)s.n),
            s.worst_single);
    sums->n += s.n;
    sums->log_best += s.log_best;
    sums->log_single += s.log_single;
    sums->worst_best = fmax (sums->worst_best, s.worst_best);
    sums->worst_single = fmax (sums->worst_single, s.worst_single);
    fflush (stdout);
}

static void measure_site (const struct site *site, const int64_t *config, size_t n_configs,
                          struct sums *sums)
{
    static struct point p[ARRAY_SIZE (counts)];
    struct gpu_job job;
    int64_t single;
    double us[2];
    size_t t;

    for (t = 0; t < ARRAY_SIZE (counts); t++) {
        fill (&job, site, counts[t]);
        measure_point (&job, &p[t], config, n_configs);
        gpu_job_done (&job, &rig);
    }
    if ((single = best_single (p, config, n_configs)) < 0)
        gpu_die (site->name, "no configuration is taken at every count");
    for (t = 0; t < ARRAY_SIZE (counts); t++) {
        fill (&job, site, counts[t]);
        race (&job, &single, 1, FINAL_ROUNDS, us);
        p[t].single_us = us[0];
        p[t].single_first_us = us[1];
        gpu_job_done (&job, &rig);
    }
    print_site (site, p, single, sums);
}

int main (int argc, char **argv)
{
    size_t n_sites = argc > 2 ? (size_t)atoi (argv[2]) : ARRAY_SIZE (sites), i, n_configs;
    const struct dt_backend_identity *id;
    struct sums sums = { .n = 0 };
    const int64_t *config;

    if (argc < 2 || n_sites < 1 || n_sites > ARRAY_SIZE (sites))
        gpu_die ("usage", "bench/gpu_gemm PLUGIN [SITES]");
    gpu_open (&rig, argv[1], 1);
    id = rig.b->identity (rig.ctx);
    n_configs = (size_t)gpu_values (&rig, "config", &config);
    if (n_configs > MAX_CONFIGS)
        gpu_die ("config", "more values than this bench has room for");
    printf ("# %s, %u SMs, driver %s, %s, build %.12s, clock %s\n", id->device, id->units,
            id->driver, id->libraries, id->build, rig.b->clock);
    for (i = 0; i < n_sites; i++) /* config 0, our slow reference, is left out */
        measure_site (&sites[i], config + 1, n_configs - 1, &sums);
    printf ("\nall %zu points: geometric mean %.3f, worst %.3f; one for all: %.3f, worst %.3f\n",
            sums.n, exp (sums.log_best / (double)sums.n), sums.worst_best,
            exp (sums.log_single / (double)sums.n), sums.worst_single);
    gpu_close (&rig);
    return 0;
}
