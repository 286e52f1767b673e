/* solver/vra.c - pin value range analysis: which assignments are legal. */
#include "solver/vra.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "solver/reach.h"
#include "solver/vra_int.h"

/* --- what there is to judge ------------------------------------------------------- */

static void collect_digits (struct dt_vra *v)
{
    const struct dt_solution *s = v->s;
    uint64_t n = 1;
    size_t i;

    for (i = 0; i < s->n_pins; i++)
        v->digit[v->n_digits++] = (struct dt_vra_digit){
            v->g->pin[i].node, (uint32_t)i, s->pin[i].candidate, s->pin[i].n_candidates, 0 };
    for (i = 0; i < s->n_knobs; i++)
        if (s->knob[i].live)
            v->digit[v->n_digits++] = (struct dt_vra_digit){
                v->g->knob[i].node, (uint32_t)(s->n_pins + i), s->knob[i].value,
                s->knob[i].n_values, 0 };
    for (i = v->n_digits; i-- > 0; n *= v->digit[i].n)
        v->digit[i].stride = n;
}

/* Inputs that a condition reads; *ret_digits: it reads a pin or a knob. */
static uint64_t read_by (const struct dt_vra *v, const struct dt_cond *c, uint8_t *mask,
                         int *ret_digits)
{
    uint64_t set = 0;
    size_t i;

    memset (mask, 0, v->g->n_nodes);
    dt_reach_root (mask, c->value);
    dt_reach_root (mask, c->guard);
    dt_reach_cone (v->g, mask);
    for (i = 0; i < v->g->n_inputs; i++)
        if (v->g->input[i].node != DT_NODE_NONE && mask[v->g->input[i].node])
            set |= UINT64_C (1) << i;
    *ret_digits = 0;
    for (i = 0; i < v->n_digits; i++)
        *ret_digits |= v->digit[i].node != DT_NODE_NONE && mask[v->digit[i].node];
    return set;
}

/* Program order; conditions and values of one place in the order of their rows. */
static int by_order (const void *a, const void *b)
{
    const struct dt_vra_duty *x = a, *y = b;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    if (x->cond != y->cond && x->cond && y->cond)
        return x->cond < y->cond ? -1 : 1; /* of one array */
    return (x->node > y->node) - (x->node < y->node);
}

/* Conditions and faults: limits of the domain, and duties in program order. */
static void collect_duties (struct dt_vra *v, uint8_t *mask)
{
    uint32_t i;
    int digits;

    for (i = 0; i < v->g->n_conds; i++) {
        const struct dt_cond *c = &v->g->cond[i];
        uint64_t inputs = read_by (v, c, mask, &digits);

        if (c->kind == DT_COND_ASSUME && !digits)
            v->limit[v->n_limits++] = (struct dt_vra_limit){ c, inputs };
        else
            v->duty[v->n_duties++] = (struct dt_vra_duty){ c, DT_NODE_NONE, c->seq };
    }
    for (i = 0; i < v->g->n_nodes; i++)
        if (dt_node_faults (&v->g->node[i]))
            v->duty[v->n_duties++] = (struct dt_vra_duty){ NULL, i, v->g->node[i].seq };
    qsort (v->duty, v->n_duties, sizeof *v->duty, by_order);
}

static void vra_done (struct dt_vra *v)
{
    dt_free (v->digit);
    dt_free (v->limit);
    dt_free (v->duty);
}

static int vra_init (struct dt_vra *v, const struct dt_graph *g, struct dt_solution *s)
{
    uint8_t *mask = dt_calloc (g->n_nodes, 1);

    *v = (struct dt_vra){ .g = g, .s = s };
    v->digit = dt_calloc (s->n_pins + s->n_knobs, sizeof *v->digit);
    v->limit = dt_calloc (g->n_conds, sizeof *v->limit);
    v->duty = dt_calloc ((size_t)g->n_conds + g->n_nodes, sizeof *v->duty);
    if (!mask || !v->digit || !v->limit || !v->duty) {
        dt_free (mask);
        vra_done (v);
        return -ENOMEM;
    }
    collect_digits (v);
    collect_duties (v, mask);
    dt_free (mask);
    return 0;
}

/* --- threads ---------------------------------------------------------------------- */

/* A combination whose points are tried. */
struct trial {
    struct dt_vra_job *job;
    uint64_t combination, count;
    int sample;
};

/* Items are done in any order by any thread, each writes its own results alone: so
 * how many threads there are changes nothing. */
