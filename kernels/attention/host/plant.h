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
    PLANT_PADDING,   /* values past the end are what the memory holds */
    PLANT_SPLIT_K,   /* more splits in a batch of more than 4 */
    PLANT_SWAP_END,  /* the last two terms of a chain change places in tiles of 3 rows */
    PLANT_FUSED,     /* tiles of one row fuse the multiplication with the sum */
    PLANT_TAIL,      /* the last block descends unless the request is alone */
    PLANT_WIDTH,     /* a block's sum has 4 lanes in a batch of 8 and more */
    PLANT_ABOVE64,   /* lanes are summed in sequence in a batch of more than 64 */
    PLANT_ROW17,     /* likewise for the request at row 17 */
    PLANT_CONTENTION, /* likewise while another call runs */
    PLANT_MINUS,     /* a first value of +0, or -0 in a batch */
    PLANT_PAYLOAD,   /* a first value of one NaN, or of another in a batch */
    PLANT_SAME_NAN,  /* a first value of one NaN */
    PLANT_BASE,      /* no fault: the kernels for any processor */
};

#ifdef DT_PLANT
extern enum attn_plant attn_plant; /* from the environment or the file's name, when loaded */
extern _Atomic int attn_running;   /* calls that run now */
#define PLANTED(fault) (attn_plant == PLANT_##fault)
#else
#define PLANTED(fault) 0
#endif
#endif
