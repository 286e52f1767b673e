/* selir/builtins.c - Python's built-in functions on values. */
#include <stdlib.h>
#include <string.h>

#include "selir/spec.h"

#define MAX_ARGS 16

/* Positional arguments, least..most of them, and no keyword but `key`. */
static int arguments (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, uint32_t least, uint32_t most,
                      const char *key, struct dt_value *v, uint32_t *ret_n)
{
    uint32_t i, n = 0;
    int r;

    for (i = 1; i < e->n; i++) {
        if (e->key[i] && (!key || strcmp (e->key[i], key) != 0) && !(builtin == DT_BUILTIN_SORTED && strcmp (e->key[i], "key") == 0))
            return dt_spec_error (s, -DT_ESYNTAX, e->arg[i]->at, NULL, "%s(): the keyword '%s' is not in the language here",
                                  dt_builtin_name (builtin), e->key[i]);
        if (e->key[i])
            continue;
        if (n == most)
            break;
        if ((r = dt_spec_eval (s, e->arg[i], &v[n++])) != 0)
            return r;
    }
    if (n < least || i < e->n)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "%s() takes %u to %u arguments", dt_builtin_name (builtin), least, most);
    *ret_n = n;
    return 0;
}

/* What enumerate, zip and sorted take; of the last, no input decides the length. */
static int need_iterable (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, struct dt_value v)
{
    if (dt_value_iterable (v) || (builtin != DT_BUILTIN_SORTED && dt_spec_walkable (v)))
        return 0;
    return dt_spec_error (s, -DT_ESYNTAX, e->at, "give it a tuple, list, dict or range", "%s() cannot walk %s",
                          dt_builtin_name (builtin), dt_value_type (v));
}

static int length (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, struct dt_value *ret)
{
    const char *p;
    int64_t n = 0;

    if (v.kind == DT_VALUE_STR) {
        for (p = v.s; *p; p++)
            n += ((unsigned char)*p & 0xc0) != 0x80;
        *ret = DT_V_INT (n);
        return 0;
    }
    if (v.kind == DT_VALUE_BOUNDED)
        return dt_spec_range_len (s, e, v.bounded, ret);
    if (!dt_value_iterable (v) || v.kind == DT_VALUE_ITER)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "%s has no length", dt_value_type (v));
    if (dt_value_count (v) > INT64_MAX)
        return dt_spec_fault (s, e, DT_FAULT_OVERFLOW, "an int leaves 64 bits");
    *ret = DT_V_INT ((int64_t)dt_value_count (v));
    return 0;
}

static int absolute (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, struct dt_value *ret)
{
    int r;

    if (dt_value_is_float (v))
        return dt_spec_arith (s, e, DT_OP_FABS, DT_TYPE_FLOAT, &v, 1, ret);
    if ((r = dt_spec_int (s, e, v, "abs()", &v)) < 0)
        return r;
    return dt_spec_arith (s, e, DT_OP_ABS, DT_TYPE_INT, &v, 1, ret);
}

/* Tuples of the i-th elements of n collections. */
static int rows (struct dt_spec *s, const struct dt_expr *e, const struct dt_value *v, uint32_t n, struct dt_value *ret)
{
    struct dt_seq *all, *row;
    uint64_t count = n ? UINT64_MAX : 0;
    uint32_t i, k;
    int r;

    for (k = 0; k < n; k++) {
        if (!dt_value_iterable (v[k]))
            return dt_spec_zipped (s, v, n, ret);
        if (dt_value_count (v[k]) < count)
            count = dt_value_count (v[k]);
    }
    if ((r = dt_spec_unroll (s, count, e->at)) < 0)
        return r;
    if (!(all = dt_seq_new (&s->arena, (uint32_t)count)))
        return dt_err_nomem (s->err);
    for (i = 0; i < all->n; i++) {
        if (!(row = dt_seq_new (&s->arena, n)))
            return dt_err_nomem (s->err);
        for (k = 0; k < n; k++)
            row->item[k] = dt_value_at (v[k], i);
        all->item[i] = (struct dt_value){ .kind = DT_VALUE_TUPLE, .seq = row };
    }
    *ret = (struct dt_value){ .kind = DT_VALUE_ITER, .seq = all };
    return 0;
}

static int enumerate (struct dt_spec *s, const struct dt_expr *e, struct dt_value *v, uint32_t n, struct dt_value *ret)
{
    struct dt_steps *count = dt_arena_alloc (&s->arena, sizeof *count);
    struct dt_value pair[2] = { { .kind = DT_VALUE_RANGE, .range = count }, v[0] };
    int k = dt_spec_keyword (e, "start"), r;

    if (!count)
        return dt_err_nomem (s->err);
    if (n == 1) {
        v[1] = DT_V_INT (0);
        if (k > 0 && (r = dt_spec_eval (s, e->arg[k], &v[1])) != 0)
            return r;
    }
    if ((r = dt_spec_int (s, e, v[1], "enumerate()", &v[1])) < 0)
        return r;
    if (v[1].kind == DT_VALUE_NODE || v[1].i > INT64_MAX - (int64_t)DT_SPEC_MAX_UNROLLED)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "add the start where the number is used", "enumerate() takes a static, small start");
    *count = (struct dt_steps){ .start = v[1].i, .step = 1, .n = dt_spec_turns (v[0]) };
    return rows (s, e, pair, 2, ret);
}

