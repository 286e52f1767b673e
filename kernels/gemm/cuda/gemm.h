/* gemm/cuda/gemm.h - y = x W^T in bf16 on the tensor cores: schema, sizes, kernels.
 * Uses: cuda.h, data.h.  Used by: kernels/gemm/cuda, tests/gpu. */
#ifndef KERNELS_GEMM_CUDA_H
#define KERNELS_GEMM_CUDA_H

#include "kernels/cuda/cuda.h"
#include "kernels/gemm/cuda/data.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GEMM_N, GEMM_K, GEMM_OUTPUT_BF16, GEMM_N_FACTS };
enum { GEMM_TOKENS, GEMM_N_FIELDS };
enum { GEMM_SPLITS, GEMM_CONFIG, GEMM_PAD, GEMM_N_PARAMS };

/* The library's own pick for the call, whatever order that has: a peer to compare
 * with, which no program returns. */
#define GEMM_SPLIT_LIBRARY 0
/* Our own kernel, one chain in the canonical order; what configurations are held
 * against. */
#define GEMM_CONFIG_CHAIN 0
/* Rows are padded to at most this multiple. */
#define GEMM_MAX_PAD 256u
/* Most rows of one call. */
#define GEMM_MAX_TOKENS ((size_t)1 << 20)
/* What cuBLASLt may use; fixed, so that no choice follows what is free. */
#define GEMM_WORKSPACE_BYTES ((size_t)32 << 20)

enum gemm_stream { GEMM_STREAM_X = 1, GEMM_STREAM_W };

/* A checked call.  Offsets are in bytes within the operands:
 *   start [n_requests + 1]  rows of the requests     seed [n_requests]
 *   x [x_rows][k]   w [n][k]   both bf16
 * Rows past 'tokens' are NaN: a kernel that lets rows mix shows it. */
struct gemm_shape {
    size_t n, k, tokens, rows, x_rows, n_requests;
    int output_bf16, splits, config;
    size_t start, seed, x, w;
    size_t operand_bytes, output_bytes, workspace_bytes;
    uint64_t launch[2];
};

int gemm_shape_init (struct gemm_shape *ret, const struct dt_backend_call *call,
                     struct dt_backend_error *err);
void gemm_terms_init (struct gemm_terms *ret, const struct gemm_shape *s, uint32_t data,
                      uint32_t exchange);

/* Kernels; queued on the stream. */
cudaError_t gemm_fill_launch (cudaStream_t stream, const struct gemm_shape *s,
                              const struct gemm_terms *terms, void *operands);
cudaError_t gemm_chain_launch (cudaStream_t stream, const struct gemm_shape *s, const void *x,
                               const void *w, void *y, void *workspace);
/* Add to '*count' (device memory) the elements in which a and b differ. */
cudaError_t gemm_compare_launch (cudaStream_t stream, const void *a, const void *b,
                                 size_t bytes, int output_bf16, unsigned long long *count);

#ifdef __cplusplus
}
#endif
#endif
