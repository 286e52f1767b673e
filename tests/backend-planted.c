/* The host backend with planted faults: what the invariance tests must catch.
 * The fault is named by the environment variable DT_PLANT when the plugin is
 * loaded ("pairwise" of attention, "gemm_split"), or set later through the symbol
 * attn_plant or gemm_plant.  Never installed. */
#include "kernels/attention/host/plant.h"
#include "kernels/gemm/host/plant.h"

#include <stdlib.h>
#include <string.h>

__attribute__ ((visibility ("default"))) enum attn_plant attn_plant;
__attribute__ ((visibility ("default"))) enum gemm_plant gemm_plant;

static const char *const names[] = {
    [PLANT_NONE] = "none", [PLANT_FOLD_RUNS] = "fold_runs", [PLANT_PAIRWISE] = "pairwise",
    [PLANT_LAZY] = "lazy", [PLANT_TILE] = "tile", [PLANT_NAN] = "nan", [PLANT_BASE] = "base",
};

static const char *const gemm_names[] = {
    [GEMM_PLANT_NONE] = "none", [GEMM_PLANT_SPLIT] = "gemm_split",
    [GEMM_PLANT_MANY] = "gemm_many", [GEMM_PLANT_ROW17] = "gemm_row17",
    [GEMM_PLANT_TAIL] = "gemm_tail", [GEMM_PLANT_BASE] = "gemm_base",
};

__attribute__ ((constructor)) static void choose_plant (void)
{
    const char *name = getenv ("DT_PLANT");
    size_t i;

    for (i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp (name, names[i]) == 0)
            attn_plant = (enum attn_plant)i;
    for (i = 0; name && i < sizeof gemm_names / sizeof *gemm_names; i++)
        if (strcmp (name, gemm_names[i]) == 0)
            gemm_plant = (enum gemm_plant)i;
}
