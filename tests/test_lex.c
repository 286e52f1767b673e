/* Tests of selir/lex: tokens, by CPython's rules. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "selir/lex.h"
#include "selir/op.h"
#include "tests/suite.h"

/* Tokens as words: names and ints as they are, "NL", ">" and "<" for blocks. */
static void spell (const struct dt_token *t, size_t n, struct dt_buf *out)
{
    for (size_t i = 0; i < n; i++)
        switch (t[i].kind) {
        case DT_TOK_END: break;
        case DT_TOK_NEWLINE: dt_buf_printf (out, "NL "); break;
        case DT_TOK_INDENT: dt_buf_printf (out, "> "); break;
        case DT_TOK_DEDENT: dt_buf_printf (out, "< "); break;
        case DT_TOK_NAME: dt_buf_printf (out, "%s ", t[i].text); break;
        case DT_TOK_STR: dt_buf_printf (out, "\"%s\" ", t[i].text); break;
        case DT_TOK_INT: dt_buf_printf (out, "%lld ", (long long)t[i].value); break;
        case DT_TOK_FLOAT: dt_buf_printf (out, "%.17g ", dt_op_double (t[i].value)); break;
        default: dt_buf_printf (out, "%s ", dt_tok_name (t[i].kind));
        }
}

static const struct {
    const char *text, *want; /* tokens, or how the error starts */
} cases[] = {
    { "", "" },
    { "\n# only\n\n", "" },
    { "x", "x NL " },
    { "if a:\n  b\nc\n", "'if' a ':' NL > b NL < c NL " },
    { "if a:\n\n  # deep\n        # odd\n  b", "'if' a ':' NL > b NL < " },
    { "if a:\n\tb\n\tif c:\n\t\td\n", "'if' a ':' NL > b NL 'if' c ':' NL > d NL < < " },
    { "if a:\n\tb\n        c\n", "program.py:3:9: inconsistent use of tabs and spaces" },
    { "if a:\n    b\n  c\n", "program.py:3:3: unindent does not match any outer block" },
    { "a = (1,\n   2\n)\nb", "a '=' '(' 1 ',' 2 ')' NL b NL " },
    { "a \\\n  + b", "a '+' b NL " },
    { "a \\ b", "program.py:1:3: unexpected character after a line continuation" },
    { "a\\\n", "program.py:2:1: the file ends after a line continuation" },
    { "a\r\nb\rc", "a NL b NL c NL " },
    { "\xef\xbb\xbf" "a", "a NL " },
    { "a; b", "a ';' b NL " },
    { "0xFF 0b11 0o17 1_000 0 00 0_0", "255 3 15 1000 0 0 0 NL " },
    { "9223372036854775807", "9223372036854775807 NL " },
    { "9223372036854775808", "-9223372036854775808 NL " }, /* for the parser, after a minus */
    { "9223372036854775809", "program.py:1:1: an int literal beyond 64 bits" },
    { "0777", "program.py:1:1: an int that starts with 0" },
    { "1__0", "program.py:1:1: a number with two underscores in a row" },
    { "1_", "program.py:1:1: a malformed number" },
    { "0x", "program.py:1:1: a malformed number" },
    { "1.5 .5 1e5 1_0.2_5E-1 5. 0777. 9e999", "1.5 0.5 100000 1.0249999999999999 5 777 inf NL " },
    { "1.5.5", "1.5 0.5 NL " },
    { "1.e", "program.py:1:1: a malformed number" },
    { "1e5_", "program.py:1:1: a malformed number" },
    { "2.5J", "program.py:1:1: a complex number is not in the language here" },
    { "r'''a\r\n\\\r\nb'''", "\"a\n\\\nb\" NL " },
    { "2j", "program.py:1:1: a complex number is not in the language here" },
    { "3x", "program.py:1:1: a malformed number" },
    { "'a' \"b\" '''c\nd''' r'\\n' u'e' ''", "\"a\" \"b\" \"c\nd\" \"\\n\" \"e\" \"\" NL " },
    { "'\\x41\\u00e9\\101\\q\\\n.'", "\"A\xc3\xa9" "A\\q.\" NL " },
    { "'\\0'", "program.py:1:1: an escape that is no character of a text" },
    { "'a", "program.py:1:1: this string is never closed" },
    { "'a\n'", "program.py:1:1: this string is never closed" },
    { "'''a\n", "program.py:1:1: this string is never closed" },
    { "f'a'", "program.py:1:1: an f-string is not in the language here" },
    { "x = Rb'a'", "program.py:1:5: a bytes literal is not in the language here" },
    { "(a]", "program.py:1:3: ']' does not match the bracket opened on line 1" },
    { "(\na", "program.py:1:1: this bracket is never closed" },
    { ")", "program.py:1:1: ')' closes nothing" },
    { "a $ b", "program.py:1:3: unexpected character '$'" },
    { "n\xc3\xa4me", "program.py:1:2: a character outside ASCII in a name" },
    { "# \xff", "program.py:1:3: the file is not UTF-8" },
    { "# coding: latin-1\n", "program.py:1:18: a source encoding other than UTF-8" },
    { "a **= b // c << 1 != d -> :=", "a '**=' b '//' c '<<' 1 '!=' d '->' ':=' NL " },
    { "not_a nota in_ is", "not_a nota in_ 'is' NL " },
};

