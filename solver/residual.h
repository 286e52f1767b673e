/* solver/residual.h - a dependence graph as a canonical value, and back.
 * Uses: selir/graph.h, base/canon.h.  Used by: solver/encode.c.
 *
 *   conditions  l  of {guard, kind, message, seq, span, value}
 *   enums       l  of s
 *   family      s
 *   files       l  of s
 *   inputs      l  of {class, domain, name, span, type}; domain: {hi,lo,step} or
 *                  {values: s (int64 each)}
 *   knobs       l  of {initial, name, span, type, values}
 *   names       l  of s, those of values, in order of first use
 *   nodes       s  rows of 44 bytes (see residual.c)
 *   pins        l  of {name, span, type, values: s (int64 each)}
 *   points      l  of {field, free, node, span, type}
 *   seq         i  next_seq
 *   spans       s  file, line, column: u32 each
 *
 * Ids of values, spans and names are i; -1 (0xffffffff in rows) is none. */
#ifndef DT_SOLVER_RESIDUAL_H
#define DT_SOLVER_RESIDUAL_H

#include "base/canon.h"
#include "selir/graph.h"

/* Writes one value; -ENOMEM or 0 (the writer's own failures stick in `c`). */
int dt_residual_encode (const struct dt_graph *g, struct dt_canon *c);
/* Checks everything that users of a graph rely on.
 *   -DT_ECORRUPT  -ENOMEM */
int dt_residual_decode (struct dt_canon_value v, struct dt_graph **ret, struct dt_err *reterr);

#endif
