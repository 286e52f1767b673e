/* solver/solve_cut.c - which values to pin: the graph as a flow problem. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "solver/check.h"
#include "solver/explain.h"
#include "solver/reach.h"
#include "solver/solve_int.h"

#define MAX_PIN_RANGE (UINT64_C (1) << 20) /* values; more is never pinned */

static void rows_done (struct dt_rows *w)
{
    dt_free (w->row);
    dt_free (w->head);
    dt_free (w->infinite);
    dt_free (w->source);
    dt_free (w->sink);
    dt_free (w->cut);
    dt_free (w->own);
    dt_free (w->original);
    dt_free (w->barred);
    dt_free (w->path);
}

/* Arcs from operand to value. */
static void fill_arcs (const struct dt_graph *a, struct dt_rows *w)
{
    uint32_t i, args[3];
    int k;

    for (i = 0; i < a->n_nodes; i++)
        for (k = dt_node_args (&a->node[i], args); k-- > 0;)
            w->row[args[k] + 1]++;
    for (i = 0; i < a->n_nodes; i++)
        w->row[i + 1] += w->row[i];
    /* Filling moves row[i] to its end, which is the next one's start. */
    for (i = 0; i < a->n_nodes; i++)
        for (k = dt_node_args (&a->node[i], args); k-- > 0;)
            w->head[w->row[args[k]]++] = i;
    memmove (w->row + 1, w->row, a->n_nodes * sizeof *w->row);
    w->row[0] = 0;
}

/* Why a value may not be pinned; NULL if it may. */
static const char *unpinnable (const struct dt_graph *a, const struct dt_rows *w,
                               const struct dt_ranges *ranges, uint32_t i)
{
    const struct dt_node *n = &a->node[i];
    struct dt_range x;
    uint64_t size;

    if (n->op == DT_OP_INPUT && a->input[n->imm].klass == DT_INPUT_UNPINNABLE)
        return "is an Unpinnable input";
    if (n->type == DT_TYPE_FLOAT)
        return "is a float";
    if (w->own[i])
        return "depends on an Own input";
    if (!w->original[i])
        return "equals no value of the program";
    if (w->barred[i])
        return "has more than 2^16 candidates";
    x = dt_ranges_get (ranges, i);
    size = (uint64_t)x.hi - (uint64_t)x.lo;
    if (n->op == DT_OP_INPUT)
        size = dt_domain_size (&a->input[n->imm].domain) - 1;
    else if (x.n > 0)
        size = x.n - 1;
    return size >= MAX_PIN_RANGE ? "takes more than 2^20 values" : NULL;
}

static int rows_init (const struct dt_solver *v, const struct dt_graph *a,
                      const struct dt_ranges *ranges, struct dt_rows *w)
{
    uint32_t i, n = a->n_nodes;

    memset (w, 0, sizeof *w);
    w->row = dt_calloc ((size_t)n + 1, sizeof *w->row);
    w->head = dt_calloc (3 * (size_t)n, sizeof *w->head);
    w->infinite = dt_calloc (n, 1);
    w->source = dt_calloc (n, 1);
    w->sink = dt_calloc (n, 1);
    w->cut = dt_calloc (n, 1);
    w->original = dt_calloc (n, 1);
    w->barred = dt_calloc (n, 1);
    w->own = dt_reach_class (a, DT_REACH_OWN);
    w->path = dt_calloc (n, sizeof *w->path);
    if (!w->row || !w->head || !w->infinite || !w->source || !w->sink || !w->cut || !w->original
        || !w->barred || !w->own || !w->path) {
        rows_done (w);
        return dt_err_nomem (v->err);
    }
    fill_arcs (a, w);
    for (i = 0; i < v->g->n_nodes; i++) {
        if (v->g->node[i].copy)
            continue;
        dt_reach_root (w->original, v->map[i]);
        if (v->barred[i])
            dt_reach_root (w->barred, v->map[i]);
    }
    for (i = 0; i < n; i++)
        w->infinite[i] = unpinnable (a, w, ranges, i) != NULL;
    for (i = 0; i < a->n_inputs; i++)
        if (a->input[i].klass != DT_INPUT_OWN)
            dt_reach_root (w->source, a->input[i].node);
    for (i = 0; i < a->n_points; i++)
        if (!v->s->point[i].is_free)
            w->sink[a->point[i].node] = 1;
    w->cg = (struct dt_cut_graph){ n, w->row, w->head, w->infinite, w->source, w->sink };
    return 0;
}

/* The first binding point at a value of `a`. */
static const struct dt_point *point_at (const struct dt_solver *v, const struct dt_graph *a,
                                        uint32_t node)
{
    uint32_t i;

    for (i = 0; i < a->n_points; i++)
        if (!v->s->point[i].is_free && a->point[i].node == node)
            return &a->point[i];
    return NULL;
}

static int no_cut (const struct dt_solver *v, const struct dt_graph *a, const struct dt_rows *w,
                   const struct dt_ranges *ranges)
{
    uint32_t last = w->path[w->n_path - 1];
    const struct dt_point *p = point_at (v, a, last);
    struct dt_buf at = { 0 }, path = { 0 };
    int r;

    dt_explain_place (v->g, p->span, &at);
    dt_explain_path (a, w->path, w->n_path, p->field, &path);
    r = dt_err_set (v->err, -DT_EUNCUT,
                    "%s: selection point %s cannot be made invariant: no value on the path %s "
                    "may be pinned; the last %s",
                    dt_buf_str (&at) ? dt_buf_str (&at) : "?", p->field,
                    dt_buf_str (&path) ? dt_buf_str (&path) : "?",
                    unpinnable (a, w, ranges, last));
    dt_buf_done (&at);
    dt_buf_done (&path);
    return r;
}

/* Cut graph `a`, to which v->map leads, and add its pins. */
int dt_solver_cut (struct dt_solver *v, const struct dt_graph *a)
{
    struct dt_ranges *ranges = NULL;
    struct dt_rows w;
    int r;

    if ((r = dt_ranges_new (a, NULL, &ranges, v->err)) < 0)
        return r;
    if ((r = rows_init (v, a, ranges, &w)) < 0) {
        dt_ranges_free (ranges);
        return r;
    }
    r = dt_cut_solve (&w.cg, w.cut, &w.size, w.path, &w.n_path, v->err);
    if (r == -DT_EUNCUT)
        r = no_cut (v, a, &w, ranges);
    if (r == 0 && (r = dt_check_cut (&w.cg, w.cut, v->err)) == 0)
        r = dt_solver_add_pins (v, a, &w);
    rows_done (&w);
    dt_ranges_free (ranges);
    return r;
}
