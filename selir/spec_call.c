/* selir/spec_call.c - calls of functions, and records. */
#include <stdio.h>
#include <string.h>

#include "selir/spec.h"

int dt_spec_keyword (const struct dt_expr *e, const char *key)
{
    uint32_t i;

    for (i = 1; i < e->n; i++)
        if (e->key[i] && strcmp (e->key[i], key) == 0)
            return (int)i;
    return -1;
}

static int bad_call (struct dt_spec *s, const struct dt_expr *at, const char *callee, const char *what, const char *name)
{
    return dt_spec_error (s, -DT_ESYNTAX, at->at, NULL, "%s(): %s '%s'", callee, what, name);
}

/* The slot of the argument e->arg[i], by place or by keyword; -1 if none. */
static int slot_of (const struct dt_func *f, const struct dt_expr *e, uint32_t i)
{
    uint32_t k;

    if (!e->key[i])
        return i - 1 < f->n_params ? (int)i - 1 : -1;
    for (k = 0; k < f->n_params; k++)
        if (strcmp (f->param[k].name, e->key[i]) == 0)
            return (int)k;
    return -1;
}

/* Evaluate the arguments, left to right, into the callee's first locals. */
static int bind (struct dt_spec *s, const struct dt_expr *e, const struct dt_closure *c, struct dt_value *local)
{
    const struct dt_func *f = c->func;
    uint32_t i;
    int r, k;

    for (i = 1; i < e->n; i++) {
        if ((k = slot_of (f, e, i)) < 0)
            return bad_call (s, e->arg[i], f->name, e->key[i] ? "no parameter" : "too many arguments for", e->key[i] ? e->key[i] : f->name);
        if (local[k].kind != DT_VALUE_UNSET)
            return bad_call (s, e->arg[i], f->name, "two values for", f->param[k].name);
        if ((r = dt_spec_eval (s, e->arg[i], &local[k])) != 0)
            return r;
        if (dt_value_is_iter (local[k]))
            return dt_spec_error (s, -DT_ESYNTAX, e->arg[i]->at, "write it where it is looped over",
                                  "the result of enumerate or zip, kept, is not in the language here");
    }
    for (i = 0; i < f->n_params; i++)
        if (local[i].kind == DT_VALUE_UNSET && (local[i] = c->initial[i]).kind == DT_VALUE_UNSET)
            return bad_call (s, e, f->name, "no value for", f->param[i].name);
    return 0;
}

static int check_calls (struct dt_spec *s, const struct dt_expr *e, const struct dt_func *f)
{
    const struct dt_frame *k;

    for (k = s->frame; k; k = k->outer)
        if (k->func == f)
            return dt_spec_error (s, -DT_ESYNTAX, e->at, "write a loop with a static bound",
                                  "%s calls itself: recursion is not in the language here", f->name);
    if (s->calls >= DT_SPEC_MAX_CALLS)
        return dt_spec_error (s, -DT_ELIMIT, e->at, NULL, "more than %d calls inside each other", DT_SPEC_MAX_CALLS);
    return 0;
}

/* Run a function whose arguments are in `local` [n_locals]. */
int dt_spec_run (struct dt_spec *s, const struct dt_expr *e, const struct dt_closure *c, struct dt_value *local,
                 struct dt_value *ret)
{
    struct dt_frame frame = { .func = c->func, .local = local, .outer = s->frame };
    struct dt_value path = s->path;
    struct dt_outcome *o;
    int r;

    s->frame = &frame;
    s->calls++;
    r = dt_spec_block (s, &c->func->body, &o);
    s->calls--;
    s->frame = frame.outer;
    s->path = path;
    if (r < 0 || (r = dt_outcome_value (s, o, DT_V_NONE, ret)) < 0)
        return r;
    if (ret->kind == DT_VALUE_NOTHING)
        return DT_RAISED;
    if (ret->kind == DT_VALUE_CONFLICT)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "return one type and length on every path",
                              "%s returns %s on one path and %s on another, and inputs decide which", c->func->name,
                              ret->conflict->a, ret->conflict->b);
    return 0;
}

static int call_function (struct dt_spec *s, const struct dt_expr *e, const struct dt_closure *c, struct dt_value *ret)
{
    struct dt_value *local;
    int r;

    if ((r = check_calls (s, e, c->func)) < 0 || (r = dt_spec_step (s, c->func->n_locals, e->at)) < 0)
        return r;
    if (!(local = dt_arena_array (&s->arena, c->func->n_locals, sizeof *local)))
        return dt_err_nomem (s->err);
    if ((r = bind (s, e, c, local)) != 0)
        return r;
    return dt_spec_run (s, e, c, local, ret);
}

static int field_index (const struct dt_class *c, const char *name)
{
    uint32_t i;

    for (i = 0; i < c->n_fields; i++)
        if (strcmp (c->field[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* CLASS (field=value, ...), every field once. */
static int make_record (struct dt_spec *s, const struct dt_expr *e, const struct dt_class *c, struct dt_value *ret)
{
    struct dt_seq *seq = dt_seq_new (&s->arena, c->n_fields);
    uint32_t i;
    int r, k;

    if (!seq)
        return dt_err_nomem (s->err);
    if (c->kind != DT_BASE_RECORD)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "take it as a parameter of the selection", "a %s is given, not made", c->name);
    seq->class = c;
    for (i = 1; i < e->n; i++) {
        if (!e->key[i])
            return dt_spec_error (s, -DT_ESYNTAX, e->arg[i]->at, "write field=value", "%s() takes its fields by keyword", c->name);
        if ((k = field_index (c, e->key[i])) < 0)
            return bad_call (s, e->arg[i], c->name, "no field", e->key[i]);
        if (seq->item[k].kind != DT_VALUE_UNSET)
            return bad_call (s, e->arg[i], c->name, "two values for", e->key[i]);
        if ((r = dt_spec_eval (s, e->arg[i], &seq->item[k])) != 0)
            return r;
    }
    for (i = 0; i < c->n_fields; i++)
        if (seq->item[i].kind == DT_VALUE_UNSET)
            return bad_call (s, e, c->name, "no value for", c->field[i].name);
    *ret = (struct dt_value){ .kind = DT_VALUE_RECORD, .seq = seq };
    return 0;
}

int dt_spec_call (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_value callee;
    int r;

    if ((r = dt_spec_eval (s, e->arg[0], &callee)) != 0)
        return r;
    switch (callee.kind) {
    case DT_VALUE_FUNC:
        return call_function (s, e, callee.func, ret);
    case DT_VALUE_CLASS:
        return make_record (s, e, callee.class, ret);
    case DT_VALUE_BUILTIN:
        return dt_spec_builtin (s, e, (uint32_t)callee.i, ret);
    default:
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "%s cannot be called", dt_value_type (callee));
    }
}
