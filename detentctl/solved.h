/* detentctl/solved.h - the solutions of a deployment's sites, from here or from detentd.
 * Uses: solver/, proto/, collect.h.  Used by: site.c, cmd_{solve,pins,explain}.c. */
#ifndef DT_CTL_SOLVED_H
#define DT_CTL_SOLVED_H

#include "detentctl/collect.h"
#include "proto/wire.h"
#include "solver/solve.h"

struct dt_solved_site {
    struct dt_solution *solution;
    struct dt_digest key, question; /* of the JIT cache; of what certificates leave as it is */
    uint64_t *certified; /* [solution->n_points] legal assignments with a certificate that holds */
    char *unjudged;      /* why none can be told to hold; NULL: they can */
    int cached;
    uint64_t solve_us;
};
struct dt_solved {
    char *deployment;
    struct dt_solved_site *site;
    size_t n_sites;
};

/* Solve every site in this process.  Errors are those of dt_site_solve. */
int dt_solved_here (const struct dt_collected *k, int strict, int no_free, struct dt_solved *ret,
                    struct dt_err *reterr);
/* What a reply of detentd tells; it is copied.
 *   -DT_ECORRUPT  a solution that does not decode */
int dt_solved_take (const char *deployment, Detent__SiteSolution *const *site, size_t n,
                    struct dt_solved *ret, struct dt_err *reterr);
/* Ask detentd for a deployment's last solve. */
int dt_solved_ask (const struct dt_ctl *c, const char *deployment, struct dt_solved *ret,
                   struct dt_err *reterr);
void dt_solved_done (struct dt_solved *v);

#endif
