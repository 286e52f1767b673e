/* tests/graph_random.h - random graphs over small domains, and the plain way to
 * evaluate one.  Used by: the tests of range, simplify, emit and vm. */
#ifndef DT_TESTS_GRAPH_RANDOM_H
#define DT_TESTS_GRAPH_RANDOM_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "selir/graph.h"

/* As ck_assert_msg, for inner loops: libcheck writes to a file at each assertion. */
#define MUST(cond, ...) \
    do { \
        if (!(cond)) \
            ck_abort_msg (__VA_ARGS__); \
    } while (0)

static uint64_t rng_state;

static uint32_t rng (uint32_t n)
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 7;
    rng_state ^= rng_state << 17;
    return (uint32_t)((rng_state >> 16) % n);
}

static void rng_seed (uint64_t seed)
{
    rng_state = seed * 0x9e3779b97f4a7c15u + 12345;
}

#define RANDOM_INPUTS 5 /* n, m, own q: ints; flag: bool; kind: enum */
#define RANDOM_KNOBS 2

/* An assignment of everything symbolic. */
struct env {
    int64_t input[RANDOM_INPUTS], knob[RANDOM_KNOBS], pin[4];
};

static void random_rows (struct dt_graph *g)
{
    static const int64_t set[] = { -7, -1, 0, 2, 5 }, knob0[] = { 4, 1, 2 }, knob1[] = { 1, 0 };
    static const struct dt_input in[RANDOM_INPUTS] = {
        { .name = "n", .klass = DT_INPUT_RUNTIME, .type = DT_TYPE_INT,
          .domain = { .lo = -2, .hi = 4, .step = 1 } },
        { .name = "m", .klass = DT_INPUT_UNPINNABLE, .type = DT_TYPE_INT,
          .domain = { .value = set, .n = 5 } },
        { .name = "q", .klass = DT_INPUT_OWN, .type = DT_TYPE_INT,
          .domain = { .lo = 0, .hi = 6, .step = 3 } },
        { .name = "flag", .klass = DT_INPUT_RUNTIME, .type = DT_TYPE_BOOL,
          .domain = { .lo = 0, .hi = 1, .step = 1 } },
        { .name = "kind", .klass = DT_INPUT_RUNTIME, .type = DT_TYPE_ENUM,
          .domain = { .lo = 0, .hi = 1, .step = 1 } },
    };
    static const struct dt_knob knob[RANDOM_KNOBS] = {
        { .name = "k", .type = DT_TYPE_INT, .value = knob0, .n_values = 3 },
        { .name = "on", .type = DT_TYPE_BOOL, .value = knob1, .n_values = 2 },
    };
    uint32_t i;

    dt_graph_add_file (g, "t.py");
    for (i = 0; i < 200; i++)
        dt_graph_add_span (g, (struct dt_span){ 0, i + 1, 1 });
    dt_graph_add_enum (g, "a");
    dt_graph_add_enum (g, "b");
    for (i = 0; i < RANDOM_INPUTS; i++)
        dt_graph_add_input (g, &in[i]);
    for (i = 0; i < RANDOM_KNOBS; i++)
        dt_graph_add_knob (g, &knob[i]);
}

static uint32_t random_add (struct dt_graph *g, struct dt_node n)
{
    uint32_t id = 0;

    n.span = (uint32_t)(g->next_seq % 200);
    n.seq = g->next_seq++;
    MUST (dt_graph_add (g, n, &id, NULL) == 0, "no value added");
    return id;
}

/* A value of the type, near the end more often than not. */
static uint32_t random_operand (const struct dt_graph *g, uint8_t type)
{
    uint32_t i, tries;

    for (tries = 0; tries < 50; tries++) {
        i = g->n_nodes - 1 - rng (rng (2) && g->n_nodes > 8 ? 8 : g->n_nodes);
        if (g->node[i].type == type)
            return i;
    }
    for (i = g->n_nodes; i-- > 0;)
        if (g->node[i].type == type)
            return i;
    ck_abort_msg ("no value of type %d", type);
    return 0;
}

