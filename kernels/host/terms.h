/* host/terms.h - seeded operands of sums of n products: one operand is a request's,
 * the other the site's.
 * Uses: host/seed.h.  Used by: kernels/gemm/host, kernels/moe/host. */
#ifndef KERNELS_HOST_TERMS_H
#define KERNELS_HOST_TERMS_H

#include <detent/backend.h>
#include <stddef.h>

#include "kernels/host/seed.h"

/* The term that stands at place i: the last and the one `exchange` before it change
 * places. */
static inline size_t terms_at (size_t i, size_t n, size_t exchange)
{
    if (exchange == 0 || exchange >= n)
        return i;
    return i == n - 1 ? n - 1 - exchange : i == n - 1 - exchange ? n - 1 : i;
}

/* 2^by of a word: over 8 binades, or over 21. */
static inline float terms_scale (uint32_t word, int spread)
{
    int by = spread ? (int)(word % 21) - 10 : (int)(word % 8) - 6;
    uint32_t bits = (uint32_t)(127 + by) << 23;
    float x;

    memcpy (&x, &bits, sizeof x);
    return x;
}

/* Term i of n of the request's operand (request = 1) or of the site's.
 *   random   uniform times a power of two: sums cancel and every order shows
 *   cancel   the second half is the first, permuted, once negated: [v, -Pv], [u, Pu];
 *            what is left of an odd n is 0
 *   spread   the request's terms lie up to 2^21 apart */
static inline float terms_value (uint64_t key, size_t i, size_t n, uint32_t data, int request)
{
    float sign = 1.0f;
    uint32_t word;

    if (data == DT_BACKEND_CANCEL) {
        size_t half = n / 2, step = half / 3 * 2 + 1;

        if (i >= 2 * half)
            return 0.0f;
        if (half % 3 == 0 && step % 3 == 0) /* prime to half: no other factor is shared */
            step += 2;
        if (i >= half) {
            sign = request ? -1.0f : 1.0f;
            i = (i - half) * step % half;
        }
    }
    word = seed_word (key, i);
    return sign * seed_uniform (word)
           * terms_scale (seed_word (key, i ^ 0x80000000u), request && data == DT_BACKEND_SPREAD);
}
#endif
