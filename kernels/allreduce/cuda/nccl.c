/* NCCL, found at run time: by tree and on one channel, so that its order is at least one
 * for all sizes; it is not ours. */
#include <errno.h>
#include <nccl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/cuda/library.h"

struct ar_nccl {
    ncclResult_t (*get_version) (int *version);
    ncclResult_t (*get_id) (ncclUniqueId *id);
    ncclResult_t (*init) (ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config);
    ncclResult_t (*abort) (ncclComm_t comm);
    ncclResult_t (*all_reduce) (const void *x, void *out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                                ncclComm_t comm, cudaStream_t stream);
    const char *(*text) (ncclResult_t result);
    ncclComm_t comm;
};

_Static_assert (sizeof (ncclUniqueId) == AR_NCCL_ID_BYTES, "an id is a card's");

static const struct cuda_symbol symbols[] = {
    { "ncclGetVersion", offsetof (struct ar_nccl, get_version) },
    { "ncclGetUniqueId", offsetof (struct ar_nccl, get_id) },
    { "ncclCommInitRankConfig", offsetof (struct ar_nccl, init) },
    { "ncclCommAbort", offsetof (struct ar_nccl, abort) },
    { "ncclAllReduce", offsetof (struct ar_nccl, all_reduce) },
    { "ncclGetErrorString", offsetof (struct ar_nccl, text) },
};

static int check (const struct ar_nccl *n, ncclResult_t e, const char *what, struct dt_backend_error *err)
{
    if (e == ncclSuccess)
        return 0;
    return cuda_fail (err, -DT_BACKEND_EDEVICE, "NCCL: %s: %s (%d)", what, n->text (e), (int)e);
}

int ar_nccl_new (struct ar_nccl **ret, struct dt_backend_error *err)
{
    struct ar_nccl *n = calloc (1, sizeof *n);
    int r;

    if (!n)
        return cuda_fail (err, -ENOMEM, "allreduce: out of memory");
    if ((r = cuda_library_load ("libnccl.so.2", symbols, sizeof symbols / sizeof *symbols, n, err)) < 0) {
        free (n);
        return r;
    }
    *ret = n;
    return 0;
}

struct ar_nccl *ar_nccl_free (struct ar_nccl *n)
{
    if (n && n->comm)
        n->abort (n->comm); /* unlike destroy it waits for nobody */
    free (n);
    return NULL;
}

int ar_nccl_version (const struct ar_nccl *n)
{
    int v = 0;

    return n->get_version (&v) == ncclSuccess ? v : 0;
}

int ar_nccl_id (struct ar_nccl *n, char id[AR_NCCL_ID_BYTES], struct dt_backend_error *err)
{
    ncclUniqueId unique;
    int r;

    if ((r = check (n, n->get_id (&unique), "id", err)) < 0)
        return r;
    memcpy (id, &unique, sizeof unique);
    return 0;
}

int ar_nccl_join (struct ar_nccl *n, const char id[AR_NCCL_ID_BYTES], uint32_t rank, uint32_t ranks,
                  struct dt_backend_error *err)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId unique;

    config.minCTAs = config.maxCTAs = 1;
    /* Read when the group is made. Sums in the switch have no stated order. */
    setenv ("NCCL_ALGO", "Tree", 0);
    setenv ("NCCL_NVLS_ENABLE", "0", 1);
    memcpy (&unique, id, sizeof unique);
    return check (n, n->init (&n->comm, (int)ranks, unique, (int)rank, &config), "group", err);
}

int ar_nccl_launch (struct ar_nccl *n, cudaStream_t stream, const void *x, void *out, size_t elements,
                    int bf16, struct dt_backend_error *err)
{
    return check (n, n->all_reduce (x, out, elements, bf16 ? ncclBfloat16 : ncclFloat32, ncclSum,
                                    n->comm, stream), "all-reduce", err);
}
