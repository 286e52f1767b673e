/* bench/gpu_allreduce: our all-reduce beside NCCL's own choice, in one run.
 *
 * Two processes, two GPUs, bf16.  Each time is the median of ROUNDS rounds of many calls, by
 * events on rank 0, over the number of calls; both ranks start together.  Columns: in a CUDA
 * graph, NCCL as it comes, NCCL by tree on one channel (`order` 1), each algorithm of ours
 * with its best number of blocks, and the best of ours over NCCL as it comes; then NCCL and
 * the best of ours launched call by call, as engines do for what they do not capture. */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <nccl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/cuda/library.h"

#define ROUNDS 11
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
    int rank, fd;
    struct dt_backend_ctx ctx;
    struct peer peer;
    ncclComm_t comm;
    int64_t fact[AR_N_FACTS], request[AR_N_FIELDS];
    uint64_t seed;
    struct dt_backend_value param[AR_N_PARAMS];
    struct dt_backend_call call;
    void *operands, *output;
};

static void die (const char *what, const char *why) __attribute__ ((noreturn));

static void die (const char *what, const char *why)
{
    fprintf (stderr, "gpu-allreduce: %s: %s\n", what, why);
    exit (1);
}

static void must (cudaError_t e, const char *what)
{
    if (e != cudaSuccess)
        die (what, cudaGetErrorString (e));
}

static int gather (void *user, const void *mine, size_t bytes, void *all)
{
    const struct rank *k = user;
    char *at = all;

    memcpy (at + (size_t)k->rank * bytes, mine, bytes);
    if (write (k->fd, mine, bytes) != (ssize_t)bytes)
        return -EPIPE;
    for (size_t got = 0; got < bytes;) {
        ssize_t n = read (k->fd, at + (size_t)(1 - k->rank) * bytes + got, bytes - got);

        if (n <= 0)
            return -EPIPE;
        got += (size_t)n;
    }
    return 0;
}

static void together (struct rank *k)
{
    char mine = 1, all[2];

    if (gather (k, &mine, 1, all) < 0)
        die ("ranks", "the other one is gone");
}

/* NCCL's own group first: ours tells the library which algorithm to take. */
static void open_rank (struct rank *k)
{
    struct dt_backend_join how = { (uint32_t)k->rank, 2, gather, k };
    struct dt_backend_error err = { "" };
    ncclUniqueId ids[2], id;

    must (cudaSetDevice (k->rank), "device");
    must (cudaStreamCreateWithFlags (&k->ctx.stream, cudaStreamNonBlocking), "stream");
    k->ctx.device = k->rank;
    if (cuda_library_load ("libnccl.so.2", symbols, sizeof symbols / sizeof *symbols, &k->peer, &err) < 0)
        die ("NCCL", err.text);
    setenv ("NCCL_NVLS_ENABLE", "0", 1);
    memset (&id, 0, sizeof id);
    if (k->rank == 0 && k->peer.get_id (&id) != ncclSuccess)
        die ("NCCL", "no id");
    if (gather (k, &id, sizeof id, ids) < 0
        || k->peer.init (&k->comm, 2, ids[0], k->rank) != ncclSuccess)
        die ("NCCL", "no group");
    if (cuda_allreduce.open (&k->ctx, 0, &err) < 0 || cuda_allreduce.join (&k->ctx, 0, &how, &err) < 0)
        die ("open", err.text);
    k->fact[AR_RANKS] = 2;
    k->fact[AR_BF16] = 1;
    k->fact[AR_MAX_BYTES] = MOST;
    k->call = (struct dt_backend_call){ .family = cuda_allreduce.family, .fact = k->fact, .n_requests = 1,
                                        .request = k->request, .seed = &k->seed, .param = k->param };
    must (cudaMalloc (&k->operands, (size_t)MOST + 4096), "memory");
    must (cudaMalloc (&k->output, (size_t)MOST), "memory");
}

static void launch (struct rank *k, int peer, int64_t bytes)
{
    struct dt_backend_error err = { "" };

    if (!peer) {
        if (cuda_allreduce.launch (&k->ctx, 0, &k->call, k->operands, k->output, NULL, &err) < 0)
            die ("launch", err.text);
    } else if (k->peer.all_reduce (k->operands, k->output, (size_t)bytes / 2, ncclBfloat16, ncclSum, k->comm,
                                   k->ctx.stream) != ncclSuccess)
        die ("NCCL", "all-reduce");
}

