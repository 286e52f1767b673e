/* The reference: each output is one ascending chain of K steps of 16 into one fp32
 * accumulator, rounded once.  Slow and simple; what cuBLASLt's configurations are
 * held against. */
#include "kernels/gemm/cuda/gemm.h"
#include "kernels/gemm/cuda/plant.h"

/* A warp computes 16 rows of x by 32 rows of w; a block is four warps, 64 by 32. */
#define STEP 16u
#define WARP_ROWS 16u
#define WARP_TILES 4u
#define WARP_COLUMNS (8u * WARP_TILES)
#define WARPS 4u

struct chain {
    const uint16_t *x, *w;
    void *y;
    const float *workspace; /* planted fault only */
    uint32_t rows, n, k;
    int output_bf16, pair;
};

/* Two neighbouring bf16 of a row, or zeros outside the matrix. */
static __device__ __forceinline__ uint32_t load2 (const uint16_t *m, uint32_t row, uint32_t rows,
                                                  uint32_t j, uint32_t k)
{
    if (row >= rows || j >= k)
        return 0;
    return *(const uint32_t *)(m + (size_t)row * k + j);
}

static __device__ __forceinline__ void multiply (float c[4], const uint32_t a[4],
                                                 const uint32_t b[2])
{
    asm volatile ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                  "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                  : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                  : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* To bf16, ties to even; NaN stays NaN. */
static __device__ __forceinline__ uint16_t round_bf16 (float v)
{
    uint32_t u = __float_as_uint (v);

    if ((u & 0x7fffffffu) > 0x7f800000u)
        return 0x7fff;
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

static __device__ __forceinline__ void store (const struct chain &c, uint32_t row, uint32_t column,
                                              float v)
{
    size_t at = (size_t)row * c.n + column;

    if (row >= c.rows || column >= c.n)
        return;
    if (c.workspace)
        v += c.workspace[at % 1024];
    if (c.output_bf16)
        ((uint16_t *)c.y)[at] = round_bf16 (v);
    else
        ((float *)c.y)[at] = v;
}

static __global__ void __launch_bounds__ (32 * WARPS) chain (const struct chain c)
{
    uint32_t lane = threadIdx.x % 32, group = lane / 4, two = lane % 4 * 2;
    uint32_t row = (blockIdx.y * WARPS + threadIdx.x / 32) * WARP_ROWS + group;
    uint32_t column = blockIdx.x * WARP_COLUMNS, j, t, i;
    float sum[2][WARP_TILES][4] = {};

    for (j = 0; j < c.k; j += STEP) {
        uint32_t a[4] = { load2 (c.x, row, c.rows, j + two, c.k),
                          load2 (c.x, row + 8, c.rows, j + two, c.k),
                          load2 (c.x, row, c.rows, j + two + 8, c.k),
                          load2 (c.x, row + 8, c.rows, j + two + 8, c.k) };

#pragma unroll
        for (t = 0; t < WARP_TILES; t++) {
            uint32_t at = column + t * 8 + group;
            uint32_t b[2] = { load2 (c.w, at, c.n, j + two, c.k),
                              load2 (c.w, at, c.n, j + two + 8, c.k) };

            if (c.pair && j / STEP % 2)
                multiply (sum[1][t], a, b);
            else
                multiply (sum[0][t], a, b);
        }
    }
#pragma unroll
    for (t = 0; t < WARP_TILES; t++)
#pragma unroll
        for (i = 0; i < 4; i++) {
            float v = c.pair ? sum[0][t][i] + sum[1][t][i] : sum[0][t][i];

            store (c, row + i / 2 * 8, column + t * 8 + two + i % 2, v);
        }
}

extern "C" cudaError_t gemm_chain_launch (cudaStream_t stream, const struct gemm_shape *s,
                                          const void *x, const void *w, void *y, void *workspace)
{
    size_t rows = (s->rows + WARPS * WARP_ROWS - 1) / (WARPS * WARP_ROWS);
    size_t columns = (s->n + WARP_COLUMNS - 1) / WARP_COLUMNS;
    struct chain c = {};
    void *args[] = { &c };

    c.x = (const uint16_t *)x;
    c.w = (const uint16_t *)w;
    c.y = y;
    c.workspace = PLANTED (WORKSPACE) ? (const float *)workspace : NULL;
    c.rows = (uint32_t)s->rows;
    c.n = (uint32_t)s->n;
    c.k = (uint32_t)s->k;
    c.output_bf16 = s->output_bf16;
    c.pair = PLANTED (EPILOGUE) && s->rows > 64;
    return cudaLaunchKernel ((const void *)chain, dim3 ((unsigned)columns, (unsigned)rows),
                             dim3 (32 * WARPS), args, 0, stream);
}