static int64_t random_const (uint8_t type)
{
    static const int64_t edge[] = { INT64_MIN, INT64_MAX, INT64_MIN + 1, 1LL << 62, 63, 64 };
    static const double real[] = { 0.0, -0.0, 0.5, 1.0, -1.5, 2.5, 1e300, 0x1p-1074, 0x1p53, -0x1p63,
                                   __builtin_inf (), __builtin_nan ("") };

    if (type == DT_TYPE_FLOAT)
        return dt_op_bits (real[rng (DT_ARRAY_SIZE (real))]);
    return rng (8) ? (int64_t)rng (9) - 3 : edge[rng (DT_ARRAY_SIZE (edge))];
}

static uint8_t random_op (void)
{
    switch (rng (17)) {
    case 0: return DT_OP_CONST;
    case 1: case 2: case 3: case 4:
        return (uint8_t)(DT_OP_ADD + rng (DT_OP_MAX - DT_OP_ADD + 1));
    case 5: return rng (4) ? DT_OP_INT : DT_OP_FAIL;
    case 6: case 7: return (uint8_t)(DT_OP_LT + rng (4));
    case 8: return (uint8_t)(DT_OP_NOT + rng (3));
    case 9: return rng (3) ? DT_OP_NOT : DT_OP_BOOL;
    case 10: case 11: return DT_OP_SELECT;
    case 12: return DT_OP_ITOF;
    default: return (uint8_t)(DT_OP_IPOW + rng (DT_OP_COUNT - DT_OP_IPOW));
    }
}

static uint8_t random_type (uint8_t op, char letter)
{
    switch (letter) {
    case 'i': return DT_TYPE_INT;
    case 'b': return DT_TYPE_BOOL;
    case 'f': return DT_TYPE_FLOAT;
    default: break;
    }
    if (op == DT_OP_CONST || op == DT_OP_FAIL)
        return rng (3) ? DT_TYPE_INT : DT_TYPE_FLOAT;
    if (rng (4))
        return DT_TYPE_INT;
    return letter == '*' && rng (2) ? DT_TYPE_FLOAT : rng (2) ? DT_TYPE_BOOL : DT_TYPE_ENUM;
}

static void random_node (struct dt_graph *g)
{
    struct dt_node n = { .guard = DT_NODE_NONE, .op = random_op () };
    const char *types = dt_op_types (n.op);
    uint32_t *const arg[] = { &n.a, &n.b, &n.c };
    int i, k = dt_op_args (n.op);
    uint8_t side = k > 0 ? random_type (n.op, types[k - 1]) : 0; /* of what is alike */

    n.type = k == 0 || types[k] != '*' ? random_type (n.op, types[k]) : side;
    for (i = 0; i < k; i++)
        *arg[i] = random_operand (g, types[i] == 'b' ? DT_TYPE_BOOL
                                     : types[i] == '*' || types[i] == '=' ? side
                                     : random_type (n.op, types[i]));
    if (n.op == DT_OP_FAIL)
        n.imm = 1 + rng (7);
    else if (n.op == DT_OP_CONST)
        n.imm = random_const (n.type);
    if (rng (3))
        n.guard = random_operand (g, DT_TYPE_BOOL);
    n.name = rng (3) ? NULL : "choose.x";
    random_add (g, n);
}

