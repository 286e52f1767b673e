/* solver/vra.h - pin value range analysis: which assignments are legal.
 * Uses: selir/, solver/batch.h.  Used by: solver/solve.c.
 *
 * An assignment is legal if no condition and no fault of the residual graph stops
 * any input of the domain.  Conditions and faults are judged one by one, and each
 * once for every combination of the pins and knobs that it reads:
 *
 *   1. ranges, splitting the domain until each box is decided      proved
 *   2. all points, if there are at most DT_VRA_MAX_POINTS          exhausted
 *   3. the corners and a fixed sample                              sampled
 *
 * Points that break an assume of inputs alone are no part of the domain.  A
 * counterexample is always a point that was computed, the first of its order. */
#ifndef DT_SOLVER_VRA_H
#define DT_SOLVER_VRA_H

#include "solver/solve.h"

#define DT_VRA_MAX_POINTS (UINT64_C (1) << 20)
/* Points enumerated in one solve, about 5 s of one core at 10 values a point;
 * beyond it all else is sampled, so that a solve ends. */
#define DT_VRA_MAX_EFFORT (UINT64_C (1) << 28)
#define DT_VRA_MAX_BOXES 4096   /* per judgement; 256 where step 2 is possible */
#define DT_VRA_MAX_INPUTS 64    /* as the vm */

/* Fill verdict, why and excluded of `s`, whose pins, knobs and n_assignments are
 * there.
 *   -DT_EILLEGAL  assumes exclude the whole domain
 *   -DT_ELIMIT    more than DT_VRA_MAX_INPUTS inputs */
int dt_vra_judge (const struct dt_graph *residual, struct dt_solution *s,
                  struct dt_err *reterr);

#endif
