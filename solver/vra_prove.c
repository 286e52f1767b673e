/* solver/vra_prove.c - judge a duty by ranges, splitting pins, knobs and inputs until
 * each box is decided, and write down how (proof.h). */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "solver/proof.h"
#include "solver/vra_int.h"

/* What ranges say of a box: MAYBE where it is worth computing a point. */
enum outcome { UNKNOWN, HOLDS, MAYBE };

/* A box has one side an axis: first pins and knobs, then inputs. */
struct side {
    uint64_t first, last; /* members */
};

struct prover {
    struct dt_vra_worker *w;
    const struct dt_vra_part *p;
    struct dt_vra_job *job;
    size_t n_sides;
    struct side *stack; /* [room] */
    size_t n_boxes, room;
    uint64_t boxes_left;
};

static int always (const struct dt_ranges *r, uint32_t node, int64_t v)
{
    struct dt_range x = dt_ranges_get (r, node);

    return x.lo == v && x.hi == v;
}

static enum outcome by_ranges (const struct dt_vra_part *p, const struct dt_ranges *r)
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
    return p->value == DT_NODE_NONE || always (r, p->value, 0) ? MAYBE : UNKNOWN;
}

static int64_t member (const struct dt_vra_part *p, size_t i, uint64_t at)
{
    return i < p->n_dims ? p->dim[i].digit->value[at]
                         : dt_domain_at (&p->axis[i - p->n_dims].domain, at);
}

static uint32_t node_of (const struct dt_vra_part *p, size_t i)
{
    return i < p->n_dims ? p->dim[i].node : p->axis[i - p->n_dims].node;
}

/* The values of members, NULL if they are not listed. */
static const int64_t *listed (const struct dt_vra_part *p, size_t i)
{
    return i < p->n_dims ? p->dim[i].digit->value : p->axis[i - p->n_dims].domain.value;
}

static struct dt_range range_of (const struct dt_vra_part *p, size_t i, struct side s)
{
    int64_t v = member (p, i, s.first);
    struct dt_range r = { v, v, 0, NULL };
    uint64_t k;

    if (i < p->n_dims) /* a knob's values are in no order */
        for (k = s.first + 1; k <= s.last; k++) {
            v = member (p, i, k);
            r.lo = v < r.lo ? v : r.lo;
            r.hi = v > r.hi ? v : r.hi;
        }
    else
        r.hi = member (p, i, s.last);
    if (listed (p, i) && s.last - s.first < DT_RANGE_SET) {
        r.n = (uint32_t)(s.last - s.first + 1);
        r.set = listed (p, i) + s.first;
    }
    return r;
}

static int judge_box (struct prover *q, const struct side *box, enum outcome *ret)
{
    struct dt_ranges *ranges;
    size_t i;
    int r;

    for (i = 0; i < q->n_sides; i++)
        q->w->box[node_of (q->p, i)] = range_of (q->p, i, box[i]);
    if ((r = dt_ranges_new (q->p->g, q->w->box, &ranges, NULL)) < 0)
        return r;
    *ret = by_ranges (q->p, ranges);
    dt_ranges_free (ranges);
    return 0;
}

/* The widest of sides from..to; `to` if all are single members. */
static size_t widest (const struct side *box, size_t from, size_t to)
{
    uint64_t most = 0;
    size_t i, ret = to;

    for (i = from; i < to; i++)
        if (box[i].last - box[i].first > most) {
            most = box[i].last - box[i].first;
            ret = i;
        }
    return ret;
}

/* Take the topmost box. */
static void pop (struct prover *q, struct side *box)
{
    q->n_boxes--;
    if (q->n_sides > 0)
        memcpy (box, q->stack + q->n_boxes * q->n_sides, q->n_sides * sizeof *box);
}

static int push (struct prover *q, const struct side *box)
{
    size_t need = (q->n_boxes + 1) * q->n_sides;

    if (need > q->room) {
        struct side *s = dt_realloc (q->stack, 2 * need, sizeof *s);

        if (!s)
            return -ENOMEM;
        q->stack = s;
        q->room = 2 * need;
    }
    if (q->n_sides > 0)
        memcpy (q->stack + q->n_boxes * q->n_sides, box, q->n_sides * sizeof *box);
    q->n_boxes++;
    return 0;
}

/* Replace a box by its halves along side k: the lower one is taken first. */
static int split (struct prover *q, struct side *box, size_t k)
{
    const struct dt_vra_part *p = q->p;
    uint64_t at = (box[k].last - box[k].first) / 2, first = box[k].first;
    size_t inputs = q->w->v->s->n_pins + q->w->v->s->n_knobs;
    int r;

    dt_buf_u8 (&q->job->tree, DT_PROOF_SPLIT);
    dt_buf_varint (&q->job->tree, k < p->n_dims ? p->dim[k].digit->axis
                                                : inputs + p->input[k - p->n_dims]);
    dt_buf_varint (&q->job->tree, at);
    box[k].first = first + at + 1;
    if ((r = push (q, box)) < 0)
        return r;
    box[k].last = first + at;
    box[k].first = first;
    return push (q, box);
}

/* Compute the point at a box's lowest corner, as point 0. */
static int corner_breaks (struct prover *q, const struct side *box)
{
    const struct dt_vra_part *p = q->p;
    size_t i;

    for (i = 0; i < p->n_axes; i++)
        dt_batch_column (q->w->batch, p->axis[i].node)[0] =
            dt_domain_at (&p->axis[i].domain, box[p->n_dims + i].first);
    dt_batch_run (q->w->batch, 1);
    return dt_vra_breaks (q->w, 0);
}

