/* cuda/plant.h - faults of the device and of its clock, which the checks on a GPU plant.
 *
 * Only the test build of the backend defines DT_PLANT, and has these from
 * tests/gpu/planted.c; in the shipped one each does nothing.
 * Uses: clock.h, nvml.h.  Used by: kernels/cuda. */
#ifndef KERNELS_CUDA_PLANT_H
#define KERNELS_CUDA_PLANT_H

#include "kernels/cuda/clock.h"
#include "kernels/cuda/nvml.h"

#ifdef DT_PLANT
cudaError_t cuda_plant_open (int device);              /* as if starting the device said so */
cudaError_t cuda_plant_launch (cudaStream_t stream);   /* as if a launch did, or in its place */
int cuda_plant_state (int e, struct cuda_nvml_state *s); /* what NVML says of the device */
void cuda_plant_cupti (struct cuda_cupti *api);
#else
static inline cudaError_t cuda_plant_open (int device)
{
    (void)device;
    return cudaSuccess;
}

static inline cudaError_t cuda_plant_launch (cudaStream_t stream)
{
    (void)stream;
    return cudaSuccess;
}

static inline int cuda_plant_state (int e, struct cuda_nvml_state *s)
{
    (void)s;
    return e;
}

static inline void cuda_plant_cupti (struct cuda_cupti *api)
{
    (void)api;
}
#endif
#endif
