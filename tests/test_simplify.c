/* Simplifying keeps values and the first fault, on every input: random graphs, with
 * all passes, none, and each alone off. */
#include "tests/graph_random.h"

#include <errno.h>

#include "base/buf.h"
#include "selir/simplify.h"
#include "tests/suite.h"

static const unsigned sets[] = {
    DT_PASS_ALL, 0,
#define X(name, text) DT_PASS_ALL & ~(1u << DT_PASS_BIT_##name),
    DT_PASSES (X)
#undef X
#define X(name, text) 1u << DT_PASS_BIT_##name,
    DT_PASSES (X)
#undef X
};

static struct dt_graph *simplify (const struct dt_graph *g, unsigned passes,
                                  const uint32_t *subst, int faults, uint32_t **map)
{
    struct dt_graph *n = NULL;
    struct dt_err err = { "" };
    int r = dt_simplify (g, passes, subst, faults, &n, map, &err);

    ck_assert_msg (r == 0, "simplify: %d %s", r, err.text);
    dt_graph_check (n);
    return n;
}

/* Values equal where nothing raised in the original. */
static void check_map (const struct dt_graph *g, const uint32_t *map, const int64_t *v,
                       const int64_t *w, const uint8_t *skip)
{
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++)
        MUST (map[i] == DT_NODE_NONE || (skip && skip[i]) || v[i] == w[map[i]],
              "%%%u (%s) is %lld, its image %%%u is %lld", i, dt_op_text (g->node[i].op),
              (long long)v[i], map[i], (long long)w[map[i]]);
}

static void check_env (const struct dt_graph *g, const struct dt_graph *n, const uint32_t *map,
                       const struct env *e, int faults, int64_t *v, int64_t *w)
{
    struct first f = eval_graph (g, e, v, NULL), h = eval_graph (n, e, w, NULL);
    uint32_t i;

    if (faults) {
        MUST (f.seq == h.seq && f.fault == h.fault && f.span == h.span,
              "stopped at %llu (%s), then at %llu (%s)", (unsigned long long)f.seq,
              dt_fault_name (f.fault), (unsigned long long)h.seq, dt_fault_name (h.fault));
    }
    if (f.seq != UINT64_MAX)
        return;
    MUST (h.seq == UINT64_MAX, "only the simplified graph stops, at %llu",
          (unsigned long long)h.seq);
    for (i = 0; i < g->n_points; i++)
        MUST (v[g->point[i].node] == w[n->point[i].node], "point %s differs",
              g->point[i].field);
    check_map (g, map, v, w, NULL);
}

static void check_passes (const struct dt_graph *g, unsigned passes, int faults)
{
    uint32_t *map = NULL;
    struct dt_graph *n = simplify (g, passes, NULL, faults, &map);
    int64_t *v = dt_calloc (g->n_nodes, sizeof *v), *w = dt_calloc (n->n_nodes, sizeof *w);
    struct env e;
    uint64_t at;

    for (at = 0; env_at (g, at, &e); at++)
        check_env (g, n, map, &e, faults, v, w);
    dt_free (w);
    dt_free (v);
    dt_free (map);
    dt_graph_free (n);
}

START_TEST (random_programs)
{
    struct dt_graph *g = random_graph ((uint64_t)_i + 100, 10 + (uint32_t)_i % 90);
    size_t i;

    for (i = 0; i < DT_ARRAY_SIZE (sets); i++) {
        check_passes (g, sets[i], 1);
        check_passes (g, sets[i], 0);
    }
    dt_graph_free (g);
}
END_TEST

static void add_pin (struct dt_graph *g, uint8_t type)
{
    struct dt_pin p = { .name = "choose.x", .type = type };

    ck_assert_int_ge (dt_graph_add_pin (g, &p), 0);
}

/* Values and conditions of the graph with some nodes replaced by symbols. */
static void check_residual (const struct dt_graph *g, const uint32_t *subst,
                            const struct dt_graph *n, const uint32_t *map, const struct env *e)
{
    int64_t *v = dt_calloc (g->n_nodes, sizeof *v), *w = dt_calloc (n->n_nodes, sizeof *w);
    uint32_t i;
    int fault = 0;

    for (i = 0; i < g->n_nodes; i++) {
        const struct dt_node *node = &g->node[i];

        if (subst[i] != DT_NODE_NONE)
            v[i] = e->pin[subst[i]];
        else if (eval_node (g, i, e, v) && (node->guard == DT_NODE_NONE || v[node->guard]))
            fault = 1;
    }
    eval_graph (n, e, w, NULL);
    if (!fault)
        check_map (g, map, v, w, NULL);
    dt_free (v);
    dt_free (w);
}

