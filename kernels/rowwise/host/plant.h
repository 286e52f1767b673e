/* rowwise/host/plant.h - faults that the invariance tests must catch.
 *
 * Only the test build of the backend (tests/backend-planted.c) defines DT_PLANT;
 * in the shipped one each ROW_PLANTED() is the constant 0 and its branch is gone.
 * Uses: nothing.  Used by: kernels/rowwise/host. */
#ifndef KERNELS_ROWWISE_PLANT_H
#define KERNELS_ROWWISE_PLANT_H

enum row_plant {
    ROW_PLANT_NONE,
    ROW_PLANT_BLOCK, /* the partial sums follow the number of rows */
    ROW_PLANT_FUSED, /* products are not rounded, above 64 rows */
    ROW_PLANT_SHARE, /* each thread adds its own lanes first */
    ROW_PLANT_PAD,   /* a sum reads past the end of its row */
    ROW_PLANT_BASE,  /* no fault: the kernels for any processor */
};

#ifdef DT_PLANT
extern enum row_plant row_plant; /* from the environment, when loaded */
#define ROW_PLANTED(fault) (row_plant == ROW_PLANT_##fault)
#else
#define ROW_PLANTED(fault) 0
#endif
#endif
