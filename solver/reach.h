/* solver/reach.h - what reaches what in a dependence graph, and parts of one.
 * Uses: selir/graph.h.  Used by: solver/.
 *
 * A mask has one byte a value.  A value depends on its operands; its guard only
 * decides whether it faults, so guards are roots of their own. */
#ifndef DT_SOLVER_REACH_H
#define DT_SOLVER_REACH_H

#include "selir/graph.h"

/* Mark all operands of the marked, to the leaves. */
void dt_reach_cone (const struct dt_graph *g, uint8_t *mask);
/* Mark all values of which an operand is marked. */
void dt_reach_users (const struct dt_graph *g, uint8_t *mask);
/* Mark root, if there is one. */
static inline void dt_reach_root (uint8_t *mask, uint32_t node)
{
    if (node != DT_NODE_NONE)
        mask[node] = 1;
}
/* Fresh masks (dt_free), NULL out of memory: values that depend on an input of
 * one of the classes (bits 1 << enum dt_input_class). */
uint8_t *dt_reach_class (const struct dt_graph *g, unsigned classes);
#define DT_REACH_BATCH (1u << DT_INPUT_RUNTIME | 1u << DT_INPUT_UNPINNABLE)
#define DT_REACH_OWN (1u << DT_INPUT_OWN)

/* A fresh graph of the marked values alone (a mask that is its own cone), with
 * all rows of inputs, knobs and pins, and no conditions and points.  A guard that
 * is not marked is dropped and its value made safe.  ret_map[g->n_nodes] is the
 * caller's; DT_NODE_NONE where not marked. */
int dt_reach_extract (const struct dt_graph *g, const uint8_t *mask, uint32_t *ret_map,
                      struct dt_graph **ret, struct dt_err *reterr);

/* Add to `n` what `g` says of who raises, by a map of g's values into n's. */
int dt_reach_raises (const struct dt_graph *g, const uint32_t *map, struct dt_graph *n,
                     struct dt_err *reterr);

/* A fresh graph with the same values (and ids), conditions and points. */
int dt_reach_copy (const struct dt_graph *g, struct dt_graph **ret, struct dt_err *reterr);

#endif
