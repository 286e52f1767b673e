/* Ranges hold every value that a node takes: random graphs, all inputs. */
#include "tests/graph_random.h"

#include "selir/range.h"
#include "solver/check.h"
#include "tests/suite.h"

static int in_range (const struct dt_range *r, uint8_t type, int64_t v)
{
    uint32_t i;

    v = type == DT_TYPE_FLOAT ? dt_range_key (v) : v;
    if (v < r->lo || v > r->hi)
        return 0;
    for (i = 0; i < r->n; i++)
        if (r->set[i] == v)
            return 1;
    return r->n == 0;
}

static void check_values (const struct dt_graph *g, const struct dt_ranges *r,
                          const struct env *e, int64_t *v)
{
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++) {
        const struct dt_node *n = &g->node[i];
        struct dt_range range = dt_ranges_get (r, i);
        enum dt_fault f = eval_node (g, i, e, v);

        MUST (in_range (&range, n->type, v[i]), "%%%u (%s) took %lld, range %lld..%lld of %u", i,
              dt_op_text (n->op), (long long)v[i], (long long)range.lo, (long long)range.hi,
              range.n);
        if (dt_ranges_exact (r, i))
            MUST (!f, "%%%u is exact and raised", i);
        if (dt_ranges_safe (r, i) && !n->safe)
            MUST (!f || (n->guard != DT_NODE_NONE && !v[n->guard]), "%%%u is safe and raised", i);
    }
}

START_TEST (random_programs)
{
    struct dt_graph *g = random_graph ((uint64_t)_i + 1000, 10 + (uint32_t)_i % 80);
    struct dt_ranges *r = NULL;
    int64_t *v = dt_calloc (g->n_nodes, sizeof *v);
    struct env e;
    uint64_t at;

    ck_assert_int_eq (dt_ranges_new (g, NULL, &r, NULL), 0);
    for (at = 0; env_at (g, at, &e); at++)
        check_values (g, r, &e, v);
    dt_ranges_free (r);
    dt_free (v);
    dt_graph_free (g);
}
END_TEST

/* The same within a box: n in 1..2, k is 4. */
START_TEST (boxes)
{
    static const int64_t four[] = { 4 };
    struct dt_graph *g = random_graph ((uint64_t)_i + 5000, 60);
    struct dt_range *box = dt_calloc (g->n_nodes, sizeof *box);
    struct dt_ranges *r = NULL;
    int64_t *v = dt_calloc (g->n_nodes, sizeof *v);
    struct env e;
    uint64_t at;
    uint32_t i;

    for (i = 0; i < g->n_nodes; i++)
        box[i].lo = 1; /* lo > hi: no box */
    box[g->input[0].node] = (struct dt_range){ 1, 2, 0, NULL };
    box[g->knob[0].node] = (struct dt_range){ 4, 4, 1, four };
    ck_assert_int_eq (dt_ranges_new (g, box, &r, NULL), 0);
    for (at = 0; env_at (g, at, &e); at++)
        if (e.input[0] >= 1 && e.input[0] <= 2 && e.knob[0] == 4)
            check_values (g, r, &e, v);
    dt_ranges_free (r);
    dt_free (box);
    dt_free (v);
    dt_graph_free (g);
}
END_TEST

/* Each op on all pairs of small intervals, without sets: the interval arithmetic. */
#define WIDE 100 /* wider than a set, so that intervals are used */

static uint32_t wide_input (struct dt_graph *g, const char *name, int64_t lo, int64_t hi)
{
    struct dt_input in = { .name = name, .klass = DT_INPUT_RUNTIME, .type = DT_TYPE_INT,
                           .domain = { .lo = lo, .hi = hi, .step = 1 } };
    int64_t i = dt_graph_add_input (g, &in);

    return random_add (g, (struct dt_node){ .op = DT_OP_INPUT, .type = DT_TYPE_INT, .imm = i });
}

