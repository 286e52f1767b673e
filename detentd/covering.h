/* detentd/covering.h - which assignments of a site have certificates.
 * Uses: detentd/round.h, detentd/store.h, solver/.  Used by: certifying.c, tuning.c,
 * standing.c. */
#ifndef DT_DETENTD_COVERING_H
#define DT_DETENTD_COVERING_H

#include "detentd/round.h"
#include "detentd/store.h"
#include "solver/deployment.h"
#include "solver/solve.h"

/* A site on a backend; borrows. */
struct dt_covering {
    const struct dt_site *site;
    const struct dt_solution *solution;
    struct dt_certificate_backend backend;
};

struct dt_covering dt_covering_of (const struct dt_site *site, const struct dt_solution *solution,
                             const Detent__WorkerIdentity *who);

/* Worker threads that the deployment runs on: the fact `units` of its first site; 0 if
 * there is none: all. */
uint32_t dt_covering_units (const struct dt_deployment *d);

/* Does this field of the solution need a certificate: free, and no claim? */
int dt_covering_needs (const struct dt_solution_point *p);
int dt_covering_needs_any (const struct dt_solution *s);

/* An assignment as a round: family, site, facts, backend and the pinned selector; all
 * else stays.  *ret_vm is the caller's (dt_vm_free). */
int dt_covering_round (const struct dt_covering *c, size_t assignment, struct dt_arena *a,
                    struct dt_vm **ret_vm, struct dt_round *ret, struct dt_err *reterr);
/* The key of its certificates; *ret_binding (may be NULL) of the arena.
 *   -DT_EUNSUPPORTED, -DT_EREFUSED  as dt_round_binding: it cannot be certified */
int dt_covering_key (const struct dt_covering *c, size_t assignment, struct dt_arena *a,
                  struct dt_digest *ret, struct dt_named **ret_binding, size_t *ret_n,
                  struct dt_err *reterr);
/* 1 if certificates that hold cover every field of the assignment that needs one. */
int dt_covering_has (const struct dt_covering *c, size_t assignment, struct dt_store *s,
                  struct dt_err *reterr);
/* Clear allowed[n_assignments] of those that are not covered.
 *   -DT_EREFUSED  none is left: names the fields */
int dt_covering_apply (const struct dt_covering *c, struct dt_store *s, uint8_t *allowed,
                    struct dt_err *reterr);

#endif
