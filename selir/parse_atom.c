/* selir/parse_atom.c - names, literals, brackets, comprehensions, calls and indexing. */
#include <string.h>

#include "selir/parse.h"
#include "selir/refuse.h"

/* for TARGET in ITER [if FILTER]..., one or more; the element is already read. */
static int clauses (struct dt_parser *p, struct dt_expr *e)
{
    struct dt_ptrs all = { 0 };
    uint32_t i;
    int r;

    while (dt_parser_accept (p, DT_TOK_KW_FOR)) {
        struct dt_clause *c = dt_arena_alloc (p->arena, sizeof *c);
        struct dt_ptrs filter = { 0 };
        struct dt_expr *f;

        if (!c || dt_ptrs_push (p->arena, &all, c) < 0)
            return dt_err_nomem (p->err);
        if ((r = dt_parse_target (p, &c->target)) < 0 || (r = dt_parser_expect (p, DT_TOK_KW_IN)) < 0
            || (r = dt_parse_disjunction (p, &c->iter)) < 0)
            return r;
        while (dt_parser_accept (p, DT_TOK_KW_IF))
            if ((r = dt_parse_disjunction (p, &f)) < 0 || (r = dt_parser_push (p, &filter, f)) < 0)
                return r;
        c->filter = (struct dt_expr **)filter.item;
        c->n_filters = filter.n;
    }
    if (dt_parser_is (p, DT_TOK_KW_ASYNC))
        return dt_parser_unexpected (p);
    if (!(e->clause = dt_arena_array (p->arena, all.n, sizeof *e->clause)))
        return dt_err_nomem (p->err);
    for (i = 0; i < all.n; i++)
        e->clause[i] = *(struct dt_clause *)all.item[i];
    e->n_clauses = all.n;
    return 0;
}

static int comprehension (struct dt_parser *p, uint8_t kind, struct dt_span at, struct dt_ptrs *elt,
                          struct dt_expr **ret)
{
    int r;

    if ((r = dt_parser_make (p, kind, at, elt, ret)) < 0)
        return r;
    return clauses (p, *ret);
}

/* Comma-separated expressions up to `close`, which is consumed. */
static int items (struct dt_parser *p, uint8_t close, struct dt_ptrs *v, int *ret_comma)
{
    struct dt_expr *e;
    int r;

    *ret_comma = 0;
    while (!dt_parser_accept (p, close)) {
        if ((r = dt_parse_expr (p, &e)) < 0 || (r = dt_parser_push (p, v, e)) < 0)
            return r;
        if (dt_parser_is (p, DT_TOK_KW_FOR) && v->n == 1 && !*ret_comma)
            return 1; /* a comprehension */
        if (dt_parser_accept (p, DT_TOK_COMMA))
            *ret_comma = 1;
        else if ((r = dt_parser_expect (p, close)) < 0)
            return r;
        else
            break;
    }
    return 0;
}

static int bracketed (struct dt_parser *p, uint8_t close, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    int list = close == DT_TOK_RBRACKET, comma, r;
    struct dt_ptrs v = { 0 };

    p->token++;
    if ((r = items (p, close, &v, &comma)) < 0)
        return r;
    if (r == 1) {
        if ((r = comprehension (p, list ? DT_EXPR_LISTCOMP : DT_EXPR_GENEXP, at, &v, ret)) < 0)
            return r;
        return dt_parser_expect (p, close);
    }
    if (!list && v.n == 1 && !comma) {
        *ret = v.item[0];
        return 0;
    }
    return dt_parser_make (p, list ? DT_EXPR_LIST : DT_EXPR_TUPLE, at, &v, ret);
}

