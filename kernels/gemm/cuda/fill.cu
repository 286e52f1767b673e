/* Operands, written on the device, and the comparison of outputs there. */
#include "kernels/gemm/cuda/gemm.h"

#define FILL_THREADS 256
#define FILL_BLOCKS 4096u
#define NAN_BF16 0x7fffu

struct fill {
    struct gemm_terms terms;
    const int64_t *start;
    const uint64_t *seed;
    uint32_t n_requests;
    uint64_t tokens, x_rows, n;
    uint16_t *x, *w;
};

/* The last i with start[i] <= row. */
static __device__ uint32_t find (const int64_t *start, uint32_t n, uint64_t row)
{
    uint32_t lo = 0, hi = n;

    while (hi - lo > 1) {
        uint32_t middle = lo + (hi - lo) / 2;

        if ((uint64_t)start[middle] <= row)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* One block per row, in steps of the grid: the tokens' rows, then the weights'. */
static __global__ void __launch_bounds__ (FILL_THREADS) fill (const struct fill f)
{
    uint64_t row;
    uint32_t j;

    for (row = blockIdx.x; row < f.x_rows + f.n; row += gridDim.x) {
        int is_x = row < f.x_rows;
        uint16_t *out = is_x ? f.x + row * f.terms.k : f.w + (row - f.x_rows) * f.terms.k;
        uint64_t key = 0;

        if (is_x && row < f.tokens) {
            uint32_t i = find (f.start, f.n_requests, row);

            key = gemm_row_key (f.seed[i], GEMM_STREAM_X, row - (uint64_t)f.start[i]);
        } else if (!is_x)
            key = gemm_row_key (0, GEMM_STREAM_W, row - f.x_rows);
        for (j = threadIdx.x; j < f.terms.k; j += FILL_THREADS)
            out[j] = is_x && row >= f.tokens ? NAN_BF16 : gemm_term (&f.terms, key, j, is_x);
    }
}

extern "C" cudaError_t gemm_fill_launch (cudaStream_t stream, const struct gemm_shape *s,
                                         const struct gemm_terms *terms, void *operands)
{
    char *base = (char *)operands;
    size_t all = s->x_rows + s->n;
    struct fill f = {};
    void *args[] = { &f };

    f.terms = *terms;
    f.start = (const int64_t *)(base + s->start);
    f.seed = (const uint64_t *)(base + s->seed);
    f.n_requests = (uint32_t)s->n_requests;
    f.tokens = s->tokens;
    f.x_rows = s->x_rows;
    f.n = s->n;
    f.x = (uint16_t *)(base + s->x);
    f.w = (uint16_t *)(base + s->w);
    return cudaLaunchKernel ((const void *)fill, dim3 (all < FILL_BLOCKS ? (unsigned)all : FILL_BLOCKS),
                             dim3 (FILL_THREADS), args, 0, stream);
}

template <typename T>
static __global__ void __launch_bounds__ (FILL_THREADS)
compare (const T *a, const T *b, size_t n, unsigned long long *count)
{
    size_t i = (size_t)blockIdx.x * FILL_THREADS + threadIdx.x;
    unsigned long long differ = 0;

    for (; i < n; i += (size_t)gridDim.x * FILL_THREADS)
        differ += a[i] != b[i];
    if (differ)
        atomicAdd (count, differ);
}

extern "C" cudaError_t gemm_compare_launch (cudaStream_t stream, const void *a, const void *b,
                                            size_t bytes, int output_bf16,
                                            unsigned long long *count)
{
    size_t n = bytes / (output_bf16 ? 2 : 4), blocks = (n + FILL_THREADS - 1) / FILL_THREADS;
    void *args[] = { &a, &b, &n, &count };
    const void *kernel = output_bf16 ? (const void *)compare<uint16_t>
                                     : (const void *)compare<uint32_t>;

    if (n == 0)
        return cudaSuccess; /* a zero grid is a launch error; an empty comparison is not */
    return cudaLaunchKernel (kernel, dim3 (blocks < FILL_BLOCKS ? (unsigned)blocks : FILL_BLOCKS),
                             dim3 (FILL_THREADS), args, 0, stream);
}