START_TEST (lex_case)
{
    const struct dt_source src = { "program.py", cases[_i].text, strlen (cases[_i].text) };
    struct dt_arena arena = { 0 };
    struct dt_token *token;
    struct dt_err err = { "" };
    struct dt_buf got = { 0 };
    size_t n;
    int r = dt_lex (&src, 0, &arena, &token, &n, &err);

    if (r == 0) {
        spell (token, n, &got);
        ck_assert_str_eq (dt_buf_str (&got), cases[_i].want);
    } else {
        ck_assert_int_eq (r, -DT_ESYNTAX);
        ck_assert_msg (strncmp (err.text, cases[_i].want, strlen (cases[_i].want)) == 0, "%s", err.text);
        ck_assert_msg (cases[_i].want[0] == 'p', "%s: %s", cases[_i].text, err.text);
    }
    dt_buf_done (&got);
    dt_arena_done (&arena);
}
END_TEST

START_TEST (zero_byte)
{
    const struct dt_source src = { "program.py", "a\0b", 3 };
    struct dt_arena arena = { 0 };
    struct dt_token *token;
    struct dt_err err = { "" };
    size_t n;

    ck_assert_int_eq (dt_lex (&src, 0, &arena, &token, &n, &err), -DT_ESYNTAX);
    ck_assert_ptr_nonnull (strstr (err.text, "1:2: the file has a zero byte"));
    dt_arena_done (&arena);
}
END_TEST

/* Each limit is an error of its own, and names itself. */
START_TEST (limits)
{
    static char text[1 << 20];
    static const char *const want[] = { "more than 100 open brackets", "more than 100 levels of indentation",
                                        "more than 262144 tokens" };
    struct dt_arena arena = { 0 };
    struct dt_source src = { "program.py", text, 0 };
    struct dt_token *token;
    struct dt_err err = { "" };
    size_t n, k = 0, i, j;

    if (_i == 0)
        k = (size_t)(memset (text, '(', 101), 101);
    for (i = 0; _i == 1 && i <= 101; i++) {
        for (j = 0; j < i; j++)
            text[k++] = ' ';
        k += (size_t)sprintf (text + k, "if a:\n");
    }
    for (; _i == 2 && k < 600000; k += 2)
        memcpy (text + k, "a ", 2);
    src.len = k;
    ck_assert_int_eq (dt_lex (&src, 0, &arena, &token, &n, &err), -DT_ELIMIT);
    ck_assert_msg (strstr (err.text, want[_i]) != NULL, "%s", err.text);
    dt_arena_done (&arena);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/lex");
    TCase *tc = tcase_create ("lex");

    tcase_add_loop_test (tc, lex_case, 0, (int)DT_ARRAY_SIZE (cases));
    tcase_add_test (tc, zero_byte);
    tcase_add_loop_test (tc, limits, 0, 3);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
