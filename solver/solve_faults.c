/* solver/solve_faults.c - errors that are not raised once pins are constants. */
#include <string.h>

#include "base/mem.h"
#include "solver/reach.h"
#include "solver/solve_int.h"

/* With pins as constants nobody computes what only a pin was computed from: its faults
 * go.  All others stay, whether or not a point needs their value, as CPython raises
 * them.
 *
 *   behind  a pin is computed from it      needed  something else is */
struct faults {
    const struct dt_graph *g;
    const uint32_t *subst;
    uint8_t *behind, *needed;
};

static int is_pinned (const struct faults *f, uint32_t node)
{
    return f->subst[node] != DT_NODE_NONE;
}

/* Mark what a marked value is computed from, guards too, but nothing behind a pin; 1 if
 * that marked a FAIL that is raised on the way. */
static int mark_before (const struct faults *f, uint8_t *mask)
{
    const struct dt_graph *g = f->g;
    uint32_t args[3];
    int more = 0;

    for (uint32_t i = g->n_nodes; i-- > 0;) {
        if (!mask[i] || is_pinned (f, i))
            continue;
        for (int k = dt_node_args (&g->node[i], args); k-- > 0;)
            mask[args[k]] = 1;
        dt_reach_root (mask, g->node[i].guard);
    }
    for (uint32_t i = 0; i < g->n_raises; i++) {
        const struct dt_raise *x = &g->raise[i];

        if (x->value == DT_NODE_NONE || !mask[x->value] || is_pinned (f, x->value) || mask[x->fail])
            continue;
        mask[x->fail] = 1;
        more = 1;
    }
    return more;
}

static void mark_all_before (const struct faults *f, uint8_t *mask)
{
    while (mark_before (f, mask)) /* a FAIL's guard may lie above the value */
        ;
}

static void mark_behind (struct faults *f)
{
    const struct dt_graph *g = f->g;
    uint32_t args[3];

    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (is_pinned (f, i)) {
            f->behind[i] = (uint8_t)dt_node_faults (&g->node[i]);
            for (int k = dt_node_args (&g->node[i], args); k-- > 0;)
                f->behind[args[k]] = 1;
            dt_reach_root (f->behind, g->node[i].guard);
        }
    for (uint32_t i = 0; i < g->n_raises; i++)
        if (g->raise[i].value != DT_NODE_NONE && is_pinned (f, g->raise[i].value))
            f->behind[g->raise[i].fail] = 1;
    mark_all_before (f, f->behind);
}

/* From what no pin is computed from, points and conditions. */
static void mark_needed (struct faults *f)
{
    const struct dt_graph *g = f->g;

    for (uint32_t i = 0; i < g->n_nodes; i++)
        f->needed[i] = dt_node_faults (&g->node[i]) && !f->behind[i];
    for (uint32_t i = 0; i < g->n_raises; i++) {
        const struct dt_raise *x = &g->raise[i];

        if (x->value == DT_NODE_NONE || (!f->behind[x->value] && !is_pinned (f, x->value)))
            f->needed[x->fail] = 1;
    }
    for (uint32_t i = 0; i < g->n_points; i++)
        f->needed[g->point[i].node] = 1;
    for (uint32_t i = 0; i < g->n_conds; i++) {
        f->needed[g->cond[i].value] = 1;
        dt_reach_root (f->needed, g->cond[i].guard);
    }
    mark_all_before (f, f->needed);
}

int dt_solver_drop_faults (struct dt_solver *v)
{
    struct faults f = { .g = v->g, .subst = v->subst };
    struct dt_graph *g = v->work;
    int r = 0;

    f.behind = dt_calloc (g->n_nodes, 1);
    f.needed = dt_calloc (g->n_nodes, 1);
    if (!f.behind || !f.needed)
        r = dt_err_nomem (v->err);
    else {
        mark_behind (&f);
        mark_needed (&f);
        for (uint32_t i = 0; i < g->n_nodes; i++)
            if (f.behind[i] && (!f.needed[i] || is_pinned (&f, i)))
                g->node[i].safe |= (uint8_t)dt_node_faults (&g->node[i]);
    }
    dt_free (f.behind);
    dt_free (f.needed);
    return r;
}

/* --- assumes ------------------------------------------------------------------------ */

