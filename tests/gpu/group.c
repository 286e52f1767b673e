/* Checks of the CUDA all-reduce with a process for each rank: group PLUGIN WHAT.
 *   pair        two processes on two GPUs: bits of every algorithm, 1,000 repeats
 *   many        three, four and eight processes, which share the GPUs
 *   lost        two processes, of which one leaves or does not come: the other says so
 *   dead        two processes that sum by NCCL, while the planted plugin ends one's device:
 *               it names the device's error, the other one says who is lost
 * Exit status: 0 as it should be, 1 not, 77 too few devices. */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/processes.h"
#include "tests/gpu/sums.h"
#include "tests/gpu/verdict.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static const char *plugin;

/* More ranks than devices share them, in turn; devices are counted where CUDA may be touched. */
static uint32_t device_of (const struct gpu_process *p)
{
    int devices;

    if (cudaGetDeviceCount (&devices) != cudaSuccess || devices == 0)
        gpu_skip ("no device");
    return (uint32_t)(p->ranks > devices ? p->rank % devices : p->rank);
}

static struct dt_backend_ctx *join (struct gpu_process *p, uint32_t timed)
{
    struct dt_backend_join how = { (uint32_t)p->rank, (uint32_t)p->ranks, gpu_gather, p };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = sum_open (device_of (p), timed);

    if (sum_backend->join (ctx, &how, &err) < 0)
        gpu_die ("join", err.text);
    return ctx;
}

static int tally (const struct gpu_process *p)
{
    char what[32];

    snprintf (what, sizeof what, "rank %d of %d", p->rank, p->ranks);
    return gpu_tally (what);
}

/* ---- bits ---- */

/* What a rank sums by: with the others, and alone with logical ranks. */
struct rank {
    struct gpu_process *process;
    struct dt_backend_ctx *ctx, *alone;
};

static struct rank open_rank (struct gpu_process *p)
{
    sum_load (plugin);
    return (struct rank){ p, join (p, 0), sum_open (device_of (p), 0) };
}

static int close_rank (struct rank *k)
{
    sum_backend->close (k->alone);
    sum_backend->close (k->ctx);
    return tally (k->process);
}

/* This rank's share of a sum over all, and what the logical ranks of one device sum. */
static struct sum_reference share_of (struct sum_job *j, const struct rank *k, int64_t bytes, int bf16)
{
    struct sum_reference ref;

    sum_job_init (j, k->alone, k->process->ranks, bf16);
    sum_job_add (j, bytes, 21);
    sum_job_fill (j, DT_BACKEND_SPREAD);
    ref = sum_reference_of (j);
    sum_job_done (j);
    sum_job_init (j, k->ctx, k->process->ranks, bf16);
    sum_job_join (j, (uint32_t)k->process->rank);
    sum_job_add (j, bytes, 21);
    sum_job_fill (j, DT_BACKEND_SPREAD);
    return ref;
}

/* `times` 0: by every number of blocks too, once. */
static void check_size (const struct rank *k, int64_t bytes, int bf16, int times)
{
    struct sum_job j;
    struct sum_reference ref = share_of (&j, k, bytes, bf16);

    if (times)
        sum_repeat (&j, &ref, times, "repeats");
    else
        sum_all_ways (&j, &ref, "bits");
    sum_reference_done (&ref);
    sum_job_done (&j);
}

static void check_sizes (const struct rank *k, const int64_t *sizes, size_t n)
{
    size_t i;
    int bf16;

    for (i = 0; i < n; i++)
        for (bf16 = 0; bf16 < 2; bf16++)
            check_size (k, sizes[i], bf16, 0);
}

/* NCCL's sum of two in fp32 has but one order, and the environment is left as it was. */
static void check_nccl (const struct rank *k)
{
    struct dt_backend_error err = { "" };
    struct sum_job j;
    struct sum_reference ref = share_of (&j, k, 40012, 0);
    unsigned char *out = malloc (j.plan.output_bytes);
    const char *after;
    size_t i, differ = 0;

    if (!out)
        gpu_die ("NCCL", "out of memory");
    setenv ("NCCL_ALGO", "Ring", 1);
    j.param[AR_ORDER].one = AR_NCCL;
    if (sum_backend->run (k->ctx, &j.call, j.operands, j.output, j.workspace, &err) < 0
        || sum_backend->read (k->ctx, j.output, 0, j.plan.output_bytes, out, &err) < 0)
        gpu_die ("NCCL", err.text);
    for (i = 0; i < j.shape.n; i++)
        differ += sum_value_at (out, 0, i) != sum_value_at (ref.want, 0, i);
    gpu_verdict (differ == 0, "NCCL: %zu of %zu outputs differ", differ, j.shape.n);
    after = getenv ("NCCL_ALGO");
    gpu_verdict (after && strcmp (after, "Ring") == 0, "NCCL: NCCL_ALGO is left as %s",
                 after ? after : "unset");
    free (out);
    sum_reference_done (&ref);
    sum_job_done (&j);
}

static int pair_rank (struct gpu_process *p, void *unused)
{
    static const int64_t sizes[] = { 4, 16, 20, 1024, 4100, 16384, 65536 + 8, 262144, (1 << 20) + 12,
                                     1 << 23, 1 << 26 };
    static const int64_t repeated[] = { 20, 40012, (1 << 20) + 12 };
    struct rank k = open_rank (p);
    size_t i;

    (void)unused;
    check_sizes (&k, sizes, ARRAY_SIZE (sizes));
    for (i = 0; i < ARRAY_SIZE (repeated); i++)
        check_size (&k, repeated[i], 1, 1000);
    check_nccl (&k);
    return close_rank (&k);
}

