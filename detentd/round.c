/* detentd/round.c - a round of certification: one site under one assignment. */
#include "detentd/round.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "detent/backend.h"

/* Requests of a batch: what lies beside the sizes at which kernels change course. */
static const uint32_t sizes[] = { 1, 2, 3, 5, 8, 9, 17, 18, 33, 64, 65, 66, 130 };
#define THRESHOLDS 8          /* of one quantity; more are chosen from evenly */
#define COMBINATIONS 8        /* of free values, of a batch of a size */
#define THRESHOLD_COMBINATIONS 4
#define CLEAR_COMBINATIONS 4
#define MOST_BATCHES 512
#define POWER_REQUESTS 24
#define MOST_EXCHANGE 64

/* A batch of more than 3 requests is drawn to run for about this long, one of fewer
 * for 8 times as long: a round of 150 batches and 2,000 runs then takes a second or
 * two.  Beyond it only the batches are smaller. */
#define RUN_NS 400000.0
#define LONG_RUN 8.0

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

static int ask (struct round *x, const Detent__WorkerRequest *rq, Detent__WorkerReply **ret,
                struct dt_err *reterr)
{
    char doing[160];
    int r;

    snprintf (doing, sizeof doing, "a certification batch of %s/%s", x->o->family, x->o->site);
    if ((r = x->o->call (x->o->ctx, rq, doing, ret, reterr)) < 0)
        return r;
    if ((*ret)->body_case == DETENT__WORKER_REPLY__BODY_CERTIFIED)
        return 0;
    detent__worker_reply__free_unpacked (*ret, NULL);
    return dt_err_set (reterr, -DT_EWORKER, "%s: the worker's reply is no result", doing);
}

static int tell (struct round *x, const char *what, struct dt_err *reterr)
{
    double fraction = x->planned ? (double)x->done / (double)x->planned : 0;

    if (x->o->progress && x->o->progress (x->o->ctx, fraction < 1 ? fraction : 1, what))
        return dt_err_set (reterr, -DT_ECANCELLED, "cancelled");
    return 0;
}

/* --- the assignment ---------------------------------------------------------------------- */

/* Outputs of the selector under the assignment, of a call that it takes. */
static int select_any (struct dt_probe *p, int64_t *out, struct dt_err *reterr)
{
    struct dt_arena a = { 0 };
    struct dt_probe_batch b;
    int r = 0;

    for (int i = 0; i < 16 && r == 0; i++)
        if ((r = dt_probe_draw (p, &a, 1, 64, &b, reterr)) == 0)
            r = dt_probe_select (p, &b, out);
    dt_arena_done (&a);
    return r == 0 ? dt_err_set (reterr, -DT_EREFUSED, "selection takes no call that was tried") : r;
}

static int collect_binding (const struct dt_round *o, struct dt_probe *p, struct dt_arena *a,
                            struct dt_named **ret, size_t *ret_n, struct dt_err *reterr)
{
    struct dt_certificate sorted = { .family = NULL };
    int64_t out[DT_VM_MAX_OUTPUTS];
    int r;

    if ((r = select_any (p, out, reterr)) < 0)
        return r;
    if (!(sorted.binding = dt_arena_array (a, dt_vm_outputs (o->vm), sizeof *sorted.binding)))
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < dt_vm_outputs (o->vm); i++) {
        const struct dt_vm_output *f = dt_vm_output (o->vm, i);

        if (!f->binding)
            continue;
        if (f->own)
            return dt_err_set (reterr, -DT_EUNSUPPORTED, "%s binds and follows each request's own "
                               "length: only assignments of one value are certified", f->field);
        sorted.binding[sorted.n_binding++] = (struct dt_named){ f->field, out[i] };
    }
    dt_certificate_sort (&sorted);
    *ret = sorted.binding;
    *ret_n = sorted.n_binding;
    return 0;
}

static int open_probe (const struct dt_round *o, struct dt_probe **ret, struct dt_err *reterr)
{
    const struct dt_schema *schema = dt_schema_find (o->family);

    if (!schema)
        return dt_err_set (reterr, -DT_EINPUT, "unknown family %s", o->family);
    return dt_probe_new (schema, o->vm, o->seed, ret, reterr);
}

int dt_round_binding (const struct dt_round *o, struct dt_arena *a, struct dt_named **ret,
                      size_t *ret_n, struct dt_err *reterr)
{
    struct dt_probe *p;
    int r;

    if ((r = open_probe (o, &p, reterr)) < 0)
        return r;
    r = collect_binding (o, p, a, ret, ret_n, reterr);
    dt_probe_free (p);
    return r;
}

