/* gpu/trap.h - a kernel that ends the device's context with an error of the device.
 * Uses: the CUDA runtime.  Used by: tests/gpu/planted.c. */
#ifndef TESTS_GPU_TRAP_H
#define TESTS_GPU_TRAP_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C"
#endif
cudaError_t trap_launch (cudaStream_t stream);
#endif
