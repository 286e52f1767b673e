/* selir/parse_def.c - functions, classes and imports. */
#include <string.h>

#include "selir/parse.h"
#include "selir/refuse.h"

static int parameter (struct dt_parser *p, struct dt_ptrs *all)
{
    struct dt_param *a = dt_arena_alloc (p->arena, sizeof *a);
    const struct dt_param *last = all->n ? all->item[all->n - 1] : NULL;
    int r;

    if (!a || dt_ptrs_push (p->arena, all, a) < 0)
        return dt_err_nomem (p->err);
    a->at = p->token->at;
    if (dt_parser_is (p, DT_TOK_MUL) || dt_parser_is (p, DT_TOK_POW))
        return dt_refuse (p->err, p->src, a->at, DT_REFUSE_STAR_PARAM);
    if (dt_parser_is (p, DT_TOK_DIV))
        return dt_refuse (p->err, p->src, a->at, DT_REFUSE_POSITIONAL_ONLY);
    if ((r = dt_parser_name (p, &a->name)) < 0)
        return r;
    if (dt_parser_accept (p, DT_TOK_COLON) && (r = dt_parse_expr (p, &a->annotation)) < 0)
        return r;
    if (dt_parser_accept (p, DT_TOK_ASSIGN))
        return dt_parse_expr (p, &a->initial);
    if (last && last->initial)
        return dt_diag (p->err, -DT_ESYNTAX, p->src, a->at, NULL, "a parameter without a default after one with");
    return 0;
}

static int parameters (struct dt_parser *p, struct dt_func *f)
{
    struct dt_ptrs all = { 0 };
    uint32_t i;
    int r;

    if ((r = dt_parser_expect (p, DT_TOK_LPAREN)) < 0)
        return r;
    while (!dt_parser_accept (p, DT_TOK_RPAREN)) {
        if ((r = parameter (p, &all)) < 0)
            return r;
        if (!dt_parser_accept (p, DT_TOK_COMMA) && !dt_parser_is (p, DT_TOK_RPAREN))
            return dt_parser_unexpected (p);
    }
    if (!(f->param = dt_arena_array (p->arena, all.n, sizeof *f->param)))
        return dt_err_nomem (p->err);
    for (i = 0; i < all.n; i++)
        f->param[i] = *(struct dt_param *)all.item[i];
    f->n_params = all.n;
    return 0;
}

int dt_parse_def (struct dt_parser *p, struct dt_stmt *s, struct dt_ptrs *decorators)
{
    struct dt_func *f = dt_arena_alloc (p->arena, sizeof *f);
    int loops = p->in_loop, r;

    if (!f)
        return dt_err_nomem (p->err);
    s->kind = DT_STMT_DEF;
    s->func = f;
    p->token++;
    f->at = p->token->at;
    f->decorator = (struct dt_expr **)decorators->item;
    f->n_decorators = decorators->n;
    if ((r = dt_parser_name (p, &f->name)) < 0 || (r = parameters (p, f)) < 0)
        return r;
    if (dt_parser_accept (p, DT_TOK_ARROW) && (r = dt_parse_expr (p, &f->returns)) < 0)
        return r;
    p->in_function++;
    p->in_loop = 0;
    if ((r = dt_parser_block (p, &f->body)) < 0)
        return r;
    p->in_function--;
    p->in_loop = loops;
    return 0;
}

static int field (struct dt_parser *p, struct dt_ptrs *all)
{
    struct dt_field *f = dt_arena_alloc (p->arena, sizeof *f);
    int r;

    if (!f || dt_ptrs_push (p->arena, all, f) < 0)
        return dt_err_nomem (p->err);
    f->at = p->token->at;
    if ((r = dt_parser_name (p, &f->name)) < 0 || (r = dt_parser_expect (p, DT_TOK_COLON)) < 0
        || (r = dt_parse_expr (p, &f->annotation)) < 0)
        return r;
    if (dt_parser_is (p, DT_TOK_ASSIGN))
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_FIELD_DEFAULT);
    return 0;
}

static int class_line (struct dt_parser *p, struct dt_ptrs *all)
{
    int r = 0;

    switch (p->token->kind) {
    case DT_TOK_KW_DEF:
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_METHOD);
    case DT_TOK_KW_CLASS:
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_NESTED_CLASS);
    case DT_TOK_KW_PASS:
    case DT_TOK_STR:
        p->token++;
        break;
    case DT_TOK_NAME:
        if (p->token[1].kind == DT_TOK_COLON) {
            r = field (p, all);
            break;
        }
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_CLASS_STMT);
    default:
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_CLASS_STMT);
    }
    return r < 0 ? r : dt_parser_expect (p, DT_TOK_NEWLINE);
}

