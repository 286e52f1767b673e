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
 * What step 1 did is kept as a certificate (proof.h), which solver/check.c verifies.
 * Points that break an assume of inputs alone are no part of the domain.  A
 * counterexample is always a point that was computed, the first of its order. */
#ifndef DT_SOLVER_VRA_H
#define DT_SOLVER_VRA_H

#include "solver/solve.h"

#define DT_VRA_MAX_POINTS (UINT64_C (1) << 20)
/* Points enumerated in one solve, about 5 s of one core at 10 values a point;
 * beyond it all else is sampled, so that a solve ends. */
#define DT_VRA_MAX_EFFORT (UINT64_C (1) << 28)
/* Boxes of one combination that splitting its inputs may cost: MAX, FEW where all
 * points can be tried instead, TINY where there are no more points than MAX (a box
 * costs as much as some hundred points) and once those of its duty are spent. */
#define DT_VRA_MAX_BOXES 4096
#define DT_VRA_FEW_BOXES 256
#define DT_VRA_TINY_BOXES 32
#define DT_VRA_DUTY_BOXES (UINT64_C (1) << 17) /* about 0.5 s at 20 values a box */
#define DT_VRA_MAX_THREADS 16
#define DT_VRA_MAX_INPUTS 64    /* as the vm */

/* Fill verdict, why, excluded and proof of `s`, whose pins, knobs and n_assignments
 * are there.  n_threads: at most so many work; 0 is 1.
 *   -DT_EILLEGAL  assumes exclude the whole domain
 *   -DT_ELIMIT    more than DT_VRA_MAX_INPUTS inputs */
int dt_vra_judge (const struct dt_graph *residual, struct dt_solution *s, unsigned n_threads,
                  struct dt_err *reterr);

#endif
