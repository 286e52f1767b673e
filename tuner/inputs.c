/* tuner/inputs.c - a selector's inputs from a call's quantities, by name. */
#include "tuner/inputs.h"

int dt_inputs_map (const struct dt_vm *vm, const struct dt_schema *schema,
                   struct dt_inputs *ret, struct dt_err *reterr)
{
    struct dt_inputs m = { .schema = schema };

    for (size_t i = 0; i < dt_vm_inputs (vm); i++) {
        const struct dt_vm_input *in = dt_vm_input (vm, i);
        int q = dt_schema_quantity (schema, in->name), own = in->klass == DT_VM_OWN;

        if (in->klass == DT_VM_PIN || in->klass == DT_VM_KNOB)
            return dt_err_set (reterr, -DT_EINPUT, "selector: '%s' is a pin or a knob", in->name);
        if (q < 0 || schema->quantity[q].own != own)
            return dt_err_set (reterr, -DT_EINPUT, "selector: input '%s' is no %squantity of %s",
                               in->name, own ? "own " : "", schema->family);
        if (own)
            m.own[m.n_own++] = q;
        else
            m.scalar[m.n_scalar++] = q;
    }
    *ret = m;
    return 0;
}

int dt_inputs_fill (const struct dt_inputs *m, const struct dt_call *call, int64_t *in,
                    int64_t *own, struct dt_err *reterr)
{
    int64_t quantity[DT_SCHEMA_MAX_QUANTITIES];
    int r;

    if ((r = dt_schema_derive (m->schema, call, quantity, reterr)) < 0)
        return r;
    for (size_t i = 0; i < m->n_scalar; i++)
        in[i] = quantity[m->scalar[i]];
    for (size_t k = 0; k < call->n_requests; k++)
        for (size_t i = 0; i < m->n_own; i++)
            *own++ = dt_schema_own (m->schema, (size_t)m->own[i],
                                    call->request + k * m->schema->n_fields);
    return 0;
}
