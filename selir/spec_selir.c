/* selir/spec_selir.c - knobs, conditions and inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "selir/spec.h"

static uint8_t scalar_type (struct dt_value v)
{
    return v.kind == DT_VALUE_INT ? DT_TYPE_INT : v.kind == DT_VALUE_BOOL ? DT_TYPE_BOOL
           : v.kind == DT_VALUE_FLOAT                                     ? DT_TYPE_FLOAT
           : v.kind == DT_VALUE_STR || v.kind == DT_VALUE_NONE            ? DT_TYPE_ENUM
                                                                          : 0;
}

static int bits (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, int64_t *ret)
{
    if (v.kind == DT_VALUE_STR || v.kind == DT_VALUE_NONE)
        return dt_spec_enum (s, e, v, ret);
    *ret = v.i;
    return 0;
}

/* The members of a static collection of one scalar type, in its order. */
static int members (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, const char *what, uint8_t *ret_type,
                    int64_t **ret, size_t *ret_n)
{
    uint64_t n, i;
    int64_t *value;
    uint8_t type;
    int r = 0;

    if (!dt_value_iterable (v) || v.kind == DT_VALUE_ITER || v.kind == DT_VALUE_DICT || (r = dt_spec_static (s, e, v)) <= 0)
        return r < 0 ? r : dt_spec_error (s, -DT_ESYNTAX, e->at, "give a range, or a tuple or list of values of one type",
                              "the values of %s are %s, not a static collection", what, dt_value_type (v));
    n = dt_value_count (v);
    if (n == 0)
        return dt_spec_error (s, -DT_EINPUT, e->at, NULL, "%s has no values with these facts", what);
    if ((r = dt_spec_unroll (s, n, e->at)) < 0)
        return r;
    if (!(value = dt_arena_array (&s->arena, n, sizeof *value)))
        return dt_err_nomem (s->err);
    type = scalar_type (dt_value_at (v, 0));
    for (i = 0; i < n; i++) {
        if (!type || scalar_type (dt_value_at (v, i)) != type)
            return dt_spec_error (s, -DT_ESYNTAX, e->at, "make them all ints, all floats, all bools, or all strings and None",
                                  "the values of %s are not of one type", what);
        if ((r = bits (s, e, dt_value_at (v, i), &value[i])) < 0)
            return r;
    }
    *ret_type = type;
    *ret = value;
    *ret_n = n;
    return 0;
}

/* --- knobs ------------------------------------------------------------------------------ */

struct knob_args {
    struct dt_value v[3]; /* name, values, default */
};

/* knob (name, values, default), by place or keyword. */
static int knob_arguments (struct dt_spec *s, const struct dt_expr *e, struct knob_args *a)
{
    static const char *const keys[] = { "name", "values", "default" };
    uint32_t i, k;
    int r;

    memset (a, 0, sizeof *a);
    for (i = 1; i < e->n; i++) {
        for (k = e->key[i] ? 0 : i - 1; e->key[i] && k < 3; k++)
            if (strcmp (keys[k], e->key[i]) == 0)
                break;
        if (k >= 3 || a->v[k].kind != DT_VALUE_UNSET)
            return dt_spec_error (s, -DT_ESYNTAX, e->arg[i]->at, "write knob(\"name\", (1, 2, 4), default=2)", "knob() has no such argument");
        if ((r = dt_spec_eval (s, e->arg[i], &a->v[k])) != 0)
            return r;
    }
    if (a->v[0].kind != DT_VALUE_STR || !a->v[0].s[0] || a->v[1].kind == DT_VALUE_UNSET || a->v[2].kind == DT_VALUE_UNSET)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "write knob(\"name\", (1, 2, 4), default=2)",
                              "knob() takes a name, the values and a default");
    return 0;
}