static void check_pair (uint8_t op, int64_t a, int64_t b, int64_t wa, int64_t wb)
{
    struct dt_graph *g = dt_graph_new ();
    struct dt_ranges *r = NULL;
    struct dt_range range;
    struct dt_node n = { .op = op, .type = DT_TYPE_INT, .guard = DT_NODE_NONE };
    int64_t x, y, v;
    uint32_t id;

    n.a = wide_input (g, "a", a, a + wa);
    n.b = wide_input (g, "b", b, b + wb);
    id = random_add (g, n);
    MUST (dt_ranges_new (g, NULL, &r, NULL) == 0, "out of memory");
    range = dt_ranges_get (r, id);
    for (x = a; x <= a + wa; x++) {
        for (y = b; y <= b + wb; y++) {
            enum dt_fault f = dt_op_eval (op, x, y, 0, &v);

            MUST (in_range (&range, DT_TYPE_INT, v), "%s (%lld, %lld) = %lld, not in %lld..%lld",
                           dt_op_text (op), (long long)x, (long long)y, (long long)v,
                           (long long)range.lo, (long long)range.hi);
            MUST (!f || !dt_ranges_exact (r, id), "%s is exact and raised", dt_op_text (op));
        }
    }
    dt_ranges_free (r);
    dt_graph_free (g);
}

static void check_pairs (uint8_t op)
{
    static const int64_t at[] = { INT64_MIN, -130, -101, -50, -7, 0, 1, 3, 60, 90 };
    static const int64_t width[] = { 0, 1, 5, WIDE };
    size_t i, k, w, x;

    for (i = 0; i < DT_ARRAY_SIZE (at); i++)
        for (k = 0; k < DT_ARRAY_SIZE (at); k++)
            for (w = 0; w < DT_ARRAY_SIZE (width); w++)
                for (x = 0; x < DT_ARRAY_SIZE (width); x++)
                    check_pair (op, at[i], at[k], width[w], width[x]);
    for (k = 0; k < DT_ARRAY_SIZE (at); k++)
        check_pair (op, INT64_MAX - WIDE - 1, at[k], WIDE, 5);
}

START_TEST (intervals)
{
    check_pairs ((uint8_t)(DT_OP_ADD + _i));
}
END_TEST

START_TEST (powers)
{
    check_pairs (DT_OP_IPOW);
}
END_TEST

/* Each op on floats: operands from intervals of many values, by whole numbers and by
 * parts, around zero and where doubles end; all that comes out is in the range. */
struct scale {
    double factor, add;
};
static const struct scale scales[] = {
    { 1, 0 },      { 0.85, 0 },     { -0.3, 7 },     { 0x1p52, 0.5 }, { 0x1p-1070, 0 },
    { 0x1p956, 0 }, { 1e15, -0.25 }, { 0x1p57, 0 },  { 1 / 3.0, 0 },
};

static uint32_t constant (struct dt_graph *g, double v)
{
    uint32_t id;

    MUST (dt_graph_const (g, DT_TYPE_FLOAT, dt_op_bits (v), &id, NULL) == 0, "out of memory");
    return id;
}

static uint32_t float_op (struct dt_graph *g, uint8_t op, uint32_t a, uint32_t b)
{
    const char *types = dt_op_types (op);
    char result = types[dt_op_args (op)];

    return random_add (g, (struct dt_node){
        .op = op, .a = a, .b = b, .c = DT_NODE_NONE, .guard = DT_NODE_NONE,
        .type = result == 'f' ? DT_TYPE_FLOAT : result == 'b' ? DT_TYPE_BOOL : DT_TYPE_INT });
}

/* The value of an operand: an int, or a float of it. */
static int64_t scaled (char type, const struct scale *s, int64_t n)
{
    return type == 'i' ? n : dt_op_bits ((double)n * s->factor + s->add);
}

static uint32_t operand (struct dt_graph *g, char type, const struct scale *s, uint32_t n)
{
    if (type == 'i')
        return n;
    n = float_op (g, DT_OP_ITOF, n, DT_NODE_NONE);
    n = float_op (g, DT_OP_FMUL, n, constant (g, s->factor));
    return float_op (g, DT_OP_FADD, n, constant (g, s->add));
}

static void check_float_pair (uint8_t op, const struct scale *s, const struct scale *t, int64_t a,
                              int64_t b)
{
    struct dt_graph *g = dt_graph_new ();
    const char *types = dt_op_types (op);
    int two = dt_op_args (op) == 2, exact;
    struct dt_ranges *r = NULL;
    struct dt_range range;
    int64_t x, y, v;
    uint32_t id;

    id = operand (g, types[0], s, wide_input (g, "a", a, a + WIDE));
    id = float_op (g, op, id, two ? operand (g, types[1], t, wide_input (g, "b", b, b + WIDE))
                                  : DT_NODE_NONE);
    MUST (dt_ranges_new (g, NULL, &r, NULL) == 0, "out of memory");
    range = dt_ranges_get (r, id);
    exact = dt_ranges_exact (r, id);
    MUST (dt_check_floats (g, r) == DT_NODE_NONE, "%s from %lld and %lld of scales %g and %g: the "
          "checker cannot see it", dt_op_text (op), (long long)a, (long long)b, s->factor, t->factor);
    for (x = a; x <= a + WIDE; x += 4)
        for (y = b; y <= b + (two ? WIDE : 0); y += 5) {
            enum dt_fault f = dt_op_eval (op, scaled (types[0], s, x), scaled (types[1], t, y), 0,
                                          &v);

            MUST (in_range (&range, g->node[id].type, v), "%s (%lld, %lld) of scales %g and %g",
                  dt_op_text (op), (long long)x, (long long)y, s->factor, t->factor);
            MUST (!f || !exact, "%s is exact and raised", dt_op_text (op));
        }
    dt_ranges_free (r);
    dt_graph_free (g);
}

