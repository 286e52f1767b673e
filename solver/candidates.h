/* solver/candidates.h - which values a value of a graph can take.
 * Uses: selir/, solver/batch.h.  Used by: solver/solve.c. */
#ifndef DT_SOLVER_CANDIDATES_H
#define DT_SOLVER_CANDIDATES_H

#include "selir/range.h"

#define DT_CANDIDATES_MAX_POINTS (UINT64_C (1) << 20)

/* The values of `node`, ascending.  Exact if the inputs and knobs that reach it
 * have at most DT_CANDIDATES_MAX_POINTS combinations: those where one of its
 * operations faults give no value, unless what decides that needs more inputs
 * than can be enumerated.  Else its range or value set.  `name` is used in
 * messages only.  *ret is the caller's (dt_free).
 *   -DT_ELIMIT  more than DT_SOLVE_MAX_CANDIDATES */
int dt_candidates (const struct dt_graph *g, uint32_t node, const struct dt_ranges *ranges,
                   const char *name, int64_t **ret, size_t *ret_n, uint8_t *ret_exact,
                   struct dt_err *reterr);

#endif
