/* solver/solve.c - from a specialised graph to pins, candidates and verdicts. */
#include "solver/solve.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "selir/simplify.h"
#include "solver/reach.h"
#include "solver/solution.h"
#include "solver/solve_int.h"
#include "solver/vra.h"

#define MAX_ROUNDS 64 /* cuts of one solve; two are rare */

static unsigned passes (const struct dt_solver *v)
{
    return DT_PASS_ALL & ~v->options->without;
}

/* --- the residual graph ------------------------------------------------------------ */

/* Simplify the specialised graph with the pinned values replaced by symbols. */
static int make_residual (struct dt_solver *v)
{
    uint32_t *subst;
    size_t i;
    int r;

    v->work = dt_graph_free (v->work);
    v->residual = dt_graph_free (v->residual);
    dt_free (v->residual_map);
    v->residual_map = NULL;
    if ((r = dt_reach_copy (v->g, &v->work, v->err)) < 0)
        return r;
    for (i = 0; i < v->s->n_pins; i++) {
        struct dt_pin pin = { .name = v->s->pin[i].name, .type = v->s->pin[i].type,
                              .node = DT_NODE_NONE,
                              .span = v->g->node[v->chosen[i]].span };

        /* An assignment gives a candidate and nothing else. */
        pin.value = v->s->pin[i].candidate;
        pin.n_values = v->s->pin[i].n_candidates;
        if (dt_graph_add_pin (v->work, &pin) < 0)
            return dt_err_nomem (v->err);
    }
    if ((r = dt_solver_drop_faults (v)) < 0 || (r = dt_solver_narrow_assumes (v, &subst)) < 0)
        return r;
    r = dt_simplify (v->work, passes (v), subst, 1, &v->residual, &v->residual_map, v->err);
    dt_free (subst);
    return r;
}

/* Whether the batch still reaches a binding point. */
static int still_batch (const struct dt_solver *v)
{
    uint8_t *batch = dt_reach_class (v->residual, DT_REACH_BATCH);
    uint32_t i;
    int found = 0;

    if (!batch)
        return -ENOMEM;
    for (i = 0; i < v->residual->n_points; i++)
        found |= !v->s->point[i].is_free && batch[v->residual->point[i].node];
    dt_free (batch);
    return found;
}

/* Forget pins that the residual graph does not read: a later cut made them
 * needless. */
static int drop_unread (struct dt_solver *v)
{
    uint32_t i, *moved = dt_calloc (v->s->n_pins, sizeof *moved);
    size_t k, kept = 0;
    int r;

    if (!moved)
        return dt_err_nomem (v->err);
    for (k = 0; k < v->s->n_pins; k++) {
        moved[k] = DT_NODE_NONE;
        if (v->residual->pin[k].node != DT_NODE_NONE) {
            moved[k] = (uint32_t)kept;
            v->s->pin[kept] = v->s->pin[k];
            v->chosen[kept++] = v->chosen[k];
        }
    }
    for (i = 0; i < v->g->n_nodes; i++)
        if (v->subst[i] != DT_NODE_NONE)
            v->subst[i] = moved[v->subst[i]];
    k = v->s->n_pins;
    v->s->n_pins = kept;
    dt_free (moved);
    if (kept == k)
        return 0;
    r = dt_solver_candidates (v, kept, &k); /* the pins' program, of fewer */
    return r < 0 ? r : make_residual (v);
}

/* Begin again without the values of a pin that has too many candidates. */
static void bar (struct dt_solver *v, size_t pin)
{
    uint32_t i;

    for (i = 0; i < v->g->n_nodes; i++) {
        v->barred[i] |= v->subst[i] == pin;
        v->subst[i] = DT_NODE_NONE;
    }
    v->s->n_pins = 0;
    v->map = v->simple_map;
}

/* One cut is enough unless simplifying used how a pinned value follows from others
 * to take the batch out of a point; what is left is then cut in turn. */
