/* Buffers of the device, as the interface has them. */
#include "kernels/cuda/memory.h"

#include <errno.h>
#include <stdio.h>

int cuda_use (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    if (ctx->dead[0])
        return cuda_fail (err, -DT_BACKEND_ELOST, "device %d gives no more answers since %s; a new"
                          " process may", ctx->device, ctx->dead);
    return cuda_check (ctx, cudaSetDevice (ctx->device), "cuda: device", err);
}

int cuda_alloc (struct dt_backend_ctx *ctx, size_t bytes, void **ret, struct dt_backend_error *err)
{
    char what[64];
    cudaError_t e;
    void *p = NULL;
    int r;

    if ((r = cuda_use (ctx, err)) < 0)
        return r;
    snprintf (what, sizeof what, "cuda: memory for %zu bytes", bytes);
    e = cudaMalloc (&p, bytes ? bytes : 1);
    if ((r = cuda_check (ctx, e, what, err)) < 0)
        return e == cudaErrorMemoryAllocation ? -ENOMEM : r;
    *ret = p;
    return 0;
}

void cuda_release (struct dt_backend_ctx *ctx, void *buffer)
{
    if (!buffer)
        return;
    cudaSetDevice (ctx->device);
    cudaFree (buffer);
}

int cuda_set (struct dt_backend_ctx *ctx, void *buffer, int byte, size_t bytes,
              struct dt_backend_error *err)
{
    int r;

    if (bytes == 0)
        return 0;
    if (!buffer)
        return cuda_fail (err, -EINVAL, "cuda: set %zu bytes of no buffer", bytes);
    if ((r = cuda_use (ctx, err)) < 0
        || (r = cuda_check (ctx, cudaMemsetAsync (buffer, byte, bytes, ctx->stream), "cuda: set",
                            err)) < 0)
        return r;
    return cuda_check (ctx, cudaStreamSynchronize (ctx->stream), "cuda: set", err);
}

int cuda_read (struct dt_backend_ctx *ctx, const void *output, size_t offset, size_t bytes,
               void *ret, struct dt_backend_error *err)
{
    int r;

    if (bytes == 0)
        return 0;
    if (!output || !ret)
        return cuda_fail (err, -EINVAL, "cuda: read of %zu bytes at %zu without a buffer", bytes,
                          offset);
    if ((r = cuda_use (ctx, err)) < 0
        || (r = cuda_check (ctx, cudaMemcpyAsync (ret, (const char *)output + offset, bytes,
                            cudaMemcpyDeviceToHost, ctx->stream), "cuda: read", err)) < 0)
        return r;
    return cuda_check (ctx, cudaStreamSynchronize (ctx->stream), "cuda: read", err);
}
