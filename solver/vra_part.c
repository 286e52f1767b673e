/* solver/vra_part.c - the part of the residual graph that one duty needs, and that
 * part at points. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "solver/explain.h"
#include "solver/reach.h"
#include "solver/vra_int.h"

int dt_vra_worker_init (struct dt_vra_worker *w, const struct dt_vra *v)
{
    *w = (struct dt_vra_worker){ .v = v };
    w->mask = dt_calloc (v->g->n_nodes, 1);
    w->map = dt_calloc (v->g->n_nodes, sizeof *w->map);
    if (w->mask && w->map)
        return 0;
    dt_vra_worker_done (w);
    return -ENOMEM;
}

void dt_vra_worker_done (struct dt_vra_worker *w)
{
    dt_batch_free (w->batch);
    dt_free (w->box);
    dt_free (w->mask);
    dt_free (w->map);
}

struct dt_vra_part *dt_vra_part_free (struct dt_vra_part *p)
{
    if (p) {
        dt_graph_free (p->g);
        dt_free (p->limit);
        dt_free (p->dim);
        dt_free (p);
    }
    return NULL;
}

static uint32_t mapped (const struct dt_vra_worker *w, uint32_t node)
{
    return node == DT_NODE_NONE ? DT_NODE_NONE : w->map[node];
}

static uint64_t inputs_in_mask (const struct dt_vra_worker *w)
{
    const struct dt_graph *g = w->v->g;
    uint64_t set = 0;
    uint32_t i;

    for (i = 0; i < g->n_inputs; i++)
        if (g->input[i].node != DT_NODE_NONE && w->mask[g->input[i].node])
            set |= UINT64_C (1) << i;
    return set;
}

static void mark_limit (struct dt_vra_worker *w, size_t i)
{
    dt_reach_root (w->mask, w->v->limit[i].cond->value);
    dt_reach_root (w->mask, w->v->limit[i].cond->guard);
}

enum { BARRED = 2 }; /* a limit that is not taken, whatever it shares */

/* An assume that raises excludes nothing where it does: bar the limits that compute
 * what is raised.  (Most are not even asked there: solve_faults.c.) */
static int bar_limits (const struct dt_vra *v, const struct dt_vra_duty *d, uint8_t *taken)
{
    const struct dt_graph *g = v->g;
    uint8_t *mask;
    size_t i;

    if (!d || d->cond || v->n_limits == 0)
        return 0;
    if (!(mask = dt_calloc (g->n_nodes, 1)))
        return -ENOMEM;
    mask[d->node] = 1;
    dt_reach_users (g, mask);
    for (i = 0; i < v->n_limits; i++) {
        const struct dt_cond *c = v->limit[i].cond;

        if (mask[c->value] || (c->guard != DT_NODE_NONE && mask[c->guard]))
            taken[i] = BARRED;
    }
    dt_free (mask);
    return 0;
}

/* Limits that share an input with the set, directly or through others; adds their
 * inputs to *set and marks what they need. */
static void close_limits (struct dt_vra_worker *w, uint64_t *set, uint8_t *taken)
{
    const struct dt_vra *v = w->v;
    size_t i;
    int more = 1;

    while (more)
        for (more = 0, i = 0; i < v->n_limits; i++)
            if (!taken[i] && (v->limit[i].inputs & *set)) {
                taken[i] = 1;
                more = 1;
                *set |= v->limit[i].inputs;
                mark_limit (w, i);
            }
    dt_reach_cone (v->g, w->mask);
}

static void add_axes (const struct dt_vra_worker *w, struct dt_vra_part *p, uint64_t set)
{
    const struct dt_graph *g = w->v->g;
    uint32_t i;

    for (i = 0; i < g->n_inputs; i++)
        if (set >> i & 1) {
            p->input[p->n_axes] = i;
            p->axis[p->n_axes++] = (struct dt_axis){ w->map[g->input[i].node],
                                                     g->input[i].domain };
        }
}

static int add_dims (const struct dt_vra_worker *w, struct dt_vra_part *p)
{
    const struct dt_vra *v = w->v;
    size_t i;

    if (!(p->dim = dt_calloc (v->n_digits, sizeof *p->dim)))
        return -ENOMEM;
    for (i = 0; i < v->n_digits; i++)
        if (v->digit[i].node != DT_NODE_NONE && w->map[v->digit[i].node] != DT_NODE_NONE) {
            p->dim[p->n_dims].node = w->map[v->digit[i].node];
            p->dim[p->n_dims++].digit = &v->digit[i];
        }
    p->n_combinations = 1;
    for (i = p->n_dims; i-- > 0;) {
        p->dim[i].stride = p->n_combinations;
        p->n_combinations *= p->dim[i].digit->n; /* divides n_assignments */
    }
    return 0;
}

/* Mark what the duty reads, or all limits. */
static void mark_duty (struct dt_vra_worker *w, const struct dt_vra_duty *d, uint8_t *taken)
{
    size_t i;

    memset (w->mask, 0, w->v->g->n_nodes);
    if (d) {
        dt_reach_root (w->mask, d->cond ? d->cond->value : d->node);
        dt_reach_root (w->mask, d->cond ? d->cond->guard : w->v->g->node[d->node].guard);
    } else
        for (i = 0; i < w->v->n_limits; i++) {
            taken[i] = 1;
            mark_limit (w, i);
        }
    dt_reach_cone (w->v->g, w->mask);
}

