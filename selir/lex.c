/* selir/lex.c - from source text to tokens. */
#include "selir/lex.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "selir/refuse.h"

static const struct {
    uint8_t kind;
    const char *text;
} keywords[] = {
#define X(name, text) { DT_TOK_KW_##name, text },
    DT_KEYWORDS (X)
#undef X
}, symbols[] = {
#define X(name, text) { DT_TOK_##name, text },
    DT_SYMBOLS (X)
#undef X
};

static const char *const quoted[] = {
    [DT_TOK_END] = "the end of the file",
    [DT_TOK_NEWLINE] = "the end of the line",
    [DT_TOK_INDENT] = "an indented line",
    [DT_TOK_DEDENT] = "the end of the block",
    [DT_TOK_NAME] = "a name",
    [DT_TOK_INT] = "an int",
    [DT_TOK_FLOAT] = "a float",
    [DT_TOK_STR] = "a string",
#define X(name, text) [DT_TOK_KW_##name] = "'" text "'",
    DT_KEYWORDS (X)
#undef X
#define X(name, text) [DT_TOK_##name] = "'" text "'",
    DT_SYMBOLS (X)
#undef X
};

const char *dt_tok_name (uint8_t kind)
{
    return quoted[kind];
}

struct dt_span dt_lexer_here (const struct dt_lexer *l)
{
    return (struct dt_span){ l->file, l->line, (uint32_t)(l->at - l->line_start) + 1 };
}

int dt_lexer_peek (const struct dt_lexer *l, size_t ahead)
{
    return l->at + ahead < l->src->len ? (unsigned char)l->src->text[l->at + ahead] : -1;
}

void dt_lexer_newline (struct dt_lexer *l)
{
    l->at += dt_lexer_peek (l, 0) == '\r' && dt_lexer_peek (l, 1) == '\n' ? 2 : 1;
    l->line++;
    l->line_start = l->at;
}

static int is_newline (int c)
{
    return c == '\n' || c == '\r';
}

int dt_lexer_push (struct dt_lexer *l, struct dt_token t)
{
    if (l->n >= DT_LEX_MAX_TOKENS)
        return dt_diag (l->err, -DT_ELIMIT, l->src, t.at, "split the program into several files",
                        "more than %u tokens in one file", DT_LEX_MAX_TOKENS);
    if (dt_grow ((void **)&l->token, &l->room, l->n, sizeof *l->token) < 0)
        return dt_err_nomem (l->err);
    l->token[l->n++] = t;
    return 0;
}

static int push_kind (struct dt_lexer *l, uint8_t kind)
{
    return dt_lexer_push (l, (struct dt_token){ .kind = kind, .at = dt_lexer_here (l) });
}

static int indent_error (struct dt_lexer *l, const char *what)
{
    return dt_diag (l->err, -DT_ESYNTAX, l->src, dt_lexer_here (l),
                    "indent every line of a block alike, with spaces only", "%s", what);
}

static int push_indent (struct dt_lexer *l, uint32_t column, uint32_t alt)
{
    if (alt <= l->alt_indent[l->depth])
        return indent_error (l, "inconsistent use of tabs and spaces in indentation");
    if (l->depth + 1 > DT_LEX_MAX_INDENT)
        return dt_diag (l->err, -DT_ELIMIT, l->src, dt_lexer_here (l), "move inner blocks to functions",
                        "more than %d levels of indentation", DT_LEX_MAX_INDENT);
    l->depth++;
    l->indent[l->depth] = column;
    l->alt_indent[l->depth] = alt;
    return push_kind (l, DT_TOK_INDENT);
}

/* Compare a line's indentation with the open blocks: with tabs to eight columns
 * and to one, so that a mix that means different things is refused. */
static int set_indent (struct dt_lexer *l, uint32_t column, uint32_t alt)
{
    int r;

    if (column > l->indent[l->depth])
        return push_indent (l, column, alt);
    while (column < l->indent[l->depth]) {
        l->depth--;
        if (column > l->indent[l->depth])
            return indent_error (l, "unindent does not match any outer block");
        if ((r = push_kind (l, DT_TOK_DEDENT)) < 0)
            return r;
    }
    if (alt != l->alt_indent[l->depth])
        return indent_error (l, "inconsistent use of tabs and spaces in indentation");
    return 0;
}

/* A coding comment in the first two lines must name UTF-8. */
static int check_coding (struct dt_lexer *l, size_t from, size_t to)
{
    static const char *const names[] = { "utf-8", "utf8", "UTF-8", "UTF8" };
    const char *s = l->src->text;
    size_t i, k;

    for (i = from; l->line <= 2 && i + 7 < to; i++) {
        if (memcmp (s + i, "coding", 6) != 0 || (s[i + 6] != ':' && s[i + 6] != '='))
            continue;
        for (i += 7; i < to && (s[i] == ' ' || s[i] == '\t'); i++)
            ;
        for (k = 0; k < DT_ARRAY_SIZE (names); k++)
            if (to - i >= strlen (names[k]) && memcmp (s + i, names[k], strlen (names[k])) == 0)
                return 0;
        return dt_refuse (l->err, l->src, dt_lexer_here (l), DT_REFUSE_ENCODING);
    }
    return 0;
}

