/* solver/family.h - what a backend says of one family, and whether a site fits it.
 * Uses: selir/program.h, solver/deployment.h, solver/solve.h.  Used by: solver/site.c,
 * detentd. */
#ifndef DT_SOLVER_FAMILY_H
#define DT_SOLVER_FAMILY_H

#include "solver/deployment.h"
#include "solver/solve.h"

/* As in include/detent/backend.h. */
struct dt_family_fact {
    const char *name, *unit;
    int64_t lo, hi;
    int optional;
};
struct dt_family_param {
    const char *name, *unit;
    int binding, per_request;
    const int64_t *value; /* [n_values] ascending */
    size_t n_values;
};
struct dt_family {
    const char *name;
    const struct dt_family_fact *fact;
    size_t n_facts;
    const char *const *request_field; /* [n_request_fields] in the backend's order */
    size_t n_request_fields;
    const struct dt_family_param *param;
    size_t n_params;
};

/* Of all of it: equal digests, equal schemas. */
int dt_family_digest (const struct dt_family *f, struct dt_digest *ret, struct dt_err *reterr);

/* For a solve: facts of the site that neither the program nor the family asks for (as
 * dt_site_check), and a field that the program marks Free or the deployment claims
 * (claim[n_claims]) while the family's parameter of that name is binding.  Fields and
 * parameters need not be the same: a program may select among an engine's own kernels.
 *   -DT_EINPUT  names the fact or the field */
int dt_family_check_solve (const struct dt_family *f, const struct dt_site *site,
                           const struct dt_program *p, const struct dt_graph *g,
                           const char *const *claim, size_t n_claims, struct dt_err *reterr);

/* For a tune, which runs the family's kernels: every fact is there as an int or a bool
 * and in its range; fields and parameters are the same, and one that differs from
 * request to request is taken so; no field is free whose parameter is binding.
 *   -DT_EINPUT  names the fact or the field */
int dt_family_check_tune (const struct dt_family *f, const struct dt_site *site,
                          const struct dt_solution *s, struct dt_err *reterr);

#endif
