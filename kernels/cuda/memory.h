/* cuda/memory.h - the device of a context, and its buffers: alloc, free, set and read of
 * include/detent/backend.h.
 * Uses: cuda.h.  Used by: kernels/cuda/backend.c, kernels/allreduce/cuda/group.c. */
#ifndef KERNELS_CUDA_MEMORY_H
#define KERNELS_CUDA_MEMORY_H

#include "kernels/cuda/cuda.h"

/* Make the context's device the current one.
 *   -DT_BACKEND_ELOST  an error ended the context before */
int cuda_use (struct dt_backend_ctx *ctx, struct dt_backend_error *err);

/*   -ENOMEM  there is none left: what else fails has its error's name */
int cuda_alloc (struct dt_backend_ctx *ctx, size_t bytes, void **ret, struct dt_backend_error *err);
void cuda_release (struct dt_backend_ctx *ctx, void *buffer);
int cuda_set (struct dt_backend_ctx *ctx, void *buffer, int byte, size_t bytes,
              struct dt_backend_error *err);
int cuda_read (struct dt_backend_ctx *ctx, const void *output, size_t offset, size_t bytes,
               void *ret, struct dt_backend_error *err);
#endif
