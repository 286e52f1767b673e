/* selir/interval_float.c - interval arithmetic of the ops on floats.
 *
 * Bounds are keys (dt_range_key).  Every op here rounds to nearest, and rounding keeps
 * the order; so where the exact operation is monotone in each operand, so is the op,
 * and what it gives at the corners of a box bounds what it gives inside: no rounding
 * outwards is needed.  The op itself computes the corners. */
#include <math.h>

#include "selir/range_int.h"

#define NAN_KEY INT64_C (0x7ff8000000000000)
#define INF_KEY INT64_C (0x7ff0000000000000)
#define LARGE 0x1p50 /* quotients below it are floored without an error */

static double value (int64_t key)
{
    return dt_op_double (dt_range_bits (key));
}

static int64_t key (double v)
{
    return dt_range_key (dt_op_bits (v));
}

static struct dt_interval all (int fault)
{
    return (struct dt_interval){ key (-HUGE_VAL), NAN_KEY, fault };
}

static struct dt_interval ints (int64_t lo, int64_t hi, int fault)
{
    return (struct dt_interval){ fault && lo > 0 ? 0 : lo, fault && hi < 0 ? 0 : hi, fault };
}

/* With both zeros where there is one: ops differ in which they give. */
static struct dt_interval floats (double lo, double hi, int fault)
{
    if (lo != lo || hi != hi)
        return all (fault);
    if (fault) {
        lo = lo < 0 ? lo : 0;
        hi = hi > 0 ? hi : 0;
    }
    return (struct dt_interval){ key (lo == 0 ? -0.0 : lo), key (hi == 0 ? 0.0 : hi), fault };
}

static int may_nan (const struct dt_range *x)
{
    return x->hi > INF_KEY || x->lo < key (-HUGE_VAL);
}

static int is_finite (const struct dt_range *x)
{
    return x->hi < INF_KEY && x->lo > key (-HUGE_VAL);
}

static int has_zero (const struct dt_range *x)
{
    uint32_t i;

    for (i = 0; i < x->n; i++)
        if (value (x->set[i]) == 0)
            return 1;
    return x->n == 0 && x->lo <= 0 && x->hi >= -1; /* the keys of +0 and -0 */
}

/* The op at one corner; a and b as the vm has them. */
static int64_t at (uint8_t op, int64_t a, int64_t b)
{
    int64_t v;

    return dt_op_eval (op, a, b, 0, &v) == DT_FAULT_NONE ? v : dt_op_bits (NAN);
}

