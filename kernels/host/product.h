/* host/product.h - products of a few rows with panels of weights: the inner step of
 * gemm and moe.
 * Uses: nothing.  Used by: kernels/gemm/host, kernels/moe/host, bench/.
 *
 * Each element is one chain over k, ascending, of fused multiply-adds.  Lanes hold
 * different outputs and are never added to one another, so the bits do not depend on
 * the vector width, on how many rows go together, or on where k is interrupted: an
 * fp32 accumulator in memory is the one in the register. */
#ifndef KERNELS_HOST_PRODUCT_H
#define KERNELS_HOST_PRODUCT_H

#include <stddef.h>

/* Columns of one panel of weights. */
#define PRODUCT_PANEL 16
/* Rows that one step takes together. */
#define PRODUCT_ROWS 6

/* acc [rows][ld_acc], its first 16 * panels columns.
 *   x  [rows][ld_x]               fp32
 *   w  [panels][ld_w][16]         bf16 or fp32
 * chain: acc = (((acc + x_0 w_0) + x_1 w_1) + ...), n steps
 * sum:   acc = acc + (((0 + x_0 w_0) + x_1 w_1) + ...)
 * x, w: at the first k; ld_w: all k of a panel. */
struct product {
    const float *x;
    size_t ld_x, rows;
    const void *w;
    size_t ld_w, panels;
    int bf16;
    size_t n;
    float *acc;
    size_t ld_acc;
};

struct product_kernels {
    void (*chain) (const struct product *p);
    void (*sum) (const struct product *p);
    /* bf16 to fp32 */
    void (*widen) (const void *from, size_t n, float *ret);
    /* acc = acc + part, n floats */
    void (*add) (float *acc, const float *part, size_t n);
    /* One rounding of n floats to the output's type; a zero is +0. */
    void (*finish) (const float *acc, size_t n, void *out, size_t at, int bf16);
    /* gate = gate / (1 + exp (-gate)) * up, n floats; see kernels/moe/README.md */
    void (*silu) (float *gate, const float *up, size_t n, int bf16);
};

extern const struct product_kernels product_base;
#ifdef __x86_64__
extern const struct product_kernels product_fma;
#endif
#endif
