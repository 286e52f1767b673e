/* selir/parse_expr.c - expressions, by CPython's precedence. */
#include <errno.h>
#include <string.h>

#include "selir/parse.h"
#include "selir/refuse.h"

int dt_ptrs_push (struct dt_arena *a, struct dt_ptrs *v, void *p)
{
    if (v->n == v->room) {
        uint32_t room = v->room ? v->room * 2 : 4;
        void **item = dt_arena_array (a, room, sizeof *item);

        if (!item)
            return -ENOMEM;
        if (v->n)
            memcpy (item, v->item, v->n * sizeof *item);
        v->item = item;
        v->room = room;
    }
    v->item[v->n++] = p;
    return 0;
}

int dt_parser_make (struct dt_parser *p, uint8_t kind, struct dt_span at, struct dt_ptrs *arg,
                 struct dt_expr **ret)
{
    struct dt_expr *e = dt_arena_alloc (p->arena, sizeof *e);
    uint32_t i;

    if (!e)
        return dt_err_nomem (p->err);
    e->kind = kind;
    e->at = at;
    e->id = (*p->next_id)++;
    e->depth = 1;
    if (arg) {
        e->arg = (struct dt_expr **)arg->item;
        e->n = arg->n;
    }
    for (i = 0; i < e->n; i++)
        if (e->arg[i]->depth >= e->depth)
            e->depth = (uint16_t)(e->arg[i]->depth + 1);
    if (e->depth > DT_PARSE_MAX_DEPTH)
        return dt_diag (p->err, -DT_ELIMIT, p->src, at, "give parts of the expression names",
                        "an expression deeper than %d operations", DT_PARSE_MAX_DEPTH);
    *ret = e;
    return 0;
}

int dt_parser_push (struct dt_parser *p, struct dt_ptrs *v, struct dt_expr *e)
{
    return dt_ptrs_push (p->arena, v, e) < 0 ? dt_err_nomem (p->err) : 0;
}

int dt_parser_make1 (struct dt_parser *p, uint8_t kind, uint8_t op, struct dt_span at, struct dt_expr *a,
                  struct dt_expr **ret)
{
    struct dt_ptrs v = { 0 };
    int r;

    if ((r = dt_parser_push (p, &v, a)) < 0 || (r = dt_parser_make (p, kind, at, &v, ret)) < 0)
        return r;
    (*ret)->op = op;
    return 0;
}

int dt_parser_make2 (struct dt_parser *p, uint8_t kind, uint8_t op, struct dt_span at, struct dt_expr *a,
                  struct dt_expr *b, struct dt_expr **ret)
{
    struct dt_ptrs v = { 0 };
    int r;

    if ((r = dt_parser_push (p, &v, a)) < 0 || (r = dt_parser_push (p, &v, b)) < 0 || (r = dt_parser_make (p, kind, at, &v, ret)) < 0)
        return r;
    (*ret)->op = op;
    return 0;
}

static int bit_or (struct dt_parser *p, struct dt_expr **ret);

static int factor (struct dt_parser *p, struct dt_expr **ret)
{
    const struct dt_token *t = p->token;
    struct dt_expr *e, *exponent;
    int r;

    if (t->kind != DT_TOK_ADD && t->kind != DT_TOK_SUB && t->kind != DT_TOK_TILDE) {
        if ((r = dt_parse_primary (p, &e)) < 0)
            return r;
        *ret = e;
        if (!dt_parser_accept (p, DT_TOK_POW))
            return 0;
        if ((r = dt_parser_enter (p)) < 0 || (r = factor (p, &exponent)) < 0)
            return r;
        dt_parser_leave (p);
        return dt_parser_make2 (p, DT_EXPR_BINARY, DT_TOK_POW, t->at, e, exponent, ret);
    }
    p->token++;
    if (t->kind == DT_TOK_SUB && dt_parser_is (p, DT_TOK_INT) && p->token->value == INT64_MIN && p->token[1].kind != DT_TOK_POW) {
        if ((r = dt_parser_make (p, DT_EXPR_INT, t->at, NULL, ret)) < 0)
            return r;
        (*ret)->i = p->token->value; /* -9223372036854775808 */
        p->token++;
        return 0;
    }
    if ((r = dt_parser_enter (p)) < 0 || (r = factor (p, &e)) < 0)
        return r;
    dt_parser_leave (p);
    return dt_parser_make1 (p, DT_EXPR_UNARY, t->kind, t->at, e, ret);
}

