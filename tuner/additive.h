/* tuner/additive.h - how far a tuple's cost is from the sum of its sites' costs.
 * Uses: base/err.h.  Used by: detentd, tests.
 *
 * Sites are tuned one by one, which finds the best tuple if a step's cost is the sum of
 * its calls' costs, each by itself.  If that sum is off by at most d for every tuple, the
 * choice is within (1 + d) / (1 - d) of the best, times the search's own loss.  Here d is
 * estimated: on several tuples, calls of all sites run in turn, as a step runs them, and
 * each again and again by itself. */
#ifndef DT_TUNER_ADDITIVE_H
#define DT_TUNER_ADDITIVE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct dt_additive {
    size_t n_tuples, n_sites, n_steps; /* each at least 1 */
    const double *weight;              /* [n_sites] calls of the site in a step */
    void *ctx;
    /* Time the call of a site in a step under a tuple, once. */
    int (*measure) (void *ctx, size_t tuple, size_t site, size_t step, uint64_t *ret_ns,
                    struct dt_err *reterr);
};
struct dt_additive_result {
    double d;       /* greatest |in turn / alone - 1| of all tuples */
    double factor;  /* (1 + d) / (1 - d); 0 if d >= 1: no bound      */
    size_t worst;   /* tuple */
};
/*   -ENOMEM, or what `measure` returned */
int dt_additive_estimate (const struct dt_additive *a, struct dt_additive_result *ret,
                          struct dt_err *reterr);

#endif
