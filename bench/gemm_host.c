/* bench/gemm_host - speed of the host's gemm on one core, as a share of the core's
 * peak of fused multiply-adds, and of what the weights' way from memory allows; both are
 * measured in the same run.
 * Usage: bench/gemm_host [rounds]   (default 7; from the build directory)
 *
 * A product reads all its weights, m multiply-adds for each: of few rows it waits for them.
 * The bound is the less of the peak and of m n k over the time to read as many bytes as the
 * weights have.  The bar of 25% of the peak is for 16 rows and more: of one row a weight is
 * read for one multiply-add, and if it is bf16 also widened for it.
 *
 * Rounds are interleaved: each runs the peak, and of every cell the reading and the product
 * once; a figure is its best round, for whatever else runs on the machine only slows it. */
#include "tests/family_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))
#define PEAK_STEPS 2000000
#define BAR_ROWS 16

static double now_s (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Twelve chains keep two units of four cycles busy, with room to spare; the sum is
 * printed, so that none is left out. */
#define TWELVE(OP) \
    OP (0) OP (1) OP (2) OP (3) OP (4) OP (5) OP (6) OP (7) OP (8) OP (9) OP (10) OP (11)

#ifdef __x86_64__
#define PEAK(name, isa, vector, lanes, set1) \
    __attribute__ ((target (isa), noinline)) static double name (float *ret_sum) \
    { \
        vector a[12], x = set1 (0.999f), y = set1 (1e-3f); \
        double begin = now_s (); \
        int i; \
        for (i = 0; i < 12; i++) \
            a[i] = set1 ((float)i); \
        for (i = 0; i < PEAK_STEPS; i++) { \
            TWELVE (STEP_##lanes) \
        } \
        for (i = 0; i < 12; i++) \
            *ret_sum += ((const float *)&a[i])[0]; \
        return 12.0 * lanes * PEAK_STEPS / (now_s () - begin); \
    }
#define STEP_8(c) a[c] = _mm256_fmadd_ps (a[c], x, y);
#define STEP_16(c) a[c] = _mm512_fmadd_ps (a[c], x, y);
PEAK (peak_avx2, "avx2,fma", __m256, 8, _mm256_set1_ps)
PEAK (peak_avx512, "avx512f", __m512, 16, _mm512_set1_ps)
#endif

/* Fused multiply-adds of fp32 a second, with the widest vectors there are. */
static double peak (float *ret_sum)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports ("avx512f"))
        return peak_avx512 (ret_sum);
    if (__builtin_cpu_supports ("fma"))
        return peak_avx2 (ret_sum);
#endif
    double begin = now_s ();
    float a[12] = { 0 };

    for (int i = 0; i < PEAK_STEPS / 8; i++)
        for (int c = 0; c < 12; c++)
            a[c] = __builtin_fmaf (a[c], 0.999f, 1e-3f);
    for (int c = 0; c < 12; c++)
        *ret_sum += a[c];
    return 12.0 * (PEAK_STEPS / 8) / (now_s () - begin);
}

/* Bytes read a second from a buffer of `bytes`, where the run before left it. */
static double read_speed (const unsigned char *zeros, size_t bytes)
{
    double begin = now_s ();

    if (memchr (zeros, 1, bytes))
        abort ();
    return (double)bytes / (now_s () - begin);
}

static const struct cell {
    int64_t m, n, k, bf16;
    int64_t param[5]; /* splits, k_step, tile_m, tile_n, order */
} cells[] = {
    { 1, 1024, 1024, 0, { 1, 0, 6, 64, 0 } },    { 1, 1024, 1024, 1, { 1, 0, 6, 64, 0 } },
    { 16, 1024, 1024, 0, { 1, 0, 24, 256, 0 } }, { 128, 1024, 1024, 0, { 1, 0, 96, 256, 0 } },
    { 128, 1024, 1024, 1, { 1, 0, 96, 256, 0 } }, { 512, 1024, 1024, 0, { 1, 0, 96, 256, 0 } },
    { 512, 1024, 1024, 1, { 1, 0, 96, 256, 0 } }, { 512, 1024, 1024, 0, { 1, 128, 96, 256, 0 } },
    { 512, 1024, 1024, 0, { 4, 0, 96, 256, 0 } }, { 512, 1024, 4096, 0, { 1, 0, 96, 256, 0 } },
};