static int skip_comment (struct dt_lexer *l)
{
    size_t from = l->at;

    while (dt_lexer_peek (l, 0) >= 0 && !is_newline (dt_lexer_peek (l, 0)))
        l->at++;
    return check_coding (l, from, l->at);
}

/* At the start of a line outside brackets: blank lines and comments mean
 * nothing; else the line's indentation opens or closes blocks. */
static int line_start (struct dt_lexer *l)
{
    int r, c;

    for (;;) {
        uint32_t column = 0, alt = 0;

        for (; (c = dt_lexer_peek (l, 0)) == ' ' || c == '\t' || c == '\f'; l->at++) {
            column = c == ' ' ? column + 1 : c == '\t' ? (column / 8 + 1) * 8 : 0;
            alt = c == '\f' ? 0 : alt + 1;
        }
        if (c == '#') {
            if ((r = skip_comment (l)) < 0)
                return r;
            c = dt_lexer_peek (l, 0);
        }
        if (c < 0)
            return 0;
        if (!is_newline (c))
            return set_indent (l, column, alt);
        dt_lexer_newline (l);
    }
}

static int string_prefix (struct dt_lexer *l, struct dt_span at, size_t n)
{
    int raw = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        int c = tolower ((unsigned char)l->src->text[l->at + i]);

        if (c == 'f' || c == 'b')
            return dt_refuse (l->err, l->src, at, c == 'f' ? DT_REFUSE_FSTRING : DT_REFUSE_BYTES);
        raw |= c == 'r';
    }
    l->at += n;
    return dt_lexer_string (l, at, raw);
}

static int is_prefix (const char *s, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!strchr ("rRuUbBfF", s[i]))
            return 0;
    return n <= 2 && !(n == 2 && (tolower ((unsigned char)s[0]) == 'u' || tolower ((unsigned char)s[1]) == 'u'));
}

static int name (struct dt_lexer *l)
{
    const char *s = l->src->text + l->at;
    struct dt_token t = { .kind = DT_TOK_NAME, .at = dt_lexer_here (l) };
    size_t n = 0, i;
    int c;

    while ((c = dt_lexer_peek (l, n)) >= 0 && (isalnum (c) || c == '_'))
        n++;
    if (c >= 0x80) {
        l->at += n;
        return dt_refuse (l->err, l->src, dt_lexer_here (l), DT_REFUSE_UNICODE_NAME);
    }
    if ((c == '"' || c == '\'') && is_prefix (s, n))
        return string_prefix (l, t.at, n);
    for (i = 0; i < DT_ARRAY_SIZE (keywords); i++)
        if (strlen (keywords[i].text) == n && memcmp (keywords[i].text, s, n) == 0)
            t.kind = keywords[i].kind;
    if (!(t.text = dt_arena_strn (l->arena, s, n)))
        return dt_err_nomem (l->err);
    l->at += n;
    return dt_lexer_push (l, t);
}

static int open_bracket (struct dt_lexer *l, char kind)
{
    if (l->n_open >= DT_LEX_MAX_BRACKETS)
        return dt_diag (l->err, -DT_ELIMIT, l->src, dt_lexer_here (l), "give inner parts names",
                        "more than %d open brackets", DT_LEX_MAX_BRACKETS);
    l->open[l->n_open].kind = kind;
    l->open[l->n_open++].at = dt_lexer_here (l);
    return 0;
}

static int close_bracket (struct dt_lexer *l, char kind)
{
    if (l->n_open == 0)
        return dt_diag (l->err, -DT_ESYNTAX, l->src, dt_lexer_here (l), NULL, "'%c' closes nothing", kind);
    if (l->open[l->n_open - 1].kind != kind)
        return dt_diag (l->err, -DT_ESYNTAX, l->src, dt_lexer_here (l), NULL,
                        "'%c' does not match the bracket opened on line %u", kind,
                        l->open[l->n_open - 1].at.line);
    l->n_open--;
    return 0;
}

static int symbol (struct dt_lexer *l)
{
    const char *s = l->src->text + l->at;
    size_t left = l->src->len - l->at, i;
    int r;

    for (i = 0; i < DT_ARRAY_SIZE (symbols); i++)
        if (strlen (symbols[i].text) <= left && memcmp (symbols[i].text, s, strlen (symbols[i].text)) == 0)
            break;
    if (i == DT_ARRAY_SIZE (symbols)) {
        if ((unsigned char)*s >= 0x80)
            return dt_refuse (l->err, l->src, dt_lexer_here (l), DT_REFUSE_UNICODE_NAME);
        return dt_diag (l->err, -DT_ESYNTAX, l->src, dt_lexer_here (l), NULL,
                        *s >= 0x20 && *s < 0x7f ? "unexpected character '%c'" : "unexpected character 0x%02x", *s);
    }
    r = *s == '(' ? open_bracket (l, ')') : *s == '[' ? open_bracket (l, ']') : *s == '{' ? open_bracket (l, '}')
        : strchr (")]}", *s) ? close_bracket (l, *s) : 0;
    if (r < 0 || (r = push_kind (l, symbols[i].kind)) < 0)
        return r;
    l->at += strlen (symbols[i].text);
    return 0;
}

