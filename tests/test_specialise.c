/* Tests of selir/specialise: values, errors, and what the graph holds. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "selir/program.h"
#include "tests/suite.h"

#define HEAD \
    "from selir import Batch, Facts, Free, Own, Record, Runtime, Unpinnable, assume, knob, require, selection\n" \
    "class M(Facts):\n    a: int\n    flag: bool\n    s: str\n" \
    "class C(Batch):\n    x: Runtime[range(1, facts.a + 1)]\n    y: Unpinnable[(5, 2, 5, 9)]\n" \
    "    o: Own[bool]\n    m: Runtime[\"p\", None]\n" \
    "class R(Record):\n    n: int\n    b: Free[bool]\n"
/* The body starts on line 16; facts are a = 16, flag = True, s = "sm90". */
#define CHOOSE "@selection(family=\"f\")\ndef choose(facts: M, call: C) -> R:\n"

static const struct dt_fact facts[] = { { .name = "a", .kind = DT_FACT_INT, .i = 16 },
                                        { .name = "flag", .kind = DT_FACT_BOOL, .i = 1 },
                                        { .name = "s", .kind = DT_FACT_STR, .s = "sm90" } };

static int specialise (const char *text, const struct dt_fact *fact, size_t n, struct dt_graph **ret, struct dt_err *err)
{
    const struct dt_source source = { "p.py", text, strlen (text) };
    struct dt_program *p = NULL;
    int r;

    if ((r = dt_program_parse (&source, 1, &p, err)) == 0)
        r = dt_program_specialise (p, fact, n, ret, err);
    dt_program_free (p);
    return r;
}

/* Expressions that no input reaches, and CPython's value. */
static const struct {
    const char *expr;
    int64_t want;
} values[] = {
    { "-2 ** 2", -4 }, { "2 ** 3 ** 2", 512 }, { "(-2) ** 2", 4 }, { "2 ** -0", 1 },
    { "int(not 1 == 2)", 1 }, { "int(1 | 2 == 2)", 0 }, { "1 + 2 << 3 - 1", 12 }, { "6 & 3 ^ 1 | 8", 11 },
    { "-7 // 2", -4 }, { "-7 % 3", 2 }, { "7 % -3", -2 }, { "-1 >> 1", -1 }, { "~5", -6 }, { "- -3", 3 },
    { "1 if 0 else 2 if 0 else 3", 3 }, { "int(1 < 2 < 3 > 2)", 1 }, { "int(1 < 2 > 5)", 0 },
    { "0 or 5 and 7", 7 }, { "int(not 0 and 0 or 1)", 1 }, { "3 and 0", 0 }, { "True + True", 2 },
    { "int(True & False)", 0 }, { "int(True ^ True) + (True ^ 2)", 3 }, { "~True", -2 }, { "-True", -1 },
    { "min(3, 1, 2)", 1 }, { "max((3, 1), default=0)", 3 }, { "max([], default=7)", 7 }, { "sum((1, 2), 10)", 13 },
    { "sum(i * j for i in (1, 2) for j in range(3) if j != i)", 4 }, { "len(sorted([3, 1], reverse=True))", 2 },
    { "sorted([3, 1, 2], reverse=True)[0]", 3 }, { "len(\"\xc3\xa9t\xc3\xa9\")", 3 }, { "abs(-9223372036854775807)", INT64_MAX },
    { "(1, 2, 3)[-1]", 3 }, { "{1: 2, True: 5}[1]", 5 }, { "{'a': 1, None: 4}[None]", 4 }, { "range(10, 0, -3)[3]", 1 },
    { "len(range(-5, 5, 3))", 4 }, { "int(4 in range(0, 10, 2))", 1 }, { "int('b' in 'abc')", 1 },
    { "int((1, 2) == (1, 2))", 1 }, { "int(1 == 'a')", 0 }, { "int('a' < 'b')", 1 }, { "int(facts.s == 'sm90')", 1 },
    { "int(facts.flag) + facts.a", 17 }, { "int(None is None)", 1 }, { "int(facts.s is not None)", 1 },
    { "int(any(i // 0 for i in ()))", 0 }, { "int(any(1 // i for i in (1, 0)))", 1 }, { "len([1] * 3 + [2])", 4 },
    { "sum(a * b for a, b in zip((1, 2, 3), (4, 5)))", 14 }, { "sum(i * v for i, v in enumerate((5, 6), start=1))", 17 },
    { "int(7 / 2 * 2)", 7 }, { "round(2.5)", 2 }, { "int(9007199254740993 == 9007199254740992.0)", 0 },
    { "int(9007199254740993 > 9007199254740992.0)", 1 }, { "int(-7.5 // 2)", -4 }, { "int(-7.5 % 2 * 2)", 1 },
    { "int(abs(-2.5) + 0.5)", 3 }, { "int(float(3) / 2 == 1.5)", 1 }, { "int(0.1 + 0.2 == 0.3)", 0 },
    { "int(float('inf') > 1 << 62)", 1 }, { "int('12') + int('-3')", 9 }, { "int(max(1.5, 2) == 2)", 1 },
    { "min((3, -1, 2), key=lambda k: k * k)", -1 }, { "max(((1, 5), (2, 4)), key=lambda p: p[1])[0]", 1 },
    { "sorted((3, -1, 2), key=lambda k: -k)[0]", 3 }, { "sorted([(2, 'a'), (1, 'b'), (1, 'a')])[1][0]", 1 },
    { "int((1, 2) < (1, 2, 0))", 1 }, { "int([1, 'a'] <= [1, 'a'])", 1 }, { "-9223372036854775808", INT64_MIN },
    { "-9223372036854775808 % -1", 0 }, { "len({1.0: 2, 1: 3})", 1 }, { "int(bool(0.0)) + int(bool(-0.5))", 1 },
    { "sum({k: v for k, v in ((1, 2), (3, 4))}[k] for k in (1, 3))", 6 },
};

