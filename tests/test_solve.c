/* tests/test_solve.c - solver/solve, solution, encode, default, key, site: programs
 * from text to selectors. */
#include "tests/graph_random.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "selir/vm.h"
#include "solver/check.h"
#include "solver/family.h"
#include "solver/site.h"
#include "tests/solver_rig.h"
#include "tests/suite.h"

static const struct {
    const char *what, *body;
    int64_t n;
    const char *want; /* show(), or the start of an error's text */
    int code;
} cases[] = {
    { "B13a: the input itself", "    return Choice(x=call.m, y=0)\n", 3,
      "input.m: 1 2 3 | proved proved proved", 0 },
    { "B13b: a constant", "    return Choice(x=4, y=0)\n", 3, " | proved", 0 },
    { "B13c: nothing may be pinned", "    big = call.t * 3\n    return Choice(x=big, y=0)\n", 3,
      "f.py:13:8: selection point x cannot be made invariant: no value on the path t -> big -> x "
      "may be pinned; the last takes more than 2^20 values", -DT_EUNCUT },
    { "B13d: a branch that is never taken",
      "    x = 4\n    if facts.n < 0:\n        x = call.m\n    return Choice(x=x, y=0)\n", 3,
      " | proved", 0 },
    { "a branch that ranges rule out",
      "    x = 4\n    if call.m > facts.n:\n        x = call.m\n    return Choice(x=x, y=0)\n", 3,
      " | proved", 0 },
    { "a threshold on the batch",
      "    tile = 192\n    if call.m <= 9:\n        tile = 64\n    return Choice(x=tile, y=0)\n", 20,
      "choose.tile: 64 192 | proved proved", 0 },
    { "an unpinnable average", "    avg = min(call.t // call.m, 2)\n    return Choice(x=avg, y=0)\n",
      4, "choose.avg: 0 1 2 | proved proved proved", 0 },
    { "one pin for both uses",
      "    big = call.m > 2\n    a = 1 if big else 2\n    b = 10 if big else 20\n"
      "    return Choice(x=a + b, y=0)\n", 4, "point.x: 11 22 | proved proved", 0 },
    { "a free field costs nothing", "    return Choice(x=1, y=call.m)\n", 4, " | proved", 0 },
    { "what depends on an own input is no pin",
      "    k = 2 if call.m > 2 else 4\n    return Choice(x=call.own // k, y=0)\n", 4,
      "choose.k: 2 4 | proved proved", 0 },
    { "true of the program is not true of the pin",
      "    splits = -(-call.m // 4)\n    require(splits * 4 >= call.m, \"covers\")\n"
      "    return Choice(x=splits, y=0)\n", 16,
      "choose.splits: 1 2 3 4 | illegal illegal illegal proved", 0 },
    { "a knob is judged with the pins",
      "    stride = knob(\"stride\", (4, 8), default=4)\n    splits = -(-call.m // stride)\n"
      "    require(splits * stride >= call.m, \"covers\")\n    return Choice(x=splits, y=0)\n", 16,
      "choose.splits: 1 2 3 4 | illegal illegal illegal proved illegal proved proved proved", 0 },
    { "a knob of floats",
      "    k = 1 if call.m > 2 else 2\n    require(k * knob(\"share\", (0.75, 0.25), default=0.25) < 1, \"fits\")\n"
      "    return Choice(x=k, y=0)\n", 4,
      "choose.k: 1 2 | proved proved illegal proved", 0 },
    { "a condition on the pinned value",
      "    splits = -(-call.m // 4)\n    require(splits <= 3, \"few\")\n"
      "    return Choice(x=splits, y=0)\n", 16,
      "choose.splits: 1 2 3 4 | proved proved proved illegal", 0 },
    { "a condition on its own copy of the pinned value's expression",
      "    splits = -(-call.m // 4)\n    require(-(-call.m // 4) <= 3, \"few\")\n"
      "    return Choice(x=splits, y=0)\n", 16,
      "no assignment is legal; the first: m=13: few (f.py:19:5)", -DT_EILLEGAL },
    { "a condition on both",
      "    splits = -(-call.m // 4)\n    require(splits >= -(-call.m // 4), \"covers\")\n"
      "    return Choice(x=splits, y=0)\n", 16,
      "choose.splits: 1 2 3 4 | illegal illegal illegal proved", 0 },
    { "a condition that reads the pinned input itself",
      "    require(call.m <= 3, \"few\")\n    return Choice(x=call.m, y=0)\n", 5,
      "no assignment is legal; the first: m=4: few (f.py:18:5)", -DT_EILLEGAL },
    { "a condition on a local that is the input",
      "    splits = call.m\n    require(splits <= 3, \"few\")\n    return Choice(x=splits, y=0)\n", 5,
      "input.m: 1 2 3 4 5 | proved proved proved illegal illegal", 0 },
    { "a condition on a pinned input and its local",
      "    splits = call.m\n    require(splits >= call.m, \"covers\")\n"
      "    return Choice(x=splits, y=0)\n", 3,
      "input.m: 1 2 3 | illegal illegal proved", 0 },
    { "a point that repeats the expression is the same value",
      "    splits = -(-call.m // 4)\n    require(splits <= 3, \"few\")\n"
      "    return Choice(x=-(-call.m // 4), y=0)\n", 16,
      "choose.splits: 1 2 3 4 | proved proved proved illegal", 0 },
    { "an assumption on its own copy narrows the domain",
      "    splits = -(-call.m // 4)\n    assume(-(-call.m // 4) <= 2, \"few\")\n"
      "    require(splits * 4 >= call.m, \"covers\")\n    return Choice(x=splits, y=0)\n", 16,
      "choose.splits: 1 2 3 4 | illegal proved proved proved", 0 },
    { "floats by their ranges",
      "    k = 1 if call.m > 2 else 2\n    share = int(call.t * 0.85) * k\n"
      "    require(0 <= share < 1 << 41 and call.t / 3 < 3.7e11, \"bounded\")\n"
      "    require(round(call.t * 0.5) // 1 >= 0 and call.t / (call.t + 0.5) <= 1.1e12, \"ratio\")\n"
      "    return Choice(x=k, y=0)\n", 4,
      "choose.k: 1 2 | proved proved", 0 },
    { "floats by splitting",
      "    k = 1 if call.m > 2 else 2\n    require(int(call.m * 0.85) <= call.m, \"less\")\n"
      "    require(max(call.m * 0.25, 1.0) <= call.m, \"a share\")\n"
      "    return Choice(x=k, y=0)\n", 1 << 30,
      "choose.k: 1 2 | proved proved", 0 },
    { "a fault is as bad as a condition",
      "    k = call.m - 1 if call.m > 2 else 7\n    return Choice(x=k, y=10 // (k - 3))\n", 4,
      "choose.k: 2 3 7 | proved illegal proved", 0 },
    { "an error of what only a pin needed goes with it",
      "    k = (2, 4)[call.m // 3] + 3 // (call.m - 2)\n    require(k < 8, \"few\")\n"
      "    return Choice(x=k, y=0)\n", 7,
      "choose.k: -1 5 7 | proved proved proved", 0 },
    { "an index that a condition needs too stays",
      "    i = (2, 4)[call.m // 3]\n    k = 1 if i > 2 else 3\n    require(i < 8, \"few\")\n"
      "    return Choice(x=k, y=0)\n", 7,
      "no assignment is legal; the first: m=6: IndexError (f.py:18:9)", -DT_EILLEGAL },
    { "the smallest of nothing, for a pin",
      "    k = min(s for s in (1, 2, 3) if s >= call.m)\n    return Choice(x=k, y=0)\n", 7,
      "choose.k: 1 2 3 | proved proved proved", 0 },
    { "nothing is legal", "    x = 1 if call.m > 2 else 2\n    require(x > 2, \"more\")\n"
                          "    return Choice(x=x, y=0)\n", 4,
      "no assignment is legal; the first: more (f.py:19:5)", -DT_EILLEGAL },
    { "an assume narrows",
      "    assume(call.m < 3, \"few\")\n    x = 1 if call.m > 1 else 2\n"
      "    require(call.m < 3, \"few\")\n    return Choice(x=x, y=0)\n", 4,
      "choose.x: 1 2 | proved proved", 0 },
    { "an assume that raises excludes nothing",
      "    assume(20 // (call.m - 2) > 6, \"far\")\n    x = 1 if call.m > 1 else 2\n"
      "    return Choice(x=x, y=0)\n", 4,
      "no assignment is legal; the first: m=2: ZeroDivisionError (f.py:18:12)", -DT_EILLEGAL },
    { "beside one that excludes all, raising or not",
      "    assume(call.m * call.m < call.m, \"none\")\n    assume(20 // (call.m - 2) > 6, \"far\")\n"
      "    x = 1 if call.m > 1 else 2\n    return Choice(x=x, y=0)\n", 4,
      "f.py:18:5: the program's assumptions leave no input: none", -DT_EILLEGAL },
    { "nor does one of which an index raises",
      "    k = (1, 7)[call.m]\n    assume(k < 7, \"few\")\n    x = 1 if call.m > 1 else 2\n"
      "    return Choice(x=x, y=0)\n", 4,
      "no assignment is legal; the first: m=2: IndexError (f.py:18:9)", -DT_EILLEGAL },
    { "even where it is false wherever it does not raise",
      "    assume(call.m // (call.m - 5) > 8, \"far\")\n    x = 1 if call.m > 1 else 2\n"
      "    return Choice(x=x, y=0)\n", 5,
      "no assignment is legal; the first: m=5: ZeroDivisionError (f.py:18:12)", -DT_EILLEGAL },
    { "but another that does not raise may",
      "    assume(20 // (call.m - 2) > 6, \"far\")\n    assume(call.m != 2, \"not 2\")\n"
      "    x = 1 if call.m > 1 else 2\n    return Choice(x=x, y=0)\n", 4,
      "choose.x: 1 2 | proved proved", 0 },
    { "an assume leaves nothing",
      "    assume(call.m < 1, \"none\")\n    return Choice(x=1, y=0)\n", 4,
      "f.py:18:5: the program's assumptions leave no input: none", -DT_EILLEGAL },
};

