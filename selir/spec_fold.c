/* selir/spec_fold.c - min, max, sum, any and all. */
#include <string.h>

#include "selir/spec.h"

/* The running value.  `have` (a bool) tells whether there was an element yet. */
struct run {
    const struct dt_expr *call, *lambda; /* key=; NULL: none */
    uint32_t builtin;
    struct dt_value acc, acc_key, have;
};

/* The smaller (or larger) of two without a key, where one operation tells. */
static int plain_extreme (struct dt_spec *s, const struct dt_expr *e, int max, struct dt_value a, struct dt_value b,
                          struct dt_value *ret)
{
    struct dt_value arg[] = { a, b };

    if (dt_value_is_int (a) && dt_value_is_int (b))
        return dt_spec_arith (s, e, max ? DT_OP_MAX : DT_OP_MIN, DT_TYPE_INT, arg, 2, ret);
    if (dt_value_is_float (a) && dt_value_is_float (b))
        return dt_spec_arith (s, e, max ? DT_OP_FMAX : DT_OP_FMIN, DT_TYPE_FLOAT, arg, 2, ret);
    return max ? dt_spec_or (s, e, a, b, ret) : dt_spec_and (s, e, a, b, ret);
}

/* One more element of min and max; the first of equals stays. */
static int extreme (struct dt_spec *s, struct run *f, const struct dt_expr *e, struct dt_value v, struct dt_value *ret,
                    struct dt_value *ret_key)
{
    int max = f->builtin == DT_BUILTIN_MAX, r;
    struct dt_value less, key = v, a = f->acc;

    if (f->lambda && (r = dt_spec_apply (s, f->lambda, v, &key)) != 0)
        return r;
    *ret = v;
    *ret_key = key;
    if (a.kind == DT_VALUE_NOTHING)
        return 0;
    if (!f->lambda && ((dt_value_is_int (a) && dt_value_is_int (v)) || (dt_value_is_float (a) && dt_value_is_float (v))
                       || (dt_value_is_bool (a) && dt_value_is_bool (v)))) {
        r = plain_extreme (s, e, max, a, v, ret);
        *ret_key = *ret;
    } else {
        if ((r = dt_spec_order (s, e, 1, max ? f->acc_key : key, max ? key : f->acc_key, &less)) != 0
            || (r = dt_spec_merge (s, e, less, v, a, ret)) < 0 || (r = dt_spec_merge (s, e, less, key, f->acc_key, ret_key)) < 0)
            return r;
    }
    if (r != 0 || (r = dt_spec_merge (s, e, f->have, *ret, v, ret)) < 0)
        return r;
    return dt_spec_merge (s, e, f->have, *ret_key, key, ret_key);
}

static int add_truth (struct dt_spec *s, struct run *f, const struct dt_expr *e, struct dt_value v, struct dt_value where)
{
    struct dt_value no, c;
    int r;

    if ((r = dt_spec_truth (s, e, v, &c)) < 0)
        return r;
    if (f->builtin == DT_BUILTIN_ANY) {
        if ((r = dt_spec_and (s, e, where, c, &c)) < 0)
            return r;
        return dt_spec_or (s, e, f->acc, c, &f->acc);
    }
    if ((r = dt_spec_not (s, e, where, &no)) < 0 || (r = dt_spec_or (s, e, no, c, &c)) < 0)
        return r;
    return dt_spec_and (s, e, f->acc, c, &f->acc);
}

static int plus (struct dt_spec *s, struct run *f, const struct dt_expr *e, struct dt_value v, struct dt_value *ret)
{
    if (dt_value_is_float (v) || dt_value_is_float (f->acc))
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "add them in a loop: for x in ...: total = total + x",
                              "sum() of floats, whose result differs between Pythons, is not in the language here");
    if (f->acc.kind == DT_VALUE_INT && f->acc.i == 0)
        return dt_spec_int (s, e, v, "sum()", ret);
    return dt_spec_binary (s, e, DT_TOK_ADD, f->acc, v, ret);
}

/* One element, which counts where `where` holds. */
static int add (struct dt_spec *s, struct run *f, const struct dt_expr *e, struct dt_value v, struct dt_value where)
{
    struct dt_value next, key = DT_V_NOTHING;
    int r;

    if (f->builtin == DT_BUILTIN_ANY || f->builtin == DT_BUILTIN_ALL)
        return add_truth (s, f, e, v, where);
    r = f->builtin == DT_BUILTIN_SUM ? plus (s, f, e, v, &next) : extreme (s, f, e, v, &next, &key);
    if (r != 0 || (r = dt_spec_merge (s, e, where, next, f->acc, &f->acc)) < 0
        || (r = dt_spec_merge (s, e, where, key, f->acc_key, &f->acc_key)) < 0)
        return r;
    return dt_spec_or (s, e, f->have, where, &f->have);
}

/* An element of a generator.  any and all stop at the first that decides. */
static int element (struct dt_spec *s, const struct dt_expr *e, struct dt_value where, void *ctx)
{
    struct dt_value v, go = DT_V_BOOL (1), path = s->path;
    struct run *f = ctx;
    int r;

    if (e->kind == DT_EXPR_GENEXP && f->builtin == DT_BUILTIN_ALL)
        go = f->acc;
    else if (e->kind == DT_EXPR_GENEXP && f->builtin == DT_BUILTIN_ANY && (r = dt_spec_not (s, e, f->acc, &go)) < 0)
        return r;
    if (go.kind == DT_VALUE_BOOL && !go.i)
        return 0;
    if ((r = dt_spec_and (s, e, path, go, &s->path)) < 0)
        return r;
    if ((r = dt_spec_eval (s, e->arg[0], &v)) == 0)
        r = add (s, f, e->arg[0], v, where);
    s->path = path;
    return r == DT_RAISED && go.kind == DT_VALUE_NODE ? 0 : r;
}

