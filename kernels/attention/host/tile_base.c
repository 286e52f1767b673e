/* The kernels for any processor. */
#define TILE_KERNELS attn_kernels_base
/* Two vectors of 8 lanes for 4 rows would not fit in 16 registers of 4 lanes. */
#define TILE_VECTORS 1
#include "kernels/attention/host/tile.inc"
