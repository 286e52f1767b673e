/* solver/check_float.c - verify the ranges of floats, step by step.
 *
 * A box's range is right if it holds what the op gives at the corners of its operands'
 * ranges, where the op is monotone in each of them; the ranges' own code is not used.
 * Where an operand may be NaN, infinite, or a divisor zero, nothing is monotone: then
 * the range has to be everything. */
#include <math.h>

#include "solver/check.h"

#define MAX_PAIRS 4096
#define FLOORED 0x1p50 /* beyond it a floored quotient is rounded */

/* One value's step: ranges of the operands and of the result. */
struct step {
    uint8_t op;
    char a_type, b_type, type; /* as in dt_op_types; b_type 0: one operand */
    struct dt_range a, b, ret;
    int exact; /* the range denies every fault */
};

static double as_double (int64_t key)
{
    return dt_op_double (dt_range_bits (key));
}

static int64_t raw (char type, int64_t v)
{
    return type == 'f' ? dt_range_bits (v) : v;
}

static int holds_key (const struct dt_range *r, int64_t v)
{
    uint32_t i;

    if (v < r->lo || v > r->hi)
        return 0;
    for (i = 0; i < r->n && r->set[i] != v; i++)
        ;
    return r->n == 0 || i < r->n;
}

static int holds (const struct step *s, int64_t v)
{
    return holds_key (&s->ret, s->type == 'f' ? dt_range_key (v) : v);
}

static int holds_double (const struct step *s, double v)
{
    if (v == 0 && !holds (s, dt_op_bits (-v)))
        return 0;
    return holds (s, dt_op_bits (v));
}

/* From corners follows what is between them only if the range has no gaps. */
static int has_gaps (const struct dt_range *r)
{
    return r->n > 0 && (uint64_t)r->hi - (uint64_t)r->lo != r->n - 1;
}

static int everything (const struct step *s)
{
    switch (s->type) {
    case 'b': return s->ret.lo <= 0 && s->ret.hi >= 1;
    case 'i': return s->ret.lo == INT64_MIN && s->ret.hi == INT64_MAX;
    default: return holds (s, dt_op_bits (-HUGE_VAL)) && holds (s, dt_op_bits (NAN))
                    && s->ret.n == 0;
    }
}

static int has_nan (char type, const struct dt_range *x)
{
    return type == 'f' && as_double (x->hi) != as_double (x->hi);
}

static int is_finite (char type, const struct dt_range *x)
{
    return type != 'f' || (as_double (x->lo) - as_double (x->lo) == 0
                           && as_double (x->hi) - as_double (x->hi) == 0);
}

static double number (char type, int64_t v)
{
    return type == 'f' ? as_double (v) : (double)v;
}

/* Of an interval: its members are not looked at. */
static int spans_zero (char type, const struct dt_range *x)
{
    return !(number (type, x->lo) > 0) && !(number (type, x->hi) < 0);
}

/* All pairs of two sets; -1 if there are none, or too many. */
static int by_pairs (const struct step *s)
{
    uint32_t i, k, n = s->b_type ? s->b.n : 1;
    int64_t v;

    if (s->a.n == 0 || n == 0 || (uint64_t)s->a.n * n > MAX_PAIRS)
        return -1;
    for (i = 0; i < s->a.n; i++)
        for (k = 0; k < n; k++) {
            int fault = dt_op_eval (s->op, raw (s->a_type, s->a.set[i]),
                                    s->b_type ? raw (s->b_type, s->b.set[k]) : 0, 0, &v);

            if (!holds (s, v) || (fault && s->exact))
                return 0;
        }
    return 1;
}

/* An op that is monotone in each operand and raises nothing in the box. */
static int by_corners (const struct step *s)
{
    int64_t v;
    int i;

    for (i = 0; i < 4; i++) {
        int64_t a = raw (s->a_type, i & 1 ? s->a.hi : s->a.lo);
        int64_t b = s->b_type ? raw (s->b_type, i & 2 ? s->b.hi : s->b.lo) : 0;

        if (dt_op_eval (s->op, a, b, 0, &v) != DT_FAULT_NONE)
            return 0;
        if (s->type == 'f' ? !holds_double (s, dt_op_double (v)) : !holds (s, v))
            return 0;
    }
    return 1;
}

