/* selir/check.c - what names mean. */
#include "selir/check.h"

#include <string.h>

#include "base/mem.h"
#include "selir/refuse.h"

static const struct {
    const char *name;
    int selir;
} builtins[] = {
#define X(name, text, selir) { text, selir },
    DT_BUILTINS (X)
#undef X
};

const char *dt_builtin_name (uint32_t builtin)
{
    return builtins[builtin].name;
}

int dt_builtin_find (const char *name, int selir)
{
    size_t i;

    for (i = 0; i < DT_ARRAY_SIZE (builtins); i++)
        if (builtins[i].selir == selir && strcmp (builtins[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* Python's other built-in functions, and what to use for each. */
static const struct {
    const char *name, *advice;
} missing[] = {
    { "print", "a program computes only; require (...) carries a message" },
    { "set", "use a tuple" },
    { "frozenset", "use a tuple" },
    { "list", "use a list comprehension: [x for x in ...]" },
    { "tuple", "use a list comprehension: [x for x in ...]" },
    { "dict", "write {key: value, ...}" },
    { "map", "use a list comprehension" },
    { "filter", "use a list comprehension with if" },
    { "reversed", "use range with a step of -1" },
    { "divmod", "write a // b and a % b" },
    { "pow", "write a ** b" },
    { "isinstance", "types are known where the program is written" },
    { "next", "use a for loop with break" },
    { "iter", "use a for loop" },
    { "math", "use the operators; -(-a // b) rounds up" },
    { "complex", "use ints or floats" },
    { "str", "strings are static; compare with ==" },
};

/* Comprehension variables in force, innermost first. */
struct inner {
    const char *name;
    uint32_t slot;
};

struct checker {
    struct dt_program *p;
    struct dt_module *m;
    struct dt_func *f;
    struct dt_err *err;
    uint32_t n_named; /* locals of the function itself, before comprehensions' */
    struct inner inner[DT_CHECK_MAX_LOCALS];
    uint32_t n_inner;
    uint32_t depth; /* of comprehensions, whose first iterable is outside */
    int facts; /* `facts` is known: inside an annotation of a Batch field */
    dt_find_module_f find;
    void *find_ctx;
};

static int find_global (const struct dt_module *m, const char *name)
{
    uint32_t i;

    for (i = 0; i < m->n_globals; i++)
        if (strcmp (m->global[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int add_local (struct checker *c, const char *name, struct dt_span at, uint32_t *ret)
{
    if (c->f->n_locals >= DT_CHECK_MAX_LOCALS)
        return dt_diag (c->err, -DT_ELIMIT, &c->m->source, at, "split the function",
                        "more than %d locals in one function", DT_CHECK_MAX_LOCALS);
    c->f->local[c->f->n_locals] = name;
    *ret = c->f->n_locals++;
    return 0;
}

static int find_local (const struct checker *c, const char *name)
{
    uint32_t i;

    for (i = 0; i < c->n_named; i++)
        if (strcmp (c->f->local[i], name) == 0)
            return (int)i;
    return -1;
}

static int undefined (struct checker *c, const struct dt_expr *e)
{
    size_t i;

    for (i = 0; i < DT_ARRAY_SIZE (missing); i++)
        if (strcmp (missing[i].name, e->s) == 0)
            return dt_diag (c->err, -DT_ESYNTAX, &c->m->source, e->at, missing[i].advice,
                            "'%s' is not in the language here", e->s);
    return dt_diag (c->err, -DT_ESYNTAX, &c->m->source, e->at,
                    dt_builtin_find (e->s, 1) >= 0 ? "import it from selir" : NULL, "name '%s' is not defined", e->s);
}

static int name (struct checker *c, struct dt_expr *e)
{
    uint32_t i;
    int k;

    for (i = c->n_inner; i-- > 0;)
        if (strcmp (c->inner[i].name, e->s) == 0) {
            e->scope = DT_SCOPE_LOCAL;
            e->i = c->inner[i].slot;
            return 0;
        }
    if ((k = find_local (c, e->s)) >= 0) {
        e->scope = DT_SCOPE_LOCAL;
        e->op = c->depth > 0;
    } else if (c->facts && strcmp (e->s, "facts") == 0)
        e->scope = DT_SCOPE_FACTS;
    else if ((k = find_global (c->m, e->s)) >= 0)
        e->scope = DT_SCOPE_GLOBAL;
    else if ((k = dt_builtin_find (e->s, 0)) >= 0)
        e->scope = DT_SCOPE_BUILTIN;
    else
        return undefined (c, e);
    e->i = k;
    return 0;
}

static int expr (struct checker *c, struct dt_expr *e);

static int bind_inner (struct checker *c, struct dt_expr *target)
{
    uint32_t i, slot = 0;
    int r;

    if (target->kind != DT_EXPR_NAME) {
        for (i = 0; i < target->n; i++)
            if ((r = bind_inner (c, target->arg[i])) < 0)
                return r;
        return 0;
    }
    if ((r = add_local (c, target->s, target->at, &slot)) < 0)
        return r;
    c->inner[c->n_inner].name = target->s;
    c->inner[c->n_inner++].slot = slot;
    target->scope = DT_SCOPE_LOCAL;
    target->i = slot;
    return 0;
}

/* A comprehension or lambda has a scope of its own; only the first iterable is outside. */
static int comprehension (struct checker *c, struct dt_expr *e)
{
    uint32_t outer = c->n_inner, i, k;
    int r;

    for (i = 0; i < e->n_clauses; i++) {
        struct dt_clause *clause = &e->clause[i];

        if ((clause->iter && (r = expr (c, clause->iter)) < 0) || (r = bind_inner (c, clause->target)) < 0)
            return r;
        c->depth += i == 0;
        for (k = 0; k < clause->n_filters; k++)
            if ((r = expr (c, clause->filter[k])) < 0)
                return r;
    }
    for (i = 0; i < e->n; i++)
        if ((r = expr (c, e->arg[i])) < 0)
            return r;
    c->n_inner = outer;
    c->depth--;
    return 0;
}

static int expr (struct checker *c, struct dt_expr *e)
{
    uint32_t i;
    int r;

    if (e->kind == DT_EXPR_NAME)
        return name (c, e);
    if (e->n_clauses)
        return comprehension (c, e);
    for (i = 0; i < e->n; i++)
        if ((r = expr (c, e->arg[i])) < 0)
            return r;
    return 0;
}

/* --- locals of a function: all names it assigns ---------------------------------- */

static int collect_target (struct checker *c, const struct dt_expr *t)
{
    uint32_t i, slot;
    int r;

    if (t->kind == DT_EXPR_NAME) {
        if (find_local (c, t->s) >= 0)
            return 0;
        if ((r = add_local (c, t->s, t->at, &slot)) < 0)
            return r;
        c->n_named = c->f->n_locals;
        return 0;
    }
    for (i = 0; i < t->n; i++)
        if ((r = collect_target (c, t->arg[i])) < 0)
            return r;
    return 0;
}

static int collect (struct checker *c, const struct dt_block *b)
{
    uint32_t i, k;
    int r;

    for (i = 0; i < b->n; i++) {
        const struct dt_stmt *s = b->stmt[i];

        for (k = 0; k < s->n; k++)
            if ((r = collect_target (c, s->target[k])) < 0)
                return r;
        for (k = 0; k < s->n_arms; k++)
            if ((r = collect (c, &s->arm[k].body)) < 0)
                return r;
    }
    return 0;
}

static int resolve_block (struct checker *c, const struct dt_block *b)
{
    uint32_t i, k;
    int r;

    for (i = 0; i < b->n; i++) {
        struct dt_stmt *s = b->stmt[i];

        for (k = 0; k < s->n; k++)
            if ((r = expr (c, s->target[k])) < 0)
                return r;
        if (s->value && s->kind != DT_STMT_PASS && (r = expr (c, s->value)) < 0)
            return r;
        for (k = 0; k < s->n_arms; k++) {
            if (s->arm[k].cond && (r = expr (c, s->arm[k].cond)) < 0)
                return r;
            if ((r = resolve_block (c, &s->arm[k].body)) < 0)
                return r;
        }
    }
    return 0;
}

/* `local` while a function is checked is a scratch array; keep what was used. */
static int keep_locals (struct checker *c, const char **scratch)
{
    struct dt_func *f = c->f;

    if (!(f->local = dt_arena_array (&c->p->arena, f->n_locals, sizeof *f->local)))
        return dt_err_nomem (c->err);
    memcpy (f->local, scratch, f->n_locals * sizeof *f->local);
    return 0;
}

static int function (struct checker *c, struct dt_func *f)
{
    const char *scratch[DT_CHECK_MAX_LOCALS];
    uint32_t i, slot;
    int r;

    c->f = f;
    c->n_named = 0;
    f->local = scratch;
    for (i = 0; i < f->n_params; i++) {
        if (find_local (c, f->param[i].name) >= 0)
            return dt_diag (c->err, -DT_ESYNTAX, &c->m->source, f->param[i].at, NULL,
                            "duplicate parameter '%s'", f->param[i].name);
        if ((r = add_local (c, f->param[i].name, f->param[i].at, &slot)) < 0)
            return r;
        c->n_named = f->n_locals;
    }
    if ((r = collect (c, &f->body)) < 0 || (r = resolve_block (c, &f->body)) < 0)
        return r;
    return keep_locals (c, scratch);
}

/* --- modules ----------------------------------------------------------------------- */

static int add_global (struct checker *c, struct dt_global g)
{
    int k = find_global (c->m, g.name);

    if (k >= 0)
        return dt_diag (c->err, -DT_ESYNTAX, &c->m->source, g.at, "give it another name",
                        "'%s' is bound a second time at module level (first on line %u)", g.name, c->m->global[k].at.line);
    if (c->m->n_globals >= DT_CHECK_MAX_GLOBALS)
        return dt_diag (c->err, -DT_ELIMIT, &c->m->source, g.at, "split the file",
                        "more than %d names in one file", DT_CHECK_MAX_GLOBALS);
    c->m->global[c->m->n_globals++] = g;
    return 0;
}

static int import_selir (struct checker *c, const struct dt_import *i, struct dt_global *g)
{
    int k;

    g->kind = i->item ? DT_GLOBAL_BUILTIN : DT_GLOBAL_SELIR;
    if (!i->item)
        return 0;
    if ((k = dt_builtin_find (i->item, 1)) < 0)
        return dt_diag (c->err, -DT_ESYNTAX, &c->m->source, i->at, NULL, "selir has no '%s'", i->item);
    g->item = (uint32_t)k;
    return 0;
}

static int import_one (struct checker *c, const struct dt_import *i)
{
    struct dt_global g = { .name = i->name, .at = i->at };
    int k, r;

    if (strcmp (i->module, "__future__") == 0) {
        if (i->item && strcmp (i->item, "annotations") == 0)
            return 0;
        return dt_diag (c->err, -DT_ESYNTAX, &c->m->source, i->at, NULL, "only 'annotations' is taken from __future__");
    }
    if (strcmp (i->module, "selir") == 0) {
        if ((r = import_selir (c, i, &g)) < 0)
            return r;
        return add_global (c, g);
    }
    g.kind = i->item ? DT_GLOBAL_ITEM : DT_GLOBAL_MODULE;
    g.module = c->find (c->find_ctx, i->module); /* there: imports were followed first */
    if (i->item) {
        if ((k = find_global (g.module, i->item)) < 0)
            return dt_diag (c->err, -DT_ESYNTAX, &c->m->source, i->at, NULL, "%s has no '%s'", i->module, i->item);
        g.item = (uint32_t)k;
    }
    return add_global (c, g);
}

static int module_assign (struct checker *c, struct dt_stmt *s)
{
    uint32_t k;
    int r;

    if (s->value && (r = expr (c, s->value)) < 0)
        return r;
    for (k = 0; k < s->n; k++) {
        if (s->target[k]->kind != DT_EXPR_NAME)
            return dt_diag (c->err, -DT_ESYNTAX, &c->m->source, s->target[k]->at, "assign each name by itself",
                            "unpacking at module level is not in the language here");
        if ((r = add_global (c, (struct dt_global){ .name = s->target[k]->s, .at = s->target[k]->at })) < 0
            || (r = name (c, s->target[k])) < 0)
            return r;
    }
    return 0;
}

static int module_statement (struct checker *c, struct dt_stmt *s)
{
    struct dt_import *i;
    uint32_t k;
    int r;

    switch (s->kind) {
    case DT_STMT_PASS:
        return 0;
    case DT_STMT_IMPORT:
        for (i = s->import; i; i = i->next)
            if ((r = import_one (c, i)) < 0)
                return r;
        return 0;
    case DT_STMT_ANNOTATE:
    case DT_STMT_ASSIGN:
        return module_assign (c, s);
    case DT_STMT_DEF:
        s->func->module = c->m;
        for (k = 0; k < s->func->n_params; k++)
            if (s->func->param[k].initial && (r = expr (c, s->func->param[k].initial)) < 0)
                return r;
        return add_global (c, (struct dt_global){ .name = s->func->name, .at = s->func->at,
                                                  .kind = DT_GLOBAL_FUNC, .func = s->func });
    case DT_STMT_CLASS:
        s->class->module = c->m;
        return add_global (c, (struct dt_global){ .name = s->class->name, .at = s->class->at,
                                                  .kind = DT_GLOBAL_CLASS, .class = s->class });
    default:
        return dt_refuse (c->err, &c->m->source, s->at, DT_REFUSE_MODULE_STMT);
    }
}

/* Annotations name types only where they are looked at: of fields, and of the
 * selection's parameters.  Others mean nothing, as in CPython. */
static int class_names (struct checker *c, struct dt_class *k)
{
    uint32_t i;
    int r;

    for (i = 0; i < k->n_bases; i++)
        if ((r = expr (c, k->base[i])) < 0)
            return r;
    c->facts = 1;
    for (i = 0; i < k->n_fields; i++)
        if ((r = expr (c, k->field[i].annotation)) < 0)
            return r;
    c->facts = 0;
    return dt_check_class (c->m, k, c->err);
}

/* @selection (family="..."), of which a function has at most one. */
static int decorators (struct checker *c, struct dt_func *f)
{
    uint32_t i;
    int r;

    for (i = 0; i < f->n_decorators; i++) {
        struct dt_expr *e = f->decorator[i];

        if ((r = expr (c, e)) < 0)
            return r;
        if (i > 0 || e->kind != DT_EXPR_CALL || dt_static_builtin (c->m, e->arg[0]) != DT_BUILTIN_SELECTION)
            return dt_refuse (c->err, &c->m->source, e->at, DT_REFUSE_DECORATOR);
        if (e->n != 2 || !e->key[1] || strcmp (e->key[1], "family") != 0 || e->arg[1]->kind != DT_EXPR_STR
            || !e->arg[1]->s[0])
            return dt_diag (c->err, -DT_ESYNTAX, &c->m->source, e->at, "write @selection(family=\"attention\")",
                            "selection takes a family, as a string");
        f->family = e->arg[1]->s;
    }
    return 0;
}

static int selection_annotations (struct checker *c, struct dt_func *f)
{
    uint32_t i;
    int r;

    for (i = 0; f->family && i < f->n_params; i++)
        if (f->param[i].annotation && (r = expr (c, f->param[i].annotation)) < 0)
            return r;
    return f->family && f->returns ? expr (c, f->returns) : 0;
}

static int second_pass (struct checker *c)
{
    uint32_t i;
    int r;

    for (i = 0; i < c->m->body.n; i++) {
        struct dt_stmt *s = c->m->body.stmt[i];

        c->f = c->m->top;
        c->n_named = 0;
        if (s->kind == DT_STMT_CLASS && (r = class_names (c, s->class)) < 0)
            return r;
        if (s->kind != DT_STMT_DEF)
            continue;
        if ((r = decorators (c, s->func)) < 0 || (r = selection_annotations (c, s->func)) < 0
            || (r = function (c, s->func)) < 0)
            return r;
    }
    return 0;
}

int dt_check_module (struct dt_program *p, struct dt_module *m, dt_find_module_f find, void *ctx,
                     struct dt_err *reterr)
{
    struct checker c = { .p = p, .m = m, .err = reterr, .find = find, .find_ctx = ctx };
    const char *scratch[DT_CHECK_MAX_LOCALS];
    uint32_t i;
    int r;

    if (!(m->top = dt_arena_alloc (&p->arena, sizeof *m->top))
        || !(m->global = dt_arena_array (&p->arena, DT_CHECK_MAX_GLOBALS, sizeof *m->global)))
        return dt_err_nomem (reterr);
    m->top->name = m->name;
    m->top->module = m;
    m->top->local = scratch;
    c.f = m->top;
    for (i = 0; i < m->body.n; i++)
        if ((r = module_statement (&c, m->body.stmt[i])) < 0)
            return r;
    if ((r = second_pass (&c)) < 0)
        return r;
    c.f = m->top;
    return keep_locals (&c, scratch);
}
