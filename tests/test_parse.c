/* Tests of selir/parse and check: what is refused, where, and with what advice. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "selir/parse.h"
#include "selir/program.h"
#include "tests/suite.h"

#define HEAD \
    "from selir import *\n"
#define IMPORTS "from selir import Batch, Facts, Free, Own, Record, Runtime, knob, require, selection\n"
#define CLASSES \
    IMPORTS "class M(Facts):\n    a: int\nclass C(Batch):\n    x: Runtime[range(1, facts.a)]\n" \
            "class R(Record):\n    n: int\n"
#define PROGRAM CLASSES "@selection(family=\"f\")\ndef choose(facts: M, call: C) -> R:\n"
#define RETURN "    return R(n=1)\n"
/* A program whose body is `text`, which starts on line 10. */
#define BODY(text) PROGRAM "    " text "\n" RETURN

static int parse (const char *text, struct dt_err *err)
{
    const struct dt_source source = { "p.py", text, strlen (text) };
    struct dt_program *p = NULL;
    int r = dt_program_parse (&source, 1, &p, err);

    if (r == 0)
        ck_assert_str_eq (dt_program_family (p), "f");
    dt_program_free (p);
    return r;
}

static const struct {
    const char *text, *want; /* how the error starts; NULL: it is accepted */
} cases[] = {
    { BODY ("pass"), NULL },
    { BODY ("\"\"\"doc\"\"\"; n: int = 1; n += 2; (a, b), c = (1, 2), 3; d = e = 4"), NULL },
    { BODY ("for i, j in enumerate((1, 2)): break"), NULL },
    { BODY ("x = [i for i in range(3) if i if not i for j in (i,)] + [*()]"),
      "p.py:10:62: a starred expression is not in the language here" },
    { BODY ("x = f'a'"), "p.py:10:9: an f-string is not in the language here" },
    { BODY ("x = (y := 1)"), "p.py:10:12: ':=' is not in the language here" },
    { BODY ("x = lambda: 1"), "p.py:10:9: a lambda other than key=lambda x: ... is not in the language here" },
    { BODY ("x = min((1, 2), key=lambda k: -k)"), NULL },
    { BODY ("x = min((1, 2), key=lambda k, j: -k)"), "p.py:10:25: a key takes one plain parameter" },
    { BODY ("x = min((1, 2), default=lambda k: -k)"), "p.py:10:29: a lambda other than" },
    { BODY ("while True: pass"), "p.py:10:5: a while loop is not in the language here" },
    { BODY ("try: pass"), "p.py:10:5: try is not in the language here" },
    { BODY ("with a: pass"), "p.py:10:5: with is not in the language here" },
    { BODY ("match call: pass"), "p.py:10:5: match is not in the language here" },
    { BODY ("match = 1; match"), "p.py:10:16: an expression whose value is not used" },
    { BODY ("raise ValueError"), "p.py:10:5: raise is not in the language here" },
    { BODY ("assert True"), "p.py:10:5: assert is not in the language here" },
    { BODY ("del call"), "p.py:10:5: del is not in the language here" },
    { BODY ("global g"), "p.py:10:5: global is not in the language here" },
    { BODY ("nonlocal g"), "p.py:10:5: nonlocal is not in the language here" },
    { BODY ("async def f(): pass"), "p.py:10:5: async is not in the language here" },
    { BODY ("x = await y"), "p.py:10:9: await is not in the language here" },
    { BODY ("yield 1"), "p.py:10:5: yield is not in the language here" },
    { BODY ("def f(): pass"), "p.py:10:5: a def inside a function is not in the language here" },
    { BODY ("class K: pass"), "p.py:10:5: a class inside a function or class" },
    { BODY ("import os"), "p.py:10:5: an import inside a function" },
    { BODY ("x = call[1:2]"), "p.py:10:15: a slice is not in the language here" },
    { BODY ("x = call[:2]"), "p.py:10:14: a slice is not in the language here" },
    { BODY ("x = 1 / 2 + 1.5 - .5e-3 * 1_0.0_1 + 1.e3 + 00.5\n    x /= 2"), NULL },
    { BODY ("x = -9223372036854775808"), NULL },
    { BODY ("x = 9223372036854775808"), "p.py:10:9: an int literal beyond 64 bits" },
    { BODY ("x = 1 - 9223372036854775808"), "p.py:10:13: an int literal beyond 64 bits" },
    { BODY ("x = -9223372036854775808 ** 1"), "p.py:10:10: an int literal beyond 64 bits" },
    { BODY ("x = 1e"), "p.py:10:9: a malformed number" },
    { BODY ("x = 1.5_"), "p.py:10:9: a malformed number" },
    { BODY ("x = 2.5j"), "p.py:10:9: a complex number is not in the language here" },
    { BODY ("x = ..."), "p.py:10:9: '...' is not in the language here" },
    { BODY ("x = {1, 2}"), "p.py:10:9: a set is not in the language here" },
    { BODY ("x = {i for i in ()}"), "p.py:10:9: a set comprehension" },
    { BODY ("x = {**{}}"), "p.py:10:10: a starred expression" },
    { BODY ("x = min(*(1, 2))"), "p.py:10:13: a starred argument" },
    { BODY ("x = a @ b"), "p.py:10:11: '@' is not in the language here" },
    { BODY ("call[0] = 1"), "p.py:10:5: assignment to an element" },
    { BODY ("call.x = 1"), "p.py:10:5: assignment to a field" },
    { BODY ("1 = x"), "p.py:10:5: this cannot be assigned to" },
    { BODY ("(a, b) += 1"), "p.py:10:5: this kind of assignment takes one name" },
    { BODY ("1 + 2"), "p.py:10:5: an expression whose value is not used" },
    { BODY ("break"), "p.py:10:5: 'break' outside a loop" },
    { BODY ("for i in (): pass\n    else: pass"), "p.py:11:5: else after a loop" },
    { BODY ("x = print"), "p.py:10:9: 'print' is not in the language here" },
    { BODY ("x = nowhere"), "p.py:10:9: name 'nowhere' is not defined" },
    { BODY ("x = assume"), "p.py:10:9: name 'assume' is not defined" },
    { BODY ("x = [i for i in (1,)]; y = i"), "p.py:10:32: name 'i' is not defined" },
    { BODY ("x = sum(i for i in (), 1)"), "p.py:10:13: a generator expression beside other arguments" },
    { BODY ("x = R(n=1, 2)"), "p.py:10:16: a positional argument after a keyword argument" },
    { BODY ("if True:\n    pass"), "p.py:11:5: expected an indented block" },
    { BODY ("pass\n      pass"), "p.py:11:7: unexpected indent" },
    { HEAD, "p.py:1:19: import * is not in the language here" },
    { "from . import a\n", "p.py:1:6: a relative import" },
    { "import os.path\n", "p.py:1:10: an import from a package" },
    { "import math\n", "p.py:1:8: there is no module 'math'" },
    { "import p\n", "p.py:1:8: 'p' imports itself in a circle" },
    { "from selir import nothing\n", "p.py:1:19: selir has no 'nothing'" },
    { "A = 1\nA = 2\n", "p.py:2:1: 'A' is bound a second time at module level (first on line 1)" },
    { "A = B\nB = 1\n", "p.py:1:5: name 'B' is not defined" },
    { "A, B = 1, 2\n", "p.py:1:1: unpacking at module level" },
    { "if 1: pass\n", "p.py:1:1: this statement at module level" },
    { "return 1\n", "p.py:1:1: 'return' outside a function" },
    { "def f(*args): pass\n", "p.py:1:7: a starred parameter" },
    { "def f(a, /): pass\n", "p.py:1:10: '/' among parameters" },
    { "def f(a=1, b): pass\n", "p.py:1:12: a parameter without a default after one with" },
    { "def f(a, a): pass\n", "p.py:1:10: duplicate parameter 'a'" },
    { "def g(): pass\n@g\ndef f(): pass\n", "p.py:2:2: this decorator is not in the language here" },
    { "class K: pass\n", "p.py:1:7: a class that is no Facts, Batch or Record" },
    { IMPORTS "class K(Record):\n    def f(self): pass\n", "p.py:3:5: a method is not in the language here" },
    { IMPORTS "class K(Record):\n    a: int = 1\n", "p.py:3:12: a default value of a field" },
    { IMPORTS "class K(Record):\n    a: int\n    a: int\n", "p.py:4:5: duplicate field 'a'" },
    { IMPORTS "class K(Batch):\n    a: int\n", "p.py:3:8: field 'a': an input is Runtime, Unpinnable or Own" },
    { IMPORTS "class K(Facts):\n    a: Own[int]\n", "p.py:3:8: field 'a': this marker belongs elsewhere" },
    { IMPORTS, "p.py:1:1: the program has no selection" },
    { CLASSES "@selection(family=\"f\")\ndef f(call: C) -> R:\n" RETURN, "p.py:9:5: a selection takes a Facts and a Batch" },
    { CLASSES "@selection(\"f\")\ndef f(facts: M, call: C) -> R:\n" RETURN, "p.py:8:2: selection takes a family, as a string" },
};

