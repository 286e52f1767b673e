/* selir/specialise.c - a program and facts to a graph. */
#include <string.h>

#include "base/mem.h"
#include "selir/spec.h"

static int wrong_fact (struct dt_err *err, const char *name, const char *what)
{
    return dt_err_set (err, -DT_EINPUT, "fact '%s': %s", name, what);
}

static const char *type_name (uint8_t type)
{
    return type == DT_TYPE_INT ? "an int" : type == DT_TYPE_BOOL ? "a bool" : type == DT_TYPE_FLOAT ? "a float" : "a string";
}

/* A float is given as such, as an int, or as text: deployments know no floats, so
 * that 1.10 stays a string where the program wants one. */
static int float_fact (const struct dt_fact *a, double *ret)
{
    if (a->kind == DT_FACT_STR)
        return dt_number_of_text (a->s, ret);
    *ret = a->kind == DT_FACT_INT ? (double)a->i : a->d;
    return a->kind != DT_FACT_BOOL;
}

static int set_fact (struct dt_spec *s, const struct dt_field *f, const struct dt_fact *a, struct dt_value *ret)
{
    static const uint8_t types[] = { [DT_FACT_INT] = DT_TYPE_INT, [DT_FACT_BOOL] = DT_TYPE_BOOL,
                                     [DT_FACT_STR] = DT_TYPE_ENUM, [DT_FACT_FLOAT] = DT_TYPE_FLOAT };
    double d = 0;

    if (f->type == DT_TYPE_FLOAT ? !float_fact (a, &d) : types[a->kind] != f->type)
        return dt_err_set (s->err, -DT_EINPUT, "fact '%s' is %s; the program wants %s", f->name, type_name (types[a->kind]),
                           type_name (f->type));
    *ret = f->type == DT_TYPE_INT    ? DT_V_INT (a->i)
           : f->type == DT_TYPE_BOOL ? DT_V_BOOL (a->i != 0)
           : f->type == DT_TYPE_ENUM ? DT_V_STR (a->s)
                                     : DT_V_FLOAT (dt_op_bits (d));
    return 0;
}

/* The Facts record; every field once, and nothing else. */
static int facts (struct dt_spec *s, const struct dt_fact *fact, size_t n)
{
    const struct dt_class *c = s->p->facts;
    struct dt_seq *seq = dt_seq_new (&s->arena, c->n_fields);
    size_t i;
    uint32_t k;
    int r;

    if (!seq)
        return dt_err_nomem (s->err);
    seq->class = c;
    for (i = 0; i < n; i++) {
        for (k = 0; k < c->n_fields && strcmp (c->field[k].name, fact[i].name) != 0; k++)
            ;
        if (k == c->n_fields)
            return wrong_fact (s->err, fact[i].name, "the program has no such fact");
        if (seq->item[k].kind != DT_VALUE_UNSET)
            return wrong_fact (s->err, fact[i].name, "given twice");
        if ((r = set_fact (s, &c->field[k], &fact[i], &seq->item[k])) < 0)
            return r;
    }
    for (k = 0; k < c->n_fields; k++)
        if (seq->item[k].kind == DT_VALUE_UNSET)
            return wrong_fact (s->err, c->field[k].name, "missing");
    s->facts = (struct dt_value){ .kind = DT_VALUE_RECORD, .seq = seq };
    return 0;
}

/* Constants and default values of all files, in the order of imports. */
static int run_modules (struct dt_spec *s)
{
    uint32_t i;
    int r;

    for (i = 0; i < s->p->n_modules; i++) {
        const struct dt_module *m = s->p->module[i];
        struct dt_frame frame = { .func = m->top };
        struct dt_outcome *o;

        if (!(s->global[m->file] = dt_arena_array (&s->arena, m->n_globals, sizeof (struct dt_value)))
            || !(frame.local = dt_arena_array (&s->arena, m->top->n_locals, sizeof *frame.local)))
            return dt_err_nomem (s->err);
        s->frame = &frame;
        r = dt_spec_block (s, &m->body, &o);
        s->frame = NULL;
        if (r < 0)
            return r;
    }
    return 0;
}

static int files (struct dt_spec *s)
{
    uint32_t i;

    for (i = 0; i < s->p->n_files; i++)
        if (dt_graph_add_file (s->g, s->p->file[i]->source.name) < 0)
            return dt_err_nomem (s->err);
    /* span 0 is the selection itself; constants have no place of their own */
    if (dt_graph_add_span (s->g, s->p->selection->at) < 0
        || !(s->g->family = dt_arena_strf (&s->g->arena, "%s", s->p->selection->family)))
        return dt_err_nomem (s->err);
    return 0;
}

