/* tuner/tables.h - tables for the free fields of a chosen assignment.
 * Uses: tuner/tune.h, selir/vm.h.  Used by: detentd.
 *
 * For each free field every value of the backend is timed on the sampled calls, with all
 * other parameters as the selector and the tables so far give them; if there are several
 * fields, once more with all others' tables.  Of the quantities of
 * a call the one whose ranges save most is taken (tuner/cells.h).  The tables are kept if
 * they beat the program's own values by the minimum effect, in a race and again in a
 * fresh process: free values cannot change bits, so nothing else is at stake. */
#ifndef DT_TUNER_TABLES_H
#define DT_TUNER_TABLES_H

#include "selir/vm.h"
#include "tuner/tune.h"

/* A free field and the values that the backend has kernels for. */
struct dt_tune_free {
    const char *field;
    const int64_t *value; /* [n_values] */
    size_t n_values;
};
struct dt_tables_result {
    struct dt_vm_table *table; /* [n] in the arena; n == 0: the program's values stay */
    size_t n;
    double ratio, lo, hi; /* with tables over without, if n */
    uint64_t n_measurements;
};

/* options: as for the tune; budget_s is for the tables alone. */
int dt_tables_find (const struct dt_solution *s, size_t assignment,
                    const struct dt_trace_site *const *trace, size_t n_traces,
                    const struct dt_tune_free *field, size_t n_fields,
                    const struct dt_tune_options *options, const struct dt_tune_hooks *hooks,
                    struct dt_arena *a, struct dt_tables_result *ret, struct dt_err *reterr);

#endif
