/* Checks of the CUDA all-reduce on a GPU: ranks PLUGIN WHAT.
 *   bits        2 to 16 logical ranks, every algorithm and number of blocks, many sizes,
 *               against the sum in rank order on the host and against float64
 *   offsets     a request's bits alone and at every place of a vector
 *   repeats     1,000 repeats of three sizes while another stream keeps the device busy
 *   pair        two processes on two GPUs: bits of every algorithm, 1,000 repeats
 *   lost        two processes, of which one leaves or does not come: the other says so
 *   dead        two processes that sum by NCCL, while the planted plugin ends one's device:
 *               it names the device's error, the other one says who is lost
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
#define PRINTED 20 /* failures, at most */
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
    if (++failures > PRINTED)
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

static struct dt_backend_ctx *open_context (uint32_t device, uint32_t timed)
{
    struct dt_backend_options options = { .device = device, .timed = timed,
                                          .others = DT_BACKEND_OTHERS_TAKEN };
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

static struct dt_backend_ctx *open_device (uint32_t device)
{
    return open_context (device, 0);
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

/* `want`: the canonical bits; `far`: how many of them are far from the sum in float64. */
struct reference {
    unsigned char *want;
    size_t far;
};

static struct reference reference_of (struct job *j)
{
    size_t ranks = j->shape.ranks, n = j->shape.n, elem = j->shape.bf16 ? 2 : 4, i, r;
    unsigned char *x = malloc (j->shape.vectors * 16 * ranks + 1);
    struct reference ref = { malloc (n * elem + 1), 0 };
    struct dt_backend_error err = { "" };

