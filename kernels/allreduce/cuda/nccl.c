/* NCCL, found at run time: by tree and on one channel, so that its order is at least one
 * for all sizes; it is not ours.
 *
 * Its group does not block: a call returns at once, and is done when NCCL says so.  A rank
 * that does not come is then not waited for for ever. */
#include <errno.h>
#include <nccl.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/cuda/library.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

/* So long a wait only yields: far more than what it usually takes. */
#define SPIN_NS 2000000u
#define PAUSE_NS 100000
/* For what runs on the device to see that it is given up: milliseconds, as a rule. */
#define GIVE_UP_NS 1000000000u

struct ar_nccl {
    ncclResult_t (*get_version) (int *version);
    ncclResult_t (*get_id) (ncclUniqueId *id);
    ncclResult_t (*init) (ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config);
    ncclResult_t (*abort) (ncclComm_t comm);
    ncclResult_t (*state) (ncclComm_t comm, ncclResult_t *state);
    ncclResult_t (*all_reduce) (const void *x, void *out, size_t n, ncclDataType_t type, ncclRedOp_t op,
                                ncclComm_t comm, cudaStream_t stream);
    const char *(*text) (ncclResult_t result);
    ncclUniqueId id;
    int rank, ranks, device;
    uint64_t timeout_ns;
    ncclComm_t comm; /* NULL before the first launch */
    int given_up;    /* it gives no more sums */
    pthread_t aborter;
    int aborting;    /* the aborter is at work */
};

_Static_assert (sizeof (ncclUniqueId) == AR_NCCL_ID_BYTES, "an id is a card's");

static const struct cuda_symbol symbols[] = {
    { "ncclGetVersion", offsetof (struct ar_nccl, get_version) },
    { "ncclGetUniqueId", offsetof (struct ar_nccl, get_id) },
    { "ncclCommInitRankConfig", offsetof (struct ar_nccl, init) },
    { "ncclCommAbort", offsetof (struct ar_nccl, abort) },
    { "ncclCommGetAsyncError", offsetof (struct ar_nccl, state) },
    { "ncclAllReduce", offsetof (struct ar_nccl, all_reduce) },
    { "ncclGetErrorString", offsetof (struct ar_nccl, text) },
};

int ar_nccl_new (struct ar_nccl **ret, struct dt_backend_error *err)
{
    struct ar_nccl *n = calloc (1, sizeof *n);
    int r;

    if (!n)
        return cuda_fail (err, -ENOMEM, "allreduce: out of memory");
    if ((r = cuda_library_load ("libnccl.so.2", symbols, ARRAY_SIZE (symbols), n, err)) < 0) {
        free (n);
        return r;
    }
    *ret = n;
    return 0;
}

struct ar_nccl *ar_nccl_free (struct ar_nccl *n)
{
    if (n && n->aborting)
        pthread_join (n->aborter, NULL);
    else if (n && n->comm)
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
    ncclResult_t e = n->get_id (&unique);

    if (e != ncclSuccess)
        return cuda_fail (err, -DT_BACKEND_EDEVICE, "NCCL: id: %s (%d)", n->text (e), (int)e);
    memcpy (id, &unique, sizeof unique);
    return 0;
}

void ar_nccl_join (struct ar_nccl *n, const char id[AR_NCCL_ID_BYTES], uint32_t rank, uint32_t ranks,
                   uint64_t timeout_ns)
{
    memcpy (&n->id, id, sizeof n->id);
    n->rank = (int)rank;
    n->ranks = (int)ranks;
    n->timeout_ns = timeout_ns;
}

static void *abort_main (void *user)
{
    struct ar_nccl *n = user;

    cudaSetDevice (n->device); /* a thread begins on device 0, which may be another rank's */
    n->abort (n->comm);
    return NULL;
}

/* No more sums of this group, and what runs on the device is told to end.  In a thread:
 * abort also waits until no graph is left that has a call of the group in it. */
static void give_up (struct ar_nccl *n)
{
    if (n->comm && !n->given_up)
        n->aborting = pthread_create (&n->aborter, NULL, abort_main, n) == 0;
    n->given_up = 1;
}

static int rank_lost (const char *what, struct dt_backend_error *err)
{
    return cuda_fail (err, -DT_BACKEND_EPEER, "NCCL: %s: a rank is lost", what);
}

static int check (const struct ar_nccl *n, ncclResult_t e, const char *what,
                  struct dt_backend_error *err)
{
    if (e == ncclSuccess)
        return 0;
    if (e == ncclRemoteError)
        return rank_lost (what, err);
    return cuda_fail (err, -DT_BACKEND_EDEVICE, "NCCL: %s: %s (%d)", what, n->text (e), (int)e);
}

