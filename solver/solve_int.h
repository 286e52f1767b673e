/* solver/solve_int.h - a solve while it runs, and what the files of solve share.
 * Uses: selir/, solver/cut.h, solver/solve.h.  Used by: solve*.c. */
#ifndef DT_SOLVER_SOLVE_INT_H
#define DT_SOLVER_SOLVE_INT_H

#include "selir/range.h"
#include "solver/cut.h"
#include "solver/solve.h"

struct dt_solver {
    const struct dt_graph *g;       /* specialised */
    const struct dt_solve_options *options;
    struct dt_solution *s;
    struct dt_graph *simple;        /* g simplified, nothing pinned */
    struct dt_graph *work;          /* g with the pins' rows        */
    struct dt_graph *residual;
    struct dt_graph *pins;          /* g returning the pins' values */
    uint32_t *simple_map;           /* [g->n_nodes] into simple     */
    uint32_t *residual_map;         /* [g->n_nodes] into residual   */
    const uint32_t *map;            /* into the graph to cut: one of these two      */
    uint32_t *subst;                /* [g->n_nodes] pin, or DT_NODE_NONE            */
    uint8_t *barred;                /* [g->n_nodes] has too many candidates to pin  */
    uint32_t *chosen;               /* [s->n_pins] in g: the pin's first value with a
                                       name, else its first */
    size_t room_chosen;
    struct dt_err *err;
};

/* A graph as dt_cut_solve takes it, and what it answers. */
struct dt_rows {
    struct dt_cut_graph cg;
    uint32_t *row, *head;
    uint8_t *infinite, *source, *sink, *cut, *own, *original, *barred;
    uint32_t *path;
    uint32_t n_path, size;
};

/* solve_points.c: what the selection points are. */
int dt_solver_describe_points (struct dt_solver *v);

/* solve_cut.c: cut graph `a`, to which v->map leads, and add its pins. */
int dt_solver_cut (struct dt_solver *v, const struct dt_graph *a);

/* solve_pins.c: text of a place, in the solution; describe the pin of each vertex of
 * a cut and put all its originals to it. */
const char *dt_solver_place (struct dt_solver *v, uint32_t span);
int dt_solver_add_pins (struct dt_solver *v, const struct dt_graph *a, const struct dt_rows *w);

/* solve_candidates.c: make v->pins anew, and find the candidates of pins from `first`
 * on.  1 if pin *ret_pin has too many. */
int dt_solver_candidates (struct dt_solver *v, size_t first, size_t *ret_pin);

/* solve_faults.c: make safe in v->work what raises only while a pin's value is computed. */
int dt_solver_drop_faults (struct dt_solver *v);
/* Ask each assume of v->work only where nothing was raised on the way to it.  That adds
 * values: *ret_subst is v->subst for all of them (dt_free). */
int dt_solver_narrow_assumes (struct dt_solver *v, uint32_t **ret_subst);

/* solve_raises.c: -DT_EILLEGAL, with the place of the first error on the first input of
 * a program that raises on all of them. */
int dt_solver_raises (struct dt_solver *v);

/* solve_emit.c: the blobs. */
int dt_solver_emit (struct dt_solver *v);

#endif
