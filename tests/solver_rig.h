/* tests/solver_rig.h - small programs from their body to a solution.
 * Used by: tests/test_check.c, tests/test_solve.c. */
#ifndef DT_TESTS_SOLVER_RIG_H
#define DT_TESTS_SOLVER_RIG_H

#include <check.h>
#include <inttypes.h>
#include <stdio.h>

#include "solver/solve.h"

#define HEAD \
    "from __future__ import annotations\n" \
    "from selir import Batch, Facts, Free, Own, Record, Runtime, Unpinnable, assume, knob, " \
    "require, selection\n\n" \
    "class Model(Facts):\n    n: int\n\n" \
    "class Call(Batch):\n" \
    "    m: Runtime[range(1, facts.n + 1)]\n" \
    "    t: Unpinnable[range(1, 1 << 40)]\n" \
    "    own: Own[range(1, 101)]\n\n" \
    "class Choice(Record):\n    x: int\n    y: Free[int]\n\n" \
    "@selection(family=\"f\")\n" \
    "def choose(facts: Model, call: Call) -> Choice:\n"

static inline struct dt_graph *graph_of (const char *body, int64_t n)
{
    char text[4096];
    struct dt_source source = { "f.py", text, 0 };
    struct dt_fact fact = { .name = "n", .kind = DT_FACT_INT, .i = n };
    struct dt_program *p;
    struct dt_graph *g;
    struct dt_err err = { "" };

    source.len = (size_t)snprintf (text, sizeof text, "%s%s", HEAD, body);
    ck_assert_msg (dt_program_parse (&source, 1, &p, &err) == 0, "%s", err.text);
    ck_assert_msg (dt_program_specialise (p, &fact, 1, &g, &err) == 0, "%s", err.text);
    dt_program_free (p);
    return g;
}

static inline int solve (const char *body, int64_t n, const struct dt_solve_options *o,
                  struct dt_solution **ret, struct dt_err *err)
{
    static const struct dt_solve_options none = { .site = "s" };
    struct dt_graph *g = graph_of (body, n);
    int r = dt_solve (g, o ? o : &none, ret, err);

    dt_graph_free (g);
    return r;
}

/* Pins, and the verdicts of all assignments, as text. */
static inline void show (const struct dt_solution *s, struct dt_buf *b)
{
    size_t i, k;

    for (i = 0; i < s->n_pins; i++) {
        dt_buf_printf (b, "%s%s:", i ? "; " : "", s->pin[i].name);
        for (k = 0; k < s->pin[i].n_candidates; k++)
            dt_buf_printf (b, " %" PRId64, s->pin[i].candidate[k]);
    }
    dt_buf_printf (b, " |");
    for (i = 0; i < s->n_assignments; i++)
        dt_buf_printf (b, " %s", dt_verdict_name (s->verdict[i]));
}

#endif
