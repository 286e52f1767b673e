/* detentd/describe.c - what a tune chose, as replies tell it. */
#include "detentd/describe.h"

#include "base/buf.h"
#include "base/mem.h"
#include "solver/explain.h"

static char *value_text (struct dt_arena *a, const struct dt_solution *s, uint8_t type, int64_t v)
{
    struct dt_buf b = { 0 };
    char *text;

    dt_explain_value (s->residual, type, v, &b);
    text = b.failed ? NULL : dt_arena_strn (a, (const char *)b.data, b.len);
    dt_buf_done (&b);
    return text;
}

static Detent__NameValue *pair (struct dt_arena *a, const char *name, char *value)
{
    Detent__NameValue *nv = dt_arena_alloc (a, sizeof *nv);

    if (!nv || !value)
        return NULL;
    detent__name_value__init (nv);
    nv->name = (char *)name;
    nv->value = value;
    return nv;
}

static int chosen (struct dt_arena *a, const struct dt_solution *s, size_t i,
                   Detent__SiteResult *r)
{
    int64_t *v = dt_arena_array (a, s->n_pins + s->n_knobs, sizeof *v);

    r->pin = dt_arena_array (a, s->n_pins, sizeof *r->pin);
    r->knob = dt_arena_array (a, s->n_knobs, sizeof *r->knob);
    if (!v || !r->pin || !r->knob)
        return -1;
    dt_solution_assignment (s, i, v, v + s->n_pins);
    for (; r->n_pin < s->n_pins; r->n_pin++)
        if (!(r->pin[r->n_pin] = pair (a, s->pin[r->n_pin].name,
                                       value_text (a, s, s->pin[r->n_pin].type, v[r->n_pin]))))
            return -1;
    for (; r->n_knob < s->n_knobs; r->n_knob++) {
        const struct dt_solution_knob *k = &s->knob[r->n_knob];

        if (!(r->knob[r->n_knob] = pair (a, k->name, value_text (a, s, k->type,
                                                                 v[s->n_pins + r->n_knob]))))
            return -1;
    }
    return 0;
}

Detent__SiteResult *dt_describe_result (struct dt_arena *a, const struct dt_solution *s,
                                        const struct dt_tune_result *result)
{
    Detent__SiteResult *r = dt_arena_alloc (a, sizeof *r);

    if (!r)
        return NULL;
    detent__site_result__init (r);
    r->family = (char *)s->family;
    r->site = (char *)s->site;
    r->tie = result->tie;
    r->ratio = result->ratio;
    r->ratio_lo = result->ratio_lo;
    r->ratio_hi = result->ratio_hi;
    r->worst_ratio = result->worst_ratio;
    r->trace_ns = result->trace_ns;
    r->sample_error = result->sample_error;
    r->legal = result->n_legal;
    r->merged = result->n_merged;
    r->measured = result->n_measured;
    r->calls = result->n_calls;
    r->sampled = result->n_sampled;
    r->measurements = result->n_measurements;
    r->verdict = (char *)dt_verdict_name ((enum dt_verdict)s->verdict[result->chosen]);
    return chosen (a, s, result->chosen, r) < 0 ? NULL : r;
}