    if (!x || !ref.want)
        die ("reference", "out of memory");
    if (backend->read (j->ctx, j->operands, j->shape.x, j->shape.vectors * 16 * ranks, x, &err) < 0)
        die ("reference", err.text);
    for (i = 0; i < n; i++) {
        double exact = 0, size = 0;
        float sum = 0.0f;
        uint16_t bits;

        for (r = 0; r < ranks; r++) {
            float v = value_at (x + r * j->shape.vectors * 16, j->shape.bf16, i);

            sum += v;
            exact += (double)v;
            size += fabs ((double)v);
        }
        bits = to_bf16 (sum);
        memcpy (ref.want + i * elem, elem == 2 ? (void *)&bits : (void *)&sum, elem);
        ref.far += fabs ((double)value_at (ref.want, j->shape.bf16, i) - exact)
                   > size * (double)ranks * 0x1p-24 + (elem == 2 ? fabs (exact) * 0x1p-8 : 0);
    }
    free (x);
    return ref;
}

static void reference_done (struct reference *ref)
{
    free (ref->want);
}

/* How many of n elements differ. */
static size_t count_differing (const unsigned char *a, const unsigned char *b, size_t n, size_t elem)
{
    size_t i, differ = 0;

    for (i = 0; i < n; i++)
        differ += memcmp (a + i * elem, b + i * elem, elem) != 0;
    return differ;
}

/* One request: every rank's output holds the canonical bits. */
static void compare (const struct job *j, const struct reference *ref, const unsigned char *out,
                     const char *what)
{
    size_t elem = j->shape.bf16 ? 2 : 4, bytes = j->shape.n * elem, r, differ = 0;

    for (r = 0; r < j->shape.here; r++)
        if (memcmp (out + r * bytes, ref->want, bytes) != 0)
            differ += failures < PRINTED ? count_differing (out + r * bytes, ref->want, j->shape.n, elem)
                                         : 1; /* nobody will read it */
    verdict (differ == 0 && ref->far == 0, "%s: %zu ranks, %s, %zu bytes, data %u, algorithm %d, %lld"
             " blocks: %zu of %zu outputs differ, %zu are far from float64", what, j->shape.ranks,
             elem == 2 ? "bf16" : "fp32", bytes, j->call.data, (int)j->shape.algorithm,
             (long long)j->param[AR_BLOCKS].one, differ, j->shape.n * j->shape.here, ref->far);
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

/* On 'ranks' logical ranks of one device. */
static void check_bits_of (struct dt_backend_ctx *ctx, int ranks, const int64_t *sizes, size_t n_sizes)
{
    size_t i;
    int bf16;

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
}

static const int64_t sizes[] = { 4, 16, 20, 1024, 4100, 16384, 65536 + 8, 262144, (1 << 20) + 12,
                                 1 << 23, 1 << 26 };
#define LARGE 2 /* the last ones, which take long */

static void check_bits (void)
{
    static const int64_t some[] = { 20, 4100, 262144 };
    struct dt_backend_ctx *ctx = open_device (0);
    int ranks;

    for (ranks = 2; ranks <= 8; ranks++)
        check_bits_of (ctx, ranks, sizes, ARRAY_SIZE (sizes) - LARGE);
    for (; ranks <= AR_MAX_RANKS; ranks++)
        check_bits_of (ctx, ranks, some, ARRAY_SIZE (some));
    check_bits_of (ctx, 2, sizes + ARRAY_SIZE (sizes) - LARGE, LARGE);
    check_bits_of (ctx, 5, sizes + ARRAY_SIZE (sizes) - LARGE, 1);
    backend->close (ctx);
}

static void check_small (void)
{
    static const int64_t few[] = { 4, 20, 4100 };
    struct dt_backend_ctx *ctx = open_device (0);

    check_bits_of (ctx, 2, few, ARRAY_SIZE (few));
    check_bits_of (ctx, 3, few, ARRAY_SIZE (few));
    backend->close (ctx);
}

/* ---- offsets ---- */

/* The output alone of a request of these bytes. */
static unsigned char *alone_of (struct dt_backend_ctx *ctx, int ranks, int bf16, int64_t bytes)
{
    unsigned char *out;
    struct job j;

    job_init (&j, ctx, ranks, bf16);
    job_add (&j, bytes, 99);
    job_fill (&j, DT_BACKEND_CANCEL);
    out = job_run (&j);
    job_done (&j);
    return out;
}

/* The same request 'before' bytes into a message, by every algorithm and some numbers of blocks. */
static void check_offset (struct dt_backend_ctx *ctx, int ranks, int bf16, int64_t bytes, int64_t before,
                          const unsigned char *alone)
{
    static const int64_t blocks[] = { 4, 32, AR_MAX_BLOCKS };
    struct dt_backend_row row[MAX_REQUESTS];
    struct dt_backend_error err = { "" };
    struct job j;
    size_t b;
    int a;

    job_init (&j, ctx, ranks, bf16);
    job_add (&j, before, 5);
    job_add (&j, bytes, 99);
    job_add (&j, 70000 - before, 6);
    job_fill (&j, DT_BACKEND_CANCEL);
    for (a = 0; a < AR_N_ALGORITHMS; a++)
        for (b = 0; b < ARRAY_SIZE (blocks); b++) {
            unsigned char *among;

            j.param[AR_ALGORITHM].one = a;
            j.param[AR_BLOCKS].one = blocks[b];
            among = job_run (&j);
            if (backend->rows (ctx, &j.call, row, &err) < 0)
                die ("rows", err.text);
            verdict (row[1].length == (size_t)(bytes * ranks)
                     && memcmp (alone, among + row[1].offset, row[1].length) == 0,
                     "offsets: %d ranks, %s, algorithm %d, %lld blocks: a request of %lld bytes has other"
                     " bits %lld bytes into the message", ranks, bf16 ? "bf16" : "fp32", a,
                     (long long)blocks[b], (long long)bytes, (long long)before);
            free (among);
        }
    job_done (&j);
}

static void check_offsets (void)
{
    static const int64_t elements[] = { 3001, 20006, 300001 };
    static const int ranks[] = { 2, 4, 7 };
    struct dt_backend_ctx *ctx = open_device (0);
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

static const int64_t repeated[] = { 20, 40012, (1 << 20) + 12 };

static void check_repeats (void)
{
    struct dt_backend_ctx *ctx = open_device (0);
    pthread_t busy;
    size_t i;

    if (pthread_create (&busy, NULL, keep_busy, NULL) != 0)
        die ("contention", "no thread");
    for (i = 0; i < ARRAY_SIZE (repeated); i++) {
        struct reference ref;
        struct job j;

        job_init (&j, ctx, 4, 1);
        job_add (&j, repeated[i], 11);
        job_fill (&j, DT_BACKEND_CANCEL);
        j.param[AR_BLOCKS].one = 8;
        ref = reference_of (&j);
        repeat (&j, &ref, "repeats");
        reference_done (&ref);
        job_done (&j);
    }
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

static struct dt_backend_ctx *join (struct end *e, uint32_t timed)
{
    struct dt_backend_join how = { (uint32_t)e->rank, 2, gather, e };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = open_context ((uint32_t)e->rank, timed);

    if (backend->join (ctx, &how, &err) < 0)
        die ("join", err.text);
    return ctx;
}

/* This rank's share of a sum over both, and what the logical ranks of one device sum. */
static struct reference pair_of (struct job *j, struct dt_backend_ctx *ctx, struct dt_backend_ctx *alone,
                                 int rank, int64_t bytes, int bf16)
{
    struct reference ref;

    job_init (j, alone, 2, bf16);
    job_add (j, bytes, 21);
    job_fill (j, DT_BACKEND_SPREAD);
    ref = reference_of (j);
    job_done (j);
    job_init (j, ctx, 2, bf16);
    j->group.ranks = 2;
    j->group.rank = (uint32_t)rank;
    job_add (j, bytes, 21);
    job_fill (j, DT_BACKEND_SPREAD);
    return ref;
}

static void check_pair_size (struct dt_backend_ctx *ctx, struct dt_backend_ctx *alone, int rank,
                             int64_t bytes, int bf16, int repeats)
{
    struct job j;
    struct reference ref = pair_of (&j, ctx, alone, rank, bytes, bf16);

    if (repeats)
        repeat (&j, &ref, "pair, repeats");
    else
        all_ways (&j, &ref, "pair");
    reference_done (&ref);
    job_done (&j);
}

/* NCCL's sum of two in fp32 has but one order, and the environment is left as it was. */
static void check_pair_nccl (struct dt_backend_ctx *ctx, struct dt_backend_ctx *alone, int rank)
{
    struct dt_backend_error err = { "" };
    struct job j;
    struct reference ref = pair_of (&j, ctx, alone, rank, 40012, 0);
    unsigned char *out = malloc (j.plan.output_bytes);
    const char *after;
    size_t i, differ = 0;

    if (!out)
        die ("pair", "out of memory");
    setenv ("NCCL_ALGO", "Ring", 1);
    j.param[AR_ORDER].one = AR_NCCL;
    if (backend->run (ctx, &j.call, j.operands, j.output, j.workspace, &err) < 0
        || backend->read (ctx, j.output, 0, j.plan.output_bytes, out, &err) < 0)
        die ("pair, NCCL", err.text);
    for (i = 0; i < j.shape.n; i++)
        differ += value_at (out, 0, i) != value_at (ref.want, 0, i);
    verdict (differ == 0, "pair, NCCL: %zu of %zu outputs differ", differ, j.shape.n);
    after = getenv ("NCCL_ALGO");
    verdict (after && strcmp (after, "Ring") == 0, "pair, NCCL: NCCL_ALGO is left as %s", after ? after : "unset");
    free (out);
    reference_done (&ref);
    job_done (&j);
}

static int pair_rank (int rank, int fd)
{
    struct end e = { rank, fd };
    struct dt_backend_ctx *ctx = join (&e, 0), *alone = open_device ((uint32_t)rank);
    size_t i;
    int bf16;

    for (i = 0; i < ARRAY_SIZE (sizes); i++)
        for (bf16 = 0; bf16 < 2; bf16++)
            check_pair_size (ctx, alone, rank, sizes[i], bf16, 0);
    for (i = 0; i < ARRAY_SIZE (repeated); i++)
        check_pair_size (ctx, alone, rank, repeated[i], 1, 1);
    check_pair_nccl (ctx, alone, rank);
    backend->close (alone);
    backend->close (ctx);
    return failures != 0;
}

/* ---- a rank that is lost ---- */

/* Seconds for a run that loses a rank: more than one patience of 1.5 s, less than one for each
 * launch that a timed run consists of. */
#define LOST_S 8

/* What rank 1 does while rank 0 runs a call: it leaves, or it stays and does not come.  `well`:
 * after a call that went well. */
static const struct lost {
    const char *what;
    uint32_t timed;
    int events;       /* the clock is events' */
    int well, leaves;
    enum ar_order order;
    enum ar_algorithm algorithm;
} lost_cases[] = {
    { "rank 1 leaves", 0, 0, 0, 1, AR_BY_RANK, AR_PUSH },
    { "timed, rank 1 leaves", 1, 0, 1, 1, AR_BY_RANK, AR_WORDS },
    { "timed, rank 1 does not come", 1, 0, 1, 0, AR_BY_RANK, AR_TWO_SHOT },
    { "timed by events, rank 1 does not come", 1, 1, 1, 0, AR_BY_RANK, AR_PULL },
    { "NCCL, rank 1 does not come to the first sum", 0, 0, 0, 0, AR_NCCL, AR_PUSH },
    { "NCCL, timed, rank 1 leaves", 1, 0, 1, 1, AR_NCCL, AR_PUSH },
    { "NCCL, timed, rank 1 does not come", 1, 0, 1, 0, AR_NCCL, AR_PUSH },
};

static const char *plugin;
static const struct lost *lost;

static int run_once (struct job *j, struct dt_backend_error *err)
{
    return backend->run (j->ctx, &j->call, j->operands, j->output, j->workspace, err);
}

/* Both ranks; again if a run gave no time to one of them. */
static void run_well (struct job *j, struct end *e)
{
    struct dt_backend_error err = { "" };
    int r, all[2], i;

    for (i = 0; i < 20; i++) {
        r = run_once (j, &err);
        if (r < 0 && r != -EAGAIN)
            die ("lost: a call before", err.text);
        if (gather (e, &r, sizeof r, all) < 0)
            die ("lost", "the other rank is gone too early");
        if (all[0] == 0 && all[1] == 0)
            return;
    }
    die ("lost: a call before", err.text);
}

/* A small sum of this rank, which joins the other one first. */
static void pair_job (struct job *j, struct end *e, uint32_t timed, enum ar_order order,
                      enum ar_algorithm algorithm)
{
    job_init (j, join (e, timed), 2, 1);
    j->group.ranks = 2;
    j->group.rank = (uint32_t)e->rank;
    job_add (j, 16384, 21);
    job_fill (j, DT_BACKEND_RANDOM);
    j->param[AR_ORDER].one = order;
    j->param[AR_ALGORITHM].one = algorithm;
}

static int lost_rank (int rank, int fd)
{
    struct dt_backend_error err = { "" }, again = { "" };
    struct end e = { rank, fd };
    struct job j;
    char byte;
    int r;

    if (lost->events)
        setenv ("DETENT_CUDA_CLOCK", "events", 1);
    load (plugin);
    pair_job (&j, &e, lost->timed, lost->order, lost->algorithm);
    if (lost->well)
        run_well (&j, &e);
    if (rank == 1) {
        if (!lost->leaves)
            transfer (fd, &byte, 1, 1); /* until rank 0 ends */
        _exit (0); /* a rank that dies takes nothing down with it */
    }
    alarm (LOST_S);
    r = run_once (&j, &err);
    verdict (r == -DT_BACKEND_EPEER
             && strstr (err.text, lost->order == AR_BY_RANK ? "rank 1 is lost" : "a rank is lost"),
             "lost: %s: not reported: %d %s", lost->what, r, err.text);
    r = run_once (&j, &again);
    verdict (r == -DT_BACKEND_EPEER && strstr (again.text, " is lost"),
             "lost: %s: not reported to the next call: %d %s", lost->what, r, again.text);
    job_done (&j);
    backend->close (j.ctx);
    alarm (0);
    printf ("lost: %s: %.90s\n", lost->what, err.text);
    return failures != 0;
}

static int dead_rank (int rank, int fd)
{
    struct dt_backend_error err = { "" };
    struct end e = { rank, fd };
    struct job j;
    int i, r = 0;

    setenv ("DT_PLANT", rank == 0 ? "trap" : "none", 1);
    load (plugin);
    pair_job (&j, &e, 0, AR_NCCL, AR_PUSH);
    alarm (2 * LOST_S); /* NCCL's group is made too */
    for (i = 0; i < 20 && r == 0; i++)
        r = run_once (&j, &err);
    if (rank == 0)
        verdict (r == -DT_BACKEND_ELOST && strstr (err.text, "cudaErrorLaunchFailure (719)"),
                 "dead: the device's error is not named: %d %s", r, err.text);
    else
        verdict (r == -DT_BACKEND_EPEER && strstr (err.text, " is lost"),
                 "dead: not reported by the other rank: %d %s", r, err.text);
    job_done (&j);
    backend->close (j.ctx);
    printf ("dead: rank %d: %.90s\n", rank, err.text);
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
        if (pid[i] < 0 || waitpid (pid[i], &status, 0) < 0)
            die ("waitpid", strerror (errno));
        if (!WIFEXITED (status)) {
            printf ("FAIL: rank %d: %s\n", i, strsignal (WTERMSIG (status)));
            worst = 1;
            continue;
        }
        worst = WEXITSTATUS (status) > worst ? WEXITSTATUS (status) : worst;
    }
    return worst;
}

static int each_lost (void)
{
    int worst = 0, r;

    for (lost = lost_cases; lost < lost_cases + ARRAY_SIZE (lost_cases); lost++) {
        r = both (lost_rank);
        worst = r > worst ? r : worst;
    }
    return worst;
}

int main (int argc, char **argv)
{
    if (argc != 3)
        die ("usage", "ranks PLUGIN bits|offsets|repeats|pair|lost|dead|small");
    plugin = argv[1];
    if (strcmp (argv[2], "lost") == 0) /* how a plugin keeps time is told when it is loaded */
        return each_lost ();
    if (strcmp (argv[2], "dead") == 0)
        return both (dead_rank);
    load (plugin);
    if (strcmp (argv[2], "pair") == 0)
        return both (pair_rank);
    if (strcmp (argv[2], "bits") == 0)
        check_bits ();
    else if (strcmp (argv[2], "small") == 0)
        check_small ();
    else if (strcmp (argv[2], "offsets") == 0)
        check_offsets ();
    else if (strcmp (argv[2], "repeats") == 0)
        check_repeats ();
    else
        die (argv[2], "unknown");
    printf ("%s: %d checks, %d failed\n", argv[2], checks, failures);
    return failures != 0;
}
