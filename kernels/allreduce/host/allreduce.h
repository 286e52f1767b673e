/* allreduce/host/allreduce.h - the sizes and layout of one all-reduce.
 * Uses: kernels/host/host.h, kernels/host/team.h.  Used by: kernels/allreduce/host,
 * its tests. */
#ifndef KERNELS_ALLREDUCE_H
#define KERNELS_ALLREDUCE_H

#include "kernels/host/host.h"
#include "kernels/host/team.h"

/* How long a rank waits for another: far beyond any message, so that only a rank
 * that is gone exceeds it. */
#define AR_TIMEOUT_NS 20000000000u

enum ar_fact { AR_RANKS, AR_BF16, AR_MAX_BYTES, AR_N_FACTS };
enum ar_field { AR_BYTES, AR_CAPTURED, AR_N_FIELDS };
enum ar_param { AR_ORDER, AR_ALGORITHM, AR_CHUNK, AR_N_PARAMS };
enum ar_order { AR_BY_RANK, AR_RING };
enum ar_algorithm { AR_PUSH, AR_PULL, AR_TWO_SHOT };

/* A checked call.  The message is the requests' elements, one after the other; every
 * rank has one.  Offsets are in bytes from the start of the buffer.
 *
 * Operands:
 *   start    int64 [n_requests + 1]   first element of each request
 *   x        [ranks][n]
 * Output:    of each request [ranks][its elements], requests in the call's order:
 *            what each rank has received
 * Workspace:
 *   push     [ranks to][ranks from][n]
 *   two-shot [n]                       each piece written by its owner
 *   ring     float [ranks][n]          partial sums on their way */
struct ar_shape {
    size_t ranks, n_requests, n;
    int bf16;
    enum ar_order order;
    enum ar_algorithm algorithm;
    size_t chunk; /* elements of a piece */
    size_t start, x;
    struct host_size size;
};

/* Check a call and find its sizes.  Errors as `plan` of the interface. */
int ar_shape_init (struct ar_shape *ret, const struct dt_backend_call *call,
                   struct dt_backend_error *err);
int ar_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call, uint64_t scatter,
             void *operands, struct dt_backend_error *err);
int ar_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call, const void *operands,
            void *output, void *workspace, struct dt_backend_error *err);

static inline size_t ar_elem (const struct ar_shape *s)
{
    return s->bf16 ? 2 : 4;
}
#endif
