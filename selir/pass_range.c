/* selir/pass_range.c - what the operands' ranges decide. */
#include "selir/simplify_int.h"

static int min_max (const struct dt_node *n, const struct dt_range *a,
                    const struct dt_range *b, uint32_t *ret)
{
    if (a->hi <= b->lo)
        return dt_pass_is (n->op == DT_OP_MIN ? n->a : n->b, ret);
    if (b->hi <= a->lo)
        return dt_pass_is (n->op == DT_OP_MIN ? n->b : n->a, ret);
    return 0;
}

static int binary (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    struct dt_range a = dt_ranges_get (s->ranges, n->a);
    struct dt_range b = dt_ranges_get (s->ranges, n->b);
    int known;

    switch (n->op) {
    case DT_OP_LT: case DT_OP_LE: case DT_OP_EQ: case DT_OP_NE:
        known = dt_range_compare (n->op, &a, &b);
        return known < 0 ? 0 : dt_pass_done (dt_simp_const (s, n->type, known, ret));
    case DT_OP_MIN: case DT_OP_MAX: return min_max (n, &a, &b, ret);
    case DT_OP_MOD: /* x % y is x for 0 <= x < y */
        return a.lo >= 0 && a.hi < b.lo ? dt_pass_is (n->a, ret) : 0;
    default: return 0;
    }
}

int dt_pass_range (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    struct dt_range a;

    if (n->guard != DT_NODE_NONE) {
        a = dt_ranges_get (s->ranges, n->guard);
        if (a.lo == a.hi) {
            n->safe |= a.hi == 0;
            n->guard = DT_NODE_NONE;
        }
    }
    switch (dt_op_args (n->op)) {
    case 1:
        a = dt_ranges_get (s->ranges, n->a);
        return n->op == DT_OP_ABS && a.lo >= 0 ? dt_pass_is (n->a, ret) : 0;
    case 2: return binary (s, n, ret);
    case 3:
        a = dt_ranges_get (s->ranges, n->a);
        return a.lo == a.hi ? dt_pass_is (a.lo ? n->b : n->c, ret) : 0;
    default: return 0;
    }
}
