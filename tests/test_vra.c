/* tests/test_vra.c - solver/vra, batch, candidates: verdicts against exhaustive
 * evaluation of random graphs, and each way to reach one. */
#include "tests/graph_random.h"

#include <inttypes.h>
#include <stdio.h>

#include "solver/candidates.h"
#include "solver/check.h"
#include "solver/reach.h"
#include "solver/solution.h"
#include "solver/vra.h"
#include "tests/suite.h"

/* Conditions that narrow the domain: assumes that no knob reaches. */
static void mark_limits (const struct dt_graph *g, uint8_t *limit)
{
    uint8_t *knob = dt_calloc (g->n_nodes, 1);
    uint32_t i;

    for (i = 0; i < g->n_knobs; i++)
        knob[g->knob[i].node] = 1;
    dt_reach_users (g, knob);
    for (i = 0; i < g->n_conds; i++)
        limit[i] = g->cond[i].kind == DT_COND_ASSUME && !knob[g->cond[i].value]
                   && (g->cond[i].guard == DT_NODE_NONE || !knob[g->cond[i].guard]);
    dt_free (knob);
}

/* Legality of every combination of knobs by trying all inputs; *ret_any: some
 * input is in the domain. */
static void brute (const struct dt_graph *g, uint8_t *illegal, int *ret_any)
{
    uint8_t *use = dt_calloc ((size_t)g->n_nodes + g->n_conds, 1);
    uint8_t *limit = dt_calloc (g->n_conds, 1);
    int64_t *v = dt_calloc (g->n_nodes, sizeof *v);
    struct env e;
    uint64_t at;
    uint32_t i;

    mark_limits (g, limit);
    for (i = 0; i < g->n_nodes + g->n_conds; i++)
        use[i] = i < g->n_nodes || !limit[i - g->n_nodes];
    *ret_any = 0;
    for (at = 0; env_at (g, at, &e); at++) {
        struct first f = eval_graph (g, &e, v, use);
        size_t a = 0;
        int out = 0;

        for (i = 0; i < g->n_conds; i++)
            out |= limit[i] && !v[g->cond[i].value]
                   && (g->cond[i].guard == DT_NODE_NONE || v[g->cond[i].guard]);
        if (out)
            continue;
        *ret_any = 1;
        for (i = 0; i < g->n_knobs; i++) {
            size_t k = 0;

            while (g->knob[i].value[k] != e.knob[i])
                k++;
            a = a * g->knob[i].n_values + k;
        }
        illegal[a] |= f.seq != UINT64_MAX;
    }
    dt_free (use);
    dt_free (limit);
    dt_free (v);
}

/* A solution of a graph that has knobs and no pins. */
static struct dt_solution *of_graph (struct dt_graph *g)
{
    struct dt_solution *s = dt_calloc (1, sizeof *s);

    s->residual = g;
    MUST (dt_solution_knobs (s) == 0 && dt_solution_count (s, NULL) == 0, "no assignments");
    s->verdict = dt_arena_array (&s->arena, s->n_assignments, 1);
    s->why = dt_arena_array (&s->arena, s->n_assignments, sizeof *s->why);
    return s;
}

static int n_legal, n_illegal, n_empty;

