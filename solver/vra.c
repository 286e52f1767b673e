/* solver/vra.c - pin value range analysis: which assignments are legal. */
#include "solver/vra.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "selir/range.h"
#include "solver/batch.h"
#include "solver/explain.h"
#include "solver/reach.h"

/* Digit d of an assignment: a pin, or a knob that is live. */
struct digit {
    uint32_t node; /* in the residual graph, DT_NODE_NONE if it is not read */
    const int64_t *value;
    uint64_t n;
};

/* An assume that depends on inputs alone: it narrows the domain. */
struct limit {
    const struct dt_cond *cond;
    uint64_t inputs; /* bit set */
};

/* What may stop a run, to be judged. */
struct duty {
    const struct dt_cond *cond; /* NULL: a fault */
    uint32_t node;              /* of the fault, in the residual graph */
    uint64_t seq;
};

/* The part of the residual graph that one duty needs. */
struct part {
    struct dt_graph *g;
    struct dt_batch *batch;
    uint32_t node, value, guard; /* of the duty, in g */
    struct dt_axis axis[DT_VRA_MAX_INPUTS];
    size_t n_read, n_axes; /* first those that the duty reads, then the limits' */
    struct {
        uint32_t value, guard;
    } *limit;
    size_t n_limits;
    struct {
        uint32_t node;
        size_t digit;
        uint64_t stride; /* in combinations */
    } *dim;
    size_t n_dims;
    uint64_t n_combinations;
};

struct vra {
    const struct dt_graph *g;
    struct dt_solution *s;
    struct digit *digit;
    size_t n_digits;
    struct limit *limit;
    size_t n_limits;
    struct duty *duty;
    size_t n_duties;
    uint64_t effort_left;
    uint8_t *mask;  /* scratch [n_nodes] */
    uint32_t *map;  /* scratch [n_nodes] */
    struct dt_err *err;
};

/* --- preparing ---------------------------------------------------------------- */

/* The cone of up to three roots, in v->mask. */
static void cone (struct vra *v, uint32_t a, uint32_t b, uint32_t c)
{
    memset (v->mask, 0, v->g->n_nodes);
    dt_reach_root (v->mask, a);
    dt_reach_root (v->mask, b);
    dt_reach_root (v->mask, c);
    dt_reach_cone (v->g, v->mask);
}

static uint64_t inputs_in_mask (const struct vra *v)
{
    uint64_t set = 0;
    uint32_t i;

    for (i = 0; i < v->g->n_inputs; i++)
        if (v->g->input[i].node != DT_NODE_NONE && v->mask[v->g->input[i].node])
            set |= UINT64_C (1) << i;
    return set;
}

static int digits_in_mask (const struct vra *v)
{
    size_t i;

    for (i = 0; i < v->n_digits; i++)
        if (v->digit[i].node != DT_NODE_NONE && v->mask[v->digit[i].node])
            return 1;
    return 0;
}

