/* selir/check_class.c - classes, their fields, and the one selection. */
#include <string.h>

#include "selir/check.h"
#include "selir/refuse.h"

const struct dt_global *dt_global_origin (const struct dt_module *m, uint32_t i)
{
    const struct dt_global *g = &m->global[i];

    while (g->kind == DT_GLOBAL_ITEM)
        g = &g->module->global[g->item];
    return g;
}

/* The global that NAME or MODULE.NAME stands for, or NULL. */
static const struct dt_global *static_global (const struct dt_module *m, const struct dt_expr *e)
{
    const struct dt_global *g;
    uint32_t i;

    if (e->kind == DT_EXPR_NAME)
        return e->scope == DT_SCOPE_GLOBAL ? dt_global_origin (m, (uint32_t)e->i) : NULL;
    if (e->kind != DT_EXPR_ATTR || !(g = static_global (m, e->arg[0])) || g->kind != DT_GLOBAL_MODULE)
        return NULL;
    for (i = 0; i < g->module->n_globals; i++)
        if (strcmp (g->module->global[i].name, e->s) == 0)
            return dt_global_origin (g->module, i);
    return NULL;
}

int dt_static_builtin (const struct dt_module *m, const struct dt_expr *e)
{
    const struct dt_global *g;

    if (e->kind == DT_EXPR_NAME && e->scope == DT_SCOPE_BUILTIN)
        return (int)e->i;
    if (e->kind == DT_EXPR_ATTR && (g = static_global (m, e->arg[0])) && g->kind == DT_GLOBAL_SELIR)
        return dt_builtin_find (e->s, 1);
    g = static_global (m, e);
    return g && g->kind == DT_GLOBAL_BUILTIN ? (int)g->item : -1;
}

struct dt_class *dt_static_class (const struct dt_module *m, const struct dt_expr *e)
{
    const struct dt_global *g = static_global (m, e);

    return g && g->kind == DT_GLOBAL_CLASS ? g->class : NULL;
}

static int bad_field (struct dt_module *m, const struct dt_field *f, const char *advice, const char *what,
                      struct dt_err *err)
{
    return dt_diag (err, -DT_ESYNTAX, &m->source, f->annotation->at, advice, "field '%s': %s", f->name, what);
}

static uint8_t scalar_type (const struct dt_module *m, const struct dt_expr *e)
{
    switch (dt_static_builtin (m, e)) {
    case DT_BUILTIN_INT:
        return DT_TYPE_INT;
    case DT_BUILTIN_BOOL:
        return DT_TYPE_BOOL;
    case DT_BUILTIN_FLOAT:
        return DT_TYPE_FLOAT;
    case DT_BUILTIN_STR:
        return DT_TYPE_ENUM;
    default:
        return 0;
    }
}

static uint8_t marker_of (const struct dt_module *m, const struct dt_expr *e)
{
    switch (e->kind == DT_EXPR_INDEX ? dt_static_builtin (m, e->arg[0]) : -1) {
    case DT_BUILTIN_RUNTIME:
        return DT_MARK_RUNTIME;
    case DT_BUILTIN_UNPINNABLE:
        return DT_MARK_UNPINNABLE;
    case DT_BUILTIN_OWN:
        return DT_MARK_OWN;
    case DT_BUILTIN_FREE:
        return DT_MARK_FREE;
    default:
        return DT_MARK_NONE;
    }
}

static int check_field (struct dt_module *m, const struct dt_class *c, struct dt_field *f, struct dt_err *err)
{
    const struct dt_expr *e = f->annotation;

    f->marker = marker_of (m, e);
    if (c->kind == DT_BASE_BATCH) {
        if (f->marker == DT_MARK_NONE || f->marker == DT_MARK_FREE)
            return bad_field (m, f, "write Runtime[range(lo, hi)], Unpinnable[...] or Own[...]",
                              "an input is Runtime, Unpinnable or Own", err);
        f->domain = e->arg[1];
        return 0;
    }
    if (f->marker != DT_MARK_NONE && !(f->marker == DT_MARK_FREE && c->kind == DT_BASE_RECORD))
        return bad_field (m, f, NULL, "this marker belongs elsewhere: inputs are fields of a Batch, Free is for a Record", err);
    f->type = scalar_type (m, f->marker == DT_MARK_FREE ? e->arg[1] : e);
    if (!f->type && (c->kind == DT_BASE_FACTS || f->marker == DT_MARK_FREE))
        return bad_field (m, f, NULL, "its type is int, float, bool or str", err);
    return 0;
}

