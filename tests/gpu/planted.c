/* The CUDA backend with faults planted, chosen by DT_PLANT when it is loaded; for
 * the checks on a GPU alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm/cuda/plant.h"

enum gemm_plant gemm_plant;

__attribute__ ((constructor)) static void choose_plant (void)
{
    static const char *const names[] = {
        [GEMM_PLANT_NONE] = "none", [GEMM_PLANT_SPLIT_K] = "split_k",
        [GEMM_PLANT_EPILOGUE] = "epilogue", [GEMM_PLANT_WORKSPACE] = "workspace",
    };
    const char *want = getenv ("DT_PLANT");
    size_t i;

    for (i = 0; want && i < sizeof names / sizeof *names; i++)
        if (strcmp (names[i], want) == 0) {
            gemm_plant = (enum gemm_plant)i;
            return;
        }
    fprintf (stderr, "DT_PLANT names no fault\n");
    abort ();
}
