/* selir/program_digest: what a program says, not how it is laid out. */
#include <string.h>

#include "base/mem.h"
#include "selir/program.h"
#include "tests/suite.h"

#define HEAD "from selir import Batch, Facts, Record, Runtime, selection, table\nimport low\n"
#define CLASSES \
    "class M(Facts):\n    a: int\n" \
    "class C(Batch):\n    x: Runtime[range(1, 9)]\n" \
    "class R(Record):\n    n: int\n"
#define CHOOSE "@selection(family=\"f\")\ndef choose(facts: M, call: C) -> R:\n"
#define BODY "    if call.x > 4:\n        return R(n=low.half(call.x))\n    return R(n=2)\n"
#define MAIN HEAD CLASSES CHOOSE BODY
#define LOW "def half(n: int) -> int:\n    return n // 2\n"

#define MAX_FILES 4
struct files {
    struct {
        const char *name, *text;
    } file[MAX_FILES];
};

#define PLAIN { { { "p.py", MAIN }, { "low.py", LOW } } }
#define TABLE HEAD "T = table(\"t.json\")\n" CLASSES CHOOSE BODY

#define NAMED MAIN "    T = table(facts.name)\n"
#define JOINED HEAD "T = table(\"t\" + \".json\")\n" CLASSES CHOOSE BODY

static struct dt_digest digest (const struct files *f)
{
    struct dt_source source[MAX_FILES];
    struct dt_err err = { "" };
    struct dt_program *p = NULL;
    struct dt_digest d;
    size_t n = 0;

    for (; n < MAX_FILES && f->file[n].name; n++)
        source[n] = (struct dt_source){ f->file[n].name, f->file[n].text,
                                        strlen (f->file[n].text) };
    ck_assert_msg (dt_program_parse (source, n, &p, &err) == 0, "%s", err.text);
    ck_assert_msg (dt_program_digest (p, &d, &err) == 0, "%s", err.text);
    dt_program_free (p);
    return d;
}

static const struct {
    const char *what;
    struct files a, b;
    int same;
} cases[] = {
    { "a comment", PLAIN, { { { "p.py", "# hello\n" MAIN "  # bye\n" }, { "low.py", LOW } } }, 1 },
    { "blank lines and spaces", PLAIN,
      { { { "p.py", HEAD "\n\n" CLASSES "\n" CHOOSE
            "  if   call . x>4 :\n\n      return R(\n  n = low.half (call.x))\n  return R(n=0x2)\n" },
          { "low.py", LOW } } }, 1 },
    { "an unrelated file", PLAIN,
      { { { "p.py", MAIN }, { "other.py", "X = 1\n" }, { "low.py", LOW } } }, 1 },
    { "an unrelated broken file", PLAIN,
      { { { "p.py", MAIN }, { "low.py", LOW }, { "z.py", "def (" } } }, 1 },
    { "an unread data file", PLAIN, { { { "p.py", MAIN }, { "low.py", LOW }, { "t.json", "[1]" } } }, 1 },
    { "a comment in an import", PLAIN, { { { "p.py", MAIN }, { "low.py", "# !\n" LOW } } }, 1 },
    { "a constant", PLAIN,
      { { { "p.py", HEAD CLASSES CHOOSE "    if call.x > 5:\n        return R(n=low.half(call.x))\n"
                                        "    return R(n=2)\n" }, { "low.py", LOW } } }, 0 },
    { "a constant in an import", PLAIN,
      { { { "p.py", MAIN }, { "low.py", "def half(n: int) -> int:\n    return n // 3\n" } } }, 0 },
    { "an operator", PLAIN,
      { { { "p.py", MAIN }, { "low.py", "def half(n: int) -> int:\n    return n % 2\n" } } }, 0 },
    { "a block's end", PLAIN,
      { { { "p.py", HEAD CLASSES CHOOSE "    if call.x > 4:\n        pass\n    return R(n=2)\n" },
          { "low.py", LOW } } }, 0 },
    { "a data file that is read",
      { { { "p.py", TABLE }, { "low.py", LOW }, { "t.json", "[1]" } } },
      { { { "p.py", TABLE }, { "low.py", LOW }, { "t.json", "[2]" } } }, 0 },
    { "a data file that a fact names",
      { { { "p.py", NAMED }, { "low.py", LOW }, { "t.json", "[1]" } } },
      { { { "p.py", NAMED }, { "low.py", LOW }, { "t.json", "[2]" } } }, 0 },
    { "a data file whose name is put together",
      { { { "p.py", JOINED }, { "low.py", LOW }, { "t.json", "[1]" } } },
      { { { "p.py", JOINED }, { "low.py", LOW }, { "t.json", "[2]" } } }, 0 },
};

START_TEST (changes)
{
    struct dt_digest a = digest (&cases[_i].a), b = digest (&cases[_i].b);

    ck_assert_msg (dt_digest_equal (&a, &b) == cases[_i].same, "%s", cases[_i].what);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/program_digest");
    TCase *tc = tcase_create ("digest");

    tcase_add_loop_test (tc, changes, 0, (int)DT_ARRAY_SIZE (cases));
    suite_add_tcase (s, tc);
    return suite_run (s);
}
