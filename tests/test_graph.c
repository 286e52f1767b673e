/* Building graphs: hash-consing, rows, copies, domains, memory. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "selir/graph.h"
#include "tests/suite.h"

static uint32_t add (struct dt_graph *g, struct dt_node n)
{
    uint32_t id = 0;

    ck_assert_int_eq (dt_graph_add (g, n, &id, NULL), 0);
    return id;
}

static struct dt_graph *sample (void)
{
    static const int64_t set[] = { -3, 4, 9 };
    struct dt_graph *g = dt_graph_new ();
    struct dt_input in = { .name = "n", .klass = DT_INPUT_RUNTIME, .type = DT_TYPE_INT,
                           .domain = { .value = set, .n = 3 } };
    struct dt_knob knob = { .name = "k", .type = DT_TYPE_INT, .value = set, .n_values = 3 };
    struct dt_pin pin = { .name = "p", .type = DT_TYPE_BOOL };
    struct dt_cond cond = { .kind = DT_COND_REQUIRE, .guard = DT_NODE_NONE, .message = "why" };
    struct dt_point point = { .field = "out", .type = DT_TYPE_INT };
    uint32_t a, b;

    ck_assert_int_eq (dt_graph_add_file (g, "x.py"), 0);
    ck_assert_int_eq (dt_graph_add_span (g, (struct dt_span){ 0, 3, 5 }), 0);
    ck_assert_int_eq (dt_graph_add_enum (g, "fp8"), 0);
    ck_assert_int_eq (dt_graph_add_enum (g, "bf16"), 1);
    ck_assert_int_eq (dt_graph_add_enum (g, "fp8"), 0);
    ck_assert_int_eq (dt_graph_add_input (g, &in), 0);
    ck_assert_int_eq (dt_graph_add_knob (g, &knob), 0);
    ck_assert_int_eq (dt_graph_add_pin (g, &pin), 0);
    a = add (g, (struct dt_node){ .op = DT_OP_INPUT, .type = DT_TYPE_INT });
    b = add (g, (struct dt_node){ .op = DT_OP_KNOB, .type = DT_TYPE_INT });
    cond.value = add (g, (struct dt_node){ .op = DT_OP_LT, .type = DT_TYPE_BOOL, .a = a, .b = b });
    point.node = add (g, (struct dt_node){ .op = DT_OP_FLOORDIV, .type = DT_TYPE_INT, .a = a, .b = b,
                                           .guard = cond.value, .name = "f.q" });
    dt_graph_add_cond (g, &cond);
    dt_graph_add_point (g, &point);
    return g;
}

START_TEST (consing)
{
    struct dt_graph *g = sample ();
    struct dt_node n = { .op = DT_OP_FLOORDIV, .type = DT_TYPE_INT, .a = 0, .b = 1, .guard = 2 };
    uint32_t before = g->n_nodes, id;

    ck_assert_uint_eq (add (g, n), before - 1);
    ck_assert_str_eq (g->node[before - 1].name, "f.q");
    n.guard = DT_NODE_NONE;
    ck_assert_uint_eq (add (g, n), before); /* another path is another fault */
    n.safe = 1;
    id = add (g, n);
    ck_assert_uint_eq (id, before + 1);
    n.guard = 2; /* not read: proven safe */
    n.c = 1;     /* not used by the op    */
    ck_assert_uint_eq (add (g, n), id);
    dt_graph_const (g, DT_TYPE_INT, 1, &id, NULL);
    dt_graph_const (g, DT_TYPE_BOOL, 1, &before, NULL);
    ck_assert_uint_ne (id, before);
    ck_assert_uint_eq (g->input[0].node, 0);
    ck_assert_uint_eq (g->knob[0].node, 1);
    ck_assert_uint_eq (g->pin[0].node, DT_NODE_NONE);
    dt_graph_check (g);
    dt_graph_free (g);
}
END_TEST

