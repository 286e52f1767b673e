/* solver/batch.c - all values of a graph at many points at once. */
#include "solver/batch.h"

#include <string.h>

#include "base/mem.h"

#define MAX_CORNER_AXES 16

struct dt_batch {
    const struct dt_graph *g;
    int64_t *value;   /* [n_nodes][DT_BATCH_POINTS] */
    uint8_t *fault;   /* [n_faults][DT_BATCH_POINTS] */
    uint32_t *fault_at; /* [n_nodes] row of fault, or DT_NODE_NONE */
    uint32_t *order;  /* [n_order] values to compute, ascending */
    uint32_t n_order;
};

int dt_batch_new (const struct dt_graph *g, struct dt_batch **ret, struct dt_err *reterr)
{
    struct dt_batch *b = dt_calloc (1, sizeof *b);
    uint32_t i, n_faults = 0;

    if (!b)
        return dt_err_nomem (reterr);
    b->g = g;
    b->value = dt_calloc (g->n_nodes, DT_BATCH_POINTS * sizeof *b->value);
    b->fault_at = dt_calloc (g->n_nodes, sizeof *b->fault_at);
    b->order = dt_calloc (g->n_nodes, sizeof *b->order);
    if (!b->value || !b->fault_at || !b->order)
        goto fail;
    for (i = 0; i < g->n_nodes; i++) {
        const struct dt_node *n = &g->node[i];

        b->fault_at[i] = dt_node_faults (n) ? n_faults++ : DT_NODE_NONE;
        if (n->op == DT_OP_CONST)
            dt_batch_fix (b, i, n->imm);
        else if (n->op != DT_OP_INPUT && n->op != DT_OP_KNOB && n->op != DT_OP_PIN)
            b->order[b->n_order++] = i;
    }
    if (!(b->fault = dt_calloc (n_faults, DT_BATCH_POINTS)))
        goto fail;
    *ret = b;
    return 0;
fail:
    dt_batch_free (b);
    return dt_err_nomem (reterr);
}

struct dt_batch *dt_batch_free (struct dt_batch *b)
{
    if (b) {
        dt_free (b->value);
        dt_free (b->fault);
        dt_free (b->fault_at);
        dt_free (b->order);
        dt_free (b);
    }
    return NULL;
}

int64_t *dt_batch_column (struct dt_batch *b, uint32_t node)
{
    return &b->value[(size_t)node * DT_BATCH_POINTS];
}

void dt_batch_fix (struct dt_batch *b, uint32_t node, int64_t v)
{
    int64_t *column = dt_batch_column (b, node);
    size_t i;

    for (i = 0; i < DT_BATCH_POINTS; i++)
        column[i] = v;
}

const uint8_t *dt_batch_faults (const struct dt_batch *b, uint32_t node)
{
    uint32_t row = b->fault_at[node];

    return row == DT_NODE_NONE ? NULL : &b->fault[(size_t)row * DT_BATCH_POINTS];
}

static void any (uint8_t op, size_t n, const int64_t *x, const int64_t *y, const int64_t *z,
                 int64_t *v, uint8_t *fault)
{
    size_t i;

    for (i = 0; i < n; i++) {
        enum dt_fault f = dt_op_eval (op, x[i], y[i], z[i], &v[i]);

        if (fault)
            fault[i] = (uint8_t)f;
    }
}

void dt_batch_run (struct dt_batch *b, size_t n)
{
    uint32_t k, j;

    for (k = 0; k < b->n_order; k++) {
        uint32_t id = b->order[k], row = b->fault_at[id], args[3] = { id, id, id };
        const struct dt_node *node = &b->g->node[id];
        const int64_t *x[3];
        int64_t *v = dt_batch_column (b, id);
        uint8_t *fault = row == DT_NODE_NONE ? NULL : &b->fault[(size_t)row * DT_BATCH_POINTS];
        size_t i;
        int n_args = dt_node_args (node, args);

        for (j = 0; j < 3; j++)
            x[j] = dt_batch_column (b, (int)j < n_args ? args[j] : id);
        switch (node->op) {
        case DT_OP_FAIL:
            if (fault)
                memset (fault, (int)node->imm, n);
            break;
        /* The total ops that are frequent, as plain loops. */
        case DT_OP_LT: for (i = 0; i < n; i++) v[i] = x[0][i] < x[1][i]; break;
        case DT_OP_LE: for (i = 0; i < n; i++) v[i] = x[0][i] <= x[1][i]; break;
        case DT_OP_EQ: for (i = 0; i < n; i++) v[i] = x[0][i] == x[1][i]; break;
        case DT_OP_NE: for (i = 0; i < n; i++) v[i] = x[0][i] != x[1][i]; break;
        case DT_OP_NOT: for (i = 0; i < n; i++) v[i] = !x[0][i]; break;
        case DT_OP_AND: for (i = 0; i < n; i++) v[i] = x[0][i] & x[1][i]; break;
        case DT_OP_OR: for (i = 0; i < n; i++) v[i] = x[0][i] | x[1][i]; break;
        case DT_OP_SELECT: for (i = 0; i < n; i++) v[i] = x[0][i] ? x[1][i] : x[2][i]; break;
        default: any (node->op, n, x[0], x[1], x[2], v, fault); break;
        }
    }
}

uint64_t dt_points_count (const struct dt_axis *axis, size_t n)
{
    uint64_t count = 1;
    size_t i;

    for (i = 0; i < n; i++)
        if (__builtin_mul_overflow (count, dt_domain_size (&axis[i].domain), &count))
            return UINT64_MAX;
    return count;
}

void dt_points_product (struct dt_batch *b, const struct dt_axis *axis, size_t n_axes,
                        uint64_t at, size_t n)
{
    uint64_t stride = 1;
    size_t i, k;

    for (k = n_axes; k-- > 0;) {
        uint64_t size = dt_domain_size (&axis[k].domain), digit = at / stride % size;
        uint64_t left = stride - at % stride; /* points until the digit moves */
        int64_t *v = dt_batch_column (b, axis[k].node);

        for (i = 0; i < n; i++) {
            v[i] = dt_domain_at (&axis[k].domain, digit);
            if (--left == 0) {
                left = stride;
                digit = digit + 1 == size ? 0 : digit + 1;
            }
        }
        stride *= size;
    }
}

uint64_t dt_points_sampled (size_t n_axes)
{
    size_t k = n_axes < MAX_CORNER_AXES ? n_axes : MAX_CORNER_AXES;

    return (UINT64_C (1) << k) + DT_POINTS_SAMPLE;
}

/* splitmix64: the sample is the same everywhere. */
static uint64_t mix (uint64_t x)
{
    x += UINT64_C (0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C (0x94d049bb133111eb);
    return x ^ x >> 31;
}

void dt_points_sample (struct dt_batch *b, const struct dt_axis *axis, size_t n_axes,
                       uint64_t at, size_t n)
{
    uint64_t corners = dt_points_sampled (n_axes) - DT_POINTS_SAMPLE;
    size_t i, k;

    for (k = 0; k < n_axes; k++) {
        uint64_t size = dt_domain_size (&axis[k].domain);
        int64_t *v = dt_batch_column (b, axis[k].node);

        for (i = 0; i < n; i++) {
            uint64_t p = at + i, digit = 0;

            if (p >= corners)
                digit = mix (p * 64 + k) % size; /* at most 64 inputs: vm.h */
            else if (k < MAX_CORNER_AXES && (p >> k & 1))
                digit = size - 1;
            v[i] = dt_domain_at (&axis[k].domain, digit);
        }
    }
}