START_TEST (parse_case)
{
    struct dt_err err = { "" };
    int r = parse (cases[_i].text, &err);

    if (!cases[_i].want) {
        ck_assert_msg (r == 0, "%s\n%s", cases[_i].text, err.text);
        return;
    }
    ck_assert_msg (r == -DT_ESYNTAX, "accepted: %s\n%s", cases[_i].text, err.text);
    ck_assert_msg (strncmp (err.text, cases[_i].want, strlen (cases[_i].want)) == 0, "want %s\ngot %s", cases[_i].want,
                   err.text);
}
END_TEST

START_TEST (whole_text)
{
    struct dt_err err = { "" };

    ck_assert_int_eq (parse (BODY ("x = 1 @ 2"), &err), -DT_ESYNTAX);
    ck_assert_str_eq (err.text, "p.py:10:11: '@' is not in the language here\n"
                                "        x = 1 @ 2\n"
                                "              ^\n"
                                "advice: a program works on numbers; remove it");
}
END_TEST

/* A long line is shown around the caret, and the text stays within the error. */
START_TEST (long_line)
{
    char text[4096] = PROGRAM "    x = ";
    struct dt_err err = { "" };
    size_t i, n = strlen (text);

    for (i = 0; i < 150; i++)
        n += (size_t)sprintf (text + n, "1 + ");
    strcpy (text + n, "1.j\n" RETURN);
    ck_assert_int_eq (parse (text, &err), -DT_ESYNTAX);
    ck_assert_ptr_nonnull (strstr (err.text, "1 + 1.j\n"));
    ck_assert_ptr_nonnull (strstr (err.text, "\nadvice: "));
}
END_TEST

