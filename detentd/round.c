/* detentd/round.c - a round of certification: which batches, and what they say. */
#include "detentd/round_parts.h"

#include <string.h>

#include "base/mem.h"
#include "detent/backend.h"

/* Requests of a batch: what lies beside the sizes at which kernels change course. */
static const uint32_t sizes[] = { 1, 2, 3, 5, 8, 9, 17, 18, 33, 64, 65, 66, 130 };
#define THRESHOLDS 8          /* of one quantity; more are chosen from evenly */
#define COMBINATIONS 8        /* of free values, of a batch of a size */
#define THRESHOLD_COMBINATIONS 4
#define CLEAR_COMBINATIONS 4
#define MOST_REST 256         /* batches for the combinations that are left */
#define POWER_REQUESTS 24
#define MOST_EXCHANGE 64

/* A batch of more than 3 requests is drawn to run for about this long, one of fewer
 * for 8 times as long: a round of 150 batches and 2,000 runs then takes a second or
 * two.  Beyond it only the batches are smaller. */
#define RUN_NS 400000.0
#define LONG_RUN 8.0
#define FIRST_WORK 1024.0 /* of the batches that say how long runs take */

/* By dt_schema_work, however slow a kernel or busy a machine is: else what a round sees
 * would depend on that.  An attention request sums over its own keys, so one must have
 * more than two splits of 512, and all more than a block of 32 (in pairs of a query and a
 * key); all others sum over what the site fixes. */
#define LEAST_WORK 64.0
#define LEAST_LONG (4 * 1100.0)
#define LEAST_EACH (8 * 33.0)

struct round {
    const struct dt_round *o;
    const struct dt_schema *schema;
    struct dt_probe *probe;
    struct dt_certificate *c;
    struct dt_err *difference;
    struct dt_arena scratch; /* of batches */
    double work; /* dt_schema_work of a run of RUN_NS */
    uint64_t done, planned; /* batches */
    int clear; /* outputs are fp32, and the site's are not */
};

static int tell (struct round *x, const char *what, struct dt_err *reterr)
{
    double fraction = x->planned ? (double)x->done / (double)x->planned : 0;

    if (x->o->progress && x->o->progress (x->o->ctx, fraction < 1 ? fraction : 1, what))
        return dt_err_set (reterr, -DT_ECANCELLED, "cancelled");
    return 0;
}

/* Rounding to bf16 hides most differences of order: the same sums in fp32 do not. */
static int has_hidden (const struct dt_round *o)
{
    for (size_t i = 0; i < o->n_facts; i++)
        if (strcmp (o->fact[i].name, "output_bf16") == 0)
            return o->fact[i].value == 1;
    return 0;
}

static int begin (struct round *x, struct dt_err *reterr)
{
    return dt_round_begin (x->o, x->c->binding, x->c->n_binding, x->clear, &x->scratch, reterr);
}

/* --- batches ------------------------------------------------------------------------------ */

/* Run a batch that must show nothing. */
static int run_batch (struct round *x, const struct dt_probe_batch *b, uint32_t data,
                      uint32_t combinations, struct dt_round_outcome *ret, struct dt_err *reterr)
{
    struct dt_certificate *c = x->c;
    Detent__WorkerReply *reply;
    int r;

    if ((r = dt_round_send (x->o, b, data, 0, combinations, ret, &reply, reterr)) < 0)
        return r;
    c->batches += ret->runs > 0;
    c->runs += ret->runs;
    c->rows += ret->rows;
    if (!x->clear) {
        c->tried = ret->tried;
        c->refused = ret->refused;
        c->of = ret->of;
    }
    if (ret->runs && b->n > c->requests)
        c->requests = b->n;
    if (ret->changed)
        dt_err_set (x->difference, 0, "%s%s", reply->certified->difference,
                    x->clear ? " (in fp32, before outputs are rounded)" : "");
    detent__worker_reply__free_unpacked (reply, NULL);
    x->done++;
    return tell (x, "comparing bits", reterr);
}