START_TEST (solve_case)
{
    struct dt_solution *s = NULL;
    struct dt_err err = { "" };
    struct dt_buf b = { 0 };
    int r = solve (cases[_i].body, cases[_i].n, NULL, &s, &err);

    ck_assert_msg (r == cases[_i].code, "%s: %d %s", cases[_i].what, r, err.text);
    if (r < 0) {
        ck_assert_ptr_null (s);
        ck_assert_msg (strcmp (err.text, cases[_i].want) == 0, "%s: %s", cases[_i].what, err.text);
        return;
    }
    show (s, &b);
    ck_assert_msg (strcmp (dt_buf_str (&b), cases[_i].want) == 0, "%s: %s", cases[_i].what,
                   dt_buf_str (&b));
    dt_buf_done (&b);
    dt_solution_free (s);
}
END_TEST

/* Values that several points go through stay one value while simplifying: a comparison
 * that moves into arms, a copy for one path and an opposite would each be a second way. */
static const char *const narrow[] = {
    "    k = 1 if call.m > 5 else 2 if call.t > 3 else 3\n"
    "    return Choice(x=k, y=7 if k == 2 else 8)\n",
    "    big = call.m > 4\n    k = 1 if call.m > 6 else call.t % 3\n"
    "    return Choice(x=k + 10 if big else k, y=k if not big else 0)\n",
    "    big = call.m > 4\n    few = call.m > 2 and not big\n"
    "    return Choice(x=1 if big else 2, y=call.own if not big else 0)\n",
};
static const size_t narrow_pins[] = { 1, 2, 1 };

