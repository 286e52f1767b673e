/* moe/host/plant.h - faults that the invariance tests must catch.
 *
 * Only the test build of the backend (tests/backend-planted.c) defines DT_PLANT;
 * in the shipped one each PLANTED() is the constant 0 and its branch is gone.
 * Uses: nothing.  Used by: kernels/moe/host. */
#ifndef KERNELS_MOE_PLANT_H
#define KERNELS_MOE_PLANT_H

enum moe_plant {
    MOE_PLANT_NONE,
    MOE_PLANT_COMBINE, /* slots in pairs if there are more than 16 tokens */
    MOE_PLANT_SORTED,  /* slots are added in the order of the sorted pairs */
    MOE_PLANT_FULL,    /* a full block is summed in steps of 32 */
    MOE_PLANT_STALE,   /* a block's last row is left out if the block is not full */
    MOE_PLANT_BASE,    /* no fault: the kernels for any processor */
};

#ifdef DT_PLANT
extern enum moe_plant moe_plant; /* from the environment, when loaded */
#define MOE_PLANTED(fault) (moe_plant == MOE_PLANT_##fault)
#else
#define MOE_PLANTED(fault) 0
#endif
#endif
