/* detentd/describe.c - solutions and tunes, as replies tell them. */
#include "detentd/describe.h"

#include <string.h>

#include "base/mem.h"

#define MAX_COUNTEREXAMPLES 8

/* As a person writes it; enum members share one table in the residual graph. */
static char *value_text (struct dt_arena *a, const struct dt_solution *s, uint8_t type, int64_t v)
{
    if (type == DT_TYPE_BOOL)
        return dt_arena_strf (a, "%s", v ? "true" : "false");
    if (type == DT_TYPE_ENUM && v >= 0 && v < (int64_t)s->residual->n_enums)
        return dt_arena_strf (a, "%s", s->residual->enum_text[v]);
    return dt_arena_strf (a, "%lld", (long long)v);
}

static char **values_text (struct dt_arena *a, const struct dt_solution *s, uint8_t type,
                           const int64_t *value, size_t n)
{
    char **text = dt_arena_array (a, n, sizeof *text);

    for (size_t i = 0; text && i < n; i++)
        if (!(text[i] = value_text (a, s, type, value[i])))
            return NULL;
    return text;
}

static int points (struct dt_arena *a, const struct dt_solution *s, Detent__SiteSolution *r)
{
    if (!(r->point = dt_arena_array (a, s->n_points, sizeof *r->point)))
        return -1;
    for (size_t i = 0; i < s->n_points; i++) {
        Detent__Point *p = dt_arena_alloc (a, sizeof *p);

        if (!p)
            return -1;
        detent__point__init (p);
        p->field = (char *)s->point[i].field;
        p->where = (char *)s->point[i].where;
        p->free = s->point[i].is_free;
        p->by_claim = s->point[i].by_claim;
        p->batch = s->point[i].batch;
        p->own = s->point[i].own;
        r->point[r->n_point++] = p;
    }
    return 0;
}

static int pins (struct dt_arena *a, const struct dt_solution *s, Detent__SiteSolution *r)
{
    if (!(r->pin = dt_arena_array (a, s->n_pins, sizeof *r->pin)))
        return -1;
    for (size_t i = 0; i < s->n_pins; i++) {
        const struct dt_solution_pin *from = &s->pin[i];
        Detent__Pin *p = dt_arena_alloc (a, sizeof *p);

        if (!p)
            return -1;
        detent__pin__init (p);
        p->name = (char *)from->name;
        p->where = (char *)from->where;
        p->expression = (char *)from->expression;
        p->path = (char *)from->path;
        p->exact = from->exact;
        p->candidate = values_text (a, s, from->type, from->candidate, from->n_candidates);
        p->n_candidate = from->n_candidates;
        if (!p->candidate)
            return -1;
        r->pin[r->n_pin++] = p;
    }
    return 0;
}

static int knobs (struct dt_arena *a, const struct dt_solution *s, Detent__SiteSolution *r)
{
    if (!(r->knob = dt_arena_array (a, s->n_knobs, sizeof *r->knob)))
        return -1;
    for (size_t i = 0; i < s->n_knobs; i++) {
        const struct dt_solution_knob *from = &s->knob[i];
        Detent__Knob *k = dt_arena_alloc (a, sizeof *k);

        if (!k)
            return -1;
        detent__knob__init (k);
        k->name = (char *)from->name;
        k->live = from->live;
        k->value = values_text (a, s, from->type, from->value, from->n_values);
        k->n_value = from->n_values;
        if (!k->value || !(k->initial = value_text (a, s, from->type, from->value[from->initial])))
            return -1;
        r->knob[r->n_knob++] = k;
    }
    return 0;
}

/* Values of assignment i: [n_pins] and then [n_knobs]. */
static int64_t *assignment (struct dt_arena *a, const struct dt_solution *s, size_t i)
{
    int64_t *v = dt_arena_array (a, s->n_pins + s->n_knobs, sizeof *v);

    if (v)
        dt_solution_assignment (s, i, v, v + s->n_pins);
    return v;
}

char *dt_describe_assignment (struct dt_arena *a, const struct dt_solution *s, size_t i)
{
    int64_t *v = assignment (a, s, i);
    char *text = dt_arena_strf (a, "%s", "");

    for (size_t k = 0; v && text && k < s->n_pins + s->n_knobs; k++) {
        int is_pin = k < s->n_pins;
        const char *name = is_pin ? s->pin[k].name : s->knob[k - s->n_pins].name;
        char *value = value_text (a, s, is_pin ? s->pin[k].type : s->knob[k - s->n_pins].type,
                                  v[k]);

        if (is_pin || s->knob[k - s->n_pins].live)
            text = value ? dt_arena_strf (a, "%s%s%s=%s", text, *text ? " " : "", name, value)
                         : NULL;
    }
    return v ? text : NULL;
}

static int verdicts (struct dt_arena *a, const struct dt_solution *s, Detent__SiteSolution *r)
{
    uint64_t n[4] = { 0 };

    if (!(r->why_illegal = dt_arena_array (a, MAX_COUNTEREXAMPLES, sizeof *r->why_illegal)))
        return -1;
    for (size_t i = 0; i < s->n_assignments; i++) {
        n[s->verdict[i] & 3]++;
        if (s->verdict[i] == DT_ILLEGAL && s->why[i] && r->n_why_illegal < MAX_COUNTEREXAMPLES) {
            char *who = dt_describe_assignment (a, s, i);
            char *text = who ? dt_arena_strf (a, "%s: %s", who, s->why[i]) : NULL;

            if (!text)
                return -1;
            r->why_illegal[r->n_why_illegal++] = text;
        }
    }
    r->assignments = s->n_assignments;
    r->illegal = n[DT_ILLEGAL];
    r->proved = n[DT_PROVED];
    r->exhausted = n[DT_EXHAUSTED];
    r->sampled = n[DT_SAMPLED];
    return 0;
}

Detent__SiteSolution *dt_describe_site (struct dt_arena *a, const struct dt_solved_site *site)
{
    const struct dt_solution *s = site->solution;
    Detent__SiteSolution *r = dt_arena_alloc (a, sizeof *r);

    if (!r)
        return NULL;
    detent__site_solution__init (r);
    r->family = (char *)s->family;
    r->site = (char *)s->site;
    r->key.data = (uint8_t *)site->key.bytes;
    r->key.len = sizeof site->key.bytes;
    r->cached = site->cached;
    r->solve_us = site->solve_us;
    r->specialised = s->n_specialised;
    r->simplified = s->n_simplified;
    r->residual = s->n_residual;
    r->excluded = (char *)s->excluded;
    return points (a, s, r) < 0 || pins (a, s, r) < 0 || knobs (a, s, r) < 0
                   || verdicts (a, s, r) < 0
               ? NULL
               : r;
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
    int64_t *v = assignment (a, s, i);

    r->pin = dt_arena_array (a, s->n_pins, sizeof *r->pin);
    r->knob = dt_arena_array (a, s->n_knobs, sizeof *r->knob);
    if (!v || !r->pin || !r->knob)
        return -1;
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
