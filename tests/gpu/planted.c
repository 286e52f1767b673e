/* The CUDA backend with faults planted, chosen when it is loaded: by DT_PLANT, or by the
 * file's name, detent-backend-planted-FAULT.so, since the daemon's workers get no such
 * variable.  For the checks on a GPU alone. */
#define _GNU_SOURCE 1 /* dladdr */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/allreduce/cuda/plant.h"
#include "kernels/gemm/cuda/plant.h"

enum ar_plant ar_plant;
int ar_plant_only = -1;
enum gemm_plant gemm_plant;

static const struct {
    const char *name;
    enum gemm_plant gemm;
    enum ar_plant ar;
    int only; /* of ar_plant_only */
} faults[] = {
    { "none", GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "split_k", GEMM_PLANT_SPLIT_K, AR_PLANT_NONE, -1 },
    { "epilogue", GEMM_PLANT_EPILOGUE, AR_PLANT_NONE, -1 },
    { "workspace", GEMM_PLANT_WORKSPACE, AR_PLANT_NONE, -1 },
    { "ring", GEMM_PLANT_NONE, AR_PLANT_RING, -1 },
    { "hop", GEMM_PLANT_NONE, AR_PLANT_HOP, -1 },
    { "hop_two_shot", GEMM_PLANT_NONE, AR_PLANT_HOP, AR_TWO_SHOT },
    { "barrier", GEMM_PLANT_NONE, AR_PLANT_BARRIER, -1 },
};

__attribute__ ((constructor)) static void choose_plant (void)
{
    static const char before[] = "detent-backend-planted-";
    const char *want = getenv ("DT_PLANT"), *file;
    Dl_info info;
    size_t i, n = want ? strlen (want) : 0;

    if (!want && dladdr (faults, &info) && (file = strstr (info.dli_fname, before))) {
        want = file + sizeof before - 1;
        n = strcspn (want, ".");
    }
    for (i = 0; want && i < sizeof faults / sizeof *faults; i++)
        if (strlen (faults[i].name) == n && strncmp (faults[i].name, want, n) == 0) {
            gemm_plant = faults[i].gemm;
            ar_plant = faults[i].ar;
            ar_plant_only = faults[i].only;
            return;
        }
    fprintf (stderr, "neither DT_PLANT nor the file names a fault\n");
    abort ();
}
