/* detentd/incumbent.h - what a tie keeps.
 * Uses: solver/, tuner/, detentd/store.h.  Used by: tuning.c. */
#ifndef DT_DETENTD_INCUMBENT_H
#define DT_DETENTD_INCUMBENT_H

#include "detentd/store.h"
#include "solver/solve.h"
#include "tuner/tune.h"

struct dt_incumbent {
    size_t assignment;   /* what is committed, if it is legal here; else the default's */
    size_t otherwise;    /* the default assignment */
    int committed;       /* 1: the former */
};

/* Of a site for (deployment, workload); `otherwise` is its default assignment.  What is
 * committed counts only as far as this solution has it and its verdict is legal.
 *   -DT_ECORRUPT  the newest commit's tuple is damaged */
int dt_incumbent_find (struct dt_store *s, const char *deployment, const char *workload,
                       const struct dt_solution *solution, size_t otherwise,
                       struct dt_incumbent *ret, struct dt_err *reterr);

/* Which one the tune kept in fact: "committed", "default" or "first usable". */
const char *dt_incumbent_name (const struct dt_incumbent *i, const struct dt_tune_result *result);

#endif
