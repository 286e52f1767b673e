/* Operands, written on the device, and outputs request by request.
 *
 * Rank r's element j of a request follows from its seed, r and j alone:
 *   RANDOM  uniform in (-1, 1)
 *   SPREAD  the same times 2^-20 .. 2^19
 *   CANCEL  of each pair of ranks one has A and one -A, A up to 2^24, and the others
 *           values below 1; which rank plays which part changes from element to element
 * exchange d: the last rank and the d-th before it change places. */
#include <cuda_bf16.h>

#include "kernels/allreduce/cuda/allreduce.h"

#define THREADS 256
#define BLOCKS 2048u

struct layout {
    const int64_t *start;
    const uint64_t *seed;
    uint32_t n_requests, ranks, here, first, data, exchange;
    uint64_t n, vectors;
};

static __device__ uint64_t mix (uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The last i with start[i] <= at. */
static __device__ uint32_t find (const struct layout &l, uint64_t at)
{
    uint32_t lo = 0, hi = l.n_requests;

    while (hi - lo > 1) {
        uint32_t middle = lo + (hi - lo) / 2;

        if ((uint64_t)l.start[middle] <= at)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* In (-1, 1), exact in bf16. */
static __device__ float unit (uint64_t h)
{
    return (float)((int)(h >> 20 & 0xff) * 2 - 255) / 256.0f;
}

static __device__ float term (const struct layout &l, uint64_t seed, uint32_t rank, uint64_t j)
{
    uint64_t element = mix (mix (seed + 0x9e3779b97f4a7c15u) ^ j);
    uint32_t last = l.ranks - 1, part;

    if (l.exchange && l.exchange <= last)
        rank = rank == last ? last - l.exchange : rank == last - l.exchange ? last : rank;
    if (l.data != DT_BACKEND_CANCEL) {
        uint64_t h = mix (element ^ (rank + 1) * 0xc2b2ae3d27d4eb4fu);

        return l.data == DT_BACKEND_SPREAD ? ldexpf (unit (h), (int)(h >> 32) % 40 - 20) : unit (h);
    }
    part = (rank + (uint32_t)(element >> 8) % l.ranks) % l.ranks;
    if (part < 2 && l.ranks > 2)
        return ldexpf (part ? -1.5f : 1.5f, 20 + (int)(element >> 40) % 4);
    return unit (mix (element ^ (part + 1) * 0xc2b2ae3d27d4eb4fu));
}

static __device__ void put (uint16_t *out, float v)
{
    *out = __bfloat16_as_ushort (__float2bfloat16_rn (v));
}

static __device__ void put (float *out, float v)
{
    *out = v;
}

template <typename T> static __global__ void fill (const struct layout l, T *x)
{
    uint64_t each = l.vectors * (16 / sizeof (T)), i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

    for (; i < each * l.here; i += (uint64_t)gridDim.x * THREADS) {
        uint64_t at = i % each;
        uint32_t request = at < l.n ? find (l, at) : 0;

        put (&x[i], at < l.n ? term (l, l.seed[request], l.first + (uint32_t)(i / each),
                                     at - (uint64_t)l.start[request]) : 0.0f);
    }
}

template <typename T> static __global__ void gather (const struct layout l, const T *raw, T *out)
{
    uint64_t each = l.vectors * (16 / sizeof (T)), i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;

    for (; i < l.n * l.here; i += (uint64_t)gridDim.x * THREADS) {
        uint64_t at = i % l.n, rank = i / l.n;
        uint32_t request = find (l, at);
        uint64_t start = (uint64_t)l.start[request], length = (uint64_t)l.start[request + 1] - start;

        out[start * l.here + rank * length + (at - start)] = raw[rank * each + at];
    }
}

static struct layout layout_of (const struct ar_shape *s, const void *operands)
{
    const char *base = (const char *)operands;
    struct layout l = {};

    l.start = (const int64_t *)(base + s->start);
    l.seed = (const uint64_t *)(base + s->seed);
    l.n_requests = (uint32_t)s->n_requests;
    l.ranks = (uint32_t)s->ranks;
    l.here = (uint32_t)s->here;
    l.first = (uint32_t)s->first;
    l.n = s->n;
    l.vectors = s->vectors;
    return l;
}

static dim3 grid_of (uint64_t n)
{
    uint64_t blocks = (n + THREADS - 1) / THREADS;

    return dim3 (blocks < BLOCKS ? (unsigned)blocks : BLOCKS);
}

extern "C" cudaError_t ar_fill_launch (cudaStream_t stream, const struct ar_shape *s, uint32_t data,
                                       uint32_t exchange, void *operands)
{
    struct layout l = layout_of (s, operands);
    void *x = (char *)operands + s->x, *args[] = { &l, &x };
    size_t all = s->vectors * (s->bf16 ? 8 : 4) * s->here;

    if (all == 0)
        return cudaSuccess;
    l.data = data;
    l.exchange = exchange;
    return cudaLaunchKernel (s->bf16 ? (const void *)fill<uint16_t> : (const void *)fill<float>,
                             grid_of (all), dim3 (THREADS), args, 0, stream);
}

extern "C" cudaError_t ar_gather_launch (cudaStream_t stream, const struct ar_shape *s,
                                         const void *operands, const void *raw, void *output)
{
    struct layout l = layout_of (s, operands);
    void *args[] = { &l, &raw, &output };

    return cudaLaunchKernel (s->bf16 ? (const void *)gather<uint16_t> : (const void *)gather<float>,
                             grid_of (s->n * s->here), dim3 (THREADS), args, 0, stream);
}
