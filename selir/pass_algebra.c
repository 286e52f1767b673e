/* selir/pass_algebra.c - identities of the ops.
 *
 * A partial operation is only replaced where it cannot fault in the case at hand,
 * and an operand is only looked through where its value is exact: a value that
 * yields 0 for a fault on a path not taken must keep yielding it. */
#include "selir/simplify_int.h"

static const struct dt_node *at (const struct dt_simp *s, uint32_t id)
{
    return &s->out->node[id];
}

static int commutes (uint8_t op)
{
    switch (op) {
    case DT_OP_ADD: case DT_OP_MUL: case DT_OP_BITAND: case DT_OP_BITOR: case DT_OP_BITXOR:
    case DT_OP_MIN: case DT_OP_MAX: case DT_OP_EQ: case DT_OP_NE: case DT_OP_AND: case DT_OP_OR:
    case DT_OP_FADD: case DT_OP_FMUL: case DT_OP_FEQ: case DT_OP_FNE: /* not FMIN: of zeros */
        return 1;
    default: return 0;
    }
}

/* One order of operands: constants last, else older first. */
static void order (const struct dt_simp *s, struct dt_node *n)
{
    int a_const, b_const;
    uint32_t swap = n->a;

    if (!commutes (n->op))
        return;
    a_const = at (s, n->a)->op == DT_OP_CONST;
    b_const = at (s, n->b)->op == DT_OP_CONST;
    if (a_const != b_const ? a_const : n->a > n->b) {
        n->a = n->b;
        n->b = swap;
    }
}

/* x + k with an exact sum: its x and k. */
static int is_offset (const struct dt_simp *s, uint32_t id, uint32_t *ret_x, int64_t *ret_k)
{
    const struct dt_node *n = at (s, id);

    if (n->op != DT_OP_ADD || !dt_ranges_exact (s->ranges, id)
        || !dt_simp_known (s, n->b, ret_k))
        return 0;
    *ret_x = n->a;
    return 1;
}

/* (x + k) + v is x + (k + v): both leave 64 bits for the same x. */
static int add_const (struct dt_simp *s, struct dt_node *n, int64_t v)
{
    int64_t k, sum;
    uint32_t x, id;
    int r;

    if (!is_offset (s, n->a, &x, &k) || __builtin_add_overflow (k, v, &sum))
        return 0;
    if ((r = dt_simp_const (s, DT_TYPE_INT, sum, &id)) < 0)
        return r;
    n->a = x;
    n->b = id;
    return 0;
}

/* x - v is x + -v. */
static int sub_const (struct dt_simp *s, struct dt_node *n, int64_t v)
{
    uint32_t id;
    int r;

    if (v == INT64_MIN)
        return 0;
    if ((r = dt_simp_const (s, DT_TYPE_INT, -v, &id)) < 0)
        return r;
    n->op = DT_OP_ADD;
    n->b = id;
    return add_const (s, n, -v);
}

/* x // j // k is x // (j * k) for positive j, k. */
static int div_const (struct dt_simp *s, struct dt_node *n, int64_t v)
{
    const struct dt_node *inner = at (s, n->a);
    int64_t k, product;
    uint32_t x, id;
    int r;

    if (inner->op != DT_OP_FLOORDIV || v <= 0 || !dt_simp_known (s, inner->b, &k) || k <= 0
        || __builtin_mul_overflow (k, v, &product))
        return 0;
    x = inner->a;
    if ((r = dt_simp_const (s, DT_TYPE_INT, product, &id)) < 0)
        return r;
    n->a = x;
    n->b = id;
    return 0;
}

