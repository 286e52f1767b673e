/* solver/solve_candidates.c - the values that the chosen pins can take. */
#include <string.h>

#include "base/mem.h"
#include "selir/simplify.h"
#include "solver/candidates.h"
#include "solver/reach.h"
#include "solver/solve_int.h"

/* The program that returns the pins' values instead of its own. */
static int program_of_pins (struct dt_solver *v)
{
    struct dt_graph *g;
    uint32_t *map = NULL;
    size_t i;
    int r;

    v->pins = dt_graph_free (v->pins);
    if ((r = dt_reach_copy (v->g, &g, v->err)) < 0)
        return r;
    g->n_points = 0;
    for (i = 0; i < v->s->n_pins; i++) {
        struct dt_point p = { .field = v->s->pin[i].name, .type = v->s->pin[i].type,
                              .node = v->chosen[i],
                              .span = v->g->node[v->chosen[i]].span };

        if (dt_graph_add_point (g, &p) < 0) {
            dt_graph_free (g);
            return dt_err_nomem (v->err);
        }
    }
    if ((r = dt_simplify (g, DT_PASS_ALL, NULL, 1, &v->pins, &map, v->err)) == 0)
        r = dt_reach_raises (v->g, map, v->pins, v->err);
    dt_free (map);
    dt_graph_free (g);
    return r;
}

int dt_solver_candidates (struct dt_solver *v, size_t first, size_t *ret_pin)
{
    struct dt_ranges *ranges;
    size_t i;
    int r;

    if ((r = program_of_pins (v)) < 0
        || (r = dt_ranges_new (v->pins, NULL, &ranges, v->err)) < 0)
        return r;
    for (i = first; i < v->s->n_pins && r == 0; i++) {
        struct dt_solution_pin *p = &v->s->pin[i];
        int64_t *value, *kept;

        r = dt_candidates (v->pins, v->pins->point[i].node, ranges, p->name, &value,
                           &p->n_candidates, &p->exact, v->err);
        if (r < 0)
            break;
        if (!(kept = dt_arena_array (&v->s->arena, p->n_candidates, sizeof *kept)))
            r = dt_err_nomem (v->err);
        else if (p->n_candidates > 0)
            memcpy (kept, value, p->n_candidates * sizeof *kept);
        p->candidate = kept;
        dt_free (value);
    }
    dt_ranges_free (ranges);
    *ret_pin = i;
    return r == -DT_ELIMIT && i < v->s->n_pins ? 1 : r;
}
