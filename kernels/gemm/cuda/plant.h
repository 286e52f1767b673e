/* gemm/cuda/plant.h - faults that the checks on a GPU must catch.
 *
 * Only the test build of the backend defines DT_PLANT; in the shipped one each
 * PLANTED() is the constant 0 and its branch is gone.
 * Uses: nothing.  Used by: kernels/gemm/cuda. */
#ifndef KERNELS_GEMM_CUDA_PLANT_H
#define KERNELS_GEMM_CUDA_PLANT_H

enum gemm_plant {
    GEMM_PLANT_NONE,
    GEMM_PLANT_SPLIT_K,   /* four parts of K below 128 rows, one above */
    GEMM_PLANT_EPILOGUE,  /* two chains, added in the epilogue, above 64 rows */
    GEMM_PLANT_WORKSPACE, /* the epilogue adds what the workspace held before */
};

#ifdef DT_PLANT
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    enum gemm_plant gemm_plant; /* from the environment, when loaded */
#define PLANTED(fault) (gemm_plant == GEMM_PLANT_##fault)
#else
#define PLANTED(fault) 0
#endif
#endif
