/* host/seed.h - seeded words, from which operands are made.
 * Uses: nothing.  Used by: kernels/<family>/host/fill.c. */
#ifndef KERNELS_HOST_SEED_H
#define KERNELS_HOST_SEED_H

#include <stdint.h>
#include <string.h>

/* A bijection of 64 bits (splitmix64's). */
static inline uint64_t seed_mix (uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The key of one vector of one request: stream names the operand. */
static inline uint64_t seed_key (uint64_t seed, uint64_t stream, uint64_t position, uint64_t part)
{
    uint64_t x = seed_mix (seed + 0x9e3779b97f4a7c15u * stream);

    return seed_mix (seed_mix (x ^ position) + 0x9e3779b97f4a7c15u * (part + 1));
}

/* Word i of the vector named by 'key'. */
static inline uint32_t seed_word (uint64_t key, uint64_t i)
{
    uint32_t h = (uint32_t)key + (uint32_t)i * 0x9e3779b9u;

    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15) ^ (uint32_t)(key >> 32)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

/* Uniform in [-1, 1). */
static inline float seed_uniform (uint32_t word)
{
    return (float)(int32_t)word * 0x1p-31f;
}

/* 2^by. */
static inline float seed_power (int by)
{
    uint32_t bits = (uint32_t)(127 + by) << 23;
    float x;

    memcpy (&x, &bits, sizeof x);
    return x;
}

/* Ties to even; finite x, or the quiet NaN. */
static inline uint16_t seed_bf16 (float x)
{
    uint32_t u;

    memcpy (&u, &x, sizeof u);
    return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

static inline void seed_put (void *array, uint64_t i, float x, int bf16)
{
    if (bf16)
        ((uint16_t *)array)[i] = seed_bf16 (x);
    else
        ((float *)array)[i] = x;
}
#endif
