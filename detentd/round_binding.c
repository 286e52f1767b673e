/* detentd/round_binding.c - the assignment of a round, as its selector gives it. */
#include "detentd/round_parts.h"

/* Outputs of the selector under the assignment, of a call that it takes. */
static int select_any (struct dt_probe *p, int64_t *out, struct dt_err *reterr)
{
    struct dt_arena a = { 0 };
    struct dt_probe_batch b;
    int r = 0;

    for (int i = 0; i < 16 && r == 0; i++)
        if ((r = dt_probe_draw (p, &a, 1, 64, &b, reterr)) == 0)
            r = dt_probe_select (p, &b, out);
    dt_arena_done (&a);
    return r == 0 ? dt_err_set (reterr, -DT_EREFUSED, "selection takes no call that was tried") : r;
}

int dt_round_bind (const struct dt_round *o, struct dt_probe *p, struct dt_arena *a,
                   struct dt_named **ret, size_t *ret_n, struct dt_err *reterr)
{
    struct dt_certificate sorted = { .family = NULL };
    int64_t out[DT_VM_MAX_OUTPUTS];
    int r;

    if ((r = select_any (p, out, reterr)) < 0)
        return r;
    if (!(sorted.binding = dt_arena_array (a, dt_vm_outputs (o->vm), sizeof *sorted.binding)))
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < dt_vm_outputs (o->vm); i++) {
        const struct dt_vm_output *f = dt_vm_output (o->vm, i);

        if (!f->binding)
            continue;
        if (f->own)
            return dt_err_set (reterr, -DT_EUNSUPPORTED, "%s binds and follows each request's own "
                               "length: only assignments of one value are certified", f->field);
        sorted.binding[sorted.n_binding++] = (struct dt_named){ f->field, out[i] };
    }
    dt_certificate_sort (&sorted);
    *ret = sorted.binding;
    *ret_n = sorted.n_binding;
    return 0;
}

int dt_round_probe (const struct dt_round *o, struct dt_probe **ret, struct dt_err *reterr)
{
    const struct dt_schema *schema = dt_schema_find (o->family);

    if (!schema)
        return dt_err_set (reterr, -DT_EINPUT, "unknown family %s", o->family);
    return dt_probe_new (schema, o->vm, o->seed, ret, reterr);
}

int dt_round_binding (const struct dt_round *o, struct dt_arena *a, struct dt_named **ret,
                      size_t *ret_n, struct dt_err *reterr)
{
    struct dt_probe *p;
    int r;

    if ((r = dt_round_probe (o, &p, reterr)) < 0)
        return r;
    r = dt_round_bind (o, p, a, ret, ret_n, reterr);
    dt_probe_free (p);
    return r;
}