static char *repeat (const char *before, const char *what, int n, const char *after)
{
    char *text = malloc (strlen (before) + strlen (what) * (size_t)n + strlen (after) + 1);

    strcpy (text, before);
    for (size_t k = strlen (before); n > 0; n--, k += strlen (what))
        strcpy (text + k, what);
    return strcat (text, after);
}

#define CLOSED16 "))))))))))))))))"
#define CLOSED CLOSED16 CLOSED16 CLOSED16 CLOSED16

static const struct {
    const char *before, *what;
    int n;
    const char *after, *want;
} limits[] = {
    { "x = ", "(", 64, "1" CLOSED, "nested deeper than 60 levels" },
    { "x = ", "not ", 5000, "1", "nested deeper than 60 levels" },
    { "x = ", "-", 5000, "1", "nested deeper than 60 levels" },
    { "x = ", "1 ** ", 5000, "1", "nested deeper than 60 levels" },
    { "x = ", "1 if 1 else ", 5000, "1", "nested deeper than 60 levels" },
    { "x = ", "1 + ", 5000, "1", "an expression deeper than 200 operations" },
    { "x = a", ".b", 5000, "", "an expression deeper than 200 operations" },
    { "x = a", "()", 5000, "", "an expression deeper than 200 operations" },
    { "x = ", "1 < ", 5000, "1 1", "unexpected an int" },
    { "x = ", "1 and ", 5000, "1 1", "unexpected an int" },
};

START_TEST (limit)
{
    char *text = repeat (limits[_i].before, limits[_i].what, limits[_i].n, limits[_i].after);
    struct dt_err err = { "" };

    ck_assert_int_lt (parse (text, &err), 0);
    ck_assert_msg (strstr (err.text, limits[_i].want) != NULL, "%s", err.text);
    free (text);
}
END_TEST

