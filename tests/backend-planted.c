/* The host backend with planted faults: what the invariance tests must catch.
 * The fault ("pairwise" of attention, "gemm_split") is named by the environment
 * variable DT_PLANT when the plugin is loaded, or by the file's name,
 * detent-backend-planted-NAME.so, or set later through the symbol attn_plant,
 * gemm_plant, moe_plant, row_plant or ar_plant.  Never installed. */
#define _GNU_SOURCE /* dladdr */
#include "kernels/allreduce/host/plant.h"
#include "kernels/attention/host/plant.h"
#include "kernels/gemm/host/plant.h"
#include "kernels/moe/host/plant.h"
#include "kernels/rowwise/host/plant.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

__attribute__ ((visibility ("default"))) enum attn_plant attn_plant;
__attribute__ ((visibility ("default"))) enum gemm_plant gemm_plant;
__attribute__ ((visibility ("default"))) enum moe_plant moe_plant;
_Atomic int attn_running;
__attribute__ ((visibility ("default"))) enum row_plant row_plant;
__attribute__ ((visibility ("default"))) enum ar_plant ar_plant;

static const char *const names[] = {
    [PLANT_NONE] = "none", [PLANT_FOLD_RUNS] = "fold_runs", [PLANT_PAIRWISE] = "pairwise",
    [PLANT_LAZY] = "lazy", [PLANT_TILE] = "tile", [PLANT_NAN] = "nan", [PLANT_BASE] = "base",
    [PLANT_PADDING] = "padding", [PLANT_SPLIT_K] = "split_k", [PLANT_SWAP_END] = "swap_end",
    [PLANT_FUSED] = "fused", [PLANT_TAIL] = "tail", [PLANT_WIDTH] = "width",
    [PLANT_ABOVE64] = "above64", [PLANT_ROW17] = "row17", [PLANT_CONTENTION] = "contention",
    [PLANT_MINUS] = "minus", [PLANT_PAYLOAD] = "payload", [PLANT_SAME_NAN] = "same_nan",
};

static const char *const gemm_names[] = {
    [GEMM_PLANT_NONE] = "none", [GEMM_PLANT_SPLIT] = "gemm_split",
    [GEMM_PLANT_MANY] = "gemm_many", [GEMM_PLANT_ROW17] = "gemm_row17",
    [GEMM_PLANT_TAIL] = "gemm_tail", [GEMM_PLANT_BASE] = "gemm_base",
    [GEMM_PLANT_SMALL] = "gemm_small",
};

static const char *const moe_names[] = {
    [MOE_PLANT_NONE] = "none", [MOE_PLANT_COMBINE] = "moe_combine",
    [MOE_PLANT_SORTED] = "moe_sorted", [MOE_PLANT_FULL] = "moe_full",
    [MOE_PLANT_STALE] = "moe_stale", [MOE_PLANT_BASE] = "moe_base",
};

static const char *const row_names[] = {
    [ROW_PLANT_NONE] = "none", [ROW_PLANT_BLOCK] = "row_block", [ROW_PLANT_FUSED] = "row_fused",
    [ROW_PLANT_SHARE] = "row_share", [ROW_PLANT_PAD] = "row_pad", [ROW_PLANT_BASE] = "row_base",
};

static const char *const ar_names[] = {
    [AR_PLANT_NONE] = "none", [AR_PLANT_OWNER] = "ar_owner", [AR_PLANT_ROUND] = "ar_round",
    [AR_PLANT_LOST] = "ar_lost", [AR_PLANT_STUCK] = "ar_stuck",
};

/* The name's index in a list; 0, no fault, if it is not there. */
static int find (const char *const *list, size_t n_list, const char *name, size_t n)
{
    size_t i;

    for (i = 0; i < n_list; i++)
        if (strlen (list[i]) == n && strncmp (name, list[i], n) == 0)
            return (int)i;
    return 0;
}

__attribute__ ((constructor)) static void choose_plant (void)
{
    static const char before[] = "detent-backend-planted-";
    const char *name = getenv ("DT_PLANT"), *file;
    Dl_info info;
    size_t n = name ? strlen (name) : 0;

    if (dladdr (names, &info) && (file = strstr (info.dli_fname, before))) {
        name = file + sizeof before - 1;
        n = strcspn (name, ".");
    }
    if (!name)
        return;
    attn_plant = (enum attn_plant)find (names, sizeof names / sizeof *names, name, n);
    gemm_plant = (enum gemm_plant)find (gemm_names, sizeof gemm_names / sizeof *gemm_names, name,
                                        n);
    moe_plant = (enum moe_plant)find (moe_names, sizeof moe_names / sizeof *moe_names, name, n);
    ar_plant = (enum ar_plant)find (ar_names, sizeof ar_names / sizeof *ar_names, name, n);
    row_plant = (enum row_plant)find (row_names, sizeof row_names / sizeof *row_names, name, n);
}
