/* The kernels for processors with AVX2.  No FMA: the canonical order is unfused. */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push (__attribute__ ((target ("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define ROW_KERNELS row_kernels_avx2
#include "kernels/rowwise/host/row.inc"
#ifdef __clang__
#pragma clang attribute pop
#endif
#else
typedef int row_avx2_is_for_x86_64_alone;
#endif
