/* selir/lex.h - from source text to tokens, by CPython's rules of lines and indentation.
 * Uses: selir/diag.h.  Used by: parse. */
#ifndef DT_SELIR_LEX_H
#define DT_SELIR_LEX_H

#include "selir/diag.h"

#define DT_LEX_MAX_INDENT 100     /* levels; CPython's own limit */
#define DT_LEX_MAX_BRACKETS 100   /* open at once */
#define DT_LEX_MAX_TOKENS (1u << 18)

/* Keywords: all of Python 3.11's, so that none can be a name. */
#define DT_KEYWORDS(X) \
    X (FALSE, "False") X (NONE, "None") X (TRUE, "True") X (AND, "and") X (AS, "as") \
    X (ASSERT, "assert") X (ASYNC, "async") X (AWAIT, "await") X (BREAK, "break") \
    X (CLASS, "class") X (CONTINUE, "continue") X (DEF, "def") X (DEL, "del") \
    X (ELIF, "elif") X (ELSE, "else") X (EXCEPT, "except") X (FINALLY, "finally") \
    X (FOR, "for") X (FROM, "from") X (GLOBAL, "global") X (IF, "if") X (IMPORT, "import") \
    X (IN, "in") X (IS, "is") X (LAMBDA, "lambda") X (NONLOCAL, "nonlocal") X (NOT, "not") \
    X (OR, "or") X (PASS, "pass") X (RAISE, "raise") X (RETURN, "return") X (TRY, "try") \
    X (WHILE, "while") X (WITH, "with") X (YIELD, "yield")

/* Operators, the longest first where one is the start of another. */
#define DT_SYMBOLS(X) \
    X (POW_EQ, "**=") X (FLOORDIV_EQ, "//=") X (LSHIFT_EQ, "<<=") X (RSHIFT_EQ, ">>=") \
    X (ELLIPSIS, "...") X (POW, "**") X (FLOORDIV, "//") X (LSHIFT, "<<") X (RSHIFT, ">>") \
    X (LE, "<=") X (GE, ">=") X (EQ, "==") X (NE, "!=") X (ARROW, "->") X (WALRUS, ":=") \
    X (ADD_EQ, "+=") X (SUB_EQ, "-=") X (MUL_EQ, "*=") X (DIV_EQ, "/=") X (MOD_EQ, "%=") \
    X (AND_EQ, "&=") X (OR_EQ, "|=") X (XOR_EQ, "^=") X (AT_EQ, "@=") \
    X (ADD, "+") X (SUB, "-") X (MUL, "*") X (DIV, "/") X (MOD, "%") X (AMP, "&") \
    X (BAR, "|") X (CARET, "^") X (TILDE, "~") X (LT, "<") X (GT, ">") X (ASSIGN, "=") \
    X (AT, "@") X (COMMA, ",") X (COLON, ":") X (SEMICOLON, ";") X (DOT, ".") \
    X (LPAREN, "(") X (RPAREN, ")") X (LBRACKET, "[") X (RBRACKET, "]") \
    X (LBRACE, "{") X (RBRACE, "}")

enum dt_tok {
    DT_TOK_END,
    DT_TOK_NEWLINE,
    DT_TOK_INDENT,
    DT_TOK_DEDENT,
    DT_TOK_NAME,
    DT_TOK_INT,
    DT_TOK_FLOAT,
    DT_TOK_STR,
#define X(name, text) DT_TOK_KW_##name,
    DT_KEYWORDS (X)
#undef X
#define X(name, text) DT_TOK_##name,
    DT_SYMBOLS (X)
#undef X
};

struct dt_token {
    uint8_t kind;
    struct dt_span at;
    const char *text; /* NAME, STR: the name or the value, terminated */
    int64_t value;    /* INT; FLOAT: the bits of the double.  The int 2**63, which may follow
                         a minus only, is INT64_MIN */
};

/* All tokens, ended by END, allocated in `arena`.
 *   -DT_ESYNTAX  not a token of the language      -DT_ELIMIT  a limit above */
int dt_lex (const struct dt_source *src, uint32_t file, struct dt_arena *arena,
            struct dt_token **ret, size_t *ret_n, struct dt_err *reterr);

/* How a token is called in errors ("'+='", "a name", "the end of the line"). */
const char *dt_tok_name (uint8_t kind);

/* --- shared with lex_literal.c ------------------------------------------------ */
struct dt_lexer {
    const struct dt_source *src;
    struct dt_arena *arena;
    struct dt_err *err;
    size_t at;          /* byte */
    size_t line_start;  /* byte where the current line starts */
    uint32_t file, line;
    uint32_t indent[DT_LEX_MAX_INDENT + 1], alt_indent[DT_LEX_MAX_INDENT + 1];
    uint32_t depth;
    struct {
        char kind;
        struct dt_span at;
    } open[DT_LEX_MAX_BRACKETS];
    uint32_t n_open;
    struct dt_token *token;
    size_t n, room;
};

struct dt_span dt_lexer_here (const struct dt_lexer *l);
int dt_lexer_peek (const struct dt_lexer *l, size_t ahead); /* byte, or -1 at the end */
void dt_lexer_newline (struct dt_lexer *l);                 /* step over one line end */
int dt_lexer_push (struct dt_lexer *l, struct dt_token t);
int dt_lexer_number (struct dt_lexer *l);
int dt_lexer_string (struct dt_lexer *l, struct dt_span at, int raw);

#endif
