/* tuner/observe.c - a trace's calls as observations of the unpinned program. */
#include "base/mem.h"
#include "tuner/inputs.h"
#include "tuner/tune.h"

static int make_room (const struct dt_trace_site *const *t, size_t n, const struct dt_inputs *m,
                      struct dt_tune_observations *o, struct dt_err *reterr)
{
    size_t calls = 0, requests = 0;

    for (size_t k = 0; k < n; k++) {
        calls += t[k]->n_calls;
        requests += t[k]->n_requests;
    }
    o->in = dt_calloc (calls * m->n_scalar, sizeof *o->in);
    o->own = dt_calloc (requests * m->n_own, sizeof *o->own);
    o->n_own = dt_calloc (calls, sizeof *o->n_own);
    o->weight = dt_calloc (calls, sizeof *o->weight);
    return o->in && o->own && o->n_own && o->weight ? 0 : dt_err_nomem (reterr);
}

static int fill (const struct dt_trace_site *const *t, size_t n, const struct dt_inputs *m,
                 struct dt_tune_observations *o, struct dt_err *reterr)
{
    size_t at = 0;
    int64_t *own;
    int r;

    if ((r = make_room (t, n, m, o, reterr)) < 0)
        return r;
    own = o->own;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < t[k]->n_calls; i++, at++) {
            struct dt_call call = dt_trace_call_get (t[k], i);

            if ((r = dt_inputs_fill (m, &call, o->in + at * m->n_scalar, own, reterr)) < 0)
                return r;
            own += call.n_requests * m->n_own;
            o->n_own[at] = call.n_requests;
            o->weight[at] = t[k]->call[i].count;
        }
    o->view = (struct dt_observations){ at, o->in, o->own, o->n_own, o->weight };
    return 0;
}

int dt_tune_observe (const struct dt_solution *s, const struct dt_trace_site *const *trace,
                     size_t n_traces, struct dt_tune_observations *ret, struct dt_err *reterr)
{
    struct dt_tune_observations o = { 0 };
    struct dt_inputs m;
    struct dt_vm *vm = NULL;
    int r;

    if ((r = dt_vm_load (s->pins.data, s->pins.len, &vm, reterr)) < 0)
        return r;
    if ((r = dt_inputs_map (vm, trace[0]->schema, &m, reterr)) < 0
        || (r = fill (trace, n_traces, &m, &o, reterr)) < 0)
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