/* How tightly a binary operator binds: 5 '*' ... 1 '|'; 0: none. */
static int strength (uint8_t kind)
{
    switch (kind) {
    case DT_TOK_MUL: case DT_TOK_DIV: case DT_TOK_FLOORDIV: case DT_TOK_MOD: case DT_TOK_AT:
        return 6;
    case DT_TOK_ADD: case DT_TOK_SUB:
        return 5;
    case DT_TOK_LSHIFT: case DT_TOK_RSHIFT:
        return 4;
    case DT_TOK_AMP:
        return 3;
    case DT_TOK_CARET:
        return 2;
    case DT_TOK_BAR:
        return 1;
    default:
        return 0;
    }
}

static int binary (struct dt_parser *p, int least, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    struct dt_expr *e, *right;
    int r, s;

    if ((r = factor (p, &e)) < 0)
        return r;
    while ((s = strength (p->token->kind)) >= least && s > 0) {
        uint8_t op = p->token->kind;

        if (op == DT_TOK_AT)
            return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_MATMUL);
        p->token++;
        if ((r = binary (p, s + 1, &right)) < 0 || (r = dt_parser_make2 (p, DT_EXPR_BINARY, op, at, e, right, &e)) < 0)
            return r;
    }
    *ret = e;
    return 0;
}

static int bit_or (struct dt_parser *p, struct dt_expr **ret)
{
    return binary (p, 1, ret);
}

/* The comparison operator at the current token, consumed; 0: none. */
static uint8_t comparator (struct dt_parser *p)
{
    uint8_t kind = p->token->kind;

    switch (kind) {
    case DT_TOK_LT: case DT_TOK_LE: case DT_TOK_GT: case DT_TOK_GE: case DT_TOK_EQ: case DT_TOK_NE:
    case DT_TOK_KW_IN:
        p->token++;
        return kind;
    case DT_TOK_KW_IS:
        p->token++;
        return dt_parser_accept (p, DT_TOK_KW_NOT) ? DT_CMP_IS_NOT : kind;
    case DT_TOK_KW_NOT:
        if (p->token[1].kind != DT_TOK_KW_IN)
            return 0;
        p->token += 2;
        return DT_CMP_NOT_IN;
    default:
        return 0;
    }
}

static int comparison (struct dt_parser *p, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    struct dt_ptrs v = { 0 }, ops = { 0 };
    struct dt_expr *e;
    uint32_t i;
    uint8_t op;
    int r;

    if ((r = bit_or (p, &e)) < 0)
        return r;
    while ((op = comparator (p))) {
        if (v.n == 0 && (r = dt_parser_push (p, &v, e)) < 0)
            return r;
        if ((r = bit_or (p, &e)) < 0 || (r = dt_parser_push (p, &v, e)) < 0)
            return r;
        if (dt_ptrs_push (p->arena, &ops, (void *)(uintptr_t)op) < 0)
            return dt_err_nomem (p->err);
    }
    *ret = e;
    if (v.n == 0)
        return 0;
    if ((r = dt_parser_make (p, DT_EXPR_COMPARE, at, &v, ret)) < 0)
        return r;
    if (!((*ret)->cmp = dt_arena_alloc (p->arena, ops.n)))
        return dt_err_nomem (p->err);
    for (i = 0; i < ops.n; i++)
        (*ret)->cmp[i] = (uint8_t)(uintptr_t)ops.item[i];
    return 0;
}

static int inversion (struct dt_parser *p, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    struct dt_expr *e;
    int r;

    if (!dt_parser_accept (p, DT_TOK_KW_NOT))
        return comparison (p, ret);
    if ((r = dt_parser_enter (p)) < 0 || (r = inversion (p, &e)) < 0)
        return r;
    dt_parser_leave (p);
    return dt_parser_make1 (p, DT_EXPR_NOT, 0, at, e, ret);
}