START_TEST (value)
{
    char text[2048];
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };
    const struct dt_node *n;
    int r;

    snprintf (text, sizeof text, HEAD CHOOSE "    return R(n=%s, b=True)\n", values[_i].expr);
    r = specialise (text, facts, DT_ARRAY_SIZE (facts), &g, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    n = &g->node[g->point[0].node];
    ck_assert_msg (n->op == DT_OP_CONST && n->imm == values[_i].want, "%s is not %lld but %lld", values[_i].expr,
                   (long long)values[_i].want, (long long)n->imm);
    dt_graph_free (g);
}
END_TEST

/* Bodies that are refused or raise, and how the error starts. */
static const struct {
    const char *body;
    int code;
    const char *want;
} errors[] = {
    { "    n = 1 // 0\n", DT_EEVAL, "p.py:16:9: ZeroDivisionError: division by zero" },
    { "    n = 1 << 63\n", DT_EEVAL, "p.py:16:9: OverflowError: an int leaves 64 bits" },
    { "    n = 1 << -1\n", DT_EEVAL, "p.py:16:9: ValueError: negative shift count" },
    { "    n = (1, 2)[2]\n", DT_EEVAL, "p.py:16:9: IndexError: index out of range" },
    { "    n = {1: 2}[2]\n", DT_EEVAL, "p.py:16:9: KeyError: no such key" },
    { "    n = min(())\n", DT_EEVAL, "p.py:16:9: ValueError: the smallest or largest of nothing" },
    { "    a, b = (1, 2, 3)\n", DT_EEVAL, "p.py:16:5: ValueError: too many values to unpack" },
    { "    n = m\n    m = 1\n", DT_EEVAL, "p.py:16:9: UnboundLocalError: this name has no value yet" },
    { "    n = [m for i in (1,)]\n    m = 1\n", DT_EEVAL, "p.py:16:10: NameError: this name has no value yet" },
    { "    if call.x > 3: n = 1 // 0\n    n = 1 % 0\n", DT_EEVAL, "p.py:17:9: ZeroDivisionError" },
    { "    if call.x > 3: n = 1\n    else: n = True\n    m = n\n", DT_ESYNTAX,
      "p.py:18:9: this is int on one path and bool on another, and inputs decide which" },
    { "    if call.x > 3: n = (1, 2)\n    else: n = (1,)\n    m = n\n", DT_ESYNTAX, "p.py:18:9: this is tuple on one path and tuple" },
    { "    n = 1 if call.x > 3 else None\n", DT_ESYNTAX, "p.py:16:9: this is int on one path and None on another" },
    { "    n = 1 + 'a'\n", DT_ESYNTAX, "p.py:16:9: '+' does not take int and str" },
    { "    n = 'a' < 1\n", DT_ESYNTAX, "p.py:16:9: cannot order str and int" },
    { "    n = 1 in 2\n", DT_ESYNTAX, "p.py:16:9: 'in' cannot search int" },
    { "    n = 2 ** (call.x - 2)\n", DT_ESYNTAX, "p.py:16:9: '**' with an exponent that may be negative, which gives a float," },
    { "    n = 2.0 ** 2\n", DT_ESYNTAX, "p.py:16:9: '**' takes ints here, not float and int" },
    { "    n = sum((1.5, 2))\n", DT_ESYNTAX, "p.py:16:9: sum() of floats, whose result differs between Pythons," },
    { "    n = round(1.5, 1)\n", DT_ESYNTAX, "p.py:16:9: round() with digits, whose result differs between Pythons," },
    { "    n = 1.5 & 1\n", DT_ESYNTAX, "p.py:16:9: '&' takes ints, not float and int" },
    { "    n = range(1.5)\n", DT_ESYNTAX, "p.py:16:9: range() takes ints, not float" },
    { "    n = 1.5 // 0\n", DT_EEVAL, "p.py:16:9: ZeroDivisionError: division by zero" },
    { "    n = int(1e300)\n", DT_EEVAL, "p.py:16:9: OverflowError: an int leaves 64 bits" },
    { "    n = int(1e300 * 1e300 * 0)\n", DT_EEVAL, "p.py:16:9: ValueError: a NaN is no int" },
    { "    n = 1.5 if call.x > 3 else 2\n", DT_ESYNTAX, "p.py:16:9: this is float on one path and int on another" },
    { "    n = max(call.x, 2.5)\n", DT_ESYNTAX, "p.py:16:9: this is float on one path and int on another" },
    { "    n = sorted([call.x * 1.5, 1.0])\n", DT_ESYNTAX, "p.py:16:9: sorted() of floats that may be NaN" },
    { "    n = min((1, 2), key=abs)\n", DT_ESYNTAX, "p.py:16:25: a key other than a lambda" },
    { "    n = len(zip(range(call.x)))\n", DT_ESYNTAX, "p.py:16:9: iterator has no length" },
    { "    n = zip(range(call.x))\n", DT_ESYNTAX, "p.py:16:5: the result of enumerate or zip, kept," },
    { "    n = [enumerate(range(call.x))]\n", DT_ESYNTAX, "p.py:16:10: the result of enumerate or zip, kept," },
    { "    return zip((1,), range(call.x))\n", DT_ESYNTAX, "p.py:16:5: the result of enumerate or zip, kept," },
    { "    n = sorted(range(call.x))\n", DT_ESYNTAX, "p.py:16:9: sorted() cannot walk a range whose bound depends on inputs" },
    { "    n = [i for i, j in enumerate(range(call.x))]\n", DT_ESYNTAX, "p.py:16:9: the length of this would depend on inputs" },
    { "    n, m = range(call.x)\n", DT_ESYNTAX, "p.py:16:5: cannot unpack a range whose bound depends on inputs" },
    { "    n = (1, 2) in zip((1,), range(call.x))\n", DT_ESYNTAX, "p.py:16:9: 'in' cannot search iterator" },
    { "    n = range(call.x)[0]\n", DT_ESYNTAX, "p.py:16:9: a range whose bound depends on inputs has no elements to index" },
    { "    n = 3 in range(1, call.x, 2)\n", DT_ESYNTAX, "p.py:16:9: 'in' with a range whose bound depends on inputs and whose step" },
    { "    n = 0\n    for i in enumerate((1, 2), start=call.x): pass\n", DT_ESYNTAX, "p.py:17:14: enumerate() takes a static, small start" },
    { "    n = min(1, 2, key=lambda v: v, default=3)\n", DT_ESYNTAX, "p.py:16:9: a default goes with one collection" },
    { "    n = max(call.x, 3, key=lambda v: None)\n", DT_ESYNTAX, "p.py:16:9: cannot order None and None" },
    { "    n = {1: 2}.get(1)\n", DT_ESYNTAX, "p.py:16:9: dict has no 'get'" },
    { "    n = table('none.json')\n", DT_ESYNTAX, "p.py:16:9: name 'table' is not defined" },
    { "    n = 2 ** -1\n", DT_ESYNTAX, "p.py:16:9: '**' with a negative exponent gives a float" },
    { "    for i in range(1 << call.x * 3): pass\n", DT_ELIMIT, "p.py:16:14: this range is not proven to have at most 262144 values" },
    { "    for i in range(1, 9, call.x): pass\n", DT_ESYNTAX, "p.py:16:14: a range whose step depends on inputs" },
    { "    for i in 3: pass\n", DT_ESYNTAX, "p.py:16:14: cannot loop over int" },
    { "    n = [i for i in (1, 2) if i < call.x]\n", DT_ESYNTAX, "p.py:16:9: the length of this would depend on inputs" },
    { "    n = call.z\n", DT_ESYNTAX, "p.py:16:9: C has no 'z'" },
    { "    n = 1 is 1\n", DT_ESYNTAX, "p.py:16:9: 'is' with other than None" },
    { "    n = zip((1,), (2,))\n", DT_ESYNTAX, "p.py:16:5: the result of enumerate or zip, kept," },
    { "    n = []\n    n += [1]\n", DT_ESYNTAX, "p.py:17:5: '+=' on a list, which changes it in place, is not" },
    { "    n = R(n=1)\n", DT_ESYNTAX, "p.py:16:9: R(): no value for 'b'" },
    { "    n = R(1, True)\n", DT_ESYNTAX, "p.py:16:11: R() takes its fields by keyword" },
    { "    n = M(a=1)\n", DT_ESYNTAX, "p.py:16:9: a M is given, not made" },
    { "    n = choose(facts, call)\n", DT_ESYNTAX, "p.py:16:9: choose calls itself: recursion is not in the language here" },
    { "    n = max(1, 2, key=3)\n", DT_ESYNTAX, "p.py:16:23: a key other than a lambda is not in the language here" },
    { "    n = knob('k', (1, 2), default=3)\n", DT_ESYNTAX, "p.py:16:9: the default of knob 'k' is not among its values" },
    { "    n = knob('k', (1, 1), default=1)\n", DT_ESYNTAX, "p.py:16:9: knob 'k' has a value twice" },
    { "    n = knob('k', (1, 'a'), default=1)\n", DT_ESYNTAX, "p.py:16:9: the values of a knob are not of one type" },
    { "    n = knob('k', (1, 0.5), default=1)\n", DT_ESYNTAX, "p.py:16:9: the values of a knob are not of one type" },
    { "    n = knob('k', (1.0, 0.5), default=1)\n", DT_ESYNTAX, "p.py:16:9: the default of knob 'k' is not among its values" },
    { "    n = knob('k', (0.0, -0.0), default=0.0)\n", DT_ESYNTAX, "p.py:16:9: knob 'k' has a value twice" },
    { "    n = knob('k', (0.5, 1e999), default=0.5)\n", DT_ESYNTAX, "p.py:16:9: a value of knob 'k' is infinite or no number" },
    { "    n = knob('k', (float('nan'), 0.5), default=0.5)\n", DT_ESYNTAX, "p.py:16:9: a value of knob 'k' is infinite" },
    { "    n = knob('k', (1, 2), default=1) + knob('k', (1, 3), default=1)\n", DT_ESYNTAX,
      "p.py:16:40: knob 'k' is used with other values elsewhere" },
    { "    require(call.x)\n", DT_ESYNTAX, "p.py:16:5: a condition takes what must hold, and why" },
    { "    for i in range(1 << 40): pass\n", DT_ELIMIT, "p.py:16:5: loops unroll to more than 262144 values" },
    { "    n = [0] * (1 << 40)\n", DT_ELIMIT, "p.py:16:9: loops unroll to more than 262144 values" },
    { "    if call.x > 3: return R(n=1, b=True)\n    return None\n", DT_ESYNTAX, "p.py:15:34: choose returns R on one path and None" },
    { "    return R(n=True, b=True)\n", DT_ESYNTAX, "p.py:12:8: field 'n' gets bool" },
    { "    return 3\n", DT_ESYNTAX, "p.py:15:34: the selection returns int, not R" },
};