static double work_of (const struct round *x, const struct dt_probe_batch *b)
{
    struct dt_call call = { .n_requests = b->n, .request = b->request };

    return dt_schema_work (x->schema, &call);
}

static double least_for (const struct round *x, size_t requests)
{
    if (strcmp (x->schema->family, "attention") != 0)
        return LEAST_WORK;
    return (double)requests * LEAST_EACH > LEAST_LONG ? (double)requests * LEAST_EACH : LEAST_LONG;
}

static double work_for (const struct round *x, size_t requests)
{
    double work = requests > 3 ? x->work : LONG_RUN * x->work;

    return work > least_for (x, requests) ? work : least_for (x, requests);
}

/* The next batch to try where no kernel took one of so much work: kernels may take small calls
 * alone, as those whose workspace grows with the call.  0: there is none. */
static int shrink (const struct round *x, size_t requests, double *work)
{
    double least = least_for (x, requests);

    if (*work <= least)
        return 0;
    *work = *work / 2 > least ? *work / 2 : least;
    return 1;
}

/* Draw and run a batch that must show nothing.  No runs in *ret: no kernel takes any. */
static int run_drawn (struct round *x, size_t requests, double work, uint32_t data,
                      uint32_t combinations, struct dt_probe_batch *ret_batch,
                      struct dt_round_outcome *ret, struct dt_err *reterr)
{
    int r;

    do {
        *ret = (struct dt_round_outcome){ 0 };
        if ((r = dt_probe_draw (x->probe, &x->scratch, requests, work, ret_batch, reterr)) < 0
            || (ret_batch->n && (r = run_batch (x, ret_batch, data, combinations, ret, reterr)) < 0))
            return r;
    } while (ret_batch->n && ret->runs == 0 && shrink (x, requests, &work));
    return 0;
}

/* How much work one run may have.  The quickest run counts: others were disturbed, and
 * a round on a busy machine should try as much as on an idle one. */
static int calibrate (struct round *x, struct dt_err *reterr)
{
    int r;

    for (int i = 0; i < 4; i++) {
        struct dt_probe_batch b;
        struct dt_round_outcome o;
        double work;

        if ((r = run_drawn (x, 4, FIRST_WORK, DT_BACKEND_RANDOM, COMBINATIONS, &b, &o, reterr)) < 0)
            return r;
        if (o.runs && o.least_ns) {
            work = work_of (x, &b) * RUN_NS / (double)o.least_ns;
            x->work = work > x->work ? work : x->work;
        }
    }
    return 0;
}

static int run_sizes (struct round *x, uint32_t combinations, struct dt_err *reterr)
{
    int r;

    for (uint32_t data = 0; data < DT_BACKEND_DATA_KINDS; data++)
        for (size_t i = 0; i < DT_ARRAY_SIZE (sizes) && !x->difference->text[0]; i++) {
            struct dt_probe_batch b;
            struct dt_round_outcome o;

            if ((r = run_drawn (x, sizes[i], work_for (x, sizes[i]), data, combinations, &b, &o,
                                reterr)) < 0)
                return r;
        }
    return 0;
}

/* Both sides of one threshold.  1 in *ret: each side ran. */
static int run_threshold (struct round *x, size_t input, int64_t threshold, int *ret,
                          struct dt_err *reterr)
{
    int64_t step = dt_vm_input (x->o->vm, input)->step;
    int r;

    *ret = 1;
    for (int64_t k = -1; k <= 1; k++) {
        int64_t v = threshold + k * step;
        struct dt_probe_batch b;
        struct dt_round_outcome o = { 0 };

        if ((r = dt_probe_at (x->probe, &x->scratch, input, v, work_for (x, 1), &b, reterr)) < 0)
            return r;
        if (r && (r = run_batch (x, &b, (uint32_t)(x->done % DT_BACKEND_DATA_KINDS),
                                 THRESHOLD_COMBINATIONS, &o, reterr)) < 0)
            return r;
        *ret &= o.runs > 0 || k == 1; /* the domain may end there */
        if (x->difference->text[0])
            break;
    }
    return 0;
}

