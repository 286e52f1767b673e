/* solver/solve_raises.c - the place of the error of a program that raises on every input. */
#include "base/mem.h"
#include "selir/op.h"
#include "solver/solve_int.h"

/* The value where each input has the first of its domain and each knob its default. */
static enum dt_fault compute (const struct dt_graph *g, uint32_t id, int64_t *value)
{
    const struct dt_node *n = &g->node[id];
    int64_t x[3] = { 0 };
    uint32_t args[3];
    int k = dt_node_args (n, args);

    while (k-- > 0)
        x[k] = value[args[k]];
    switch (n->op) {
    case DT_OP_CONST: value[id] = n->imm; return DT_FAULT_NONE;
    case DT_OP_INPUT: value[id] = dt_domain_at (&g->input[n->imm].domain, 0); return DT_FAULT_NONE;
    case DT_OP_KNOB: value[id] = g->knob[n->imm].value[g->knob[n->imm].initial]; return DT_FAULT_NONE;
    case DT_OP_FAIL: value[id] = 0; return (enum dt_fault)n->imm;
    default: return dt_op_eval (n->op, x[0], x[1], x[2], &value[id]);
    }
}

int dt_solver_raises (struct dt_solver *v)
{
    int64_t *value = dt_calloc (v->g->n_nodes, sizeof *value);
    uint64_t seq = UINT64_MAX;
    enum dt_fault first = DT_FAULT_NONE, fault;
    const char *place = "";
    uint32_t i;

    if (!value)
        return dt_err_nomem (v->err);
    for (i = 0; i < v->g->n_nodes; i++) {
        const struct dt_node *n = &v->g->node[i];

        fault = compute (v->g, i, value);
        if (fault == DT_FAULT_NONE || n->seq >= seq || (n->guard != DT_NODE_NONE && !value[n->guard]))
            continue;
        seq = n->seq;
        first = fault;
        if (!(place = dt_solver_place (v, n->span)))
            break;
    }
    dt_free (value);
    if (!place)
        return dt_err_nomem (v->err);
    if (first == DT_FAULT_NONE)
        return dt_err_set (v->err, -DT_EILLEGAL, "the program raises on every input");
    return dt_err_set (v->err, -DT_EILLEGAL, "%s: %s: the program raises on every input", place,
                       dt_fault_name (first));
}
