/* bench/gpu_allreduce: our all-reduce beside NCCL's own choice, in one run.
 *
 * Two processes, two GPUs, bf16.  Each time is the median of ROUNDS rounds of many calls, by
 * events on rank 0, over the number of calls; both ranks start together, and each round takes
 * every column in turn.  Columns: in a CUDA graph, NCCL as it comes, NCCL by tree on one
 * channel (`order` 1), each algorithm of ours with its best number of blocks, and the best of
 * ours over NCCL as it comes; then NCCL and the best of ours launched call by call, as engines
 * do for what they do not capture.  What is best, rounds of their own said before.
 *
 * NCCL as it comes has no setting but those of the environment, which are printed first. */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <nccl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/cuda/library.h"
#include "tests/gpu/must.h"
#include "tests/gpu/processes.h"

extern char **environ;

#define ROUNDS 11
#define CHOOSING 5 /* rounds that say what is best */
#define MOST_SERIES 32
#define MOST ((int64_t)64 << 20)

/* NCCL as an engine finds it. */
struct peer {
    ncclResult_t (*get_id) (ncclUniqueId *id);
    ncclResult_t (*init) (ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
    ncclResult_t (*all_reduce) (const void *x, void *out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                                ncclComm_t comm, cudaStream_t stream);
};

static const struct cuda_symbol symbols[] = {
    { "ncclGetUniqueId", offsetof (struct peer, get_id) },
    { "ncclCommInitRank", offsetof (struct peer, init) },
    { "ncclAllReduce", offsetof (struct peer, all_reduce) },
};

struct rank {
    int rank;
    struct gpu_process *process;
    struct dt_backend_ctx ctx;
    struct peer peer;
    ncclComm_t comm;
    int64_t fact[AR_N_FACTS], request[AR_N_FIELDS];
    uint64_t seed;
    struct dt_backend_value param[AR_N_PARAMS];
    struct dt_backend_call call;
    void *operands, *output;
};

static void together (struct rank *k)
{
    char mine = 1, all[2];

    if (gpu_gather (k->process, &mine, 1, all) < 0)
        gpu_die ("ranks", "the other one is gone");
}

/* NCCL's own group first: it reads some variables once in a process, and ours sets one. */
static void open_rank (struct rank *k)
{
    struct dt_backend_join how = { (uint32_t)k->rank, 2, gpu_gather, k->process };
    struct dt_backend_error err = { "" };
    ncclUniqueId ids[2], id;

    gpu_must (cudaSetDevice (k->rank), "device");
    gpu_must (cudaStreamCreateWithFlags (&k->ctx.stream, cudaStreamNonBlocking), "stream");
    k->ctx.device = k->rank;
    if (cuda_library_load ("libnccl.so.2", symbols, sizeof symbols / sizeof *symbols, &k->peer, &err) < 0)
        gpu_die ("NCCL", err.text);
    memset (&id, 0, sizeof id);
    if (k->rank == 0 && k->peer.get_id (&id) != ncclSuccess)
        gpu_die ("NCCL", "no id");
    if (gpu_gather (k->process, &id, sizeof id, ids) < 0
        || k->peer.init (&k->comm, 2, ids[0], k->rank) != ncclSuccess)
        gpu_die ("NCCL", "no group; if it fails by NVLink SHARP, run again with NCCL_NVLS_ENABLE=0");
    if (cuda_allreduce.open (&k->ctx, 0, &err) < 0 || cuda_allreduce.join (&k->ctx, 0, &how, &err) < 0)
        gpu_die ("open", err.text);
    k->fact[AR_RANKS] = 2;
    k->fact[AR_BF16] = 1;
    k->fact[AR_MAX_BYTES] = MOST;
    k->call = (struct dt_backend_call){ .family = cuda_allreduce.family, .fact = k->fact, .n_requests = 1,
                                        .request = k->request, .seed = &k->seed, .param = k->param };
    gpu_must (cudaMalloc (&k->operands, (size_t)MOST + 4096), "memory");
    gpu_must (cudaMalloc (&k->output, (size_t)MOST), "memory");
}

/* What is measured together: a way to sum, and its times. */
struct series {
    int peer, eager; /* NCCL as it comes; launched one by one */
    enum ar_order order;
    int algorithm;
    int64_t blocks;
    cudaGraphExec_t exec;
    double us[ROUNDS];
    double median;
};

static void launch (struct rank *k, const struct series *s, int64_t bytes)
{
    struct dt_backend_error err = { "" };

    k->param[AR_ORDER].one = s->order;
    k->param[AR_ALGORITHM].one = s->algorithm;
    k->param[AR_BLOCKS].one = s->blocks;
    if (!s->peer) {
        if (cuda_allreduce.launch (&k->ctx, 0, &k->call, k->operands, k->output, NULL, &err) < 0)
            gpu_die ("launch", err.text);
    } else if (k->peer.all_reduce (k->operands, k->output, (size_t)bytes / 2, ncclBfloat16, ncclSum, k->comm,
                                   k->ctx.stream) != ncclSuccess)
        gpu_die ("NCCL", "all-reduce");
}

static cudaGraphExec_t capture (struct rank *k, const struct series *s, int64_t bytes, int calls)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    int i;

