/* selir/lex_literal.c - numbers and strings. */
#include <ctype.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "selir/lex.h"
#include "selir/op.h"
#include "selir/refuse.h"

static int bad (struct dt_lexer *l, struct dt_span at, const char *advice, const char *what)
{
    return dt_diag (l->err, -DT_ESYNTAX, l->src, at, advice, "%s", what);
}

static int digit_value (int c)
{
    return isdigit (c) ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 : c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

/* Does a fraction or an exponent follow? */
static int is_float_tail (const struct dt_lexer *l)
{
    int c = dt_lexer_peek (l, 0), d = dt_lexer_peek (l, 1);

    if (c == '.')
        return 1;
    return (c == 'e' || c == 'E')
           && ((d >= 0 && isdigit (d)) || ((d == '+' || d == '-') && dt_lexer_peek (l, 2) >= 0 && isdigit (dt_lexer_peek (l, 2))));
}

/* Digits of `base` with single underscores between them (and after a prefix).  What
 * does not fit in 2**63 is only an error if an int is meant: *ret_over tells. */
static int digits (struct dt_lexer *l, struct dt_span at, int base, int after_prefix, uint64_t *ret, int *ret_over)
{
    uint64_t v = 0;
    int c, last = after_prefix ? '_' : 0, any = 0;

    for (;; l->at++) {
        c = dt_lexer_peek (l, 0);
        if (c == '_') {
            if (last == '_' && (any || dt_lexer_peek (l, 1) == '_'))
                return bad (l, at, NULL, "a number with two underscores in a row");
        } else if (c >= 0 && digit_value (c) < base) {
            *ret_over |= __builtin_mul_overflow (v, (uint64_t)base, &v)
                         || __builtin_add_overflow (v, (uint64_t)digit_value (c), &v) || v > (uint64_t)INT64_MAX + 1;
            any = 1;
        } else
            break;
        last = c;
    }
    if (!any || last == '_')
        return bad (l, at, NULL, "a malformed number");
    *ret = v;
    return 0;
}

/* The double nearest to a decimal text, whatever the locale. */
static int to_double (struct dt_lexer *l, const char *text, size_t n, double *ret)
{
    char *copy = dt_arena_strn (l->arena, text, n), *to = copy;
    locale_t c = newlocale (LC_ALL_MASK, "C", (locale_t)0), was;
    size_t i;

    if (!copy || !c) {
        if (c)
            freelocale (c);
        return dt_err_nomem (l->err);
    }
    for (i = 0; i < n; i++)
        if (text[i] != '_')
            *to++ = text[i];
    *to = 0;
    was = uselocale (c);
    *ret = strtod (copy, NULL);
    uselocale (was);
    freelocale (c);
    return 0;
}

/* [DIGITS][.[DIGITS]][e[+-]DIGITS], the part before the point read already. */
static int real (struct dt_lexer *l, struct dt_token t, size_t from)
{
    uint64_t v;
    double d = 0;
    int over = 0, c, r;

    if (dt_lexer_peek (l, 0) == '.') {
        l->at++;
        if ((c = dt_lexer_peek (l, 0)) >= 0 && (isdigit (c) || c == '_') && (r = digits (l, t.at, 10, 0, &v, &over)) < 0)
            return r;
    }
    if (is_float_tail (l) && dt_lexer_peek (l, 0) != '.') {
        l->at += dt_lexer_peek (l, 1) == '+' || dt_lexer_peek (l, 1) == '-' ? 2 : 1;
        if ((r = digits (l, t.at, 10, 0, &v, &over)) < 0)
            return r;
    }
    if ((r = to_double (l, l->src->text + from, l->at - from, &d)) < 0)
        return r;
    t.kind = DT_TOK_FLOAT;
    t.value = dt_op_bits (d);
    c = dt_lexer_peek (l, 0);
    if (c == 'j' || c == 'J')
        return dt_refuse (l->err, l->src, t.at, DT_REFUSE_COMPLEX);
    if (c >= 0 && (isalnum (c) || c == '_' || c >= 0x80))
        return bad (l, t.at, NULL, "a malformed number");
    return dt_lexer_push (l, t);
}

int dt_lexer_number (struct dt_lexer *l)
{
    struct dt_token t = { .kind = DT_TOK_INT, .at = dt_lexer_here (l) };
    int c = dt_lexer_peek (l, 0), x = tolower (dt_lexer_peek (l, 1)), base, over = 0, r;
    size_t from = l->at;
    uint64_t v = 0;

    if (c == '.')
        return real (l, t, from);
    base = c != '0' ? 10 : x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 10;
    if (base != 10)
        l->at += 2;
    if ((r = digits (l, t.at, base, base != 10, &v, &over)) < 0)
        return r;
    c = dt_lexer_peek (l, 0);
    if (base == 10 && is_float_tail (l))
        return real (l, t, from);
    if (base == 10 && (c == 'j' || c == 'J'))
        return dt_refuse (l->err, l->src, t.at, DT_REFUSE_COMPLEX);
    if (over)
        return bad (l, t.at, "ints have 64 bits", "an int literal beyond 64 bits");
    if (base == 10 && l->src->text[from] == '0' && v != 0)
        return bad (l, t.at, "write 0o777 for an octal number", "an int that starts with 0");
    if (c >= 0 && (isalnum (c) || c == '_' || c >= 0x80))
        return bad (l, t.at, NULL, "a malformed number");
    t.value = (int64_t)v;
    return dt_lexer_push (l, t);
}

static void put_utf8 (struct dt_buf *b, uint32_t c)
{
    if (c < 0x80)
        dt_buf_u8 (b, (uint8_t)c);
    else if (c < 0x800) {
        dt_buf_u8 (b, (uint8_t)(0xc0 | c >> 6));
        dt_buf_u8 (b, (uint8_t)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        dt_buf_u8 (b, (uint8_t)(0xe0 | c >> 12));
        dt_buf_u8 (b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        dt_buf_u8 (b, (uint8_t)(0x80 | (c & 0x3f)));
    } else {
        dt_buf_u8 (b, (uint8_t)(0xf0 | c >> 18));
        dt_buf_u8 (b, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        dt_buf_u8 (b, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        dt_buf_u8 (b, (uint8_t)(0x80 | (c & 0x3f)));
    }
}

/* \x41, \u0041, \U00000041 and \101; `l` is at the first digit. */
static int code_point (struct dt_lexer *l, struct dt_span at, int base, int least, int most, struct dt_buf *b)
{
    uint32_t v = 0;
    int n = 0, c;

    while (n < most && (c = dt_lexer_peek (l, 0)) >= 0 && digit_value (c) < base) {
        v = v * (uint32_t)base + (uint32_t)digit_value (c);
        l->at++;
        n++;
    }
    if (n < least)
        return bad (l, at, NULL, "a malformed escape in a string");
    if (v == 0 || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
        return bad (l, at, NULL, "an escape that is no character of a text");
    put_utf8 (b, v);
    return 0;
}

static int escape (struct dt_lexer *l, struct dt_span at, struct dt_buf *b)
{
    static const char from[] = "\\'\"abfnrtv", to[] = "\\'\"\a\b\f\n\r\t\v";
    int c = dt_lexer_peek (l, 1);
    const char *p;

    if (c < 0)
        return bad (l, at, NULL, "this string is never closed");
    l->at++;
    if (c == '\n' || c == '\r') {
        dt_lexer_newline (l);
        return 0;
    }
    if (c >= '0' && c <= '7')
        return code_point (l, at, 8, 1, 3, b);
    if (c == 'N')
        return bad (l, at, "write the character itself", "a named character in a string");
    if (c == 'x' || c == 'u' || c == 'U') {
        l->at++;
        return c == 'x' ? code_point (l, at, 16, 2, 2, b) : c == 'u' ? code_point (l, at, 16, 4, 4, b)
                                                                      : code_point (l, at, 16, 8, 8, b);
    }
    if ((p = strchr (from, c))) {
        dt_buf_u8 (b, (uint8_t)to[p - from]);
        l->at++;
    } else
        dt_buf_u8 (b, '\\'); /* an unknown escape stands for itself, as in CPython */
    return 0;
}

static int raw_escape (struct dt_lexer *l, struct dt_buf *b)
{
    int c = dt_lexer_peek (l, 1);

    dt_buf_u8 (b, '\\');
    l->at++;
    if (c == '\n' || c == '\r') {
        dt_buf_u8 (b, '\n');
        dt_lexer_newline (l);
    } else if (c >= 0) {
        dt_buf_u8 (b, (uint8_t)c);
        l->at++;
    }
    return 0;
}

static int closes (const struct dt_lexer *l, int quote, int triple)
{
    return dt_lexer_peek (l, 0) == quote
           && (!triple || (dt_lexer_peek (l, 1) == quote && dt_lexer_peek (l, 2) == quote));
}

static int body (struct dt_lexer *l, struct dt_span at, int quote, int triple, int raw, struct dt_buf *b)
{
    int c, r;

    while (!closes (l, quote, triple)) {
        c = dt_lexer_peek (l, 0);
        if (c < 0 || (!triple && (c == '\n' || c == '\r')))
            return bad (l, at, NULL, "this string is never closed");
        if (c == '\\') {
            if ((r = raw ? raw_escape (l, b) : escape (l, at, b)) < 0)
                return r;
        } else if (c == '\n' || c == '\r') {
            dt_buf_u8 (b, '\n');
            dt_lexer_newline (l);
        } else {
            dt_buf_u8 (b, (uint8_t)c);
            l->at++;
        }
    }
    l->at += triple ? 3 : 1;
    return 0;
}

int dt_lexer_string (struct dt_lexer *l, struct dt_span at, int raw)
{
    struct dt_token t = { .kind = DT_TOK_STR, .at = at };
    int quote = dt_lexer_peek (l, 0), r;
    int triple = dt_lexer_peek (l, 1) == quote && dt_lexer_peek (l, 2) == quote;
    struct dt_buf b = { 0 };

    l->at += triple ? 3 : 1;
    if ((r = body (l, at, quote, triple, raw, &b)) < 0)
        goto fail;
    if (b.failed || !(t.text = dt_arena_strn (l->arena, b.data ? (char *)b.data : "", b.len))) {
        r = dt_err_nomem (l->err);
        goto fail;
    }
    r = dt_lexer_push (l, t);
fail:
    dt_buf_done (&b);
    return r;
}
