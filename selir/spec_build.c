/* selir/spec_build.c - the specialiser's errors, nodes and logic. */
#include <stdio.h>
#include <string.h>

#include "selir/spec.h"

int dt_spec_error (struct dt_spec *s, int code, struct dt_span at, const char *advice,
                   const char *format, ...)
{
    char text[320];
    va_list ap;

    va_start (ap, format);
    vsnprintf (text, sizeof text, format, ap);
    va_end (ap);
    return dt_diag (s->err, code, &s->p->file[at.file]->source, at, advice, "%s", text);
}

int dt_spec_step (struct dt_spec *s, uint32_t n, struct dt_span at)
{
    if ((s->steps += n) <= DT_SPEC_MAX_STEPS)
        return 0;
    return dt_spec_error (s, -DT_ELIMIT, at, "loop over fewer values", "the program takes more than %u evaluation steps",
                          DT_SPEC_MAX_STEPS);
}

int dt_spec_enter (struct dt_spec *s, const struct dt_expr *e)
{
    if (s->depth >= DT_SPEC_MAX_DEPTH)
        return dt_spec_error (s, -DT_ELIMIT, e->at, "give inner parts names, or call fewer functions inside others",
                              "evaluation nested deeper than %d", DT_SPEC_MAX_DEPTH);
    s->depth++;
    return dt_spec_step (s, 1, e->at);
}

int dt_spec_string (struct dt_spec *s, const struct dt_expr *e, const char *text)
{
    if (strnlen (text, DT_SPEC_MAX_STRING + 1) <= DT_SPEC_MAX_STRING)
        return 0;
    return dt_spec_error (s, -DT_ELIMIT, e->at, "keep long texts in comments", "a string longer than %u bytes", DT_SPEC_MAX_STRING);
}

/* Shared parts are walked as often as they are reached: each is a step. */
int dt_spec_static (struct dt_spec *s, const struct dt_expr *e, struct dt_value v)
{
    uint32_t i;
    int r = 1;

    switch (v.kind) {
    case DT_VALUE_NODE: case DT_VALUE_MAYBE: case DT_VALUE_CONFLICT: case DT_VALUE_BOUNDED: case DT_VALUE_ZIPPED:
        return 0;
    case DT_VALUE_TUPLE: case DT_VALUE_LIST: case DT_VALUE_DICT: case DT_VALUE_RECORD: case DT_VALUE_ITER:
        break;
    default:
        return 1;
    }
    if ((r = dt_spec_enter (s, e)) < 0 || (r = dt_spec_step (s, v.seq->n, e->at)) < 0)
        return r;
    for (i = 0, r = 1; r == 1 && i < v.seq->n; i++)
        r = dt_spec_static (s, e, v.seq->item[i]);
    s->depth--;
    return r;
}

int dt_spec_unroll (struct dt_spec *s, uint64_t n, struct dt_span at)
{
    if (n <= DT_SPEC_MAX_UNROLLED && (s->unrolled += (uint32_t)n) <= DT_SPEC_MAX_UNROLLED)
        return 0;
    return dt_spec_error (s, -DT_ELIMIT, at, "loop over fewer values", "loops unroll to more than %u values",
                          DT_SPEC_MAX_UNROLLED);
}

int dt_spec_span (struct dt_spec *s, const struct dt_expr *e, uint32_t *ret)
{
    int64_t i;

    if (s->span_of[e->id] == 0) {
        if ((i = dt_graph_add_span (s->g, e->at)) < 0)
            return dt_err_nomem (s->err);
        s->span_of[e->id] = (uint32_t)i;
    }
    *ret = s->span_of[e->id];
    return 0;
}

int dt_spec_guard (struct dt_spec *s, const struct dt_expr *e, struct dt_value path, uint32_t *ret)
{
    if (path.kind == DT_VALUE_BOOL && path.i) {
        *ret = DT_NODE_NONE;
        return 0;
    }
    return dt_spec_id (s, e, path, ret);
}