static int find_knob (const struct dt_graph *g, const char *name)
{
    uint32_t i;

    for (i = 0; i < g->n_knobs; i++)
        if (strcmp (g->knob[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* A NaN is not among any values, and a tuple or a table could not name an infinity. */
static int all_finite (struct dt_spec *s, const struct dt_expr *e, uint8_t type, const int64_t *value, size_t n,
                       const char *what, const char *name)
{
    size_t i;

    for (i = 0; type == DT_TYPE_FLOAT && i < n; i++)
        if (!isfinite (dt_op_double (value[i])))
            return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "a value of %s '%s' is infinite or no number", what, name);
    return 0;
}

static int equal (uint8_t type, int64_t a, int64_t b)
{
    return a == b || (type == DT_TYPE_FLOAT && dt_op_double (a) == dt_op_double (b)); /* 0.0 and -0.0 */
}

/* The default's place; the values must differ from each other. */
static int initial (struct dt_spec *s, const struct dt_expr *e, const struct knob_args *a, struct dt_knob *k)
{
    int64_t want;
    size_t i, j;
    int r;

    for (i = 0; i < k->n_values; i++)
        for (j = 0; j < i; j++) {
            if ((r = dt_spec_step (s, 1, e->at)) < 0)
                return r;
            if (equal (k->type, k->value[i], k->value[j]))
                return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "knob '%s' has a value twice", k->name);
        }
    if (scalar_type (a->v[2]) == k->type) {
        if ((r = bits (s, e, a->v[2], &want)) < 0)
            return r;
        for (i = 0; i < k->n_values; i++)
            if (k->value[i] == want) {
                k->initial = (uint32_t)i;
                return 0;
            }
    }
    return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "the default of knob '%s' is not among its values", k->name);
}

static int same_knob (const struct dt_knob *a, const struct dt_knob *b)
{
    return a->type == b->type && a->n_values == b->n_values && a->initial == b->initial
           && memcmp (a->value, b->value, a->n_values * sizeof *a->value) == 0;
}

int dt_spec_knob (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct dt_knob k = { .node = DT_NODE_NONE };
    struct dt_node n = { .op = DT_OP_KNOB, .guard = DT_NODE_NONE };
    struct knob_args a;
    int64_t *value;
    uint32_t id;
    int r;

    if ((r = knob_arguments (s, e, &a)) != 0 || (r = members (s, e, a.v[1], "a knob", &k.type, &value, &k.n_values)) < 0)
        return r;
    k.name = a.v[0].s;
    k.value = value;
    if ((r = all_finite (s, e, k.type, k.value, k.n_values, "knob", k.name)) < 0 || (r = initial (s, e, &a, &k)) < 0 || (r = dt_spec_span (s, e, &k.span)) < 0)
        return r;
    n.imm = find_knob (s->g, k.name);
    if (n.imm >= 0 && !same_knob (&s->g->knob[n.imm], &k))
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "give both the same values and default, or other names",
                              "knob '%s' is used with other values elsewhere", k.name);
    if (n.imm < 0 && (n.imm = dt_graph_add_knob (s->g, &k)) < 0)
        return dt_err_nomem (s->err);
    n.type = k.type;
    n.span = k.span;
    n.seq = s->g->next_seq++;
    if ((r = dt_graph_add (s->g, n, &id, s->err)) < 0)
        return r;
    *ret = DT_V_NODE (id, k.type);
    return 0;
}

/* --- require and assume ------------------------------------------------------------------- */

/* What the expression computes is its own: see dt_node's `copy`. */
static int eval_condition (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    int r;

    s->conditions++;
    r = dt_spec_cond (s, e, ret);
    s->conditions--;
    return r;
}

int dt_spec_condition (struct dt_spec *s, const struct dt_expr *e, uint8_t kind)
{
    struct dt_cond c = { .kind = kind };
    struct dt_value v, why;
    int r;

    if (e->n != 3 || e->key[1] || (e->key[2] && strcmp (e->key[2], "why") != 0))
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "write require(condition, \"why\")", "a condition takes what must hold, and why");
    if ((r = eval_condition (s, e->arg[1], &v)) != 0 || (r = dt_spec_eval (s, e->arg[2], &why)) != 0)
        return r;
    if (why.kind != DT_VALUE_STR)
        return dt_spec_error (s, -DT_ESYNTAX, e->arg[2]->at, NULL, "the reason is %s, not a static string", dt_value_type (why));
    if (v.kind == DT_VALUE_BOOL && v.i)
        return 0;
    c.message = why.s;
    if ((r = dt_spec_id (s, e, v, &c.value)) < 0 || (r = dt_spec_guard (s, e, s->path, &c.guard)) < 0
        || (r = dt_spec_span (s, e, &c.span)) < 0)
        return r;
    c.seq = s->g->next_seq++;
    return dt_graph_add_cond (s->g, &c) < 0 ? dt_err_nomem (s->err) : 0;
}