START_TEST (solve_narrow)
{
    struct dt_solve_options o = { .site = "s", .no_free = 1 };
    struct dt_solution *s;
    struct dt_err err = { "" };

    ck_assert_msg (solve (narrow[_i], 9, &o, &s, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (s->n_pins, narrow_pins[_i]);
    dt_solution_free (s);
}
END_TEST

/* Every combination.  y is Free in the program, x is not. */
static const struct {
    const char *claims; /* of which fields */
    int strict, no_free;
    int x_free, y_free, x_claim, y_claim;
} freedoms[] = {
    { "", 0, 0, 0, 1, 0, 0 },   { "", 1, 0, 0, 1, 0, 0 },
    { "", 0, 1, 0, 0, 0, 0 },   { "", 1, 1, 0, 0, 0, 0 },
    { "x", 0, 0, 1, 1, 1, 0 },  { "x", 1, 0, 0, 1, 0, 0 },
    { "x", 0, 1, 0, 0, 0, 0 },  { "x", 1, 1, 0, 0, 0, 0 },
    { "y", 0, 0, 0, 1, 0, 1 },  { "y", 1, 0, 0, 0, 0, 0 },
    { "y", 0, 1, 0, 0, 0, 0 },  { "y", 1, 1, 0, 0, 0, 0 },
    { "xy", 0, 0, 1, 1, 1, 1 }, { "xy", 1, 0, 0, 0, 0, 0 },
    { "xy", 0, 1, 0, 0, 0, 0 }, { "xy", 1, 1, 0, 0, 0, 0 },
};

START_TEST (solve_freedom)
{
    struct dt_solve_options o = { .site = "s", .strict = freedoms[_i].strict,
                                  .no_free = freedoms[_i].no_free };
    const char *claim[2];
    struct dt_solution *s;
    struct dt_err err = { "" };
    int n_free;

    o.claim = claim;
    if (strchr (freedoms[_i].claims, 'x'))
        claim[o.n_claims++] = "x";
    if (strchr (freedoms[_i].claims, 'y'))
        claim[o.n_claims++] = "y";
    ck_assert_msg (solve ("    return Choice(x=call.m % 2, y=call.m // 2)\n", 3, &o, &s, &err) == 0,
                   "%s", err.text);
    ck_assert_int_eq (s->point[0].is_free, freedoms[_i].x_free);
    ck_assert_int_eq (s->point[1].is_free, freedoms[_i].y_free);
    ck_assert_int_eq (s->point[0].by_claim, freedoms[_i].x_claim);
    ck_assert_int_eq (s->point[1].by_claim, freedoms[_i].y_claim);
    ck_assert (s->point[0].batch && s->point[1].batch && !s->point[0].own);
    /* One pin a binding field, but the input where both are. */
    n_free = freedoms[_i].x_free + freedoms[_i].y_free;
    ck_assert_uint_eq (s->n_pins, n_free == 2 ? 0 : 1);
    if (s->n_pins == 1)
        ck_assert_str_eq (s->pin[0].name, n_free == 0  ? "input.m"
                                          : freedoms[_i].x_free ? "point.y"
                                                                : "point.x");
    dt_solution_free (s);
}
END_TEST

/* A local that a loop assigns has a value for each turn: the pin says which is meant. */
START_TEST (solve_pin_value)
{
    static const char body[] =
        "    k = 1\n    for i in (2, 3, 5):\n        if call.m > i:\n            k = k * i\n"
        "    return Choice(x=k, y=0)\n";
    struct dt_graph *g = graph_of (body, 9);
    struct dt_solution *s, *back;
    struct dt_err err = { "" };
    struct dt_canon_value v;
    struct dt_canon c;

    ck_assert_msg (solve (body, 9, NULL, &s, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (s->n_pins, 1);
    ck_assert_str_eq (s->pin[0].name, "choose.k");
    ck_assert_uint_eq (s->pin[0].node, g->point[0].node);
    dt_canon_init (&c);
    dt_solution_encode (s, &c);
    ck_assert_int_eq (dt_canon_finish (&c), 0);
    ck_assert_int_eq (dt_canon_check (c.buf.data, c.buf.len, &v, &err), 0);
    ck_assert_msg (dt_solution_decode (v, &back, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (back->pin[0].node, s->pin[0].node);
    dt_canon_done (&c);
    dt_solution_free (back);
    dt_solution_free (s);
    dt_graph_free (g);
}
END_TEST

START_TEST (solve_claim_unknown)
{
    const char *claim = "z";
    struct dt_solve_options o = { .site = "s", .claim = &claim, .n_claims = 1 };
    struct dt_solution *s;
    struct dt_err err = { "" };

    ck_assert_int_eq (solve ("    return Choice(x=1, y=1)\n", 3, &o, &s, &err), -DT_EINPUT);
    ck_assert_str_eq (err.text, "claim: family f has no field \"z\"");
}
END_TEST

/* The cut takes v, for ranges show that v < 10: and so they do once it is pinned, for
 * then it is one of its candidates. */
START_TEST (solve_pin_range)
{
    struct dt_solve_options o = { .site = "s", .no_free = 1 };
    struct dt_solution *s;
    struct dt_buf b = { 0 };
    struct dt_err err = { "" };

    ck_assert_msg (solve ("    v = 1 if call.m > 2 else 2\n"
                          "    x = v + 1 if v < 10 else call.m\n"
                          "    y = v * 2 if v < 10 else call.m\n"
                          "    return Choice(x=x, y=y)\n", 3, &o, &s, &err) == 0, "%s", err.text);
    show (s, &b);
    ck_assert_str_eq (dt_buf_str (&b), "choose.v: 1 2 | proved proved");
    dt_buf_done (&b);
    dt_solution_free (s);
}
END_TEST

/* One input is the fewest, but has too many candidates: so two points are pinned. */
START_TEST (solve_too_many_candidates)
{
    struct dt_solve_options o = { .site = "s", .no_free = 1 };
    struct dt_solution *s;
    struct dt_buf b = { 0 };
    struct dt_err err = { "" };

    ck_assert_msg (solve ("    return Choice(x=call.m % 3, y=call.m % 5)\n", 100000, &o, &s, &err)
                       == 0, "%s", err.text);
    s->n_assignments = 0;
    show (s, &b);
    ck_assert_str_eq (dt_buf_str (&b), "point.x: 0 1 2; point.y: 0 1 2 3 4 |");
    dt_buf_done (&b);
    dt_solution_free (s);
    ck_assert_int_eq (solve ("    return Choice(x=call.m, y=0)\n", 100000, &o, &s, &err), -DT_EUNCUT);
    ck_assert_msg (strstr (err.text, "may be pinned; the last has more than 2^16 candidates"), "%s",
                   err.text);
}
END_TEST

/* Thousands of assignments, each condition of few pins: judged once for each. */
START_TEST (solve_many)
{
    static const char body[] =
        "    a = knob(\"a\", range(32), default=0)\n    b = knob(\"b\", range(32), default=0)\n"
        "    c = knob(\"c\", range(7), default=0)\n"
        "    require(a * call.m <= 900, \"a\")\n    require(b + c <= 36, \"b and c\")\n"
        "    require((c * call.m + call.own) % 1000 != 999, \"c\")\n"
        "    return Choice(x=a + b + c, y=0)\n";
    struct dt_solution *s;
    struct dt_err err = { "" };
    size_t i, legal = 0;

    ck_assert_msg (solve (body, 32, NULL, &s, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (s->n_assignments, 7168);
    for (i = 0; i < s->n_assignments; i++)
        legal += s->verdict[i] != DT_ILLEGAL;
    ck_assert_uint_eq (legal, 29 * (32 * 7 - 1)); /* a of 29..31, and b = 31 with c = 6 */
    dt_solution_free (s);
}
END_TEST

/* --- the real program --------------------------------------------------------------- */

struct rig {
    struct dt_buf program, yaml;
    struct dt_deployment *d;
    struct dt_source source;
    struct dt_site_options options;
    struct dt_solution *s;
    struct dt_digest key;
};

static void rig_init (struct rig *w)
{
    const char *top = getenv ("top_srcdir");
    struct dt_err err = { "" };
    char path[512];

    memset (w, 0, sizeof *w);
    snprintf (path, sizeof path, "%s/programs/detent/attention.py", top ? top : ".");
    ck_assert_msg (dt_file_read (path, 1 << 20, &w->program, &err) == 0, "%s", err.text);
    snprintf (path, sizeof path, "%s/deployments/host-small.yaml", top ? top : ".");
    ck_assert_msg (dt_file_read (path, 1 << 20, &w->yaml, &err) == 0, "%s", err.text);
    ck_assert_msg (dt_deployment_parse ("d.yaml", w->yaml.data, w->yaml.len, &w->d, &err) == 0,
                   "%s", err.text);
    w->source = (struct dt_source){ "attention.py", (const char *)w->program.data,
                                    w->program.len };
    ck_assert_msg (dt_site_solve (w->d, 0, &w->source, 1, &w->options, &w->s, &w->key, &err) == 0,
                   "%s", err.text);
}

static void rig_done (struct rig *w)
{
    dt_solution_free (w->s);
    dt_deployment_free (w->d);
    dt_buf_done (&w->program);
    dt_buf_done (&w->yaml);
}

static size_t assignment (const struct dt_solution *s, int64_t block, int64_t stride)
{
    int64_t pin[2] = { block, stride }, knob[1] = { s->knob[0].value[s->knob[0].initial] };
    struct dt_err err = { "" };
    size_t i = 0;

    ck_assert_msg (dt_solution_find (s, pin, knob, &i, &err) == 0, "%s", err.text);
    return i;
}

START_TEST (attention_pins)
{
    struct rig w;
    int64_t pin[2] = { 64, 100 }, knob[1] = { 2 };
    struct dt_err err = { "" };
    struct dt_buf b = { 0 };
    size_t i;

    rig_init (&w);
    ck_assert_uint_eq (w.s->n_pins, 2);
    ck_assert_str_eq (w.s->pin[0].name, "choose.block_n");
    ck_assert_str_eq (w.s->pin[0].expression,
                      "select(longest_query == 1, 128, select(longest_query <= 64, 64, 32))");
    ck_assert_str_eq (w.s->pin[0].path, "longest_query -> block_n");
    ck_assert_str_eq (w.s->pin[1].name, "choose.split_stride");
    ck_assert_uint_eq (w.s->n_assignments, 18);
    i = assignment (w.s, 64, 256);
    ck_assert_int_eq (w.s->verdict[i], DT_ILLEGAL);
    ck_assert_ptr_nonnull (strstr (w.s->why[i], "kv_length=16385: a split kernel takes at most 64 "
                                                "splits (attention.py:"));
    ck_assert_int_eq (w.s->verdict[assignment (w.s, 64, 512)], DT_PROVED);
    ck_assert_int_eq (w.s->verdict[assignment (w.s, 32, 0)], DT_PROVED);
    ck_assert_int_eq (dt_solution_find (w.s, pin, knob, &i, &err), -DT_EILLEGAL);
    ck_assert_str_eq (err.text, "pin choose.split_stride cannot be 100; it may be 0, 256, 512, "
                                "1024, 2048, 4096");
    ck_assert_int_eq (dt_solution_selector (w.s, assignment (w.s, 64, 256), &b, &err),
                      -DT_EILLEGAL);
    ck_assert_int_eq (dt_solution_selector (w.s, 18, &b, &err), -DT_EILLEGAL);
    ck_assert_uint_eq (b.len, 0);
    dt_buf_done (&b);
    rig_done (&w);
}
END_TEST

/* The pinned selector gives the pins whatever the batch; stock does not. */
START_TEST (attention_selectors)
{
    struct rig w;
    struct dt_buf b = { 0 };
    struct dt_vm *pinned, *stock;
    struct dt_vm_stop stop;
    int64_t regs[512], out[4], own_out[4], seen[2] = { 0, 0 };
    int64_t in[2][4] = { { 1, 1, 300, 300 }, { 32, 128, 32768, 100000 } }, own[2] = { 1, 300 };
    struct dt_err err = { "" };
    size_t i;

    rig_init (&w);
    ck_assert_msg (dt_solution_selector (w.s, assignment (w.s, 64, 512), &b, &err) == 0, "%s",
                   err.text);
    ck_assert_int_eq (dt_vm_load (b.data, b.len, &pinned, NULL), 0);
    ck_assert_int_eq (dt_vm_load (w.s->stock.data, w.s->stock.len, &stock, NULL), 0);
    ck_assert_str_eq (dt_vm_variant (pinned), "pinned");
    ck_assert_str_eq (dt_vm_site (pinned), "decoder");
    ck_assert (dt_vm_output (pinned, 0)->binding && !dt_vm_output (pinned, 2)->binding
               && dt_vm_output (pinned, 2)->claim && dt_vm_output (pinned, 3)->own);
    ck_assert_uint_le (dt_vm_registers (stock), DT_ARRAY_SIZE (regs));
    ck_assert_uint_le (dt_vm_registers (pinned), DT_ARRAY_SIZE (regs));
    for (i = 0; i < 2; i++) {
        dt_vm_prepare (pinned, regs);
        ck_assert_int_eq (dt_vm_run (pinned, regs, in[i], own, 1, out, own_out, &stop), 0);
        ck_assert_int_eq (out[0], 64);
        ck_assert_int_eq (out[1], 512);
        dt_vm_prepare (stock, regs);
        ck_assert_int_eq (dt_vm_run (stock, regs, in[i], own, 1, out, own_out, &stop), 0);
        seen[i] = out[0];
    }
    ck_assert_int_ne (seen[0], seen[1]);
    dt_vm_free (pinned);
    dt_vm_free (stock);
    dt_buf_done (&b);
    rig_done (&w);
}
END_TEST

START_TEST (attention_default)
{
    /* requests, longest_query, longest_kv, total_kv */
    static const int64_t in[] = { 1,  1, 300,  300, 4, 1, 300,   600, 32, 128, 9000, 90000,
                                  99, 1, 1000, 1000 };
    static const int64_t own[] = { 1, 300, 1, 300, 1, 300, 128, 9000, 1, 1000 };
    static const size_t n_own[] = { 1, 2, 1, 1 };
    /* The first returns stride 256, which is not legal; the last is no input. */
    uint64_t weight[] = { 50, 6, 5, 100 };
    struct dt_observations o = { 4, in, own, n_own, weight };
    struct rig w;
    size_t i;

    rig_init (&w);
    ck_assert_int_eq (dt_solution_default (w.s, &o, &i, NULL), 0);
    ck_assert_uint_eq (i, assignment (w.s, 128, 0));
    weight[2] = 7;
    ck_assert_int_eq (dt_solution_default (w.s, &o, &i, NULL), 0);
    ck_assert_uint_eq (i, assignment (w.s, 32, 0));
    o.n = 0;
    ck_assert_int_eq (dt_solution_default (w.s, &o, &i, NULL), 0);
    ck_assert_uint_eq (i, 0);
    rig_done (&w);
}
END_TEST

/* Joint, not each pin's own favourite: x is mostly 1 and y mostly 1, but both together
 * are illegal; of what the program returns, the most often that is legal. */
START_TEST (default_is_joint)
{
    static const char body[] =
        "    x = 1 if call.m <= 4 else 2\n"
        "    y = 1 if call.t <= 1 else 2\n"
        "    require(x + y > facts.n // 4, \"enough\")\n"
        "    return Choice(x=x, y=y)\n";
    struct dt_solve_options o = { .site = "s", .no_free = 1 };
    const int64_t in[] = { 1, 1, 1, 9, 2, 9, 5, 1, 6, 9 }, own[] = { 1, 1, 1, 1, 1 };
    const size_t n_own[] = { 1, 1, 1, 1, 1 };
    const uint64_t weight[] = { 9, 3, 2, 4, 4 };
    struct dt_observations obs = { 5, in, own, n_own, weight };
    struct dt_solution *s;
    struct dt_err err = { "" };
    int64_t pin[2], knob[1];
    size_t i;

    ck_assert_msg (solve (body, 8, &o, &s, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (s->n_pins, 2);
    ck_assert_int_eq (dt_solution_default (s, &obs, &i, &err), 0);
    ck_assert_int_ne (s->verdict[i], DT_ILLEGAL); /* x = y = 1, of weight 9, is not */
    dt_solution_assignment (s, i, pin, knob);
    ck_assert_int_eq (pin[strcmp (s->pin[0].name, "choose.x") == 0 ? 0 : 1], 1);
    ck_assert_int_eq (pin[strcmp (s->pin[0].name, "choose.x") == 0 ? 1 : 0], 2);
    dt_solution_free (s);
}
END_TEST

static void encode (const struct dt_solution *s, struct dt_canon *c)
{
    dt_canon_init (c);
    dt_solution_encode (s, c);
    ck_assert_int_eq (dt_canon_finish (c), 0);
}

START_TEST (attention_same_bytes)
{
    struct rig w;
    struct dt_canon first;
    struct dt_buf b[2] = { 0 };
    struct dt_canon_value v;
    struct dt_solution *s;
    size_t i, a;
    int run;

    rig_init (&w);
    encode (w.s, &first);
    for (run = 0; run < 20; run++) {
        struct rig again;
        struct dt_canon c;

        rig_init (&again);
        encode (again.s, &c);
        ck_assert_mem_eq (&w.key, &again.key, sizeof w.key);
        ck_assert_uint_eq (c.buf.len, first.buf.len);
        ck_assert_mem_eq (c.buf.data, first.buf.data, c.buf.len);
        dt_canon_done (&c);
        rig_done (&again);
    }
    /* And so are a decoded one's, and its selectors'. */
    ck_assert_int_eq (dt_canon_check (first.buf.data, first.buf.len, &v, NULL), 0);
    ck_assert_int_eq (dt_solution_decode (v, &s, NULL), 0);
    for (a = 0; a < s->n_assignments; a++) {
        ck_assert_int_eq (s->verdict[a], w.s->verdict[a]);
        if (s->verdict[a] == DT_ILLEGAL) {
            ck_assert_str_eq (s->why[a], w.s->why[a]);
            continue;
        }
        for (i = 0; i < 2; i++) {
            b[i].len = 0;
            ck_assert_int_eq (dt_solution_selector (i ? s : w.s, a, &b[i], NULL), 0);
        }
        ck_assert_uint_eq (b[0].len, b[1].len);
        ck_assert_mem_eq (b[0].data, b[1].data, b[0].len);
    }
    dt_canon_done (&first);
    encode (s, &first);
    ck_assert_uint_eq (first.buf.len, v.len);
    dt_canon_done (&first);
    dt_buf_done (&b[0]);
    dt_buf_done (&b[1]);
    dt_solution_free (s);
    rig_done (&w);
}
END_TEST

/* Every prefix is refused; mutated bytes are refused or usable, never a crash. */
START_TEST (attention_corrupt)
{
    struct rig w;
    struct dt_canon c;
    uint8_t *copy;
    size_t n, refused = 0;
    int round;

    rig_init (&w);
    encode (w.s, &c);
    copy = dt_calloc (c.buf.len, 1);
    for (n = 0; n < c.buf.len; n += 7) {
        struct dt_canon_value v;

        MUST (dt_canon_check (c.buf.data, n, &v, NULL) == -DT_ECORRUPT, "prefix %zu", n);
    }
    rng_seed (7);
    for (round = 0; round < 2000; round++) {
        struct dt_canon_value v;
        struct dt_solution *s = NULL;
        struct dt_buf b = { 0 };
        struct dt_err err = { "" };
        uint32_t k = 1 + rng (3);

        memcpy (copy, c.buf.data, c.buf.len);
        while (k-- > 0)
            copy[rng ((uint32_t)c.buf.len)] = rng (2) ? (uint8_t)rng (256) : (uint8_t)rng (4);
        if (dt_canon_check (copy, c.buf.len, &v, NULL) < 0
            || dt_solution_decode (v, &s, &err) < 0) {
            refused++;
            continue;
        }
        for (n = 0; n < s->n_assignments; n += 5)
            dt_solution_selector (s, n, &b, NULL);
        dt_buf_done (&b);
        dt_solution_free (s);
    }
    ck_assert_uint_gt (refused, 500);
    dt_free (copy);
    dt_canon_done (&c);
    rig_done (&w);
}
END_TEST

START_TEST (attention_nomem)
{
    struct rig w;
    struct dt_solution *s = NULL;
    int r = -ENOMEM;
    size_t n;

    rig_init (&w);
    for (n = 0; r == -ENOMEM; n += 1 + n / 16) {
        dt_mem_fail_after (n);
        r = dt_site_solve (w.d, 0, &w.source, 1, &w.options, &s, NULL, NULL);
        dt_mem_fail_after (SIZE_MAX);
    }
    ck_assert_int_eq (r, 0);
    ck_assert_uint_gt (n, 100);
    dt_solution_free (s);
    rig_done (&w);
}
END_TEST

/* The key covers what can change the answer, and nothing's order. */
START_TEST (key_fields)
{
    struct dt_fact fact[] = { { "a", DT_FACT_INT, 1, NULL }, { "b", DT_FACT_STR, 0, "x" } };
    struct dt_source source[] = { { "p.py", "p", 1 }, { "q.py", "q", 1 }, { "r.py", "r", 1 } };
    const char *claim[] = { "x", "y" };
    struct dt_solve_key k = { .source = source, .n_sources = 3, .fact = fact, .n_facts = 2 };
    struct dt_digest d[12];
    size_t i, j, n = 0;

    k.options = (struct dt_solve_options){ .site = "s", .claim = claim, .n_claims = 2 };
#define KEY() ck_assert_int_eq (dt_solve_digest (&k, &d[n++], NULL), 0)
    KEY ();
    fact[0].kind = DT_FACT_BOOL;
    KEY ();
    fact[0] = (struct dt_fact){ "a", DT_FACT_INT, 2, NULL };
    KEY ();
    source[2].text = "s";
    KEY ();
    source[1].name = "z.py";
    KEY ();
    k.options.strict = 1;
    KEY ();
    k.options.no_free = 1;
    KEY ();
    k.options.n_claims = 1;
    KEY ();
    k.options.site = "t";
    KEY ();
    k.parameters.bytes[3] = 1;
    KEY ();
    k.version++;
    KEY ();
    for (i = 0; i < n; i++)
        for (j = 0; j < i; j++)
            ck_assert (!dt_digest_equal (&d[i], &d[j]));
    k.options.n_claims = 2;
    n = 0;
    KEY ();
    claim[0] = "y";
    claim[1] = "x";
    struct dt_fact swap = fact[0];
    fact[0] = fact[1];
    fact[1] = swap;
    struct dt_source other = source[1];
    source[1] = source[2];
    source[2] = other;
    KEY ();
    ck_assert (dt_digest_equal (&d[0], &d[1]));
#undef KEY
}
END_TEST

/* The JIT cache's key goes with the question and with certificates in force. */
START_TEST (cache_keys)
{
    struct dt_digest question[2] = { { { 1 } }, { { 2 } } }, in_force[2] = { { { 1 } }, { { 2 } } };
    struct dt_digest d[6];

    for (size_t q = 0, n = 0; q < 2; q++) {
        d[n++] = dt_solve_cache_key (&question[q], NULL);
        for (size_t i = 0; i < 2; i++)
            d[n++] = dt_solve_cache_key (&question[q], &in_force[i]);
    }
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            ck_assert (dt_digest_equal (&d[i], &d[j]) == (i == j));
    d[1] = dt_solve_cache_key (&question[0], &in_force[0]);
    d[2] = dt_solve_cache_key (&question[0], &in_force[0]);
    ck_assert (dt_digest_equal (&d[1], &d[2]));
}
END_TEST

static const struct {
    struct dt_solution_point point;
    uint64_t certified, legal;
    enum dt_standing_by by;
} standings[] = {
    { { .batch = 1 }, 0, 4, DT_BY_BINDING },
    { { .is_free = 1 }, 0, 4, DT_BY_NOTHING },
    { { .is_free = 1 }, 1, 4, DT_BY_CERTIFICATE },
    { { .is_free = 1, .by_claim = 1 }, 0, 4, DT_BY_CLAIM },
    { { .is_free = 1, .by_claim = 1 }, 3, 4, DT_BY_CLAIM },
    { { .is_free = 1, .by_claim = 1 }, 4, 4, DT_BY_CERTIFICATE },
};

START_TEST (points_stand)
{
    ck_assert_int_eq (dt_solution_standing (&standings[_i].point, standings[_i].certified,
                                            standings[_i].legal), standings[_i].by);
}
END_TEST

/* Every component of a family's schema is in its digest, but nothing else. */
START_TEST (family_digest)
{
    static const int64_t values[] = { 1, 2, 4 };
    const char *fields[] = { "query_len", "kv_len" };
    struct dt_family_fact fact[] = { { "a", "tokens", 1, 9 }, { "b", "", 0, 1 } };
    struct dt_family_param param[] = { { "x", "tokens", 1, 0, values, 3 },
                                       { "y", "", 0, 1, values, 2 } };
    struct dt_family f = { "attention", fact, 2, fields, 2, param, 2 };
    struct dt_digest d[24];
    size_t n = 0;

#define KEY() ck_assert_int_eq (dt_family_digest (&f, &d[n++], NULL), 0)
    KEY ();
    f.name = "gemm";
    KEY ();
    fact[0].name = "c";
    KEY ();
    fact[0].unit = "rows";
    KEY ();
    fact[0].lo = 2;
    KEY ();
    fact[0].hi = 8;
    KEY ();
    fact[0].optional = 1;
    KEY ();
    f.n_facts = 1;
    KEY ();
    fields[1] = "kv";
    KEY ();
    f.n_request_fields = 1;
    KEY ();
    param[0].name = "z";
    KEY ();
    param[0].unit = "rows";
    KEY ();
    param[0].binding = 0;
    KEY ();
    param[0].per_request = 1;
    KEY ();
    param[0].n_values = 2;
    KEY ();
    param[0].value = values + 1;
    KEY ();
    f.n_params = 1;
    KEY ();
#undef KEY
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert (!dt_digest_equal (&d[i], &d[j]));
}
END_TEST

/* What the backend of these tests says of attention: fits deployments/host-small.yaml. */
static const int64_t any_value[] = { 1 };
static struct dt_family_fact asked_facts[] = {
    { "head_dim", "elements", 16, 256 }, { "page_size", "tokens", 1, 256 },
    { "bf16", "", 0, 1 }, { "output_bf16", "", 0, 1 }, { "units", "", 1, 64 },
};
static struct dt_family_param asked_params[] = {
    { "block_n", "tokens", 1, 0, any_value, 1 }, { "split_stride", "tokens", 1, 0, any_value, 1 },
    { "tile_m", "rows", 0, 1, any_value, 1 },
    { "workers_per_request", "threads", 0, 1, any_value, 1 }, { "more", "", 0, 0, any_value, 1 },
};

static void change_lo (struct dt_family_fact *f, struct dt_family_param *p)
{
    (void)p;
    f[0].lo = 128;
}

static void change_name (struct dt_family_fact *f, struct dt_family_param *p)
{
    (void)f;
    p[0].name = "block_m";
}

static void change_missing (struct dt_family_fact *f, struct dt_family_param *p)
{
    (void)p;
    f[1].name = "page";
    f[1].unit = "tokens";
}

static void change_optional (struct dt_family_fact *f, struct dt_family_param *p)
{
    change_missing (f, p);
    f[1].optional = 1;
}

static void change_each (struct dt_family_fact *f, struct dt_family_param *p)
{
    (void)f;
    p[3].per_request = 0;
}

static void change_binding (struct dt_family_fact *f, struct dt_family_param *p)
{
    (void)f;
    p[3].binding = 1;
}

static struct dt_site *fit_site;

/* The limits count as facts of the site's own. */
static void change_limits (struct dt_family_fact *f, struct dt_family_param *p)
{
    (void)f;
    (void)p;
    fit_site->n_limits = 0;
}

#define SITE "site decoder of family attention: "
static const struct {
    const char *what;
    size_t params;
    void (*change) (struct dt_family_fact *fact, struct dt_family_param *param);
    const char *at_solve, *at_tune; /* NULL: it fits */
} fits[] = {
    { "all is well", 4, NULL, NULL, NULL },
    { "a fact that nobody asks for", 4, change_limits,
      SITE "neither attention.py nor the backend asks for the fact \"token_budget\"", NULL },
    { "out of range", 4, change_lo, NULL,
      SITE "head_dim is 64, and the backend takes 128 to 256" },
    { "a fact that is not there", 4, change_missing, NULL,
      SITE "the backend needs the fact \"page\" (tokens), which the deployment does not state" },
    { "a fact that is not there and need not be", 4, change_optional, NULL, NULL },
    { "a field that is no parameter", 4, change_name, NULL,
      SITE "attention.py returns \"block_n\", and the backend has no such parameter; did you mean "
      "\"block_m\"?" },
    { "a parameter that is no field", 5, NULL, NULL,
      SITE "attention.py does not return \"more\", which the backend needs" },
    { "one value for all", 4, change_each, NULL,
      SITE "\"workers_per_request\" follows an Own input, and the backend takes one value for all requests" },
    { "binding, and yet free", 4, change_binding,
      SITE "attention.py says that field \"workers_per_request\" is free, and the backend that "
      "output bits depend on it",
      SITE "a claim says that field \"workers_per_request\" is free, and the backend that output "
      "bits depend on it" },
};
#undef SITE

START_TEST (family_fits)
{
    struct dt_family_fact fact[DT_ARRAY_SIZE (asked_facts)];
    struct dt_family_param param[DT_ARRAY_SIZE (asked_params)];
    struct dt_family f = { "attention", fact, DT_ARRAY_SIZE (fact), NULL, 0, param,
                           fits[_i].params };
    struct dt_solution *s = NULL;
    struct dt_err err = { "" };
    struct rig w;
    int r;

    memcpy (fact, asked_facts, sizeof fact);
    memcpy (param, asked_params, sizeof param);
    rig_init (&w); /* solves without a schema */
    fit_site = &w.d->site[0];
    if (fits[_i].change)
        fits[_i].change (fact, param);
    w.options.family = &f;
    r = dt_site_solve (w.d, 0, &w.source, 1, &w.options, &s, NULL, &err);
    ck_assert_msg (r == (fits[_i].at_solve ? -DT_EINPUT : 0), "%s: %d %s", fits[_i].what, r,
                   err.text);
    if (r < 0)
        ck_assert_msg (strstr (err.text, fits[_i].at_solve), "%s", err.text);
    dt_solution_free (s);
    r = dt_family_check_tune (&f, &w.d->site[0], w.s, &err);
    ck_assert_msg (r == (fits[_i].at_tune ? -DT_EINPUT : 0), "%s: %d %s", fits[_i].what, r,
                   err.text);
    if (r < 0)
        ck_assert_str_eq (err.text, fits[_i].at_tune);
    rig_done (&w);
}
END_TEST

START_TEST (site_refusals)
{
    static const char *const asked[] = { "head_dim", "page_size" };
    struct rig w;
    struct dt_program *p;
    struct dt_graph *g;
    struct dt_solution *s;
    struct dt_err err = { "" };
    struct dt_fact *last;

    rig_init (&w);
    ck_assert_int_eq (dt_program_parse (&w.source, 1, &p, NULL), 0);
    ck_assert_int_eq (dt_site_check (&w.d->site[0], p, asked, 2, &err), 0);
    last = &w.d->site[0].fact[w.d->site[0].n_facts - 1];
    last->name = "unit";
    ck_assert_int_eq (dt_site_check (&w.d->site[0], p, asked, 2, &err), -DT_EINPUT);
    ck_assert_str_eq (err.text, "site decoder of family attention: neither attention.py nor the "
                                "backend asks for the fact \"unit\"; did you mean \"units\"?");
    ck_assert_int_eq (dt_site_specialise (&w.d->site[0], p, &g, &err), -DT_EINPUT);
    ck_assert_ptr_nonnull (strstr (err.text, "units"));
    w.d->site[0].family = "gemm";
    ck_assert_int_eq (dt_site_specialise (&w.d->site[0], p, &g, &err), -DT_EINPUT);
    ck_assert_str_eq (err.text, "site decoder is of family gemm, and attention.py of family "
                                "attention");
    w.source.name = "other.py";
    ck_assert_int_eq (dt_site_solve (w.d, 0, &w.source, 1, &w.options, &s, NULL, &err),
                      -DT_ENOTFOUND);
    dt_program_free (p);
    rig_done (&w);
}
END_TEST

/* --- random graphs ------------------------------------------------------------------ */

static int n_solved, n_uncut, n_illegal;

/* Values of a vm's outputs at an environment; 0 if it stops. */
static int run_vm (const struct dt_vm *vm, const struct env *e, int64_t *regs, int64_t *ret)
{
    int64_t in[RANDOM_INPUTS], own[1] = { e->input[2] }, out[8], own_out[8];
    struct dt_vm_stop stop;
    size_t i, k = 0;

    for (i = 0; i < RANDOM_INPUTS; i++)
        if (i != 2)
            in[k++] = e->input[i];
    dt_vm_prepare (vm, regs);
    if (dt_vm_run (vm, regs, in, own, 1, out, own_out, &stop) < 0)
        return 0;
    for (i = 0; i < dt_vm_outputs (vm); i++)
        ret[i] = dt_vm_output (vm, i)->own ? own_out[i] : out[i];
    return 1;
}

/* A legal selector never stops, and its binding outputs are functions of the own
 * input alone. */
static void check_selector (const struct dt_solution *s, const struct dt_graph *g, size_t a,
                            uint64_t seed)
{
    struct dt_buf b = { 0 };
    struct dt_vm *vm;
    int64_t regs[1024], out[8], first[7][8];
    uint8_t seen[7] = { 0 };
    struct env e;
    uint64_t at;
    size_t i;

    MUST (dt_solution_selector (s, a, &b, NULL) == 0, "seed %" PRIu64 ": no selector", seed);
    MUST (dt_vm_load (b.data, b.len, &vm, NULL) == 0, "seed %" PRIu64 ": no vm", seed);
    for (at = 0; env_at (g, at, &e); at++) {
        int64_t q = e.input[2];

        MUST (run_vm (vm, &e, regs, out), "seed %" PRIu64 " assignment %zu: stops", seed, a);
        if (!seen[q])
            memcpy (first[q], out, sizeof out);
        seen[q] = 1;
        for (i = 0; i < s->n_points; i++)
            MUST (s->point[i].is_free || first[q][i] == out[i],
                  "seed %" PRIu64 " assignment %zu: %s varies", seed, a, s->point[i].field);
    }
    dt_vm_free (vm);
    dt_buf_done (&b);
}

/* Where the program does not stop, the residual graph with the program's own pins
 * gives the program's own values. */
static void check_meaning (const struct dt_solution *s, const struct dt_graph *g, uint64_t seed)
{
    int64_t *v = dt_calloc (g->n_nodes, sizeof *v), regs[1024], pin[8], out[8], knob[RANDOM_KNOBS];
    struct dt_vm *pins, *stock;
    struct env e;
    uint64_t at;
    size_t i, a;

    MUST (dt_vm_load (s->pins.data, s->pins.len, &pins, NULL) == 0
              && dt_vm_load (s->stock.data, s->stock.len, &stock, NULL) == 0,
          "seed %" PRIu64 ": no vm", seed);
    for (at = 0; env_at (g, at, &e); at++) {
        struct dt_buf b = { 0 };
        struct dt_vm *vm;
        int ran, same = 1;

        for (i = 0; i < RANDOM_KNOBS; i++) {
            knob[i] = s->knob[i].value[s->knob[i].initial];
            same &= e.knob[i] == knob[i];
        }
        if (!same)
            continue;
        ran = run_vm (pins, &e, regs, pin);
        MUST (ran == (eval_graph (g, &e, v, NULL).seq == UINT64_MAX),
              "seed %" PRIu64 ": the pins' program stops where the program does not", seed);
        MUST (ran == run_vm (stock, &e, regs, out), "seed %" PRIu64 ": stock", seed);
        for (i = 0; ran && i < s->n_points; i++)
            MUST (out[i] == v[g->point[i].node], "seed %" PRIu64 ": stock's %s", seed,
                  s->point[i].field);
        if (!ran)
            continue;
        MUST (dt_solution_find (s, pin, knob, &a, NULL) == 0,
              "seed %" PRIu64 ": the program's pins are no candidates", seed);
        if (s->verdict[a] == DT_ILLEGAL)
            continue;
        MUST (dt_solution_selector (s, a, &b, NULL) == 0
                  && dt_vm_load (b.data, b.len, &vm, NULL) == 0 && run_vm (vm, &e, regs, out),
              "seed %" PRIu64 ": no selector", seed);
        for (i = 0; i < s->n_points; i++)
            MUST (out[i] == v[g->point[i].node], "seed %" PRIu64 ": %s", seed,
                  s->point[i].field);
        dt_vm_free (vm);
        dt_buf_done (&b);
    }
    dt_vm_free (pins);
    dt_vm_free (stock);
    dt_free (v);
}

START_TEST (solve_random)
{
    static const struct dt_solve_options o = { .site = "s" };
    uint64_t seed;

    for (seed = 1; seed <= 400; seed++) {
        struct dt_graph *g = random_graph (seed, 4 + (uint32_t)(seed % 24));
        struct dt_solution *s = NULL;
        struct dt_err err = { "" };
        size_t a, checked = 0;
        int r = dt_solve (g, &o, &s, &err);

        MUST (r == 0 || r == -DT_EUNCUT || r == -DT_EILLEGAL, "seed %" PRIu64 ": %d %s", seed, r,
              err.text);
        MUST (r < 0 || dt_check_proof (s, &err) == 0, "seed %" PRIu64 ": %s", seed, err.text);
        *(r == 0 ? &n_solved : r == -DT_EUNCUT ? &n_uncut : &n_illegal) += 1;
        /* Assumes that narrow the domain stop a selector outside of it. */
        if (r == 0 && !*s->excluded && s->n_pins <= 8) {
            for (a = 0; a < s->n_assignments && checked < 8; a++)
                if (s->verdict[a] != DT_ILLEGAL && ++checked)
                    check_selector (s, g, a, seed);
            check_meaning (s, g, seed);
        }
        dt_solution_free (s);
        dt_graph_free (g);
    }
    ck_assert_int_gt (n_solved, 50);
    ck_assert_int_gt (n_uncut, 0);
    ck_assert_int_gt (n_illegal, 20);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("solver/solve");
    TCase *tc = tcase_create ("solve");

    tcase_set_timeout (tc, 300);
    tcase_add_loop_test (tc, solve_case, 0, DT_ARRAY_SIZE (cases));
    tcase_add_loop_test (tc, solve_narrow, 0, DT_ARRAY_SIZE (narrow));
    tcase_add_loop_test (tc, solve_freedom, 0, DT_ARRAY_SIZE (freedoms));
    tcase_add_test (tc, solve_pin_value);
    tcase_add_test (tc, solve_claim_unknown);
    tcase_add_test (tc, solve_pin_range);
    tcase_add_test (tc, solve_too_many_candidates);
    tcase_add_test (tc, solve_many);
    tcase_add_test (tc, attention_pins);
    tcase_add_test (tc, attention_selectors);
    tcase_add_test (tc, attention_default);
    tcase_add_test (tc, default_is_joint);
    tcase_add_test (tc, attention_same_bytes);
    tcase_add_test (tc, attention_corrupt);
    tcase_add_test (tc, attention_nomem);
    tcase_add_test (tc, key_fields);
    tcase_add_test (tc, cache_keys);
    tcase_add_loop_test (tc, points_stand, 0, (int)DT_ARRAY_SIZE (standings));
    tcase_add_test (tc, family_digest);
    tcase_add_loop_test (tc, family_fits, 0, DT_ARRAY_SIZE (fits));
    tcase_add_test (tc, site_refusals);
    tcase_add_test (tc, solve_random);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