static int arith_const (struct dt_simp *s, struct dt_node *n, int64_t v, uint32_t *ret)
{
    switch (n->op) {
    case DT_OP_ADD: return v == 0 ? dt_pass_is (n->a, ret) : add_const (s, n, v);
    case DT_OP_SUB: return v == 0 ? dt_pass_is (n->a, ret) : sub_const (s, n, v);
    case DT_OP_MUL:
        return v == 1 ? dt_pass_is (n->a, ret) : v == 0 ? dt_pass_is (n->b, ret) : 0;
    case DT_OP_FLOORDIV: return v == 1 ? dt_pass_is (n->a, ret) : div_const (s, n, v);
    case DT_OP_MOD:
        return v == 1 || v == -1 ? dt_pass_done (dt_simp_const (s, DT_TYPE_INT, 0, ret)) : 0;
    case DT_OP_LSHIFT: case DT_OP_RSHIFT: case DT_OP_BITOR: case DT_OP_BITXOR:
        return v == 0 ? dt_pass_is (n->a, ret) : 0;
    case DT_OP_BITAND:
        return v == 0 ? dt_pass_is (n->b, ret) : v == -1 ? dt_pass_is (n->a, ret) : 0;
    case DT_OP_FMUL: case DT_OP_FDIV: /* the rest changes a zero's sign, or rounds */
        return v == dt_op_bits (1.0) ? dt_pass_is (n->a, ret) : 0;
    default: return 0;
    }
}

/* op (x, x) */
static int same (struct dt_simp *s, const struct dt_node *n, uint32_t *ret)
{
    switch (n->op) {
    case DT_OP_SUB: case DT_OP_BITXOR: case DT_OP_LT: case DT_OP_NE:
        return dt_pass_done (dt_simp_const (s, n->type, 0, ret));
    case DT_OP_LE: case DT_OP_EQ: return dt_pass_done (dt_simp_const (s, n->type, 1, ret));
    case DT_OP_MIN: case DT_OP_MAX: case DT_OP_BITAND: case DT_OP_BITOR: case DT_OP_AND:
    case DT_OP_OR: case DT_OP_FMIN: case DT_OP_FMAX:
        return dt_pass_is (n->a, ret);
    default: return 0;
    }
}

/* x < v is x <= v - 1, and v < x is v + 1 <= x: one form, so that equal ones meet. */
static int strict_const (struct dt_simp *s, struct dt_node *n)
{
    int64_t v;
    uint32_t id;
    int r;

    if (dt_simp_known (s, n->b, &v) && v > INT64_MIN) {
        if ((r = dt_simp_const (s, DT_TYPE_INT, v - 1, &id)) < 0)
            return r;
        n->b = id;
        n->op = DT_OP_LE;
    } else if (dt_simp_known (s, n->a, &v) && v < INT64_MAX) {
        if ((r = dt_simp_const (s, DT_TYPE_INT, v + 1, &id)) < 0)
            return r;
        n->a = id;
        n->op = DT_OP_LE;
    }
    return 0;
}

/* x + k against v is x against v - k, if the sum is exact. */
static int compare_offset (struct dt_simp *s, struct dt_node *n)
{
    int64_t v, k, rest;
    uint32_t x, id;
    int r, flip;

    for (flip = 0; flip < 2; flip++) {
        uint32_t *side = flip ? &n->b : &n->a, *other = flip ? &n->a : &n->b;

        if (!dt_simp_known (s, *other, &v) || !is_offset (s, *side, &x, &k)
            || __builtin_sub_overflow (v, k, &rest))
            continue;
        if ((r = dt_simp_const (s, DT_TYPE_INT, rest, &id)) < 0)
            return r;
        *side = x;
        *other = id;
    }
    return 0;
}

/* b == True, b != False and the like; int (b) against a constant. */
static int equal_const (struct dt_simp *s, struct dt_node *n, int64_t v, uint32_t *ret)
{
    const struct dt_node *a = at (s, n->a);
    uint32_t b = a->op == DT_OP_INT ? a->a : n->a;

    if (at (s, b)->type != DT_TYPE_BOOL)
        return 0;
    if (v != 0 && v != 1)
        return dt_pass_done (dt_simp_const (s, n->type, n->op == DT_OP_NE, ret));
    if ((v == 1) == (n->op == DT_OP_EQ))
        return dt_pass_is (b, ret);
    return dt_pass_done (dt_simp_op (s, n, DT_OP_NOT, DT_TYPE_BOOL, b, DT_NODE_NONE, ret));
}

static int comparison (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    int64_t v;
    int r;

    if (n->op == DT_OP_LT && (r = strict_const (s, n)) < 0)
        return r;
    if (at (s, n->a)->type == DT_TYPE_INT && (r = compare_offset (s, n)) < 0)
        return r;
    if ((n->op == DT_OP_EQ || n->op == DT_OP_NE) && dt_simp_known (s, n->b, &v))
        return equal_const (s, n, v, ret);
    return 0;
}