static int choose_pins (struct dt_solver *v)
{
    const struct dt_graph *a = v->simple;
    size_t first, pin;
    int r, round;

    for (round = 0; round < MAX_ROUNDS; round++) {
        first = v->s->n_pins;
        if ((r = dt_solver_cut (v, a)) < 0 || (r = dt_solver_candidates (v, first, &pin)) < 0)
            return r;
        if (r == 1) {
            bar (v, pin);
            a = v->simple;
            continue;
        }
        if ((r = make_residual (v)) < 0)
            return r;
        if ((r = still_batch (v)) < 0)
            return dt_err_nomem (v->err);
        if (r == 0)
            return drop_unread (v);
        a = v->residual;
        v->map = v->residual_map;
    }
    return dt_err_set (v->err, -DT_ELIMIT, "more than %d rounds of cuts", MAX_ROUNDS);
}

/* --- all -------------------------------------------------------------------------- */

static int judge (struct dt_solver *v)
{
    struct dt_solution *s = v->s;
    size_t i;
    int r;

    s->residual = v->residual;
    v->residual = NULL;
    if (dt_solution_knobs (s) < 0)
        return dt_err_nomem (v->err);
    if ((r = dt_solution_count (s, v->err)) < 0)
        return r;
    s->verdict = dt_arena_array (&s->arena, s->n_assignments, 1);
    s->why = dt_arena_array (&s->arena, s->n_assignments, sizeof *s->why);
    if (!s->verdict || !s->why)
        return dt_err_nomem (v->err);
    if ((r = dt_vra_judge (s->residual, s, v->options->n_threads, v->err)) < 0)
        return r;
    for (i = 0; i < s->n_assignments; i++)
        if (s->verdict[i] != DT_ILLEGAL)
            return 0;
    if (s->n_assignments == 0)
        return dt_solver_raises (v); /* a pin has no candidate */
    return dt_err_set (v->err, -DT_EILLEGAL, "no assignment is legal; the first: %s", s->why[0]);
}

static int run (struct dt_solver *v)
{
    int r;

    if ((r = dt_solve_check_claims (v->g, v->options->claim, v->options->n_claims, v->err)) < 0
        || (r = dt_simplify (v->g, passes (v), NULL, 1, &v->simple, &v->simple_map, v->err)) < 0)
        return r;
    v->map = v->simple_map;
    if ((r = dt_solver_describe_points (v)) < 0 || (r = choose_pins (v)) < 0
        || (r = judge (v)) < 0 || (r = dt_solver_emit (v)) < 0)
        return r;
    v->s->n_specialised = v->g->n_nodes;
    v->s->n_simplified = v->simple->n_nodes;
    v->s->n_residual = v->s->residual->n_nodes;
    return 0;
}

int dt_solve (const struct dt_graph *g, const struct dt_solve_options *options,
              struct dt_solution **ret, struct dt_err *reterr)
{
    struct dt_solver v = { .g = g, .options = options, .err = reterr };
    int r = -ENOMEM;

    v.s = dt_calloc (1, sizeof *v.s);
    v.subst = dt_calloc (g->n_nodes, sizeof *v.subst);
    v.barred = dt_calloc (g->n_nodes, 1);
    if (!v.s || !v.subst || !v.barred
        || !(v.s->family = dt_arena_strf (&v.s->arena, "%s", g->family ? g->family : ""))
        || !(v.s->site = dt_arena_strf (&v.s->arena, "%s", options->site ? options->site : ""))) {
        dt_err_nomem (reterr);
        goto fail;
    }
    memset (v.subst, 0xff, g->n_nodes * sizeof *v.subst);
    if ((r = run (&v)) < 0)
        goto fail;
    *ret = v.s;
    v.s = NULL;
fail:
    dt_solution_free (v.s);
    dt_graph_free (v.simple);
    dt_graph_free (v.work);
    dt_graph_free (v.residual);
    dt_graph_free (v.pins);
    dt_free (v.simple_map);
    dt_free (v.residual_map);
    dt_free (v.subst);
    dt_free (v.barred);
    dt_free (v.chosen);
    return r;
}