START_TEST (residual)
{
    struct dt_graph *g = random_graph ((uint64_t)_i + 9000, 60), *n, *bound = NULL;
    uint32_t *subst, *map = NULL;
    int64_t pin[2] = { 1, 0 }, knob[RANDOM_KNOBS] = { 4, 1 };
    struct env e;
    uint64_t at;
    uint32_t i;

    add_pin (g, DT_TYPE_INT);
    add_pin (g, DT_TYPE_BOOL);
    subst = dt_calloc (g->n_nodes, sizeof *subst);
    memset (subst, 0xff, g->n_nodes * sizeof *subst);
    for (i = 0; i < 2; i++) /* each pin stands for two values, as equal ones do */
        subst[random_operand (g, i ? DT_TYPE_BOOL : DT_TYPE_INT)] = i;
    n = simplify (g, DT_PASS_ALL, subst, 0, &map);
    for (at = 0; env_at (g, at, &e); at++)
        check_residual (g, subst, n, map, &e);
    ck_assert_int_eq (dt_simplify_bind (n, pin, knob, 0, &bound, NULL), 0);
    dt_graph_check (bound);
    for (i = 0; i < bound->n_nodes; i++)
        ck_assert (bound->node[i].op != DT_OP_PIN && bound->node[i].op != DT_OP_KNOB);
    dt_graph_free (bound);
    dt_graph_free (n);
    dt_graph_free (g);
    dt_free (subst);
    dt_free (map);
}
END_TEST

START_TEST (deterministic)
{
    struct dt_buf a = { 0 }, b = { 0 };
    int i;

    for (i = 0; i < 2; i++) {
        struct dt_graph *g = random_graph (31, 100);
        struct dt_graph *n = simplify (g, DT_PASS_ALL, NULL, 1, NULL);

        dt_graph_dump (n, i ? &b : &a);
        dt_graph_free (n);
        dt_graph_free (g);
    }
    ck_assert_str_eq (dt_buf_str (&a), dt_buf_str (&b));
    dt_buf_done (&a);
    dt_buf_done (&b);
}
END_TEST

/* --- what each pass does, by example ------------------------------------------- */

#define LEAF(g, i, t) \
    random_add (g, (struct dt_node){ .op = DT_OP_INPUT, .type = t, .imm = i })

static uint32_t op2 (struct dt_graph *g, uint8_t op, uint32_t a, uint32_t b)
{
    const char *types = dt_op_types (op);
    char last = types[strlen (types) - 1];
    uint8_t type = last == 'b' ? DT_TYPE_BOOL : last == 'f' ? DT_TYPE_FLOAT : DT_TYPE_INT;

    return random_add (g, (struct dt_node){ .op = op, .type = type, .a = a, .b = b,
                                            .guard = DT_NODE_NONE });
}

static uint32_t constant (struct dt_graph *g, int64_t v)
{
    uint32_t id = 0;

    ck_assert_int_eq (dt_graph_const (g, DT_TYPE_INT, v, &id, NULL), 0);
    return id;
}

static uint32_t real (struct dt_graph *g, double v)
{
    uint32_t id = 0;

    ck_assert_int_eq (dt_graph_const (g, DT_TYPE_FLOAT, dt_op_bits (v), &id, NULL), 0);
    return id;
}

static uint32_t pick (struct dt_graph *g, uint32_t a, uint32_t b, uint32_t c)
{
    return random_add (g, (struct dt_node){ .op = DT_OP_SELECT, .type = g->node[b].type,
                                            .a = a, .b = b, .c = c });
}

/* One point: the dump of what it becomes, without places. */
static void expect (struct dt_graph *g, uint32_t id, const char *want)
{
    struct dt_point p = { .field = "out", .type = g->node[id].type, .node = id };
    struct dt_graph *n;
    struct dt_buf b = { 0 };
    uint32_t i;

    dt_graph_add_point (g, &p);
    n = simplify (g, DT_PASS_ALL, NULL, 0, NULL);
    for (i = 0; i < n->n_nodes; i++)
        n->node[i].span = UINT32_MAX;
    dt_graph_dump (n, &b);
    ck_assert_str_eq (dt_buf_str (&b), want);
    dt_buf_done (&b);
    dt_graph_free (n);
    dt_graph_free (g);
}