static void one_graph (uint64_t seed, uint32_t size)
{
    struct dt_graph *g = random_graph (seed, size);
    struct dt_solution *s = of_graph (g);
    uint8_t illegal[64] = { 0 };
    struct dt_err err = { "" };
    int any, r = dt_vra_judge (g, s, 1 + (unsigned)(seed % 2), &err);
    size_t a;

    brute (g, illegal, &any);
    if (!any) {
        MUST (r == -DT_EILLEGAL, "seed %" PRIu64 ": %d %s", seed, r, err.text);
        n_empty++;
    } else
        MUST (r == 0, "seed %" PRIu64 ": %d %s", seed, r, err.text);
    for (a = 0; any && a < s->n_assignments; a++) {
        MUST ((s->verdict[a] == DT_ILLEGAL) == illegal[a], "seed %" PRIu64 " assignment %zu: %s, %s",
              seed, a, dt_verdict_name (s->verdict[a]), s->why[a] ? s->why[a] : "");
        MUST (s->verdict[a] != DT_SAMPLED, "seed %" PRIu64 ": sampled", seed);
        MUST ((s->why[a] != NULL) == illegal[a], "seed %" PRIu64 ": why", seed);
        *(illegal[a] ? &n_illegal : &n_legal) += 1;
    }
    if (any)
        MUST (dt_check_proof (s, &err) == 0, "seed %" PRIu64 ": %s", seed, err.text);
    dt_solution_free (s);
}

START_TEST (vra_random)
{
    uint64_t seed;

    for (seed = 1; seed <= 700; seed++)
        one_graph (seed, 3 + (uint32_t)(seed % 12));
    /* All kinds were met. */
    ck_assert_int_gt (n_legal, 200);
    ck_assert_int_gt (n_illegal, 200);
    ck_assert_int_gt (n_empty, 0);
}
END_TEST

/* --- built by hand ----------------------------------------------------------------- */

static uint32_t add (struct dt_graph *g, uint8_t op, uint8_t type, uint32_t a, uint32_t b)
{
    struct dt_node n = { .op = op, .type = type, .a = a, .b = b, .guard = DT_NODE_NONE,
                         .seq = g->next_seq++ };
    uint32_t id = 0;

    MUST (dt_graph_add (g, n, &id, NULL) == 0, "no value added");
    return id;
}

static uint32_t input (struct dt_graph *g, const char *name, int64_t hi)
{
    struct dt_input in = { .name = name, .klass = DT_INPUT_RUNTIME, .type = DT_TYPE_INT,
                           .domain = { .lo = 1, .hi = hi, .step = 1 } };
    struct dt_node n = { .op = DT_OP_INPUT, .type = DT_TYPE_INT, .guard = DT_NODE_NONE };
    uint32_t id = 0;

    n.imm = dt_graph_add_input (g, &in);
    MUST (dt_graph_add (g, n, &id, NULL) == 0, "no input added");
    return id;
}

static uint32_t number (struct dt_graph *g, int64_t v)
{
    uint32_t id = 0;

    MUST (dt_graph_const (g, DT_TYPE_INT, v, &id, NULL) == 0, "no constant added");
    return id;
}

static void condition (struct dt_graph *g, uint8_t kind, uint32_t value, const char *message)
{
    struct dt_cond c = { .kind = kind, .value = value, .guard = DT_NODE_NONE, .message = message,
                         .seq = g->next_seq++ };

    MUST (dt_graph_add_cond (g, &c) >= 0, "no condition added");
}

/* a, b in 1..hi; require (a * b CMP limit), and what becomes of it. */
static const struct {
    const char *what;
    int64_t hi, limit;
    int parity; /* instead: (a + b) % 2 <= limit */
    int verdict;
    const char *why;
} ways[] = {
    { "one box", 1000, 1000000, 0, DT_PROVED, NULL },
    { "boxes find it", 1000, 999999, 0, DT_ILLEGAL, "a=1000, b=1000: too much (?)" },
    { "all points", 300, 1, 1, DT_PROVED, NULL },
    { "all points break", 300, 0, 1, DT_ILLEGAL, "a=1, b=2: too much (?)" },
    { "boxes of a large domain find it", 1 << 20, 0, 1, DT_ILLEGAL, "a=1, b=2: too much (?)" },
};

