/* detentd/additive.h - is a step's cost the sum of its sites' costs?
 * Uses: detentd/measure.h, tuner/additive.h.  Used by: tuning.c. */
#ifndef DT_DETENTD_ADDITIVE_H
#define DT_DETENTD_ADDITIVE_H

#include "detentd/measure.h"
#include "tuner/additive.h"

struct dt_additive_site {
    const struct dt_site *site;
    const struct dt_solution *solution;
    const struct dt_trace_site *trace;
    size_t chosen, incumbent, runner_up; /* assignments */
};

/* Estimate on the chosen tuple, the default one, the runners-up and random legal ones;
 * *ret_tuples says on how many. */
int dt_additive_check (struct dt_measure *m, const struct dt_additive_site *site, size_t n_sites,
                       struct dt_additive_result *ret, size_t *ret_tuples,
                       struct dt_err *reterr);

#endif
