/* The host backend with planted faults: what the invariance tests must catch.
 * The fault is named by the environment variable DT_PLANT when the plugin is
 * loaded, or set later through the symbol attn_plant.  Never installed. */
#include "kernels/attention/host/plant.h"

#include <stdlib.h>
#include <string.h>

__attribute__ ((visibility ("default"))) enum attn_plant attn_plant;

static const char *const names[] = {
    [PLANT_NONE] = "none", [PLANT_FOLD_RUNS] = "fold_runs", [PLANT_PAIRWISE] = "pairwise",
    [PLANT_LAZY] = "lazy", [PLANT_TILE] = "tile", [PLANT_NAN] = "nan", [PLANT_BASE] = "base",
};

__attribute__ ((constructor)) static void choose_plant (void)
{
    const char *name = getenv ("DT_PLANT");
    size_t i;

    for (i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp (name, names[i]) == 0)
            attn_plant = (enum attn_plant)i;
}