START_TEST (vra_ways)
{
    struct dt_graph *g = dt_graph_new ();
    uint32_t a = input (g, "a", ways[_i].hi), b = input (g, "b", ways[_i].hi);
    uint32_t x = ways[_i].parity
                     ? add (g, DT_OP_MOD, DT_TYPE_INT, add (g, DT_OP_ADD, DT_TYPE_INT, a, b),
                            number (g, 2))
                     : add (g, DT_OP_MUL, DT_TYPE_INT, a, b);
    struct dt_solution *s;
    struct dt_err err = { "" };

    condition (g, DT_COND_REQUIRE,
               add (g, DT_OP_LE, DT_TYPE_BOOL, x, number (g, ways[_i].limit)), "too much");
    s = of_graph (g);
    ck_assert_int_eq (dt_vra_judge (g, s, 2, &err), 0);
    ck_assert_str_eq (dt_verdict_name (s->verdict[0]), dt_verdict_name (ways[_i].verdict));
    if (ways[_i].why)
        ck_assert_str_eq (s->why[0], ways[_i].why);
    dt_solution_free (s);
}
END_TEST

/* (a * a) % 7 is never 3: no box shows it, all points do, and a sample where there
 * are too many. */
START_TEST (vra_evidence)
{
    static const int64_t hi[] = { 1000, 1 << 20, 1 << 24 };
    static const int want[] = { DT_EXHAUSTED, DT_EXHAUSTED, DT_SAMPLED };
    struct dt_graph *g = dt_graph_new ();
    uint32_t a = input (g, "a", hi[_i]);
    uint32_t x = add (g, DT_OP_MOD, DT_TYPE_INT, add (g, DT_OP_MUL, DT_TYPE_INT, a, a),
                      number (g, 7));
    struct dt_solution *s;

    condition (g, DT_COND_REQUIRE, add (g, DT_OP_NE, DT_TYPE_BOOL, x, number (g, 3)), "never");
    s = of_graph (g);
    ck_assert_int_eq (dt_vra_judge (g, s, 1, NULL), 0);
    ck_assert_str_eq (dt_verdict_name (s->verdict[0]), dt_verdict_name (want[_i]));
    dt_solution_free (s);
}
END_TEST

/* What an assume excludes, and that it does: also through an input that the
 * condition does not read. */
START_TEST (vra_assume)
{
    struct dt_graph *g = dt_graph_new ();
    uint32_t a = input (g, "a", 100), b = input (g, "b", 100);
    struct dt_solution *s;

    condition (g, DT_COND_ASSUME, add (g, DT_OP_LE, DT_TYPE_BOOL, b, number (g, 10)), "small b");
    condition (g, DT_COND_ASSUME, add (g, DT_OP_LE, DT_TYPE_BOOL, a, b), "a under b");
    condition (g, DT_COND_REQUIRE, add (g, DT_OP_LE, DT_TYPE_BOOL, a, number (g, 9 + _i)),
               "small a");
    s = of_graph (g);
    ck_assert_int_eq (dt_vra_judge (g, s, 1, NULL), 0);
    ck_assert_str_eq (s->excluded, "assumptions exclude 9945 of 10000 inputs");
    ck_assert_int_eq (s->verdict[0] == DT_ILLEGAL, _i == 0);
    if (_i == 0)
        ck_assert_str_eq (s->why[0], "a=10: small a (?)");
    dt_solution_free (s);
}
END_TEST

START_TEST (vra_nothing_left)
{
    struct dt_graph *g = dt_graph_new ();
    uint32_t a = input (g, "a", 100);
    struct dt_solution *s;
    struct dt_err err = { "" };

    condition (g, DT_COND_ASSUME, add (g, DT_OP_LT, DT_TYPE_BOOL, a, number (g, 1)), "no a");
    s = of_graph (g);
    ck_assert_int_eq (dt_vra_judge (g, s, 2, &err), -DT_EILLEGAL);
    ck_assert_str_eq (err.text, "?: the program's assumptions leave no input: no a");
    dt_solution_free (s);
}
END_TEST

/* --- candidates --------------------------------------------------------------------- */

/* The candidates of every value of random graphs are the values that it takes, or,
 * where its faults could not be told, no fewer. */
