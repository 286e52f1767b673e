/* tests/fuzz/fuzz_program.h - bytes to a SelIR program: each byte picks a production.
 * Used by: fuzz_simplify.c. */
#ifndef DT_TESTS_FUZZ_PROGRAM_H
#define DT_TESTS_FUZZ_PROGRAM_H

#include <stdint.h>
#include <string.h>

#define PROGRAM_ROOM 16384
#define PROGRAM_DEPTH 4     /* of expressions, and of blocks */
#define PROGRAM_STATEMENTS 16

struct maker {
    const uint8_t *data;
    size_t n, at;
    int left; /* statements */
    int wide; /* also the ends of tables: floats, lambdas; the others are the faster to run */
    char text[PROGRAM_ROOM];
    size_t len;
};

/* The next byte below `n`; past the end 0, so that a program ends. */
static uint32_t choose (struct maker *m, uint32_t n)
{
    return m->at < m->n ? m->data[m->at++] % n : 0;
}

static void say (struct maker *m, const char *s, size_t n)
{
    if (m->len + n + 1 > sizeof m->text)
        return; /* a cut program is refused */
    memcpy (m->text + m->len, s, n);
    m->text[m->len += n] = '\0';
}

/* $i $b $e $f: an expression of that type.  $I $B $F: a local.  $c: a constant;
 * $t: a float; $<: a comparison; $k: 1..6; $l: a collection; $r: a
 * range whose bounds depend on inputs. */
static const char *const ints[] = {
    "$I", "$c", "call.n", "call.m", "facts.a", "knob('k', (1, 2, 5), default=2)", "i", /* leaves */
    "($i + $i)", "($i - $i)", "($i * $i)", "($i // $i)", "($i % $i)", "($i // $c)", "($i % $c)",
    "($i << ($i & 7))", "($i >> ($i & 15))", "($i & $i)", "($i | $i)", "($i ^ $i)", "(-$i)", "(~$i)",
    "abs($i)", "min($i, $i)", "max($i, $i, $i)", "($i if $b else $i)", "int($b)", "($i and $i)",
    "($i or $i)", "($c, $i, $i, $c)[$i & 3]", "ITEMS[$i % 4 - 1]", "{1: $i, 2: $i, 5: 9}[$I & 3]",
    "sum(i * $I for i in $l)", "max([i for i in $l if i > $I], default=$i)", "helper($i, $i)",
    "helper(q=$i, p=$I)", "(-$i // $c * $c)", "len([i for i in $l])",
    "len($r)", "sum(i * j for i, j in enumerate($r))", "max((i ^ j for i, j in zip($r, $l)), default=$i)",
    "min($i, $I, $i, key=lambda v: v & $I)", /* wide */
    "($i ** $k)", "int($f)", "round($f)", "min($l, key=lambda v: v ^ $I)", /* wide */
};
static const char *const bools[] = {
    "$B", "call.flag", "True", "($I $< $c)", /* leaves */
    "($i $< $i)", "($i $< $i $< $i)", "($b and $b)", "($b or $b)", "(not $b)", "($b == $b)", "($b != $b)",
    "($i in $l)", "($i not in (1, $c))", "any($I // i > 2 for i in $l)", "all([$I > i for i in $l])",
    "($i in $r)", "($e == $e)", "($e is None)", "($e in ('a', None))", "bool($i)", "($b if $b else $b)",
    "($f $< $f)", "($f $< $i)", "($i $< $f)", "bool($f)", "(not $r)", /* wide */
};
static const char *const enums[] = {
    "call.mode", "'a'", "None", /* leaves */
    "($e if $b else $e)", "($e or 'bc')", "('a', 'bc', None)[$i % 3]",
};
static const char *const floats[] = {
    "$F", "$t", "float($I)", /* leaves */
    "($i / $i)", "($f + $f)", "($f - $f)", "($f * $f)", "($f / $f)", "($f // $f)", "($f % $f)", "(-$f)",
    "abs($f)", "min($f, $f)", "max($f, $f)", "f32($f)", "f32($i / $i)", "float($i)", "($f if $b else $f)",
    "($f * $t)", "($f + $i)", "($i * $f)",
};
static const char *const constants[] = {
    "0", "1", "2", "3", "7", "-1", "8", "64", "255", "1000", "4096", "(1 << 40)", "9223372036854775807",
    "(-9223372036854775807 - 1)", "63", "-64",
};
static const char *const reals[] = {
    "0.0", "-0.0", "0.5", "1.0", "0.85", "-1.5", "1e300", "9007199254740993.0", "1e-320", "3.0",
};
static const char *const comparisons[] = { "<", "<=", "==", "!=", ">", ">=" };
static const char *const items[] = {
    "range($k)", "ITEMS", "(3, 1, 2)", "[5, 0]", "sorted(ITEMS)", "range(7, 0, -2)", "(1, $I, $c)",
};
static const char *const ranges[] = {
    "range($i & 3)", "range($I & 7, $i & 3, -1)", "range(call.n, min(max($I, -9), 5), $k)", "range(call.n)",
};

static void expand (struct maker *m, const char *form, int depth);

/* One of the table's first `leaves` when deep, else of all, but for the last `n_wide`
 * unless the program is wide. */
#define ONE_OF(m, table, leaves, n_wide, depth) \
    expand (m, (table)[choose (m, (depth) >= PROGRAM_DEPTH ? (leaves) \
                                  : sizeof (table) / sizeof *(table) - ((m)->wide ? 0 : (n_wide)))], \
            (depth) + 1)