static int run_thresholds (struct round *x, struct dt_err *reterr)
{
    size_t n = dt_vm_inputs (x->o->vm);
    struct dt_certificate *c = x->c;
    int r, met;

    if (!(c->threshold = dt_arena_array (&c->arena, n, sizeof *c->threshold)))
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n && !x->difference->text[0]; i++) {
        struct dt_named_list *t = &c->threshold[c->n_thresholds];
        int64_t found[THRESHOLDS];
        size_t n_found = dt_probe_thresholds (x->probe, i, found, THRESHOLDS);

        t->name = dt_vm_input (x->o->vm, i)->name;
        if (!(t->value = dt_arena_array (&c->arena, n_found, sizeof *t->value)))
            return dt_err_nomem (reterr);
        for (size_t k = 0; k < n_found && !x->difference->text[0]; k++) {
            if ((r = run_threshold (x, i, found[k], &met, reterr)) < 0)
                return r;
            if (met)
                t->value[t->n++] = found[k];
        }
        c->n_thresholds += t->n > 0;
    }
    return 0;
}

/* Until every combination of free values ran, or has no kernel. */
static int run_rest (struct round *x, struct dt_err *reterr)
{
    int r, i;

    for (i = 0; i < MOST_REST && !x->difference->text[0] && x->c->tried + x->c->refused < x->c->of; i++) {
        struct dt_probe_batch b;
        struct dt_round_outcome o;

        if ((r = run_drawn (x, 4, work_for (x, 4), DT_BACKEND_CANCEL, 4 * COMBINATIONS, &b, &o,
                            reterr)) < 0)
            return r;
    }
    return 0;
}

/* The sizes again, with nothing hidden by rounding the outputs. */
static int run_clear (struct round *x, struct dt_err *reterr)
{
    uint64_t runs = x->c->runs;
    int r;

    if (!has_hidden (x->o) || x->difference->text[0])
        return 0;
    x->clear = 1;
    if ((r = begin (x, reterr)) < 0 || (r = run_sizes (x, CLEAR_COMBINATIONS, reterr)) < 0)
        return r;
    if (x->c->runs > runs || x->difference->text[0])
        return 0;
    x->clear = 0; /* the backend has no such kernels */
    return begin (x, reterr);
}

/* --- power ----------------------------------------------------------------------------------- */

/* The least exchange of terms that shows in the bits of some request of a batch. */
static int exchange_terms (struct round *x, uint32_t data, const struct dt_probe_batch *b,
                           struct dt_err *reterr)
{
    struct dt_certificate *c = x->c;
    int r;

    for (uint32_t by = 1; by <= MOST_EXCHANGE && c->power[data].exchange == 0; by *= 2) {
        Detent__WorkerReply *reply;
        struct dt_round_outcome o;

        if ((r = dt_round_send (x->o, b, data, by, 1, &o, &reply, reterr)) < 0)
            return r;
        detent__worker_reply__free_unpacked (reply, NULL);
        c->power[data].rows = o.rows;
        c->power[data].changed = o.changed;
        if (o.changed)
            c->power[data].exchange = by;
        if (o.rows == 0)
            break; /* no kernel takes it */
    }
    return 0;
}

static int measure_power (struct round *x, uint32_t data, struct dt_err *reterr)
{
    double work = LONG_RUN * work_for (x, 4);
    struct dt_probe_batch b;
    int r;

    do {
        if ((r = dt_probe_draw (x->probe, &x->scratch, POWER_REQUESTS, work, &b, reterr)) < 0
            || (b.n && (r = exchange_terms (x, data, &b, reterr)) < 0))
            return r;
    } while (b.n && x->c->power[data].rows == 0 && shrink (x, POWER_REQUESTS, &work));
    return tell (x, "measuring what would be seen", reterr);
}

