/* A kernel that only reads, so that nothing of what was there stays in the L2 cache. */
#include "kernels/cuda/sweep.h"

#define THREADS 256
#define BLOCKS 1024u

/* Reads, not writes: lines that are to be written back would slow the run that comes.  The
 * store keeps the compiler from leaving the loads out; zeros are all that is ever there. */
static __global__ void __launch_bounds__ (THREADS) sweep (uint4 *buffer, size_t n)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    unsigned all = 0;

    for (; i < n; i += (size_t)gridDim.x * THREADS) {
        uint4 v = __ldcg (buffer + i);

        all |= v.x | v.y | v.z | v.w;
    }
    if (all)
        buffer[0].x = all;
}

extern "C" cudaError_t cuda_sweep_launch (cudaStream_t stream, void *buffer, size_t bytes)
{
    size_t n = bytes / sizeof (uint4);
    void *args[] = { &buffer, &n };

    return cudaLaunchKernel ((const void *)sweep, dim3 (BLOCKS), dim3 (THREADS), args, 0, stream);
}
