/* solver/batch.h - all values of a graph at many points at once.
 * Uses: selir/graph.h.  Used by: solver/candidates.c, solver/vra.c.
 *
 * One value of many points is computed before the next value, so that the cost of
 * dispatch is shared.  The arithmetic is dt_op_eval's. */
#ifndef DT_SOLVER_BATCH_H
#define DT_SOLVER_BATCH_H

#include "selir/graph.h"

#define DT_BATCH_POINTS 256

struct dt_batch; /* borrows its graph */

int dt_batch_new (const struct dt_graph *g, struct dt_batch **ret, struct dt_err *reterr);
struct dt_batch *dt_batch_free (struct dt_batch *b);
/* A value's column, [DT_BATCH_POINTS]: those of inputs, knobs and pins are the
 * caller's to write, and stay. */
int64_t *dt_batch_column (struct dt_batch *b, uint32_t node);
/* One value in the whole column of a leaf. */
void dt_batch_fix (struct dt_batch *b, uint32_t node, int64_t v);
/* Compute all others at the first n points. */
void dt_batch_run (struct dt_batch *b, size_t n);
/* The fault (enum dt_fault) that a partial value raises at each point where its
 * guard is true, whatever the guard is; of a value that cannot fault NULL. */
const uint8_t *dt_batch_faults (const struct dt_batch *b, uint32_t node);

/* A set of points: the product of the domains of some leaves, or a fixed sample
 * of it. */
struct dt_axis {
    uint32_t node;
    struct dt_domain domain; /* borrowed */
};
/* How many points; UINT64_MAX if more fit no word. */
uint64_t dt_points_count (const struct dt_axis *axis, size_t n);
/* Write points at..at+n of the product into the columns, the last axis fastest. */
void dt_points_product (struct dt_batch *b, const struct dt_axis *axis, size_t n_axes,
                        uint64_t at, size_t n);
/* The same of the sample: first the corners of the box (at most 2^16, of the
 * first 16 axes; later ones at their lowest), then DT_POINTS_SAMPLE more. */
#define DT_POINTS_SAMPLE 65536
uint64_t dt_points_sampled (size_t n_axes);
void dt_points_sample (struct dt_batch *b, const struct dt_axis *axis, size_t n_axes,
                       uint64_t at, size_t n);

#endif
