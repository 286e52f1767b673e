/* The products for processors with AVX2 and FMA. */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push (__attribute__ ((target ("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#include <immintrin.h>
#define PRODUCT_KERNELS product_fma
#define FUSED(a, b, c) ((v8)_mm256_fmadd_ps ((__m256)(a), (__m256)(b), (__m256)(c)))
#include "kernels/host/product.inc"
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
typedef int product_fma_is_for_x86_64_alone;
#endif
