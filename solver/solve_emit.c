/* solver/solve_emit.c - the blobs of a solution: stock, and the pins' values. */
#include "base/mem.h"
#include "selir/simplify.h"
#include "solver/solution.h"
#include "solver/solve_int.h"

static int emit (struct dt_solver *v, const struct dt_graph *g, const char *variant, int fields,
                 struct dt_buf *ret)
{
    struct dt_emit_field field[DT_VM_MAX_OUTPUTS];
    struct dt_emit_options o = { .site = v->s->site, .variant = variant };

    if (fields && dt_solution_fields (v->s, field, v->err) < 0)
        return -DT_ELIMIT;
    o.field = fields ? field : NULL;
    return dt_emit (g, &o, ret, v->err);
}

/* Write a graph with knobs at their defaults. */
static int emit_default (struct dt_solver *v, const struct dt_graph *g, const char *variant,
                         int fields, struct dt_buf *ret)
{
    int64_t *knob = dt_calloc (g->n_knobs, sizeof *knob);
    struct dt_graph *bound;
    uint32_t i;
    int r;

    if (!knob)
        return dt_err_nomem (v->err);
    for (i = 0; i < g->n_knobs; i++)
        knob[i] = g->knob[i].value[g->knob[i].initial];
    if ((r = dt_simplify_bind (g, NULL, knob, 1, &bound, v->err)) == 0) {
        r = emit (v, bound, variant, fields, ret);
        dt_graph_free (bound);
    }
    dt_free (knob);
    return r;
}

int dt_solver_emit (struct dt_solver *v)
{
    int r = emit_default (v, v->pins, "pins", 0, &v->s->pins);

    return r < 0 ? r : emit_default (v, v->simple, "stock", 1, &v->s->stock);
}
