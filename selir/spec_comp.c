/* selir/spec_comp.c - comprehensions and dicts. */
#include <string.h>

#include "selir/spec.h"

struct walk {
    const struct dt_expr *comp;
    dt_each_f each;
    void *ctx;
};

static int clause_from (struct dt_spec *s, const struct walk *w, uint32_t i, struct dt_value where);

#define DROPPED 2 /* a filter that is false for all inputs */

/* The filters of a clause.  Those that inputs decide narrow the path and `where`. */
static int narrow (struct dt_spec *s, const struct dt_clause *c, struct dt_value *where)
{
    struct dt_value keep;
    uint32_t k;
    int r;

    for (k = 0; k < c->n_filters; k++) {
        if ((r = dt_spec_cond (s, c->filter[k], &keep)) != 0)
            return r;
        if (keep.kind == DT_VALUE_BOOL && !keep.i)
            return DROPPED;
        if ((r = dt_spec_and (s, c->filter[k], *where, keep, where)) < 0
            || (r = dt_spec_and (s, c->filter[k], s->path, keep, &s->path)) < 0)
            return r;
    }
    return 0;
}

static int element (struct dt_spec *s, const struct walk *w, uint32_t i, struct dt_value where)
{
    struct dt_value path = s->path, narrowed = where;
    int r;

    if ((r = narrow (s, &w->comp->clause[i], &narrowed)) == 0)
        r = clause_from (s, w, i + 1, narrowed);
    s->path = path;
    if (r == DROPPED)
        return 0;
    /* what raises where inputs let the filters through leaves the other paths */
    return r == DT_RAISED && !dt_value_same (narrowed, where) ? 0 : r;
}

static int clause_from (struct dt_spec *s, const struct walk *w, uint32_t i, struct dt_value where)
{
    const struct dt_clause *c = &w->comp->clause[i];
    struct dt_value over, item, is, path = s->path, inner;
    uint64_t k;
    int r;

    if (i == w->comp->n_clauses)
        return w->each (s, w->comp, where, w->ctx);
    if ((r = dt_spec_eval (s, c->iter, &over)) != 0)
        return r;
    if (!dt_spec_walkable (over))
        return dt_spec_error (s, -DT_ESYNTAX, c->iter->at, "loop over a tuple, list, dict or range",
                              "cannot loop over %s", dt_value_type (over));
    for (k = 0; k < dt_spec_turns (over); k++) {
        if ((r = dt_spec_unroll (s, 1, c->iter->at)) < 0 || (r = dt_spec_turn (s, c->iter, over, k, &item, &is)) != 0
            || (r = dt_spec_and (s, c->iter, where, is, &inner)) < 0 || (r = dt_spec_and (s, c->iter, path, is, &s->path)) < 0)
            break;
        if ((r = dt_spec_assign (s, c->target, item)) == 0)
            r = element (s, w, i, inner);
        s->path = path;
        if (r == DT_RAISED && is.kind == DT_VALUE_NODE)
            r = 0; /* where there is such a turn */
        if (r != 0)
            break;
    }
    s->path = path;
    return k < dt_spec_turns (over) ? r : 0;
}

int dt_spec_apply (struct dt_spec *s, const struct dt_expr *lambda, struct dt_value v, struct dt_value *ret)
{
    int r;

    if ((r = dt_spec_assign (s, lambda->clause[0].target, v)) != 0)
        return r;
    return dt_spec_eval (s, lambda->arg[0], ret);
}

int dt_spec_each (struct dt_spec *s, const struct dt_expr *comp, dt_each_f each, void *ctx)
{
    const struct walk w = { comp, each, ctx };

    return clause_from (s, &w, 0, DT_V_BOOL (1));
}

/* --- collecting ------------------------------------------------------------------------ */

struct items {
    struct dt_value *item; /* in the arena, doubling */
    uint32_t n, room;
};

static int keep (struct dt_spec *s, struct items *c, struct dt_value v)
{
    if (c->n == c->room) {
        uint32_t room = c->room ? 2 * c->room : 8;
        struct dt_value *item = dt_arena_array (&s->arena, room, sizeof *item);

        if (!item)
            return dt_err_nomem (s->err);
        if (c->n)
            memcpy (item, c->item, c->n * sizeof *item);
        c->item = item;
        c->room = room;
    }
    c->item[c->n++] = v;
    return 0;
}

static int collect (struct dt_spec *s, const struct dt_expr *e, struct dt_value where, void *ctx)
{
    struct dt_value v;
    uint32_t i;
    int r;

    if (where.kind != DT_VALUE_BOOL)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "filter directly under min, max, sum, any or all, or use a conditional value",
                              "the length of this would depend on inputs");
    for (i = 0; i < e->n; i++) {
        if ((r = dt_spec_eval (s, e->arg[i], &v)) != 0)
            return r;
        if (dt_value_is_iter (v))
            return dt_spec_error (s, -DT_ESYNTAX, e->at, "write it where it is looped over",
                                  "the result of enumerate or zip, kept, is not in the language here");
        if ((r = keep (s, ctx, v)) < 0)
            return r;
    }
    return 0;
}

int dt_spec_comprehension (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret)
{
    struct items c = { 0 };
    struct dt_seq *seq;
    int r;

    if ((r = dt_spec_each (s, e, collect, &c)) != 0)
        return r;
    if (e->kind == DT_EXPR_DICTCOMP)
        return dt_spec_dict (s, e, c.item, c.n / 2, ret);
    if (!(seq = dt_seq_new (&s->arena, c.n)))
        return dt_err_nomem (s->err);
    if (c.n)
        memcpy (seq->item, c.item, c.n * sizeof *c.item);
    *ret = (struct dt_value){ .kind = DT_VALUE_LIST, .seq = seq };
    return 0;
}

static int check_key (struct dt_spec *s, const struct dt_expr *e, struct dt_value key)
{
    int scalar = key.kind == DT_VALUE_NONE || dt_value_is_static_number (key) || key.kind == DT_VALUE_STR
                 || key.kind == DT_VALUE_TUPLE;
    int r = 0;

    if (scalar && (r = dt_spec_static (s, e, key)) != 0)
        return r < 0 ? r : 0;
    return dt_spec_error (s, -DT_ESYNTAX, e->at, "use numbers, strings, None or tuples of them that no input decides",
                          "%s cannot be a key of a dict here", dt_value_type (key));
}

int dt_spec_dict (struct dt_spec *s, const struct dt_expr *e, const struct dt_value *pair, uint32_t n, struct dt_value *ret)
{
    struct dt_seq *seq = dt_seq_new (&s->arena, 2 * n);
    struct dt_value same;
    uint32_t i, k, used = 0;
    int r;

    if (!seq)
        return dt_err_nomem (s->err);
    for (i = 0; i < n; i++) {
        if ((r = check_key (s, e, pair[2 * i])) < 0)
            return r;
        for (k = 0; k < used; k++) {
            if ((r = dt_spec_equal (s, e, seq->item[2 * k], pair[2 * i], &same)) < 0)
                return r;
            if (same.i)
                break;
        }
        if (k == used)
            seq->item[2 * used++] = pair[2 * i];
        seq->item[2 * k + 1] = pair[2 * i + 1];
    }
    seq->n = 2 * used;
    *ret = (struct dt_value){ .kind = DT_VALUE_DICT, .seq = seq };
    return 0;
}