static void add_limits (const struct dt_vra_worker *w, struct dt_vra_part *p,
                        const uint8_t *taken)
{
    size_t i;

    for (i = 0; i < w->v->n_limits; i++)
        if (taken[i] == 1) {
            p->limit[p->n_limits].value = w->map[w->v->limit[i].cond->value];
            p->limit[p->n_limits++].guard = mapped (w, w->v->limit[i].cond->guard);
        }
}

int dt_vra_part_new (struct dt_vra_worker *w, const struct dt_vra_duty *d,
                     struct dt_vra_part **ret)
{
    struct dt_vra_part *p = dt_calloc (1, sizeof *p);
    uint8_t *taken = dt_calloc (w->v->n_limits, 1);
    uint64_t read, all;
    int r = -ENOMEM;

    if (!p || !taken || !(p->limit = dt_calloc (w->v->n_limits, sizeof *p->limit)))
        goto fail;
    if (bar_limits (w->v, d, taken) < 0)
        goto fail;
    mark_duty (w, d, taken);
    read = all = inputs_in_mask (w);
    close_limits (w, &all, taken);
    if ((r = dt_reach_extract (w->v->g, w->mask, w->map, &p->g, NULL)) < 0)
        goto fail;
    p->node = d && !d->cond ? w->map[d->node] : DT_NODE_NONE;
    p->value = d && d->cond ? w->map[d->cond->value] : DT_NODE_NONE;
    p->guard = d ? mapped (w, d->cond ? d->cond->guard : w->v->g->node[d->node].guard)
                 : DT_NODE_NONE;
    add_limits (w, p, taken);
    add_axes (w, p, read);
    p->n_read = p->n_axes;
    add_axes (w, p, all & ~read);
    if ((r = add_dims (w, p)) < 0)
        goto fail;
    *ret = p;
    p = NULL;
fail:
    dt_vra_part_free (p);
    dt_free (taken);
    return r;
}

int dt_vra_take (struct dt_vra_worker *w, const struct dt_vra_part *p)
{
    uint32_t i;
    int r;

    if (w->part == p)
        return 0;
    w->part = NULL;
    w->batch = dt_batch_free (w->batch);
    dt_free (w->box);
    if (!(w->box = dt_calloc (p->g->n_nodes, sizeof *w->box)))
        return -ENOMEM;
    for (i = 0; i < p->g->n_nodes; i++)
        w->box[i] = (struct dt_range){ 1, 0, 0, NULL }; /* lo > hi: not narrowed */
    if ((r = dt_batch_new (p->g, &w->batch, NULL)) < 0)
        return r;
    w->part = p;
    return 0;
}

void dt_vra_bind (struct dt_vra_worker *w, uint64_t c)
{
    const struct dt_vra_part *p = w->part;
    size_t i;

    for (i = 0; i < p->n_dims; i++)
        dt_batch_fix (w->batch, p->dim[i].node,
                      p->dim[i].digit->value[c / p->dim[i].stride % p->dim[i].digit->n]);
}

int dt_vra_outside (const struct dt_vra_worker *w, size_t i)
{
    const struct dt_vra_part *p = w->part;
    size_t k;

    for (k = 0; k < p->n_limits; k++)
        if (!dt_batch_column (w->batch, p->limit[k].value)[i]
            && (p->limit[k].guard == DT_NODE_NONE
                || dt_batch_column (w->batch, p->limit[k].guard)[i]))
            return 1;
    return 0;
}

int dt_vra_breaks (const struct dt_vra_worker *w, size_t i)
{
    const struct dt_vra_part *p = w->part;

    if (p->guard != DT_NODE_NONE && !dt_batch_column (w->batch, p->guard)[i])
        return 0;
    if (p->value != DT_NODE_NONE ? dt_batch_column (w->batch, p->value)[i] != 0
                                 : dt_batch_faults (w->batch, p->node)[i] == 0)
        return 0;
    return !dt_vra_outside (w, i);
}

void dt_vra_points (struct dt_vra_worker *w, int sample, uint64_t at, size_t n)
{
    const struct dt_vra_part *p = w->part;

    if (sample)
        dt_points_sample (w->batch, p->axis, p->n_axes, at, n);
    else
        dt_points_product (w->batch, p->axis, p->n_axes, at, n);
    dt_batch_run (w->batch, n);
}

char *dt_vra_explain (const struct dt_vra_worker *w, const struct dt_vra_duty *d, size_t i)
{
    const struct dt_vra_part *p = w->part;
    struct dt_buf b = { 0 };
    char *ret;
    size_t k;

    for (k = 0; k < p->n_read; k++) {
        const struct dt_node *n = &p->g->node[p->axis[k].node];

        dt_buf_printf (&b, "%s%s=", k ? ", " : "", p->g->input[n->imm].name);
        dt_explain_value (p->g, n->type, dt_batch_column (w->batch, p->axis[k].node)[i], &b);
    }
    dt_buf_printf (&b, "%s%s (", p->n_read ? ": " : "",
                   d->cond ? d->cond->message
                           : dt_fault_name (dt_batch_faults (w->batch, p->node)[i]));
    dt_explain_place (w->v->g, d->cond ? d->cond->span : w->v->g->node[d->node].span, &b);
    dt_buf_printf (&b, ")");
    ret = b.failed ? NULL : dt_strndup ((const char *)b.data, b.len);
    dt_buf_done (&b);
    return ret;
}
