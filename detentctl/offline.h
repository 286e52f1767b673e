/* detentctl/offline.h - solve in this process.
 * Uses: solver/, proto/.  Used by: cmd_solve.c. */
#ifndef DT_CTL_OFFLINE_H
#define DT_CTL_OFFLINE_H

#include "base/arena.h"
#include "detentctl/collect.h"
#include "proto/wire.h"
#include "solver/solve.h"

/* The solutions, and the reply that detentd would give; it borrows from them. */
struct dt_offline {
    struct dt_arena arena;
    struct dt_solution **solution;
    size_t n_solutions;
    Detent__SolveReply reply;
};

/* Solve every site.  Errors are those of dt_site_solve. */
int dt_offline_solve (const struct dt_collected *k, int strict, int no_free,
                      struct dt_offline *ret, struct dt_err *reterr);
void dt_offline_done (struct dt_offline *o);

#endif
