/* selir/spec_compare.c - comparisons, membership and indexing. */
#include <string.h>

#include "selir/spec.h"

static int is_sequence (struct dt_value v)
{
    return v.kind == DT_VALUE_TUPLE || v.kind == DT_VALUE_LIST;
}

static int equal_enums (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b,
                        struct dt_value *ret)
{
    struct dt_value arg[] = { a, b };

    if (a.kind != DT_VALUE_NODE && b.kind != DT_VALUE_NODE) {
        *ret = DT_V_BOOL (dt_value_same (a, b));
        return 0;
    }
    if ((a.kind == DT_VALUE_STR && strcmp (a.s, "None") == 0) || (b.kind == DT_VALUE_STR && strcmp (b.s, "None") == 0)) {
        *ret = DT_V_BOOL (0); /* the string is no member of any enum */
        return 0;
    }
    return dt_spec_node (s, e, DT_OP_EQ, DT_TYPE_BOOL, arg, 2, ret);
}

static int equal_items (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b,
                        struct dt_value *ret)
{
    struct dt_value all = DT_V_BOOL (1), one;
    uint32_t i;
    int r;

    if ((r = dt_spec_enter (s, e)) < 0)
        return r;
    for (i = 0; i < a.seq->n; i++)
        if ((r = dt_spec_equal (s, e, a.seq->item[i], b.seq->item[i], &one)) < 0
            || (r = dt_spec_and (s, e, all, one, &all)) < 0)
            return r;
    s->depth--;
    *ret = all;
    return 0;
}

int dt_spec_equal (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret)
{
    int r;

    if ((r = dt_spec_step (s, 1, e->at)) < 0 || (r = dt_spec_usable (s, e, a)) < 0 || (r = dt_spec_usable (s, e, b)) < 0)
        return r;
    if (dt_value_is_number (a) && dt_value_is_number (b))
        return dt_spec_equal_numbers (s, e, a, b, ret);
    if (dt_value_is_enum (a) && dt_value_is_enum (b))
        return equal_enums (s, e, a, b, ret);
    if (is_sequence (a) && a.kind == b.kind && a.seq->n == b.seq->n)
        return equal_items (s, e, a, b, ret);
    if ((a.kind == b.kind && !is_sequence (a)) || a.kind >= DT_VALUE_ITER || b.kind >= DT_VALUE_ITER) {
        if ((dt_value_is_number (a) || dt_value_is_enum (a)) && (dt_value_is_number (b) || dt_value_is_enum (b))) {
            *ret = DT_V_BOOL (0);
            return 0;
        }
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "compare their fields or elements", "cannot compare %s and %s",
                              dt_value_type (a), dt_value_type (b));
    }
    *ret = DT_V_BOOL (0);
    return 0;
}

/* Lexicographic: the first elements that differ decide, else the lengths. */
static int order_items (struct dt_spec *s, const struct dt_expr *e, int strict, struct dt_value a, struct dt_value b,
                        struct dt_value *ret)
{
    uint32_t n = a.seq->n < b.seq->n ? a.seq->n : b.seq->n;
    struct dt_value less = DT_V_BOOL (strict ? a.seq->n < b.seq->n : a.seq->n <= b.seq->n), same, one;
    int r;

    if ((r = dt_spec_enter (s, e)) < 0)
        return r;
    while (n-- > 0) {
        if ((r = dt_spec_equal (s, e, a.seq->item[n], b.seq->item[n], &same)) < 0)
            return r;
        if (same.kind == DT_VALUE_BOOL && same.i)
            continue;
        if ((r = dt_spec_order (s, e, strict, a.seq->item[n], b.seq->item[n], &one)) < 0
            || (r = dt_spec_merge (s, e, same, less, one, &less)) < 0)
            return r;
    }
    s->depth--;
    *ret = less;
    return 0;
}

int dt_spec_order (struct dt_spec *s, const struct dt_expr *e, int strict, struct dt_value a, struct dt_value b,
                   struct dt_value *ret)
{
    int r;

