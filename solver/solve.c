/* solver/solve.c - from a specialised graph to pins, candidates and verdicts. */
#include "solver/solve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "selir/emit.h"
#include "selir/range.h"
#include "selir/simplify.h"
#include "solver/candidates.h"
#include "solver/cut.h"
#include "solver/explain.h"
#include "solver/reach.h"
#include "solver/solution.h"
#include "solver/suggest.h"
#include "solver/vra.h"

#define MAX_PIN_RANGE (UINT64_C (1) << 20) /* values; more is never pinned */
#define MAX_ROUNDS 64                      /* cuts of one solve; two are rare  */

/* A value that is pinned. */
struct chosen {
    uint32_t original; /* in the specialised graph: the first with a name, else the first */
};

struct solver {
    const struct dt_graph *g;       /* specialised */
    const struct dt_solve_options *options;
    struct dt_solution *s;
    struct dt_graph *simple;        /* g simplified, nothing pinned */
    struct dt_graph *work;          /* g with the pins' rows        */
    struct dt_graph *residual;
    uint32_t *map;                  /* [g->n_nodes] into simple, then into residual */
    uint32_t *subst;                /* [g->n_nodes] pin, or DT_NODE_NONE            */
    struct chosen *chosen;
    size_t n_chosen, room_chosen;
    struct dt_err *err;
};

/* --- selection points ----------------------------------------------------------- */

static int claimed (const struct dt_solve_options *o, const char *field)
{
    size_t i;

    for (i = 0; i < o->n_claims; i++)
        if (strcmp (o->claim[i], field) == 0)
            return 1;
    return 0;
}

