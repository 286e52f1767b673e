/* gemm/host/plant.h - faults that the invariance tests must catch.
 *
 * Only the test build of the backend (tests/backend-planted.c) defines DT_PLANT;
 * in the shipped one each PLANTED() is the constant 0 and its branch is gone.
 * Uses: nothing.  Used by: kernels/gemm/host. */
#ifndef KERNELS_GEMM_PLANT_H
#define KERNELS_GEMM_PLANT_H

enum gemm_plant {
    GEMM_PLANT_NONE,
    GEMM_PLANT_SPLIT,  /* two splits if there are at most 8 rows */
    GEMM_PLANT_MANY,   /* steps of 32 above 64 rows */
    GEMM_PLANT_ROW17,  /* row 17 of a call is summed in steps of 32 */
    GEMM_PLANT_TAIL,   /* a tile that is not full starts with the last k */
    GEMM_PLANT_BASE,   /* no fault: the kernels for any processor */
    GEMM_PLANT_SMALL,  /* no fault: no kernel above 30 rows */
};

#ifdef DT_PLANT
extern enum gemm_plant gemm_plant; /* from the environment, when loaded */
#define GEMM_PLANTED(fault) (gemm_plant == GEMM_PLANT_##fault)
#else
#define GEMM_PLANTED(fault) 0
#endif
#endif
