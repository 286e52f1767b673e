/* selir/parse.c - statements. */
#include "selir/parse.h"

#include <string.h>

#include "base/mem.h"
#include "selir/refuse.h"

int dt_parser_is (const struct dt_parser *p, uint8_t kind)
{
    return p->token->kind == kind;
}

int dt_parser_accept (struct dt_parser *p, uint8_t kind)
{
    if (p->token->kind != kind)
        return 0;
    p->token++;
    return 1;
}

/* Tokens that start or betray a construct that is refused by name. */
static const struct {
    uint8_t kind;
    enum dt_refusal what;
} refused[] = {
    { DT_TOK_WALRUS, DT_REFUSE_WALRUS },       { DT_TOK_KW_LAMBDA, DT_REFUSE_LAMBDA },
    { DT_TOK_KW_WHILE, DT_REFUSE_WHILE },      { DT_TOK_KW_TRY, DT_REFUSE_TRY },
    { DT_TOK_KW_WITH, DT_REFUSE_WITH },        { DT_TOK_KW_RAISE, DT_REFUSE_RAISE },
    { DT_TOK_KW_ASSERT, DT_REFUSE_ASSERT },    { DT_TOK_KW_DEL, DT_REFUSE_DEL },
    { DT_TOK_KW_GLOBAL, DT_REFUSE_GLOBAL },    { DT_TOK_KW_NONLOCAL, DT_REFUSE_NONLOCAL },
    { DT_TOK_KW_ASYNC, DT_REFUSE_ASYNC },      { DT_TOK_KW_AWAIT, DT_REFUSE_AWAIT },
    { DT_TOK_KW_YIELD, DT_REFUSE_YIELD },      { DT_TOK_ELLIPSIS, DT_REFUSE_ELLIPSIS },
    { DT_TOK_AT_EQ, DT_REFUSE_MATMUL },        { DT_TOK_MUL, DT_REFUSE_STAR_EXPR },
};

int dt_parser_unexpected (struct dt_parser *p)
{
    size_t i;

    for (i = 0; i < DT_ARRAY_SIZE (refused); i++)
        if (refused[i].kind == p->token->kind)
            return dt_refuse (p->err, p->src, p->token->at, refused[i].what);
    return dt_diag (p->err, -DT_ESYNTAX, p->src, p->token->at, NULL, "unexpected %s",
                    p->token->kind == DT_TOK_NAME ? p->token->text : dt_tok_name (p->token->kind));
}

int dt_parser_expect (struct dt_parser *p, uint8_t kind)
{
    if (dt_parser_accept (p, kind))
        return 0;
    if (kind == DT_TOK_NAME || kind == DT_TOK_NEWLINE || kind == DT_TOK_RPAREN || kind == DT_TOK_RBRACKET)
        return dt_parser_unexpected (p);
    return dt_diag (p->err, -DT_ESYNTAX, p->src, p->token->at, NULL, "expected %s, found %s",
                    dt_tok_name (kind), dt_tok_name (p->token->kind));
}

int dt_parser_enter (struct dt_parser *p)
{
    if (++p->nesting > DT_PARSE_MAX_NESTING)
        return dt_diag (p->err, -DT_ELIMIT, p->src, p->token->at, "give inner parts names, or move them to functions",
                        "nested deeper than %d levels", DT_PARSE_MAX_NESTING);
    return 0;
}

void dt_parser_leave (struct dt_parser *p)
{
    p->nesting--;
}

int dt_parser_name (struct dt_parser *p, const char **ret)
{
    if (!dt_parser_is (p, DT_TOK_NAME))
        return dt_parser_unexpected (p);
    *ret = p->token->text;
    p->token++;
    return 0;
}

/* The line ends in ':' and an indented `case` follows. */
static int has_cases (const struct dt_token *t)
{
    while (t->kind != DT_TOK_NEWLINE && t->kind != DT_TOK_END)
        t++;
    return t[0].kind == DT_TOK_NEWLINE && t[-1].kind == DT_TOK_COLON && t[1].kind == DT_TOK_INDENT
           && t[2].kind == DT_TOK_NAME && strcmp (t[2].text, "case") == 0;
}

/* match is a keyword only where a statement starts and nothing else can be meant. */
static int is_match (const struct dt_parser *p)
{
    uint8_t next = p->token[1].kind;

    return dt_parser_is (p, DT_TOK_NAME) && strcmp (p->token->text, "match") == 0
           && (next == DT_TOK_NAME || next == DT_TOK_INT || next == DT_TOK_STR || next == DT_TOK_LBRACE
               || next == DT_TOK_KW_NONE || next == DT_TOK_KW_TRUE || next == DT_TOK_KW_FALSE || has_cases (p->token));
}

