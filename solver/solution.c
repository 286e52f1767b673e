/* solver/solution.c - assignments of a solution, and their selectors. */
#include "solver/solution.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "selir/simplify.h"
#include "solver/explain.h"

const char *dt_verdict_name (enum dt_verdict v)
{
    switch (v) {
    case DT_ILLEGAL: return "illegal";
    case DT_PROVED: return "proved";
    case DT_EXHAUSTED: return "exhausted";
    case DT_SAMPLED: return "sampled";
    }
    return "unknown";
}

struct dt_solution *dt_solution_free (struct dt_solution *s)
{
    if (s) {
        dt_graph_free (s->residual);
        dt_buf_done (&s->stock);
        dt_buf_done (&s->pins);
        dt_buf_done (&s->proof);
        dt_arena_done (&s->arena);
        dt_free (s);
    }
    return NULL;
}

int dt_solution_count (struct dt_solution *s, struct dt_err *reterr)
{
    uint64_t n = 1;
    size_t i;
    int over = 0;

    for (i = 0; i < s->n_pins; i++)
        over |= __builtin_mul_overflow (n, s->pin[i].n_candidates, &n);
    for (i = 0; i < s->n_knobs; i++)
        if (s->knob[i].live)
            over |= __builtin_mul_overflow (n, s->knob[i].n_values, &n);
    if (over || n > DT_SOLVE_MAX_ASSIGNMENTS)
        return dt_err_set (reterr, -DT_ELIMIT,
                           "%zu pins and %zu knobs have more than %u assignments", s->n_pins,
                           s->n_knobs, DT_SOLVE_MAX_ASSIGNMENTS);
    s->n_assignments = n;
    return 0;
}

int dt_solution_fields (const struct dt_solution *s, struct dt_emit_field *field,
                        struct dt_err *reterr)
{
    size_t i;

    if (s->n_points > DT_VM_MAX_OUTPUTS)
        return dt_err_set (reterr, -DT_ELIMIT, "the record has %zu fields, more than %d",
                           s->n_points, DT_VM_MAX_OUTPUTS);
    for (i = 0; i < s->n_points; i++)
        field[i] = (struct dt_emit_field){ .binding = !s->point[i].is_free,
                                           .by_claim = s->point[i].by_claim, .unit = "" };
    return 0;
}

/* Knobs are rows of the residual graph, which the solution owns. */
int dt_solution_knobs (struct dt_solution *s)
{
    size_t i;

    s->n_knobs = s->residual->n_knobs;
    if (!(s->knob = dt_arena_array (&s->arena, s->n_knobs, sizeof *s->knob)))
        return -ENOMEM;
    for (i = 0; i < s->n_knobs; i++) {
        const struct dt_knob *k = &s->residual->knob[i];

        s->knob[i] = (struct dt_solution_knob){ .name = k->name, .type = k->type,
                                                .live = k->node != DT_NODE_NONE,
                                                .value = k->value, .n_values = k->n_values,
                                                .initial = k->initial };
    }
    return 0;
}

void dt_solution_assignment (const struct dt_solution *s, size_t i, int64_t *pin, int64_t *knob)
{
    size_t k;

    for (k = s->n_knobs; k-- > 0;) {
        const struct dt_solution_knob *x = &s->knob[k];

        knob[k] = x->value[x->live ? i % x->n_values : x->initial];
        i /= x->live ? x->n_values : 1;
    }
    for (k = s->n_pins; k-- > 0;) {
        pin[k] = s->pin[k].candidate[i % s->pin[k].n_candidates];
        i /= s->pin[k].n_candidates;
    }
}

/* "WHAT NAME cannot be 7; it may be 0, 256, 512" */
static int no_such_value (const struct dt_solution *s, const char *what, const char *name,
                          uint8_t type, int64_t v, const int64_t *value, size_t n,
                          struct dt_err *reterr)
{
    struct dt_buf b = { 0 };
    size_t i;
    int r;

