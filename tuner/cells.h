/* tuner/cells.h - ranges of one quantity, each with the value that is fastest in it.
 * Uses: base/.  Used by: tuner/tables.c, tests. */
#ifndef DT_TUNER_CELLS_H
#define DT_TUNER_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DT_CELLS_MAX 4 /* of one table: more thresholds than that follow noise */

/* What each value takes on each call. */
struct dt_cell_times {
    size_t n_calls, n_values;
    const double *weight;    /* [n_calls]                                            */
    const double *time;      /* [n_calls * n_values]; INFINITY: no kernel            */
    const int64_t *quantity; /* [n_calls]                                            */
};
struct dt_cells {
    size_t n;                   /* 0: no value has a kernel on all calls of some range */
    int64_t last[DT_CELLS_MAX]; /* greatest quantity of each cell; INT64_MAX at the end */
    size_t value[DT_CELLS_MAX];
    double cost;                /* sum of weight * time over all calls               */
};

/* Cut the calls, in order of the quantity, into the cells that cost least.  A further
 * cell must save `gain` of the whole; a cell whose best value saves less than `gain` of
 * it over its neighbour's before it takes that one, and equal neighbours are one cell.
 * Between two cells the bound is in the middle of the quantities seen.  -ENOMEM */
int dt_cells_find (const struct dt_cell_times *t, double gain, struct dt_cells *ret);

#endif