/* The operator of an augmented assignment, 0 if the token is none. */
static uint8_t augmented (uint8_t kind)
{
    static const uint8_t ops[][2] = {
        { DT_TOK_ADD_EQ, DT_TOK_ADD },       { DT_TOK_SUB_EQ, DT_TOK_SUB },
        { DT_TOK_MUL_EQ, DT_TOK_MUL },       { DT_TOK_MOD_EQ, DT_TOK_MOD },
        { DT_TOK_AND_EQ, DT_TOK_AMP },       { DT_TOK_OR_EQ, DT_TOK_BAR },
        { DT_TOK_XOR_EQ, DT_TOK_CARET },     { DT_TOK_POW_EQ, DT_TOK_POW },
        { DT_TOK_FLOORDIV_EQ, DT_TOK_FLOORDIV }, { DT_TOK_LSHIFT_EQ, DT_TOK_LSHIFT },
        { DT_TOK_RSHIFT_EQ, DT_TOK_RSHIFT }, { DT_TOK_DIV_EQ, DT_TOK_DIV },
    };
    size_t i;

    for (i = 0; i < DT_ARRAY_SIZE (ops); i++)
        if (ops[i][0] == kind)
            return ops[i][1];
    return 0;
}

static int set_target (struct dt_parser *p, struct dt_stmt *s, struct dt_ptrs *v)
{
    uint32_t i;
    int r;

    s->target = (struct dt_expr **)v->item;
    s->n = v->n;
    for (i = 0; i < v->n; i++)
        if ((r = dt_parse_check_target (p, s->target[i])) < 0)
            return r;
    return 0;
}

static int one_name (struct dt_parser *p, struct dt_stmt *s, struct dt_ptrs *v)
{
    const struct dt_expr *e = v->item[0];
    int r;

    if ((r = set_target (p, s, v)) < 0)
        return r;
    if (e->kind != DT_EXPR_NAME)
        return dt_diag (p->err, -DT_ESYNTAX, p->src, e->at, "write one plain assignment per name",
                        "this kind of assignment takes one name");
    return 0;
}

/* NAME: annotation [= value], NAME op= value, TARGET = TARGET = ... = value, or a call. */
static int expression_statement (struct dt_parser *p, struct dt_stmt *s)
{
    struct dt_ptrs v = { 0 };
    struct dt_expr *e;
    int r;

    if ((r = dt_parse_exprs (p, &e)) < 0)
        return r;
    if (dt_ptrs_push (p->arena, &v, e) < 0)
        return dt_err_nomem (p->err);
    if ((s->op = augmented (p->token->kind))) {
        s->kind = DT_STMT_AUGMENT;
        p->token++;
        if ((r = one_name (p, s, &v)) < 0)
            return r;
        return dt_parse_exprs (p, &s->value);
    }
    if (dt_parser_accept (p, DT_TOK_COLON)) {
        s->kind = DT_STMT_ANNOTATE;
        if ((r = one_name (p, s, &v)) < 0 || (r = dt_parse_expr (p, &s->annotation)) < 0)
            return r;
        return dt_parser_accept (p, DT_TOK_ASSIGN) ? dt_parse_exprs (p, &s->value) : 0;
    }
    if (!dt_parser_is (p, DT_TOK_ASSIGN)) {
        s->kind = e->kind == DT_EXPR_STR ? DT_STMT_PASS : DT_STMT_EXPR; /* a docstring */
        s->value = e;
        if (s->kind == DT_STMT_EXPR && e->kind != DT_EXPR_CALL && (dt_parser_is (p, DT_TOK_NEWLINE) || dt_parser_is (p, DT_TOK_SEMICOLON)))
            return dt_refuse (p->err, p->src, e->at, DT_REFUSE_BARE_EXPR);
        return 0;
    }
    s->kind = DT_STMT_ASSIGN;
    while (dt_parser_accept (p, DT_TOK_ASSIGN)) {
        if ((r = dt_parse_exprs (p, &e)) < 0)
            return r;
        if (dt_parser_is (p, DT_TOK_ASSIGN) && dt_ptrs_push (p->arena, &v, e) < 0)
            return dt_err_nomem (p->err);
    }
    s->value = e;
    return set_target (p, s, &v);
}