START_TEST (error)
{
    char text[2048];
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };
    int r;

    snprintf (text, sizeof text, HEAD CHOOSE "%s    return R(n=1, b=True)\n", errors[_i].body);
    r = specialise (text, facts, DT_ARRAY_SIZE (facts), &g, &err);
    ck_assert_msg (r == -errors[_i].code, "%s%d: %s", errors[_i].body, r, err.text);
    ck_assert_msg (strncmp (err.text, errors[_i].want, strlen (errors[_i].want)) == 0, "want %s\ngot %s", errors[_i].want, err.text);
    ck_assert_ptr_null (g);
}
END_TEST

static const struct {
    struct dt_fact fact;
    size_t n;
    const char *want;
} bad_facts[] = {
    { { .name = "a", .i = 1 }, 2, "fact 's': missing" },
    { { .name = "z", .i = 1 }, 3, "fact 'z': the program has no such fact" },
    { { .name = "flag", .i = 1 }, 3, "fact 'flag' is an int; the program wants a bool" },
    { { .name = "a", .kind = DT_FACT_STR, .s = "" }, 3, "fact 'a' is a string; the program wants an int" },
    { { .name = "a", .i = 0 }, 3, "p.py:7:16: the domain of 'x' is empty with these facts" },
};

START_TEST (facts_case)
{
    struct dt_fact copy[] = { bad_facts[_i].fact, facts[1], facts[2] };
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };

    ck_assert_int_eq (specialise (HEAD CHOOSE "    return R(n=1, b=True)\n", copy, bad_facts[_i].n, &g, &err), -DT_EINPUT);
    ck_assert_msg (strncmp (err.text, bad_facts[_i].want, strlen (bad_facts[_i].want)) == 0, "%s", err.text);
}
END_TEST

