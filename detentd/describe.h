/* detentd/describe.h - solutions and tunes, as replies tell them.
 * Uses: solver/, proto/.  Used by: req_solve.c, tuning.c. */
#ifndef DT_DETENTD_DESCRIBE_H
#define DT_DETENTD_DESCRIBE_H

#include "base/arena.h"
#include "detentd/solving.h"
#include "proto/detent.pb-c.h"
#include "tuner/tune.h"

/* All is made in the arena or borrowed from the solution; NULL: out of memory. */
Detent__SiteSolution *dt_describe_site (struct dt_arena *a, const struct dt_solved_site *site);
Detent__SiteResult *dt_describe_result (struct dt_arena *a, const struct dt_solution *s,
                                        const struct dt_tune_result *result);
/* "choose.block_n=64 waves=2" */
char *dt_describe_assignment (struct dt_arena *a, const struct dt_solution *s, size_t i);

#endif