struct crew {
    const struct dt_vra *v;
    struct dt_vra_job *job;
    struct trial *trial;
    size_t n_items, block; /* a thread takes `block` items at a time */
    int (*item) (struct crew *, struct dt_vra_worker *, size_t);
    atomic_size_t next;
    atomic_int r;
};

static void *work (void *arg)
{
    struct crew *c = arg;
    struct dt_vra_worker w;
    size_t i, end;
    int r = dt_vra_worker_init (&w, c->v), made = r == 0;

    while (r == 0 && c->r == 0
           && (i = atomic_fetch_add (&c->next, c->block)) < c->n_items) {
        end = c->n_items - i < c->block ? c->n_items : i + c->block;
        for (; r == 0 && i < end; i++)
            r = c->item (c, &w, i);
    }
    if (r < 0)
        c->r = r;
    if (made)
        dt_vra_worker_done (&w);
    return NULL;
}

/* A thread that cannot be started is done without. */
static int run_crew (struct crew *c, unsigned n_threads)
{
    pthread_t thread[DT_VRA_MAX_THREADS];
    unsigned i, n = 0;

    c->next = 0;
    for (i = 1; i < n_threads && i < DT_VRA_MAX_THREADS && i * c->block < c->n_items; i++)
        if (pthread_create (&thread[n], NULL, work, c) == 0)
            n++;
    work (c);
    while (n > 0)
        pthread_join (thread[--n], NULL);
    return c->r;
}

/* --- judging ---------------------------------------------------------------------- */

/* One duty by ranges.  Its part is kept only if points must be tried. */
static int prove_item (struct crew *c, struct dt_vra_worker *w, size_t i)
{
    struct dt_vra_job *job = &c->job[i];
    uint64_t k;
    int r, keep = 0;

    job->duty = &c->v->duty[i];
    if ((r = dt_vra_part_new (w, job->duty, &job->part)) < 0)
        return r;
    r = dt_vra_prove (w, job);
    for (k = 0; job->verdict && k < job->part->n_combinations; k++)
        keep |= job->verdict[k] != DT_PROVED;
    if (r == 0 && !keep)
        job->part = dt_vra_part_free (job->part);
    w->part = NULL; /* another part may get the same address */
    return r;
}

/* One combination by points. */
static int try_item (struct crew *c, struct dt_vra_worker *w, size_t i)
{
    struct trial *t = &c->trial[i];
    uint64_t at;
    size_t k, n;
    int r;

    if ((r = dt_vra_take (w, t->job->part)) < 0)
        return r;
    dt_vra_bind (w, t->combination);
    for (at = 0; at < t->count; at += n) {
        n = t->count - at < DT_BATCH_POINTS ? (size_t)(t->count - at) : DT_BATCH_POINTS;
        dt_vra_points (w, t->sample, at, n);
        for (k = 0; k < n; k++)
            if (dt_vra_breaks (w, k)) {
                t->job->verdict[t->combination] = DT_ILLEGAL;
                t->job->why[t->combination] = dt_vra_explain (w, t->job->duty, k);
                return t->job->why[t->combination] ? 0 : -ENOMEM;
            }
    }
    t->job->verdict[t->combination] = t->sample ? DT_SAMPLED : DT_EXHAUSTED;
    return 0;
}

/* What points must be tried of all jobs, all of them while the effort lasts. */
static int plan_trials (struct crew *c, size_t n_jobs)
{
    uint64_t effort = DT_VRA_MAX_EFFORT, k;
    size_t i, room = 0;

    for (i = 0; i < n_jobs; i++)
        for (k = 0; c->job[i].verdict && k < c->job[i].part->n_combinations; k++) {
            const struct dt_vra_part *p = c->job[i].part;
            struct trial t = { &c->job[i], k, dt_points_count (p->axis, p->n_axes), 0 };

            if (c->job[i].verdict[k] != DT_SAMPLED)
                continue;
            if (t.count > DT_VRA_MAX_POINTS || t.count > effort) {
                t.sample = 1;
                t.count = dt_points_sampled (p->n_axes);
            } else
                effort -= t.count;
            if (dt_grow ((void **)&c->trial, &room, c->n_items, sizeof *c->trial) < 0)
                return -ENOMEM;
            c->trial[c->n_items++] = t;
        }
    return 0;
}