static int add (struct dt_graph *g, uint8_t op, uint32_t a, uint32_t b, uint32_t span,
                uint32_t *ret, struct dt_err *err)
{
    struct dt_node n = { .op = op, .type = DT_TYPE_BOOL, .a = a, .b = b, .c = DT_NODE_NONE,
                         .guard = DT_NODE_NONE, .span = span, .copy = DT_COPY_VALUE,
                         .seq = g->next_seq++ };

    return dt_graph_add (g, n, ret, err);
}

/* Where a value that may fault does: a bool under its guard.  An int that leaves 64 bits,
 * or a float that no int holds, is not told: DT_NODE_NONE. */
static int fault_of (struct dt_graph *g, uint32_t id, uint32_t span, uint32_t *ret,
                     struct dt_err *err)
{
    const struct dt_node n = g->node[id];
    uint32_t zero;
    int r, is_float = n.op == DT_OP_FDIV || n.op == DT_OP_FFLOORDIV || n.op == DT_OP_FMOD;

    *ret = DT_NODE_NONE;
    switch (n.op) {
    case DT_OP_FAIL:
        return dt_graph_const (g, DT_TYPE_BOOL, 1, ret, err);
    case DT_OP_FLOORDIV: case DT_OP_MOD: case DT_OP_IDIV:
    case DT_OP_FDIV: case DT_OP_FFLOORDIV: case DT_OP_FMOD:
        if ((r = dt_graph_const (g, is_float ? DT_TYPE_FLOAT : DT_TYPE_INT, 0, &zero, err)) < 0)
            return r;
        return add (g, is_float ? DT_OP_FEQ : DT_OP_EQ, n.b, zero, span, ret, err);
    case DT_OP_LSHIFT: case DT_OP_RSHIFT: case DT_OP_IPOW:
        if ((r = dt_graph_const (g, DT_TYPE_INT, 0, &zero, err)) < 0)
            return r;
        return add (g, DT_OP_LT, n.b, zero, span, ret, err);
    default:
        return 0;
    }
}

/* The condition's guard: and not where the value faults. */
static int narrow (struct dt_graph *g, struct dt_cond *c, uint32_t id, struct dt_err *err)
{
    uint32_t on = g->node[id].guard, fault, off, both;
    int r;

    if ((r = fault_of (g, id, c->span, &fault, err)) < 0 || fault == DT_NODE_NONE)
        return r;
    if (on != DT_NODE_NONE && (r = add (g, DT_OP_AND, on, fault, c->span, &fault, err)) < 0)
        return r;
    if ((r = add (g, DT_OP_NOT, fault, DT_NODE_NONE, c->span, &off, err)) < 0)
        return r;
    if (c->guard == DT_NODE_NONE) {
        c->guard = off;
        return 0;
    }
    if ((r = add (g, DT_OP_AND, c->guard, off, c->span, &both, err)) == 0)
        c->guard = both;
    return r;
}

/* What an assume is computed from may raise before it is asked; simplified, it need no
 * longer say so. */
static int narrow_all (struct dt_solver *v, uint8_t *mask)
{
    struct faults f = { .g = v->g, .subst = v->subst };
    struct dt_graph *g = v->work;
    int r = 0;

    for (uint32_t k = 0; k < g->n_conds; k++) {
        if (g->cond[k].kind != DT_COND_ASSUME)
            continue;
        memset (mask, 0, v->g->n_nodes);
        mask[v->g->cond[k].value] = 1;
        dt_reach_root (mask, v->g->cond[k].guard);
        mark_all_before (&f, mask);
        for (uint32_t i = 0; r == 0 && i < v->g->n_nodes; i++)
            if (mask[i] && !is_pinned (&f, i) && dt_node_faults (&g->node[i]))
                r = narrow (g, &g->cond[k], i, v->err);
        if (r < 0)
            return r;
    }
    return 0;
}

int dt_solver_narrow_assumes (struct dt_solver *v, uint32_t **ret_subst)
{
    uint8_t *mask = dt_calloc (v->g->n_nodes, 1);
    uint32_t *subst = NULL;
    int r = mask ? 0 : dt_err_nomem (v->err);

    if (r == 0)
        r = narrow_all (v, mask);
    dt_free (mask);
    if (r < 0)
        return r;
    if (!(subst = dt_calloc (v->work->n_nodes, sizeof *subst)))
        return dt_err_nomem (v->err);
    memset (subst, 0xff, v->work->n_nodes * sizeof *subst);
    memcpy (subst, v->subst, v->g->n_nodes * sizeof *subst);
    *ret_subst = subst;
    return 0;
}
