/* The CUDA backend with faults planted, chosen by DT_PLANT when it is loaded; for
 * the checks on a GPU alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/allreduce/cuda/plant.h"
#include "kernels/gemm/cuda/plant.h"

enum ar_plant ar_plant;
enum gemm_plant gemm_plant;

__attribute__ ((constructor)) static void choose_plant (void)
{
    static const struct {
        const char *name;
        enum gemm_plant gemm;
        enum ar_plant ar;
    } faults[] = {
        { "none", GEMM_PLANT_NONE, AR_PLANT_NONE },
        { "split_k", GEMM_PLANT_SPLIT_K, AR_PLANT_NONE },
        { "epilogue", GEMM_PLANT_EPILOGUE, AR_PLANT_NONE },
        { "workspace", GEMM_PLANT_WORKSPACE, AR_PLANT_NONE },
        { "ring", GEMM_PLANT_NONE, AR_PLANT_RING },
        { "hop", GEMM_PLANT_NONE, AR_PLANT_HOP },
        { "barrier", GEMM_PLANT_NONE, AR_PLANT_BARRIER },
    };
    const char *want = getenv ("DT_PLANT");
    size_t i;

    for (i = 0; want && i < sizeof faults / sizeof *faults; i++)
        if (strcmp (faults[i].name, want) == 0) {
            gemm_plant = faults[i].gemm;
            ar_plant = faults[i].ar;
            return;
        }
    fprintf (stderr, "DT_PLANT names no fault\n");
    abort ();
}