static int fail (struct dt_spec *s, const struct dt_expr *e, enum dt_fault fault, struct dt_value where)
{
    struct dt_node n = { .op = DT_OP_FAIL, .type = DT_TYPE_INT, .a = DT_NODE_NONE, .b = DT_NODE_NONE,
                         .c = DT_NODE_NONE, .imm = fault, .seq = s->g->next_seq++ };
    uint32_t id;
    int r;

    if ((r = dt_spec_guard (s, e, where, &n.guard)) < 0 || (r = dt_spec_span (s, e, &n.span)) < 0
        || (r = dt_graph_add (s->g, n, &id, s->err)) < 0)
        return r;
    return dt_graph_add_raise (s->g, (struct dt_raise){ id, DT_NODE_NONE }) < 0 ? dt_err_nomem (s->err) : 0;
}

int dt_spec_fault (struct dt_spec *s, const struct dt_expr *e, enum dt_fault fault, const char *why)
{
    int r;

    if (s->path.kind == DT_VALUE_BOOL)
        return dt_spec_error (s, -DT_EEVAL, e->at, NULL, "%s: %s", dt_fault_name (fault), why);
    if ((r = fail (s, e, fault, s->path)) < 0)
        return r;
    return DT_RAISED;
}

int dt_spec_fault_if (struct dt_spec *s, const struct dt_expr *e, enum dt_fault fault, struct dt_value where,
                      const char *why)
{
    struct dt_value guard;
    int r;

    if (where.kind == DT_VALUE_BOOL)
        return where.i ? dt_spec_fault (s, e, fault, why) : 0;
    if ((r = dt_spec_and (s, e, s->path, where, &guard)) < 0)
        return r;
    return fail (s, e, fault, guard);
}

/* None travels as an enum member of that name; the string "None" would look like it. */
int dt_spec_enum (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, int64_t *ret)
{
    int64_t i;

    if (v.kind == DT_VALUE_STR && strcmp (v.s, "None") == 0)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "use another string, or None",
                              "the string \"None\" cannot depend on inputs");
    if ((i = dt_graph_add_enum (s->g, v.kind == DT_VALUE_NONE ? "None" : v.s)) < 0)
        return dt_err_nomem (s->err);
    *ret = i;
    return 0;
}

int dt_spec_id (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, uint32_t *ret)
{
    int64_t member;
    int r;

    switch (v.kind) {
    case DT_VALUE_NODE:
        *ret = v.node;
        return 0;
    case DT_VALUE_INT:
        return dt_graph_const (s->g, DT_TYPE_INT, v.i, ret, s->err);
    case DT_VALUE_BOOL:
        return dt_graph_const (s->g, DT_TYPE_BOOL, v.i, ret, s->err);
    case DT_VALUE_FLOAT:
        return dt_graph_const (s->g, DT_TYPE_FLOAT, v.i, ret, s->err);
    default:
        if ((r = dt_spec_enum (s, e, v, &member)) < 0)
            return r;
        return dt_graph_const (s->g, DT_TYPE_ENUM, member, ret, s->err);
    }
}

/* Partial operations carry the path as guard. */
int dt_spec_node (struct dt_spec *s, const struct dt_expr *e, uint8_t op, uint8_t type, const struct dt_value *arg,
                  int n, struct dt_value *ret)
{
    struct dt_node node = { .op = op, .type = type, .a = DT_NODE_NONE, .b = DT_NODE_NONE, .c = DT_NODE_NONE,
                            .guard = DT_NODE_NONE, .copy = s->conditions > 0 ? DT_COPY_VALUE : DT_COPY_NONE };
    uint32_t *operand[] = { &node.a, &node.b, &node.c }, id;
    int i, r;

    for (i = 0; i < n; i++)
        if ((r = dt_spec_id (s, e, arg[i], operand[i])) < 0)
            return r;
    if ((dt_op_partial (op) && (r = dt_spec_guard (s, e, s->path, &node.guard)) < 0)
        || (r = dt_spec_span (s, e, &node.span)) < 0)
        return r;
    node.seq = s->g->next_seq++;
    if ((r = dt_graph_add (s->g, node, &id, s->err)) < 0)
        return r;
    *ret = DT_V_NODE (id, type);
    return 0;
}

int dt_spec_not (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value *ret)
{
    if (a.kind == DT_VALUE_BOOL) {
        *ret = DT_V_BOOL (!a.i);
        return 0;
    }
    if (s->g->node[a.node].op == DT_OP_NOT) {
        *ret = DT_V_NODE (s->g->node[a.node].a, DT_TYPE_BOOL);
        return 0;
    }
    return dt_spec_node (s, e, DT_OP_NOT, DT_TYPE_BOOL, &a, 1, ret);
}

