/* selir/outcome.c - how a block ends on each path, and merging at the places where
 * paths meet again. */
#include <string.h>

#include "selir/spec.h"

int dt_outcome_falls (const struct dt_outcome *o)
{
    uint32_t i;

    if (!o)
        return 1;
    if (o->kind == DT_OUT_BRANCH)
        return dt_outcome_falls (o->a) || dt_outcome_falls (o->b);
    if (o->kind == DT_OUT_JOIN)
        return dt_outcome_falls (o->a) || dt_outcome_has (o->a, o->joined);
    if (o->kind != DT_OUT_SEQ)
        return 0;
    for (i = 0; i < o->n; i++)
        if (!dt_outcome_falls (o->item[i]))
            return 0;
    return 1;
}

const struct dt_expr *dt_outcome_place (const struct dt_outcome *o)
{
    while (o->kind == DT_OUT_SEQ || o->kind == DT_OUT_JOIN)
        o = o->kind == DT_OUT_JOIN ? o->a : o->item[0];
    return o->at;
}

int dt_outcome_has (const struct dt_outcome *o, int kind)
{
    uint32_t i;

    if (!o || o->kind == kind)
        return o != NULL;
    if (o->kind == DT_OUT_BRANCH)
        return dt_outcome_has (o->a, kind) || dt_outcome_has (o->b, kind);
    if (o->kind == DT_OUT_JOIN)
        return o->joined != kind && dt_outcome_has (o->a, kind);
    for (i = 0; o->kind == DT_OUT_SEQ && i < o->n; i++)
        if (dt_outcome_has (o->item[i], kind))
            return 1;
    return 0;
}

int dt_outcome_branch (struct dt_spec *s, const struct dt_expr *at, struct dt_value cond, struct dt_outcome *a,
                       struct dt_outcome *b, struct dt_outcome **ret)
{
    struct dt_outcome *o;

    *ret = NULL;
    if (!a && !b)
        return 0;
    if (!(o = dt_arena_alloc (&s->arena, sizeof *o)))
        return dt_err_nomem (s->err);
    *o = (struct dt_outcome){ .kind = DT_OUT_BRANCH, .value = cond, .at = at, .a = a, .b = b };
    *ret = o;
    return 0;
}

int dt_outcome_seq (struct dt_spec *s, struct dt_ptrs *items, struct dt_outcome **ret)
{
    struct dt_outcome *o;

    *ret = items->n == 1 ? items->item[0] : NULL;
    if (items->n < 2)
        return 0;
    if (!(o = dt_arena_alloc (&s->arena, sizeof *o)))
        return dt_err_nomem (s->err);
    *o = (struct dt_outcome){ .kind = DT_OUT_SEQ, .item = (struct dt_outcome **)items->item, .n = items->n };
    *ret = o;
    return 0;
}

/* What a fold over an outcome asks of a leaf. */
enum ask { ASK_LIVE, ASK_VALUE, ASK_LOCAL };
struct fold {
    enum ask ask;
    int kind;      /* LOCAL: of the leaves that are joined */
    uint32_t slot; /* LOCAL */
    /* [kind]: what follows the innermost JOIN of that kind; NULL outside any */
    const struct dt_value *after[DT_OUT_RAISE];
};

static struct dt_value leaf (const struct fold *f, const struct dt_outcome *o)
{
    if (o->kind < DT_OUT_RAISE && f->after[o->kind])
        return *f->after[o->kind];
    if (f->ask == ASK_LIVE && o->kind != DT_OUT_RAISE)
        return DT_V_BOOL (0);
    if (f->ask == ASK_VALUE && o->kind == DT_OUT_RETURN)
        return o->value;
    if (f->ask == ASK_LOCAL && o->kind == f->kind)
        return o->env[f->slot];
    return DT_V_NOTHING;
}

static int fold (struct dt_spec *s, const struct fold *f, const struct dt_outcome *o, struct dt_value fall,
                 struct dt_value *ret)
{
    struct fold inner;
    struct dt_value a, b;
    uint32_t i;
    int r;

    if (!o) {
        *ret = fall;
        return 0;
    }
    if (o->kind == DT_OUT_JOIN) {
        inner = *f;
        inner.after[o->joined] = &fall;
        return fold (s, &inner, o->a, fall, ret);
    }
    if (o->kind == DT_OUT_SEQ) {
        for (i = o->n; i-- > 0;)
            if ((r = fold (s, f, o->item[i], fall, &fall)) < 0)
                return r;
        *ret = fall;
        return 0;
    }
    if (o->kind != DT_OUT_BRANCH) {
        *ret = leaf (f, o);
        return 0;
    }
    if ((r = dt_spec_step (s, 1, o->at->at)) < 0 || (r = fold (s, f, o->a, fall, &a)) < 0
        || (r = fold (s, f, o->b, fall, &b)) < 0)
        return r;
    return dt_spec_merge (s, o->at, o->value, a, b, ret);
}

int dt_outcome_live (struct dt_spec *s, const struct dt_outcome *o, struct dt_value *ret)
{
    const struct fold f = { .ask = ASK_LIVE };

    return fold (s, &f, o, DT_V_BOOL (1), ret);
}

int dt_outcome_value (struct dt_spec *s, const struct dt_outcome *o, struct dt_value fall, struct dt_value *ret)
{
    const struct fold f = { .ask = ASK_VALUE };

    return fold (s, &f, o, fall, ret);
}

/* The outcome in which leaves of `kind` fall through.  Where only they and errors
 * are left, nothing remains to be told. */
static int joined (struct dt_spec *s, struct dt_outcome *o, int kind, struct dt_outcome **ret)
{
    struct dt_outcome *j;
    int k;

    for (k = DT_OUT_RETURN; k < DT_OUT_RAISE; k++)
        if (k != kind && dt_outcome_has (o, k))
            break;
    *ret = NULL;
    if (k == DT_OUT_RAISE)
        return 0;
    if (!(j = dt_arena_alloc (&s->arena, sizeof *j)))
        return dt_err_nomem (s->err);
    *j = (struct dt_outcome){ .kind = DT_OUT_JOIN, .a = o, .joined = kind };
    *ret = j;
    return 0;
}

int dt_outcome_join (struct dt_spec *s, struct dt_outcome *o, int kind, struct dt_outcome **ret)
{
    struct fold f = { .ask = ASK_LOCAL, .kind = kind };
    struct dt_frame *frame = s->frame;
    int falls = dt_outcome_falls (o), r;

    *ret = o;
    if (!dt_outcome_has (o, kind))
        return 0;
    for (f.slot = 0; f.slot < frame->func->n_locals; f.slot++) {
        struct dt_value *local = &frame->local[f.slot];

        if ((r = fold (s, &f, o, falls ? *local : DT_V_NOTHING, local)) < 0
            || (r = dt_spec_name (s, *local, frame->func->local[f.slot])) < 0)
            return r;
    }
    return joined (s, o, kind, ret);
}