static int check_claims (const struct solver *v)
{
    const char **field = dt_calloc (v->g->n_points, sizeof *field);
    size_t i, k;
    int r = 0;

    if (!field)
        return dt_err_nomem (v->err);
    for (k = 0; k < v->g->n_points; k++)
        field[k] = v->g->point[k].field;
    for (i = 0; i < v->options->n_claims && r == 0; i++) {
        const char *name = v->options->claim[i], *near;

        for (k = 0; k < v->g->n_points && strcmp (field[k], name) != 0; k++)
            ;
        if (k < v->g->n_points)
            continue;
        near = dt_suggest (name, field, v->g->n_points);
        r = dt_err_set (v->err, -DT_EINPUT, "claim: family %s has no field \"%s\"%s%s%s",
                        v->g->family ? v->g->family : "?", name,
                        near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    dt_free (field);
    return r;
}

/* Text of a place, in the solution. */
static const char *place (struct solver *v, uint32_t span)
{
    struct dt_buf b = { 0 };
    const char *ret;

    dt_explain_place (v->g, span, &b);
    ret = b.failed ? NULL : dt_arena_strn (&v->s->arena, (const char *)b.data, b.len);
    dt_buf_done (&b);
    return ret;
}

/* A field is free if the program or a claim says so; options take that back. */
static int describe_points (struct solver *v)
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
            || !(p->where = place (v, in->span)))
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

/* --- the cut ---------------------------------------------------------------------- */

/* A graph as dt_cut_solve takes it, and what it answers. */
struct rows {
    struct dt_cut_graph cg;
    uint32_t *row, *head;
    uint8_t *infinite, *source, *sink, *cut, *own, *original;
    uint32_t *path;
    uint32_t n_path, size;
};

static void rows_done (struct rows *w)
{
    dt_free (w->row);
    dt_free (w->head);
    dt_free (w->infinite);
    dt_free (w->source);
    dt_free (w->sink);
    dt_free (w->cut);
    dt_free (w->own);
    dt_free (w->original);
    dt_free (w->path);
}

/* Arcs from operand to value. */
static void fill_arcs (const struct dt_graph *a, struct rows *w)
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
static const char *unpinnable (const struct dt_graph *a, const struct rows *w,
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
    x = dt_ranges_get (ranges, i);
    size = (uint64_t)x.hi - (uint64_t)x.lo;
    if (n->op == DT_OP_INPUT)
        size = dt_domain_size (&a->input[n->imm].domain) - 1;
    else if (x.n > 0)
        size = x.n - 1;
    return size >= MAX_PIN_RANGE ? "takes more than 2^20 values" : NULL;
}

static int rows_init (const struct solver *v, const struct dt_graph *a,
                      const struct dt_ranges *ranges, struct rows *w)
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
    w->own = dt_reach_class (a, DT_REACH_OWN);
    w->path = dt_calloc (n, sizeof *w->path);
    if (!w->row || !w->head || !w->infinite || !w->source || !w->sink || !w->cut || !w->original
        || !w->own || !w->path) {
        rows_done (w);
        return dt_err_nomem (v->err);
    }
    fill_arcs (a, w);
    for (i = 0; i < v->g->n_nodes; i++)
        dt_reach_root (w->original, v->map[i]);
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
static const struct dt_point *point_at (const struct solver *v, const struct dt_graph *a,
                                        uint32_t node)
{
    uint32_t i;

    for (i = 0; i < a->n_points; i++)
        if (!v->s->point[i].is_free && a->point[i].node == node)
            return &a->point[i];
    return NULL;
}

static int no_cut (const struct solver *v, const struct dt_graph *a, const struct rows *w,
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

/* --- pins ----------------------------------------------------------------------- */

/* A name that no pin has: one that is taken gets "#2", "#3", ... */
static const char *unique (struct solver *v, const char *name)
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
static int describe_path (struct solver *v, const struct dt_graph *a, const struct rows *w,
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

/* The program's value that names a pin: the first with a name, else the first. */
static uint32_t spokesman (const struct solver *v, uint32_t node)
{
    uint32_t i, first = DT_NODE_NONE;

    for (i = 0; i < v->g->n_nodes; i++) {
        if (v->map[i] != node || v->subst[i] != DT_NODE_NONE)
            continue;
        if (v->g->node[i].name)
            return i;
        if (first == DT_NODE_NONE)
            first = i;
    }
    return first;
}

static const char *pin_name (struct solver *v, uint32_t original, const struct dt_point *p)
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

/* Describe the pin of one vertex of the cut and put all its originals to it. */
static int add_pin (struct solver *v, const struct dt_graph *a, const struct rows *w,
                    uint32_t node)
{
    struct dt_solution_pin *p = &v->s->pin[v->s->n_pins];
    uint32_t i, original = spokesman (v, node);
    const struct dt_point *point = NULL;
    struct dt_buf b = { 0 };

    if (describe_path (v, a, w, node, &point, &p->path) < 0
        || !(p->name = pin_name (v, original, point))
        || !(p->where = place (v, v->g->node[original].span)))
        return dt_err_nomem (v->err);
    dt_explain_expression (a, node, &b);
    p->expression = b.failed ? NULL
                             : dt_arena_strn (&v->s->arena, (const char *)b.data, b.len);
    dt_buf_done (&b);
    p->type = v->g->node[original].type;
    if (!p->expression
        || dt_grow ((void **)&v->chosen, &v->room_chosen, v->n_chosen, sizeof *v->chosen) < 0)
        return dt_err_nomem (v->err);
    v->chosen[v->n_chosen].original = original;
    for (i = 0; i < v->g->n_nodes; i++)
        if (v->map[i] == node && v->subst[i] == DT_NODE_NONE)
            v->subst[i] = (uint32_t)v->n_chosen;
    v->n_chosen++;
    v->s->n_pins++;
    return 0;
}

/* Room for `n` more pins in the solution. */
static int grow_pins (struct solver *v, size_t n)
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

/* Cut graph `a`, to which v->map leads, and add its pins; *ret_size of them. */
static int cut (struct solver *v, const struct dt_graph *a, uint32_t *ret_size)
{
    struct dt_ranges *ranges = NULL;
    struct rows w;
    uint32_t i;
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
    if (r < 0 || (r = grow_pins (v, w.size)) < 0)
        goto fail;
    for (i = 0; i < a->n_nodes; i++)
        if (w.cut[i] && (r = add_pin (v, a, &w, i)) < 0)
            goto fail;
    *ret_size = w.size;
fail:
    rows_done (&w);
    dt_ranges_free (ranges);
    return r;
}

/* --- the residual graph ------------------------------------------------------------ */

/* Simplify the specialised graph with the pinned values replaced by symbols. */
static int make_residual (struct solver *v)
{
    size_t i;
    int r;

    v->work = dt_graph_free (v->work);
    v->residual = dt_graph_free (v->residual);
    dt_free (v->map);
    v->map = NULL;
    if ((r = dt_reach_copy (v->g, &v->work, v->err)) < 0)
        return r;
    for (i = 0; i < v->s->n_pins; i++) {
        struct dt_pin pin = { .name = v->s->pin[i].name, .type = v->s->pin[i].type,
                              .node = DT_NODE_NONE,
                              .span = v->g->node[v->chosen[i].original].span };

        if (dt_graph_add_pin (v->work, &pin) < 0)
            return dt_err_nomem (v->err);
    }
    return dt_simplify (v->work, DT_PASS_ALL, v->subst, 0, &v->residual, &v->map, v->err);
}

/* Whether the batch still reaches a binding point. */
static int still_batch (const struct solver *v)
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
static int drop_unread (struct solver *v)
{
    uint32_t i, *moved = dt_calloc (v->s->n_pins, sizeof *moved);
    size_t k, kept = 0;

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
    v->s->n_pins = v->n_chosen = kept;
    dt_free (moved);
    return kept < k ? make_residual (v) : 0;
}

/* One cut is enough unless simplifying used a pinned value's own definition to
 * take the batch out of a point; what is left is then cut in turn. */
static int choose_pins (struct solver *v)
{
    const struct dt_graph *a = v->simple;
    uint32_t size;
    int r, round;

    for (round = 0; round < MAX_ROUNDS; round++) {
        if ((r = cut (v, a, &size)) < 0 || (r = make_residual (v)) < 0)
            return r;
        if ((r = still_batch (v)) < 0)
            return dt_err_nomem (v->err);
        if (r == 0)
            return drop_unread (v);
        a = v->residual;
    }
    return dt_err_set (v->err, -DT_ELIMIT, "more than %d rounds of cuts", MAX_ROUNDS);
}

/* --- candidates and blobs ------------------------------------------------------------ */

static int emit (struct solver *v, const struct dt_graph *g, const char *variant, int fields,
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
static int emit_default (struct solver *v, const struct dt_graph *g, const char *variant,
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

/* The program that returns the pins' values instead of its own. */
static int program_of_pins (struct solver *v, struct dt_graph **ret)
{
    struct dt_graph *g;
    uint32_t *map = NULL;
    size_t i;
    int r;

    if ((r = dt_reach_copy (v->g, &g, v->err)) < 0)
        return r;
    g->n_points = 0;
    for (i = 0; i < v->s->n_pins; i++) {
        struct dt_point p = { .field = v->s->pin[i].name, .type = v->s->pin[i].type,
                              .node = v->chosen[i].original,
                              .span = v->g->node[v->chosen[i].original].span };

        if (dt_graph_add_point (g, &p) < 0) {
            dt_graph_free (g);
            return dt_err_nomem (v->err);
        }
    }
    r = dt_simplify (g, DT_PASS_ALL, NULL, 1, ret, &map, v->err);
    dt_free (map);
    dt_graph_free (g);
    return r;
}

static int find_candidates (struct solver *v, const struct dt_graph *pins)
{
    struct dt_ranges *ranges;
    size_t i;
    int r;

    if ((r = dt_ranges_new (pins, NULL, &ranges, v->err)) < 0)
        return r;
    for (i = 0; i < v->s->n_pins && r == 0; i++) {
        struct dt_solution_pin *p = &v->s->pin[i];
        int64_t *value, *kept;

        r = dt_candidates (pins, pins->point[i].node, ranges, p->name, &value, &p->n_candidates,
                           &p->exact, v->err);
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
    return r;
}

/* --- all -------------------------------------------------------------------------- */

static int judge (struct solver *v)
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
        return dt_err_set (v->err, -DT_EILLEGAL, "a pin has no candidate: the program raises on "
                                                 "every input");
    return dt_err_set (v->err, -DT_EILLEGAL, "no assignment is legal; the first: %s", s->why[0]);
}

static int run (struct solver *v)
{
    struct dt_graph *pins = NULL;
    int r;

    if ((r = check_claims (v)) < 0
        || (r = dt_simplify (v->g, DT_PASS_ALL, NULL, 1, &v->simple, &v->map, v->err)) < 0
        || (r = describe_points (v)) < 0 || (r = choose_pins (v)) < 0
        || (r = program_of_pins (v, &pins)) < 0 || (r = find_candidates (v, pins)) < 0
        || (r = judge (v)) < 0
        || (r = emit_default (v, pins, "pins", 0, &v->s->pins)) < 0
        || (r = emit_default (v, v->simple, "stock", 1, &v->s->stock)) < 0)
        goto fail;
    v->s->n_specialised = v->g->n_nodes;
    v->s->n_simplified = v->simple->n_nodes;
    v->s->n_residual = v->s->residual->n_nodes;
fail:
    dt_graph_free (pins);
    return r;
}

int dt_solve (const struct dt_graph *g, const struct dt_solve_options *options,
              struct dt_solution **ret, struct dt_err *reterr)
{
    struct solver v = { .g = g, .options = options, .err = reterr };
    int r = -ENOMEM;

    v.s = dt_calloc (1, sizeof *v.s);
    v.subst = dt_calloc (g->n_nodes, sizeof *v.subst);
    if (!v.s || !v.subst
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
    dt_free (v.map);
    dt_free (v.subst);
    dt_free (v.chosen);
    return r;
}
