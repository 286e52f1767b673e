/* host/lanes.h - vectors of 8 lanes, and the functions kernels build on.
 * Uses: nothing.  Used by: kernels/<family>/host.
 *
 * Vectors are of 8 lanes whatever the processor has, and every operation is one
 * IEEE operation (the build forbids contraction): so a file that includes this has
 * the same bits for every instruction set and optimisation level.  Names are bare,
 * for all of it is inlined into kernels. */
#ifndef KERNELS_HOST_LANES_H
#define KERNELS_HOST_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Vectors are passed between inlined functions only. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define LANES 8
#define INLINE static inline __attribute__ ((always_inline))

typedef float v8 __attribute__ ((vector_size (32)));
typedef int32_t i8 __attribute__ ((vector_size (32)));
typedef uint32_t u8 __attribute__ ((vector_size (32)));
typedef uint16_t h8 __attribute__ ((vector_size (16)));

/* Unaligned; memcpy of a vector's size is one load. */
INLINE v8 load (const float *p)
{
    v8 x;

    memcpy (&x, p, sizeof x);
    return x;
}

INLINE void store (float *p, v8 x)
{
    memcpy (p, &x, sizeof x);
}

INLINE v8 splat (float x)
{
    return (v8){ x, x, x, x, x, x, x, x };
}

/* mask ? a : b in each lane. */
INLINE v8 pick (i8 mask, v8 a, v8 b)
{
    return (v8)(((i8)a & mask) | ((i8)b & ~mask));
}

INLINE v8 larger (v8 a, v8 b)
{
    return pick (a > b, a, b);
}

/* The fixed tree over lanes: halves, then quarters, then the pair. */
INLINE float sum_lanes (v8 x)
{
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

INLINE float max_lanes (v8 x)
{
    float m = x[0];
    int i;

    for (i = 1; i < LANES; i++)
        m = x[i] > m ? x[i] : m;
    return m;
}

/* 2^x for x <= 0, within 2 ulp; exactly 1 at 0, and 0 below -125 (so at -inf),
 * which leaves out subnormal results.  NaN stays NaN.
 * 2^f - 1 = f * c(f), interpolated at Chebyshev's points of [-1/2, 1/2]. */
INLINE v8 exp2_lanes (v8 x)
{
    const v8 magic = splat (0x1.8p23f); /* adding it rounds to an integer */
    i8 small = x < splat (-125.0f);
    v8 clamped = pick (small, splat (-125.0f), x);
    v8 shifted = clamped + magic;
    v8 f = clamped - (shifted - magic);
    v8 c = splat (0x1.44138ap-13f);

    c = c * f + splat (0x1.5f0890p-10f);
    c = c * f + splat (0x1.3b2a54p-7f);
    c = c * f + splat (0x1.c6af6cp-5f);
    c = c * f + splat (0x1.ebfbe0p-3f);
    c = c * f + splat (0x1.62e430p-1f);
    c = c * f + splat (1.0f);
    return pick (small, splat (0.0f), c * (v8)(((i8)shifted - (i8)magic + 127) << 23));
}

INLINE float exp2_one (float x)
{
    return exp2_lanes (splat (x))[0];
}

/* log2 x for a positive normal x, within 2 ulp; exactly 0 at 1.  Other x: unspecified.
 * x = 2^k (1 + f), 1 + f in [sqrt 1/2, sqrt 2); log2 (1 + f) = f * c(f), interpolated
 * at Chebyshev's points. */
INLINE v8 log2_lanes (v8 x)
{
    const i8 bias = (i8)splat (0x1.6a09e6p-1f); /* sqrt 1/2 */
    i8 shifted = (i8)x - bias;
    i8 k = shifted >> 23;
    v8 f = (v8)((i8)x - (k << 23)) - splat (1.0f);
    v8 c = splat (0x1.f841dcp-4f);

    c = c * f + splat (-0x1.a59aeap-3f);
    c = c * f + splat (0x1.ba8738p-3f);
    c = c * f + splat (-0x1.e9d1e6p-3f);
    c = c * f + splat (0x1.26d01cp-2f);
    c = c * f + splat (-0x1.715994p-2f);
    c = c * f + splat (0x1.ec73dep-2f);
    c = c * f + splat (-0x1.715474p-1f);
    c = c * f + splat (0x1.715476p+0f);
    return c * f + __builtin_convertvector (k, v8);
}

INLINE float log2_one (float x)
{
    return log2_lanes (splat (x))[0];
}

/* To bf16 and back, ties to even. */
INLINE v8 round_bf16 (v8 x)
{
    u8 u = (u8)x;

    return (v8)((u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000u);
}

INLINE v8 load_bf16 (const uint16_t *p)
{
    h8 x;

    memcpy (&x, p, sizeof x);
    return (v8)(__builtin_convertvector (x, u8) << 16);
}

INLINE v8 load_any (const void *p, size_t i, int bf16)
{
    return bf16 ? load_bf16 ((const uint16_t *)p + i) : load ((const float *)p + i);
}

INLINE float load_one (const void *p, size_t i, int bf16)
{
    uint32_t u;
    float x;

    if (!bf16)
        return ((const float *)p)[i];
    u = (uint32_t)((const uint16_t *)p)[i] << 16;
    memcpy (&x, &u, sizeof x);
    return x;
}

/* A zero of the output is +0, whatever way it came about; a NaN is one NaN. */
INLINE void store_bf16 (uint16_t *p, v8 x)
{
    u8 u = (u8)round_bf16 (x);
    h8 h;

    u = (u8)pick (x != x, (v8)(u8){ 0x7fc00000, 0x7fc00000, 0x7fc00000, 0x7fc00000,
                                    0x7fc00000, 0x7fc00000, 0x7fc00000, 0x7fc00000 }, (v8)u);
    h = __builtin_convertvector (u >> 16, h8);
    h &= (h8)((h & 0x7fff) != 0);
    memcpy (p, &h, sizeof h);
}

/* One rounding to the type of the output; a zero is +0. */
INLINE void store_any (void *p, size_t i, v8 x, int bf16)
{
    if (bf16)
        store_bf16 ((uint16_t *)p + i, x);
    else
        store ((float *)p + i, x + splat (0.0f));
}
#endif