    gpu_must (cudaStreamBeginCapture (k->ctx.stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (i = 0; i < calls; i++)
        launch (k, s, bytes);
    gpu_must (cudaStreamEndCapture (k->ctx.stream, &graph), "capture");
    gpu_must (cudaGraphInstantiate (&exec, graph, 0), "graph");
    cudaGraphDestroy (graph);
    return exec;
}

/* Rank 0's figure on both, so that both choose alike. */
static double agree (struct rank *k, double us)
{
    double all[2];

    if (gpu_gather (k->process, &us, sizeof us, all) < 0)
        gpu_die ("ranks", "the other one is gone");
    return all[0];
}

/* Microseconds of one call. */
static double time_of (struct rank *k, const struct series *s, int64_t bytes, int calls, cudaEvent_t event[2])
{
    float ms;
    int i;

    together (k);
    gpu_must (cudaEventRecord (event[0], k->ctx.stream), "event");
    if (!s->eager)
        gpu_must (cudaGraphLaunch (s->exec, k->ctx.stream), "launch");
    for (i = 0; s->eager && i < calls; i++)
        launch (k, s, bytes);
    gpu_must (cudaEventRecord (event[1], k->ctx.stream), "event");
    gpu_must (cudaStreamSynchronize (k->ctx.stream), "run");
    gpu_must (cudaEventElapsedTime (&ms, event[0], event[1]), "time");
    return (double)ms * 1000 / calls;
}

/* The medians of n series, round by round in turn. */
static void measure (struct rank *k, struct series *s, size_t n, int64_t bytes, int rounds)
{
    int calls = bytes <= 1 << 20 ? 100 : bytes <= 8 << 20 ? 30 : 10, round;
    cudaEvent_t event[2];
    size_t i;

    gpu_must (cudaEventCreate (&event[0]), "event");
    gpu_must (cudaEventCreate (&event[1]), "event");
    for (i = 0; i < n; i++) {
        together (k);
        launch (k, &s[i], bytes);
        gpu_must (cudaStreamSynchronize (k->ctx.stream), "warm-up");
        if (!s[i].eager)
            s[i].exec = capture (k, &s[i], bytes, calls);
    }
    for (round = 0; round < rounds; round++)
        for (i = 0; i < n; i++)
            s[i].us[round] = time_of (k, &s[i], bytes, calls, event);
    for (i = 0; i < n; i++) {
        if (s[i].exec)
            cudaGraphExecDestroy (s[i].exec);
        s[i].median = agree (k, gpu_median (s[i].us, (size_t)rounds));
    }
    cudaEventDestroy (event[0]);
    cudaEventDestroy (event[1]);
}

/* Each algorithm with its best number of blocks; returns the best algorithm. */
static int choose (struct rank *k, int64_t bytes, struct series best[AR_N_ALGORITHMS])
{
    const struct dt_backend_param *blocks = &cuda_allreduce.family->params[AR_BLOCKS];
    struct series all[MOST_SERIES];
    size_t n = 0, b, i;
    int a, of_all = 0;

    for (a = 0; a < AR_N_ALGORITHMS; a++)
        for (b = 0; b < blocks->n_values && n < MOST_SERIES; b++)
            all[n++] = (struct series){ .algorithm = a, .blocks = blocks->values[b] };
    measure (k, all, n, bytes, CHOOSING);
    for (i = 0; i < n; i++) {
        a = all[i].algorithm;
        if (i % blocks->n_values == 0 || all[i].median < best[a].median)
            best[a] = all[i];
    }
    for (a = 1; a < AR_N_ALGORITHMS; a++)
        of_all = best[a].median < best[of_all].median ? a : of_all;
    return of_all;
}

/* Of a row's series. */
enum { NCCL, TREE, EAGER_NCCL, EAGER_OURS, OURS, N_SERIES = OURS + AR_N_ALGORITHMS };

static void print_row (int64_t bytes, const struct series *s, int best)
{
    static const char *const names[] = { "push", "pull", "two-shot", "words" };
    int a;

    printf ("%9lld %8.2f %8.2f", (long long)bytes, s[NCCL].median, s[TREE].median);
    for (a = 0; a < AR_N_ALGORITHMS; a++)
        printf (" %8.2f (%3lld)", s[OURS + a].median, (long long)s[OURS + a].blocks);
    printf (" %-8s %5.2f %8.2f %8.2f %5.2f\n", names[best], s[OURS + best].median / s[NCCL].median,
            s[EAGER_NCCL].median, s[EAGER_OURS].median, s[EAGER_OURS].median / s[EAGER_NCCL].median);
    fflush (stdout);
}

static void row (struct rank *k, int64_t bytes)
{
    struct series s[N_SERIES] = { [NCCL] = { .peer = 1 }, [EAGER_NCCL] = { .peer = 1, .eager = 1 } },
                  best[AR_N_ALGORITHMS];
    struct dt_backend_error err = { "" };
    int a, which;

    k->request[AR_BYTES] = bytes;
    k->param[AR_ORDER].one = AR_BY_RANK;
    k->param[AR_BLOCKS].one = AR_MAX_BLOCKS;
    if (cuda_allreduce.fill (&k->ctx, 0, &k->call, 0, k->operands, &err) < 0)
        gpu_die ("fill", err.text);
    gpu_must (cudaStreamSynchronize (k->ctx.stream), "fill");
    which = choose (k, bytes, best);
    for (a = 0; a < AR_N_ALGORITHMS; a++)
        s[OURS + a] = (struct series){ .algorithm = a, .blocks = best[a].blocks };
    s[TREE] = (struct series){ .order = AR_NCCL, .blocks = AR_MAX_BLOCKS };
    s[EAGER_OURS] = s[OURS + which];
    s[EAGER_OURS].eager = 1;
    measure (k, s, N_SERIES, bytes, ROUNDS);
    if (k->rank == 0)
        print_row (bytes, s, which);
}

static void print_environment (void)
{
    char **e;
    int n = 0;

    printf ("NCCL as it comes: its environment is");
    for (e = environ; *e; e++)
        if (strncmp (*e, "NCCL_", 5) == 0)
            printf ("%s %s", n++ ? "," : "", *e);
    printf ("%s\n", n ? "" : " empty");
}

static int bench (struct gpu_process *p, void *unused)
{
    struct rank *k = calloc (1, sizeof *k);
    int64_t bytes;

    (void)unused;
    if (!k)
        gpu_die ("memory", "none left");
    k->rank = p->rank;
    k->process = p;
    if (p->rank == 0)
        print_environment ();
    open_rank (k);
    if (p->rank == 0)
        printf ("%9s %8s %8s %14s %14s %14s %14s %-8s %5s %8s %8s %5s\n", "bytes", "NCCL us", "tree us",
                "push (blocks)", "pull", "two-shot", "words", "best", "ratio", "by call:", "ours", "ratio");
    for (bytes = 1024; bytes <= MOST; bytes *= 2)
        row (k, bytes);
    return 0;
}

int main (void)
{
    return gpu_processes (2, bench, NULL);
}