/* A field of the result becomes a selection point. */
static int point (struct dt_spec *s, const struct dt_field *f, struct dt_value v)
{
    struct dt_point p = { .field = f->name, .type = f->type, .is_free = f->marker == DT_MARK_FREE };
    int r, fits = f->type == DT_TYPE_INT     ? dt_value_is_int (v)
                  : f->type == DT_TYPE_BOOL  ? dt_value_is_bool (v)
                  : f->type == DT_TYPE_FLOAT ? dt_value_is_float (v)
                                             : dt_value_is_enum (v);

    if ((r = dt_spec_usable (s, f->annotation, v)) < 0)
        return r;
    if (!fits)
        return dt_spec_error (s, -DT_ESYNTAX, f->annotation->at, "give it a value of its type, or change the field's type",
                              "field '%s' gets %s", f->name, dt_value_type (v));
    if ((r = dt_spec_id (s, f->annotation, v, &p.node)) < 0 || (r = dt_spec_span (s, f->annotation, &p.span)) < 0)
        return r;
    return dt_graph_add_point (s->g, &p) < 0 ? dt_err_nomem (s->err) : 0;
}

/* What errors about the call of the selection itself point at. */
static int run_selection (struct dt_spec *s, struct dt_value call, struct dt_value *ret)
{
    const struct dt_func *f = s->p->selection;
    struct dt_value *local = dt_arena_array (&s->arena, f->n_locals, sizeof *local), closure;
    uint32_t i;

    if (!local)
        return dt_err_nomem (s->err);
    for (i = 0; f->module->global[i].func != f; i++)
        ;
    closure = s->global[f->module->file][i];
    local[s->p->facts_param] = s->facts;
    local[s->p->batch_param] = call;
    return dt_spec_run (s, f->returns, closure.func, local, ret);
}

static int run (struct dt_spec *s, const struct dt_fact *fact, size_t n_facts)
{
    const struct dt_class *choice = s->p->choice;
    struct dt_value call, result;
    struct dt_frame frame = { .func = s->p->selection };
    uint32_t i;
    int r;

    if ((r = files (s)) < 0 || (r = facts (s, fact, n_facts)) < 0 || (r = run_modules (s)) < 0)
        return r;
    if (!(frame.local = dt_arena_array (&s->arena, s->p->selection->n_locals, sizeof *frame.local)))
        return dt_err_nomem (s->err);
    s->frame = &frame; /* domains are evaluated outside functions */
    r = dt_spec_inputs (s, &call);
    s->frame = NULL;
    if (r < 0 || (r = run_selection (s, call, &result)) < 0)
        return r;
    if (r == DT_RAISED)
        return dt_spec_error (s, -DT_EEVAL, s->p->selection->at, NULL, "the selection raises an error for every input");
    if (result.kind != DT_VALUE_RECORD || result.seq->class != choice)
        return dt_spec_error (s, -DT_ESYNTAX, s->p->selection->returns->at, "return the record on every path",
                              "the selection returns %s, not %s", dt_value_type (result), choice->name);
    for (i = 0; i < choice->n_fields; i++)
        if ((r = point (s, &choice->field[i], result.seq->item[i])) < 0)
            return r;
    return 0;
}

int dt_program_specialise (const struct dt_program *p, const struct dt_fact *fact,
                           size_t n_facts, struct dt_graph **ret, struct dt_err *reterr)
{
    struct dt_spec s = { .p = p, .err = reterr, .path = DT_V_BOOL (1) };
    int r;

    if (!(s.g = dt_graph_new ()) || !(s.global = dt_arena_array (&s.arena, p->n_files, sizeof *s.global))
        || !(s.span_of = dt_arena_array (&s.arena, p->n_exprs, sizeof *s.span_of))) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    if ((r = run (&s, fact, n_facts)) < 0)
        goto fail;
    dt_graph_check (s.g);
    dt_ranges_free (s.ranges);
    dt_arena_done (&s.arena);
    *ret = s.g;
    return 0;
fail:
    dt_ranges_free (s.ranges);
    dt_arena_done (&s.arena);
    dt_graph_free (s.g);
    return r;
}