static Detent__WorkerParam **params_of (struct dt_arena *a, const struct dt_named *v, size_t n)
{
    Detent__WorkerParam **list = dt_arena_array (a, n, sizeof *list);

    for (size_t i = 0; list && i < n; i++) {
        if (!(list[i] = dt_arena_alloc (a, sizeof **list)))
            return NULL;
        detent__worker_param__init (list[i]);
        list[i]->name = (char *)v[i].name;
        list[i]->one = v[i].value;
    }
    return list;
}

static Detent__WorkerFree **free_of (struct dt_arena *a, const struct dt_vm *vm, size_t *ret_n)
{
    Detent__WorkerFree **list = dt_arena_array (a, dt_vm_outputs (vm), sizeof *list);

    *ret_n = 0;
    for (size_t i = 0; list && i < dt_vm_outputs (vm); i++) {
        Detent__WorkerFree *f;

        if (dt_vm_output (vm, i)->binding)
            continue;
        if (!(f = dt_arena_alloc (a, sizeof *f)))
            return NULL;
        detent__worker_free__init (f);
        f->name = (char *)dt_vm_output (vm, i)->field;
        list[(*ret_n)++] = f;
    }
    return list;
}

/* Two terms have no order, and three few: a collective of fewer ranks is tried with so
 * many.  What moves and adds the terms is the same. */
#define LEAST_RANKS 4

static void raise_ranks (Detent__WorkerParam *const *fact, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp (fact[i]->name, "ranks") == 0 && fact[i]->one < LEAST_RANKS)
            fact[i]->one = LEAST_RANKS;
}

/* Rounding to bf16 hides most differences of order: the same sums in fp32 do not. */
static int has_hidden (const struct dt_round *o)
{
    for (size_t i = 0; i < o->n_facts; i++)
        if (strcmp (o->fact[i].name, "output_bf16") == 0)
            return o->fact[i].value == 1;
    return 0;
}

static void clear_outputs (Detent__WorkerParam *const *fact, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp (fact[i]->name, "output_bf16") == 0)
            fact[i]->one = 0;
}

static int begin (struct round *x, struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerCertify m = DETENT__WORKER_CERTIFY__INIT;
    const struct dt_round *o = x->o;
    Detent__WorkerReply *reply;
    int r;

    m.family = (char *)o->family;
    m.n_fact = o->n_facts;
    m.fact = params_of (&x->scratch, o->fact, o->n_facts);
    m.n_param = x->c->n_binding;
    m.param = params_of (&x->scratch, x->c->binding, x->c->n_binding);
    m.free = free_of (&x->scratch, o->vm, &m.n_free);
    if (!m.fact || !m.param || !m.free)
        return dt_err_nomem (reterr);
    raise_ranks (m.fact, m.n_fact);
    if (x->clear)
        clear_outputs (m.fact, m.n_fact);
    m.rivals = o->rivals;
    m.seed = o->seed;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_CERTIFY;
    rq.certify = &m;
    if ((r = ask (x, &rq, &reply, reterr)) < 0)
        return r;
    detent__worker_reply__free_unpacked (reply, NULL);
    return 0;
}

/* --- batches ------------------------------------------------------------------------------ */

struct outcome {
    uint64_t runs, rows, changed, tried, refused, of, least_ns;
};

static int send (struct round *x, const struct dt_probe_batch *b, uint32_t data,
                 uint32_t exchange, uint32_t combinations, struct outcome *ret,
                 Detent__WorkerReply **ret_reply, struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerBatch m = DETENT__WORKER_BATCH__INIT;
    const Detent__WorkerCertified *v;
    int r;

    m.requests = (uint32_t)b->n;
    m.request = b->request;
    m.n_request = b->n * x->schema->n_fields;
    m.seed = b->seed;
    m.n_seed = b->n;
    m.data = data;
    m.exchange = exchange;
    m.combinations = combinations;
    m.repeats = x->o->repeats;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_BATCH;
    rq.batch = &m;
    if ((r = ask (x, &rq, ret_reply, reterr)) < 0)
        return r;
    v = (*ret_reply)->certified;
    *ret = (struct outcome){ v->runs, v->rows, v->changed, v->tried, v->refused, v->of,
                             v->has_least_ns ? v->least_ns : 0 };
    return 0;
}

