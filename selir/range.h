/* selir/range.h - what values each node of a graph can take.
 * Uses: selir/graph.h.  Used by: simplify, solver/. */
#ifndef DT_SELIR_RANGE_H
#define DT_SELIR_RANGE_H

#include "selir/graph.h"

#define DT_RANGE_SET 64 /* members that a value set keeps exactly */

/* Every value the node takes is in lo..hi and, if n > 0, among set[n]
 * (ascending).  A float's are keys of its bits.  Computed from the operands' ranges
 * alone: no condition is used. */
struct dt_range {
    int64_t lo, hi;
    uint32_t n;
    const int64_t *set;
};

/* Keys of floats are ordered as their values: -inf, ..., -0.0, 0.0, ..., inf, NaN; so a
 * float that may be NaN has no upper bound.  Each is the other's inverse. */
static inline int64_t dt_range_key (int64_t bits)
{
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

static inline int64_t dt_range_bits (int64_t key)
{
    return dt_range_key (key);
}

struct dt_ranges; /* one per node of a graph */

/* Ranges of all nodes, in one pass.  A box (may be NULL) narrows inputs, knobs
 * and pins: box[i] replaces the domain of leaf node i where box[i].lo <= hi.  A
 * float's box is a set of bits, in any order, or all. */
int dt_ranges_new (const struct dt_graph *g, const struct dt_range *box,
                   struct dt_ranges **ret, struct dt_err *reterr);
struct dt_ranges *dt_ranges_free (struct dt_ranges *r);
struct dt_range dt_ranges_get (const struct dt_ranges *r, uint32_t node);
/* 1 if the node is partial and never raises: its operands' ranges, narrowed by
 * what its guard says of them, rule a fault out, or the guard is never true. */
int dt_ranges_safe (const struct dt_ranges *r, uint32_t node);
/* 1 if no fault is possible whatever the guard: the value is always the
 * operation's own, never the 0 that stands for a fault. */
int dt_ranges_exact (const struct dt_ranges *r, uint32_t node);

/* For a graph that grows: an empty one, and the ranges of what was added since. */
int dt_ranges_open (struct dt_ranges **ret, struct dt_err *reterr);
int dt_ranges_extend (struct dt_ranges *r, const struct dt_graph *g, struct dt_err *reterr);

/* What the range of `node` becomes where `cond` is known to be `truth`.  Only
 * comparisons that name the node itself narrow it; an impossible case does not. */
struct dt_range dt_ranges_where (const struct dt_ranges *r, const struct dt_graph *g,
                                 uint32_t cond, int truth, uint32_t node,
                                 int64_t room[DT_RANGE_SET]);
/* A comparison (LT, LE, EQ, NE) of ranges: 0, 1, or -1 for either. */
int dt_range_compare (uint8_t op, const struct dt_range *a, const struct dt_range *b);

#endif