int dt_check_class (struct dt_module *m, struct dt_class *c, struct dt_err *err)
{
    int base = c->n_bases == 1 ? dt_static_builtin (m, c->base[0]) : -1, r;
    uint32_t i, k;

    c->kind = base == DT_BUILTIN_FACTS ? DT_BASE_FACTS : base == DT_BUILTIN_BATCH ? DT_BASE_BATCH
              : base == DT_BUILTIN_RECORD ? DT_BASE_RECORD : 0;
    if (!c->kind)
        return dt_refuse (err, &m->source, c->at, DT_REFUSE_CLASS_BASE);
    if (c->n_fields > DT_CHECK_MAX_FIELDS)
        return dt_diag (err, -DT_ELIMIT, &m->source, c->at, NULL, "more than %d fields in one class", DT_CHECK_MAX_FIELDS);
    for (i = 0; i < c->n_fields; i++) {
        for (k = 0; k < i; k++)
            if (strcmp (c->field[k].name, c->field[i].name) == 0)
                return dt_diag (err, -DT_ESYNTAX, &m->source, c->field[i].at, NULL, "duplicate field '%s'", c->field[i].name);
        if ((r = check_field (m, c, &c->field[i], err)) < 0)
            return r;
    }
    return 0;
}

/* The one function with @selection, in the main file. */
static int find_selection (struct dt_program *p, struct dt_err *err)
{
    struct dt_module *m = p->main;
    uint32_t i;

    for (i = 0; i < m->body.n; i++) {
        struct dt_func *f = m->body.stmt[i]->kind == DT_STMT_DEF ? m->body.stmt[i]->func : NULL;

        if (!f || !f->family)
            continue;
        if (p->selection)
            return dt_diag (err, -DT_ESYNTAX, &m->source, f->at, "write one file per family",
                            "a second selection (the first is '%s')", p->selection->name);
        p->selection = f;
    }
    if (!p->selection)
        return dt_diag (err, -DT_ESYNTAX, &m->source, (struct dt_span){ m->file, 1, 1 },
                        "mark one function with @selection(family=\"...\")", "the program has no selection");
    return 0;
}

static int selection_param (struct dt_program *p, uint32_t i, struct dt_err *err)
{
    const struct dt_func *f = p->selection;
    const struct dt_param *a = &f->param[i];
    struct dt_class *c = a->annotation ? dt_static_class (f->module, a->annotation) : NULL;

    if (c && c->kind == DT_BASE_FACTS && !p->facts) {
        p->facts = c;
        p->facts_param = i;
    } else if (c && c->kind == DT_BASE_BATCH && !p->batch) {
        p->batch = c;
        p->batch_param = i;
    } else
        return dt_diag (err, -DT_ESYNTAX, &f->module->source, a->at, "write def choose(facts: Model, call: Call) -> Choice",
                        "parameter '%s' of a selection: one is the Facts record and one the Batch record", a->name);
    return 0;
}

int dt_check_program (struct dt_program *p, struct dt_err *err)
{
    const struct dt_func *f;
    uint32_t i;
    int r;

    if ((r = find_selection (p, err)) < 0)
        return r;
    f = p->selection;
    for (i = 0; i < f->n_params; i++)
        if ((r = selection_param (p, i, err)) < 0)
            return r;
    p->choice = f->returns ? dt_static_class (f->module, f->returns) : NULL;
    if (!p->facts || !p->batch || !p->choice || p->choice->kind != DT_BASE_RECORD)
        return dt_diag (err, -DT_ESYNTAX, &f->module->source, f->at, "write def choose(facts: Model, call: Call) -> Choice",
                        "a selection takes a Facts and a Batch record and returns a Record");
    for (i = 0; i < p->choice->n_fields; i++)
        if (!p->choice->field[i].type)
            return bad_field (p->choice->module, &p->choice->field[i], NULL,
                              "a selection point is int, float, bool or str", err);
    return 0;
}
