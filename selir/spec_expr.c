/* selir/spec_expr.c - evaluating expressions. */
#include <string.h>

#include "selir/refuse.h"
#include "selir/spec.h"

int dt_spec_global (struct dt_spec *s, const struct dt_module *m, uint32_t i, struct dt_value *ret)
{
    const struct dt_global *g = &m->global[i];

    for (; g->kind == DT_GLOBAL_ITEM; g = &m->global[i]) {
        m = g->module;
        i = g->item;
    }
    switch (g->kind) {
    case DT_GLOBAL_CLASS:
        *ret = (struct dt_value){ .kind = DT_VALUE_CLASS, .class = g->class };
        break;
    case DT_GLOBAL_MODULE:
        *ret = (struct dt_value){ .kind = DT_VALUE_MODULE, .module = g->module };
        break;
    case DT_GLOBAL_BUILTIN:
        *ret = (struct dt_value){ .kind = DT_VALUE_BUILTIN, .i = g->item };
        break;
    case DT_GLOBAL_SELIR:
        *ret = (struct dt_value){ .kind = DT_VALUE_SELIR };
        break;
    default: /* set when its module ran */
        *ret = s->global[m->file][i];
    }
    return 0;
}

static int name (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    enum dt_fault fault = e->op ? DT_FAULT_NAME : DT_FAULT_UNBOUND;
    struct dt_value v, unbound;
    int r;

    switch (e->scope) {
    case DT_SCOPE_GLOBAL:
        return dt_spec_global (s, s->p->file[e->at.file], (uint32_t)e->i, ret);
    case DT_SCOPE_BUILTIN:
        *ret = (struct dt_value){ .kind = DT_VALUE_BUILTIN, .i = e->i };
        return 0;
    case DT_SCOPE_FACTS:
        *ret = s->facts;
        return 0;
    default:
        v = s->frame->local[e->i];
    }
    if (v.kind == DT_VALUE_UNSET)
        return dt_spec_fault (s, e, fault, "this name has no value yet");
    if (v.kind == DT_VALUE_MAYBE) {
        if ((r = dt_spec_not (s, e, v.maybe->bound, &unbound)) < 0
            || (r = dt_spec_fault_if (s, e, fault, unbound, "this name has no value yet")) != 0)
            return r;
        v = v.maybe->value;
    }
    *ret = v;
    return 0;
}

/* A field of the Batch record that a condition reads. */
static int read_input (struct dt_spec *s, struct dt_value v, struct dt_value *ret)
{
    struct dt_node n = { .op = DT_OP_SELECT, .type = s->g->node[v.node].type, .b = v.node,
                         .c = v.node, .guard = DT_NODE_NONE, .span = s->g->node[v.node].span,
                         .copy = DT_COPY_INPUT, .seq = s->g->next_seq++ };
    uint32_t id;
    int r;

    if ((r = dt_graph_const (s->g, DT_TYPE_BOOL, 1, &n.a, s->err)) < 0
        || (r = dt_graph_add (s->g, n, &id, s->err)) < 0)
        return r;
    *ret = DT_V_NODE (id, n.type);
    return 0;
}

static int attribute (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_value v;
    uint32_t i;
    int r, k;

    if ((r = dt_spec_eval (s, e->arg[0], &v)) != 0)
        return r;
    if (v.kind == DT_VALUE_RECORD)
        for (i = 0; i < v.seq->class->n_fields; i++)
            if (strcmp (v.seq->class->field[i].name, e->s) == 0) {
                *ret = v.seq->item[i];
                if (s->conditions > 0 && ret->kind == DT_VALUE_NODE && v.seq->class == s->p->batch)
                    return read_input (s, *ret, ret);
                return 0;
            }
    if (v.kind == DT_VALUE_MODULE)
        for (i = 0; i < v.module->n_globals; i++)
            if (strcmp (v.module->global[i].name, e->s) == 0)
                return dt_spec_global (s, v.module, i, ret);
    if (v.kind == DT_VALUE_SELIR && (k = dt_builtin_find (e->s, 1)) >= 0) {
        *ret = (struct dt_value){ .kind = DT_VALUE_BUILTIN, .i = k };
        return 0;
    }
    return dt_spec_error (s, -DT_ESYNTAX, e->at, "records have the fields of their class, and nothing else has fields or methods",
                          "%s has no '%s'", dt_value_type (v), e->s);
}