/* Split the inputs of one combination until every box is decided or the boxes run
 * out.  *ret is DT_PROVED, DT_ILLEGAL (the point is point 0) or DT_SAMPLED. */
static int prove_combination (struct prover *q, struct side *box, uint64_t max, uint8_t *ret)
{
    const struct dt_vra_part *p = q->p;
    size_t base = q->n_boxes, all = p->n_dims + p->n_axes, k;
    enum outcome o;
    int r;

    if ((r = push (q, box)) < 0)
        return r;
    *ret = DT_PROVED;
    while (q->n_boxes > base && *ret == DT_PROVED) {
        pop (q, box);
        if (max-- == 0) {
            *ret = DT_SAMPLED;
            break;
        }
        if ((r = judge_box (q, box, &o)) < 0)
            return r;
        if (o == HOLDS) {
            dt_buf_u8 (&q->job->tree, DT_PROOF_HOLDS);
            continue;
        }
        if ((k = widest (box, p->n_dims, p->n_dims + p->n_read)) == p->n_dims + p->n_read)
            k = widest (box, p->n_dims + p->n_read, all);
        if ((o == MAYBE || k == all) && corner_breaks (q, box))
            *ret = DT_ILLEGAL;
        else if (k == all)
            *ret = DT_SAMPLED; /* it holds at this point, but ranges cannot tell */
        else if ((r = split (q, box, k)) < 0)
            return r;
    }
    q->n_boxes = base;
    return 0;
}

static uint64_t combination (const struct dt_vra_part *p, const struct side *box)
{
    uint64_t c = 0;
    size_t i;

    for (i = 0; i < p->n_dims; i++)
        c += box[i].first * p->dim[i].stride;
    return c;
}

/* Not all are proved: from now on there are verdicts. */
static int want_verdicts (struct dt_vra_job *job)
{
    if (job->verdict)
        return 0;
    job->verdict = dt_calloc (job->part->n_combinations, 1);
    job->why = dt_calloc (job->part->n_combinations, sizeof *job->why);
    if (!job->verdict || !job->why)
        return -ENOMEM;
    memset (job->verdict, DT_PROVED, job->part->n_combinations);
    return 0;
}

static int judge_combination (struct prover *q, struct side *box)
{
    uint64_t c = combination (q->p, box), count = dt_points_count (q->p->axis, q->p->n_axes);
    uint64_t max = count <= DT_VRA_MAX_BOXES    ? DT_VRA_TINY_BOXES
                   : count <= DT_VRA_MAX_POINTS ? DT_VRA_FEW_BOXES
                                                : DT_VRA_MAX_BOXES;
    size_t start = q->job->tree.len;
    uint8_t verdict;
    int r;

    max = max < q->boxes_left ? max : q->boxes_left;
    max = max > DT_VRA_TINY_BOXES ? max : DT_VRA_TINY_BOXES;
    dt_vra_bind (q->w, c);
    if ((r = prove_combination (q, box, max, &verdict)) < 0)
        return r;
    if (verdict == DT_PROVED)
        return 0;
    q->boxes_left -= max < q->boxes_left ? max : q->boxes_left;
    if (q->job->tree.failed || (r = want_verdicts (q->job)) < 0)
        return -ENOMEM;
    q->job->tree.len = start;
    dt_buf_u8 (&q->job->tree, DT_PROOF_OPEN);
    q->job->verdict[c] = verdict;
    if (verdict == DT_ILLEGAL && !(q->job->why[c] = dt_vra_explain (q->w, q->job->duty, 0)))
        return -ENOMEM;
    return 0;
}

/* First all combinations at once, then halves of them, then each by itself. */
static int prove (struct prover *q, struct side *box)
{
    const struct dt_vra_part *p = q->p;
    enum outcome o;
    size_t i, k;
    int r;

    for (i = 0; i < q->n_sides; i++)
        box[i] = (struct side){ 0, (i < p->n_dims ? p->dim[i].digit->n
                                   : dt_domain_size (&p->axis[i - p->n_dims].domain)) - 1 };
    if ((r = push (q, box)) < 0)
        return r;
    while (q->n_boxes > 0) {
        pop (q, box);
        if ((k = widest (box, 0, p->n_dims)) == p->n_dims) {
            if ((r = judge_combination (q, box)) < 0)
                return r;
            continue;
        }
        if ((r = judge_box (q, box, &o)) < 0)
            return r;
        if (o == HOLDS)
            dt_buf_u8 (&q->job->tree, DT_PROOF_HOLDS);
        else if ((r = split (q, box, k)) < 0)
            return r;
    }
    return q->job->tree.failed ? -ENOMEM : 0;
}

int dt_vra_prove (struct dt_vra_worker *w, struct dt_vra_job *job)
{
    struct prover q = { .w = w, .p = job->part, .job = job, .boxes_left = DT_VRA_DUTY_BOXES };
    struct side *box;
    int r;

    q.n_sides = q.p->n_dims + q.p->n_axes;
    if ((r = dt_vra_take (w, q.p)) < 0)
        return r;
    if (q.p->n_combinations == 0) { /* a pin without candidates: nothing to prove */
        dt_buf_u8 (&job->tree, DT_PROOF_HOLDS);
        return job->tree.failed ? -ENOMEM : 0;
    }
    if (!(box = dt_calloc (q.n_sides, sizeof *box)))
        return -ENOMEM;
    r = prove (&q, box);
    dt_free (box);
    dt_free (q.stack);
    return r;
}
