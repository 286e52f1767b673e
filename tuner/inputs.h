/* tuner/inputs.h - a selector's inputs from a call's quantities, by name.
 * Uses: selir/vm.h, trace/schema.h.  Used by: tuner/cover.c, tuner/observe.c. */
#ifndef DT_TUNER_INPUTS_H
#define DT_TUNER_INPUTS_H

#include "selir/vm.h"
#include "trace/schema.h"

struct dt_inputs {
    const struct dt_schema *schema;
    int scalar[DT_VM_MAX_INPUTS], own[DT_VM_MAX_INPUTS]; /* quantities, in the blob's order */
    size_t n_scalar, n_own;
};

/*   -DT_EINPUT  an input is no quantity of the family, or of the other kind; or it
 *               is a pin or a knob, which no call gives */
int dt_inputs_map (const struct dt_vm *vm, const struct dt_schema *schema,
                   struct dt_inputs *ret, struct dt_err *reterr);
/* in: [n_scalar]; own: [call->n_requests * n_own], row-major. */
int dt_inputs_fill (const struct dt_inputs *m, const struct dt_call *call, int64_t *in,
                    int64_t *own, struct dt_err *reterr);

#endif
