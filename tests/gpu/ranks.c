/* Checks of the CUDA all-reduce on a GPU: ranks PLUGIN WHAT.
 *   bits        2 to 8 logical ranks, every algorithm and number of blocks, many sizes,
 *               against the sum in rank order on the host and against float64
 *   offsets     a request's bits alone and at every place of a vector
 *   repeats     1,000 repeats while another stream keeps the device busy
 *   pair        two processes on two GPUs: bits of every algorithm, 1,000 repeats
 *   lost        two processes, of which one leaves: the other says so
 *   small       one small call of each algorithm, for compute-sanitizer
 * Exit status: 0 as it should be, 1 not, 77 too few devices. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/allreduce/cuda/allreduce.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))
#define MAX_REQUESTS 4
#define MOST_BYTES ((int64_t)1 << 27)

static const struct dt_backend *backend;
static const struct dt_backend_family *family;
static int failures, checks;

static void verdict (int good, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

static void verdict (int good, const char *format, ...)
{
    va_list args;

    checks++;
    if (good)
        return;
    if (++failures > 20)
        return;
    printf ("FAIL: ");
    va_start (args, format);
    vprintf (format, args);
    va_end (args);
    printf ("\n");
}

static void die (const char *what, const char *why) __attribute__ ((noreturn));

static void die (const char *what, const char *why)
{
    fprintf (stderr, "ranks: %s: %s\n", what, why);
    exit (1);
}

static void load (const char *path)
{
    void *object = dlopen (path, RTLD_NOW | RTLD_LOCAL);
    dt_backend_get_f get;
    size_t i;

    if (!object)
        die (path, dlerror ());
    *(void **)&get = dlsym (object, DT_BACKEND_SYMBOL);
    if (!get || (backend = get ())->abi != DT_BACKEND_ABI)
        die (path, "no backend of this version");
    for (i = 0; i < backend->n_families; i++)
        if (strcmp (backend->families[i].name, "allreduce") == 0)
            family = &backend->families[i];
    if (!family)
        die (path, "no family allreduce");
}

static struct dt_backend_ctx *open_device (uint32_t device)
{
    struct dt_backend_options options = { .device = device };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx;
    int r = backend->open (&options, &ctx, &err);

    if (r == -ENODEV) {
        fprintf (stderr, "SKIP: %s\n", err.text);
        exit (77);
    }
    if (r < 0)
        die ("open", err.text);
    return ctx;
}

/* One call and its buffers. */
struct job {
    struct dt_backend_ctx *ctx;
    struct dt_backend_call call;
    int64_t fact[AR_N_FACTS], request[MAX_REQUESTS * AR_N_FIELDS];
    uint64_t seed[MAX_REQUESTS];
    struct dt_backend_value param[AR_N_PARAMS];
    struct dt_backend_plan plan;
    struct ar_shape shape; /* as one process of logical ranks, or of `group` */
    struct ar_group group;
    void *operands, *output, *workspace;
};

static void job_init (struct job *j, struct dt_backend_ctx *ctx, int64_t ranks, int bf16)
{
    *j = (struct job){ .ctx = ctx, .group = { .ranks = 1, .resident = 1u << 20 } };
    j->call = (struct dt_backend_call){ .family = family, .fact = j->fact, .request = j->request,
                                        .seed = j->seed, .param = j->param };
    j->fact[AR_RANKS] = ranks;
    j->fact[AR_BF16] = bf16;
    j->fact[AR_MAX_BYTES] = MOST_BYTES;
    j->param[AR_BLOCKS].one = 32;
}

static void job_add (struct job *j, int64_t bytes, uint64_t seed)
{
    j->request[j->call.n_requests * AR_N_FIELDS + AR_BYTES] = bytes;
    j->seed[j->call.n_requests++] = seed;
}

static void job_done (struct job *j)
{
    backend->free (j->ctx, j->operands);
    backend->free (j->ctx, j->output);
    backend->free (j->ctx, j->workspace);
    j->operands = j->output = j->workspace = NULL;
}

