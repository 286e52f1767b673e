/* solver/check.h - verify a cut, and a solution's proof, from scratch.
 * Uses: selir/range.h, solver/cut.h, solver/proof.h.  Used by: solver/solve.c, tests.
 *
 * It shares dt_ranges with the prover and the graph's types, and no more: how boxes
 * were found does not matter here, only that they cover everything and that each one
 * holds.  Where floats are computed it does not believe dt_ranges, but verifies each
 * step of it (dt_check_floats). */
#ifndef DT_SOLVER_CHECK_H
#define DT_SOLVER_CHECK_H

#include "selir/range.h"
#include "solver/cut.h"
#include "solver/solve.h"

/* Whether removing the cut leaves no path from a source to a sink, while each of its
 * vertices is on a path that the others do not cut (so that no proper subset is one),
 * and none is infinite.  0 or -DT_ECORRUPT; -ENOMEM. */
int dt_check_cut (const struct dt_cut_graph *g, const uint8_t *cut, struct dt_err *reterr);

/* Whether no batch-dependent input reaches a binding point of the residual graph; the
 * proof names each duty once; its boxes cover all candidates, knob values and inputs;
 * the duty holds in each box that claims it; and exactly the assignments in no open
 * box are said to be proved.
 *   -DT_ECORRUPT  with what is wrong      -ENOMEM */
int dt_check_proof (const struct dt_solution *s, struct dt_err *reterr);

/* Whether the range of each value that is a float, or is computed from one, holds all
 * that its operands' ranges allow, and no fault is denied that they allow.
 * (check_float.c)
 *   DT_NODE_NONE, or the first value of which that cannot be seen */
uint32_t dt_check_floats (const struct dt_graph *g, const struct dt_ranges *r);

#endif