int main (int argc, char **argv)
{
    static const uint64_t seed = 1;
    static struct fam_job job[ARRAY_SIZE (cells)];
    int rounds = argc > 1 ? atoi (argv[1]) : 7, round;
    int64_t fact[ARRAY_SIZE (cells)][4];
    double best[ARRAY_SIZE (cells)] = { 0 }, read[ARRAY_SIZE (cells)] = { 0 }, top = 0, least = 1;
    unsigned char *zeros[ARRAY_SIZE (cells)];
    size_t bytes[ARRAY_SIZE (cells)]; /* of weights */
    struct fam fam;
    float sum = 0;
    size_t i;

    if (rounds < 1) {
        fprintf (stderr, "usage: gemm_host [rounds]\n");
        return 2;
    }
    fam_open (&fam, ".libs/detent-backend-host.so", "gemm");
    for (i = 0; i < ARRAY_SIZE (cells); i++) {
        const struct cell *c = &cells[i];
        struct fam_call call = { fact[i], c->param, 1, &c->m, &seed, 0, 0, 1, 1 };

        fact[i][0] = c->n;
        fact[i][1] = c->k;
        fact[i][2] = c->bf16;
        fact[i][3] = 0;
        fam_job_init (&job[i], &fam, &call);
        bytes[i] = (size_t)(c->n * c->k * (c->bf16 ? 2 : 4));
        if (!(zeros[i] = malloc (bytes[i])))
            abort ();
        memset (zeros[i], 0, bytes[i]);
    }
    for (round = 0; round < rounds; round++) {
        double f = peak (&sum);

        top = f > top ? f : top;
        for (i = 0; i < ARRAY_SIZE (cells); i++) {
            const struct cell *c = &cells[i];

            read_speed (zeros[i], bytes[i]);
            f = read_speed (zeros[i], bytes[i]);
            read[i] = f > read[i] ? f : read[i];
            fam_job_run (&job[i]);
            fam_job_run (&job[i]);
            f = (double)(c->m * c->n * c->k) * 1e9 / (double)fam.b->elapsed_ns (job[i].ctx);
            best[i] = f > best[i] ? f : best[i];
        }
    }
    printf ("%s, one core, best of %d rounds: peak %.1f G fused multiply-adds a second (%g)\n\n",
            fam.b->identity (job[0].ctx)->device, rounds, top / 1e9, (double)sum);
    printf ("   m     n     k  type splits k_step tile_m tile_n    G/s   of peak  read GB/s"
            "   bound G/s  of bound\n");
    for (i = 0; i < ARRAY_SIZE (cells); i++) {
        const struct cell *c = &cells[i];
        double bound = (double)(c->m * c->n * c->k) * read[i] / (double)bytes[i];

        printf ("%4lld %5lld %5lld  %4s %6lld %6lld %6lld %6lld %6.1f  %6.1f%%  %9.1f %6.1f %s"
                "  %6.1f%%\n", (long long)c->m,
                (long long)c->n, (long long)c->k, c->bf16 ? "bf16" : "fp32",
                (long long)c->param[0], (long long)c->param[1], (long long)c->param[2],
                (long long)c->param[3], best[i] / 1e9, 100 * best[i] / top, read[i] / 1e9,
                (bound < top ? bound : top) / 1e9, bound < top ? "read" : "peak",
                100 * best[i] / (bound < top ? bound : top));
        if (c->m >= BAR_ROWS && best[i] / top < least)
            least = best[i] / top;
        fam_job_done (&job[i]);
        free (zeros[i]);
    }
    printf ("\nThe least of %d rows and more: %.1f%% of the peak; the bar is 25%%.\n", BAR_ROWS,
            100 * least);
    fam_close (&fam);
    return 0;
}
