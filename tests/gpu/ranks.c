/* Checks of the CUDA all-reduce on a GPU, with logical ranks: ranks PLUGIN WHAT.
 *   bits        2 to 16 ranks, every algorithm and number of blocks, many sizes, against
 *               the sum in rank order on the host and against float64
 *   offsets     a request's bits alone and at every place of a vector
 *   repeats     1,000 repeats of three sizes while another stream keeps the device busy
 *   small       one small call of each algorithm, for compute-sanitizer
 * Exit status: 0 as it should be, 1 not, 77 no device. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/sums.h"
#include "tests/gpu/verdict.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

/* On 'ranks' logical ranks of one device. */
static void check_bits_of (struct dt_backend_ctx *ctx, int ranks, const int64_t *sizes, size_t n_sizes)
{
    size_t i;
    int bf16;

    for (i = 0; i < n_sizes; i++)
        for (bf16 = 0; bf16 < 2; bf16++) {
            struct sum_reference ref;
            struct sum_job j;

            sum_job_init (&j, ctx, ranks, bf16);
            sum_job_add (&j, sizes[i], 7 + i);
            sum_job_fill (&j, (uint32_t)(i % 2 ? DT_BACKEND_SPREAD : DT_BACKEND_CANCEL));
            ref = sum_reference_of (&j);
            sum_all_ways (&j, &ref, "bits");
            sum_reference_done (&ref);
            sum_job_done (&j);
        }
}

static const int64_t sizes[] = { 4, 16, 20, 1024, 4100, 16384, 65536 + 8, 262144, (1 << 20) + 12,
                                 1 << 23, 1 << 26 };
#define LARGE 2 /* the last ones, which take long */

static void check_bits (void)
{
    static const int64_t some[] = { 20, 4100, 262144 };
    struct dt_backend_ctx *ctx = sum_open (0, 0);
    int ranks;

    for (ranks = 2; ranks <= 8; ranks++)
        check_bits_of (ctx, ranks, sizes, ARRAY_SIZE (sizes) - LARGE);
    for (; ranks <= AR_MAX_RANKS; ranks++)
        check_bits_of (ctx, ranks, some, ARRAY_SIZE (some));
    check_bits_of (ctx, 2, sizes + ARRAY_SIZE (sizes) - LARGE, LARGE);
    check_bits_of (ctx, 5, sizes + ARRAY_SIZE (sizes) - LARGE, 1);
    sum_backend->close (ctx);
}

static void check_small (void)
{
    static const int64_t few[] = { 4, 20, 4100 };
    struct dt_backend_ctx *ctx = sum_open (0, 0);

    check_bits_of (ctx, 2, few, ARRAY_SIZE (few));
    check_bits_of (ctx, 3, few, ARRAY_SIZE (few));
    sum_backend->close (ctx);
}

/* ---- offsets ---- */

/* The output alone of a request of these bytes. */
static unsigned char *alone_of (struct dt_backend_ctx *ctx, int ranks, int bf16, int64_t bytes)
{
    unsigned char *out;
    struct sum_job j;

    sum_job_init (&j, ctx, ranks, bf16);
    sum_job_add (&j, bytes, 99);
    sum_job_fill (&j, DT_BACKEND_CANCEL);
    out = sum_job_run (&j);
    sum_job_done (&j);
    return out;
}