/* and, or with `unit` (what leaves the other operand as it is). */
static int junction (struct dt_spec *s, const struct dt_expr *e, uint8_t op, int unit, struct dt_value a,
                     struct dt_value b, struct dt_value *ret)
{
    struct dt_value arg[] = { a, b };

    if (a.kind == DT_VALUE_BOOL)
        *ret = a.i == unit ? b : a;
    else if (b.kind == DT_VALUE_BOOL)
        *ret = b.i == unit ? a : b;
    else if (a.node == b.node)
        *ret = a;
    else
        return dt_spec_node (s, e, op, DT_TYPE_BOOL, arg, 2, ret);
    return 0;
}

int dt_spec_and (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret)
{
    return junction (s, e, DT_OP_AND, 1, a, b, ret);
}

int dt_spec_or (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret)
{
    return junction (s, e, DT_OP_OR, 0, a, b, ret);
}

/* --- merging ------------------------------------------------------------------------ */

static int merge_bool (struct dt_spec *s, const struct dt_expr *e, struct dt_value c, struct dt_value a,
                       struct dt_value b, struct dt_value *ret)
{
    struct dt_value arg[] = { c, a, b }, n;
    int r;

    if (a.kind != DT_VALUE_BOOL && b.kind != DT_VALUE_BOOL)
        return dt_spec_node (s, e, DT_OP_SELECT, DT_TYPE_BOOL, arg, 3, ret);
    if (a.kind == DT_VALUE_BOOL && a.i)
        return dt_spec_or (s, e, c, b, ret);
    if (b.kind == DT_VALUE_BOOL && !b.i)
        return dt_spec_and (s, e, c, a, ret);
    if ((r = dt_spec_not (s, e, c, &n)) < 0)
        return r;
    return a.kind == DT_VALUE_BOOL ? dt_spec_and (s, e, n, b, ret) : dt_spec_or (s, e, n, a, ret);
}

static int conflict (struct dt_spec *s, struct dt_value a, struct dt_value b, struct dt_value *ret)
{
    struct dt_conflict *c = dt_arena_alloc (&s->arena, sizeof *c);

    if (!c)
        return dt_err_nomem (s->err);
    c->a = a.kind == DT_VALUE_CONFLICT ? a.conflict->a : dt_value_type (a);
    c->b = b.kind == DT_VALUE_CONFLICT ? b.conflict->b : dt_value_type (b);
    *ret = (struct dt_value){ .kind = DT_VALUE_CONFLICT, .conflict = c };
    return 0;
}

/* Where a local is set, and what it then is. */
static void split_maybe (struct dt_value v, struct dt_value *ret_bound, struct dt_value *ret_value)
{
    *ret_bound = v.kind == DT_VALUE_MAYBE ? v.maybe->bound : DT_V_BOOL (v.kind != DT_VALUE_UNSET);
    *ret_value = v.kind == DT_VALUE_MAYBE ? v.maybe->value : v.kind == DT_VALUE_UNSET ? DT_V_NOTHING : v;
}

static int merge_maybe (struct dt_spec *s, const struct dt_expr *e, struct dt_value c, struct dt_value a,
                        struct dt_value b, struct dt_value *ret)
{
    struct dt_maybe *m = dt_arena_alloc (&s->arena, sizeof *m);
    struct dt_value bound_a, bound_b, value_a, value_b;
    int r;

    if (!m)
        return dt_err_nomem (s->err);
    split_maybe (a, &bound_a, &value_a);
    split_maybe (b, &bound_b, &value_b);
    if ((r = dt_spec_merge (s, e, c, bound_a, bound_b, &m->bound)) < 0
        || (r = dt_spec_merge (s, e, c, value_a, value_b, &m->value)) < 0)
        return r;
    *ret = (struct dt_value){ .kind = DT_VALUE_MAYBE, .maybe = m };
    return 0;
}

static int same_shape (struct dt_value a, struct dt_value b)
{
    uint32_t i;

    if (a.kind != b.kind || (a.kind != DT_VALUE_TUPLE && a.kind != DT_VALUE_LIST && a.kind != DT_VALUE_DICT
                             && a.kind != DT_VALUE_RECORD) || a.seq->n != b.seq->n || a.seq->class != b.seq->class)
        return 0;
    for (i = 0; a.kind == DT_VALUE_DICT && i < a.seq->n; i += 2)
        if (!dt_value_same (a.seq->item[i], b.seq->item[i]))
            return 0;
    return 1;
}