static int negation (struct dt_simp *s, const struct dt_node *n, uint32_t *ret)
{
    const struct dt_node a = *at (s, n->a);

    if (a.op == DT_OP_NOT)
        return dt_pass_is (a.a, ret);
    if (dt_simp_shared (s, n->a)) /* the opposite would be a way around it */
        return 0;
    switch (a.op) {
    case DT_OP_LT:
        return dt_pass_done (dt_simp_op (s, n, DT_OP_LE, DT_TYPE_BOOL, a.b, a.a, ret));
    case DT_OP_LE:
        return dt_pass_done (dt_simp_op (s, n, DT_OP_LT, DT_TYPE_BOOL, a.b, a.a, ret));
    case DT_OP_EQ:
        return dt_pass_done (dt_simp_op (s, n, DT_OP_NE, DT_TYPE_BOOL, a.a, a.b, ret));
    case DT_OP_NE:
        return dt_pass_done (dt_simp_op (s, n, DT_OP_EQ, DT_TYPE_BOOL, a.a, a.b, ret));
    case DT_OP_FEQ: /* but not FLT, FLE: of NaN both sides are false */
        return dt_pass_done (dt_simp_op (s, n, DT_OP_FNE, DT_TYPE_BOOL, a.a, a.b, ret));
    case DT_OP_FNE:
        return dt_pass_done (dt_simp_op (s, n, DT_OP_FEQ, DT_TYPE_BOOL, a.a, a.b, ret));
    default: return 0;
    }
}

/* and, or with a constant, or with the other's negation. */
static int logic (struct dt_simp *s, const struct dt_node *n, uint32_t *ret)
{
    int64_t v, zero = n->op == DT_OP_OR; /* the value that decides it */
    const struct dt_node *a = at (s, n->a), *b = at (s, n->b);

    if (dt_simp_known (s, n->b, &v))
        return dt_pass_is (v == zero ? n->b : n->a, ret);
    if ((a->op == DT_OP_NOT && a->a == n->b) || (b->op == DT_OP_NOT && b->a == n->a))
        return dt_pass_done (dt_simp_const (s, DT_TYPE_BOOL, zero, ret));
    return 0;
}

/* not, int, bool, neg, abs, ~, f32 */
static int unary (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    const struct dt_node *a = at (s, n->a);
    uint32_t zero;
    int r;

    switch (n->op) {
    case DT_OP_NOT: return negation (s, n, ret);
    case DT_OP_INVERT: return a->op == DT_OP_INVERT ? dt_pass_is (a->a, ret) : 0;
    case DT_OP_NEG:
        return a->op == DT_OP_NEG && dt_ranges_exact (s->ranges, n->a)
                   ? dt_pass_is (a->a, ret)
                   : 0;
    case DT_OP_FNEG: return a->op == DT_OP_FNEG ? dt_pass_is (a->a, ret) : 0;
    case DT_OP_FABS: case DT_OP_F32: return a->op == n->op ? dt_pass_is (n->a, ret) : 0;
    case DT_OP_BOOL:
        if ((r = dt_simp_const (s, DT_TYPE_INT, 0, &zero)) < 0)
            return r;
        return dt_pass_done (dt_simp_op (s, n, DT_OP_NE, DT_TYPE_BOOL, n->a, zero, ret));
    default: return 0;
    }
}

int dt_pass_algebra (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    int64_t v;

    if (dt_op_args (n->op) == 1)
        return unary (s, n, ret);
    if (dt_op_args (n->op) != 2)
        return 0;
    order (s, n);
    if (n->a == n->b)
        return same (s, n, ret);
    switch (n->op) {
    case DT_OP_LT: case DT_OP_LE: case DT_OP_EQ: case DT_OP_NE: return comparison (s, n, ret);
    case DT_OP_AND: case DT_OP_OR: return logic (s, n, ret);
    default: return dt_simp_known (s, n->b, &v) ? arith_const (s, n, v, ret) : 0;
    }
}