static int run_power (struct round *x, struct dt_err *reterr)
{
    int r, any = 0;

    for (uint32_t data = 0; data < DT_BACKEND_DATA_KINDS; data++) {
        if ((r = measure_power (x, data, reterr)) < 0)
            return r;
        any |= x->c->power[data].exchange != 0;
    }
    if (!any)
        dt_err_set (x->difference, 0, "no exchange of two terms showed in any bit: equal bits "
                    "would say nothing");
    return 0;
}

/* --- the round ---------------------------------------------------------------------------------- */

static int take_values (struct round *x, struct dt_err *reterr)
{
    struct dt_certificate *c = x->c;
    Detent__WorkerReply *reply;
    struct dt_probe_batch b;
    struct dt_round_outcome o;
    int r;

    if ((r = dt_probe_draw (x->probe, &x->scratch, 1, LEAST_WORK, &b, reterr)) < 0
        || (r = dt_round_send (x->o, &b, DT_BACKEND_RANDOM, 0, 1, &o, &reply, reterr)) < 0)
        return r;
    c->n_free = reply->certified->n_free;
    if (!(c->free = dt_arena_array (&c->arena, c->n_free, sizeof *c->free)))
        r = dt_err_nomem (reterr);
    for (size_t i = 0; r == 0 && i < c->n_free; i++) {
        const Detent__WorkerFree *f = reply->certified->free[i];
        struct dt_named_list *l = &c->free[i];

        l->n = f->n_value;
        l->name = dt_arena_strf (&c->arena, "%s", f->name);
        l->value = dt_arena_array (&c->arena, l->n, sizeof *l->value);
        if (!l->name || !l->value)
            r = dt_err_nomem (reterr);
        else if (l->n)
            memcpy (l->value, f->value, l->n * sizeof *l->value);
    }
    detent__worker_reply__free_unpacked (reply, NULL);
    return r;
}

static int run (struct round *x, struct dt_err *reterr)
{
    struct dt_certificate *c = x->c;
    int r;

    if ((r = dt_round_probe (x->o, &x->probe, reterr)) < 0
        || (r = dt_round_bind (x->o, x->probe, &c->arena, &c->binding, &c->n_binding, reterr)) < 0
        || (r = begin (x, reterr)) < 0 || (r = calibrate (x, reterr)) < 0)
        return r;
    if (c->runs == 0)
        return dt_err_set (reterr, -DT_EUNSUPPORTED, "the backend has no kernel for it, on any call "
                           "that was tried");
    x->planned = 8 + (has_hidden (x->o) ? 6 : 3) * DT_ARRAY_SIZE (sizes)
                 + 3 * THRESHOLDS * dt_vm_inputs (x->o->vm);
    if ((r = run_sizes (x, COMBINATIONS, reterr)) < 0 || (r = run_thresholds (x, reterr)) < 0
        || (r = run_rest (x, reterr)) < 0)
        return r;
    if ((r = take_values (x, reterr)) < 0 || (r = run_clear (x, reterr)) < 0)
        return r;
    if (!x->difference->text[0] && (r = run_power (x, reterr)) < 0)
        return r;
    dt_certificate_sort (c);
    return 0;
}

int dt_round_run (const struct dt_round *o, struct dt_certificate *ret, struct dt_err *difference,
                  struct dt_err *reterr)
{
    struct round x = { .o = o, .schema = dt_schema_find (o->family), .c = ret,
                       .difference = difference };
    int r;

    difference->text[0] = 0;
    ret->family = o->family;
    ret->site = o->site;
    ret->backend = *o->backend;
    ret->seed = o->seed;
    ret->rivals = o->rivals;
    ret->repeats = o->repeats;
    ret->n_facts = o->n_facts;
    if (!(ret->fact = dt_arena_array (&ret->arena, o->n_facts, sizeof *ret->fact)))
        return dt_err_nomem (reterr);
    if (o->n_facts)
        memcpy (ret->fact, o->fact, o->n_facts * sizeof *ret->fact);
    r = run (&x, reterr);
    dt_probe_free (x.probe);
    dt_arena_done (&x.scratch);
    return r;
}
