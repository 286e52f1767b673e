/* solver/reach.c - what reaches what in a dependence graph, and parts of one. */
#include "solver/reach.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

void dt_reach_cone (const struct dt_graph *g, uint8_t *mask)
{
    uint32_t i, args[3];
    int k;

    for (i = g->n_nodes; i-- > 0;)
        if (mask[i])
            for (k = dt_node_args (&g->node[i], args); k-- > 0;)
                mask[args[k]] = 1;
}

void dt_reach_users (const struct dt_graph *g, uint8_t *mask)
{
    uint32_t i, args[3];
    int k;

    for (i = 0; i < g->n_nodes; i++)
        for (k = dt_node_args (&g->node[i], args); k-- > 0;)
            mask[i] |= mask[args[k]];
}

uint8_t *dt_reach_class (const struct dt_graph *g, unsigned classes)
{
    uint8_t *mask = dt_calloc (g->n_nodes, 1);
    uint32_t i;

    if (!mask)
        return NULL;
    for (i = 0; i < g->n_inputs; i++)
        if (classes >> g->input[i].klass & 1)
            dt_reach_root (mask, g->input[i].node);
    dt_reach_users (g, mask);
    return mask;
}

int dt_reach_extract (const struct dt_graph *g, const uint8_t *mask, uint32_t *ret_map,
                      struct dt_graph **ret, struct dt_err *reterr)
{
    struct dt_graph *n;
    uint32_t i;
    int r;

    if ((r = dt_graph_like (g, &n, reterr)) < 0)
        return r;
    memset (ret_map, 0xff, g->n_nodes * sizeof *ret_map);
    for (i = 0; i < g->n_nodes; i++) {
        struct dt_node v = g->node[i];
        uint32_t *arg[3] = { &v.a, &v.b, &v.c };
        int k;

        if (!mask[i])
            continue;
        for (k = dt_op_args (v.op); k-- > 0;)
            *arg[k] = ret_map[*arg[k]];
        if (v.guard != DT_NODE_NONE) {
            v.guard = ret_map[v.guard];
            v.safe |= v.guard == DT_NODE_NONE;
        }
        if (v.name && !(v.name = dt_graph_str (n, v.name))) {
            r = dt_err_nomem (reterr);
            goto fail;
        }
        if ((r = dt_graph_add (n, v, &ret_map[i], reterr)) < 0)
            goto fail;
    }
    *ret = n;
    return 0;
fail:
    dt_graph_free (n);
    return r;
}

static int is_leaf (const struct dt_node *n)
{
    return n->op == DT_OP_CONST || n->op == DT_OP_INPUT || n->op == DT_OP_KNOB
           || n->op == DT_OP_PIN;
}

int dt_reach_raises (const struct dt_graph *g, const uint32_t *map, struct dt_graph *n,
                     struct dt_err *reterr)
{
    for (uint32_t i = 0; i < g->n_raises; i++) {
        struct dt_raise x = g->raise[i];

        if (x.value == DT_NODE_NONE || map[x.value] == DT_NODE_NONE
            || map[x.fail] == DT_NODE_NONE)
            continue;
        x.fail = map[x.fail];
        x.value = map[x.value];
        if (n->node[x.fail].op == DT_OP_FAIL && !is_leaf (&n->node[x.value])
            && dt_graph_add_raise (n, x) < 0)
            return dt_err_nomem (reterr);
    }
    return 0;
}

int dt_reach_copy (const struct dt_graph *g, struct dt_graph **ret, struct dt_err *reterr)
{
    uint8_t *mask = dt_calloc (g->n_nodes, 1);
    uint32_t *map = dt_calloc (g->n_nodes, sizeof *map);
    struct dt_graph *n = NULL;
    uint32_t i;
    int r;

    if (!mask || !map) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    memset (mask, 1, g->n_nodes);
    if ((r = dt_reach_extract (g, mask, map, &n, reterr)) < 0)
        goto fail;
    assert (n->n_nodes == g->n_nodes); /* hash-consed already */
    r = dt_err_nomem (NULL);
    for (i = 0; i < g->n_conds; i++)
        if (dt_graph_add_cond (n, &g->cond[i]) < 0)
            goto fail;
    for (i = 0; i < g->n_points; i++)
        if (dt_graph_add_point (n, &g->point[i]) < 0)
            goto fail;
    *ret = n;
    n = NULL;
    r = 0;
fail:
    dt_graph_free (n);
    dt_free (mask);
    dt_free (map);
    return r < 0 ? dt_err_nomem (reterr) : 0;
}
