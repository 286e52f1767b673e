/* detentd/round_ask.c - what a round asks of the worker. */
#include "detentd/round_parts.h"

#include <stdio.h>
#include <string.h>

static int ask (const struct dt_round *o, const Detent__WorkerRequest *rq,
                Detent__WorkerReply **ret, struct dt_err *reterr)
{
    char doing[160];
    int r;

    snprintf (doing, sizeof doing, "a certification batch of %s/%s", o->family, o->site);
    if ((r = o->call (o->ctx, rq, doing, ret, reterr)) < 0)
        return r;
    if ((*ret)->body_case == DETENT__WORKER_REPLY__BODY_CERTIFIED)
        return 0;
    detent__worker_reply__free_unpacked (*ret, NULL);
    return dt_err_set (reterr, -DT_EWORKER, "%s: the worker's reply is no result", doing);
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

static void clear_outputs (Detent__WorkerParam *const *fact, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp (fact[i]->name, "output_bf16") == 0)
            fact[i]->one = 0;
}

int dt_round_begin (const struct dt_round *o, const struct dt_named *binding, size_t n_binding,
                    int clear, struct dt_arena *a, struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerCertify m = DETENT__WORKER_CERTIFY__INIT;
    Detent__WorkerReply *reply;
    int r;

    m.family = (char *)o->family;
    m.n_fact = o->n_facts;
    m.fact = params_of (a, o->fact, o->n_facts);
    m.n_param = n_binding;
    m.param = params_of (a, binding, n_binding);
    m.free = free_of (a, o->vm, &m.n_free);
    if (!m.fact || !m.param || !m.free)
        return dt_err_nomem (reterr);
    raise_ranks (m.fact, m.n_fact);
    if (clear)
        clear_outputs (m.fact, m.n_fact);
    m.rivals = o->rivals;
    m.seed = o->seed;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_CERTIFY;
    rq.certify = &m;
    if ((r = ask (o, &rq, &reply, reterr)) < 0)
        return r;
    detent__worker_reply__free_unpacked (reply, NULL);
    return 0;
}

int dt_round_send (const struct dt_round *o, const struct dt_probe_batch *b, uint32_t data,
                   uint32_t exchange, uint32_t combinations, struct dt_round_outcome *ret,
                   Detent__WorkerReply **ret_reply, struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerBatch m = DETENT__WORKER_BATCH__INIT;
    const Detent__WorkerCertified *v;
    int r;

    m.requests = (uint32_t)b->n;
    m.request = b->request;
    m.n_request = b->n * dt_schema_find (o->family)->n_fields;
    m.seed = b->seed;
    m.n_seed = b->n;
    m.data = data;
    m.exchange = exchange;
    m.combinations = combinations;
    m.repeats = o->repeats;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_BATCH;
    rq.batch = &m;
    if ((r = ask (o, &rq, ret_reply, reterr)) < 0)
        return r;
    v = (*ret_reply)->certified;
    *ret = (struct dt_round_outcome){ v->runs, v->rows, v->changed, v->tried, v->refused, v->of,
                                      v->has_least_ns ? v->least_ns : 0 };
    return 0;
}