static int refuse_iter (struct dt_spec *s, const struct dt_expr *e, struct dt_value v)
{
    if (!dt_value_is_iter (v))
        return 0;
    return dt_spec_error (s, -DT_ESYNTAX, e->at, "write it where it is looped over",
                          "the result of enumerate or zip, kept, is not in the language here");
}

static int sequence (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_seq *seq = dt_seq_new (&s->arena, e->n);
    uint32_t i;
    int r;

    if (!seq)
        return dt_err_nomem (s->err);
    for (i = 0; i < e->n; i++)
        if ((r = dt_spec_eval (s, e->arg[i], &seq->item[i])) != 0
            || (r = refuse_iter (s, e->arg[i], seq->item[i])) < 0)
            return r;
    if (e->kind == DT_EXPR_DICT)
        return dt_spec_dict (s, e, seq->item, e->n / 2, ret);
    *ret = (struct dt_value){ .kind = e->kind == DT_EXPR_LIST ? DT_VALUE_LIST : DT_VALUE_TUPLE, .seq = seq };
    return 0;
}

/* Evaluate under the path narrowed by `where`; DT_RAISED becomes NOTHING, since
 * the other arm goes on. */
static int under (struct dt_spec *s, const struct dt_expr *e, struct dt_value where,
                  int (*eval) (struct dt_spec *, const struct dt_expr *, struct dt_value *), struct dt_value *ret)
{
    struct dt_value path = s->path;
    int r;

    if ((r = dt_spec_and (s, e, path, where, &s->path)) < 0)
        return r;
    if ((r = eval (s, e, ret)) == DT_RAISED)
        *ret = DT_V_NOTHING;
    s->path = path;
    return r < 0 ? r : 0;
}

static int conditional (struct dt_spec *s, const struct dt_expr *e,
                        int (*eval) (struct dt_spec *, const struct dt_expr *, struct dt_value *), struct dt_value *ret)
{
    struct dt_value c, n, a, b;
    int r;

    if ((r = dt_spec_cond (s, e->arg[0], &c)) != 0)
        return r;
    if (c.kind == DT_VALUE_BOOL)
        return eval (s, e->arg[c.i ? 1 : 2], ret);
    if ((r = under (s, e->arg[1], c, eval, &a)) < 0 || (r = dt_spec_not (s, e, c, &n)) < 0
        || (r = under (s, e->arg[2], n, eval, &b)) < 0)
        return r;
    if (a.kind == DT_VALUE_NOTHING && b.kind == DT_VALUE_NOTHING)
        return DT_RAISED;
    return dt_spec_merge (s, e, c, a, b, ret);
}

static int junction_from (struct dt_spec *s, const struct dt_expr *e, uint32_t i, struct dt_value *ret);

static int junction_at (struct dt_spec *s, const struct dt_expr *e, uint32_t i, struct dt_value *ret)
{
    struct dt_value v, c, go, path = s->path, rest;
    int r;

    if ((r = dt_spec_eval (s, e->arg[i], &v)) != 0 || i + 1 == e->n) {
        *ret = v;
        return r;
    }
    if ((r = dt_spec_truth (s, e->arg[i], v, &c)) < 0)
        return r;
    go = c;
    if (e->kind == DT_EXPR_OR && (r = dt_spec_not (s, e->arg[i], c, &go)) < 0)
        return r;
    if (go.kind == DT_VALUE_BOOL) {
        if (go.i)
            return junction_from (s, e, i + 1, ret);
        *ret = v;
        return 0;
    }
    if ((r = dt_spec_and (s, e->arg[i], path, go, &s->path)) < 0)
        return r;
    if ((r = junction_from (s, e, i + 1, &rest)) == DT_RAISED)
        rest = DT_V_NOTHING;
    s->path = path;
    if (r < 0)
        return r;
    if (dt_value_is_bool (v) && dt_value_is_bool (rest))
        return e->kind == DT_EXPR_AND ? dt_spec_and (s, e, v, rest, ret) : dt_spec_or (s, e, v, rest, ret);
    return dt_spec_merge (s, e, go, rest, v, ret);
}

