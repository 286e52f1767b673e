/* selir/spec_sort.c - sorted. */
#include <stdlib.h>
#include <string.h>

#include "selir/spec.h"

int dt_spec_key (struct dt_spec *s, const struct dt_expr *e, const struct dt_expr **ret)
{
    int k = dt_spec_keyword (e, "key");

    *ret = NULL;
    if (k < 0)
        return 0;
    if (e->arg[k]->kind != DT_EXPR_LAMBDA)
        return dt_spec_error (s, -DT_ESYNTAX, e->arg[k]->at, "write key=lambda x: ...", "a key other than a lambda is not in the language here");
    *ret = e->arg[k];
    return 0;
}

struct sorting {
    const struct dt_expr *call;
    struct dt_value *item, *key;
    uint32_t n;
    int descending;
};

/* Does element j go before element i?  Equals never do: the order is stable. */
static int before (struct dt_spec *s, const struct sorting *o, uint32_t j, uint32_t i, struct dt_value *ret)
{
    if (!dt_spec_never_nan (s, o->key[i]) || !dt_spec_never_nan (s, o->key[j]))
        return dt_spec_error (s, -DT_ESYNTAX, o->call->at, "sort by an int", "sorted() of floats that may be NaN is not in the language here");
    return dt_spec_order (s, o->call, 1, o->key[o->descending ? i : j], o->key[o->descending ? j : i], ret);
}

static int swap (struct dt_spec *s, const struct sorting *o, struct dt_value *v, uint32_t i, struct dt_value c)
{
    struct dt_value a = v[i], b = v[i + 1];
    int r;

    if ((r = dt_spec_merge (s, o->call, c, b, a, &v[i])) < 0)
        return r;
    return dt_spec_merge (s, o->call, c, a, b, &v[i + 1]);
}

/* Each element sinks to its place among those before it by comparing neighbours:
 * n (n - 1) / 2 pairs, each at most three values of the graph. */
static int by_neighbours (struct dt_spec *s, const struct sorting *o)
{
    struct dt_value c;
    uint32_t i, k;
    int r;

    for (k = 1; k < o->n; k++)
        for (i = k; i-- > 0;) {
            if ((r = dt_spec_unroll (s, 1, o->call->at)) < 0 || (r = before (s, o, i + 1, i, &c)) != 0)
                return r;
            if (c.kind == DT_VALUE_BOOL && !c.i)
                break;
            if ((r = swap (s, o, o->item, i, c)) < 0 || (o->key != o->item && (r = swap (s, o, o->key, i, c)) < 0))
                return r;
        }
    return 0;
}

/* What is static and of one plain type needs no pairs of neighbours. */
struct plain_item {
    struct dt_value v, key;
    uint32_t place; /* ties keep their order */
};

static int by_key (const struct plain_item *x, const struct plain_item *y)
{
    if (x->key.kind == DT_VALUE_STR)
        return strcmp (x->key.s, y->key.s);
    return (x->key.i > y->key.i) - (x->key.i < y->key.i);
}

static int ascending (const void *a, const void *b)
{
    const struct plain_item *x = a, *y = b;
    int c = by_key (x, y);

    return c ? c : (x->place > y->place) - (x->place < y->place);
}

static int descending (const void *a, const void *b)
{
    const struct plain_item *x = a, *y = b;
    int c = by_key (y, x);

    return c ? c : (x->place > y->place) - (x->place < y->place);
}

static int is_plain (const struct sorting *o)
{
    uint32_t i, strings = 0, ints = 0;

    for (i = 0; i < o->n; i++) {
        strings += o->key[i].kind == DT_VALUE_STR;
        ints += o->key[i].kind == DT_VALUE_INT || o->key[i].kind == DT_VALUE_BOOL;
    }
    return strings == o->n || ints == o->n;
}

static int plain (struct dt_spec *s, const struct sorting *o)
{
    struct plain_item *all = dt_arena_array (&s->arena, o->n + 1, sizeof *all);
    uint32_t i;
    int r;

    if (!all)
        return dt_err_nomem (s->err);
    if ((r = dt_spec_unroll (s, o->n, o->call->at)) < 0)
        return r;
    for (i = 0; i < o->n; i++)
        all[i] = (struct plain_item){ o->item[i], o->key[i], i };
    qsort (all, o->n, sizeof *all, o->descending ? descending : ascending);
    for (i = 0; i < o->n; i++)
        o->item[i] = all[i].v;
    return 0;
}

static int keys (struct dt_spec *s, struct sorting *o, const struct dt_expr *lambda)
{
    uint32_t i;
    int r;

    o->key = o->item;
    if (!lambda)
        return 0;
    if (!(o->key = dt_arena_array (&s->arena, o->n + 1, sizeof *o->key)))
        return dt_err_nomem (s->err);
    for (i = 0; i < o->n; i++)
        if ((r = dt_spec_apply (s, lambda, o->item[i], &o->key[i])) != 0)
            return r;
    return 0;
}

int dt_spec_sorted (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, struct dt_value *ret)
{
    struct dt_value reverse = DT_V_BOOL (0);
    struct sorting o = { .call = e };
    const struct dt_expr *lambda;
    struct dt_seq *seq;
    int k = dt_spec_keyword (e, "reverse"), r;
    uint32_t i;

    if ((r = dt_spec_key (s, e, &lambda)) < 0 || (r = dt_spec_unroll (s, dt_value_count (v), e->at)) < 0
        || (k > 0 && (r = dt_spec_cond (s, e->arg[k], &reverse)) != 0))
        return r;
    if (reverse.kind != DT_VALUE_BOOL)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "sorted() takes a static 'reverse'");
    if (!(seq = dt_seq_new (&s->arena, (uint32_t)dt_value_count (v))))
        return dt_err_nomem (s->err);
    for (i = 0; i < seq->n; i++)
        seq->item[i] = dt_value_at (v, i);
    o.item = seq->item;
    o.n = seq->n;
    o.descending = (int)reverse.i;
    if ((r = keys (s, &o, lambda)) != 0 || (r = is_plain (&o) ? plain (s, &o) : by_neighbours (s, &o)) != 0)
        return r;
    *ret = (struct dt_value){ .kind = DT_VALUE_LIST, .seq = seq };
    return 0;
}
