/* The products for any processor: where it has no fused multiply-add, libm's. */
#define PRODUCT_KERNELS product_base
#define FUSED(a, b, c) \
    ((v8){ __builtin_fmaf ((a)[0], (b)[0], (c)[0]), __builtin_fmaf ((a)[1], (b)[1], (c)[1]), \
           __builtin_fmaf ((a)[2], (b)[2], (c)[2]), __builtin_fmaf ((a)[3], (b)[3], (c)[3]), \
           __builtin_fmaf ((a)[4], (b)[4], (c)[4]), __builtin_fmaf ((a)[5], (b)[5], (c)[5]), \
           __builtin_fmaf ((a)[6], (b)[6], (c)[6]), __builtin_fmaf ((a)[7], (b)[7], (c)[7]) })
#include "kernels/host/product.inc"