    dt_explain_value (s->residual, type, v, &b);
    dt_buf_printf (&b, "; it may be ");
    for (i = 0; i < n && b.len < 300; i++) {
        dt_buf_printf (&b, "%s", i ? ", " : "");
        dt_explain_value (s->residual, type, value[i], &b);
    }
    if (i < n)
        dt_buf_printf (&b, ", ... (%zu in all)", n);
    r = dt_err_set (reterr, -DT_EILLEGAL, "%s %s cannot be %s", what, name,
                    dt_buf_str (&b) ? dt_buf_str (&b) : "that");
    dt_buf_done (&b);
    return r;
}

/* Index of v among value[n], n if it is none of them. */
static size_t index_of (const int64_t *value, size_t n, int64_t v)
{
    size_t i;

    for (i = 0; i < n && value[i] != v; i++)
        ;
    return i;
}

int dt_solution_find (const struct dt_solution *s, const int64_t *pin, const int64_t *knob,
                      size_t *ret, struct dt_err *reterr)
{
    size_t i, at, index = 0;

    for (i = 0; i < s->n_pins; i++) {
        const struct dt_solution_pin *p = &s->pin[i];

        if ((at = index_of (p->candidate, p->n_candidates, pin[i])) == p->n_candidates)
            return no_such_value (s, "pin", p->name, p->type, pin[i], p->candidate,
                                  p->n_candidates, reterr);
        index = index * p->n_candidates + at;
    }
    for (i = 0; i < s->n_knobs; i++) {
        const struct dt_solution_knob *k = &s->knob[i];

        if ((at = index_of (k->value, k->n_values, knob[i])) == k->n_values)
            return no_such_value (s, "knob", k->name, k->type, knob[i], k->value, k->n_values,
                                  reterr);
        if (k->live)
            index = index * k->n_values + at;
        else if (at != k->initial) /* changes nothing, so it has one name: its default */
            return no_such_value (s, "knob", k->name, k->type, knob[i], &k->value[k->initial], 1,
                                  reterr);
    }
    *ret = index;
    return 0;
}

int dt_solution_selector_with (const struct dt_solution *s, size_t i,
                               const struct dt_vm_table *table, size_t n_tables,
                               struct dt_buf *ret, struct dt_err *reterr)
{
    struct dt_emit_field field[DT_VM_MAX_OUTPUTS];
    struct dt_emit_options o = { .site = s->site, .variant = "pinned", .field = field,
                                 .table = table, .n_tables = n_tables };
    int64_t *pin = NULL, *knob = NULL;
    struct dt_graph *bound = NULL;
    int r;

    if (i >= s->n_assignments)
        return dt_err_set (reterr, -DT_EILLEGAL, "there is no assignment %zu of %zu", i,
                           s->n_assignments);
    if (s->verdict[i] == DT_ILLEGAL)
        return dt_err_set (reterr, -DT_EILLEGAL, "assignment %zu is not legal: %s", i, s->why[i]);
    if ((r = dt_solution_fields (s, field, reterr)) < 0)
        return r;
    pin = dt_calloc (s->n_pins, sizeof *pin);
    knob = dt_calloc (s->n_knobs, sizeof *knob);
    if (!pin || !knob) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    dt_solution_assignment (s, i, pin, knob);
    if ((r = dt_simplify_bind (s->residual, pin, knob, 1, &bound, reterr)) == 0)
        r = dt_emit (bound, &o, ret, reterr);
fail:
    dt_graph_free (bound);
    dt_free (pin);
    dt_free (knob);
    return r;
}

int dt_solution_selector (const struct dt_solution *s, size_t i, struct dt_buf *ret,
                          struct dt_err *reterr)
{
    return dt_solution_selector_with (s, i, NULL, 0, ret, reterr);
}

enum dt_standing_by dt_solution_standing (const struct dt_solution_point *p, uint64_t certified,
                                          uint64_t legal)
{
    if (!p->is_free)
        return DT_BY_BINDING;
    if (certified && (certified == legal || !p->by_claim))
        return DT_BY_CERTIFICATE;
    return p->by_claim ? DT_BY_CLAIM : DT_BY_NOTHING;
}
