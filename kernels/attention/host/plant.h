/* attention/host/plant.h - faults that the invariance tests must catch.
 *
 * Only the test build of the backend (tests/backend-planted.c) defines DT_PLANT;
 * in the shipped one each PLANTED() is the constant 0 and its branch is gone.
 * Uses: nothing.  Used by: kernels/attention/host. */
#ifndef KERNELS_ATTENTION_PLANT_H
#define KERNELS_ATTENTION_PLANT_H

enum attn_plant {
    PLANT_NONE,
    PLANT_FOLD_RUNS, /* each run folds its own splits, then runs are folded */
    PLANT_PAIRWISE,  /* splits are folded in pairs */
    PLANT_LAZY,      /* rescale only if some row of the tile needs it */
    PLANT_TILE,      /* the key block follows the number of requests */
    PLANT_NAN,       /* keys past the end are masked, not zeroed */
    PLANT_BASE,      /* no fault: the kernels for any processor */
};

#ifdef DT_PLANT
extern enum attn_plant attn_plant; /* from the environment, when loaded */
#define PLANTED(fault) (attn_plant == PLANT_##fault)
#else
#define PLANTED(fault) 0
#endif
#endif