    if ((r = dt_spec_step (s, 1, e->at)) < 0 || (r = dt_spec_usable (s, e, a)) < 0 || (r = dt_spec_usable (s, e, b)) < 0)
        return r;
    if (dt_value_is_number (a) && dt_value_is_number (b))
        return dt_spec_less (s, e, strict, a, b, ret);
    if (a.kind == DT_VALUE_STR && b.kind == DT_VALUE_STR) { /* by code point, which is by byte in UTF-8 */
        *ret = DT_V_BOOL (strict ? strcmp (a.s, b.s) < 0 : strcmp (a.s, b.s) <= 0);
        return 0;
    }
    if (is_sequence (a) && a.kind == b.kind)
        return order_items (s, e, strict, a, b, ret);
    return dt_spec_error (s, -DT_ESYNTAX, e->at, "compare numbers, static strings, or tuples of them", "cannot order %s and %s",
                          dt_value_type (a), dt_value_type (b));
}

/* A value that depends on inputs, in a range: two bounds and a remainder. */
static int in_range (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, const struct dt_steps *range,
                     struct dt_value *ret)
{
    struct dt_value all = { .kind = DT_VALUE_RANGE, .range = range }, lo, hi, c, mod[2];
    int64_t step = range->step, rest;
    int r;

    if (range->n == 0) {
        *ret = DT_V_BOOL (0);
        return 0;
    }
    lo = dt_value_at (all, step > 0 ? 0 : range->n - 1);
    hi = dt_value_at (all, step > 0 ? range->n - 1 : 0);
    if ((r = dt_spec_int (s, e, v, "'in'", &v)) < 0 || (r = dt_spec_order (s, e, 0, lo, v, &c)) < 0
        || (r = dt_spec_order (s, e, 0, v, hi, ret)) < 0 || (r = dt_spec_and (s, e, c, *ret, ret)) < 0)
        return r;
    if (step == 1 || step == -1 || step == INT64_MIN)
        return 0;
    step = step > 0 ? step : -step;
    mod[0] = v;
    mod[1] = DT_V_INT (step);
    rest = lo.i % step < 0 ? lo.i % step + step : lo.i % step;
    if ((r = dt_spec_node (s, e, DT_OP_MOD, DT_TYPE_INT, mod, 2, &c)) < 0
        || (r = dt_spec_equal (s, e, c, DT_V_INT (rest), &c)) < 0)
        return r;
    return dt_spec_and (s, e, *ret, c, ret);
}

/* In a range whose bounds depend on inputs: between them, if it counts in ones. */
static int in_bounded (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, const struct dt_bounded *b,
                       struct dt_value *ret)
{
    struct dt_value from;
    int up = b->step > 0, r;

    if (b->step != 1 && b->step != -1)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "compare with its bounds, and test the remainder",
                              "'in' with a range whose bound depends on inputs and whose step is not 1");
    if ((r = dt_spec_int (s, e, v, "'in'", &v)) < 0
        || (r = dt_spec_less (s, e, 0, up ? b->start : v, up ? v : b->start, &from)) != 0
        || (r = dt_spec_less (s, e, 1, up ? v : b->stop, up ? b->stop : v, ret)) != 0)
        return r;
    return dt_spec_and (s, e, from, *ret, ret);
}

static int contains (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, struct dt_value in, struct dt_value *ret)
{
    struct dt_value any = DT_V_BOOL (0), one;
    uint64_t i;
    int r;

    if (in.kind == DT_VALUE_STR && v.kind == DT_VALUE_STR) {
        *ret = DT_V_BOOL (strstr (in.s, v.s) != NULL);
        return 0;
    }
    if (in.kind == DT_VALUE_RANGE && v.kind == DT_VALUE_NODE && (v.type == DT_TYPE_INT || v.type == DT_TYPE_BOOL))
        return in_range (s, e, v, in.range, ret);
    if (in.kind == DT_VALUE_BOUNDED)
        return in_bounded (s, e, v, in.bounded, ret);
    if (!dt_value_iterable (in) || in.kind == DT_VALUE_ITER)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "use a tuple, list, dict or range", "'in' cannot search %s",
                              dt_value_type (in));
    for (i = 0; i < dt_value_count (in); i++) {
        if ((r = dt_spec_equal (s, e, v, dt_value_at (in, i), &one)) < 0 || (r = dt_spec_or (s, e, any, one, &any)) < 0)
            return r;
        if (any.kind == DT_VALUE_BOOL && any.i)
            break;
    }
    *ret = any;
    return 0;
}

static int is_none (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret)
{
    if (b.kind != DT_VALUE_NONE)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, "use '=='", "'is' with other than None is not in the language here");
    if (dt_value_is_enum (a))
        return dt_spec_equal (s, e, a, b, ret);
    *ret = DT_V_BOOL (0);
    return dt_spec_usable (s, e, a);
}

