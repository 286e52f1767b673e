/* selir/simplify.h - the same meaning in fewer values.
 * Uses: selir/graph.h, selir/range.h.  Used by: solver/, emit. */
#ifndef DT_SELIR_SIMPLIFY_H
#define DT_SELIR_SIMPLIFY_H

#include "selir/graph.h"

/* Passes; all are on with DT_PASS_ALL.  bench/ turns each off. */
#define DT_PASSES(X) \
    X (FOLD, "fold")         /* constants                                  */ \
    X (ALGEBRA, "algebra")   /* x+0, x*1, x//1, min(x,x), not not, ...     */ \
    X (RANGE, "range")       /* comparisons and faults decided by ranges    */ \
    X (SELECT, "select")     /* equal arms, nested selects on one condition */ \
    X (PATH, "path")         /* conditions known on the path                */ \
    X (DEAD, "dead")         /* values that nothing needs                   */

enum dt_pass_bit {
#define X(name, text) DT_PASS_BIT_##name,
    DT_PASSES (X)
#undef X
    DT_PASS_COUNT
};
#define DT_PASS_ALL ((1u << DT_PASS_COUNT) - 1)

/* Simplify to a fixed point.  No rewrite uses a condition (require, assume): a
 * value of the result equals, on every input of the domain where no fault is
 * raised, each value that maps to it.
 *
 *   subst   NULL, or [g->n_nodes]: a node that is not DT_NODE_NONE is replaced
 *           before anything else by the pin of that index of `g->pin` (not a
 *           node id).  Used to make residual graphs.
 *   faults  1: values that may fault are kept even where nothing else needs them
 *           (the meaning under CPython); 0: only what points and conditions need
 *           A condition that can never fail is dropped (by DEAD).
 *   ret_map owned by the caller (dt_free), [g->n_nodes]: id in *ret of the value
 *           that each node became, DT_NODE_NONE if it was dropped */
int dt_simplify (const struct dt_graph *g, unsigned passes, const uint32_t *subst, int faults,
                 struct dt_graph **ret, uint32_t **ret_map, struct dt_err *reterr);

/* Rounds over the graph until nothing changes; the graph after the last one is right
 * too, if not the smallest. */
#define DT_SIMPLIFY_MAX_ROUNDS 16

const char *dt_pass_name (unsigned bit); /* "fold"; NULL if there is none */

/* Replace pins and knobs by constants and simplify: pin[i] for g->pin[i], knob[i]
 * for g->knob[i]; either may be NULL (left symbolic). */
int dt_simplify_bind (const struct dt_graph *g, const int64_t *pin, const int64_t *knob,
                      int faults, struct dt_graph **ret, struct dt_err *reterr);

#endif