/* Operand i of and/or and all after it, as values.  Each operand is one level: a
 * program may write any number of them. */
static int junction_from (struct dt_spec *s, const struct dt_expr *e, uint32_t i, struct dt_value *ret)
{
    int r;

    if ((r = dt_spec_enter (s, e)) < 0)
        return r;
    r = junction_at (s, e, i, ret);
    s->depth--;
    return r;
}

/* The truth of and/or: operands may be of any types. */
static int junction_truth (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_value path = s->path, all = DT_V_BOOL (e->kind == DT_EXPR_AND), go = DT_V_BOOL (1), c;
    uint32_t i;
    int r = 0;

    for (i = 0; i < e->n; i++) {
        if ((r = dt_spec_and (s, e, path, go, &s->path)) < 0)
            break;
        if ((r = dt_spec_cond (s, e->arg[i], &c)) != 0)
            break;
        r = e->kind == DT_EXPR_AND ? dt_spec_and (s, e, all, c, &all) : dt_spec_or (s, e, all, c, &all);
        if (r < 0)
            break;
        go = all;
        if (e->kind == DT_EXPR_OR && (r = dt_spec_not (s, e, all, &go)) < 0)
            break;
        if (go.kind == DT_VALUE_BOOL && !go.i)
            break;
    }
    s->path = path;
    *ret = all;
    return r == DT_RAISED && go.kind == DT_VALUE_NODE ? 0 : r; /* raised after the others decided */
}

static int comparison (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_value path = s->path, all = DT_V_BOOL (1), a, b, c;
    uint32_t i;
    int r;

    if ((r = dt_spec_eval (s, e->arg[0], &a)) != 0)
        return r;
    for (i = 1; i < e->n; i++) {
        if ((r = dt_spec_and (s, e, path, all, &s->path)) < 0 || (r = dt_spec_eval (s, e->arg[i], &b)) != 0
            || (r = dt_spec_compare (s, e, e->cmp[i - 1], a, b, &c)) != 0
            || (r = dt_spec_and (s, e, all, c, &all)) < 0)
            break;
        if (all.kind == DT_VALUE_BOOL && !all.i)
            break;
        a = b;
    }
    s->path = path;
    *ret = all;
    return r == DT_RAISED && all.kind == DT_VALUE_NODE ? 0 : r;
}

static int operation (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_value a, b;
    int r;

    if ((r = dt_spec_eval (s, e->arg[0], &a)) != 0)
        return r;
    if (e->kind == DT_EXPR_UNARY)
        return dt_spec_unary (s, e, e->op, a, ret);
    if ((r = dt_spec_eval (s, e->arg[1], &b)) != 0)
        return r;
    return e->kind == DT_EXPR_INDEX ? dt_spec_index (s, e, a, b, ret) : dt_spec_binary (s, e, e->op, a, b, ret);
}

static int negation (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_value c;
    int r;

    if ((r = dt_spec_cond (s, e->arg[0], &c)) != 0)
        return r;
    return dt_spec_not (s, e, c, ret);
}

