/* nccl.h - what Detent asks of NCCL, for a build where NCCL's own header is not: it is no part
 * of the CUDA toolkit.  Searched last, so that NCCL's own is taken where it is.
 *
 * NCCL's interface is stable: a structure says its size and version, and later versions
 * append.  This one is of 2.18; tests/gpu/test_cuda_host.c holds either header's numbers.
 * Uses: the CUDA runtime.  Used by: kernels/allreduce/cuda/nccl.c, bench/gpu_allreduce.c. */
#ifndef NCCL_H_
#define NCCL_H_

#include <cuda_runtime_api.h>
#include <limits.h>
#include <stddef.h>

typedef struct ncclComm *ncclComm_t;

#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum { ncclSuccess, ncclSystemError = 2, ncclRemoteError = 6, ncclInProgress } ncclResult_t;
typedef enum { ncclSum } ncclRedOp_t;
typedef enum { ncclFloat32 = 7, ncclBfloat16 = 9 } ncclDataType_t;

typedef struct {
    size_t size;
    unsigned magic, version;
    int blocking, cgaClusterSize, minCTAs, maxCTAs;
    const char *netName;
    int splitShare;
} ncclConfig_t;

/* What is INT_MIN or NULL is NCCL's to choose. */
#define NCCL_CONFIG_INITIALIZER \
    { sizeof (ncclConfig_t), 0xcafebeef, 21800, INT_MIN, INT_MIN, INT_MIN, INT_MIN, NULL, INT_MIN }

#endif