/* A float fact, from a float or an int. */
START_TEST (float_fact)
{
    static const char text[] =
        "from selir import Batch, Facts, Record, Runtime, selection\n"
        "class M(Facts):\n    load: float\n"
        "class C(Batch):\n    x: Runtime[range(1, 3)]\n"
        "class R(Record):\n    n: int\n    half: float\n"
        "@selection(family=\"f\")\ndef choose(facts: M, call: C) -> R:\n"
        "    return R(n=int(facts.load * 4), half=facts.load / 2)\n";
    const struct dt_fact given[] = { { .name = "load", .kind = DT_FACT_FLOAT, .d = 2.5 },
                                     { .name = "load", .kind = DT_FACT_INT, .i = 3 },
                                     { .name = "load", .kind = DT_FACT_STR, .s = "2.5" },
                                     { .name = "load", .kind = DT_FACT_BOOL, .i = 1 },
                                     { .name = "load", .kind = DT_FACT_STR, .s = "2.5x" } };
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };

    if (_i > 2) {
        ck_assert_int_eq (specialise (text, &given[_i], 1, &g, &err), -DT_EINPUT);
        ck_assert_str_eq (err.text, _i == 3 ? "fact 'load' is a bool; the program wants a float"
                                            : "fact 'load' is a string; the program wants a float");
        return;
    }
    ck_assert_msg (specialise (text, &given[_i], 1, &g, &err) == 0, "%s", err.text);
    ck_assert_int_eq (g->node[g->point[0].node].imm, _i == 1 ? 12 : 10);
    ck_assert (dt_op_double (g->node[g->point[1].node].imm) == (_i == 1 ? 1.5 : 1.25));
    ck_assert_int_eq (g->point[1].type, DT_TYPE_FLOAT);
    dt_graph_free (g);
}
END_TEST

