/* selir/spec_stmt.c - running statements. */
#include <string.h>

#include "base/mem.h"
#include "selir/refuse.h"
#include "selir/spec.h"

static int leaf (struct dt_spec *s, int kind, struct dt_outcome **ret)
{
    struct dt_outcome *o = dt_arena_alloc (&s->arena, sizeof *o);

    if (!o)
        return dt_err_nomem (s->err);
    o->kind = kind;
    *ret = o;
    return 0;
}

/* break and continue keep the locals as they are now, for where the path goes on. */
static int jump (struct dt_spec *s, int kind, const struct dt_stmt *st, struct dt_outcome **ret)
{
    uint32_t n = s->frame->func->n_locals;
    int r;

    if ((r = dt_spec_step (s, n, st->at)) < 0
        || (r = leaf (s, kind, ret)) < 0)
        return r;
    if (!((*ret)->env = dt_arena_array (&s->arena, n, sizeof (struct dt_value))))
        return dt_err_nomem (s->err);
    memcpy ((*ret)->env, s->frame->local, n * sizeof (struct dt_value));
    return 0;
}

static int return_ (struct dt_spec *s, const struct dt_stmt *st, struct dt_outcome **ret)
{
    struct dt_value v = DT_V_NONE;
    int r;

    if (st->value && (r = dt_spec_eval (s, st->value, &v)) != 0)
        return r;
    if (dt_value_is_iter (v))
        return dt_spec_error (s, -DT_ESYNTAX, st->at, "return a list: [x for x in ...]",
                              "the result of enumerate or zip, kept, is not in the language here");
    if ((r = leaf (s, DT_OUT_RETURN, ret)) < 0)
        return r;
    (*ret)->value = v;
    return 0;
}

static int assign (struct dt_spec *s, const struct dt_stmt *st)
{
    struct dt_value v;
    uint32_t i;
    int r;

    if (!st->value)
        return 0; /* a bare annotation */
    if ((r = dt_spec_eval (s, st->value, &v)) != 0)
        return r;
    for (i = 0; i < st->n; i++)
        if ((r = dt_spec_assign (s, st->target[i], v)) != 0)
            return r;
    return 0;
}

static int augment (struct dt_spec *s, const struct dt_stmt *st)
{
    struct dt_value a, b, v;
    int r;

    if ((r = dt_spec_eval (s, st->target[0], &a)) != 0 || (r = dt_spec_eval (s, st->value, &b)) != 0)
        return r;
    if (a.kind == DT_VALUE_LIST)
        return dt_refuse (s->err, &s->p->file[st->at.file]->source, st->at, DT_REFUSE_LIST_INPLACE);
    if ((r = dt_spec_binary (s, st->target[0], st->op, a, b, &v)) != 0)
        return r;
    return dt_spec_assign (s, st->target[0], v);
}

/* --- if ----------------------------------------------------------------------------- */

static int if_from (struct dt_spec *s, const struct dt_stmt *st, uint32_t i, struct dt_outcome **ret);

/* Run one arm under `path`. */
static int arm (struct dt_spec *s, const struct dt_stmt *st, uint32_t i, int body, struct dt_value path,
                struct dt_outcome **ret)
{
    s->path = path;
    if (body)
        return dt_spec_block (s, &st->arm[i].body, ret);
    return if_from (s, st, i + 1, ret);
}

static int merge_locals (struct dt_spec *s, const struct dt_expr *at, struct dt_value c, const struct dt_value *then)
{
    struct dt_frame *f = s->frame;
    uint32_t i;
    int r;

    for (i = 0; i < f->func->n_locals; i++) {
        if (dt_value_same (then[i], f->local[i]))
            continue;
        if ((r = dt_spec_merge (s, at, c, then[i], f->local[i], &f->local[i])) < 0
            || (r = dt_spec_name (s, f->local[i], f->func->local[i])) < 0)
            return r;
    }
    return 0;
}

/* Both arms of an if whose condition is a node.  `before` and `then` are copies
 * of the locals. */
static int both (struct dt_spec *s, const struct dt_stmt *st, uint32_t i, struct dt_value c, struct dt_value *before,
                 struct dt_value *then, struct dt_outcome **ret)
{
    const struct dt_expr *at = st->arm[i].cond;
    struct dt_value *local = s->frame->local, path = s->path, p, n;
    size_t bytes = s->frame->func->n_locals * sizeof *local;
    struct dt_outcome *a = NULL, *b = NULL;
    int r;