static int outside (struct dt_parser *p, const char *what, const char *where)
{
    return dt_diag (p->err, -DT_ESYNTAX, p->src, p->token->at, NULL, "%s outside %s", what, where);
}

static int simple (struct dt_parser *p, struct dt_stmt *s)
{
    switch (p->token->kind) {
    case DT_TOK_KW_PASS:
        s->kind = DT_STMT_PASS;
        p->token++;
        return 0;
    case DT_TOK_KW_BREAK:
    case DT_TOK_KW_CONTINUE:
        if (!p->in_loop)
            return outside (p, dt_tok_name (p->token->kind), "a loop");
        s->kind = dt_parser_is (p, DT_TOK_KW_BREAK) ? DT_STMT_BREAK : DT_STMT_CONTINUE;
        p->token++;
        return 0;
    case DT_TOK_KW_RETURN:
        if (!p->in_function)
            return outside (p, "'return'", "a function");
        s->kind = DT_STMT_RETURN;
        p->token++;
        return dt_parser_is (p, DT_TOK_NEWLINE) || dt_parser_is (p, DT_TOK_SEMICOLON) ? 0 : dt_parse_exprs (p, &s->value);
    case DT_TOK_KW_IMPORT:
    case DT_TOK_KW_FROM:
        if (p->in_function)
            return dt_refuse (p->err, p->src, s->at, DT_REFUSE_LOCAL_IMPORT);
        return dt_parse_import (p, s);
    default:
        return expression_statement (p, s);
    }
}

static struct dt_stmt *new_stmt (struct dt_parser *p, struct dt_ptrs *into)
{
    struct dt_stmt *s = dt_arena_alloc (p->arena, sizeof *s);

    if (!s || dt_ptrs_push (p->arena, into, s) < 0)
        return NULL;
    s->at = p->token->at;
    return s;
}

static int simple_line (struct dt_parser *p, struct dt_ptrs *into)
{
    struct dt_stmt *s;
    int r;

    do {
        if (!(s = new_stmt (p, into)))
            return dt_err_nomem (p->err);
        if ((r = simple (p, s)) < 0)
            return r;
    } while (dt_parser_accept (p, DT_TOK_SEMICOLON) && !dt_parser_is (p, DT_TOK_NEWLINE));
    return dt_parser_expect (p, DT_TOK_NEWLINE);
}

static int push_arm (struct dt_parser *p, struct dt_ptrs *arms, int conditional)
{
    struct dt_arm *a = dt_arena_alloc (p->arena, sizeof *a);
    int r;

    if (!a || dt_ptrs_push (p->arena, arms, a) < 0)
        return dt_err_nomem (p->err);
    if (conditional && (r = dt_parse_expr (p, &a->cond)) < 0)
        return r;
    return dt_parser_block (p, &a->body);
}

static int set_arms (struct dt_parser *p, struct dt_stmt *s, struct dt_ptrs *arms)
{
    uint32_t i;

    if (!(s->arm = dt_arena_array (p->arena, arms->n, sizeof *s->arm)))
        return dt_err_nomem (p->err);
    for (i = 0; i < arms->n; i++)
        s->arm[i] = *(struct dt_arm *)arms->item[i];
    s->n_arms = arms->n;
    return 0;
}

static int if_statement (struct dt_parser *p, struct dt_stmt *s)
{
    struct dt_ptrs arms = { 0 };
    int r;

    s->kind = DT_STMT_IF;
    do {
        p->token++;
        if ((r = push_arm (p, &arms, 1)) < 0)
            return r;
    } while (dt_parser_is (p, DT_TOK_KW_ELIF));
    if (dt_parser_accept (p, DT_TOK_KW_ELSE) && (r = push_arm (p, &arms, 0)) < 0)
        return r;
    return set_arms (p, s, &arms);
}

static int for_statement (struct dt_parser *p, struct dt_stmt *s)
{
    struct dt_ptrs v = { 0 }, arms = { 0 };
    struct dt_expr *target;
    int r;

    s->kind = DT_STMT_FOR;
    p->token++;
    if ((r = dt_parse_target (p, &target)) < 0)
        return r;
    if (dt_ptrs_push (p->arena, &v, target) < 0)
        return dt_err_nomem (p->err);
    s->target = (struct dt_expr **)v.item;
    s->n = 1;
    if ((r = dt_parser_expect (p, DT_TOK_KW_IN)) < 0 || (r = dt_parse_exprs (p, &s->value)) < 0)
        return r;
    p->in_loop++;
    if ((r = push_arm (p, &arms, 0)) < 0)
        return r;
    p->in_loop--;
    if (dt_parser_is (p, DT_TOK_KW_ELSE))
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_LOOP_ELSE);
    return set_arms (p, s, &arms);
}

