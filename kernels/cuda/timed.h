/* cuda/timed.h - running a call, with or without a clock.
 * Uses: cuda.h.  Used by: kernels/cuda, kernels/gemm/cuda/scan.c, tests/gpu. */
#ifndef KERNELS_CUDA_TIMED_H
#define KERNELS_CUDA_TIMED_H

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The call as its family launches it. */
struct cuda_run {
    const struct cuda_family *family;
    size_t slot;
    const struct dt_backend_call *call;
    const void *operands;
    void *output, *workspace;
};

/* Launch and wait; ctx->elapsed_ns is then by the host's clock, with the launch in it. */
int cuda_run_plain (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                    struct dt_backend_error *err);

/* The same as one CUDA graph, whose nodes say how many records are due, and set
 * ctx->elapsed_ns.  Calls of a group run several times in the graph, and the time is that
 * of one after the first.  Waits first, 1.5 s at most, while the device is slowed by heat or
 * power, or its SM clock is low.
 *   -EAGAIN              the run's records are not to be believed; another's may be
 *   -DT_BACKEND_EUNTRUSTED  no time that can be trusted: the text says why
 *   -EBUSY               another process computes on the device */
int cuda_run_timed (struct dt_backend_ctx *ctx, const struct cuda_run *run,
                    struct dt_backend_error *err);

/* Wait on the device for 'ns' before what comes next on the stream, so that the
 * host has queued it by then. */
cudaError_t cuda_delay_launch (cudaStream_t stream, uint64_t ns);

#ifdef __cplusplus
}
#endif
#endif
