/* solver/vra_limits.c - what assumes of inputs alone exclude from the domain. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "solver/explain.h"
#include "solver/reach.h"
#include "solver/vra_int.h"

static uint64_t count_outside (struct dt_vra_worker *w, int sample, uint64_t count)
{
    uint64_t at, outside = 0;
    size_t i, n;

    for (at = 0; at < count; at += n) {
        n = count - at < DT_BATCH_POINTS ? (size_t)(count - at) : DT_BATCH_POINTS;
        dt_vra_points (w, sample, at, n);
        for (i = 0; i < n; i++)
            outside += (uint64_t)dt_vra_outside (w, i);
    }
    return outside;
}

static int everything_excluded (const struct dt_vra *v, struct dt_err *reterr)
{
    const struct dt_cond *c = v->limit[0].cond;
    struct dt_buf b = { 0 };
    int r;

    dt_explain_place (v->g, c->span, &b);
    r = dt_err_set (reterr, -DT_EILLEGAL, "%s: the program's assumptions leave no input: %s",
                    dt_buf_str (&b) ? dt_buf_str (&b) : "?", c->message);
    dt_buf_done (&b);
    return r;
}

/* 1 if some limit computes what may raise: where it does, it excludes nothing, and the
 * error is judged as a duty. */
static int may_raise (const struct dt_vra *v)
{
    const struct dt_graph *g = v->g;
    uint8_t *mask = dt_calloc (g->n_nodes, 1);
    int found = 0;

    if (!mask)
        return -ENOMEM;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        mask[i] = (uint8_t)dt_node_faults (&g->node[i]);
    dt_reach_users (g, mask);
    for (size_t i = 0; i < v->n_limits; i++)
        found |= mask[v->limit[i].cond->value]
                 || (v->limit[i].cond->guard != DT_NODE_NONE && mask[v->limit[i].cond->guard]);
    dt_free (mask);
    return found;
}

int dt_vra_judge_limits (struct dt_vra_worker *w, struct dt_err *reterr)
{
    struct dt_solution *s = w->v->s;
    struct dt_vra_part *p;
    uint64_t count, outside = 0;
    int sample, r;

    if (w->v->n_limits == 0)
        return 0;
    if (dt_vra_part_new (w, NULL, &p) < 0)
        return dt_err_nomem (reterr);
    count = dt_points_count (p->axis, p->n_axes);
    if ((sample = count > DT_VRA_MAX_POINTS))
        count = dt_points_sampled (p->n_axes);
    if ((r = dt_vra_take (w, p)) == 0)
        outside = count_outside (w, sample, count);
    w->part = NULL; /* another part may get the same address */
    dt_vra_part_free (p);
    if (r < 0)
        return dt_err_nomem (reterr);
    if (outside == count && !sample) {
        if ((r = may_raise (w->v)) < 0)
            return dt_err_nomem (reterr);
        if (r == 0)
            return everything_excluded (w->v, reterr);
    }
    if (outside > 0)
        snprintf (s->excluded, sizeof s->excluded,
                  sample ? "assumptions exclude %" PRIu64 " of a sample of %" PRIu64 " inputs"
                         : "assumptions exclude %" PRIu64 " of %" PRIu64 " inputs",
                  outside, count);
    return 0;
}
