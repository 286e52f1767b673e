/* detentctl/evaluate.h - compute a program at one point.
 * Uses: selir/graph.h.  Used by: cmd_selir_run.c. */
#ifndef DT_CTL_EVALUATE_H
#define DT_CTL_EVALUATE_H

#include "selir/graph.h"
#include "selir/program.h"

/* Why a program stopped: an error or a failed condition. */
struct dt_stopped {
    uint64_t seq; /* of program order; UINT64_MAX: it did not stop */
    enum dt_fault fault; /* DT_FAULT_NONE: a condition             */
    const struct dt_cond *cond;
    uint32_t span;
};

/* Compute value[g->n_nodes] from input[g->n_inputs] and knob[g->n_knobs], and what
 * the program meets first in its own order. */
struct dt_stopped dt_evaluate (const struct dt_graph *g, const int64_t *input,
                               const int64_t *knob, int64_t *value);

/* It as an error, with the line of the program; `source` has the graph's files.
 *   -DT_EEVAL or -DT_EREFUSED */
int dt_stopped_describe (const struct dt_graph *g, const struct dt_stopped *s,
                         const struct dt_source *source, size_t n_sources,
                         struct dt_err *reterr);

#endif