START_TEST (float_intervals)
{
    static const int64_t at[] = { -250, -100, -50, 0, 1, 200 };
    size_t i, k, m, n;

    for (i = 0; i < DT_ARRAY_SIZE (scales); i++)
        for (k = 0; k < DT_ARRAY_SIZE (scales); k++)
            for (m = 0; m < DT_ARRAY_SIZE (at); m++)
                for (n = 0; n < DT_ARRAY_SIZE (at); n++)
                    check_float_pair ((uint8_t)(DT_OP_IDIV + _i), &scales[i], &scales[k], at[m],
                                      at[n]);
}
END_TEST

/* int (n * factor + add) */
static struct dt_graph *scaled_graph (const struct scale *s, int64_t lo)
{
    struct dt_graph *g = dt_graph_new ();

    float_op (g, DT_OP_FTOI, operand (g, 'f', s, wide_input (g, "n", lo, lo + WIDE)),
              DT_NODE_NONE);
    return g;
}

/* The checker does not believe the ranges of another graph of the same shape, unless
 * they happen to hold what this one computes. */
START_TEST (ranges_of_another_graph)
{
    static const struct scale other[] = { { 1, 0 }, { 1.5, 0.25 }, { 0.85, 0 }, { -1, 0 },
                                          { 0x1p60, 0 } };
    static const struct scale own = { 1.5, 9.75 };
    struct dt_graph *g = scaled_graph (&own, 1), *h;
    struct dt_ranges *r;

    for (size_t i = 0; i < DT_ARRAY_SIZE (other); i++) {
        h = scaled_graph (&other[i], 1);
        ck_assert_uint_eq (h->n_nodes, g->n_nodes);
        ck_assert_int_eq (dt_ranges_new (h, NULL, &r, NULL), 0);
        ck_assert_uint_eq (dt_check_floats (h, r), DT_NODE_NONE);
        ck_assert_uint_ne (dt_check_floats (g, r), DT_NODE_NONE);
        dt_ranges_free (r);
        dt_graph_free (h);
    }
    dt_graph_free (g);
}
END_TEST

/* What is known of floats is known tightly. */
START_TEST (tight_floats)
{
    struct dt_graph *g = dt_graph_new ();
    struct dt_ranges *r = NULL;
    uint32_t n, share, whole, over, single, q;

    n = wide_input (g, "n", 1, 1000);
    share = float_op (g, DT_OP_FMUL, float_op (g, DT_OP_ITOF, n, DT_NODE_NONE), constant (g, 0.85));
    whole = float_op (g, DT_OP_FTOI, share, DT_NODE_NONE);
    over = float_op (g, DT_OP_FLE, share, constant (g, 850));
    single = float_op (g, DT_OP_F32, share, DT_NODE_NONE);
    q = float_op (g, DT_OP_FFLOORDIV, share, constant (g, 128));
    ck_assert_int_eq (dt_ranges_new (g, NULL, &r, NULL), 0);
    ck_assert (dt_ranges_exact (r, whole));
    ck_assert_int_eq (dt_ranges_get (r, whole).lo, 0);
    ck_assert_int_eq (dt_ranges_get (r, whole).hi, 850);
    ck_assert_int_eq (dt_ranges_get (r, over).lo, 1);
    ck_assert_int_eq (dt_ranges_get (r, single).lo, dt_range_key (dt_op_bits ((double)0.85f)));
    ck_assert_int_eq (dt_ranges_get (r, q).hi, dt_range_key (dt_op_bits (6)));
    ck_assert (dt_ranges_exact (r, q));
    dt_ranges_free (r);
    dt_graph_free (g);
}
END_TEST