static int merge_items (struct dt_spec *s, const struct dt_expr *e, struct dt_value c, struct dt_value a,
                        struct dt_value b, struct dt_value *ret)
{
    struct dt_seq *seq = dt_seq_new (&s->arena, a.seq->n);
    uint32_t i;
    int r;

    if (!seq)
        return dt_err_nomem (s->err);
    if ((r = dt_spec_enter (s, e)) < 0 || (r = dt_spec_step (s, a.seq->n, e->at)) < 0)
        return r;
    seq->class = a.seq->class;
    for (i = 0; i < seq->n; i++)
        if ((r = dt_spec_merge (s, e, c, a.seq->item[i], b.seq->item[i], &seq->item[i])) < 0)
            return r;
    s->depth--;
    *ret = (struct dt_value){ .kind = a.kind, .seq = seq };
    return 0;
}

int dt_spec_merge (struct dt_spec *s, const struct dt_expr *e, struct dt_value c, struct dt_value a,
                   struct dt_value b, struct dt_value *ret)
{
    struct dt_value arg[] = { c, a, b };

    if (a.kind == DT_VALUE_NOTHING || b.kind == DT_VALUE_NOTHING) {
        *ret = a.kind == DT_VALUE_NOTHING ? b : a;
        return 0;
    }
    if (c.kind == DT_VALUE_BOOL || dt_value_same (a, b)) {
        *ret = c.kind == DT_VALUE_BOOL && !c.i ? b : a;
        return 0;
    }
    if (a.kind == DT_VALUE_UNSET || b.kind == DT_VALUE_UNSET || a.kind == DT_VALUE_MAYBE || b.kind == DT_VALUE_MAYBE)
        return merge_maybe (s, e, c, a, b, ret);
    if (dt_value_is_bool (a) && dt_value_is_bool (b))
        return merge_bool (s, e, c, a, b, ret);
    if (dt_value_is_int (a) && dt_value_is_int (b))
        return dt_spec_node (s, e, DT_OP_SELECT, DT_TYPE_INT, arg, 3, ret);
    if (dt_value_is_float (a) && dt_value_is_float (b))
        return dt_spec_node (s, e, DT_OP_SELECT, DT_TYPE_FLOAT, arg, 3, ret);
    if (dt_value_is_enum (a) && dt_value_is_enum (b))
        return dt_spec_node (s, e, DT_OP_SELECT, DT_TYPE_ENUM, arg, 3, ret);
    if (same_shape (a, b))
        return merge_items (s, e, c, a, b, ret);
    return conflict (s, a, b, ret);
}

/* What to write where two types meet. */
static const char *meeting_advice (const struct dt_conflict *c)
{
    int of_float = strcmp (c->a, "float") == 0 || strcmp (c->b, "float") == 0;
    int of_int = strcmp (c->a, "int") == 0 || strcmp (c->b, "int") == 0;
    int of_bool = strcmp (c->a, "bool") == 0 || strcmp (c->b, "bool") == 0;

    if (of_float && (of_int || of_bool))
        return "write float (...) around the other, or 2.0 for 2, so that both are alike";
    if (of_int && of_bool)
        return "write int (...) around the bool, or compare the int, so that both are alike";
    return "make it the same type and length on every path";
}

int dt_spec_usable (struct dt_spec *s, const struct dt_expr *e, struct dt_value v)
{
    if (v.kind != DT_VALUE_CONFLICT)
        return 0;
    return dt_spec_error (s, -DT_ESYNTAX, e->at, meeting_advice (v.conflict),
                          "this is %s on one path and %s on another, and inputs decide which", v.conflict->a, v.conflict->b);
}

int dt_spec_name (struct dt_spec *s, struct dt_value v, const char *local)
{
    struct dt_node *n;

    if (v.kind != DT_VALUE_NODE)
        return 0;
    n = &s->g->node[v.node];
    if (n->name || n->op == DT_OP_CONST || n->op == DT_OP_INPUT || n->op == DT_OP_KNOB)
        return 0;
    n->name = dt_arena_strf (&s->g->arena, "%s.%s", s->frame->func->name, local);
    return n->name ? 0 : dt_err_nomem (s->err);
}
