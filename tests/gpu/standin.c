#include "tests/gpu/standin.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/cuda/sweep.h"
#include "kernels/cuda/timed.h"
#include "kernels/gemm/cuda/gemm.h"

struct standin standin;

/* A device whose memory is the host's; what a stream is told is done at once. */
static cudaError_t met (const char *call)
{
    size_t n = strlen (standin.calls);

    snprintf (standin.calls + n, sizeof standin.calls - n, "%s ", call);
    return standin.fails && strcmp (standin.fails, call) == 0 ? (cudaError_t)standin.with
                                                              : cudaSuccess;
}

#define STANDIN(name, ...) \
    cudaError_t __wrap_##name (__VA_ARGS__); \
    cudaError_t __wrap_##name (__VA_ARGS__)
/* A call of which nothing comes but its result. */
#define PLAIN(name, ...) STANDIN (name, __VA_ARGS__) { return met (#name); }

#pragma GCC diagnostic ignored "-Wunused-parameter"

PLAIN (cudaSetDevice, int device)
PLAIN (cudaStreamCreateWithFlags, cudaStream_t *stream, unsigned flags)
PLAIN (cudaStreamDestroy, cudaStream_t stream)
PLAIN (cudaStreamSynchronize, cudaStream_t stream)
PLAIN (cudaStreamQuery, cudaStream_t stream)
PLAIN (cudaStreamBeginCapture, cudaStream_t stream, enum cudaStreamCaptureMode mode)
PLAIN (cudaStreamEndCapture, cudaStream_t stream, cudaGraph_t *graph)
PLAIN (cudaGraphInstantiate, cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
PLAIN (cudaGraphUpload, cudaGraphExec_t exec, cudaStream_t stream)
PLAIN (cudaGraphLaunch, cudaGraphExec_t exec, cudaStream_t stream)
PLAIN (cudaEventCreate, cudaEvent_t *event)
PLAIN (cudaEventDestroy, cudaEvent_t event)
PLAIN (cudaEventRecord, cudaEvent_t event, cudaStream_t stream)
PLAIN (cudaFreeHost, void *p)
PLAIN (cudaMemset, void *p, int byte, size_t bytes)
PLAIN (cudaDeviceSynchronize, void)
PLAIN (cudaIpcGetMemHandle, cudaIpcMemHandle_t *handle, void *p)
PLAIN (cudaIpcCloseMemHandle, void *p)
PLAIN (cuda_delay_launch, cudaStream_t stream, uint64_t ns)
PLAIN (gemm_fill_launch, cudaStream_t stream, const struct gemm_shape *s,
       const struct gemm_terms *terms, void *operands)
PLAIN (gemm_chain_launch, cudaStream_t stream, const struct gemm_shape *s, const void *x,
       const void *w, void *y, void *workspace)

STANDIN (cudaIpcOpenMemHandle, void **p, cudaIpcMemHandle_t handle, unsigned flags)
{
    static char theirs;

    *p = &theirs;
    return met ("cudaIpcOpenMemHandle");
}

STANDIN (cudaGetDeviceCount, int *n)
{
    *n = 1;
    return met ("cudaGetDeviceCount");
}

STANDIN (cudaDriverGetVersion, int *version)
{
    *version = standin.driver;
    return met ("cudaDriverGetVersion");
}

STANDIN (cudaGetDeviceProperties, struct cudaDeviceProp *prop, int device)
{
    memset (prop, 0, sizeof *prop);
    snprintf (prop->name, sizeof prop->name, "stand-in");
    prop->major = 9;
    prop->multiProcessorCount = 132;
    prop->l2CacheSize = 60 << 20;
    return met ("cudaGetDeviceProperties");
}

STANDIN (cudaDeviceGetPCIBusId, char *text, int size, int device)
{
    snprintf (text, (size_t)size, "0000:1b:00.0");
    return met ("cudaDeviceGetPCIBusId");
}

STANDIN (cudaMalloc, void **p, size_t bytes)
{
    cudaError_t e = met ("cudaMalloc");

    if (e == cudaSuccess && !(*p = malloc (bytes)))
        e = cudaErrorMemoryAllocation;
    return e;
}

STANDIN (cudaFree, void *p)
{
    free (p);
    return met ("cudaFree");
}

STANDIN (cudaHostAlloc, void **p, size_t bytes, unsigned flags)
{
    static uint32_t word[16];

    *p = word;
    return met ("cudaHostAlloc");
}

STANDIN (cudaHostGetDevicePointer, void **device, void *host, unsigned flags)
{
    *device = host;
    return met ("cudaHostGetDevicePointer");
}

STANDIN (cudaMemsetAsync, void *p, int byte, size_t bytes, cudaStream_t stream)
{
    return met ("cudaMemsetAsync");
}

STANDIN (cudaMemcpyAsync, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
         cudaStream_t stream)
{
    return met ("cudaMemcpyAsync");
}

/* One kernel. */
STANDIN (cudaGraphGetNodes, cudaGraph_t graph, cudaGraphNode_t *node, size_t *n)
{
    *n = 1;
    return met ("cudaGraphGetNodes");
}

STANDIN (cudaGraphNodeGetType, cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    *type = cudaGraphNodeTypeKernel;
    return met ("cudaGraphNodeGetType");
}

STANDIN (cudaEventElapsedTime, float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    *ms = 0.5f;
    return met ("cudaEventElapsedTime");
}

STANDIN (cuda_sweep_launch, cudaStream_t stream, void *buffer, size_t bytes)
{
    standin.swept_bytes = bytes;
    return met ("cuda_sweep_launch");
}

STANDIN (ar_load, size_t *resident, int *overlap)
{
    *resident = *overlap = 264;
    return met ("ar_load");
}
