/* allreduce/host/plant.h - faults that the tests must catch.
 *
 * Only the test build of the backend (tests/backend-planted.c) defines DT_PLANT;
 * in the shipped one each AR_PLANTED() is the constant 0 and its branch is gone.
 * Uses: nothing.  Used by: kernels/allreduce/host. */
#ifndef KERNELS_ALLREDUCE_PLANT_H
#define KERNELS_ALLREDUCE_PLANT_H

enum ar_plant {
    AR_PLANT_NONE,
    AR_PLANT_OWNER, /* two-shot starts at the shard's owner, as some engines do */
    AR_PLANT_ROUND, /* partial sums are rounded, in calls of several requests */
    AR_PLANT_LOST,  /* rank 1 leaves before its barrier */
    AR_PLANT_STUCK, /* rank 1 comes to its barrier after two seconds */
};

#ifdef DT_PLANT
extern enum ar_plant ar_plant; /* from the environment, when loaded */
#define AR_PLANTED(fault) (ar_plant == AR_PLANT_##fault)
#else
#define AR_PLANTED(fault) 0
#endif
#endif