static inline struct dt_graph *random_graph (uint64_t seed, uint32_t n_nodes)
{
    static const uint8_t leaf[] = { DT_TYPE_INT, DT_TYPE_INT, DT_TYPE_INT, DT_TYPE_BOOL,
                                    DT_TYPE_ENUM };
    struct dt_graph *g = dt_graph_new ();
    uint32_t i;

    rng_seed (seed);
    random_rows (g);
    for (i = 0; i < RANDOM_INPUTS; i++)
        random_add (g, (struct dt_node){ .op = DT_OP_INPUT, .type = leaf[i], .imm = i });
    random_add (g, (struct dt_node){ .op = DT_OP_KNOB, .type = DT_TYPE_INT, .imm = 0 });
    random_add (g, (struct dt_node){ .op = DT_OP_KNOB, .type = DT_TYPE_BOOL, .imm = 1 });
    random_add (g, (struct dt_node){ .op = DT_OP_CONST, .type = DT_TYPE_ENUM, .imm = 1 });
    random_add (g, (struct dt_node){ .op = DT_OP_ITOF, .type = DT_TYPE_FLOAT, .a = 0 });
    for (i = 0; i < n_nodes; i++) {
        random_node (g);
        if (rng (15) == 0) {
            struct dt_cond c = { .kind = 1 + rng (2), .message = "said so", .span = i % 200,
                                 .guard = rng (2) ? DT_NODE_NONE : random_operand (g, DT_TYPE_BOOL),
                                 .value = random_operand (g, DT_TYPE_BOOL) };

            c.seq = g->next_seq++;
            dt_graph_add_cond (g, &c);
        }
    }
    for (i = 0; i < 5; i++) {
        static const char *const field[] = { "x", "y", "z", "w", "f" };
        static const uint8_t type[] = { DT_TYPE_INT, DT_TYPE_INT, DT_TYPE_BOOL, DT_TYPE_ENUM,
                                        DT_TYPE_FLOAT };
        struct dt_point p = { .field = field[i], .type = type[i], .is_free = i == 1 };

        p.node = random_operand (g, p.type);
        dt_graph_add_point (g, &p);
    }
    dt_graph_check (g);
    return g;
}

static int64_t domain_pick (const struct dt_domain *d, uint64_t *at)
{
    uint64_t n = dt_domain_size (d);
    int64_t v = dt_domain_at (d, *at % n);

    *at /= n;
    return v;
}

/* The at-th environment; 0 once there are no more. */
static inline int env_at (const struct dt_graph *g, uint64_t at, struct env *e)
{
    uint32_t i;

    for (i = 0; i < g->n_inputs; i++)
        e->input[i] = domain_pick (&g->input[i].domain, &at);
    for (i = 0; i < g->n_knobs; i++) {
        e->knob[i] = g->knob[i].value[at % g->knob[i].n_values];
        at /= g->knob[i].n_values;
    }
    for (i = 0; i < g->n_pins; i++) {
        e->pin[i] = g->pin[i].type == DT_TYPE_INT ? (int64_t)(at % 3) - 1 : (int64_t)(at % 2);
        at /= g->pin[i].type == DT_TYPE_INT ? 3 : 2;
    }
    return at == 0;
}

static inline enum dt_fault eval_node (const struct dt_graph *g, uint32_t i, const struct env *e,
                                int64_t *v)
{
    const struct dt_node *n = &g->node[i];
    uint32_t args[3];
    int64_t x[3] = { 0 };
    int j, k = dt_node_args (n, args);

    switch (n->op) {
    case DT_OP_CONST: v[i] = n->imm; return 0;
    case DT_OP_INPUT: v[i] = e->input[n->imm]; return 0;
    case DT_OP_KNOB: v[i] = e->knob[n->imm]; return 0;
    case DT_OP_PIN: v[i] = e->pin[n->imm]; return 0;
    default: break;
    }
    for (j = 0; j < k; j++)
        x[j] = v[args[j]];
    return dt_op_eval (n->op, n->op == DT_OP_FAIL ? n->imm : x[0], x[1], x[2], &v[i]);
}

/* What raises first: its seq, and its fault (0: a condition).  seq UINT64_MAX: none. */
struct first {
    uint64_t seq;
    enum dt_fault fault;
    uint32_t span;
};

/* Values of all nodes and the first stop among nodes and conditions where
 * use[i] (NULL: all; conditions are at n_nodes + i). */
static inline struct first eval_graph (const struct dt_graph *g, const struct env *e, int64_t *v,
                                const uint8_t *use)
{
    struct first first = { UINT64_MAX, 0, 0 };
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++) {
        const struct dt_node *n = &g->node[i];
        enum dt_fault f = eval_node (g, i, e, v);

        if (f && !n->safe && (n->guard == DT_NODE_NONE || v[n->guard]) && n->seq < first.seq
            && (!use || use[i]))
            first = (struct first){ n->seq, f, n->span };
    }
    for (i = 0; i < g->n_conds; i++) {
        const struct dt_cond *c = &g->cond[i];

        if (!v[c->value] && (c->guard == DT_NODE_NONE || v[c->guard]) && c->seq < first.seq
            && (!use || use[g->n_nodes + i]))
            first = (struct first){ c->seq, 0, c->span };
    }
    return first;
}

#endif
