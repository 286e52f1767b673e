/* detentd/forced.h - pins and knobs that the operator sets for a tune.
 * Uses: detentd/job.h, solver/solve.h.  Used by: tuning.c, tuning_site.c,
 * certifying.c, req_tune.c, req_certify.c. */
#ifndef DT_DETENTD_FORCED_H
#define DT_DETENTD_FORCED_H

#include "base/arena.h"
#include "detentd/job.h"
#include "solver/deployment.h"
#include "solver/solve.h"

/* Copy from the request into the job.
 *   -DT_ELIMIT  more than DT_JOB_MAX_FORCE, or a long word
 *   -DT_EINPUT  the same one twice, or not text of one line */
int dt_forced_take (struct dt_job *j, Detent__Forced *const *force, size_t n,
                    struct dt_err *reterr);
/* -DT_ENOTFOUND  one is of a site that the job does not look at */
int dt_forced_check (const struct dt_job *j, const struct dt_deployment *d, struct dt_err *reterr);
/* Clear allowed[n_assignments] where a value of this site is not the one that is set.
 * Names are whole, or what follows the last dot.
 *   -DT_EINPUT    no such pin or live knob, or the name fits several
 *   -DT_EILLEGAL  no legal assignment has the values */
int dt_forced_apply (const struct dt_job *j, struct dt_arena *scratch,
                     const struct dt_solution *s, uint8_t *allowed, struct dt_err *reterr);
/* Those of the site, as its result shows them.  -ENOMEM */
int dt_forced_describe (const struct dt_job *j, struct dt_arena *a, Detent__SiteResult *ret);

#endif