/* --- inputs ------------------------------------------------------------------------------- */

static int ascending (const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int range_domain (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, const char *name, struct dt_domain *d)
{
    if (v.range->n == 0)
        return dt_spec_error (s, -DT_EINPUT, e->at, NULL, "the domain of '%s' is empty with these facts", name);
    d->step = v.range->step < 0 ? -(v.range->step + 1) + 1 : v.range->step;
    d->lo = dt_value_at (v, v.range->step > 0 ? 0 : v.range->n - 1).i;
    d->hi = dt_value_at (v, v.range->step > 0 ? v.range->n - 1 : 0).i;
    return 0;
}

static int domain (struct dt_spec *s, const struct dt_field *f, struct dt_input *in)
{
    const struct dt_expr *e = f->domain;
    struct dt_value v;
    int64_t *value;
    size_t n, i, k = 0;
    int r;

    if ((r = dt_spec_eval (s, e, &v)) != 0)
        return r;
    if (v.kind == DT_VALUE_RANGE) {
        in->type = DT_TYPE_INT;
        return range_domain (s, e, v, f->name, &in->domain);
    }
    if (v.kind == DT_VALUE_BUILTIN && v.i == DT_BUILTIN_BOOL) {
        in->type = DT_TYPE_BOOL;
        in->domain = (struct dt_domain){ .lo = 0, .hi = 1, .step = 1 };
        return 0;
    }
    if ((r = members (s, e, v, "this domain", &in->type, &value, &n)) < 0
        || (r = all_finite (s, e, in->type, value, n, "the domain of", f->name)) < 0)
        return r;
    /* floats by their bits, so that 0.0 and -0.0 are two members */
    qsort (value, n, sizeof *value, ascending);
    for (i = 0; i < n; i++)
        if (i == 0 || value[i] != value[k - 1])
            value[k++] = value[i];
    in->domain = (struct dt_domain){ .lo = value[0], .hi = value[k - 1], .value = value, .n = k };
    return 0;
}

static int input (struct dt_spec *s, const struct dt_field *f, struct dt_value *ret)
{
    struct dt_input in = { .name = f->name, .node = DT_NODE_NONE };
    struct dt_node n = { .op = DT_OP_INPUT, .guard = DT_NODE_NONE };
    uint32_t id;
    int r;

    in.klass = f->marker == DT_MARK_RUNTIME ? DT_INPUT_RUNTIME
               : f->marker == DT_MARK_OWN   ? DT_INPUT_OWN
                                            : DT_INPUT_UNPINNABLE;
    if ((r = domain (s, f, &in)) != 0 || (r = dt_spec_span (s, f->annotation, &in.span)) < 0)
        return r;
    if ((n.imm = dt_graph_add_input (s->g, &in)) < 0)
        return dt_err_nomem (s->err);
    n.type = in.type;
    n.span = in.span;
    n.seq = s->g->next_seq++;
    if ((r = dt_graph_add (s->g, n, &id, s->err)) < 0)
        return r;
    *ret = DT_V_NODE (id, in.type);
    return 0;
}

/* The Batch record: one input per field. */
int dt_spec_inputs (struct dt_spec *s, struct dt_value *ret)
{
    const struct dt_class *c = s->p->batch;
    struct dt_seq *seq = dt_seq_new (&s->arena, c->n_fields);
    uint32_t i;
    int r;

    if (!seq)
        return dt_err_nomem (s->err);
    seq->class = c;
    for (i = 0; i < c->n_fields; i++)
        if ((r = input (s, &c->field[i], &seq->item[i])) != 0)
            return r;
    *ret = (struct dt_value){ .kind = DT_VALUE_RECORD, .seq = seq };
    return 0;
}