static int decorated (struct dt_parser *p, struct dt_stmt *s)
{
    struct dt_ptrs v = { 0 };
    struct dt_expr *e;
    int r;

    while (dt_parser_accept (p, DT_TOK_AT)) {
        if ((r = dt_parse_expr (p, &e)) < 0 || (r = dt_parser_expect (p, DT_TOK_NEWLINE)) < 0)
            return r;
        if (dt_ptrs_push (p->arena, &v, e) < 0)
            return dt_err_nomem (p->err);
    }
    if (dt_parser_is (p, DT_TOK_KW_CLASS))
        return dt_refuse (p->err, p->src, s->at, DT_REFUSE_DECORATOR);
    if (!dt_parser_is (p, DT_TOK_KW_DEF))
        return dt_parser_unexpected (p);
    return dt_parse_def (p, s, &v);
}

static int compound (struct dt_parser *p, struct dt_stmt *s)
{
    struct dt_ptrs none = { 0 };

    switch (p->token->kind) {
    case DT_TOK_KW_IF:
        return if_statement (p, s);
    case DT_TOK_KW_FOR:
        return for_statement (p, s);
    case DT_TOK_AT:
        if (p->in_function)
            return dt_refuse (p->err, p->src, s->at, DT_REFUSE_NESTED_DEF);
        return decorated (p, s);
    case DT_TOK_KW_DEF:
        if (p->in_function)
            return dt_refuse (p->err, p->src, s->at, DT_REFUSE_NESTED_DEF);
        return dt_parse_def (p, s, &none);
    default:
        if (p->in_function)
            return dt_refuse (p->err, p->src, s->at, DT_REFUSE_NESTED_CLASS);
        return dt_parse_class (p, s);
    }
}

static int statement (struct dt_parser *p, struct dt_ptrs *into)
{
    struct dt_stmt *s;
    int r;

    if (dt_parser_is (p, DT_TOK_INDENT))
        return dt_diag (p->err, -DT_ESYNTAX, p->src, p->token->at, NULL, "unexpected indent");
    if (is_match (p))
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_MATCH);
    switch (p->token->kind) {
    case DT_TOK_KW_IF: case DT_TOK_KW_FOR: case DT_TOK_AT: case DT_TOK_KW_DEF: case DT_TOK_KW_CLASS:
        if (!(s = new_stmt (p, into)))
            return dt_err_nomem (p->err);
        if ((r = dt_parser_enter (p)) < 0 || (r = compound (p, s)) < 0)
            return r;
        dt_parser_leave (p);
        return 0;
    default:
        return simple_line (p, into);
    }
}

int dt_parser_block (struct dt_parser *p, struct dt_block *ret)
{
    struct dt_ptrs v = { 0 };
    int r;

    if ((r = dt_parser_expect (p, DT_TOK_COLON)) < 0)
        return r;
    if (!dt_parser_accept (p, DT_TOK_NEWLINE)) {
        if ((r = simple_line (p, &v)) < 0)
            return r;
    } else {
        if (!dt_parser_accept (p, DT_TOK_INDENT))
            return dt_diag (p->err, -DT_ESYNTAX, p->src, p->token->at, "write 'pass' for an empty body",
                            "expected an indented block");
        while (!dt_parser_accept (p, DT_TOK_DEDENT))
            if ((r = statement (p, &v)) < 0)
                return r;
    }
    ret->stmt = (struct dt_stmt **)v.item;
    ret->n = v.n;
    return 0;
}

int dt_parse (const struct dt_source *src, uint32_t file, struct dt_arena *arena,
              uint32_t *next_id, struct dt_block *body, struct dt_err *reterr)
{
    struct dt_parser p = { .src = src, .arena = arena, .err = reterr, .next_id = next_id };
    struct dt_ptrs v = { 0 };
    struct dt_token *token;
    size_t n;
    int r;

    if ((r = dt_lex (src, file, arena, &token, &n, reterr)) < 0)
        return r;
    p.token = token;
    while (!dt_parser_is (&p, DT_TOK_END))
        if ((r = statement (&p, &v)) < 0)
            return r;
    body->stmt = (struct dt_stmt **)v.item;
    body->n = v.n;
    return 0;
}
