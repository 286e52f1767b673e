/* detentd/describe.c - what a tune chose, as replies tell it. */
#include "detentd/describe.h"

#include <errno.h>
#include <string.h>

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

/* Pins, then knobs, of assignment i. */
static int values_of (struct dt_arena *a, const struct dt_solution *s, size_t i,
                      Detent__NameValue ***ret)
{
    int64_t *v = dt_arena_array (a, s->n_pins + s->n_knobs, sizeof *v);
    Detent__NameValue **nv = dt_arena_array (a, s->n_pins + s->n_knobs, sizeof *nv);

    if (!v || !nv)
        return -1;
    dt_solution_assignment (s, i, v, v + s->n_pins);
    for (size_t k = 0; k < s->n_pins; k++)
        if (!(nv[k] = pair (a, s->pin[k].name, value_text (a, s, s->pin[k].type, v[k]))))
            return -1;
    for (size_t k = 0; k < s->n_knobs; k++)
        if (!(nv[s->n_pins + k] = pair (a, s->knob[k].name,
                                        value_text (a, s, s->knob[k].type, v[s->n_pins + k]))))
            return -1;
    *ret = nv;
    return 0;
}

static int chosen (struct dt_arena *a, const struct dt_solution *s, size_t i,
                   Detent__SiteResult *r)
{
    Detent__NameValue **value;

    if (values_of (a, s, i, &value) < 0)
        return -1;
    r->pin = value;
    r->n_pin = s->n_pins;
    r->knob = value + s->n_pins;
    r->n_knob = s->n_knobs;
    return 0;
}

static int refusals (struct dt_arena *a, const struct dt_solution *s,
                     const struct dt_tune_result *result, Detent__SiteResult *r)
{
    size_t n = result->n_refused < DT_TUNE_REFUSALS ? result->n_refused : DT_TUNE_REFUSALS;
    Detent__Refusal *m = dt_arena_array (a, n, sizeof *m);

    r->has_refused = 1;
    r->refused = result->n_refused;
    if (!m || !(r->refusal = dt_arena_array (a, n, sizeof *r->refusal)))
        return -1;
    for (; r->n_refusal < n; r->n_refusal++) {
        char text[DT_TUNE_REFUSAL_TEXT];

        detent__refusal__init (r->refusal[r->n_refusal] = &m[r->n_refusal]);
        dt_tune_refusal_text (&result->refusal[r->n_refusal], text);
        if (!(m[r->n_refusal].why = dt_arena_strn (a, text, strlen (text))))
            return -1;
        m[r->n_refusal].n_value = s->n_pins + s->n_knobs;
        if (values_of (a, s, result->refusal[r->n_refusal].assignment, &m[r->n_refusal].value) < 0)
            return -1;
    }
    return 0;
}

/* "tile_m: longest_query 0-16: 4; 17-: 32" */
static char *table_text (struct dt_arena *a, const struct dt_vm_table *t)
{
    struct dt_buf b = { 0 };
    char *text;

    dt_buf_printf (&b, "%s:", t->field);
    for (size_t k = 0; k < t->n; k++) {
        dt_buf_printf (&b, "%s", k ? "; " : " ");
        for (size_t i = 0; i < t->cell[k].n; i++) {
            const struct dt_vm_range *w = &t->cell[k].when[i];

            dt_buf_printf (&b, "%s %lld-", w->quantity, (long long)w->lo);
            if (w->hi < INT64_MAX)
                dt_buf_printf (&b, "%lld", (long long)w->hi);
            dt_buf_printf (&b, ": ");
        }
        dt_buf_printf (&b, "%lld", (long long)t->cell[k].value);
    }
    text = b.failed ? NULL : dt_arena_strn (a, (const char *)b.data, b.len);
    dt_buf_done (&b);
    return text;
}

static int free_tables (struct dt_arena *a, const struct dt_tables_result *t, Detent__SiteResult *r)
{
    r->has_table_measurements = 1;
    r->table_measurements = t->n_measurements;
    if (t->n == 0)
        return 0;
    if (!(r->table = dt_arena_array (a, t->n, sizeof *r->table)))
        return -1;
    for (; r->n_table < t->n; r->n_table++)
        if (!(r->table[r->n_table] = table_text (a, &t->table[r->n_table])))
            return -1;
    r->has_table_ratio = r->has_table_lo = r->has_table_hi = 1;
    r->table_ratio = t->ratio;
    r->table_lo = t->lo;
    r->table_hi = t->hi;
    return 0;
}

static const char *const confirm_name[] = {
    [DT_RACE_NO_WINNER] = "no winner",
    [DT_RACE_CONFIRMED] = "confirmed",
    [DT_RACE_NOT_CONFIRMED] = "not confirmed",
};

Detent__SiteResult *dt_describe_result (struct dt_arena *a, const struct dt_solution *s,
                                        const struct dt_tune_result *result,
                                        const struct dt_tables_result *tables)
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
    r->confirm = (char *)confirm_name[result->confirm];
    r->has_again = r->has_again_lo = r->has_again_hi = result->confirm != DT_RACE_NO_WINNER;
    r->again = result->again;
    r->again_lo = result->again_lo;
    r->again_hi = result->again_hi;
    r->has_recalled = 1;
    r->recalled = result->n_recalled;
    r->verdict = (char *)dt_verdict_name ((enum dt_verdict)s->verdict[result->chosen]);
    return chosen (a, s, result->chosen, r) < 0 || refusals (a, s, result, r) < 0
                   || free_tables (a, tables, r) < 0
               ? NULL : r;
}

int dt_describe_is_value (const struct dt_solution *s, size_t at, int64_t value, const char *text)
{
    uint8_t type = at < s->n_pins ? s->pin[at].type : s->knob[at - s->n_pins].type;
    struct dt_buf b = { 0 };
    int r;

    dt_explain_value (s->residual, type, value, &b);
    r = b.failed ? -ENOMEM : b.len == strlen (text) && memcmp (b.data, text, b.len) == 0;
    dt_buf_done (&b);
    return r;
}
