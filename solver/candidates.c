/* solver/candidates.c - which values a value of a graph can take. */
#include "solver/candidates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "solver/batch.h"
#include "solver/reach.h"
#include "solver/solve.h"

/* An ascending set that grows by whole columns. */
struct set {
    int64_t *value, *spare;
    size_t n, room;
};

static int compare (const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Merge `fresh` (not in the set yet, may repeat) into the set. */
static int merge (struct set *s, int64_t *fresh, size_t n)
{
    size_t i, j, k = 0;

    if (n == 0)
        return 0;
    if (s->n + n > s->room) {
        size_t room = 2 * (s->n + n);
        int64_t *v = dt_realloc (s->value, room, sizeof *v);
        int64_t *w = v ? dt_realloc (s->spare, room, sizeof *w) : NULL;

        s->value = v ? v : s->value;
        s->spare = w ? w : s->spare;
        if (!v || !w)
            return -ENOMEM;
        s->room = room;
    }
    qsort (fresh, n, sizeof *fresh, compare);
    for (i = j = 0; i < s->n || j < n;) {
        if (j == n || (i < s->n && s->value[i] < fresh[j]))
            s->spare[k++] = s->value[i++];
        else if (k > 0 && s->spare[k - 1] == fresh[j])
            j++;
        else
            s->spare[k++] = fresh[j++];
    }
    int64_t *swap = s->value;
    s->value = s->spare;
    s->spare = swap;
    s->n = k;
    return 0;
}

/* Add the values of a column where nothing faults. */
static int add_column (struct set *s, const int64_t *v, const uint8_t *off, size_t n)
{
    int64_t fresh[DT_BATCH_POINTS];
    size_t i, k = 0;

    for (i = 0; i < n; i++)
        if (!off[i] && (i == 0 || off[i - 1] || v[i] != v[i - 1])
            && !(s->n > 0 && bsearch (&v[i], s->value, s->n, sizeof *v, compare)))
            fresh[k++] = v[i];
    return merge (s, fresh, k);
}

/* Points at which one of the graph's operations raises. */
static void mark_faults (const struct dt_graph *g, struct dt_batch *b, uint8_t *off, size_t n)
{
    uint32_t id;
    size_t i;

    memset (off, 0, DT_BATCH_POINTS);
    for (id = 0; id < g->n_nodes; id++) {
        const uint8_t *fault = dt_batch_faults (b, id);
        const int64_t *guard;

        if (!fault)
            continue;
        guard = g->node[id].guard == DT_NODE_NONE ? NULL : dt_batch_column (b, g->node[id].guard);
        for (i = 0; i < n; i++)
            off[i] |= fault[i] && (!guard || guard[i]);
    }
}

/* Inputs and knobs of a graph as axes; how many. */
static size_t axes (const struct dt_graph *g, struct dt_axis *axis)
{
    size_t n = 0;
    uint32_t i;

    for (i = 0; i < g->n_inputs; i++)
        if (g->input[i].node != DT_NODE_NONE)
            axis[n++] = (struct dt_axis){ g->input[i].node, g->input[i].domain };
    for (i = 0; i < g->n_knobs; i++)
        if (g->knob[i].node != DT_NODE_NONE)
            axis[n++] = (struct dt_axis){
                g->knob[i].node, { .value = g->knob[i].value, .n = g->knob[i].n_values }
            };
    return n;
}

static int enumerate (const struct dt_graph *g, uint32_t node, const struct dt_axis *axis,
                      size_t n_axes, struct set *s)
{
    uint64_t at, count = dt_points_count (axis, n_axes);
    uint8_t off[DT_BATCH_POINTS];
    struct dt_batch *b;
    int r;

    if ((r = dt_batch_new (g, &b, NULL)) < 0)
        return r;
    for (at = 0; at < count && s->n <= DT_SOLVE_MAX_CANDIDATES; at += DT_BATCH_POINTS) {
        size_t n = count - at < DT_BATCH_POINTS ? (size_t)(count - at) : DT_BATCH_POINTS;

        dt_points_product (b, axis, n_axes, at, n);
        dt_batch_run (b, n);
        mark_faults (g, b, off, n);
        if ((r = add_column (s, dt_batch_column (b, node), off, n)) < 0)
            break;
    }
    dt_batch_free (b);
    return r;
}

/* Add to the mask what is raised on the way to it; 1 if that is more. */
static int add_raises (const struct dt_graph *g, uint8_t *mask)
{
    uint32_t i;
    int more = 0;

    for (i = 0; i < g->n_raises; i++) {
        const struct dt_raise *x = &g->raise[i];

        if (x->value != DT_NODE_NONE && mask[x->value] && !mask[x->fail])
            more = mask[x->fail] = 1;
    }
    return more;
}

/* The part of g that computes `node`; with guards: what decides its faults too. */
static int part (const struct dt_graph *g, uint32_t node, int guards, uint32_t *map,
                 struct dt_graph **ret, int *ret_faults)
{
    uint8_t *mask = dt_calloc (g->n_nodes, 1);
    uint32_t i;
    int r;

    if (!mask)
        return -ENOMEM;
    *ret_faults = 0;
    mask[node] = 1;
    /* A guard precedes its value, so one descending pass meets all but what is raised
     * beside a value. */
    do
        for (i = g->n_nodes; i-- > 0;) {
            uint32_t args[3];
            int k;

            if (!mask[i])
                continue;
            for (k = dt_node_args (&g->node[i], args); k-- > 0;)
                mask[args[k]] = 1;
            *ret_faults |= dt_node_faults (&g->node[i]);
            if (guards)
                dt_reach_root (mask, g->node[i].guard);
        }
    while (add_raises (g, mask));
    r = dt_reach_extract (g, mask, map, ret, NULL);
    dt_free (mask);
    return r;
}

/* 1 if the set is complete, 0 if there are too many combinations. */
static int exact (const struct dt_graph *g, uint32_t node, struct set *s, uint8_t *ret_exact)
{
    uint32_t *map = dt_calloc (g->n_nodes, sizeof *map);
    struct dt_axis *axis = dt_calloc ((size_t)g->n_inputs + g->n_knobs, sizeof *axis);
    struct dt_graph *p;
    int r = -ENOMEM, faults, guards;

    if (!map || !axis)
        goto fail;
    for (guards = 1; guards >= 0; guards--) {
        size_t n_axes;

        if ((r = part (g, node, guards, map, &p, &faults)) < 0)
            goto fail;
        n_axes = axes (p, axis);
        if (dt_points_count (axis, n_axes) <= DT_CANDIDATES_MAX_POINTS) {
            *ret_exact = guards || !faults;
            r = enumerate (p, map[node], axis, n_axes, s);
            dt_graph_free (p);
            r = r < 0 ? r : 1;
            goto fail;
        }
        dt_graph_free (p);
    }
    r = 0;
fail:
    dt_free (map);
    dt_free (axis);
    return r;
}

/* The members of a range, within the limit. */
static int superset (struct dt_range range, struct set *s)
{
    uint64_t i, n = range.n ? range.n : (uint64_t)range.hi - (uint64_t)range.lo + 1;

    if (n == 0 || n > DT_SOLVE_MAX_CANDIDATES) {
        s->n = DT_SOLVE_MAX_CANDIDATES + 1;
        return 0;
    }
    if (!(s->value = dt_calloc (n, sizeof *s->value)))
        return -ENOMEM;
    for (i = 0; i < n; i++)
        s->value[i] = range.n ? range.set[i] : range.lo + (int64_t)i;
    s->n = n;
    return 0;
}

int dt_candidates (const struct dt_graph *g, uint32_t node, const struct dt_ranges *ranges,
                   const char *name, int64_t **ret, size_t *ret_n, uint8_t *ret_exact,
                   struct dt_err *reterr)
{
    struct set s = { 0 };
    uint8_t is_exact = 0;
    int r;

    if ((r = exact (g, node, &s, &is_exact)) == 0)
        r = superset (dt_ranges_get (ranges, node), &s);
    dt_free (s.spare);
    if (r < 0) {
        dt_free (s.value);
        return dt_err_nomem (reterr);
    }
    if (s.n > DT_SOLVE_MAX_CANDIDATES) {
        dt_free (s.value);
        return dt_err_set (reterr, -DT_ELIMIT, "pin %s has more than %u candidates", name,
                           DT_SOLVE_MAX_CANDIDATES);
    }
    *ret = s.value;
    *ret_n = s.n;
    *ret_exact = is_exact;
    return 0;
}