/* The same request 'before' bytes into a message, by every algorithm and some numbers of blocks. */
static void check_offset (struct dt_backend_ctx *ctx, int ranks, int bf16, int64_t bytes, int64_t before,
                          const unsigned char *alone)
{
    static const int64_t blocks[] = { 4, 32, AR_MAX_BLOCKS };
    struct dt_backend_row row[SUM_MAX_REQUESTS];
    struct dt_backend_error err = { "" };
    struct sum_job j;
    size_t b;
    int a;

    sum_job_init (&j, ctx, ranks, bf16);
    sum_job_add (&j, before, 5);
    sum_job_add (&j, bytes, 99);
    sum_job_add (&j, 70000 - before, 6);
    sum_job_fill (&j, DT_BACKEND_CANCEL);
    for (a = 0; a < AR_N_ALGORITHMS; a++)
        for (b = 0; b < ARRAY_SIZE (blocks); b++) {
            unsigned char *among;

            j.param[AR_ALGORITHM].one = a;
            j.param[AR_BLOCKS].one = blocks[b];
            among = sum_job_run (&j);
            if (sum_backend->rows (ctx, &j.call, row, &err) < 0)
                gpu_die ("rows", err.text);
            gpu_verdict (row[1].length == (size_t)(bytes * ranks)
                         && memcmp (alone, among + row[1].offset, row[1].length) == 0,
                         "offsets: %d ranks, %s, algorithm %d, %lld blocks: a request of %lld bytes has other"
                         " bits %lld bytes into the message", ranks, bf16 ? "bf16" : "fp32", a,
                         (long long)blocks[b], (long long)bytes, (long long)before);
            free (among);
        }
    sum_job_done (&j);
}

static void check_offsets (void)
{
    static const int64_t elements[] = { 3001, 20006, 300001 };
    static const int ranks[] = { 2, 4, 7 };
    struct dt_backend_ctx *ctx = sum_open (0, 0);
    size_t i, k;
    int bf16, at;

    for (i = 0; i < ARRAY_SIZE (ranks); i++)
        for (k = 0; k < ARRAY_SIZE (elements); k++)
            for (bf16 = 0; bf16 < 2; bf16++) {
                int64_t elem = bf16 ? 2 : 4;
                unsigned char *alone = alone_of (ctx, ranks[i], bf16, elements[k] * elem);

                for (at = 0; at < 10; at++)
                    check_offset (ctx, ranks[i], bf16, elements[k] * elem, at * elem, alone);
                free (alone);
            }
    sum_backend->close (ctx);
}

/* ---- repeats ---- */

static atomic_int stop;

static void *keep_busy (void *unused)
{
    struct dt_backend_ctx *ctx = sum_open (0, 0);
    struct dt_backend_error err = { "" };
    struct sum_job j;

    (void)unused;
    sum_job_init (&j, ctx, 2, 1);
    sum_job_add (&j, 1 << 24, 3);
    sum_job_fill (&j, DT_BACKEND_RANDOM);
    while (!atomic_load (&stop))
        if (sum_backend->fill (ctx, &j.call, 0, j.operands, &err) < 0)
            gpu_die ("contention", err.text);
    sum_job_done (&j);
    sum_backend->close (ctx);
    return NULL;
}

static const int64_t repeated[] = { 20, 40012, (1 << 20) + 12 };

static void check_repeats (void)
{
    struct dt_backend_ctx *ctx = sum_open (0, 0);
    pthread_t busy;
    size_t i;

    if (pthread_create (&busy, NULL, keep_busy, NULL) != 0)
        gpu_die ("contention", "no thread");
    for (i = 0; i < ARRAY_SIZE (repeated); i++) {
        struct sum_reference ref;
        struct sum_job j;

        sum_job_init (&j, ctx, 4, 1);
        sum_job_add (&j, repeated[i], 11);
        sum_job_fill (&j, DT_BACKEND_CANCEL);
        j.param[AR_BLOCKS].one = 8;
        ref = sum_reference_of (&j);
        sum_repeat (&j, &ref, 1000, "repeats");
        sum_reference_done (&ref);
        sum_job_done (&j);
    }
    atomic_store (&stop, 1);
    pthread_join (busy, NULL);
    sum_backend->close (ctx);
}

int main (int argc, char **argv)
{
    if (argc != 3)
        gpu_die ("usage", "ranks PLUGIN bits|offsets|repeats|small");
    sum_load (argv[1]);
    if (strcmp (argv[2], "bits") == 0)
        check_bits ();
    else if (strcmp (argv[2], "small") == 0)
        check_small ();
    else if (strcmp (argv[2], "offsets") == 0)
        check_offsets ();
    else if (strcmp (argv[2], "repeats") == 0)
        check_repeats ();
    else
        gpu_die (argv[2], "unknown");
    return gpu_tally (argv[2]);
}