static int check_divided (const struct step *s)
{
    double far = fmax (fabs (number (s->a_type, s->a.lo)), fabs (number (s->a_type, s->a.hi)));
    double near = fmin (fabs (number (s->b_type, s->b.lo)), fabs (number (s->b_type, s->b.hi)));

    if (spans_zero (s->b_type, &s->b)) {
        if (s->op == DT_OP_IDIV) /* by at least 1 in magnitude */
            return !s->exact && holds_double (s, far) && holds_double (s, -far);
        return everything (s) && !s->exact;
    }
    if (!is_finite (s->a_type, &s->a) || !is_finite (s->b_type, &s->b))
        return everything (s);
    if (s->op == DT_OP_FFLOORDIV && !(far / near < FLOORED))
        return everything (s);
    return by_corners (s);
}

static int check_remainder (const struct step *s)
{
    double al = as_double (s->a.lo), ah = as_double (s->a.hi);
    double bl = as_double (s->b.lo), bh = as_double (s->b.hi);

    if (spans_zero ('f', &s->b))
        return everything (s) && !s->exact;
    if (!is_finite ('f', &s->a) || !is_finite ('f', &s->b))
        return everything (s);
    if (bh < 0)
        return holds_double (s, bl) && holds_double (s, 0);
    if (al >= 0 && ah < bl) /* it is the dividend */
        return holds_double (s, al) && holds_double (s, ah);
    return holds_double (s, 0) && holds_double (s, al >= 0 ? fmin (ah, bh) : bh);
}

/* NaN and what no int can hold raise, with the value 0. */
static int check_whole (const struct step *s)
{
    double lo = as_double (s->a.lo), hi = as_double (s->a.hi);
    int64_t v;

    if (has_nan ('f', &s->a))
        return everything (s) && !s->exact;
    if (lo >= -0x1p63 && hi < 0x1p63)
        return by_corners (s);
    if (s->exact || !holds (s, 0))
        return 0;
    if (lo < -0x1p63 ? s->ret.lo != INT64_MIN && hi >= -0x1p63
                     : dt_op_eval (s->op, dt_range_bits (s->a.lo), 0, 0, &v) == DT_FAULT_NONE
                           && !holds (s, v))
        return 0;
    return hi >= 0x1p63 ? s->ret.hi == INT64_MAX || lo >= 0x1p63
                        : dt_op_eval (s->op, dt_range_bits (s->a.hi), 0, 0, &v) != DT_FAULT_NONE
                              || holds (s, v);
}

/* Equality is denied or claimed only of values that lie apart or are one. */
static int check_equal (const struct step *s)
{
    double al = number (s->a_type, s->a.lo), ah = number (s->a_type, s->a.hi);
    double bl = as_double (s->b.lo), bh = as_double (s->b.hi);
    int64_t yes = s->op != DT_OP_FNE, below, above;

    if (everything (s))
        return 1;
    if (has_nan (s->a_type, &s->a) || has_nan (s->b_type, &s->b))
        return 0;
    if (s->a_type == 'i') { /* exactly: an int need not be a double */
        dt_op_eval (DT_OP_ILTF, s->a.hi, dt_range_bits (s->b.lo), 0, &below);
        dt_op_eval (DT_OP_FLTI, dt_range_bits (s->b.hi), s->a.lo, 0, &above);
        if (s->ret.lo == !yes)
            return below || above;
        return s->a.lo == s->a.hi && bl == bh && !below && !above;
    }
    return s->ret.lo == !yes ? ah < bl || bh < al : al == ah && bl == bh && al == bl;
}

