/* selir/pass_fold.c - operations on constants. */
#include "selir/simplify_int.h"

int dt_pass_fold (struct dt_simp *s, struct dt_node *n, uint32_t *ret)
{
    uint32_t args[3];
    int64_t v, x[3] = { 0 };
    int i, k = dt_node_args (n, args);

    if (n->guard != DT_NODE_NONE && dt_simp_known (s, n->guard, &v)) {
        n->safe |= !v;
        n->guard = DT_NODE_NONE;
    }
    if (n->op == DT_OP_FAIL)
        return n->safe ? dt_pass_done (dt_simp_const (s, n->type, 0, ret)) : 0;
    if (n->op == DT_OP_SELECT && dt_simp_known (s, n->a, &v))
        return dt_pass_is (v ? n->b : n->c, ret);
    for (i = 0; i < k; i++)
        if (!dt_simp_known (s, args[i], &x[i]))
            return 0;
    if (k == 0 || (dt_op_eval (n->op, x[0], x[1], x[2], &v) != DT_FAULT_NONE && !n->safe))
        return 0; /* a fault stays where it is */
    return dt_pass_done (dt_simp_const (s, n->type, v, ret));
}