/* The graph of a body: lines that its dump must have, and one that it must not. */
static const struct {
    const char *body, *has[4], *has_not;
} graphs[] = {
    { "    n = call.x // call.y\n    return R(n=n, b=True)\n", { "= // %0 %1  # choose.n  p.py:16:9", "free b = " }, " if " },
    { "    n = call.x if call.x > call.y else call.y\n    return R(n=n, b=call.o)\n",
      { "%4:b = < %1 %0", "%5:b = not %4", "select %4 %0 %1  # choose.n" }, "fail" },
    { "    n = 1\n    if call.x > 3: n = call.x // call.y\n    return R(n=n, b=True)\n", { "= // %0 %1 if %5" }, NULL },
    { "    if call.x > 3: n = 7\n    return R(n=n, b=True)\n", { "fail UnboundLocalError if %" }, NULL },
    { "    if call.x > 3: n = 1 // 0\n    return R(n=1, b=True)\n", { "fail ZeroDivisionError if %" }, "//" },
    { "    if call.x > 3 and 8 // call.y: return R(n=1, b=True)\n    return R(n=2, b=False)\n", { "// %6 %1 if %5" }, NULL },
    { "    require(call.x < 9, 'small')\n    if call.o: assume(call.y == 2, 'two')\n    return R(n=1, b=True)\n",
      { "require %", "\"small\"  p.py:16:5", "assume %", " if %2 \"two\"  p.py:17:16" }, NULL },
    { "    return R(n=1, b=call.x < knob('k', (0.8, 0.5), default=0.5))\n", { "knob k  p.py:16:30" }, NULL },
    { "    return R(n=knob('k', (4, 2), default=2), b=call.m is None)\n", { "knob k  p.py:16:16", "== %3 %" }, NULL },
    { "    n = call.x\n    for s in (1, 2):\n        if s == call.y: break\n        n += s\n    return R(n=n, b=True)\n",
      { " if %", "# choose.n" }, "fail" },
    { "    n = 0\n    for i in range(2, call.x % 4 + 2):\n        n += call.y\n    return R(n=n, b=True)\n",
      { "const 4 ", "+ %", " if %", "select %" }, "const 5 " },
    { "    n = max(i for i in (1, 2) if i < call.y)\n    return R(n=n, b=True)\n", { "fail ValueError if %" }, NULL },
    { "    return R(n=int(call.x / call.y), b=call.x < 1.5)\n", { "f = / %0 %1", "i = int %", "b = < %0 %" }, NULL },
};

