/* tuner/cells.h - ranges of one quantity, each with the value that is fastest in it.
 * Uses: base/.  Used by: tuner/tables.c, tests. */
#ifndef DT_TUNER_CELLS_H
#define DT_TUNER_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DT_CELLS_MAX 8 /* of one table */

/* What each value takes on each call. */
struct dt_cell_times {
    size_t n_calls, n_values;
    const double *weight;    /* [n_calls]                                            */
    const double *time;      /* [n_calls * n_values]; INFINITY: no kernel            */
    const int64_t *quantity; /* [n_calls]                                            */
    double noise;            /* relative standard error of one time; 0: none         */
};
struct dt_cells {
    size_t n;                   /* 0: no value has a kernel on all calls of some range */
    int64_t last[DT_CELLS_MAX]; /* greatest quantity of each cell; INT64_MAX at the end */
    size_t value[DT_CELLS_MAX];
    double cost;                /* sum of weight * time over all calls               */
};

/* Cut the calls, in order of the quantity, into cells, each with the value that is fastest
 * in it: each call counts by how much slower than its best value it is, so that short
 * calls have cells as long ones do.  A cell whose value saves less than `gain` of its time,
 * or less than noise may, over a neighbour's takes that one, and equal neighbours are one
 * cell.  Between two cells the bound is in the middle of the quantities seen.  -ENOMEM */
int dt_cells_find (const struct dt_cell_times *t, double gain, struct dt_cells *ret);

#endif