/* --- dispatch ------------------------------------------------------------------------- */

/* How many arguments each takes, the one keyword it knows, and whether the first
 * arguments must be collections. */
static const struct {
    uint8_t least, most, walks;
    const char *key;
} shapes[DT_BUILTIN_COUNT] = {
    [DT_BUILTIN_LEN] = { 1, 1, 0, NULL },       [DT_BUILTIN_ABS] = { 1, 1, 0, NULL },
    [DT_BUILTIN_RANGE] = { 1, 3, 0, NULL },     [DT_BUILTIN_ENUMERATE] = { 1, 2, 1, "start" },
    [DT_BUILTIN_ZIP] = { 0, MAX_ARGS, MAX_ARGS, NULL }, [DT_BUILTIN_SORTED] = { 1, 1, 1, "reverse" },
    [DT_BUILTIN_FLOAT] = { 0, 1, 0, NULL },     [DT_BUILTIN_F32] = { 1, 1, 0, NULL },
    [DT_BUILTIN_ROUND] = { 1, 1, 0, NULL },
    [DT_BUILTIN_INT] = { 0, 1, 0, NULL },       [DT_BUILTIN_BOOL] = { 0, 1, 0, NULL },
};

static int plain (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, struct dt_value *ret)
{
    struct dt_value v[MAX_ARGS];
    uint32_t n = 0, i;
    int r;

    if ((r = arguments (s, e, builtin, shapes[builtin].least, shapes[builtin].most, shapes[builtin].key, v, &n)) != 0)
        return r;
    for (i = 0; i < n && i < shapes[builtin].walks; i++)
        if ((r = need_iterable (s, e, builtin, v[i])) < 0)
            return r;
    switch (builtin) {
    case DT_BUILTIN_LEN:
        return length (s, e, v[0], ret);
    case DT_BUILTIN_ABS:
        return absolute (s, e, v[0], ret);
    case DT_BUILTIN_RANGE:
        return dt_spec_range (s, e, v, n, ret);
    case DT_BUILTIN_ENUMERATE:
        return enumerate (s, e, v, n, ret);
    case DT_BUILTIN_ZIP:
        return rows (s, e, v, n, ret);
    case DT_BUILTIN_SORTED:
        return dt_spec_sorted (s, e, v[0], ret);
    case DT_BUILTIN_INT: case DT_BUILTIN_FLOAT: case DT_BUILTIN_F32: case DT_BUILTIN_ROUND:
        *ret = builtin == DT_BUILTIN_FLOAT ? DT_V_FLOAT (0) : DT_V_INT (0);
        return n ? dt_spec_convert (s, e, builtin, v[0], ret) : 0;
    default:
        *ret = DT_V_BOOL (0);
        return n ? dt_spec_truth (s, e, v[0], ret) : 0;
    }
}

int dt_spec_builtin (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, struct dt_value *ret)
{
    switch (builtin) {
    case DT_BUILTIN_MIN: case DT_BUILTIN_MAX: case DT_BUILTIN_SUM: case DT_BUILTIN_ANY: case DT_BUILTIN_ALL:
        return dt_spec_fold (s, e, builtin, ret);
    case DT_BUILTIN_KNOB:
        return dt_spec_knob (s, e, ret);
    case DT_BUILTIN_REQUIRE: case DT_BUILTIN_ASSUME:
        *ret = DT_V_NONE;
        return dt_spec_condition (s, e, builtin == DT_BUILTIN_REQUIRE ? DT_COND_REQUIRE : DT_COND_ASSUME);
    case DT_BUILTIN_BOOL: /* the operand's value does not show */
        if (e->n == 2 && !e->key[1])
            return dt_spec_cond (s, e->arg[1], ret);
        return plain (s, e, builtin, ret);
    case DT_BUILTIN_TABLE:
        return dt_spec_table (s, e, ret);
    case DT_BUILTIN_ROUND: /* of ndigits */
        if (e->n > 2)
            return dt_spec_error (s, -DT_ESYNTAX, e->at, "scale the number, round it and divide",
                                  "round() with digits, whose result differs between Pythons, is not in the language here");
        return plain (s, e, builtin, ret);
    default:
        if (shapes[builtin].most)
            return plain (s, e, builtin, ret);
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "calling %s is not in the language here", dt_builtin_name (builtin));
    }
}