static int by_order (const void *a, const void *b)
{
    const struct duty *x = a, *y = b;

    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void collect_digits (struct vra *v)
{
    const struct dt_solution *s = v->s;
    size_t i;

    for (i = 0; i < s->n_pins; i++)
        v->digit[v->n_digits++] = (struct digit){ v->g->pin[i].node, s->pin[i].candidate,
                                                  s->pin[i].n_candidates };
    for (i = 0; i < s->n_knobs; i++)
        if (s->knob[i].live)
            v->digit[v->n_digits++] = (struct digit){ v->g->knob[i].node, s->knob[i].value,
                                                      s->knob[i].n_values };
}

/* Conditions and faults: limits of the domain, and duties in program order. */
static void collect_duties (struct vra *v)
{
    uint32_t i;

    for (i = 0; i < v->g->n_conds; i++) {
        const struct dt_cond *c = &v->g->cond[i];

        cone (v, c->value, c->guard, DT_NODE_NONE);
        if (c->kind == DT_COND_ASSUME && !digits_in_mask (v))
            v->limit[v->n_limits++] = (struct limit){ c, inputs_in_mask (v) };
        else
            v->duty[v->n_duties++] = (struct duty){ c, DT_NODE_NONE, c->seq };
    }
    for (i = 0; i < v->g->n_nodes; i++)
        if (dt_node_faults (&v->g->node[i]))
            v->duty[v->n_duties++] = (struct duty){ NULL, i, v->g->node[i].seq };
    qsort (v->duty, v->n_duties, sizeof *v->duty, by_order);
}

static void vra_done (struct vra *v)
{
    dt_free (v->digit);
    dt_free (v->limit);
    dt_free (v->duty);
    dt_free (v->mask);
    dt_free (v->map);
}

static int vra_init (struct vra *v, const struct dt_graph *g, struct dt_solution *s,
                     struct dt_err *err)
{
    *v = (struct vra){ .g = g, .s = s, .effort_left = DT_VRA_MAX_EFFORT, .err = err };
    v->digit = dt_calloc (s->n_pins + s->n_knobs, sizeof *v->digit);
    v->limit = dt_calloc (g->n_conds, sizeof *v->limit);
    v->duty = dt_calloc ((size_t)g->n_conds + g->n_nodes, sizeof *v->duty);
    v->mask = dt_calloc (g->n_nodes, 1);
    v->map = dt_calloc (g->n_nodes, sizeof *v->map);
    if (!v->digit || !v->limit || !v->duty || !v->mask || !v->map) {
        vra_done (v);
        return dt_err_nomem (err);
    }
    collect_digits (v);
    collect_duties (v);
    return 0;
}

/* --- the part of one duty ------------------------------------------------------ */

static void part_done (struct part *p)
{
    dt_batch_free (p->batch);
    dt_graph_free (p->g);
    dt_free (p->limit);
    dt_free (p->dim);
}

static uint32_t mapped (const struct vra *v, uint32_t node)
{
    return node == DT_NODE_NONE ? DT_NODE_NONE : v->map[node];
}

/* Limits that share an input with the set, directly or through others; adds their
 * inputs to *set and marks what they need. */
static void close_limits (struct vra *v, uint64_t *set, uint8_t *taken)
{
    size_t i;
    int more = 1;

    while (more)
        for (more = 0, i = 0; i < v->n_limits; i++)
            if (!taken[i] && (v->limit[i].inputs & *set)) {
                taken[i] = 1;
                more = 1;
                *set |= v->limit[i].inputs;
                dt_reach_root (v->mask, v->limit[i].cond->value);
                dt_reach_root (v->mask, v->limit[i].cond->guard);
            }
    dt_reach_cone (v->g, v->mask);
}

static void add_axes (const struct vra *v, struct part *p, uint64_t set)
{
    uint32_t i;

    for (i = 0; i < v->g->n_inputs; i++)
        if (set >> i & 1)
            p->axis[p->n_axes++] = (struct dt_axis){ v->map[v->g->input[i].node],
                                                     v->g->input[i].domain };
}

static int add_dims (struct vra *v, struct part *p)
{
    size_t i;

    if (!(p->dim = dt_calloc (v->n_digits, sizeof *p->dim)))
        return -ENOMEM;
    for (i = 0; i < v->n_digits; i++)
        if (v->digit[i].node != DT_NODE_NONE && v->map[v->digit[i].node] != DT_NODE_NONE) {
            p->dim[p->n_dims].node = v->map[v->digit[i].node];
            p->dim[p->n_dims++].digit = i;
        }
    p->n_combinations = 1;
    for (i = p->n_dims; i-- > 0;) {
        p->dim[i].stride = p->n_combinations;
        p->n_combinations *= v->digit[p->dim[i].digit].n; /* divides n_assignments */
    }
    return 0;
}

static int part_init (struct vra *v, const struct duty *d, struct part *p)
{
    uint32_t value = d->cond ? d->cond->value : DT_NODE_NONE;
    uint32_t guard = d->cond ? d->cond->guard : v->g->node[d->node].guard;
    uint64_t read, all;
    uint8_t *taken = dt_calloc (v->n_limits, 1);
    size_t i;
    int r = -ENOMEM;

    memset (p, 0, sizeof *p);
    p->limit = dt_calloc (v->n_limits, sizeof *p->limit);
    if (!taken || !p->limit)
        goto fail;
    cone (v, value, guard, d->node);
    read = all = inputs_in_mask (v);
    close_limits (v, &all, taken);
    if ((r = dt_reach_extract (v->g, v->mask, v->map, &p->g, NULL)) < 0
        || (r = dt_batch_new (p->g, &p->batch, NULL)) < 0)
        goto fail;
    p->value = mapped (v, value);
    p->guard = mapped (v, guard);
    p->node = mapped (v, d->node);
    for (i = 0; i < v->n_limits; i++)
        if (taken[i]) {
            p->limit[p->n_limits].value = v->map[v->limit[i].cond->value];
            p->limit[p->n_limits++].guard = mapped (v, v->limit[i].cond->guard);
        }
    add_axes (v, p, read);
    p->n_read = p->n_axes;
    add_axes (v, p, all & ~read);
    r = add_dims (v, p);
fail:
    dt_free (taken);
    if (r < 0)
        part_done (p);
    return r;
}

/* --- at points ------------------------------------------------------------------ */

/* Whether the duty stops the run at point i of the batch, inside the domain. */
static int breaks (const struct part *p, size_t i)
{
    size_t k;

    if (p->guard != DT_NODE_NONE && !dt_batch_column (p->batch, p->guard)[i])
        return 0;
    if (p->value != DT_NODE_NONE ? dt_batch_column (p->batch, p->value)[i] != 0
                                 : dt_batch_faults (p->batch, p->node)[i] == 0)
        return 0;
    for (k = 0; k < p->n_limits; k++)
        if (!dt_batch_column (p->batch, p->limit[k].value)[i]
            && (p->limit[k].guard == DT_NODE_NONE
                || dt_batch_column (p->batch, p->limit[k].guard)[i]))
            return 0;
    return 1;
}

/* 1 if a point breaks the duty: its values are in the columns at *ret_at. */
static int search (struct part *p, int sample, uint64_t count, size_t *ret_at)
{
    uint64_t at;
    size_t i, n;

    for (at = 0; at < count; at += n) {
        n = count - at < DT_BATCH_POINTS ? (size_t)(count - at) : DT_BATCH_POINTS;
        if (sample)
            dt_points_sample (p->batch, p->axis, p->n_axes, at, n);
        else
            dt_points_product (p->batch, p->axis, p->n_axes, at, n);
        dt_batch_run (p->batch, n);
        for (i = 0; i < n; i++)
            if (breaks (p, i)) {
                *ret_at = i;
                return 1;
            }
    }
    return 0;
}

/* --- by ranges ------------------------------------------------------------------ */

enum outcome { UNKNOWN, HOLDS, BREAKS };

static int always (const struct dt_ranges *r, uint32_t node, int64_t v)
{
    struct dt_range x = dt_ranges_get (r, node);

    return x.lo == v && x.hi == v;
}

static enum outcome by_ranges (const struct part *p, const struct dt_ranges *r)
{
    size_t k;

    if (p->guard != DT_NODE_NONE && always (r, p->guard, 0))
        return HOLDS;
    if (p->value != DT_NODE_NONE ? always (r, p->value, 1) : dt_ranges_safe (r, p->node))
        return HOLDS;
    for (k = 0; k < p->n_limits; k++)
        if (always (r, p->limit[k].value, 0)
            && (p->limit[k].guard == DT_NODE_NONE || always (r, p->limit[k].guard, 1)))
            return HOLDS; /* outside the domain */
    if (p->guard != DT_NODE_NONE && !always (r, p->guard, 1))
        return UNKNOWN;
    return p->value == DT_NODE_NONE || always (r, p->value, 0) ? BREAKS : UNKNOWN;
}

/* A box: the first and last member of each axis's domain. */
struct side {
    uint64_t first, last;
};

/* Narrow the leaf of an axis to its side of a box. */
static struct dt_range narrowed (const struct dt_axis *a, struct side s)
{
    struct dt_range r = { dt_domain_at (&a->domain, s.first), dt_domain_at (&a->domain, s.last),
                          0, NULL };

    if (a->domain.value && s.last - s.first < DT_RANGE_SET) {
        r.n = (uint32_t)(s.last - s.first + 1);
        r.set = a->domain.value + s.first;
    }
    return r;
}

/* Split a box in two on its widest side; 0 if it is a single point. */
static int split (const struct side *box, size_t n, struct side *low, struct side *high)
{
    size_t i, wide = 0;
    uint64_t middle;

    for (i = 1; i < n; i++)
        if (box[i].last - box[i].first > box[wide].last - box[wide].first)
            wide = i;
    if (n == 0 || box[wide].first == box[wide].last)
        return 0;
    middle = box[wide].first + (box[wide].last - box[wide].first) / 2;
    memmove (low, box, n * sizeof *box);
    memmove (high, box, n * sizeof *box);
    low[wide].last = middle;
    high[wide].first = middle + 1;
    return 1;
}

/* Compute the point at a box's lowest corner, in column 0. */
static int corner_breaks (struct part *p, const struct side *box)
{
    size_t i;

    for (i = 0; i < p->n_read; i++)
        dt_batch_column (p->batch, p->axis[i].node)[0] =
            dt_domain_at (&p->axis[i].domain, box[i].first);
    dt_batch_run (p->batch, 1);
    return breaks (p, 0);
}

struct prover {
    struct dt_range *box;  /* [n_nodes] for dt_ranges_new */
    struct side *stack;    /* [n_boxes * n_read] */
    size_t n_boxes, room;
};

/* Room for `n` more sides. */
static int reserve (struct prover *q, size_t used, size_t n)
{
    while (used + n > q->room) {
        size_t room = q->room ? 2 * q->room : 64;
        struct side *s = dt_realloc (q->stack, room, sizeof *s);

        if (!s)
            return -ENOMEM;
        q->stack = s;
        q->room = room;
    }
    return 0;
}

/* Judge the topmost box: UNKNOWN also where it must be split. */
static int judge_box (struct part *p, struct prover *q, const struct side *box,
                      enum outcome *ret)
{
    struct dt_ranges *ranges;
    size_t i;
    int r;

    for (i = 0; i < p->n_read; i++)
        q->box[p->axis[i].node] = narrowed (&p->axis[i], box[i]);
    if ((r = dt_ranges_new (p->g, q->box, &ranges, NULL)) < 0)
        return r;
    *ret = by_ranges (p, ranges);
    dt_ranges_free (ranges);
    return 0;
}

/* Split the domain until every box is decided, or the boxes run out.  BREAKS: the
 * point is in column 0. */
static int prove (struct part *p, struct prover *q, size_t max_boxes, enum outcome *ret)
{
    size_t i, n = p->n_read, boxes;
    int r;

    if ((r = reserve (q, 0, n + 1)) < 0)
        return r;
    *ret = UNKNOWN;
    for (i = 0; i < n; i++)
        q->stack[i] = (struct side){ 0, dt_domain_size (&p->axis[i].domain) - 1 };
    q->n_boxes = 1;
    for (boxes = 0; q->n_boxes > 0 && boxes < max_boxes; boxes++) {
        struct side *box;
        enum outcome o;
        int point;

        if ((r = reserve (q, q->n_boxes * n, n)) < 0)
            return r;
        box = q->stack + --q->n_boxes * n;
        if ((r = judge_box (p, q, box, &o)) < 0)
            return r;
        if (o == HOLDS)
            continue;
        for (point = 1, i = 0; i < n; i++)
            point &= box[i].first == box[i].last;
        if (p->n_axes > n && (point || o == BREAKS))
            return 0; /* whether the point is in the domain depends on other inputs */
        if ((point || o == BREAKS) && corner_breaks (p, box)) {
            *ret = BREAKS;
            return 0;
        }
        if (point)
            continue;
        split (box, n, box + n, box); /* the lower half is on top: taken first */
        q->n_boxes += 2;
    }
    if (q->n_boxes == 0)
        *ret = HOLDS;
    return 0;
}

/* --- judging -------------------------------------------------------------------- */

struct ruling {
    uint8_t verdict;
    const char *why;
};

/* "kv_length=16385: a split kernel takes at most 64 splits (f.py:88:5)" */
static int explain (struct vra *v, const struct duty *d, struct part *p, size_t at,
                    const char **ret)
{
    struct dt_buf b = { 0 };
    uint32_t span = d->cond ? d->cond->span : v->g->node[d->node].span;
    size_t i;

    for (i = 0; i < p->n_read; i++) {
        const struct dt_node *n = &p->g->node[p->axis[i].node];

        dt_buf_printf (&b, "%s%s=", i ? ", " : "", p->g->input[n->imm].name);
        dt_explain_value (p->g, n->type, dt_batch_column (p->batch, p->axis[i].node)[at], &b);
    }
    dt_buf_printf (&b, "%s%s (", p->n_read ? ": " : "",
                   d->cond ? d->cond->message
                           : dt_fault_name (dt_batch_faults (p->batch, p->node)[at]));
    dt_explain_place (v->g, span, &b);
    dt_buf_printf (&b, ")");
    *ret = b.failed ? NULL : dt_arena_strn (&v->s->arena, (const char *)b.data, b.len);
    dt_buf_done (&b);
    return *ret ? 0 : -ENOMEM;
}

/* One combination of pins and knobs: already in the columns and in q->box. */
static int judge (struct vra *v, const struct duty *d, struct part *p, struct prover *q,
                  struct ruling *ret)
{
    uint64_t count = dt_points_count (p->axis, p->n_axes);
    int all = count <= DT_VRA_MAX_POINTS && count <= v->effort_left, found, r;
    enum outcome o;
    size_t at = 0;

    if ((r = prove (p, q, all ? 256 : DT_VRA_MAX_BOXES, &o)) < 0)
        return r;
    if (o == HOLDS) {
        *ret = (struct ruling){ DT_PROVED, NULL };
        return 0;
    }
    if (o == UNKNOWN) {
        v->effort_left -= all ? count : 0;
        found = search (p, !all, all ? count : dt_points_sampled (p->n_axes), &at);
        if (!found) {
            *ret = (struct ruling){ all ? DT_EXHAUSTED : DT_SAMPLED, NULL };
            return 0;
        }
    }
    ret->verdict = DT_ILLEGAL;
    return explain (v, d, p, at, &ret->why);
}

/* 1 if ranges prove the duty for all candidates at once. */
static int holds_for_all (const struct vra *v, struct part *p, struct prover *q)
{
    struct dt_ranges *ranges;
    enum outcome o;
    size_t i;

    for (i = 0; i < p->n_dims; i++) {
        const struct digit *d = &v->digit[p->dim[i].digit];
        struct dt_range *box = &q->box[p->dim[i].node];
        uint64_t k;

        if (d->n == 0)
            return 1; /* no assignment */
        *box = (struct dt_range){ d->value[0], d->value[0], 0, NULL };
        for (k = 1; k < d->n; k++) {
            box->lo = d->value[k] < box->lo ? d->value[k] : box->lo;
            box->hi = d->value[k] > box->hi ? d->value[k] : box->hi;
        }
    }
    if (dt_ranges_new (p->g, q->box, &ranges, NULL) < 0)
        return 0; /* judged one by one, which will say what is wrong */
    o = by_ranges (p, ranges);
    dt_ranges_free (ranges);
    return o == HOLDS;
}

/* Set pins and knobs to combination c. */
static void bind (const struct vra *v, struct part *p, struct prover *q, uint64_t c)
{
    size_t i;

    for (i = 0; i < p->n_dims; i++) {
        const struct digit *d = &v->digit[p->dim[i].digit];
        int64_t value = d->value[c / p->dim[i].stride % d->n];

        dt_batch_fix (p->batch, p->dim[i].node, value);
        q->box[p->dim[i].node] = (struct dt_range){ value, value, 0, NULL };
    }
}

/* The combination of a part's pins and knobs in assignment a. */
static uint64_t combination (const struct vra *v, const struct part *p, const uint64_t *stride,
                             size_t a)
{
    uint64_t c = 0;
    size_t i;

    for (i = 0; i < p->n_dims; i++)
        c += a / stride[p->dim[i].digit] % v->digit[p->dim[i].digit].n * p->dim[i].stride;
    return c;
}

/* Fold one ruling into an assignment: the first that is illegal stays, else the
 * weakest evidence. */
static void fold (struct dt_solution *s, size_t a, const struct ruling *r)
{
    if (s->verdict[a] == DT_ILLEGAL)
        return;
    if (r->verdict == DT_ILLEGAL) {
        s->verdict[a] = DT_ILLEGAL;
        s->why[a] = r->why;
    } else if (r->verdict > s->verdict[a])
        s->verdict[a] = r->verdict;
}

static int judge_part (struct vra *v, const struct duty *d, struct part *p,
                       const uint64_t *stride)
{
    struct prover q = { .box = dt_calloc (p->g->n_nodes, sizeof *q.box) };
    struct ruling *ruling = dt_calloc (p->n_combinations, sizeof *ruling);
    uint64_t c;
    uint32_t i;
    size_t a;
    int r = -ENOMEM, all_proved = 1;

    if (!q.box || !ruling)
        goto fail;
    for (i = 0; i < p->g->n_nodes; i++)
        q.box[i] = (struct dt_range){ 1, 0, 0, NULL }; /* lo > hi: not narrowed */
    r = 0;
    if (p->n_combinations > 1 && holds_for_all (v, p, &q))
        goto fail;
    for (c = 0; c < p->n_combinations; c++) {
        bind (v, p, &q, c);
        if ((r = judge (v, d, p, &q, &ruling[c])) < 0)
            goto fail;
        all_proved &= ruling[c].verdict == DT_PROVED;
    }
    for (a = 0; !all_proved && a < v->s->n_assignments; a++)
        fold (v->s, a, &ruling[combination (v, p, stride, a)]);
fail:
    dt_free (q.box);
    dt_free (q.stack);
    dt_free (ruling);
    return r;
}

/* --- what assumes exclude ------------------------------------------------------- */

/* Points outside the domain among `count`. */
static uint64_t count_outside (struct part *p, int sample, uint64_t count)
{
    uint64_t at, outside = 0;
    size_t i, k, n;

    for (at = 0; at < count; at += n) {
        n = count - at < DT_BATCH_POINTS ? (size_t)(count - at) : DT_BATCH_POINTS;
        if (sample)
            dt_points_sample (p->batch, p->axis, p->n_axes, at, n);
        else
            dt_points_product (p->batch, p->axis, p->n_axes, at, n);
        dt_batch_run (p->batch, n);
        for (i = 0; i < n; i++) {
            int out = 0;

            for (k = 0; k < p->n_limits && !out; k++)
                out = !dt_batch_column (p->batch, p->limit[k].value)[i]
                      && (p->limit[k].guard == DT_NODE_NONE
                          || dt_batch_column (p->batch, p->limit[k].guard)[i]);
            outside += (uint64_t)out;
        }
    }
    return outside;
}

/* A part of all limits and no duty. */
static int part_of_limits (struct vra *v, struct part *p)
{
    uint64_t set = 0;
    size_t i;
    int r;

    memset (p, 0, sizeof *p);
    if (!(p->limit = dt_calloc (v->n_limits, sizeof *p->limit)))
        return -ENOMEM;
    memset (v->mask, 0, v->g->n_nodes);
    for (i = 0; i < v->n_limits; i++) {
        dt_reach_root (v->mask, v->limit[i].cond->value);
        dt_reach_root (v->mask, v->limit[i].cond->guard);
        set |= v->limit[i].inputs;
    }
    dt_reach_cone (v->g, v->mask);
    if ((r = dt_reach_extract (v->g, v->mask, v->map, &p->g, NULL)) < 0
        || (r = dt_batch_new (p->g, &p->batch, NULL)) < 0) {
        part_done (p);
        return r;
    }
    for (i = 0; i < v->n_limits; i++) {
        p->limit[i].value = v->map[v->limit[i].cond->value];
        p->limit[i].guard = mapped (v, v->limit[i].cond->guard);
    }
    p->n_limits = v->n_limits;
    add_axes (v, p, set);
    return 0;
}

static int everything_excluded (struct vra *v)
{
    const struct dt_cond *c = v->limit[0].cond;
    struct dt_buf b = { 0 };
    int r;

    dt_explain_place (v->g, c->span, &b);
    r = dt_err_set (v->err, -DT_EILLEGAL, "%s: the program's assumptions leave no input: %s",
                    dt_buf_str (&b) ? dt_buf_str (&b) : "?", c->message);
    dt_buf_done (&b);
    return r;
}

static int judge_limits (struct vra *v)
{
    char *text = v->s->excluded;
    uint64_t count, outside;
    struct part p;
    int sample;

    if (v->n_limits == 0)
        return 0;
    if (part_of_limits (v, &p) < 0)
        return dt_err_nomem (v->err);
    count = dt_points_count (p.axis, p.n_axes);
    if ((sample = count > DT_VRA_MAX_POINTS))
        count = dt_points_sampled (p.n_axes);
    outside = count_outside (&p, sample, count);
    part_done (&p);
    if (outside == count && !sample)
        return everything_excluded (v);
    if (outside > 0)
        snprintf (text, sizeof v->s->excluded,
                  sample ? "assumptions exclude %" PRIu64 " of a sample of %" PRIu64 " inputs"
                         : "assumptions exclude %" PRIu64 " of %" PRIu64 " inputs",
                  outside, count);
    return 0;
}

int dt_vra_judge (const struct dt_graph *residual, struct dt_solution *s, struct dt_err *reterr)
{
    uint64_t *stride = NULL, n = 1;
    struct vra v;
    struct part p;
    size_t i;
    int r;

    if (residual->n_inputs > DT_VRA_MAX_INPUTS)
        return dt_err_set (reterr, -DT_ELIMIT, "the program has %u inputs, more than %d",
                           residual->n_inputs, DT_VRA_MAX_INPUTS);
    if ((r = vra_init (&v, residual, s, reterr)) < 0)
        return r;
    if (!(stride = dt_calloc (v.n_digits, sizeof *stride))) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    for (i = v.n_digits; i-- > 0; n *= v.digit[i].n)
        stride[i] = n;
    memset (s->verdict, DT_PROVED, s->n_assignments);
    if ((r = judge_limits (&v)) < 0)
        goto fail;
    for (i = 0; i < v.n_duties; i++) {
        if ((r = part_init (&v, &v.duty[i], &p)) < 0
            || (r = judge_part (&v, &v.duty[i], &p, stride), part_done (&p), r) < 0) {
            r = dt_err_nomem (reterr);
            goto fail;
        }
    }
    r = 0;
fail:
    dt_free (stride);
    vra_done (&v);
    return r;
}