static int check_truth (const struct step *s)
{
    double lo = as_double (s->a.lo), hi = as_double (s->a.hi);

    return everything (s) || (s->ret.lo == 1 ? !spans_zero ('f', &s->a) : lo == 0 && hi == 0);
}

static int check_step (const struct step *s)
{
    switch (s->op) {
    case DT_OP_IDIV: case DT_OP_FDIV: case DT_OP_FFLOORDIV: return check_divided (s);
    case DT_OP_FMOD: return check_remainder (s);
    case DT_OP_FTOI: case DT_OP_FROUND: return check_whole (s);
    case DT_OP_FEQ: case DT_OP_FNE: case DT_OP_IEQF: return check_equal (s);
    case DT_OP_FBOOL: return check_truth (s);
    case DT_OP_FADD: case DT_OP_FSUB: case DT_OP_FMUL:
        if (!is_finite ('f', &s->a) || !is_finite ('f', &s->b))
            return everything (s);
        return by_corners (s);
    case DT_OP_FMIN: case DT_OP_FMAX:
        if (has_nan ('f', &s->a) || has_nan ('f', &s->b)) /* it is one of the two */
            return holds_key (&s->ret, s->a.lo) && holds_key (&s->ret, s->a.hi)
                   && holds_key (&s->ret, s->b.lo) && holds_key (&s->ret, s->b.hi);
        return by_corners (s);
    case DT_OP_FABS:
        if (!has_nan ('f', &s->a) && spans_zero ('f', &s->a) && !holds_double (s, 0))
            return 0;
        break;
    default: break;
    }
    if (has_nan (s->a_type, &s->a) || has_nan (s->b_type, &s->b))
        return everything (s);
    return by_corners (s);
}

/* A select between floats: both arms, or the one that is taken. */
static int check_arms (const struct dt_graph *g, const struct dt_ranges *r, uint32_t i)
{
    const struct dt_node *n = &g->node[i];
    struct dt_range c = dt_ranges_get (r, n->a), ret = dt_ranges_get (r, i), arm;
    int k;

    for (k = 0; k < 2; k++) {
        if (k == 0 ? c.hi == 0 : c.lo == 1)
            continue;
        arm = dt_ranges_get (r, k == 0 ? n->b : n->c);
        if (!holds_key (&ret, arm.lo) || !holds_key (&ret, arm.hi) || (ret.n > 0 && arm.n == 0))
            return 0;
        for (uint32_t m = 0; m < arm.n; m++)
            if (!holds_key (&ret, arm.set[m]))
                return 0;
    }
    return 1;
}

static int check_value (const struct dt_graph *g, const struct dt_ranges *r, uint32_t i)
{
    const struct dt_node *n = &g->node[i];
    const char *types = dt_op_types (n->op);
    struct step s = { .op = n->op, .a_type = types[0] };
    int pairs;

    if (n->op == DT_OP_CONST && n->type == DT_TYPE_FLOAT) {
        s.ret = dt_ranges_get (r, i);
        return holds_key (&s.ret, dt_range_key (n->imm));
    }
    if (n->op == DT_OP_SELECT)
        return n->type != DT_TYPE_FLOAT || check_arms (g, r, i);
    if (n->op < DT_OP_IDIV)
        return 1;
    s.b_type = dt_op_args (n->op) == 2 ? types[1] : 0;
    s.type = types[dt_op_args (n->op)];
    s.a = dt_ranges_get (r, n->a);
    if (s.b_type)
        s.b = dt_ranges_get (r, n->b);
    s.ret = dt_ranges_get (r, i);
    s.exact = dt_op_partial (n->op) && dt_ranges_exact (r, i);
    if ((pairs = by_pairs (&s)) >= 0)
        return pairs;
    return !has_gaps (&s.ret) && check_step (&s);
}

uint32_t dt_check_floats (const struct dt_graph *g, const struct dt_ranges *r)
{
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++)
        if (!check_value (g, r, i))
            return i;
    return DT_NODE_NONE;
}