START_TEST (files)
{
    const struct dt_source good[] = { { "a.py", "import b\nfrom b import f as g\n" PROGRAM "    x = b.f(g(1))\n" RETURN, 0 },
                                      { "b.py", "def f(x):\n    return x\n", 0 } };
    const struct dt_source circle[] = { { "a.py", "import b\n", 9 }, { "b.py", "import a\n", 9 } };
    const struct dt_source name = { "dir/a.py", "", 0 };
    struct dt_source copy[2] = { good[0], good[1] };
    struct dt_program *p = NULL;
    struct dt_err err = { "" };

    copy[0].len = strlen (copy[0].text);
    copy[1].len = strlen (copy[1].text);
    ck_assert_msg (dt_program_parse (copy, 2, &p, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (dt_program_facts (p), 1);
    ck_assert_str_eq (dt_program_fact (p, 0), "a");
    p = dt_program_free (p);
    ck_assert_int_eq (dt_program_parse (circle, 2, &p, &err), -DT_ESYNTAX);
    ck_assert_ptr_nonnull (strstr (err.text, "b.py:1:8: 'a' imports itself in a circle"));
    ck_assert_int_eq (dt_program_parse (&name, 1, &p, &err), -DT_EINPUT);
    ck_assert_int_eq (dt_program_parse (&name, 0, &p, &err), -DT_ELIMIT);
    ck_assert_ptr_null (p);
}
END_TEST

/* What table () reads, and what of it is refused; only where a program reads it. */
static const struct {
    const char *data, *want; /* NULL: the program is accepted and returns 6 */
} tables[] = {
    { "{\"by\": {\"1\": 2, \"0\": 1.5}, \"rows\": [3, true, null, \"a\", -1]}", NULL },
    { "{\"by\": {}, \"by\": {}}", "t.json:1:" },
    { "{\"by\": 9223372036854775808}", "t.json:1:" },
    { "{\"by\": NaN}", "t.json:1:" },
    { "", "t.json:1:" },
    { "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", "a.py:2:5: table(\"t.json\"): lists and objects inside each other deeper than 16" },
    { "{\"by\": 1}", "a.py:12:9: int has no elements to index" },
};

START_TEST (data_file)
{
    static const char text[] = "import selir\nT = selir.table(\"t.json\")\n" PROGRAM
        "    x = T[\"by\"][\"1\"] + T[\"rows\"][0] + T[\"rows\"][1] + int(T[\"by\"][\"0\"] - 0.5) + T[\"rows\"][-1]\n"
        "    return R(n=x)\n";
    const char *data = tables[_i].data, *want = tables[_i].want;
    const struct dt_source source[] = { { "a.py", text, sizeof text - 1 }, { "other.json", "{", 1 }, { "t.json", data, strlen (data) } };
    const struct dt_fact fact = { .name = "a", .kind = DT_FACT_INT, .i = 9 };
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };
    int r;

    ck_assert_msg (dt_program_parse (source, 3, &p, &err) == 0, "%s", err.text);
    r = dt_program_specialise (p, &fact, 1, &g, &err);
    if (want)
        ck_assert_msg (r < 0 && strncmp (err.text, want, strlen (want)) == 0, "%s", err.text);
    else
        ck_assert_msg (r == 0 && g->node[g->point[0].node].imm == 6, "%s", err.text);
    dt_graph_free (g);
    dt_program_free (p);
}
END_TEST

START_TEST (no_data_file)
{
    static const char text[] = "import selir\nT = selir.table(\"t.json\")\n" PROGRAM "    return R(n=1)\n";
    const struct dt_source source = { "a.py", text, sizeof text - 1 };
    const struct dt_fact fact = { .name = "a", .kind = DT_FACT_INT, .i = 9 };
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };

    ck_assert_msg (dt_program_parse (&source, 1, &p, &err) == 0, "%s", err.text);
    ck_assert_int_eq (dt_program_specialise (p, &fact, 1, &g, &err), -DT_ESYNTAX);
    ck_assert_msg (strncmp (err.text, "a.py:2:5: there is no data file 't.json'", 40) == 0, "%s", err.text);
    dt_program_free (p);
}
END_TEST

/* Fail the n-th allocation, for n = 0, 1, ... until none fails. */
START_TEST (no_memory)
{
    static const char text[] = BODY ("x = [i + 1 for i in (1, 2)] if 'a' in {'b': 'c' 'd'} else f(call.x, k=3)\n"
                                     "    y = sorted([call.x, 3, int(2.5e-1 * 8)], key=lambda v: (v % 2, v))[call.x & 1]\n"
                                     "    for j in range(call.x):\n        y += int(y / (j + 1)) ** 2\n"
                                     "    z = max([i for i in range(call.x, -1, -2) if i < y], key=lambda v: -v, default=1)\n"
                                     "    for i in x:\n        if i == 1: continue") "def f(a, k=2): return [a, k]\n";
    const struct dt_source source = { "p.py", text, sizeof text - 1 };
    struct dt_program *p = NULL;
    struct dt_fact fact = { .name = "a", .kind = DT_FACT_INT, .i = 9 };
    struct dt_graph *g = NULL;
    struct dt_err err;
    size_t n;
    int r, hit = 1;

    for (n = 0; hit; n++) {
        dt_mem_fail_after (n);
        err.text[0] = 0;
        if ((r = dt_program_parse (&source, 1, &p, &err)) == 0)
            r = dt_program_specialise (p, &fact, 1, &g, &err);
        hit = dt_mem_fail_hit ();
        dt_mem_fail_after (SIZE_MAX);
        ck_assert_msg (hit ? r == -ENOMEM : r == 0, "%zu: %d %s", n, r, err.text);
        ck_assert (hit ? g == NULL : g != NULL);
        p = dt_program_free (p);
        g = dt_graph_free (g);
    }
    ck_assert_uint_gt (n, 20);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/parse");
    TCase *tc = tcase_create ("parse");

    tcase_add_loop_test (tc, parse_case, 0, (int)DT_ARRAY_SIZE (cases));
    tcase_add_test (tc, whole_text);
    tcase_add_test (tc, long_line);
    tcase_add_loop_test (tc, limit, 0, (int)DT_ARRAY_SIZE (limits));
    tcase_add_test (tc, files);
    tcase_add_loop_test (tc, data_file, 0, (int)DT_ARRAY_SIZE (tables));
    tcase_add_test (tc, no_data_file);
    tcase_add_test (tc, no_memory);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