START_TEST (examples)
{
    struct dt_graph *g = dt_graph_new ();
    uint32_t n, flag, c, x;

    random_rows (g);
    n = LEAF (g, 0, DT_TYPE_INT); /* -2..4 */
    x = op2 (g, DT_OP_FADD, op2 (g, DT_OP_ITOF, n, n), op2 (g, DT_OP_ITOF, n, n));
    flag = LEAF (g, 3, DT_TYPE_BOOL);
    switch (_i) {
    case 0: /* offsets fold, and comparisons take one form */
        expect (g, op2 (g, DT_OP_LT, op2 (g, DT_OP_SUB, op2 (g, DT_OP_ADD, n, constant (g, 5)),
                                          constant (g, 2)), constant (g, 4)),
                "%0:i = input n\n%1:i = const 0\n%2:b = <= %0 %1\npoint out = %2\n");
        break;
    case 1: /* ranges decide */
        expect (g, op2 (g, DT_OP_MIN, n, constant (g, 4)),
                "%0:i = input n\npoint out = %0\n");
        break;
    case 2: /* a condition asked twice */
        c = pick (g, flag, constant (g, 7), n);
        expect (g, pick (g, flag, op2 (g, DT_OP_ADD, c, constant (g, 1)), constant (g, 9)),
                "%0:b = input flag\n%1:i = const 9\n%2:i = const 8\n"
                "%3:i = select %0 %2 %1\npoint out = %3\n");
        break;
    case 3: /* a value known on the path */
        c = op2 (g, DT_OP_EQ, n, constant (g, 3));
        expect (g, pick (g, c, op2 (g, DT_OP_MUL, n, constant (g, 10)), constant (g, 30)),
                "%0:i = const 30\npoint out = %0\n");
        break;
    case 4: /* bool selects are logic */
        c = op2 (g, DT_OP_LE, n, constant (g, 1));
        expect (g, pick (g, flag, c, op2 (g, DT_OP_NE, n, n)),
                "%0:i = input n\n%1:b = input flag\n%2:i = const 1\n%3:b = <= %0 %2\n"
                "%4:b = and %1 %3\npoint out = %4\n");
        break;
    case 5: /* what is the same for every float */
        c = op2 (g, DT_OP_FDIV, op2 (g, DT_OP_FMUL, real (g, 1.0), x), real (g, 1.0));
        expect (g, op2 (g, DT_OP_F32, op2 (g, DT_OP_F32, c, c), c),
                "%0:i = input n\n%1:f = float %0\n%2:f = + %1 %1\n%3:f = f32 %2\n"
                "point out = %3\n");
        break;
    case 6: /* -0.0 + 0.0 is 0.0 */
        expect (g, op2 (g, DT_OP_FADD, x, real (g, 0.0)),
                "%0:i = input n\n%1:f = float %0\n%2:f = + %1 %1\n%3:f = const 0.0\n"
                "%4:f = + %2 %3\npoint out = %4\n");
        break;
    case 7: /* -0.0 is kept, and told from 0.0 */
        c = op2 (g, DT_OP_FMIN, real (g, 0.0), real (g, -0.0));
        expect (g, pick (g, flag, op2 (g, DT_OP_FNEG, c, c), c),
                "%0:b = input flag\n%1:f = const -0.0\n%2:f = const 0.0\n"
                "%3:f = select %0 %1 %2\npoint out = %3\n");
        break;
    case 8: /* not x < y is not y <= x: of NaN both are false */
        c = pick (g, flag, real (g, __builtin_nan ("")), x);
        c = op2 (g, DT_OP_FADD, c, x);
        expect (g, op2 (g, DT_OP_NOT, op2 (g, DT_OP_FLT, c, x), x),
                "%0:i = input n\n%1:f = float %0\n%2:f = + %1 %1\n%3:b = input flag\n"
                "%4:f = const nan\n%5:f = select %3 %4 %2\n%6:f = + %2 %5\n%7:b = < %6 %2\n"
                "%8:b = not %7\npoint out = %8\n");
        break;
    default: /* a comparison goes into constant arms */
        c = pick (g, flag, constant (g, 128), constant (g, 64));
        expect (g, op2 (g, DT_OP_EQ, c, constant (g, 64)),
                "%0:b = input flag\n%1:b = not %0\npoint out = %1\n");
    }
}
END_TEST

