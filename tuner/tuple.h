/* tuner/tuple.h - the commitment tuple.
 * Uses: base/, solver/.  Used by: detentd.
 *
 * The encoding is a canon map, stated in include/detent/tuple.h, which libdetent
 * reads with its own few lines. */
#ifndef DT_TUNER_TUPLE_H
#define DT_TUNER_TUPLE_H

#include "base/digest.h"
#include "solver/deployment.h"
#include "solver/solve.h"

/* Who computes, as the worker reports it. */
struct dt_tuple_backend {
    const char *name, *build, *libraries, *driver, *device;
    uint32_t units;
};
struct dt_tuple_site {
    const struct dt_solution *solution;
    size_t assignment;
    struct dt_digest program; /* dt_program_digest */
    struct dt_digest pinned, stock; /* of the selectors' bytes */
    const struct dt_vm_table *table; /* [n_tables] of free fields */
    size_t n_tables;
};

/* Encode; sites are sorted by (family, site) here.  *ret_bits and *ret_full are
 * the two digests. */
int dt_tuple_encode (const struct dt_deployment *d, const struct dt_tuple_backend *backend,
                     const struct dt_tuple_site *site, size_t n_sites, struct dt_buf *ret,
                     struct dt_digest *ret_bits, struct dt_digest *ret_full,
                     struct dt_err *reterr);

/* Which assignment of a site's solution the tuple has, by the names and values of its
 * pins and knobs.
 *   -DT_ENOTFOUND  none that is legal: another solve, or no such site
 *   -DT_ECORRUPT   not a tuple                            -ENOMEM */
int dt_tuple_assignment (const struct dt_buf *tuple, const struct dt_solution *s, size_t *ret,
                         struct dt_err *reterr);

#endif