static int braced (struct dt_parser *p, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    struct dt_ptrs v = { 0 };
    struct dt_expr *e;
    int r;

    p->token++;
    while (!dt_parser_accept (p, DT_TOK_RBRACE)) {
        if (dt_parser_is (p, DT_TOK_POW))
            return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_STAR_EXPR);
        if ((r = dt_parse_expr (p, &e)) < 0 || (r = dt_parser_push (p, &v, e)) < 0)
            return r;
        if (dt_parser_is (p, DT_TOK_KW_FOR))
            return dt_refuse (p->err, p->src, at, DT_REFUSE_SET_COMP);
        if (dt_parser_is (p, DT_TOK_COMMA) || dt_parser_is (p, DT_TOK_RBRACE))
            return dt_refuse (p->err, p->src, at, DT_REFUSE_SET);
        if ((r = dt_parser_expect (p, DT_TOK_COLON)) < 0 || (r = dt_parse_expr (p, &e)) < 0
            || (r = dt_parser_push (p, &v, e)) < 0)
            return r;
        if (v.n == 2 && dt_parser_is (p, DT_TOK_KW_FOR)) {
            if ((r = comprehension (p, DT_EXPR_DICTCOMP, at, &v, ret)) < 0)
                return r;
            return dt_parser_expect (p, DT_TOK_RBRACE);
        }
        if (!dt_parser_accept (p, DT_TOK_COMMA) && !dt_parser_is (p, DT_TOK_RBRACE))
            return dt_parser_unexpected (p);
    }
    return dt_parser_make (p, DT_EXPR_DICT, at, &v, ret);
}

/* Neighbouring strings are one. */
static int string (struct dt_parser *p, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    const char *s = p->token->text;
    int r;

    for (p->token++; dt_parser_is (p, DT_TOK_STR); p->token++)
        if (!(s = dt_arena_strf (p->arena, "%s%s", s, p->token->text)))
            return dt_err_nomem (p->err);
    if ((r = dt_parser_make (p, DT_EXPR_STR, at, NULL, ret)) < 0)
        return r;
    (*ret)->s = s;
    return 0;
}

static int atom (struct dt_parser *p, struct dt_expr **ret)
{
    const struct dt_token *t = p->token;
    int r;

    switch (t->kind) {
    case DT_TOK_LPAREN:
        return bracketed (p, DT_TOK_RPAREN, ret);
    case DT_TOK_LBRACKET:
        return bracketed (p, DT_TOK_RBRACKET, ret);
    case DT_TOK_LBRACE:
        return braced (p, ret);
    case DT_TOK_STR:
        return string (p, ret);
    case DT_TOK_NAME:
    case DT_TOK_INT:
        if (t->value == INT64_MIN)
            return dt_diag (p->err, -DT_ESYNTAX, p->src, t->at, "ints have 64 bits", "an int literal beyond 64 bits");
        /* fall through */
    case DT_TOK_FLOAT:
    case DT_TOK_KW_TRUE:
    case DT_TOK_KW_FALSE:
    case DT_TOK_KW_NONE:
        if ((r = dt_parser_make (p, t->kind == DT_TOK_NAME ? DT_EXPR_NAME : t->kind == DT_TOK_INT ? DT_EXPR_INT
                          : t->kind == DT_TOK_FLOAT ? DT_EXPR_FLOAT
                          : t->kind == DT_TOK_KW_NONE ? DT_EXPR_NONE : DT_EXPR_BOOL,
                       t->at, NULL, ret)) < 0)
            return r;
        (*ret)->s = t->text;
        (*ret)->i = t->kind == DT_TOK_INT || t->kind == DT_TOK_FLOAT ? t->value : t->kind == DT_TOK_KW_TRUE;
        p->token++;
        return 0;
    default:
        return dt_parser_unexpected (p);
    }
}

/* lambda NAME: expression, which only key= takes. */
static int lambda (struct dt_parser *p, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    struct dt_ptrs v = { 0 };
    struct dt_expr *body;
    struct dt_clause *c;
    int r;

    p->token++;
    if (!(c = dt_arena_alloc (p->arena, sizeof *c)))
        return dt_err_nomem (p->err);
    if (!dt_parser_is (p, DT_TOK_NAME) || p->token[1].kind != DT_TOK_COLON)
        return dt_diag (p->err, -DT_ESYNTAX, p->src, at, "write key=lambda x: ...", "a key takes one plain parameter");
    if ((r = atom (p, &c->target)) < 0)
        return r;
    p->token++;
    if ((r = dt_parse_expr (p, &body)) < 0 || (r = dt_parser_push (p, &v, body)) < 0
        || (r = dt_parser_make (p, DT_EXPR_LAMBDA, at, &v, ret)) < 0)
        return r;
    (*ret)->clause = c;
    (*ret)->n_clauses = 1;
    return 0;
}

