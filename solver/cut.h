/* solver/cut.h - minimum vertex cut of a dependence graph.
 * Uses: base/.  Used by: solver/solve.c. */
#ifndef DT_SOLVER_CUT_H
#define DT_SOLVER_CUT_H

#include <stdint.h>

#include "base/err.h"

/* A directed graph in rows, borrowed.
 *   row       [n + 1]     row[0] == 0, non-decreasing; row[n] arcs in all
 *   head      [row[n]]    targets, each < n
 *   infinite  [n]         1: may not be in a cut
 *   source, sink [n]      flags; a vertex may be both */
struct dt_cut_graph {
    uint32_t n;
    const uint32_t *row, *head;
    const uint8_t *infinite, *source, *sink;
};

/* The fewest vertices whose removal leaves no path from a source to a sink
 * (removing a source or a sink counts).  Of all such sets the one nearest the
 * sinks, which is unique.  Writes ret_cut[n] (1: in the cut) and *ret_size.
 *   -EINVAL     malformed rows
 *   -DT_EUNCUT  every cut holds an infinite vertex; ret_path[0..*ret_path_len)
 *               is then one path of such vertices, source first ([n] room; may
 *               be NULL)
 *   -ENOMEM
 * No recursion; O(n * m) in the worst case. */
int dt_cut_solve (const struct dt_cut_graph *g, uint8_t *ret_cut, uint32_t *ret_size,
                  uint32_t *ret_path, uint32_t *ret_path_len, struct dt_err *reterr);

#endif