    memcpy (before, local, bytes);
    if ((r = dt_spec_and (s, at, path, c, &p)) < 0 || (r = arm (s, st, i, 1, p, &a)) < 0)
        return r;
    memcpy (then, local, bytes);
    memcpy (local, before, bytes);
    if ((r = dt_spec_not (s, at, c, &n)) < 0 || (r = dt_spec_and (s, at, path, n, &p)) < 0
        || (r = arm (s, st, i, 0, p, &b)) < 0)
        return r;
    s->path = path;
    if (!dt_outcome_falls (b))
        memcpy (local, then, bytes);
    else if (dt_outcome_falls (a) && (r = merge_locals (s, at, c, then)) < 0)
        return r;
    return dt_outcome_branch (s, at, c, a, b, ret);
}

/* Arm i of an if and those after it. */
static int if_from (struct dt_spec *s, const struct dt_stmt *st, uint32_t i, struct dt_outcome **ret)
{
    struct dt_value c, *copies;
    uint32_t n = s->frame->func->n_locals;
    int r;

    *ret = NULL;
    if (i == st->n_arms)
        return 0;
    if (!st->arm[i].cond)
        return dt_spec_block (s, &st->arm[i].body, ret);
    if ((r = dt_spec_cond (s, st->arm[i].cond, &c)) < 0)
        return r;
    if (r == DT_RAISED)
        return leaf (s, DT_OUT_RAISE, ret);
    if (c.kind == DT_VALUE_BOOL)
        return c.i ? dt_spec_block (s, &st->arm[i].body, ret) : if_from (s, st, i + 1, ret);
    if (s->depth >= DT_SPEC_MAX_DEPTH)
        return dt_spec_error (s, -DT_ELIMIT, st->at, "move inner blocks to functions", "evaluation nested deeper than %d",
                              DT_SPEC_MAX_DEPTH);
    if ((r = dt_spec_step (s, 2 * n, st->at)) < 0)
        return r;
    if (!(copies = dt_calloc (2 * (size_t)n, sizeof *copies)))
        return dt_err_nomem (s->err);
    s->depth++;
    r = both (s, st, i, c, copies, copies + n, ret);
    s->depth--;
    dt_free (copies);
    return r;
}

/* --- for ---------------------------------------------------------------------------- */

/* One turn under the path as it is; *ret_out is what leaves the loop from it (NULL:
 * nothing), *ret_live where it goes on.  1: it goes on nowhere. */
static int turn (struct dt_spec *s, const struct dt_stmt *st, struct dt_value item, struct dt_outcome **ret_out,
                 struct dt_value *ret_live)
{
    struct dt_outcome *o;
    int r;

    *ret_out = NULL;
    *ret_live = DT_V_BOOL (0);
    if ((r = dt_spec_assign (s, st->target[0], item)) < 0)
        return r;
    if (r == DT_RAISED) {
        r = leaf (s, DT_OUT_RAISE, ret_out);
        return r < 0 ? r : 1;
    }
    if ((r = dt_spec_block (s, &st->arm[0].body, &o)) < 0 || (r = dt_outcome_join (s, o, DT_OUT_CONTINUE, ret_out)) < 0
        || (r = dt_outcome_live (s, *ret_out, ret_live)) < 0)
        return r;
    return !dt_outcome_falls (*ret_out);
}

/* A turn that there is where `is` holds: elsewhere the loop ends, as by break. */
static int maybe_turn (struct dt_spec *s, const struct dt_stmt *st, struct dt_value item, struct dt_value is,
                       struct dt_outcome **ret_out)
{
    struct dt_outcome *end = NULL, *o;
    struct dt_value path = s->path, live;
    int r, stops;

    if (is.kind == DT_VALUE_NODE
        && ((r = jump (s, DT_OUT_BREAK, st, &end)) < 0 || (r = dt_spec_and (s, st->value, path, is, &s->path)) < 0))
        return r;
    if ((stops = turn (s, st, item, &o, &live)) < 0)
        return stops;
    *ret_out = o;
    if (end && (r = dt_outcome_branch (s, st->value, is, o, end, ret_out)) < 0)
        return r;
    if (stops)
        return 1;
    if (live.kind == DT_VALUE_NOTHING)
        live = DT_V_BOOL (1);
    if (end && (r = dt_spec_and (s, st->value, path, is, &path)) < 0)
        return r;
    r = dt_spec_and (s, st->value, path, live, &s->path);
    return r;
}