static void job_plan (struct job *j)
{
    struct dt_backend_error err = { "" };

    if (backend->plan (j->ctx, &j->call, &j->plan, &err) < 0
        || ar_shape_init (&j->shape, &j->group, &j->call, &err) < 0)
        die ("plan", err.text);
}

/* Buffers for the largest parameters, and operands. */
static void job_fill (struct job *j, uint32_t data)
{
    struct dt_backend_error err = { "" };
    int64_t algorithm = j->param[AR_ALGORITHM].one;
    size_t workspace = 0;
    size_t i;
    int a;

    for (a = 0; a < AR_N_ALGORITHMS; a++)
        for (i = 0; i < family->params[AR_BLOCKS].n_values; i++) {
            j->param[AR_ALGORITHM].one = a;
            j->param[AR_BLOCKS].one = family->params[AR_BLOCKS].values[i];
            job_plan (j);
            workspace = j->plan.workspace_bytes > workspace ? j->plan.workspace_bytes : workspace;
        }
    j->param[AR_ALGORITHM].one = algorithm;
    j->call.data = data;
    if (backend->alloc (j->ctx, j->plan.operand_bytes, &j->operands, &err) < 0
        || backend->alloc (j->ctx, j->plan.output_bytes, &j->output, &err) < 0
        || backend->alloc (j->ctx, workspace, &j->workspace, &err) < 0
        || backend->fill (j->ctx, &j->call, 0, j->operands, &err) < 0)
        die ("fill", err.text);
}

/* The whole output, poisoned before the run; the caller frees it. */
static unsigned char *job_run (struct job *j)
{
    struct dt_backend_error err = { "" };
    unsigned char *out;

    job_plan (j);
    if (!(out = malloc (j->plan.output_bytes + 1)))
        die ("run", "out of memory");
    if (backend->set (j->ctx, j->output, 0xff, j->plan.output_bytes, &err) < 0
        || backend->set (j->ctx, j->workspace, 0xff, j->plan.workspace_bytes, &err) < 0
        || backend->run (j->ctx, &j->call, j->operands, j->output, j->workspace, &err) < 0
        || backend->read (j->ctx, j->output, 0, j->plan.output_bytes, out, &err) < 0)
        die ("run", err.text);
    return out;
}

/* ---- the sum on the host ---- */

static float value_at (const unsigned char *x, int bf16, size_t i)
{
    uint32_t u;
    float f;

    if (bf16)
        u = (uint32_t)(x[2 * i] | x[2 * i + 1] << 8) << 16;
    else
        memcpy (&u, x + 4 * i, 4);
    memcpy (&f, &u, 4);
    return f;
}