/* A backslash joins lines only if the line end follows at once. */
static int backslash (struct dt_lexer *l)
{
    if (!is_newline (dt_lexer_peek (l, 1)))
        return dt_diag (l->err, -DT_ESYNTAX, l->src, dt_lexer_here (l), NULL,
                        "unexpected character after a line continuation");
    l->at++;
    dt_lexer_newline (l);
    if (dt_lexer_peek (l, 0) < 0)
        return dt_diag (l->err, -DT_ESYNTAX, l->src, dt_lexer_here (l), NULL,
                        "the file ends after a line continuation");
    return 0;
}

static int end_line (struct dt_lexer *l)
{
    int r;

    if (l->n_open == 0 && (r = push_kind (l, DT_TOK_NEWLINE)) < 0)
        return r;
    dt_lexer_newline (l);
    return l->n_open == 0 ? line_start (l) : 0;
}

static int step (struct dt_lexer *l)
{
    int c = dt_lexer_peek (l, 0);

    if (c == ' ' || c == '\t' || c == '\f') {
        l->at++;
        return 0;
    }
    if (c == '#')
        return skip_comment (l);
    if (c == '\\')
        return backslash (l);
    if (is_newline (c))
        return end_line (l);
    if (isalpha (c) || c == '_')
        return name (l);
    if (isdigit (c) || (c == '.' && dt_lexer_peek (l, 1) >= 0 && isdigit (dt_lexer_peek (l, 1))))
        return dt_lexer_number (l);
    if (c == '"' || c == '\'')
        return dt_lexer_string (l, dt_lexer_here (l), 0);
    return symbol (l);
}

/* End the last line and the open blocks. */
static int finish (struct dt_lexer *l)
{
    int r;

    if (l->n_open)
        return dt_diag (l->err, -DT_ESYNTAX, l->src, l->open[l->n_open - 1].at, NULL,
                        "this bracket is never closed");
    if (l->n && l->token[l->n - 1].kind != DT_TOK_NEWLINE && l->token[l->n - 1].kind != DT_TOK_DEDENT
        && (r = push_kind (l, DT_TOK_NEWLINE)) < 0)
        return r;
    for (; l->depth > 0; l->depth--)
        if ((r = push_kind (l, DT_TOK_DEDENT)) < 0)
            return r;
    return push_kind (l, DT_TOK_END);
}

/* The whole text must be UTF-8 without zero bytes: strings and names travel as
 * C strings, and CPython reads nothing else either. */
static int check_text (struct dt_lexer *l)
{
    const unsigned char *s = (const unsigned char *)l->src->text;
    size_t i = 0, n = l->src->len;

    while (i < n) {
        unsigned c = s[i], len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0, k;

        for (k = 1; len && k < len; k++)
            if (i + k >= n || (s[i + k] & 0xc0) != 0x80)
                len = 0;
        if ((len == 3 && ((c == 0xe0 && s[i + 1] < 0xa0) || (c == 0xed && s[i + 1] > 0x9f)))
            || (len == 4 && ((c == 0xf0 && s[i + 1] < 0x90) || (c == 0xf4 && s[i + 1] > 0x8f))))
            len = 0;
        if (!len || c == 0)
            return dt_diag (l->err, -DT_ESYNTAX, l->src, dt_lexer_here (l), NULL,
                            c == 0 ? "the file has a zero byte" : "the file is not UTF-8 (byte 0x%02x)", c);
        if (c == '\n') {
            l->line++;
            l->line_start = i + 1;
        }
        l->at = i += len;
    }
    l->at = 0;
    l->line = 1;
    l->line_start = 0;
    return 0;
}

static int run (struct dt_lexer *l)
{
    int r;

    if ((r = check_text (l)) < 0)
        return r;
    if (l->src->len >= 3 && memcmp (l->src->text, "\xef\xbb\xbf", 3) == 0)
        l->at = l->line_start = 3;
    if ((r = line_start (l)) < 0)
        return r;
    while (l->at < l->src->len)
        if ((r = step (l)) < 0)
            return r;
    return finish (l);
}

int dt_lex (const struct dt_source *src, uint32_t file, struct dt_arena *arena,
            struct dt_token **ret, size_t *ret_n, struct dt_err *reterr)
{
    struct dt_lexer l = { .src = src, .arena = arena, .err = reterr, .file = file, .line = 1 };
    struct dt_token *t;
    int r;

    if ((r = run (&l)) < 0)
        goto fail;
    if (!(t = dt_arena_array (arena, l.n, sizeof *t))) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    memcpy (t, l.token, l.n * sizeof *t);
    *ret = t;
    *ret_n = l.n;
    dt_free (l.token);
    return 0;
fail:
    dt_free (l.token);
    return r;
}
