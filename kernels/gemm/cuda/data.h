/* gemm/cuda/data.h - the operands of a product, element by element, the same on
 * the host and on the device.
 * Uses: nothing.  Used by: kernels/gemm/cuda, tests/gpu. */
#ifndef KERNELS_GEMM_CUDA_DATA_H
#define KERNELS_GEMM_CUDA_DATA_H

#include <stdint.h>

#ifdef __CUDACC__
#define GEMM_BOTH static __host__ __device__ __forceinline__
#else
#define GEMM_BOTH static inline
#endif

enum gemm_data { GEMM_RANDOM, GEMM_CANCEL, GEMM_SPREAD };

/* What every element of one operand shares.
 *   CANCEL   row = [v, -Pv] of the tokens, [u, Pu] of the weights, P: i -> (a i + b)
 *            mod half, so that the exact sum is 0
 *   exchange d: the last term and the one d before it change places, in both */
struct gemm_terms {
    uint32_t k, half, a, b;
    uint32_t data;     /* enum gemm_data */
    uint32_t exchange; /* 0: none */
};

GEMM_BOTH uint64_t gemm_mix (uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The key of one row: of a request's token, or of the weights (seed 0, stream 2). */
GEMM_BOTH uint64_t gemm_row_key (uint64_t seed, uint64_t stream, uint64_t row)
{
    return gemm_mix (gemm_mix (seed + 0x9e3779b97f4a7c15u * stream) ^ row);
}

GEMM_BOTH uint32_t gemm_hash (uint64_t key, uint32_t j)
{
    uint32_t h = (uint32_t)key + j * 0x9e3779b9u;

    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15) ^ (uint32_t)(key >> 32)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

/* bf16 bits of a uniform value in (-1, 1), never 0 and exact: 7 bits and a sign, times
 * 2^scale. */
GEMM_BOTH uint16_t gemm_value (uint32_t h, int scale)
{
    uint32_t mantissa = h & 0x7f, exponent = 126 - (h >> 7 & 3) + (uint32_t)scale;

    return (uint16_t)((h >> 16 & 0x8000) | exponent << 7 | mantissa);
}

/* Term j of the row with this key; 'negate' for the tokens' second half. */
GEMM_BOTH uint16_t gemm_term (const struct gemm_terms *t, uint64_t key, uint32_t j, int negate)
{
    uint32_t last = t->k - 1, h;

    if (t->exchange && t->exchange <= last) {
        if (j == last)
            j = last - t->exchange;
        else if (j == last - t->exchange)
            j = last;
    }
    if (t->data != GEMM_CANCEL) {
        h = gemm_hash (key, j);
        /* SPREAD: exponents over 40 binades, on the tokens' side alone. */
        return gemm_value (h, t->data == GEMM_SPREAD && negate ? (int)(h >> 9 & 0x7f) % 40 - 20 : 0);
    }
    if (j >= 2 * t->half)
        return 0;
    if (j < t->half)
        return gemm_value (gemm_hash (key, j), 0);
    j = (uint32_t)(((uint64_t)t->a * (j - t->half) + t->b) % t->half);
    return (uint16_t)(gemm_value (gemm_hash (key, j), 0) ^ (negate ? 0x8000 : 0));
}
#endif
