/* detentctl/evaluate.c - compute a program at one point.
 *
 * The specialised graph is the meaning of the program: no pass has been over it, and
 * the order of its errors is the program's. */
#include "detentctl/evaluate.h"

#include <string.h>

#include "selir/diag.h"

static int on_path (uint32_t guard, const int64_t *value)
{
    return guard == DT_NODE_NONE || value[guard];
}

static enum dt_fault compute (const struct dt_graph *g, uint32_t i, const int64_t *input,
                              const int64_t *knob, int64_t *value)
{
    const struct dt_node *n = &g->node[i];
    uint32_t args[3];
    int64_t x[3] = { 0 };
    int k = dt_node_args (n, args);

    for (int a = 0; a < k; a++)
        x[a] = value[args[a]];
    switch (n->op) {
    case DT_OP_CONST: value[i] = n->imm; return DT_FAULT_NONE;
    case DT_OP_INPUT: value[i] = input[n->imm]; return DT_FAULT_NONE;
    case DT_OP_KNOB: value[i] = knob[n->imm]; return DT_FAULT_NONE;
    case DT_OP_FAIL: value[i] = 0; return (enum dt_fault)n->imm;
    default: return dt_op_eval (n->op, x[0], x[1], x[2], &value[i]);
    }
}

struct dt_stopped dt_evaluate (const struct dt_graph *g, const int64_t *input,
                               const int64_t *knob, int64_t *value)
{
    struct dt_stopped s = { .seq = UINT64_MAX };

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        const struct dt_node *n = &g->node[i];
        enum dt_fault fault = compute (g, i, input, knob, value);

        if (fault != DT_FAULT_NONE && on_path (n->guard, value) && n->seq < s.seq)
            s = (struct dt_stopped){ n->seq, fault, NULL, n->span };
    }
    for (uint32_t i = 0; i < g->n_conds; i++) {
        const struct dt_cond *c = &g->cond[i];

        if (!value[c->value] && on_path (c->guard, value) && c->seq < s.seq)
            s = (struct dt_stopped){ c->seq, DT_FAULT_NONE, c, c->span };
    }
    return s;
}

/* What Python's class of error means here. */
static const char *meaning (enum dt_fault fault)
{
    switch (fault) {
    case DT_FAULT_OVERFLOW: return ": the result is no 64-bit int";
    case DT_FAULT_ZERO_DIVISION: return ": division by zero";
    case DT_FAULT_VALUE: return ": a value that the operation does not take";
    case DT_FAULT_INDEX: return ": index out of range";
    case DT_FAULT_KEY: return ": no such key";
    case DT_FAULT_UNBOUND:
    case DT_FAULT_NAME: return ": the variable is not set on this path";
    default: return "";
    }
}

int dt_stopped_describe (const struct dt_graph *g, const struct dt_stopped *s,
                         const struct dt_source *source, size_t n_sources,
                         struct dt_err *reterr)
{
    struct dt_span at = g->span[s->span];
    size_t i;

    for (i = 0; i + 1 < n_sources && strcmp (source[i].name, g->file[at.file]) != 0; i++)
        ;
    if (s->cond)
        return dt_diag (reterr, -DT_EREFUSED, &source[i], at, NULL, "%s failed: %s",
                        s->cond->kind == DT_COND_ASSUME ? "assume" : "require", s->cond->message);
    return dt_diag (reterr, -DT_EEVAL, &source[i], at, NULL, "%s%s", dt_fault_name (s->fault),
                    meaning (s->fault));
}