/* One argument of a call: appended to `v`, its keyword to `keys`. */
static int argument (struct dt_parser *p, struct dt_ptrs *v, struct dt_ptrs *keys)
{
    struct dt_span at = p->token->at;
    const char *key = NULL;
    struct dt_expr *e = NULL;
    int r;

    if (dt_parser_is (p, DT_TOK_MUL) || dt_parser_is (p, DT_TOK_POW))
        return dt_refuse (p->err, p->src, at, DT_REFUSE_STAR_ARG);
    if (p->token->kind == DT_TOK_NAME && p->token[1].kind == DT_TOK_ASSIGN) {
        key = p->token->text;
        p->token += 2;
    }
    if (key && strcmp (key, "key") == 0 && dt_parser_is (p, DT_TOK_KW_LAMBDA))
        r = lambda (p, &e);
    else
        r = dt_parse_expr (p, &e);
    if (r < 0)
        return r;
    if (!key && dt_parser_is (p, DT_TOK_KW_FOR)) {
        struct dt_ptrs elt = { 0 };

        if ((r = dt_parser_push (p, &elt, e)) < 0 || (r = comprehension (p, DT_EXPR_GENEXP, at, &elt, &e)) < 0)
            return r;
        if (v->n > 1 || !dt_parser_is (p, DT_TOK_RPAREN))
            return dt_diag (p->err, -DT_ESYNTAX, p->src, at, "put it into brackets: [... for ...]",
                            "a generator expression beside other arguments");
    }
    if (!key && keys->n > 0 && keys->item[keys->n - 1])
        return dt_diag (p->err, -DT_ESYNTAX, p->src, at, NULL, "a positional argument after a keyword argument");
    if ((r = dt_parser_push (p, v, e)) < 0)
        return r;
    return dt_ptrs_push (p->arena, keys, (void *)(uintptr_t)key) < 0 ? dt_err_nomem (p->err) : 0;
}

static int call (struct dt_parser *p, struct dt_span at, struct dt_expr *callee, struct dt_expr **ret)
{
    struct dt_ptrs v = { 0 }, keys = { 0 };
    int r;

    p->token++;
    if ((r = dt_parser_push (p, &v, callee)) < 0)
        return r;
    if (dt_ptrs_push (p->arena, &keys, NULL) < 0)
        return dt_err_nomem (p->err);
    while (!dt_parser_accept (p, DT_TOK_RPAREN)) {
        if ((r = argument (p, &v, &keys)) < 0)
            return r;
        if (!dt_parser_accept (p, DT_TOK_COMMA) && !dt_parser_is (p, DT_TOK_RPAREN))
            return dt_parser_unexpected (p);
    }
    if ((r = dt_parser_make (p, DT_EXPR_CALL, at, &v, ret)) < 0)
        return r;
    (*ret)->key = (const char **)keys.item;
    return 0;
}

static int subscript (struct dt_parser *p, struct dt_span at, struct dt_expr *base, struct dt_expr **ret)
{
    struct dt_expr *index;
    int r;

    p->token++;
    if (dt_parser_is (p, DT_TOK_COLON))
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_SLICE);
    if ((r = dt_parse_exprs (p, &index)) < 0)
        return r;
    if (dt_parser_is (p, DT_TOK_COLON))
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_SLICE);
    if ((r = dt_parser_expect (p, DT_TOK_RBRACKET)) < 0)
        return r;
    return dt_parser_make2 (p, DT_EXPR_INDEX, 0, at, base, index, ret);
}

int dt_parse_primary (struct dt_parser *p, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    struct dt_expr *e, *f;
    const char *name;
    int r;

    if ((r = atom (p, &e)) < 0)
        return r;
    for (;;) {
        if (dt_parser_is (p, DT_TOK_LPAREN))
            r = call (p, at, e, &f);
        else if (dt_parser_is (p, DT_TOK_LBRACKET))
            r = subscript (p, at, e, &f);
        else if (dt_parser_accept (p, DT_TOK_DOT)) {
            if ((r = dt_parser_name (p, &name)) < 0 || (r = dt_parser_make1 (p, DT_EXPR_ATTR, 0, at, e, &f)) < 0)
                return r;
            f->s = name;
        } else
            break;
        if (r < 0)
            return r;
        e = f;
    }
    *ret = e;
    return 0;
}