static int by_time (const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

static cudaGraphExec_t capture (struct rank *k, int peer, int64_t bytes, int calls)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    int i;

    must (cudaStreamBeginCapture (k->ctx.stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (i = 0; i < calls; i++)
        launch (k, peer, bytes);
    must (cudaStreamEndCapture (k->ctx.stream, &graph), "capture");
    must (cudaGraphInstantiate (&exec, graph, 0), "graph");
    cudaGraphDestroy (graph);
    return exec;
}

/* Rank 0's figure on both, so that both choose alike. */
static double agree (struct rank *k, double us)
{
    double all[2];

    if (gather (k, &us, sizeof us, all) < 0)
        die ("ranks", "the other one is gone");
    return all[0];
}

/* Microseconds of one call; `eager`: launched one by one. */
static double measure (struct rank *k, int peer, int64_t bytes, int eager)
{
    int calls = bytes <= 1 << 20 ? 100 : bytes <= 8 << 20 ? 30 : 10, i, j;
    cudaGraphExec_t exec = NULL;
    cudaEvent_t begin, end;
    float us[ROUNDS];

    together (k);
    launch (k, peer, bytes);
    must (cudaStreamSynchronize (k->ctx.stream), "warm-up");
    if (!eager)
        exec = capture (k, peer, bytes, calls);
    must (cudaEventCreate (&begin), "event");
    must (cudaEventCreate (&end), "event");
    for (i = 0; i < ROUNDS; i++) {
        float ms;

        together (k);
        must (cudaEventRecord (begin, k->ctx.stream), "event");
        if (!eager)
            must (cudaGraphLaunch (exec, k->ctx.stream), "launch");
        for (j = 0; eager && j < calls; j++)
            launch (k, peer, bytes);
        must (cudaEventRecord (end, k->ctx.stream), "event");
        must (cudaStreamSynchronize (k->ctx.stream), "run");
        must (cudaEventElapsedTime (&ms, begin, end), "time");
        us[i] = ms * 1000 / (float)calls;
    }
    cudaEventDestroy (begin);
    cudaEventDestroy (end);
    if (exec)
        cudaGraphExecDestroy (exec);
    qsort (us, ROUNDS, sizeof *us, by_time);
    return agree (k, (double)us[ROUNDS / 2]);
}

static double best_of (struct rank *k, int64_t bytes, int64_t *ret_blocks)
{
    const struct dt_backend_param *blocks = &cuda_allreduce.family->params[AR_BLOCKS];
    double best = 0;
    size_t i;

    for (i = 0; i < blocks->n_values; i++) {
        double us;

        k->param[AR_BLOCKS].one = blocks->values[i];
        us = measure (k, 0, bytes, 0);
        if (best == 0 || us < best) {
            best = us;
            *ret_blocks = blocks->values[i];
        }
    }
    return best;
}

static void row (struct rank *k, int64_t bytes)
{
    static const char *const names[] = { "push", "pull", "two-shot", "words" };
    double nccl, tree, us[AR_N_ALGORITHMS], eager[2];
    struct dt_backend_error err = { "" };
    int64_t blocks[AR_N_ALGORITHMS];
    int a, best = 0;

    k->request[AR_BYTES] = bytes;
    k->param[AR_ORDER].one = AR_BY_RANK;
    k->param[AR_BLOCKS].one = AR_MAX_BLOCKS;
    if (cuda_allreduce.fill (&k->ctx, 0, &k->call, 0, k->operands, &err) < 0)
        die ("fill", err.text);
    must (cudaStreamSynchronize (k->ctx.stream), "fill");
    nccl = measure (k, 1, bytes, 0);
    for (a = 0; a < AR_N_ALGORITHMS; a++) {
        k->param[AR_ALGORITHM].one = a;
        us[a] = best_of (k, bytes, &blocks[a]);
        best = us[a] < us[best] ? a : best;
    }
    k->param[AR_ORDER].one = AR_NCCL;
    tree = measure (k, 0, bytes, 0);
    k->param[AR_ORDER].one = AR_BY_RANK;
    k->param[AR_ALGORITHM].one = best;
    k->param[AR_BLOCKS].one = blocks[best];
    eager[0] = measure (k, 1, bytes, 1);
    eager[1] = measure (k, 0, bytes, 1);
    if (k->rank == 0)
        printf ("%9lld %8.2f %8.2f %8.2f (%3lld) %8.2f (%3lld) %8.2f (%3lld) %8.2f (%3lld) %-8s %5.2f %8.2f %8.2f %5.2f\n",
                (long long)bytes, nccl, tree, us[AR_PUSH], (long long)blocks[AR_PUSH], us[AR_PULL],
                (long long)blocks[AR_PULL], us[AR_TWO_SHOT], (long long)blocks[AR_TWO_SHOT],
                us[AR_WORDS], (long long)blocks[AR_WORDS], names[best],
                us[best] / nccl, eager[0], eager[1], eager[1] / eager[0]);
    fflush (stdout);
}

static int bench (int rank, int fd)
{
    struct rank *k = calloc (1, sizeof *k);
    int64_t bytes;

    if (!k)
        die ("memory", "none left");
    k->rank = rank;
    k->fd = fd;
    open_rank (k);
    if (rank == 0)
        printf ("%9s %8s %8s %14s %14s %14s %14s %-8s %5s %8s %8s %5s\n", "bytes", "NCCL us", "tree us",
                "push (blocks)", "pull", "two-shot", "words", "best", "ratio", "by call:", "ours", "ratio");
    for (bytes = 1024; bytes <= MOST; bytes *= 2)
        row (k, bytes);
    return 0;
}

int main (void)
{
    int pair[2], i, status, worst = 0;
    pid_t pid[2];

    if (socketpair (AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        die ("socketpair", strerror (errno));
    for (i = 0; i < 2; i++)
        if ((pid[i] = fork ()) == 0) {
            close (pair[1 - i]);
            exit (bench (i, pair[i]));
        }
    close (pair[0]);
    close (pair[1]);
    for (i = 0; i < 2; i++)
        if (waitpid (pid[i], &status, 0) < 0 || !WIFEXITED (status) || WEXITSTATUS (status))
            worst = 1;
    return worst;
}