/* One NaN, two zeros; and types are checked. */
START_TEST (floats)
{
    struct dt_graph *g = dt_graph_new ();
    struct dt_buf b = { 0 };
    uint32_t nan, other, zero, minus;

    dt_graph_const (g, DT_TYPE_FLOAT, 0x7ff8000000000000, &nan, NULL);
    dt_graph_const (g, DT_TYPE_FLOAT, -1, &other, NULL);
    ck_assert_uint_eq (nan, other);
    dt_graph_const (g, DT_TYPE_FLOAT, 0, &zero, NULL);
    dt_graph_const (g, DT_TYPE_FLOAT, INT64_MIN, &minus, NULL);
    ck_assert_uint_ne (zero, minus);
    add (g, (struct dt_node){ .op = DT_OP_FADD, .type = DT_TYPE_FLOAT, .a = nan, .b = minus });
    ck_assert (dt_graph_valid (g));
    dt_graph_dump (g, &b);
    ck_assert_str_eq (dt_buf_str (&b), "%0:f = const nan\n%1:f = const 0.0\n%2:f = const -0.0\n"
                                       "%3:f = + %0 %2\n");
    add (g, (struct dt_node){ .op = DT_OP_EQ, .type = DT_TYPE_BOOL, .a = nan, .b = zero });
    ck_assert (!dt_graph_valid (g)); /* FEQ is the op of floats */
    dt_buf_done (&b);
    dt_graph_free (g);
}
END_TEST

START_TEST (like_and_dump)
{
    struct dt_graph *g = sample (), *n = NULL;
    struct dt_buf b = { 0 };

    ck_assert_int_eq (dt_graph_like (g, &n, NULL), 0);
    ck_assert_uint_eq (n->n_inputs, 1);
    ck_assert_uint_eq (n->input[0].node, DT_NODE_NONE);
    ck_assert_int_eq (n->input[0].domain.hi, 9);
    ck_assert_ptr_ne (n->input[0].domain.value, g->input[0].domain.value);
    ck_assert_uint_eq (n->n_nodes + n->n_conds + n->n_points, 0);
    ck_assert_str_eq (n->enum_text[1], "bf16");
    dt_graph_dump (g, &b);
    ck_assert_str_eq (dt_buf_str (&b),
                      "%0:i = input n  x.py:3:5\n%1:i = knob k  x.py:3:5\n"
                      "%2:b = < %0 %1  x.py:3:5\n"
                      "%3:i = // %0 %1 if %2  # f.q  x.py:3:5\n"
                      "require %2 \"why\"  x.py:3:5\npoint out = %3\n");
    dt_buf_done (&b);
    dt_graph_free (g);
    dt_graph_free (n);
}
END_TEST

START_TEST (like_out_of_memory)
{
    struct dt_graph *g = sample (), *n = NULL;
    size_t i;
    int r;

    for (i = 0;; i++) {
        dt_mem_fail_after (i);
        r = dt_graph_like (g, &n, NULL);
        dt_mem_fail_after (SIZE_MAX);
        if (r == 0)
            break;
        ck_assert_int_lt (r, 0);
        ck_assert_ptr_null (n);
    }
    ck_assert_uint_gt (i, 3);
    dt_graph_free (n);
    dt_graph_free (g);
}
END_TEST

START_TEST (domains)
{
    static const int64_t set[] = { -3, 4, 9 };
    struct dt_domain s = { .lo = -3, .hi = 9, .value = set, .n = 3 };
    struct dt_domain r = { .lo = -4, .hi = 7, .step = 5 };
    struct dt_domain all = { .lo = INT64_MIN, .hi = INT64_MAX, .step = 1 };

    ck_assert (dt_domain_has (&s, 4) && !dt_domain_has (&s, 5) && !dt_domain_has (&s, 10));
    ck_assert (dt_domain_has (&r, -4) && dt_domain_has (&r, 6) && !dt_domain_has (&r, 7));
    ck_assert (!dt_domain_has (&r, 11) && dt_domain_has (&all, INT64_MIN));
    ck_assert_uint_eq (dt_domain_size (&s), 3);
    ck_assert_uint_eq (dt_domain_size (&r), 3);
    ck_assert_uint_eq (dt_domain_size (&all), UINT64_MAX);
    ck_assert_int_eq (dt_domain_at (&r, 2), 6);
    ck_assert_int_eq (dt_domain_at (&s, 0), -3);
    ck_assert_int_eq (dt_domain_at (&all, UINT64_MAX), INT64_MAX);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/graph");
    TCase *tc = tcase_create ("graph");

    tcase_add_test (tc, consing);
    tcase_add_test (tc, floats);
    tcase_add_test (tc, like_and_dump);
    tcase_add_test (tc, like_out_of_memory);
    tcase_add_test (tc, domains);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