/* Run a batch that must show nothing. */
static int run_batch (struct round *x, const struct dt_probe_batch *b, uint32_t data,
                      uint32_t combinations, struct outcome *ret, struct dt_err *reterr)
{
    struct dt_certificate *c = x->c;
    Detent__WorkerReply *reply;
    int r;

    if ((r = send (x, b, data, 0, combinations, ret, &reply, reterr)) < 0)
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

/* How much work one run may have.  The quickest run counts: others were disturbed, and
 * a round on a busy machine should try as much as on an idle one. */
static int calibrate (struct round *x, struct dt_err *reterr)
{
    int r;

    for (int i = 0; i < 4; i++) {
        struct dt_probe_batch b;
        struct outcome o;
        double work;

        if ((r = dt_probe_draw (x->probe, &x->scratch, 4, 1024, &b, reterr)) < 0
            || (r = run_batch (x, &b, DT_BACKEND_RANDOM, COMBINATIONS, &o, reterr)) < 0)
            return r;
        if (o.runs && o.least_ns) {
            work = work_of (x, &b) * RUN_NS / (double)o.least_ns;
            x->work = work > x->work ? work : x->work;
        }
    }
    return 0;
}

static double work_for (const struct round *x, uint32_t requests)
{
    double least = strcmp (x->schema->family, "attention") != 0 ? LEAST_WORK
                   : requests * LEAST_EACH > LEAST_LONG         ? requests * LEAST_EACH
                                                                : LEAST_LONG;
    double work = requests > 3 ? x->work : LONG_RUN * x->work;

    return work > least ? work : least;
}

static int run_sizes (struct round *x, uint32_t combinations, struct dt_err *reterr)
{
    int r;

    for (uint32_t data = 0; data < DT_BACKEND_DATA_KINDS; data++)
        for (size_t i = 0; i < DT_ARRAY_SIZE (sizes) && !x->difference->text[0]; i++) {
            struct dt_probe_batch b;
            struct outcome o;

            if ((r = dt_probe_draw (x->probe, &x->scratch, sizes[i], work_for (x, sizes[i]), &b,
                                    reterr)) < 0)
                return r;
            if (b.n && (r = run_batch (x, &b, data, combinations, &o, reterr)) < 0)
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
        struct outcome o = { 0 };

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
    int r;

    while (!x->difference->text[0] && x->c->tried + x->c->refused < x->c->of
           && x->done < MOST_BATCHES) {
        struct dt_probe_batch b;
        struct outcome o;

        if ((r = dt_probe_draw (x->probe, &x->scratch, 4, work_for (x, 4), &b, reterr)) < 0
            || (r = run_batch (x, &b, DT_BACKEND_CANCEL, 4 * COMBINATIONS, &o, reterr)) < 0)
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

/* The least exchange of terms that shows in the bits of some request. */
static int measure_power (struct round *x, uint32_t data, struct dt_err *reterr)
{
    struct dt_certificate *c = x->c;
    struct dt_probe_batch b;
    int r;

    if ((r = dt_probe_draw (x->probe, &x->scratch, POWER_REQUESTS, LONG_RUN * work_for (x, 4), &b,
                            reterr)) < 0)
        return r;
    for (uint32_t by = 1; by <= MOST_EXCHANGE && c->power[data].exchange == 0; by *= 2) {
        Detent__WorkerReply *reply;
        struct outcome o;

        if ((r = send (x, &b, data, by, 1, &o, &reply, reterr)) < 0)
            return r;
        detent__worker_reply__free_unpacked (reply, NULL);
        c->power[data].rows = o.rows;
        c->power[data].changed = o.changed;
        if (o.changed)
            c->power[data].exchange = by;
    }
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
    struct outcome o;
    int r;

    if ((r = dt_probe_draw (x->probe, &x->scratch, 1, LEAST_WORK, &b, reterr)) < 0
        || (r = send (x, &b, DT_BACKEND_RANDOM, 0, 1, &o, &reply, reterr)) < 0)
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

    if ((r = open_probe (x->o, &x->probe, reterr)) < 0
        || (r = collect_binding (x->o, x->probe, &c->arena, &c->binding, &c->n_binding,
                                 reterr)) < 0
        || (r = begin (x, reterr)) < 0 || (r = calibrate (x, reterr)) < 0)
        return r;
    if (c->runs == 0)
        return dt_err_set (reterr, -DT_EUNSUPPORTED, "the backend has no kernel for it, on any call "
                           "that was tried");
    x->planned = 8 + (has_hidden (x->o) ? 6 : 3) * DT_ARRAY_SIZE (sizes) + 3 * THRESHOLDS * dt_vm_inputs (x->o->vm);
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