START_TEST (graph)
{
    char text[2048];
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };
    struct dt_buf dump = { 0 };
    size_t i;
    int r;

    snprintf (text, sizeof text, HEAD CHOOSE "%s", graphs[_i].body);
    r = specialise (text, facts, DT_ARRAY_SIZE (facts), &g, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    dt_graph_check (g);
    dt_graph_dump (g, &dump);
    for (i = 0; i < 4 && graphs[_i].has[i]; i++)
        ck_assert_msg (strstr (dt_buf_str (&dump), graphs[_i].has[i]) != NULL, "no %s in\n%s", graphs[_i].has[i], dt_buf_str (&dump));
    ck_assert_msg (!graphs[_i].has_not || !strstr (dt_buf_str (&dump), graphs[_i].has_not), "%s", dt_buf_str (&dump));
    dt_buf_done (&dump);
    dt_graph_free (g);
}
END_TEST

START_TEST (domains)
{
    struct dt_graph *g = NULL;

    ck_assert_int_eq (specialise (HEAD CHOOSE "    return R(n=knob('k', (4, 2), default=2), b=True)\n", facts,
                                  DT_ARRAY_SIZE (facts), &g, NULL), 0);
    ck_assert_uint_eq (g->n_inputs, 4);
    ck_assert_str_eq (g->input[0].name, "x");
    ck_assert (g->input[0].klass == DT_INPUT_RUNTIME && g->input[0].domain.lo == 1 && g->input[0].domain.hi == 16
               && g->input[0].domain.step == 1);
    ck_assert (g->input[1].klass == DT_INPUT_UNPINNABLE && g->input[1].domain.n == 3 && g->input[1].domain.value[0] == 2
               && g->input[1].domain.value[2] == 9);
    ck_assert (g->input[2].klass == DT_INPUT_OWN && g->input[2].type == DT_TYPE_BOOL);
    ck_assert (g->input[3].type == DT_TYPE_ENUM && g->input[3].domain.n == 2);
    ck_assert_str_eq (g->enum_text[g->input[3].domain.value[1]], "None");
    ck_assert (g->n_knobs == 1 && g->knob[0].value[0] == 4 && g->knob[0].initial == 1);
    ck_assert (g->n_points == 2 && !g->point[0].is_free && g->point[1].is_free);
    ck_assert_str_eq (g->family, "f");
    dt_graph_free (g);
}
END_TEST