static int for_ (struct dt_spec *s, const struct dt_stmt *st, struct dt_outcome **ret)
{
    struct dt_value over, item, is;
    struct dt_outcome *o;
    struct dt_ptrs out = { 0 };
    uint64_t i;
    int r;

    if ((r = dt_spec_eval (s, st->value, &over)) != 0)
        return r;
    if (!dt_spec_walkable (over))
        return dt_spec_error (s, -DT_ESYNTAX, st->value->at, "loop over a tuple, list, dict or range",
                              "cannot loop over %s", dt_value_type (over));
    for (i = 0; i < dt_spec_turns (over); i++) {
        if ((r = dt_spec_unroll (s, 1, st->at)) < 0 || (r = dt_spec_turn (s, st->value, over, i, &item, &is)) != 0
            || (r = maybe_turn (s, st, item, is, &o)) < 0)
            return r;
        if (o && dt_ptrs_push (&s->arena, &out, o) < 0)
            return dt_err_nomem (s->err);
        if (r == 1)
            break;
    }
    if ((r = dt_outcome_seq (s, &out, &o)) < 0)
        return r;
    return dt_outcome_join (s, o, DT_OUT_BREAK, ret);
}

/* --- blocks ------------------------------------------------------------------------- */

/* Module-level functions: their defaults are evaluated once, here. */
static int define (struct dt_spec *s, const struct dt_stmt *st)
{
    const struct dt_func *f = st->func;
    struct dt_closure *c = dt_arena_alloc (&s->arena, sizeof *c);
    struct dt_value *initial = dt_arena_array (&s->arena, f->n_params, sizeof *initial);
    const struct dt_module *m = f->module;
    uint32_t i;
    int r;

    if (!c || !initial)
        return dt_err_nomem (s->err);
    for (i = 0; i < f->n_params; i++)
        if (f->param[i].initial && (r = dt_spec_eval (s, f->param[i].initial, &initial[i])) != 0)
            return r;
    c->func = f;
    c->initial = initial;
    for (i = 0; m->global[i].func != f; i++)
        ;
    s->global[m->file][i] = (struct dt_value){ .kind = DT_VALUE_FUNC, .func = c };
    return 0;
}

static int statement (struct dt_spec *s, const struct dt_stmt *st, struct dt_outcome **ret)
{
    struct dt_value v;

    switch (st->kind) {
    case DT_STMT_EXPR:
        return st->value->kind == DT_EXPR_STR ? 0 : dt_spec_eval (s, st->value, &v); /* docstrings may be long */
    case DT_STMT_ASSIGN: case DT_STMT_ANNOTATE:
        return assign (s, st);
    case DT_STMT_AUGMENT:
        return augment (s, st);
    case DT_STMT_IF:
        return if_from (s, st, 0, ret);
    case DT_STMT_FOR:
        return for_ (s, st, ret);
    case DT_STMT_RETURN:
        return return_ (s, st, ret);
    case DT_STMT_BREAK: case DT_STMT_CONTINUE:
        return jump (s, st->kind == DT_STMT_BREAK ? DT_OUT_BREAK : DT_OUT_CONTINUE, st, ret);
    case DT_STMT_DEF:
        return define (s, st);
    default:
        return 0; /* pass, imports, classes */
    }
}

/* Statements in turn.  After one that leaves the block on some paths, the others
 * run under the condition that it fell through. */
int dt_spec_block (struct dt_spec *s, const struct dt_block *b, struct dt_outcome **ret)
{
    struct dt_ptrs out = { 0 };
    struct dt_outcome *o;
    struct dt_value live, path;
    uint32_t i;
    int r;

    for (i = 0; i < b->n; i++) {
        o = NULL;
        path = s->path;
        if ((r = statement (s, b->stmt[i], &o)) < 0 || (r == DT_RAISED && (r = leaf (s, DT_OUT_RAISE, &o)) < 0))
            return r;
        s->path = path;
        if (!o)
            continue;
        if (dt_ptrs_push (&s->arena, &out, o) < 0)
            return dt_err_nomem (s->err);
        if (!dt_outcome_falls (o))
            break;
        if ((r = dt_outcome_live (s, o, &live)) < 0)
            return r;
        if (live.kind != DT_VALUE_NOTHING && (r = dt_spec_and (s, dt_outcome_place (o), path, live, &s->path)) < 0)
            return r;
    }
    return dt_outcome_seq (s, &out, ret);
}