/* and (`word` AND) or or: any number of operands in one node. */
static int junction (struct dt_parser *p, uint8_t word, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    struct dt_ptrs v = { 0 };
    struct dt_expr *e;
    int r;

    do {
        r = word == DT_TOK_KW_OR ? junction (p, DT_TOK_KW_AND, &e) : inversion (p, &e);
        if (r < 0 || (r = dt_parser_push (p, &v, e)) < 0)
            return r;
    } while (dt_parser_accept (p, word));
    *ret = e;
    return v.n == 1 ? 0 : dt_parser_make (p, word == DT_TOK_KW_OR ? DT_EXPR_OR : DT_EXPR_AND, at, &v, ret);
}

int dt_parse_disjunction (struct dt_parser *p, struct dt_expr **ret)
{
    return junction (p, DT_TOK_KW_OR, ret);
}

int dt_parse_expr (struct dt_parser *p, struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    struct dt_expr *cond, *then, *other;
    struct dt_ptrs v = { 0 };
    int r;

    if (dt_parser_is (p, DT_TOK_MUL))
        return dt_refuse (p->err, p->src, at, DT_REFUSE_STAR_EXPR);
    if ((r = dt_parser_enter (p)) < 0 || (r = dt_parse_disjunction (p, &then)) < 0)
        return r;
    *ret = then;
    if (dt_parser_accept (p, DT_TOK_KW_IF)) {
        if ((r = dt_parse_disjunction (p, &cond)) < 0 || (r = dt_parser_expect (p, DT_TOK_KW_ELSE)) < 0
            || (r = dt_parse_expr (p, &other)) < 0 || (r = dt_parser_push (p, &v, cond)) < 0
            || (r = dt_parser_push (p, &v, then)) < 0 || (r = dt_parser_push (p, &v, other)) < 0
            || (r = dt_parser_make (p, DT_EXPR_IF, at, &v, ret)) < 0)
            return r;
    }
    dt_parser_leave (p);
    return dt_parser_is (p, DT_TOK_WALRUS) ? dt_parser_unexpected (p) : 0;
}

/* Whether an expression can start here: ends a tuple without brackets. */
static int starts (const struct dt_parser *p)
{
    switch (p->token->kind) {
    case DT_TOK_NEWLINE: case DT_TOK_END: case DT_TOK_ASSIGN: case DT_TOK_RPAREN: case DT_TOK_RBRACKET:
    case DT_TOK_RBRACE: case DT_TOK_COLON: case DT_TOK_SEMICOLON: case DT_TOK_KW_IN:
        return 0;
    default:
        return 1;
    }
}

static int list_of (struct dt_parser *p, int (*one) (struct dt_parser *, struct dt_expr **), struct dt_expr **ret)
{
    struct dt_span at = p->token->at;
    struct dt_ptrs v = { 0 };
    struct dt_expr *e;
    int r;

    if ((r = one (p, &e)) < 0)
        return r;
    *ret = e;
    if (!dt_parser_is (p, DT_TOK_COMMA))
        return 0;
    if ((r = dt_parser_push (p, &v, e)) < 0)
        return r;
    while (dt_parser_accept (p, DT_TOK_COMMA) && starts (p))
        if ((r = one (p, &e)) < 0 || (r = dt_parser_push (p, &v, e)) < 0)
            return r;
    return dt_parser_make (p, DT_EXPR_TUPLE, at, &v, ret);
}

int dt_parse_exprs (struct dt_parser *p, struct dt_expr **ret)
{
    return list_of (p, dt_parse_expr, ret);
}

int dt_parse_target (struct dt_parser *p, struct dt_expr **ret)
{
    int r;

    if ((r = list_of (p, bit_or, ret)) < 0)
        return r;
    return dt_parse_check_target (p, *ret);
}

int dt_parse_check_target (struct dt_parser *p, const struct dt_expr *e)
{
    uint32_t i;
    int r;

    switch (e->kind) {
    case DT_EXPR_NAME:
        return 0;
    case DT_EXPR_TUPLE:
    case DT_EXPR_LIST:
        for (i = 0; i < e->n; i++)
            if ((r = dt_parse_check_target (p, e->arg[i])) < 0)
                return r;
        return 0;
    case DT_EXPR_INDEX:
        return dt_refuse (p->err, p->src, e->at, DT_REFUSE_STORE_INDEX);
    case DT_EXPR_ATTR:
        return dt_refuse (p->err, p->src, e->at, DT_REFUSE_STORE_FIELD);
    default:
        return dt_diag (p->err, -DT_ESYNTAX, p->src, e->at, NULL, "this cannot be assigned to");
    }
}
