/* gpu/must.h - CUDA's own calls in checks on a GPU, which end the process if one fails. */
#ifndef TESTS_GPU_MUST_H
#define TESTS_GPU_MUST_H

#include <cuda_runtime_api.h>

#include "tests/gpu/verdict.h"

static inline void gpu_must (cudaError_t e, const char *what)
{
    if (e != cudaSuccess)
        gpu_die (what, cudaGetErrorString (e));
}
#endif