static int is_late (const struct ar_nccl *n, uint64_t begin)
{
    return cuda_host_ns () - begin > n->timeout_ns;
}

static void pause_since (uint64_t begin)
{
    struct timespec t = { .tv_nsec = PAUSE_NS };

    if (cuda_host_ns () - begin < SPIN_NS)
        sched_yield ();
    else
        nanosleep (&t, NULL);
}

/* Until NCCL has done what it was asked for, of which `e` is the first word. */
static int settle (struct ar_nccl *n, ncclResult_t e, const char *what, struct dt_backend_error *err)
{
    uint64_t begin = cuda_host_ns ();
    ncclResult_t state = e;

    while (e == ncclSuccess || e == ncclInProgress) {
        if (state != ncclInProgress)
            return check (n, state, what, err);
        if (is_late (n, begin))
            return rank_lost (what, err);
        pause_since (begin);
        e = n->state (n->comm, &state);
    }
    return check (n, e, what, err);
}

/* What NCCL reads from the environment alone, when a group is made.  Sums in the switch
 * have no stated order. */
static const char *const settings[][2] = { { "NCCL_ALGO", "Tree" }, { "NCCL_NVLS_ENABLE", "0" } };

static void restore (char *was[ARRAY_SIZE (settings)])
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE (settings); i++) {
        if (was[i])
            setenv (settings[i][0], was[i], 1);
        else
            unsetenv (settings[i][0]);
        free (was[i]);
    }
}

static int set (char *was[ARRAY_SIZE (settings)], struct dt_backend_error *err)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE (settings); i++) {
        const char *v = getenv (settings[i][0]);

        if (v && !(was[i] = strdup (v)))
            goto fail;
    }
    for (i = 0; i < ARRAY_SIZE (settings); i++)
        if (setenv (settings[i][0], settings[i][1], 1) < 0) {
            restore (was);
            return cuda_fail (err, -ENOMEM, "NCCL: group: out of memory");
        }
    return 0;
fail:
    while (i-- > 0)
        free (was[i]);
    return cuda_fail (err, -ENOMEM, "NCCL: group: out of memory");
}

static int make_group (struct ar_nccl *n, struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    char *was[ARRAY_SIZE (settings)] = { NULL };
    int r;

    config.blocking = 0;
    config.minCTAs = config.maxCTAs = 1;
    if ((r = set (was, err)) < 0)
        return r;
    n->device = ctx->device;
    r = settle (n, n->init (&n->comm, n->ranks, n->id, n->rank, &config), "group", err);
    restore (was); /* before threads that read them are told to end */
    return r;
}

int ar_nccl_launch (struct ar_nccl *n, struct dt_backend_ctx *ctx, const void *x, void *out,
                    size_t elements, int bf16, struct dt_backend_error *err)
{
    int r = 0;

    if (n->given_up)
        return rank_lost ("all-reduce", err);
    if (!n->comm)
        r = make_group (n, ctx, err);
    if (r == 0)
        r = settle (n, n->all_reduce (x, out, elements, bf16 ? ncclBfloat16 : ncclFloat32, ncclSum,
                                      n->comm, ctx->stream), "all-reduce", err);
    if (r < 0)
        give_up (n);
    return r;
}

/* The error that NCCL met meanwhile, or ncclSuccess. */
static ncclResult_t state_of (const struct ar_nccl *n)
{
    ncclResult_t state = ncclSuccess, e = n->state (n->comm, &state);

    if (e != ncclSuccess)
        state = e;
    return state == ncclInProgress ? ncclSuccess : state;
}

/* Once it is given up, for what runs on the device to end. */
static void see_it_end (cudaStream_t stream)
{
    uint64_t begin = cuda_host_ns ();

    while (cudaStreamQuery (stream) == cudaErrorNotReady && cuda_host_ns () - begin <= GIVE_UP_NS)
        pause_since (begin);
}

int ar_nccl_wait (struct ar_nccl *n, struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    uint64_t begin = cuda_host_ns ();
    ncclResult_t state = ncclSuccess;
    cudaError_t e;
    int r;

    while ((e = cudaStreamQuery (ctx->stream)) == cudaErrorNotReady
           && (state = state_of (n)) == ncclSuccess && !is_late (n, begin))
        pause_since (begin);
    if (e != cudaErrorNotReady) {
        cudaGetLastError (); /* not ready is no error of the next call's */
        return cuda_check (ctx, e, "run", err);
    }
    r = state == ncclSuccess ? rank_lost ("all-reduce", err) : check (n, state, "all-reduce", err);
    give_up (n);
    see_it_end (ctx->stream);
    cudaGetLastError ();
    return r;
}