static void slot (struct maker *m, char what, int depth)
{
    char name[3] = { what == 'I' ? 'n' : what == 'B' ? 'b' : 'r', 0, 0 };

    switch (what) {
    case 'i': ONE_OF (m, ints, 6, 5, depth); break;
    case 'b': ONE_OF (m, bools, 4, 5, depth); break;
    case 'e': ONE_OF (m, enums, 3, 0, depth); break;
    case 'f': ONE_OF (m, floats, 3, 0, depth); break;
    case 'c': ONE_OF (m, constants, 16, 0, PROGRAM_DEPTH); break;
    case 't': ONE_OF (m, reals, 10, 0, PROGRAM_DEPTH); break;
    case '<': ONE_OF (m, comparisons, 6, 0, PROGRAM_DEPTH); break;
    case 'l': ONE_OF (m, items, 7, 0, PROGRAM_DEPTH); break;
    case 'r': ONE_OF (m, ranges, 4, 0, depth + 1); break;
    case 'W': expand (m, m->wide ? ", f32" : "", 0); break;
    case 'w': expand (m, m->wide ? "float" : "int", 0); break;
    case 'k':
        name[0] = (char)('1' + choose (m, 6));
        say (m, name, 1);
        break;
    default: /* a local: n0..n2, b0..b2, r0..r2 */
        name[1] = (char)('0' + choose (m, 3));
        say (m, name, 2);
    }
}

static void expand (struct maker *m, const char *form, int depth)
{
    for (; *form; form++) {
        if (*form == '$')
            slot (m, *++form, depth);
        else
            say (m, form, 1);
    }
}

static void line (struct maker *m, int indent, const char *form)
{
    while (indent-- > 0)
        say (m, "    ", 4);
    expand (m, form, 1);
    say (m, "\n", 1);
}

static const char *const statements[] = {
    "$I = $i", "$I = $i", "$I += $i", "$I -= $i", "$I *= $i", "$I //= $i", "$B = $b", "e0 = $e",
    "require($b, 'why')", "assume($i $< $i, 'so')", "$I, $I = $i, $i",
    "$F = $f", "$F *= $f", "$I = min(($i, $i, $I), key=lambda v: -v)", /* wide */
};
static const char *const loops[] = {
    "for i in $l:", "for j, i in enumerate($l):", "for i, j in zip($l, $l):", "for i in range($k, 9, $k):",
    "for i in $r:", "for j, i in enumerate($r):", "for i, j in zip($r, $l):",
};

static void result (struct maker *m, int indent, const char *before)
{
    line (m, indent, before);
    m->len--; /* the same line */
    line (m, 0, m->wide ? "return Choice(x=$i, y=$b, z=$e, w=$f)" : "return Choice(x=$i, y=$b, z=$e, w=$i)");
}

static void statement (struct maker *m, int indent)
{
    line (m, indent, statements[choose (m, sizeof statements / sizeof *statements - (m->wide ? 0 : 3))]);
}

static void block (struct maker *m, int indent, int in_loop)
{
    uint32_t i, n = 1 + choose (m, 4);

    for (i = 0; i < n; i++) {
        uint32_t pick = choose (m, indent < PROGRAM_DEPTH && m->left > 0 ? 10 : 6);

        m->left--;
        if (pick < 6) {
            statement (m, indent);
        } else if (pick < 8) {
            line (m, indent, "if $b:");
            block (m, indent + 1, in_loop);
            if (choose (m, 2)) {
                line (m, indent, choose (m, 2) ? "else:" : "elif $b:");
                block (m, indent + 1, in_loop);
            }
        } else if (in_loop) {
            line (m, indent, choose (m, 2) ? "if $b: break" : "if $b: continue");
        } else if (pick == 8) {
            line (m, indent, loops[choose (m, 7)]);
            block (m, indent + 1, 1);
        } else {
            result (m, indent, "if $b: ");
        }
    }
}

static const char *const head =
    "from __future__ import annotations\n"
    "from selir import Batch, Facts, Record, Runtime, Unpinnable, assume, knob, require, selection$W\n"
    "ITEMS = (3, 1, 4, 1)\n"
    "class Model(Facts):\n"
    "    a: int\n"
    "class Call(Batch):\n"
    "    n: Runtime[range(-3, 9)]\n"
    "    m: Unpinnable[range(0, 70000, 3)]\n"
    "    flag: Runtime[bool]\n"
    "    mode: Runtime['a', 'bc', '', None]\n"
    "class Choice(Record):\n"
    "    x: int\n"
    "    y: bool\n"
    "    z: str\n"
    "    w: $w\n"
    "def helper(p, q=$c):\n"
    "    for j in range($k):\n"
    "        if p $< q: return p\n"
    "        p -= q\n"
    "    return p // $c\n"
    "@selection(family='fuzz')\n"
    "def choose(facts: Model, call: Call) -> Choice:\n"
    "    i, n0, n1, n2 = $k, call.n, call.m, $c\n"
    "    b0, b1, b2, e0 = call.flag, call.n < $c, call.m $< $c, call.mode\n";

/* The program's text in m->text. */
static void make_program (struct maker *m)
{
    m->left = PROGRAM_STATEMENTS;
    m->wide = (int)choose (m, 2);
    expand (m, head, 0);
    if (m->wide)
        line (m, 1, "r0, r1, r2 = $t, float(call.n), call.m / 7");
    block (m, 1, 0);
    result (m, 1, "");
}

#endif