/* Floats are members by their bits; a NaN or an infinity is none. */
static const struct {
    const char *domain;
    size_t n; /* members; 0: refused */
    const char *want;
} float_domains[] = {
    { "0.5, -0.25, 0.5, 1e-3", 3, NULL },
    { "0.0, -0.0", 2, NULL },
    { "[n / 4 for n in range(8)]", 8, NULL },
    { "1.0, float('inf')", 0, "p.py:5:16: a value of the domain of 'x' is infinite or no number" },
    { "1.0, 1e999 - 1e999", 0, "p.py:5:16: a value of the domain of 'x' is infinite or no number" },
    { "1.0, 2", 0, "p.py:5:16: the values of this domain are not of one type" },
};

START_TEST (float_domain)
{
    char text[1024];
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };
    int r;

    snprintf (text, sizeof text,
              "from selir import Batch, Facts, Record, Runtime, selection\n"
              "class M(Facts):\n    pass\n"
              "class C(Batch):\n    x: Runtime[%s]\n"
              "class R(Record):\n    n: float\n"
              "@selection(family=\"f\")\ndef choose(facts: M, call: C) -> R:\n    return R(n=call.x * 2)\n",
              float_domains[_i].domain);
    r = specialise (text, NULL, 0, &g, &err);
    if (!float_domains[_i].n) {
        ck_assert_int_eq (r, -DT_ESYNTAX);
        ck_assert_msg (strncmp (err.text, float_domains[_i].want, strlen (float_domains[_i].want)) == 0, "%s", err.text);
        return;
    }
    ck_assert_msg (r == 0, "%s", err.text);
    ck_assert (g->input[0].type == DT_TYPE_FLOAT && g->input[0].domain.n == float_domains[_i].n);
    for (size_t i = 1; i < g->input[0].domain.n; i++)
        ck_assert (g->input[0].domain.value[i - 1] < g->input[0].domain.value[i]);
    dt_graph_free (g);
}
END_TEST

/* An expression of many operands is deep for the evaluator, not for the parser. */
START_TEST (many_operands)
{
    static const char *const words[] = { "call.x and ", "call.y or ", "call.x - 1 and " };
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };
    struct dt_buf b = { 0 };

    dt_buf_printf (&b, "%s", HEAD CHOOSE "    return R(n=");
    for (int i = 0; i < 20000; i++)
        dt_buf_printf (&b, "%s", words[_i]);
    dt_buf_printf (&b, "call.x, b=True)\n");
    ck_assert_int_eq (specialise (dt_buf_str (&b), facts, 3, &g, &err), -DT_ELIMIT);
    ck_assert_ptr_nonnull (strstr (err.text, "nested deeper than 1500"));
    dt_buf_done (&b);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/specialise");
    TCase *tc = tcase_create ("specialise");

    tcase_add_loop_test (tc, value, 0, (int)DT_ARRAY_SIZE (values));
    tcase_add_loop_test (tc, error, 0, (int)DT_ARRAY_SIZE (errors));
    tcase_add_loop_test (tc, float_fact, 0, 5);
    tcase_add_loop_test (tc, facts_case, 0, (int)DT_ARRAY_SIZE (bad_facts));
    tcase_add_loop_test (tc, graph, 0, (int)DT_ARRAY_SIZE (graphs));
    tcase_add_test (tc, domains);
    tcase_add_loop_test (tc, float_domain, 0, DT_ARRAY_SIZE (float_domains));
    tcase_add_loop_test (tc, many_operands, 0, 3);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
