/* tuner/calls.c - the calls of a workload's traces that are replayed. */
#include "tuner/calls.h"

#include "base/mem.h"

void dt_calls_done (struct dt_calls *c)
{
    for (size_t k = 0; c->sample && k < c->n_traces; k++)
        dt_sample_done (&c->sample[k]);
    dt_free (c->sample);
    dt_free (c->at);
    dt_free (c->weight);
    dt_free (c->group);
    *c = (struct dt_calls){ 0 };
}

static int make_room (struct dt_calls *c, size_t n, struct dt_err *reterr)
{
    c->at = dt_calloc (n, sizeof *c->at);
    c->weight = dt_calloc (n, sizeof *c->weight);
    c->group = dt_calloc (n, sizeof *c->group);
    return c->at && c->weight && c->group ? 0 : dt_err_nomem (reterr);
}

static void add (struct dt_calls *c, const struct dt_trace_site *site, size_t trace, size_t call,
                 double weight)
{
    size_t requests = site->call[call].n_requests;

    c->at[c->n] = (struct dt_cover_at){ site, trace, call, weight };
    c->weight[c->n] = weight;
    c->group[c->n++] = (uint32_t)trace;
    c->most_requests = requests > c->most_requests ? requests : c->most_requests;
}

int dt_calls_draw (const struct dt_trace_site *const *trace, size_t n_traces, size_t max,
                   uint64_t seed, struct dt_calls *ret, struct dt_err *reterr)
{
    size_t each = (max ? max : DT_CALLS_MAX) / n_traces, n = 0;
    struct dt_calls c = { .n_traces = n_traces };
    int r = 0;

    if (!(c.sample = dt_calloc (n_traces, sizeof *c.sample)))
        return dt_err_nomem (reterr);
    for (size_t k = 0; r == 0 && k < n_traces; k++) {
        r = dt_sample_draw (trace[k], each ? each : 1, seed, &c.sample[k], reterr);
        n += r == 0 ? c.sample[k].n : 0;
    }
    if (r < 0 || (r = make_room (&c, n, reterr)) < 0) {
        dt_calls_done (&c);
        return r;
    }
    for (size_t k = 0; k < n_traces; k++)
        for (size_t i = 0; i < c.sample[k].n; i++)
            add (&c, trace[k], k, c.sample[k].call[i].call, c.sample[k].call[i].weight);
    *ret = c;
    return 0;
}

int dt_calls_spread (const struct dt_trace_site *const *trace, size_t n_traces,
                     struct dt_calls *ret, struct dt_err *reterr)
{
    struct dt_calls c = { .n_traces = n_traces };
    int r;

    if ((r = make_room (&c, n_traces * DT_CALLS_SPREAD, reterr)) < 0) {
        dt_calls_done (&c);
        return r;
    }
    for (size_t k = 0; k < n_traces; k++) {
        size_t n = trace[k]->n_calls, some = n < DT_CALLS_SPREAD ? n : DT_CALLS_SPREAD;

        for (size_t i = 0; i < some; i++) {
            size_t call = i * n / some;

            add (&c, trace[k], k, call, (double)trace[k]->call[call].count);
        }
    }
    *ret = c;
    return 0;
}
