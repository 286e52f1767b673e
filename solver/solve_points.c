/* solver/solve_points.c - selection points, and which of them are free. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "solver/explain.h"
#include "solver/reach.h"
#include "solver/solve_int.h"

static int claimed (const struct dt_solve_options *o, const char *field)
{
    size_t i;

    for (i = 0; i < o->n_claims; i++)
        if (strcmp (o->claim[i], field) == 0)
            return 1;
    return 0;
}

int dt_solve_check_claims (const struct dt_graph *g, const char *const *claim, size_t n_claims,
                           struct dt_err *reterr)
{
    const char **field = dt_calloc (g->n_points, sizeof *field);
    size_t i, k;
    int r = 0;

    if (!field)
        return dt_err_nomem (reterr);
    for (k = 0; k < g->n_points; k++)
        field[k] = g->point[k].field;
    for (i = 0; i < n_claims && r == 0; i++) {
        const char *name = claim[i], *near;

        for (k = 0; k < g->n_points && strcmp (field[k], name) != 0; k++)
            ;
        if (k < g->n_points)
            continue;
        near = dt_suggest (name, field, g->n_points);
        r = dt_err_set (reterr, -DT_EINPUT, "claim: family %s has no field \"%s\"%s%s%s",
                        g->family ? g->family : "?", name,
                        near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    dt_free (field);
    return r;
}

/* A field is free if the program or a claim says so; options take that back. */
int dt_solver_describe_points (struct dt_solver *v)
{
    struct dt_solution *s = v->s;
    uint8_t *batch = dt_reach_class (v->simple, DT_REACH_BATCH);
    uint8_t *own = dt_reach_class (v->simple, DT_REACH_OWN);
    size_t i;
    int r = -ENOMEM;

    s->n_points = v->g->n_points;
    s->point = dt_arena_array (&s->arena, s->n_points, sizeof *s->point);
    if (!batch || !own || !s->point)
        goto fail;
    for (i = 0; i < s->n_points; i++) {
        const struct dt_point *in = &v->g->point[i];
        struct dt_solution_point *p = &s->point[i];
        int claim = claimed (v->options, in->field);

        if (!(p->field = dt_arena_strf (&s->arena, "%s", in->field))
            || !(p->where = dt_solver_place (v, in->span)))
            goto fail;
        p->type = in->type;
        p->is_free = !v->options->no_free && (claim ? !v->options->strict : in->is_free);
        p->by_claim = p->is_free && claim;
        p->batch = batch[v->simple->point[i].node];
        p->own = own[v->simple->point[i].node];
    }
    r = 0;
fail:
    dt_free (batch);
    dt_free (own);
    return r < 0 ? dt_err_nomem (v->err) : 0;
}