static int over_collection (struct dt_spec *s, struct run *f, struct dt_value v)
{
    struct dt_value item, is, path = s->path;
    uint64_t i;
    int r;

    if (!dt_spec_walkable (v))
        return dt_spec_error (s, -DT_ESYNTAX, f->call->at, "give it a tuple, list, dict or range", "%s() cannot walk %s",
                              dt_builtin_name (f->builtin), dt_value_type (v));
    for (i = 0; i < dt_spec_turns (v); i++) {
        if ((r = dt_spec_unroll (s, 1, f->call->at)) < 0 || (r = dt_spec_turn (s, f->call, v, i, &item, &is)) != 0
            || (r = dt_spec_and (s, f->call, path, is, &s->path)) < 0)
            return r;
        r = add (s, f, f->call, item, is);
        s->path = path;
        if (r < 0 || (r == DT_RAISED && is.kind == DT_VALUE_BOOL))
            return r;
    }
    return 0;
}

/* min (a, b, ..., key=...): each argument without a keyword is an element. */
static int over_arguments (struct dt_spec *s, struct run *f)
{
    const struct dt_expr *e = f->call;
    struct dt_value *v = dt_arena_array (&s->arena, e->n, sizeof *v);
    uint32_t i;
    int r;

    if (!v)
        return dt_err_nomem (s->err);
    for (i = 1; i < e->n; i++)
        if (!e->key[i] && (r = dt_spec_eval (s, e->arg[i], &v[i])) != 0)
            return r;
    for (i = 1; i < e->n; i++)
        if (!e->key[i] && (r = add (s, f, e, v[i], DT_V_BOOL (1))) != 0)
            return r;
    return 0;
}

static int over (struct dt_spec *s, struct run *f)
{
    const struct dt_expr *e = f->call->arg[1];
    struct dt_value v;
    int r;

    if (e->kind == DT_EXPR_GENEXP || (e->kind == DT_EXPR_LISTCOMP && f->builtin != DT_BUILTIN_ANY && f->builtin != DT_BUILTIN_ALL))
        return dt_spec_each (s, e, element, f);
    if ((r = dt_spec_eval (s, e, &v)) != 0)
        return r;
    return over_collection (s, f, v);
}

/* Positional arguments, and whether the keywords are known. */
static int shape (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, const char *key, uint32_t *ret_n)
{
    int extremes = builtin == DT_BUILTIN_MIN || builtin == DT_BUILTIN_MAX;
    uint32_t i, n = 0;

    for (i = 1; i < e->n; i++) {
        if (e->key[i] && (!key || strcmp (e->key[i], key) != 0) && !(extremes && strcmp (e->key[i], "key") == 0))
            return dt_spec_error (s, -DT_ESYNTAX, e->arg[i]->at, NULL, "%s(): the keyword '%s' is not in the language here",
                                  dt_builtin_name (builtin), e->key[i]);
        n += !e->key[i];
    }
    if (n == 0 || (n > 1 && !extremes && !(builtin == DT_BUILTIN_SUM && n == 2)))
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "%s() takes one collection", dt_builtin_name (builtin));
    if (n > 1 && extremes && dt_spec_keyword (e, "default") > 0)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "a default goes with one collection");
    *ret_n = n;
    return 0;
}

/* What min and max of nothing are. */
static int finish_extreme (struct dt_spec *s, struct run *f, struct dt_value *ret)
{
    int k = dt_spec_keyword (f->call, "default"), r;
    struct dt_value none, other;

    if (k > 0) {
        if ((r = dt_spec_eval (s, f->call->arg[k], &other)) != 0)
            return r;
        return dt_spec_merge (s, f->call, f->have, f->acc, other, ret);
    }
    *ret = f->acc;
    if ((r = dt_spec_not (s, f->call, f->have, &none)) < 0)
        return r;
    return dt_spec_fault_if (s, f->call, DT_FAULT_VALUE, none, "the smallest or largest of nothing");
}

int dt_spec_fold (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, struct dt_value *ret)
{
    int extremes = builtin == DT_BUILTIN_MIN || builtin == DT_BUILTIN_MAX, k, r;
    struct run f = { .call = e, .builtin = builtin, .acc = DT_V_NOTHING, .acc_key = DT_V_NOTHING, .have = DT_V_BOOL (0) };
    uint32_t n = 0;

    if ((r = shape (s, e, builtin, extremes ? "default" : builtin == DT_BUILTIN_SUM ? "start" : NULL, &n)) < 0
        || (extremes && (r = dt_spec_key (s, e, &f.lambda)) < 0))
        return r;
    if (builtin == DT_BUILTIN_SUM) {
        f.acc = DT_V_INT (0);
        k = n == 2 ? 2 : dt_spec_keyword (e, "start");
        if (k > 0 && (r = dt_spec_eval (s, e->arg[k], &f.acc)) != 0)
            return r;
    } else if (!extremes)
        f.acc = DT_V_BOOL (builtin == DT_BUILTIN_ALL);
    if ((r = n > 1 && extremes ? over_arguments (s, &f) : over (s, &f)) != 0)
        return r;
    if (extremes)
        return finish_extreme (s, &f, ret);
    *ret = f.acc;
    return 0;
}
