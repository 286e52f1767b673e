/* solver/explain.h - values, places, expressions and paths as text.
 * Uses: selir/graph.h, base/buf.h.  Used by: solver/. */
#ifndef DT_SOLVER_EXPLAIN_H
#define DT_SOLVER_EXPLAIN_H

#include "base/buf.h"
#include "selir/graph.h"

#define DT_EXPLAIN_MAX 120 /* characters of an expression or path; then "..." */

/* All append.  A place is "file:line:column", "?" if the span is none. */
void dt_explain_place (const struct dt_graph *g, uint32_t span, struct dt_buf *out);
/* 7, True, or the text of an enum member. */
void dt_explain_value (const struct dt_graph *g, uint8_t type, int64_t v, struct dt_buf *out);
/* The operation that computes a value, named operands by their names:
 * "select(longest_query == 1, 128, ...)". */
void dt_explain_expression (const struct dt_graph *g, uint32_t node, struct dt_buf *out);
/* Inputs and named values of a path of values, then `last` if it is no repeat:
 * "longest_query -> wanted -> split_stride". */
void dt_explain_path (const struct dt_graph *g, const uint32_t *path, size_t n,
                      const char *last, struct dt_buf *out);

/* A shortest path along operands, from a value that is marked in `from` to the
 * value `to`, through values marked in `through` (NULL: any).  Writes
 * ret[g->n_nodes], first value first.  1 if there is one, 0, or -ENOMEM. */
int dt_explain_route (const struct dt_graph *g, const uint8_t *from, uint32_t to,
                      const uint8_t *through, uint32_t *ret, size_t *ret_n);

#endif
