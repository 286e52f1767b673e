/* The kernels for any processor. */
#define ROW_KERNELS row_kernels_base
#include "kernels/rowwise/host/row.inc"
