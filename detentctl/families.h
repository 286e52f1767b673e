/* detentctl/families.h - what a solve found, family by family, as counts that CI can hold.
 * Uses: print.h, solved.h.  Used by: site.c. */
#ifndef DT_CTL_FAMILIES_H
#define DT_CTL_FAMILIES_H

#include <jansson.h>

#include "detentctl/solved.h"

/* FAMILY -> counts of its site; of a family with several sites, "sites": SITE -> counts.
 *   pins, knobs       their names
 *   selection_points  fields; batch_dependent: binding ones that the batch reaches;
 *                     free: those that are free
 *   candidates        assignments judged: legal (proved, exhausted or sampled), illegal */
json_t *dt_families_json (const struct dt_solved *v);

#endif