START_TEST (candidates_random)
{
    uint64_t seed, at;

    for (seed = 1; seed <= 60; seed++) {
        struct dt_graph *g = random_graph (seed, 12);
        int64_t *v = dt_calloc (g->n_nodes, sizeof *v), *value;
        struct dt_ranges *ranges;
        uint32_t node = g->n_nodes - 1 - (uint32_t)(seed % 5);
        uint8_t exact, seen[4096] = { 0 }, cone[256] = { 0 };
        size_t n, i;
        struct env e;

        MUST (dt_ranges_new (g, NULL, &ranges, NULL) == 0, "no ranges");
        MUST (dt_candidates (g, node, ranges, "x", &value, &n, &exact, NULL) == 0, "seed %" PRIu64,
              seed);
        MUST (exact, "seed %" PRIu64 ": not exact", seed);
        cone[node] = 1;
        for (i = g->n_nodes; i-- > 0;) {
            uint32_t args[3];
            int k;

            if (!cone[i])
                continue;
            dt_reach_root (cone, g->node[i].guard);
            for (k = dt_node_args (&g->node[i], args); k-- > 0;)
                cone[args[k]] = 1;
        }
        memset (cone + g->n_nodes, 0, sizeof cone - g->n_nodes);
        for (at = 0; env_at (g, at, &e); at++) {
            if (eval_graph (g, &e, v, cone).seq != UINT64_MAX)
                continue;
            for (i = 0; i < n && value[i] != v[node]; i++)
                ;
            MUST (i < n, "seed %" PRIu64 ": %" PRId64 " is missing", seed, v[node]);
            seen[i] = 1;
        }
        for (i = 0; i < n; i++) {
            MUST (seen[i], "seed %" PRIu64 ": %" PRId64 " is never taken", seed, value[i]);
            MUST (i == 0 || value[i - 1] < value[i], "seed %" PRIu64 ": order", seed);
        }
        dt_free (value);
        dt_free (v);
        dt_ranges_free (ranges);
        dt_graph_free (g);
    }
}
END_TEST

START_TEST (candidates_limit)
{
    struct dt_graph *g = dt_graph_new ();
    uint32_t a = input (g, "a", 1 << 17), b = input (g, "b", 1 << 17);
    uint32_t sum = add (g, DT_OP_ADD, DT_TYPE_INT, a, b);
    uint32_t few = add (g, DT_OP_MIN, DT_TYPE_INT, sum, number (g, 100));
    struct dt_ranges *ranges;
    struct dt_err err = { "" };
    int64_t *value;
    uint8_t exact;
    size_t n;

    ck_assert_int_eq (dt_ranges_new (g, NULL, &ranges, NULL), 0);
    ck_assert_int_eq (dt_candidates (g, a, ranges, "f.a", &value, &n, &exact, &err), -DT_ELIMIT);
    ck_assert_str_eq (err.text, "pin f.a has more than 65536 candidates");
    ck_assert_int_eq (dt_candidates (g, sum, ranges, "s", &value, &n, &exact, &err), -DT_ELIMIT);
    ck_assert_int_eq (dt_candidates (g, few, ranges, "few", &value, &n, &exact, &err), 0);
    ck_assert (!exact);
    ck_assert_uint_eq (n, 99); /* 2..100, its range */
    dt_free (value);
    dt_ranges_free (ranges);
    dt_graph_free (g);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("solver/vra");
    TCase *tc = tcase_create ("vra");

    tcase_set_timeout (tc, 120);
    tcase_add_test (tc, vra_random);
    tcase_add_loop_test (tc, vra_ways, 0, DT_ARRAY_SIZE (ways));
    tcase_add_loop_test (tc, vra_evidence, 0, 3);
    tcase_add_loop_test (tc, vra_assume, 0, 2);
    tcase_add_test (tc, vra_nothing_left);
    tcase_add_test (tc, candidates_random);
    tcase_add_test (tc, candidates_limit);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