/* To nearest, ties to even; no NaN comes here. */
static uint16_t to_bf16 (float f)
{
    uint32_t u;

    memcpy (&u, &f, 4);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* `want`: the canonical bits, `size`: the terms' sizes, `exact`: in float64. */
struct reference {
    unsigned char *want;
    double *exact, *size;
};

static struct reference reference_of (struct job *j)
{
    size_t ranks = j->shape.ranks, n = j->shape.n, elem = j->shape.bf16 ? 2 : 4, i, r;
    unsigned char *x = malloc (j->shape.vectors * 16 * ranks + 1);
    struct reference ref = { malloc (n * elem + 1), calloc (n + 1, sizeof (double)),
                             calloc (n + 1, sizeof (double)) };
    struct dt_backend_error err = { "" };

    if (!x || !ref.want || !ref.exact || !ref.size)
        die ("reference", "out of memory");
    if (backend->read (j->ctx, j->operands, j->shape.x, j->shape.vectors * 16 * ranks, x, &err) < 0)
        die ("reference", err.text);
    for (i = 0; i < n; i++) {
        float sum = 0.0f;
        uint16_t bits;

        for (r = 0; r < ranks; r++) {
            float v = value_at (x + r * j->shape.vectors * 16, j->shape.bf16, i);

            sum += v;
            ref.exact[i] += (double)v;
            ref.size[i] += fabs ((double)v);
        }
        bits = to_bf16 (sum);
        memcpy (ref.want + i * elem, elem == 2 ? (void *)&bits : (void *)&sum, elem);
    }
    free (x);
    return ref;
}

static void reference_done (struct reference *ref)
{
    free (ref->want);
    free (ref->exact);
    free (ref->size);
}

/* One request: every rank's output holds the canonical bits. */
static void compare (const struct job *j, const struct reference *ref, const unsigned char *out,
                     const char *what)
{
    size_t elem = j->shape.bf16 ? 2 : 4, bytes = j->shape.n * elem, r, i, differ = 0, far = 0;

    for (r = 0; r < j->shape.here; r++)
        for (i = 0; i < j->shape.n; i++) {
            double got = (double)value_at (out + r * bytes, j->shape.bf16, i);

            differ += memcmp (out + r * bytes + i * elem, ref->want + i * elem, elem) != 0;
            far += fabs (got - ref->exact[i]) > ref->size[i] * (double)j->shape.ranks * 0x1p-24
                                                + (elem == 2 ? fabs (ref->exact[i]) * 0x1p-8 : 0);
        }
    verdict (differ == 0 && far == 0, "%s: %zu ranks, %s, %zu bytes, data %u, algorithm %d, %lld"
             " blocks: %zu of %zu outputs differ, %zu are far from float64", what, j->shape.ranks,
             elem == 2 ? "bf16" : "fp32", bytes, j->call.data, (int)j->shape.algorithm,
             (long long)j->param[AR_BLOCKS].one, differ, j->shape.n * j->shape.here, far);
}

/* Every algorithm and number of blocks on one set of operands. */
static void all_ways (struct job *j, const struct reference *ref, const char *what)
{
    const struct dt_backend_param *blocks = &family->params[AR_BLOCKS];
    size_t b;
    int a;

    for (a = 0; a < AR_N_ALGORITHMS; a++)
        for (b = 0; b < blocks->n_values; b++) {
            unsigned char *out;

            j->param[AR_ALGORITHM].one = a;
            j->param[AR_BLOCKS].one = blocks->values[b];
            out = job_run (j);
            compare (j, ref, out, what);
            free (out);
        }
}

static void check_bits (const int64_t *sizes, size_t n_sizes, int most_ranks)
{
    struct dt_backend_ctx *ctx = open_device (0);
    size_t i;
    int ranks, bf16;

    for (ranks = 2; ranks <= most_ranks; ranks++)
        for (i = 0; i < n_sizes; i++)
            for (bf16 = 0; bf16 < 2; bf16++) {
                struct reference ref;
                struct job j;

                job_init (&j, ctx, ranks, bf16);
                job_add (&j, sizes[i], 7 + i);
                job_fill (&j, (uint32_t)(i % 2 ? DT_BACKEND_SPREAD : DT_BACKEND_CANCEL));
                ref = reference_of (&j);
                all_ways (&j, &ref, "bits");
                reference_done (&ref);
                job_done (&j);
            }
    backend->close (ctx);
}

/* ---- offsets ---- */

static void check_offsets (void)
{
    const int64_t bytes = 6002; /* 3,001 elements */
    struct dt_backend_ctx *ctx = open_device (0);
    int64_t before;
    int a;

    for (a = 0; a < AR_N_ALGORITHMS; a++) {
        struct dt_backend_row row[MAX_REQUESTS];
        struct dt_backend_error err = { "" };
        unsigned char *alone, *among;
        struct job j;

        job_init (&j, ctx, 4, 1);
        j.param[AR_ALGORITHM].one = a;
        job_add (&j, bytes, 99);
        job_fill (&j, DT_BACKEND_CANCEL);
        alone = job_run (&j);
        job_done (&j);
        for (before = 0; before <= 18; before += 2) {
            job_init (&j, ctx, 4, 1);
            j.param[AR_ALGORITHM].one = a;
            job_add (&j, before, 5);
            job_add (&j, bytes, 99);
            job_add (&j, 70000 - before, 6);
            job_fill (&j, DT_BACKEND_CANCEL);
            among = job_run (&j);
            if (backend->rows (ctx, &j.call, row, &err) < 0)
                die ("rows", err.text);
            verdict (row[1].length == (size_t)bytes * 4
                     && memcmp (alone, among + row[1].offset, row[1].length) == 0,
                     "offsets: algorithm %d: a request %lld bytes into the message has other bits", a,
                     (long long)before);
            free (among);
            job_done (&j);
        }
        free (alone);
    }
    backend->close (ctx);
}

/* ---- repeats ---- */

static atomic_int stop;

static void *keep_busy (void *unused)
{
    struct dt_backend_ctx *ctx = open_device (0);
    struct dt_backend_error err = { "" };
    struct job j;

    (void)unused;
    job_init (&j, ctx, 2, 1);
    job_add (&j, 1 << 24, 3);
    job_fill (&j, DT_BACKEND_RANDOM);
    while (!atomic_load (&stop))
        if (backend->fill (ctx, &j.call, 0, j.operands, &err) < 0)
            die ("contention", err.text);
    job_done (&j);
    backend->close (ctx);
    return NULL;
}

static void repeat (struct job *j, const struct reference *ref, const char *what)
{
    int i, a;

    for (a = 0; a < AR_N_ALGORITHMS; a++)
        for (i = 0; i < 1000; i++) {
            unsigned char *out;

            j->param[AR_ALGORITHM].one = a;
            out = job_run (j);
            compare (j, ref, out, what);
            free (out);
        }
}

static void check_repeats (void)
{
    struct dt_backend_ctx *ctx = open_device (0);
    struct reference ref;
    pthread_t busy;
    struct job j;

    if (pthread_create (&busy, NULL, keep_busy, NULL) != 0)
        die ("contention", "no thread");
    job_init (&j, ctx, 4, 1);
    job_add (&j, 40010, 11);
    job_fill (&j, DT_BACKEND_CANCEL);
    j.param[AR_BLOCKS].one = 8;
    ref = reference_of (&j);
    repeat (&j, &ref, "repeats");
    reference_done (&ref);
    job_done (&j);
    atomic_store (&stop, 1);
    pthread_join (busy, NULL);
    backend->close (ctx);
}

/* ---- one process a rank ---- */

static int transfer (int fd, void *data, size_t n, int in)
{
    size_t done = 0;

    while (done < n) {
        ssize_t k = in ? read (fd, (char *)data + done, n - done)
                       : write (fd, (char *)data + done, n - done);

        if (k <= 0)
            return k < 0 ? -errno : -EPIPE;
        done += (size_t)k;
    }
    return 0;
}

struct end {
    int rank, fd;
};

static int gather (void *user, const void *mine, size_t bytes, void *all)
{
    const struct end *e = user;
    char *at = all;
    int r;

    memcpy (at + (size_t)e->rank * bytes, mine, bytes);
    if ((r = transfer (e->fd, at + (size_t)e->rank * bytes, bytes, 0)) < 0)
        return r;
    return transfer (e->fd, at + (size_t)(1 - e->rank) * bytes, bytes, 1);
}

static struct dt_backend_ctx *join (struct end *e)
{
    struct dt_backend_join how = { (uint32_t)e->rank, 2, gather, e };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = open_device ((uint32_t)e->rank);

    if (backend->join (ctx, &how, &err) < 0)
        die ("join", err.text);
    return ctx;
}

/* This rank's share of a call on data that the logical ranks of one device have summed. */
static void check_pair_size (struct dt_backend_ctx *ctx, struct dt_backend_ctx *alone, int rank,
                             int64_t bytes, int bf16, int repeats)
{
    struct reference ref;
    struct job j, k;

    job_init (&k, alone, 2, bf16);
    job_add (&k, bytes, 21);
    job_fill (&k, DT_BACKEND_SPREAD);
    ref = reference_of (&k);
    job_done (&k);
    job_init (&j, ctx, 2, bf16);
    j.group.ranks = 2;
    j.group.rank = (uint32_t)rank;
    job_add (&j, bytes, 21);
    job_fill (&j, DT_BACKEND_SPREAD);
    if (repeats)
        repeat (&j, &ref, "pair, repeats");
    else
        all_ways (&j, &ref, "pair");
    reference_done (&ref);
    job_done (&j);
}

static const int64_t sizes[] = { 4, 16, 20, 1024, 4100, 16384, 65536 + 8, 262144, (1 << 20) + 12, 1 << 23 };

static int pair_rank (int rank, int fd)
{
    struct end e = { rank, fd };
    struct dt_backend_ctx *ctx = join (&e), *alone = open_device ((uint32_t)rank);
    size_t i;
    int bf16;

    for (i = 0; i < ARRAY_SIZE (sizes); i++)
        for (bf16 = 0; bf16 < 2; bf16++)
            check_pair_size (ctx, alone, rank, sizes[i], bf16, 0);
    check_pair_size (ctx, alone, rank, 40012, 1, 1);
    backend->close (alone);
    backend->close (ctx);
    return failures != 0;
}

static int lost_rank (int rank, int fd)
{
    struct end e = { rank, fd };
    struct dt_backend_ctx *ctx = join (&e);
    struct dt_backend_error err = { "" };
    struct job j;

    if (rank == 1)
        _exit (0); /* a rank that dies takes nothing down with it */
    job_init (&j, ctx, 2, 1);
    j.group.ranks = 2;
    job_add (&j, 16384, 21);
    job_fill (&j, DT_BACKEND_RANDOM);
    verdict (backend->run (ctx, &j.call, j.operands, j.output, j.workspace, &err)
             == -DT_BACKEND_EDEVICE && strstr (err.text, "rank 1 is lost"),
             "lost: a rank that left is not reported: %s", err.text);
    printf ("lost: %s\n", err.text);
    return failures != 0;
}

/* Run both ranks, in processes that have not touched CUDA; 0, 1 or 77. */
static int both (int (*rank) (int rank, int fd))
{
    int pair[2], status, worst = 0, i;
    pid_t pid[2];

    if (socketpair (AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        die ("socketpair", strerror (errno));
    fflush (stdout);
    for (i = 0; i < 2; i++)
        if ((pid[i] = fork ()) == 0) {
            int r;

            close (pair[1 - i]);
            r = rank (i, pair[i]);
            printf ("rank %d: %d checks, %d failed\n", i, checks, failures);
            exit (r);
        }
    close (pair[0]);
    close (pair[1]);
    for (i = 0; i < 2; i++) {
        if (pid[i] < 0 || waitpid (pid[i], &status, 0) < 0 || !WIFEXITED (status))
            return 1;
        worst = WEXITSTATUS (status) > worst ? WEXITSTATUS (status) : worst;
    }
    return worst;
}

int main (int argc, char **argv)
{
    static const int64_t few[] = { 4, 20, 4100 };

    if (argc != 3)
        die ("usage", "ranks PLUGIN bits|offsets|repeats|pair|lost|small");
    load (argv[1]);
    if (strcmp (argv[2], "pair") == 0)
        return both (pair_rank);
    if (strcmp (argv[2], "lost") == 0)
        return both (lost_rank);
    if (strcmp (argv[2], "bits") == 0)
        check_bits (sizes, ARRAY_SIZE (sizes) - 1, 8); /* the largest is for pairs */
    else if (strcmp (argv[2], "small") == 0)
        check_bits (few, ARRAY_SIZE (few), 3);
    else if (strcmp (argv[2], "offsets") == 0)
        check_offsets ();
    else if (strcmp (argv[2], "repeats") == 0)
        check_repeats ();
    else
        die (argv[2], "unknown");
    printf ("%s: %d checks, %d failed\n", argv[2], checks, failures);
    return failures != 0;
}
