/* cuda/sweep.h - an L2 cache that holds nothing of a call when its timed run starts.
 * Uses: the CUDA runtime.  Used by: kernels/cuda, kernels/gemm/cuda/scan.c, tests/gpu. */
#ifndef KERNELS_CUDA_SWEEP_H
#define KERNELS_CUDA_SWEEP_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* So many times the cache is read: once replaces it only if it replaces the oldest first,
 * which nobody promises.  tests/gpu/caches.c compares half, one, two and four times. */
#define CUDA_SWEEP_TIMES 2u

/* Read the buffer, which holds zeros, through the cache. */
cudaError_t cuda_sweep_launch (cudaStream_t stream, void *buffer, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
