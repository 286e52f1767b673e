/* solver/solve_pins.c - what a pin is called and what it cuts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "solver/explain.h"
#include "solver/solve_int.h"

const char *dt_solver_place (struct dt_solver *v, uint32_t span)
{
    struct dt_buf b = { 0 };
    const char *ret;

    dt_explain_place (v->g, span, &b);
    ret = b.failed ? NULL : dt_arena_strn (&v->s->arena, (const char *)b.data, b.len);
    dt_buf_done (&b);
    return ret;
}

/* A name that no pin has: one that is taken gets "#2", "#3", ... */
static const char *unique (struct dt_solver *v, const char *name)
{
    const char *ret = dt_arena_strf (&v->s->arena, "%s", name);
    size_t i, k = 2;

    for (i = 0; ret && i < v->s->n_pins; i++)
        if (strcmp (v->s->pin[i].name, ret) == 0) {
            ret = dt_arena_strf (&v->s->arena, "%s#%zu", name, k++);
            i = (size_t)-1; /* from the start */
        }
    return ret;
}

/* The binding point that a value of `a` reaches first, and the path from a
 * batch-dependent input through it. */
static int describe_path (struct dt_solver *v, const struct dt_graph *a, const struct dt_rows *w,
                          uint32_t node, const struct dt_point **ret_point, const char **ret)
{
    uint8_t *from = dt_calloc (a->n_nodes, 1), *through = dt_calloc (a->n_nodes, 1);
    uint32_t *path = dt_calloc (2 * (size_t)a->n_nodes, sizeof *path), i;
    size_t n = 0, more = 0;
    struct dt_buf b = { 0 };
    int r = -ENOMEM;

    if (!from || !through || !path)
        goto fail;
    for (i = 0; i < a->n_nodes; i++)
        through[i] = !w->cut[i];
    if ((r = dt_explain_route (a, w->source, node, through, path, &n)) < 0)
        goto fail;
    from[node] = 1;
    for (i = 0; i < a->n_points && more == 0; i++) {
        if (v->s->point[i].is_free)
            continue;
        *ret_point = &a->point[i];
        if ((r = dt_explain_route (a, from, a->point[i].node, NULL, path + n - 1, &more)) < 0)
            goto fail;
    }
    r = -ENOMEM;
    dt_explain_path (a, path, n + more - 1, (*ret_point)->field, &b);
    if (b.failed || !(*ret = dt_arena_strn (&v->s->arena, (const char *)b.data, b.len)))
        goto fail;
    r = 0;
fail:
    dt_free (from);
    dt_free (through);
    dt_free (path);
    dt_buf_done (&b);
    return r;
}

/* Whether a value of the program is pinned with a value of the graph that is cut: those
 * that equal it are, but not what a condition computes for itself. */
static int pinned_with (const struct dt_solver *v, uint32_t original, uint32_t node)
{
    return v->map[original] == node && v->subst[original] == DT_NODE_NONE
           && !v->g->node[original].copy;
}

/* The program's value that names a pin: the first with a name, else the first. */
static uint32_t spokesman (const struct dt_solver *v, uint32_t node)
{
    uint32_t i, first = DT_NODE_NONE;

    for (i = 0; i < v->g->n_nodes; i++) {
        if (!pinned_with (v, i, node))
            continue;
        if (v->g->node[i].name)
            return i;
        if (first == DT_NODE_NONE)
            first = i;
    }
    return first;
}

static const char *pin_name (struct dt_solver *v, uint32_t original, const struct dt_point *p)
{
    const struct dt_node *n = &v->g->node[original];
    char text[256];

    if (n->name)
        return unique (v, n->name);
    if (n->op == DT_OP_INPUT)
        snprintf (text, sizeof text, "input.%s", v->g->input[n->imm].name);
    else
        snprintf (text, sizeof text, "point.%s", p->field);
    return unique (v, text);
}

static int add_pin (struct dt_solver *v, const struct dt_graph *a, const struct dt_rows *w,
                    uint32_t node)
{
    struct dt_solution_pin *p = &v->s->pin[v->s->n_pins];
    uint32_t i, original = spokesman (v, node);
    const struct dt_point *point = NULL;
    struct dt_buf b = { 0 };

    if (describe_path (v, a, w, node, &point, &p->path) < 0
        || !(p->name = pin_name (v, original, point))
        || !(p->where = dt_solver_place (v, v->g->node[original].span)))
        return dt_err_nomem (v->err);
    dt_explain_expression (a, node, &b);
    p->expression = b.failed ? NULL
                             : dt_arena_strn (&v->s->arena, (const char *)b.data, b.len);
    dt_buf_done (&b);
    p->node = original;
    p->type = v->g->node[original].type;
    if (!p->expression
        || dt_grow ((void **)&v->chosen, &v->room_chosen, v->s->n_pins, sizeof *v->chosen) < 0)
        return dt_err_nomem (v->err);
    v->chosen[v->s->n_pins] = original;
    for (i = 0; i < v->g->n_nodes; i++)
        if (pinned_with (v, i, node))
            v->subst[i] = (uint32_t)v->s->n_pins;
    v->s->n_pins++;
    return 0;
}

/* Room for `n` more pins in the solution. */
static int grow_pins (struct dt_solver *v, size_t n)
{
    struct dt_solution *s = v->s;
    struct dt_solution_pin *p = dt_arena_array (&s->arena, s->n_pins + n, sizeof *p);

    if (!p)
        return dt_err_nomem (v->err);
    if (s->n_pins)
        memcpy (p, s->pin, s->n_pins * sizeof *p);
    s->pin = p;
    return 0;
}

int dt_solver_add_pins (struct dt_solver *v, const struct dt_graph *a, const struct dt_rows *w)
{
    uint32_t i;
    int r;

    if ((r = grow_pins (v, w->size)) < 0)
        return r;
    for (i = 0; i < a->n_nodes; i++)
        if (w->cut[i] && (r = add_pin (v, a, w, i)) < 0)
            return r;
    return 0;
}
