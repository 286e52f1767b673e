/* allreduce/cuda/plant.h - faults that the checks on a GPU must catch.
 *
 * Only the test build of the backend defines DT_PLANT; in the shipped one each
 * AR_PLANTED() is the constant 0 and its branch is gone.
 * Uses: nothing.  Used by: kernels/allreduce/cuda. */
#ifndef KERNELS_ALLREDUCE_CUDA_PLANT_H
#define KERNELS_ALLREDUCE_CUDA_PLANT_H

enum ar_plant {
    AR_PLANT_NONE,
    AR_PLANT_RING,    /* each rank starts the sum with its own term */
    AR_PLANT_HOP,     /* partial sums are rounded to the type of the message */
    AR_PLANT_BARRIER, /* the last chunk of a block is read without waiting for its flags */
};

#ifdef DT_PLANT
extern
#ifdef __cplusplus
    "C"
#endif
    enum ar_plant ar_plant; /* from the environment, when loaded */
extern
#ifdef __cplusplus
    "C"
#endif
    int ar_plant_only; /* the algorithm that alone has the fault; -1: all */
#define AR_PLANTED(a, fault) ((a).plant == AR_PLANT_##fault)
#else
#define AR_PLANTED(a, fault) 0
#endif
#endif
