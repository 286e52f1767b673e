/* selir/pass_select.c - selects: equal arms, one condition twice, bools. */
#include "selir/simplify_int.h"

static const struct dt_node *at (const struct dt_simp *s, uint32_t id)
{
    return &s->out->node[id];
}

/* not c ? x : y is c ? y : x; an arm that asks c again knows the answer. */
static void condition (const struct dt_simp *s, struct dt_node *n)
{
    while (at (s, n->a)->op == DT_OP_NOT) {
        uint32_t swap = n->b;

        n->a = at (s, n->a)->a;
        n->b = n->c;
        n->c = swap;
    }
    while (at (s, n->b)->op == DT_OP_SELECT && at (s, n->b)->a == n->a)
        n->b = at (s, n->b)->b;
    while (at (s, n->c)->op == DT_OP_SELECT && at (s, n->c)->a == n->a)
        n->c = at (s, n->c)->c;
}

/* A bool select with a constant arm is logic. */
static int bools (struct dt_simp *s, const struct dt_node *n, uint32_t *ret)
{
    int64_t b, c;
    int b_known = dt_simp_known (s, n->b, &b), c_known = dt_simp_known (s, n->c, &c);
    uint32_t not;
    int r;

    if (n->type != DT_TYPE_BOOL || (!b_known && !c_known))
        return 0;
    if (b_known && c_known && b)
        return dt_pass_is (n->a, ret); /* equal arms are done */
    if (c_known && !c)
        return dt_pass_done (dt_simp_op (s, n, DT_OP_AND, DT_TYPE_BOOL, n->a, n->b, ret));
    if (b_known && b)
        return dt_pass_done (dt_simp_op (s, n, DT_OP_OR, DT_TYPE_BOOL, n->a, n->c, ret));
    if ((r = dt_simp_op (s, n, DT_OP_NOT, DT_TYPE_BOOL, n->a, DT_NODE_NONE, &not)) < 0)
        return r;
    if (c_known) /* c is True */
        return dt_pass_done (dt_simp_op (s, n, DT_OP_OR, DT_TYPE_BOOL, not, n->b, ret));
    return dt_pass_done (dt_simp_op (s, n, DT_OP_AND, DT_TYPE_BOOL, not, n->c, ret));
}

static int has_const_arm (const struct dt_simp *s, uint32_t id)
{
    int64_t v;

    return at (s, id)->op == DT_OP_SELECT
           && (dt_simp_known (s, at (s, id)->b, &v) || dt_simp_known (s, at (s, id)->c, &v));
}

/* How far a comparison follows a chain of selects: one more value for each. */
#define CHAIN 8

/* (c ? 1 : x) == 2 is c ? False : x == 2: a comparison of a constant goes into the
 * arms where at least one of them is decided.  Not where others read the select too:
 * they would no longer meet in one value, which a cut could take. */
static int compare_arms (struct dt_simp *s, const struct dt_node *n, uint32_t *ret)
{
    int left = has_const_arm (s, n->a);
    uint32_t pick = left ? n->a : n->b, other = left ? n->b : n->a, yes, no;
    struct dt_node sel;
    int64_t v;
    int r;

    if (s->depth > CHAIN || !dt_simp_known (s, other, &v) || dt_simp_shared (s, pick)
        || !has_const_arm (s, pick))
        return 0;
    sel = *at (s, pick);
    if ((r = dt_simp_op (s, n, n->op, n->type, left ? sel.b : other, left ? other : sel.b,
                         &yes)) < 0
        || (r = dt_simp_op (s, n, n->op, n->type, left ? sel.c : other, left ? other : sel.c,
                            &no)) < 0)
        return r;
    return dt_pass_done (dt_simp_select (s, n, sel.a, yes, no, ret));
}

int dt_pass_select (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    switch (n->op) {
    case DT_OP_SELECT:
        condition (s, n);
        if (n->b == n->c)
            return dt_pass_is (n->b, ret);
        return bools (s, n, ret);
    case DT_OP_LT: case DT_OP_LE: case DT_OP_EQ: case DT_OP_NE:
    case DT_OP_FLT: case DT_OP_FLE: case DT_OP_FEQ: case DT_OP_FNE:
    case DT_OP_ILTF: case DT_OP_ILEF: case DT_OP_FLTI: case DT_OP_FLEI: case DT_OP_IEQF:
        return compare_arms (s, n, ret);
    default: return 0;
    }
}
