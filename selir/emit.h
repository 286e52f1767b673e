/* selir/emit.h - from a graph to a selector blob (see vm.h for the format).
 * Uses: selir/graph.h, selir/vm.h.  Used by: solver/. */
#ifndef DT_SELIR_EMIT_H
#define DT_SELIR_EMIT_H

#include "base/buf.h"
#include "selir/graph.h"
#include "selir/vm.h"

/* What a field of the output is, for libdetent and for people. */
struct dt_emit_field {
    uint8_t binding;   /* 1: bits may depend on it                          */
    uint8_t by_claim;  /* free because the deployment claims it             */
    const char *unit;  /* of the value, "" if none                          */
};

struct dt_emit_options {
    const char *site;          /* "" in a blob that no engine gets            */
    const char *variant;       /* "pinned", "stock", "pins" or "judge"        */
    const struct dt_emit_field *field; /* [g->n_points] or NULL: all binding  */
    const struct dt_vm_table *table; /* [n_tables]; `output` is not read       */
    size_t n_tables;
};

/* Append the blob.  Every Batch input is an input of the blob; pins and knobs that
 * the code still needs follow (classes "pin" and "knob"), pins first, in the
 * graph's order: that is how the solver judges many assignments with one blob.
 *
 * What points and conditions need is emitted, and every value that may fault: a
 * graph that was simplified with faults == 0 has no others.  Faults and conditions
 * come in order of seq.  The code is split: what no Own input reaches runs once a
 * call, the rest once a request.
 *   -DT_ELIMIT  more than DT_VM_MAX_REGISTERS live values, or more inputs, outputs
 *               or bytes than the vm takes */
int dt_emit (const struct dt_graph *g, const struct dt_emit_options *options,
             struct dt_buf *ret, struct dt_err *reterr);

#endif
