/* tuner/observe.c - a trace's calls as observations of the unpinned program. */
#include "base/mem.h"
#include "tuner/inputs.h"
#include "tuner/tune.h"

static int fill (const struct dt_trace_site *t, const struct dt_inputs *m,
                 struct dt_tune_observations *o, struct dt_err *reterr)
{
    int64_t *own;
    int r;

    o->in = dt_calloc (t->n_calls * m->n_scalar, sizeof *o->in);
    o->own = own = dt_calloc (t->n_requests * m->n_own, sizeof *o->own);
    o->n_own = dt_calloc (t->n_calls, sizeof *o->n_own);
    o->weight = dt_calloc (t->n_calls, sizeof *o->weight);
    if (!o->in || !o->own || !o->n_own || !o->weight)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < t->n_calls; i++) {
        struct dt_call call = dt_trace_call_get (t, i);

        if ((r = dt_inputs_fill (m, &call, o->in + i * m->n_scalar, own, reterr)) < 0)
            return r;
        own += call.n_requests * m->n_own;
        o->n_own[i] = call.n_requests;
        o->weight[i] = t->call[i].count;
    }
    o->view = (struct dt_observations){ t->n_calls, o->in, o->own, o->n_own, o->weight };
    return 0;
}

int dt_tune_observe (const struct dt_solution *s, const struct dt_trace_site *t,
                     struct dt_tune_observations *ret, struct dt_err *reterr)
{
    struct dt_tune_observations o = { 0 };
    struct dt_inputs m;
    struct dt_vm *vm = NULL;
    int r;

    if ((r = dt_vm_load (s->pins.data, s->pins.len, &vm, reterr)) < 0)
        return r;
    if ((r = dt_inputs_map (vm, t->schema, &m, reterr)) < 0 || (r = fill (t, &m, &o, reterr)) < 0)
        goto fail;
    dt_vm_free (vm);
    *ret = o;
    return 0;
fail:
    dt_tune_observations_done (&o);
    dt_vm_free (vm);
    return r;
}

void dt_tune_observations_done (struct dt_tune_observations *o)
{
    dt_free (o->in);
    dt_free (o->own);
    dt_free (o->n_own);
    dt_free (o->weight);
    *o = (struct dt_tune_observations){ 0 };
}
