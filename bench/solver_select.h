/* bench/solver_select.h - times of selections through libdetent.
 * Uses: base/, solver/deployment.h.  Used by: bench/solver.c. */
#ifndef DT_BENCH_SOLVER_SELECT_H
#define DT_BENCH_SOLVER_SELECT_H

#include "base/buf.h"
#include "solver/deployment.h"

/* Of two selectors, over the calls that a log makes within the site's limits; and
 * CPython's of the site's program, in programs/FOLDER. */
void bench_select (const char *top, const char *folder, const struct dt_site *site, const struct dt_buf *pinned,
                   const struct dt_buf *stock, const struct dt_buf *log);

#endif