/* Divisors that no zero is among; floats decided by their sets. */
START_TEST (floats)
{
    struct dt_graph *g = dt_graph_new ();
    struct dt_ranges *r = NULL;
    uint32_t n, m, half, q, d, less, wide;

    n = wide_input (g, "n", 1, 1000);
    m = wide_input (g, "m", 1, 3);
    dt_graph_const (g, DT_TYPE_FLOAT, dt_op_bits (0.5), &half, NULL);
    q = random_add (g, (struct dt_node){ .op = DT_OP_IDIV, .type = DT_TYPE_FLOAT, .a = n, .b = n,
                                         .guard = DT_NODE_NONE });
    d = random_add (g, (struct dt_node){ .op = DT_OP_FDIV, .type = DT_TYPE_FLOAT, .a = q,
                                         .b = half, .guard = DT_NODE_NONE });
    less = random_add (g, (struct dt_node){ .op = DT_OP_FLTI, .type = DT_TYPE_BOOL, .a = half,
                                            .b = m });
    wide = random_add (g, (struct dt_node){ .op = DT_OP_FLTI, .type = DT_TYPE_BOOL, .a = half,
                                            .b = n });
    ck_assert_int_eq (dt_ranges_new (g, NULL, &r, NULL), 0);
    ck_assert (dt_ranges_exact (r, q) && dt_ranges_exact (r, d));
    ck_assert_int_eq (dt_ranges_get (r, less).lo, 1);
    ck_assert_int_eq (dt_ranges_get (r, wide).lo, 1);
    ck_assert_uint_eq (dt_ranges_get (r, d).n, 0);
    dt_ranges_free (r);
    dt_graph_free (g);
}
END_TEST

/* if n > 0: x // n, and min by hand: what the path says is used. */
START_TEST (conditions)
{
    struct dt_graph *g = dt_graph_new ();
    struct dt_ranges *r = NULL;
    struct dt_range range;
    uint32_t n, zero, cap, c, q, less, s;

    n = wide_input (g, "n", 0, 1000);
    dt_graph_const (g, DT_TYPE_INT, 0, &zero, NULL);
    dt_graph_const (g, DT_TYPE_INT, 64, &cap, NULL);
    c = random_add (g, (struct dt_node){ .op = DT_OP_LT, .type = DT_TYPE_BOOL, .a = zero, .b = n });
    q = random_add (g, (struct dt_node){ .op = DT_OP_FLOORDIV, .type = DT_TYPE_INT, .a = cap,
                                         .b = n, .guard = c });
    less = random_add (g, (struct dt_node){ .op = DT_OP_LE, .type = DT_TYPE_BOOL, .a = n,
                                            .b = cap });
    s = random_add (g, (struct dt_node){ .op = DT_OP_SELECT, .type = DT_TYPE_INT, .a = less,
                                         .b = n, .c = cap });
    ck_assert_int_eq (dt_ranges_new (g, NULL, &r, NULL), 0);
    ck_assert (dt_ranges_safe (r, q) && !dt_ranges_exact (r, q));
    range = dt_ranges_get (r, s);
    ck_assert_int_eq (range.lo, 0);
    ck_assert_int_eq (range.hi, 64);
    dt_ranges_free (r);
    dt_graph_free (g);
}
END_TEST

START_TEST (out_of_memory)
{
    struct dt_graph *g = random_graph (9, 80);
    struct dt_ranges *r = NULL;
    size_t i;
    int ok = -1;

    for (i = 0; ok < 0; i++) {
        dt_mem_fail_after (i);
        ok = dt_ranges_new (g, NULL, &r, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (ok == 0 || !r);
    }
    ck_assert_uint_gt (i, 3);
    dt_ranges_free (r);
    dt_graph_free (g);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/range");
    TCase *tc = tcase_create ("range");

    tcase_set_timeout (tc, 120);
    tcase_add_loop_test (tc, random_programs, 0, 150);
    tcase_add_loop_test (tc, boxes, 0, 40);
    tcase_add_loop_test (tc, intervals, 0, DT_OP_MAX - DT_OP_ADD + 1);
    tcase_add_test (tc, powers);
    tcase_add_loop_test (tc, float_intervals, 0, DT_OP_FBOOL - DT_OP_IDIV + 1);
    tcase_add_test (tc, tight_floats);
    tcase_add_test (tc, ranges_of_another_graph);
    tcase_add_test (tc, floats);
    tcase_add_test (tc, conditions);
    tcase_add_test (tc, out_of_memory);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