/* The combination of a part's pins and knobs in assignment a. */
static uint64_t combination (const struct dt_vra_part *p, size_t a)
{
    uint64_t c = 0;
    size_t i;

    for (i = 0; i < p->n_dims; i++)
        c += a / p->dim[i].digit->stride % p->dim[i].digit->n * p->dim[i].stride;
    return c;
}

/* Fold one duty's verdicts into all assignments: the first that is illegal stays,
 * else the weakest evidence. */
static int fold (struct dt_solution *s, const struct dt_vra_job *job)
{
    const char **why = dt_calloc (job->part->n_combinations, sizeof *why);
    uint64_t c;
    size_t a;
    int r = -ENOMEM;

    if (!why)
        return r;
    for (c = 0; c < job->part->n_combinations; c++)
        if (job->why[c] && !(why[c] = dt_arena_strf (&s->arena, "%s", job->why[c])))
            goto fail;
    for (a = 0; a < s->n_assignments; a++) {
        c = combination (job->part, a);
        if (s->verdict[a] == DT_ILLEGAL || job->verdict[c] == DT_PROVED)
            continue;
        if (job->verdict[c] == DT_ILLEGAL || job->verdict[c] > s->verdict[a])
            s->verdict[a] = job->verdict[c];
        s->why[a] = why[c];
    }
    r = 0;
fail:
    dt_free (why);
    return r;
}

/* The certificate: all duties' trees. */
static int put_proof (const struct dt_vra *v, const struct dt_vra_job *job, struct dt_buf *ret)
{
    size_t i;

    dt_buf_varint (ret, v->n_duties);
    for (i = 0; i < v->n_duties; i++) {
        const struct dt_vra_duty *d = &v->duty[i];

        dt_buf_varint (ret, d->cond ? 2 * (uint64_t)(d->cond - v->g->cond)
                                    : 2 * (uint64_t)d->node + 1);
        dt_buf_put (ret, job[i].tree.data, job[i].tree.len);
    }
    return ret->failed ? -ENOMEM : 0;
}

static void jobs_free (struct dt_vra_job *job, size_t n)
{
    uint64_t c;
    size_t i;

    for (i = 0; job && i < n; i++) {
        for (c = 0; job[i].why && c < job[i].part->n_combinations; c++)
            dt_free (job[i].why[c]);
        dt_free (job[i].why);
        dt_free (job[i].verdict);
        dt_buf_done (&job[i].tree);
        dt_vra_part_free (job[i].part);
    }
    dt_free (job);
}

static int judge_duties (struct dt_vra *v, unsigned n_threads)
{
    struct crew c = { .v = v, .n_items = v->n_duties, .block = 1, .item = prove_item };
    size_t i;
    int r = -ENOMEM;

    if (!(c.job = dt_calloc (v->n_duties, sizeof *c.job)))
        return r;
    if ((r = run_crew (&c, n_threads)) < 0 || (r = put_proof (v, c.job, &v->s->proof)) < 0)
        goto fail;
    c.n_items = 0;
    if ((r = plan_trials (&c, v->n_duties)) < 0)
        goto fail;
    c.item = try_item;
    c.block = 4; /* neighbours share a part, and so a batch */
    if (c.n_items > 0 && (r = run_crew (&c, n_threads)) < 0)
        goto fail;
    for (i = 0; i < v->n_duties && r == 0; i++)
        if (c.job[i].verdict)
            r = fold (v->s, &c.job[i]);
fail:
    dt_free (c.trial);
    jobs_free (c.job, v->n_duties);
    return r;
}

int dt_vra_judge (const struct dt_graph *residual, struct dt_solution *s, unsigned n_threads,
                  struct dt_err *reterr)
{
    struct dt_vra_worker w;
    struct dt_vra v;
    int r;

    if (residual->n_inputs > DT_VRA_MAX_INPUTS)
        return dt_err_set (reterr, -DT_ELIMIT, "the program has %u inputs, more than %d",
                           residual->n_inputs, DT_VRA_MAX_INPUTS);
    if (vra_init (&v, residual, s) < 0)
        return dt_err_nomem (reterr);
    memset (s->verdict, DT_PROVED, s->n_assignments);
    if (dt_vra_worker_init (&w, &v) < 0) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    r = dt_vra_judge_limits (&w, reterr);
    dt_vra_worker_done (&w);
    if (r == 0 && judge_duties (&v, n_threads) < 0)
        r = dt_err_nomem (reterr);
fail:
    vra_done (&v);
    return r;
}
