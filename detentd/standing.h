/* detentd/standing.h - what stands behind the selection points of a solved site.
 * Uses: detentd/covering.h, detentd/who.h, detentd/store.h.  Used by: req_solve.c,
 * req_coverage.c.
 *
 * A solution is what a site's question has for an answer; how many of its legal
 * assignments have certificates changes with each that is given, revoked or outlived by
 * its backend.  It is stored beside the solution, under the JIT cache's key. */
#ifndef DT_DETENTD_STANDING_H
#define DT_DETENTD_STANDING_H

#include "detentd/solving.h"
#include "detentd/who.h"

/* Who is asked for the backend's identity, if a certificate needs it. */
struct dt_standing_who {
    struct dt_who *table;
    const struct dt_options *options;
};

/* Certificates that hold, of the legal assignments of a solution; who may be NULL: it is
 * not known, and none holds.
 *   certified  [n_points] of those that are free, else 0; in `a` */
int dt_standing_count (struct dt_store *s, const struct dt_site *site,
                       const struct dt_solution *solution, const Detent__WorkerIdentity *who,
                       struct dt_arena *a, uint64_t **ret_certified, struct dt_err *reterr);

/* Of a site whose solution, or its bytes, are there: the key, and the counts from the store, or counted
 * now (then `standing.data` is to be stored).  The store may not be in a transaction.
 * *warning says of a damaged entry. */
int dt_standing_find (struct dt_solving *v, size_t site, struct dt_store *s,
                      const struct dt_standing_who *who, struct dt_err *warning,
                      struct dt_err *reterr);

#endif