/* A guard that rules the fault out, and one that is never true. */
START_TEST (guards)
{
    struct dt_graph *g = dt_graph_new (), *out;
    uint32_t n, m, c, q, never, f;
    struct dt_point p = { .field = "out", .type = DT_TYPE_INT };

    random_rows (g);
    n = LEAF (g, 0, DT_TYPE_INT);
    m = LEAF (g, 1, DT_TYPE_INT);
    c = op2 (g, DT_OP_NE, m, constant (g, 0));
    q = random_add (g, (struct dt_node){ .op = DT_OP_FLOORDIV, .type = DT_TYPE_INT, .a = n,
                                         .b = m, .guard = c });
    never = op2 (g, DT_OP_LT, n, constant (g, -5));
    f = random_add (g, (struct dt_node){ .op = DT_OP_FAIL, .type = DT_TYPE_INT, .imm = 5,
                                         .guard = never });
    p.node = op2 (g, DT_OP_MAX, q, f);
    dt_graph_add_point (g, &p);
    out = simplify (g, DT_PASS_ALL, NULL, 1, NULL);
    for (q = 0; q < out->n_nodes; q++)
        ck_assert (!dt_node_faults (&out->node[q]));
    dt_graph_free (out);
    dt_graph_free (g);
}
END_TEST

/* A sum that faults for some inputs is 0 there, off its path: nothing looks through it. */
START_TEST (off_the_path)
{
    static const uint8_t op[] = { DT_OP_ADD, DT_OP_SUB, DT_OP_LT, DT_OP_EQ, DT_OP_FLOORDIV };
    struct dt_graph *g = dt_graph_new ();
    struct dt_point p = { .field = "out" };
    uint32_t sum, n;
    size_t i;

    random_rows (g);
    n = LEAF (g, 0, DT_TYPE_INT);
    sum = random_add (g, (struct dt_node){ .op = DT_OP_ADD, .type = DT_TYPE_INT, .a = n,
                                           .b = constant (g, INT64_MAX), .guard = LEAF (g, 3, DT_TYPE_BOOL) });
    p.node = op2 (g, op[_i], sum, constant (g, INT64_MAX - 1));
    p.type = g->node[p.node].type;
    dt_graph_add_point (g, &p);
    for (i = 0; i < DT_ARRAY_SIZE (sets); i++)
        check_passes (g, sets[i], 1);
    dt_graph_free (g);
}
END_TEST

/* x // j // k for all signs. */
START_TEST (divisors)
{
    static const int64_t by[] = { -3, -2, -1, 1, 2, 3 };
    struct dt_graph *g = dt_graph_new ();
    struct dt_point p = { .field = "out", .type = DT_TYPE_INT };
    size_t i;

    random_rows (g);
    p.node = op2 (g, DT_OP_FLOORDIV, op2 (g, DT_OP_FLOORDIV, LEAF (g, 0, DT_TYPE_INT), constant (g, by[_i % 6])),
                  constant (g, by[_i / 6]));
    dt_graph_add_point (g, &p);
    for (i = 0; i < DT_ARRAY_SIZE (sets); i++)
        check_passes (g, sets[i], 1);
    dt_graph_free (g);
}
END_TEST

START_TEST (out_of_memory)
{
    struct dt_graph *g = random_graph (3, 40), *n = NULL;
    uint32_t *map = NULL;
    size_t i;
    int r = -1;

    for (i = 0; r < 0; i++) {
        dt_mem_fail_after (i);
        r = dt_simplify (g, DT_PASS_ALL, NULL, 1, &n, &map, NULL);
        dt_mem_fail_after (SIZE_MAX);
        MUST (r == 0 || (r == -ENOMEM && !n && !map), "%d", r);
    }
    ck_assert_uint_gt (i, 50);
    dt_free (map);
    dt_graph_free (n);
    dt_graph_free (g);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/simplify");
    TCase *tc = tcase_create ("simplify");

    tcase_set_timeout (tc, 120);
    tcase_add_loop_test (tc, random_programs, 0, 90);
    tcase_add_loop_test (tc, residual, 0, 60);
    tcase_add_test (tc, deterministic);
    tcase_add_loop_test (tc, examples, 0, 10);
    tcase_add_test (tc, guards);
    tcase_add_loop_test (tc, off_the_path, 0, 5);
    tcase_add_loop_test (tc, divisors, 0, 36);
    tcase_add_test (tc, out_of_memory);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
