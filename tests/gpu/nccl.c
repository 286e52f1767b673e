/* A libnccl.so.2 that does as the test says, in `dt_nccl`: for tests without a GPU. */
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/nccl.h"

#pragma GCC visibility push(default)

struct dt_nccl dt_nccl;

struct id {
    char bytes[128];
};

int ncclGetVersion (int *version);
int ncclGetUniqueId (struct id *id);
int ncclCommInitRankConfig (void **comm, int ranks, struct id id, int rank, void *config);
int ncclCommAbort (void *comm);
int ncclCommGetAsyncError (void *comm, int *state);
int ncclAllReduce (const void *x, void *out, size_t n, int type, int op, void *comm, void *stream);
const char *ncclGetErrorString (int result);

int ncclGetVersion (int *version)
{
    *version = 22809;
    return 0;
}

int ncclGetUniqueId (struct id *id)
{
    memset (id, 0, sizeof *id);
    return dt_nccl.no_id;
}

int ncclCommInitRankConfig (void **comm, int ranks, struct id id, int rank, void *config)
{
    const char *algo = getenv ("NCCL_ALGO");

    (void)ranks, (void)id, (void)rank, (void)config;
    dt_nccl.by_tree = algo && strcmp (algo, "Tree") == 0;
    *comm = &dt_nccl;
    return DT_NCCL_IN_PROGRESS;
}

int ncclCommAbort (void *comm)
{
    const char *algo = getenv ("NCCL_ALGO");

    (void)comm;
    dt_nccl.aborts++;
    dt_nccl.restored = algo && strcmp (algo, "Ring") == 0;
    return 0;
}

int ncclCommGetAsyncError (void *comm, int *state)
{
    (void)comm;
    dt_nccl.after_abort += dt_nccl.aborts;
    *state = dt_nccl.polls > 0 ? dt_nccl.polls--, DT_NCCL_IN_PROGRESS : dt_nccl.state;
    return 0;
}

int ncclAllReduce (const void *x, void *out, size_t n, int type, int op, void *comm, void *stream)
{
    (void)x, (void)out, (void)n, (void)type, (void)op, (void)comm, (void)stream;
    dt_nccl.after_abort += dt_nccl.aborts;
    dt_nccl.sums++;
    return DT_NCCL_IN_PROGRESS;
}

const char *ncclGetErrorString (int result)
{
    (void)result;
    return "an error";
}
