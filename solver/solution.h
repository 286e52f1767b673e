/* solver/solution.h - parts of a solution that several files of solver/ share.
 * Uses: solver/solve.h, selir/emit.h. */
#ifndef DT_SOLVER_SOLUTION_H
#define DT_SOLVER_SOLUTION_H

#include "selir/emit.h"
#include "solver/solve.h"

/* Fill in n_assignments from pins and live knobs.
 *   -DT_ELIMIT more than DT_SOLVE_MAX_ASSIGNMENTS */
int dt_solution_count (struct dt_solution *s, struct dt_err *reterr);

/* Fill in the knobs from the residual graph's rows: -ENOMEM. */
int dt_solution_knobs (struct dt_solution *s);

/* What the fields of the output are, for dt_emit: field[DT_VM_MAX_OUTPUTS].
 *   -DT_ELIMIT more points than the vm has outputs */
int dt_solution_fields (const struct dt_solution *s, struct dt_emit_field *field,
                        struct dt_err *reterr);

#endif
