#include "tests/gpu/trap.h"

static __global__ void trap (void)
{
    __trap ();
}

extern "C" cudaError_t trap_launch (cudaStream_t stream)
{
    return cudaLaunchKernel ((const void *)trap, dim3 (1), dim3 (1), NULL, 0, stream);
}