/* Processes that share a device run in turn, and wait for one another: few runs. */
static int many_rank (struct gpu_process *p, void *unused)
{
    static const int64_t sizes[] = { 20, 4100, 65536 + 8, (1 << 20) + 12 };
    struct rank k = open_rank (p);

    (void)unused;
    check_sizes (&k, sizes, ARRAY_SIZE (sizes));
    return close_rank (&k);
}

static int each_number (void)
{
    static const int ranks[] = { 3, 4, 8 };
    int worst = 0, r;
    size_t i;

    for (i = 0; i < ARRAY_SIZE (ranks); i++) {
        r = gpu_processes (ranks[i], many_rank, NULL);
        worst = r > worst ? r : worst;
    }
    return worst;
}

/* ---- a rank that is lost ---- */

/* Seconds for a run that loses a rank: more than one patience of 1.5 s, less than one for each
 * launch that a timed run consists of. */
#define LOST_S 8

/* What rank 1 does while rank 0 runs a call: it leaves, or it stays and does not come.  `well`:
 * after a call that went well. */
static struct lost {
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

static int run_once (struct sum_job *j, struct dt_backend_error *err)
{
    return sum_backend->run (j->ctx, &j->call, j->operands, j->output, j->workspace, err);
}

/* Both ranks; again if a run gave no time to one of them. */
static void run_well (struct sum_job *j, struct gpu_process *p)
{
    struct dt_backend_error err = { "" };
    int r, all[2], i;

    for (i = 0; i < 20; i++) {
        r = run_once (j, &err);
        if (r < 0 && r != -EAGAIN)
            gpu_die ("lost: a call before", err.text);
        if (gpu_gather (p, &r, sizeof r, all) < 0)
            gpu_die ("lost", "the other rank is gone too early");
        if (all[0] == 0 && all[1] == 0)
            return;
    }
    gpu_die ("lost: a call before", err.text);
}

/* A small sum of this rank, which joins the other one first. */
static void small_job (struct sum_job *j, struct gpu_process *p, uint32_t timed, enum ar_order order,
                       enum ar_algorithm algorithm)
{
    sum_job_init (j, join (p, timed), p->ranks, 1);
    sum_job_join (j, (uint32_t)p->rank);
    sum_job_add (j, 16384, 21);
    sum_job_fill (j, DT_BACKEND_RANDOM);
    j->param[AR_ORDER].one = order;
    j->param[AR_ALGORITHM].one = algorithm;
}

/* How a plugin keeps time is told when it is loaded. */
static int lost_rank (struct gpu_process *p, void *user)
{
    const struct lost *lost = user;
    struct dt_backend_error err = { "" }, again = { "" };
    struct sum_job j;
    int r;

    if (lost->events)
        setenv ("DETENT_CUDA_CLOCK", "events", 1);
    sum_load (plugin);
    small_job (&j, p, lost->timed, lost->order, lost->algorithm);
    if (lost->well)
        run_well (&j, p);
    if (p->rank == 1) {
        if (!lost->leaves)
            gpu_wait_for_end (p->fd[0]);
        _exit (0); /* a rank that dies takes nothing down with it */
    }
    alarm (LOST_S);
    r = run_once (&j, &err);
    gpu_verdict (r == -DT_BACKEND_EPEER
                 && strstr (err.text, lost->order == AR_BY_RANK ? "rank 1 is lost" : "a rank is lost"),
                 "lost: %s: not reported: %d %s", lost->what, r, err.text);
    r = run_once (&j, &again);
    gpu_verdict (r == -DT_BACKEND_EPEER && strstr (again.text, " is lost"),
                 "lost: %s: not reported to the next call: %d %s", lost->what, r, again.text);
    sum_job_done (&j);
    sum_backend->close (j.ctx);
    alarm (0);
    printf ("lost: %s: %.90s\n", lost->what, err.text);
    return tally (p);
}

static int each_lost (void)
{
    int worst = 0, r;
    size_t i;

    for (i = 0; i < ARRAY_SIZE (lost_cases); i++) {
        r = gpu_processes (2, lost_rank, &lost_cases[i]);
        worst = r > worst ? r : worst;
    }
    return worst;
}

static int dead_rank (struct gpu_process *p, void *unused)
{
    struct dt_backend_error err = { "" };
    struct sum_job j;
    int i, r = 0;

    (void)unused;
    setenv ("DT_PLANT", p->rank == 0 ? "trap" : "none", 1);
    sum_load (plugin);
    small_job (&j, p, 0, AR_NCCL, AR_PUSH);
    alarm (2 * LOST_S); /* NCCL's group is made too */
    for (i = 0; i < 20 && r == 0; i++)
        r = run_once (&j, &err);
    if (p->rank == 0)
        gpu_verdict (r == -DT_BACKEND_ELOST && strstr (err.text, "cudaErrorLaunchFailure (719)"),
                     "dead: the device's error is not named: %d %s", r, err.text);
    else
        gpu_verdict (r == -DT_BACKEND_EPEER && strstr (err.text, " is lost"),
                     "dead: not reported by the other rank: %d %s", r, err.text);
    sum_job_done (&j);
    sum_backend->close (j.ctx);
    printf ("dead: rank %d: %.90s\n", p->rank, err.text);
    return tally (p);
}

int main (int argc, char **argv)
{
    if (argc != 3)
        gpu_die ("usage", "group PLUGIN pair|many|lost|dead");
    plugin = argv[1];
    if (strcmp (argv[2], "pair") == 0)
        return gpu_processes (2, pair_rank, NULL);
    if (strcmp (argv[2], "many") == 0)
        return each_number ();
    if (strcmp (argv[2], "lost") == 0)
        return each_lost ();
    if (strcmp (argv[2], "dead") == 0)
        return gpu_processes (2, dead_rank, NULL);
    gpu_die (argv[2], "unknown");
}