static int class_body (struct dt_parser *p, struct dt_class *c)
{
    struct dt_ptrs all = { 0 };
    uint32_t i;
    int r;

    if ((r = dt_parser_expect (p, DT_TOK_COLON)) < 0)
        return r;
    if (!dt_parser_accept (p, DT_TOK_NEWLINE)) {
        if ((r = class_line (p, &all)) < 0)
            return r;
    } else {
        if ((r = dt_parser_expect (p, DT_TOK_INDENT)) < 0)
            return r;
        while (!dt_parser_accept (p, DT_TOK_DEDENT))
            if ((r = class_line (p, &all)) < 0)
                return r;
    }
    if (!(c->field = dt_arena_array (p->arena, all.n, sizeof *c->field)))
        return dt_err_nomem (p->err);
    for (i = 0; i < all.n; i++)
        c->field[i] = *(struct dt_field *)all.item[i];
    c->n_fields = all.n;
    return 0;
}

int dt_parse_class (struct dt_parser *p, struct dt_stmt *s)
{
    struct dt_class *c = dt_arena_alloc (p->arena, sizeof *c);
    struct dt_ptrs bases = { 0 };
    struct dt_expr *e;
    int r;

    if (!c)
        return dt_err_nomem (p->err);
    s->kind = DT_STMT_CLASS;
    s->class = c;
    p->token++;
    c->at = p->token->at;
    if ((r = dt_parser_name (p, &c->name)) < 0)
        return r;
    if (dt_parser_accept (p, DT_TOK_LPAREN))
        while (!dt_parser_accept (p, DT_TOK_RPAREN)) {
            if (p->token[0].kind == DT_TOK_NAME && p->token[1].kind == DT_TOK_ASSIGN)
                return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_CLASS_BASE);
            if ((r = dt_parse_expr (p, &e)) < 0)
                return r;
            if (dt_ptrs_push (p->arena, &bases, e) < 0)
                return dt_err_nomem (p->err);
            if (!dt_parser_accept (p, DT_TOK_COMMA) && !dt_parser_is (p, DT_TOK_RPAREN))
                return dt_parser_unexpected (p);
        }
    c->base = (struct dt_expr **)bases.item;
    c->n_bases = bases.n;
    return class_body (p, c);
}

/* NAME[.NAME...]; a dotted name is no sibling. */
static int module_name (struct dt_parser *p, const char **ret)
{
    int r;

    if (dt_parser_is (p, DT_TOK_DOT) || dt_parser_is (p, DT_TOK_ELLIPSIS))
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_RELATIVE_IMPORT);
    if ((r = dt_parser_name (p, ret)) < 0)
        return r;
    if (dt_parser_is (p, DT_TOK_DOT))
        return dt_diag (p->err, -DT_ESYNTAX, p->src, p->token->at, "import a file of the same folder",
                        "an import from a package");
    return 0;
}

static int imported (struct dt_parser *p, const char *module, struct dt_import **last, int from)
{
    struct dt_import *i = dt_arena_alloc (p->arena, sizeof *i);
    int r;

    if (!i)
        return dt_err_nomem (p->err);
    i->at = p->token->at;
    if (dt_parser_is (p, DT_TOK_MUL))
        return dt_refuse (p->err, p->src, p->token->at, DT_REFUSE_IMPORT_STAR);
    if ((r = from ? dt_parser_name (p, &i->item) : module_name (p, &i->module)) < 0)
        return r;
    if (from)
        i->module = module;
    i->name = from ? i->item : i->module;
    if (dt_parser_accept (p, DT_TOK_KW_AS) && (r = dt_parser_name (p, &i->name)) < 0)
        return r;
    *last = i;
    return 0;
}

int dt_parse_import (struct dt_parser *p, struct dt_stmt *s)
{
    int from = dt_parser_is (p, DT_TOK_KW_FROM), paren = 0, r;
    struct dt_import **last = &s->import;
    const char *module = NULL;

    s->kind = DT_STMT_IMPORT;
    p->token++;
    if (from) {
        if ((r = module_name (p, &module)) < 0 || (r = dt_parser_expect (p, DT_TOK_KW_IMPORT)) < 0)
            return r;
        paren = dt_parser_accept (p, DT_TOK_LPAREN);
    }
    do {
        if ((r = imported (p, module, last, from)) < 0)
            return r;
        last = &(*last)->next;
    } while (dt_parser_accept (p, DT_TOK_COMMA) && !(paren && dt_parser_is (p, DT_TOK_RPAREN)));
    return paren ? dt_parser_expect (p, DT_TOK_RPAREN) : 0;
}