/* Of a float op at the four corners. */
static struct dt_interval corners (uint8_t op, const struct dt_range *a, const struct dt_range *b,
                                   int keys)
{
    double lo = HUGE_VAL, hi = -HUGE_VAL, v;
    int i;

    for (i = 0; i < 4; i++) {
        int64_t x = i & 1 ? a->hi : a->lo, y = i & 2 ? b->hi : b->lo;

        v = dt_op_double (keys ? at (op, dt_range_bits (x), dt_range_bits (y)) : at (op, x, y));
        if (v != v)
            return all (0);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    return floats (lo, hi, 0);
}

static struct dt_interval arithmetic (uint8_t op, const struct dt_range *a,
                                      const struct dt_range *b)
{
    return is_finite (a) && is_finite (b) ? corners (op, a, b, 1) : all (0);
}

/* The remainder has the divisor's sign, and is no larger; a rounding may reach it. */
static struct dt_interval modulo (const struct dt_range *a, const struct dt_range *b)
{
    double al = value (a->lo), ah = value (a->hi), bl = value (b->lo), bh = value (b->hi);

    if (bh < 0)
        return floats (bl, 0, 0);
    if (al < 0)
        return floats (0, bh, 0);
    return floats (ah < bl ? al : 0, ah < bh ? ah : bh, 0);
}

static struct dt_interval division (uint8_t op, const struct dt_range *a,
                                    const struct dt_range *b)
{
    struct dt_interval q;

    if (has_zero (b))
        return all (1);
    /* A set may have members on both sides of zero. */
    if (!is_finite (a) || !is_finite (b) || (value (b->lo) < 0 && value (b->hi) > 0))
        return all (0);
    if (op == DT_OP_FMOD)
        return modulo (a, b);
    q = corners (DT_OP_FDIV, a, b, 1);
    if (op == DT_OP_FDIV)
        return q;
    return value (q.lo) > -LARGE && value (q.hi) < LARGE ? corners (op, a, b, 1) : all (0);
}

/* int / int; |a / b| is at most |a|. */
static struct dt_interval int_division (const struct dt_range *a, const struct dt_range *b)
{
    double far = fmax (fabs ((double)a->lo), fabs ((double)a->hi));

    if (b->lo > 0 || b->hi < 0)
        return corners (DT_OP_IDIV, a, b, 0);
    return floats (-far, far, 1);
}

/* A comparison whose answer is least at (a_least, b_least), and most at the others. */
static struct dt_interval compare (uint8_t op, int64_t a_least, int64_t b_least, int64_t a_most,
                                   int64_t b_most)
{
    return ints (at (op, a_least, b_least), at (op, a_most, b_most), 0);
}

static struct dt_interval less (uint8_t op, const struct dt_range *a, const struct dt_range *b)
{
    const char *types = dt_op_types (op);
    int fa = types[0] == 'f', fb = types[1] == 'f';

    if ((fa && may_nan (a)) || (fb && may_nan (b)))
        return ints (0, 1, 0);
    return compare (op, fa ? dt_range_bits (a->hi) : a->hi, fb ? dt_range_bits (b->lo) : b->lo,
                    fa ? dt_range_bits (a->lo) : a->lo, fb ? dt_range_bits (b->hi) : b->hi);
}

/* Equal where neither is below the other: known apart, or both single. */
static struct dt_interval equal (uint8_t op, uint8_t below, uint8_t above, const struct dt_range *a,
                                 const struct dt_range *b)
{
    struct dt_interval lt, gt;
    int fa = dt_op_types (op)[0] == 'f', unequal = op == DT_OP_FNE;

    if ((fa && may_nan (a)) || may_nan (b))
        return ints (0, 1, 0);
    lt = less (below, a, b);
    gt = less (above, b, a);
    if (lt.lo || gt.lo)
        return ints (unequal, unequal, 0);
    if (!lt.hi && !gt.hi)
        return ints (!unequal, !unequal, 0);
    return ints (0, 1, 0);
}

static struct dt_interval to_int (uint8_t op, const struct dt_range *a)
{
    double lo = value (a->lo), hi = value (a->hi);
    int fault = may_nan (a) || lo < -0x1p63 || hi >= 0x1p63;

    if (may_nan (a))
        return ints (INT64_MIN, INT64_MAX, 1);
    return ints (lo < -0x1p63 ? INT64_MIN : lo >= 0x1p63 ? INT64_MAX
                                                         : at (op, dt_range_bits (a->lo), 0),
                 hi >= 0x1p63 ? INT64_MAX : hi < -0x1p63 ? INT64_MIN
                                                         : at (op, dt_range_bits (a->hi), 0),
                 fault);
}

static struct dt_interval unary (uint8_t op, const struct dt_range *a)
{
    double lo, hi;

    if (op == DT_OP_ITOF)
        return floats ((double)a->lo, (double)a->hi, 0);
    if (op == DT_OP_FTOI || op == DT_OP_FROUND)
        return to_int (op, a);
    if (op == DT_OP_FBOOL)
        return ints (!has_zero (a), a->lo < -1 || a->hi > 0, 0);
    if (may_nan (a))
        return all (0);
    lo = value (a->lo);
    hi = value (a->hi);
    switch (op) {
    case DT_OP_FNEG: return floats (-hi, -lo, 0);
    case DT_OP_FABS: return floats (lo > 0 ? lo : hi < 0 ? -hi : 0, fmax (fabs (lo), fabs (hi)), 0);
    default: return floats ((float)lo, (float)hi, 0); /* F32 */
    }
}

/* One of the two, so within both together; of numbers the lesser or the greater. */
static struct dt_interval choice (uint8_t op, const struct dt_range *a, const struct dt_range *b)
{
    int64_t lo = a->lo < b->lo ? a->lo : b->lo, hi = a->hi > b->hi ? a->hi : b->hi;

    if (may_nan (a) || may_nan (b))
        return (struct dt_interval){ lo, hi, 0 };
    if (op == DT_OP_FMIN)
        return floats (value (lo), value (a->hi < b->hi ? a->hi : b->hi), 0);
    return floats (value (a->lo > b->lo ? a->lo : b->lo), value (hi), 0);
}

struct dt_interval dt_interval_float (uint8_t op, const struct dt_range *a,
                                      const struct dt_range *b)
{
    if (dt_op_args (op) == 1)
        return unary (op, a);
    switch (op) {
    case DT_OP_IDIV: return int_division (a, b);
    case DT_OP_FADD: case DT_OP_FSUB: case DT_OP_FMUL: return arithmetic (op, a, b);
    case DT_OP_FDIV: case DT_OP_FFLOORDIV: case DT_OP_FMOD: return division (op, a, b);
    case DT_OP_FMIN: case DT_OP_FMAX: return choice (op, a, b);
    case DT_OP_FEQ: case DT_OP_FNE: return equal (op, DT_OP_FLT, DT_OP_FLT, a, b);
    case DT_OP_IEQF: return equal (op, DT_OP_ILTF, DT_OP_FLTI, a, b);
    default: return less (op, a, b);
    }
}
