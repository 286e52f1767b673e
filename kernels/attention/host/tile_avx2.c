/* The kernels for processors with AVX2.  No FMA: the canonical order is unfused. */
#ifdef __x86_64__
#pragma GCC target("avx2")
#define TILE_KERNELS attn_kernels_avx2
#define TILE_VECTORS 2
#include "kernels/attention/host/tile.inc"
#else
typedef int tile_avx2_is_for_x86_64_alone;
#endif
