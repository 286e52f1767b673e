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

/* Whether the limit's own expression raises at point i, where it excludes nothing: the
 * error is judged as a duty. */
static int raises (const struct dt_vra_worker *w, const uint8_t *cone, size_t i)
{
    const struct dt_graph *g = w->part->g;

    for (uint32_t k = 0; k < g->n_nodes; k++) {
        uint32_t guard = g->node[k].guard;

        if (cone[k] && dt_node_faults (&g->node[k]) && dt_batch_faults (w->batch, k)[i]
            && (guard == DT_NODE_NONE || dt_batch_column (w->batch, guard)[i]))
            return 1;
    }
    return 0;
}

static int excludes (const struct dt_vra_worker *w, size_t limit, const uint8_t *cone, size_t i)
{
    const struct dt_vra_part *p = w->part;
    uint32_t guard = p->limit[limit].guard;

    return !dt_batch_column (w->batch, p->limit[limit].value)[i]
           && (guard == DT_NODE_NONE || dt_batch_column (w->batch, guard)[i])
           && !raises (w, cone, i);
}

/* 1: every point is excluded by a limit that does not raise there. */
static int nothing_left (struct dt_vra_worker *w, uint64_t count)
{
    const struct dt_vra_part *p = w->part;
    uint8_t *cone = dt_calloc (p->n_limits, p->g->n_nodes);
    uint64_t at, outside = 0;
    size_t i, k, n;

    if (!cone)
        return -ENOMEM;
    for (k = 0; k < p->n_limits; k++) {
        dt_reach_root (cone + k * p->g->n_nodes, p->limit[k].value);
        dt_reach_root (cone + k * p->g->n_nodes, p->limit[k].guard);
        dt_reach_cone (p->g, cone + k * p->g->n_nodes);
    }
    for (at = 0; at < count && outside == at; at += n) {
        n = count - at < DT_BATCH_POINTS ? (size_t)(count - at) : DT_BATCH_POINTS;
        dt_vra_points (w, 0, at, n);
        for (i = 0; i < n; i++) {
            for (k = 0; k < p->n_limits && !excludes (w, k, cone + k * p->g->n_nodes, i); k++)
                ;
            outside += k < p->n_limits;
        }
    }
    dt_free (cone);
    return outside == count;
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
    if ((r = dt_vra_take (w, p)) == 0) {
        outside = count_outside (w, sample, count);
        r = outside == count && !sample ? nothing_left (w, count) : 0;
    }
    w->part = NULL; /* another part may get the same address */
    dt_vra_part_free (p);
    if (r < 0)
        return dt_err_nomem (reterr);
    if (r > 0)
        return everything_excluded (w->v, reterr);
    if (outside > 0)
        snprintf (s->excluded, sizeof s->excluded,
                  sample ? "assumptions exclude %" PRIu64 " of a sample of %" PRIu64 " inputs"
                         : "assumptions exclude %" PRIu64 " of %" PRIu64 " inputs",
                  outside, count);
    return 0;
}