int dt_spec_compare (struct dt_spec *s, const struct dt_expr *e, uint8_t op, struct dt_value a, struct dt_value b,
                     struct dt_value *ret)
{
    int r;

    switch (op) {
    case DT_TOK_LT:
        return dt_spec_order (s, e, 1, a, b, ret);
    case DT_TOK_LE:
        return dt_spec_order (s, e, 0, a, b, ret);
    case DT_TOK_GT:
        return dt_spec_order (s, e, 1, b, a, ret);
    case DT_TOK_GE:
        return dt_spec_order (s, e, 0, b, a, ret);
    case DT_TOK_EQ:
        return dt_spec_equal (s, e, a, b, ret);
    case DT_TOK_KW_IN:
        return contains (s, e, a, b, ret);
    case DT_TOK_KW_IS:
        return is_none (s, e, a, b, ret);
    default:
        r = op == DT_TOK_NE ? dt_spec_equal (s, e, a, b, ret) : op == DT_CMP_NOT_IN ? contains (s, e, a, b, ret)
                                                                                    : is_none (s, e, a, b, ret);
        return r ? r : dt_spec_not (s, e, *ret, ret);
    }
}

/* --- indexing -------------------------------------------------------------------------- */

/* One of the elements, chosen by a value that inputs decide; an error where none
 * is.  Element i of a sequence answers to i and i - n. */
static int choose (struct dt_spec *s, const struct dt_expr *e, struct dt_value base, struct dt_value index,
                   struct dt_value *ret)
{
    int dict = base.kind == DT_VALUE_DICT, r;
    int64_t n = (int64_t)dt_value_count (base), i;
    struct dt_value found = DT_V_BOOL (0), is, back, value = DT_V_NOTHING, none;

    if ((r = dt_spec_unroll (s, (uint64_t)n, e->at)) < 0)
        return r;
    for (i = n - 1; i >= 0; i--) {
        struct dt_value item = dict ? base.seq->item[2 * i + 1] : dt_value_at (base, (uint64_t)i);

        if ((r = dt_spec_equal (s, e, index, dict ? base.seq->item[2 * i] : DT_V_INT (i), &is)) < 0
            || (!dict && ((r = dt_spec_equal (s, e, index, DT_V_INT (i - n), &back)) < 0
                          || (r = dt_spec_or (s, e, is, back, &is)) < 0))
            || (r = dt_spec_merge (s, e, is, item, value, &value)) < 0 || (r = dt_spec_or (s, e, is, found, &found)) < 0)
            return r;
    }
    if ((r = dt_spec_not (s, e, found, &none)) < 0
        || (r = dt_spec_fault_if (s, e, dict ? DT_FAULT_KEY : DT_FAULT_INDEX, none,
                                  dict ? "no such key" : "index out of range")) != 0)
        return r;
    *ret = value;
    return 0;
}

static int lookup (struct dt_spec *s, const struct dt_expr *e, struct dt_value dict, struct dt_value key, struct dt_value *ret)
{
    struct dt_value is;
    uint32_t i;
    int r;

    for (i = 0; i < dict.seq->n; i += 2) {
        if ((r = dt_spec_equal (s, e, key, dict.seq->item[i], &is)) < 0)
            return r;
        if (is.i) {
            *ret = dict.seq->item[i + 1];
            return 0;
        }
    }
    return dt_spec_fault (s, e, DT_FAULT_KEY, "no such key");
}

int dt_spec_index (struct dt_spec *s, const struct dt_expr *e, struct dt_value base, struct dt_value index,
                   struct dt_value *ret)
{
    int64_t n, i;
    int r;

    if (base.kind == DT_VALUE_DICT)
        return index.kind == DT_VALUE_NODE ? choose (s, e, base, index, ret) : lookup (s, e, base, index, ret);
    if (!is_sequence (base) && base.kind != DT_VALUE_RANGE)
        return dt_spec_error (s, -DT_ESYNTAX, e->at, NULL, "%s has no elements to index", dt_value_type (base));
    if ((r = dt_spec_int (s, e, index, "an index", &index)) < 0)
        return r;
    if (index.kind == DT_VALUE_NODE)
        return choose (s, e, base, index, ret);
    n = (int64_t)dt_value_count (base);
    i = index.i < 0 ? index.i + n : index.i;
    if (i < 0 || i >= n)
        return dt_spec_fault (s, e, DT_FAULT_INDEX, "index out of range");
    *ret = dt_value_at (base, (uint64_t)i);
    return 0;
}