static int dispatch (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    switch (e->kind) {
    case DT_EXPR_INT:
        *ret = DT_V_INT (e->i);
        return 0;
    case DT_EXPR_FLOAT:
        *ret = DT_V_FLOAT (e->i);
        return 0;
    case DT_EXPR_BOOL:
        *ret = DT_V_BOOL (e->i);
        return 0;
    case DT_EXPR_NONE:
        *ret = DT_V_NONE;
        return 0;
    case DT_EXPR_STR:
        *ret = DT_V_STR (e->s);
        return dt_spec_string (s, e, e->s);
    case DT_EXPR_NAME:
        return name (s, e, ret);
    case DT_EXPR_TUPLE: case DT_EXPR_LIST: case DT_EXPR_DICT:
        return sequence (s, e, ret);
    case DT_EXPR_ATTR:
        return attribute (s, e, ret);
    case DT_EXPR_CALL:
        return dt_spec_call (s, e, ret);
    case DT_EXPR_IF:
        return conditional (s, e, dt_spec_eval, ret);
    case DT_EXPR_AND: case DT_EXPR_OR:
        return junction_from (s, e, 0, ret);
    case DT_EXPR_NOT:
        return negation (s, e, ret);
    case DT_EXPR_COMPARE:
        return comparison (s, e, ret);
    case DT_EXPR_GENEXP:
        return dt_refuse (s->err, &s->p->file[e->at.file]->source, e->at, DT_REFUSE_UNPARENTHESISED_GEN);
    case DT_EXPR_LAMBDA:
        return dt_refuse (s->err, &s->p->file[e->at.file]->source, e->at, DT_REFUSE_LAMBDA);
    case DT_EXPR_LISTCOMP: case DT_EXPR_DICTCOMP:
        return dt_spec_comprehension (s, e, ret);
    default:
        return operation (s, e, ret);
    }
}

/* What was raised from row `first` on, and by no expression within, is this value's. */
static void take_raises (struct dt_graph *g, uint32_t first, uint32_t node)
{
    for (uint32_t i = first; i < g->n_raises; i++)
        if (g->raise[i].value == DT_NODE_NONE)
            g->raise[i].value = node;
}

int dt_spec_eval (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    uint32_t first = s->g->n_raises;
    int r;

    if ((r = dt_spec_enter (s, e)) < 0)
        return r;
    *ret = DT_V_NOTHING;
    r = dispatch (s, e, ret);
    s->depth--;
    if (r == 0 && ret->kind == DT_VALUE_NODE)
        take_raises (s->g, first, ret->node);
    return r != 0 ? r : dt_spec_usable (s, e, *ret);
}

int dt_spec_cond (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_value v;
    int r;

    if (e->kind == DT_EXPR_AND || e->kind == DT_EXPR_OR || e->kind == DT_EXPR_IF) {
        if ((r = dt_spec_enter (s, e)) < 0)
            return r;
        r = e->kind == DT_EXPR_IF ? conditional (s, e, dt_spec_cond, ret) : junction_truth (s, e, ret);
        s->depth--;
        return r;
    }
    if ((r = dt_spec_eval (s, e, &v)) != 0)
        return r;
    return dt_spec_truth (s, e, v, ret);
}

static int unpack (struct dt_spec *s, const struct dt_expr *target, struct dt_value v)
{
    uint32_t i;
    int r;

    if (!dt_value_iterable (v))
        return dt_spec_error (s, -DT_ESYNTAX, target->at, NULL, "cannot unpack %s", dt_value_type (v));
    if (dt_value_count (v) != target->n)
        return dt_spec_fault (s, target, DT_FAULT_VALUE, dt_value_count (v) < target->n ? "not enough values to unpack"
                                                                                      : "too many values to unpack");
    for (i = 0; i < target->n; i++)
        if ((r = dt_spec_assign (s, target->arg[i], dt_value_at (v, i))) != 0)
            return r;
    return 0;
}

int dt_spec_assign (struct dt_spec *s, const struct dt_expr *target, struct dt_value v)
{
    int r;

    if (target->kind != DT_EXPR_NAME)
        return unpack (s, target, v);
    if ((r = refuse_iter (s, target, v)) < 0)
        return r;
    if (target->scope == DT_SCOPE_GLOBAL) {
        s->global[target->at.file][target->i] = v;
        return 0;
    }
    s->frame->local[target->i] = v;
    return dt_spec_name (s, v, target->s);
}
