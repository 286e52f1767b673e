/* detentd/message.c - a call of the tuner as a request to the worker. */
#include "detentd/message.h"

#include <stdio.h>
#include <string.h>

#include "trace/schema.h"

static int add_facts (struct dt_message *q, const struct dt_site *site, struct dt_err *reterr)
{
    for (size_t i = 0; i < site->n_facts; i++) {
        Detent__WorkerParam *f;

        if (site->fact[i].kind != DT_FACT_INT && site->fact[i].kind != DT_FACT_BOOL)
            continue; /* a backend's facts are ints */
        if (q->call.n_fact == DT_MESSAGE_FACTS)
            return dt_err_set (reterr, -DT_ELIMIT, "site %s: more than %d facts", site->site,
                               DT_MESSAGE_FACTS);
        f = &q->fact[q->call.n_fact];
        detent__worker_param__init (f);
        f->name = (char *)site->fact[i].name;
        f->one = site->fact[i].i;
        q->facts[q->call.n_fact++] = f;
    }
    q->call.fact = q->facts;
    return 0;
}

static int add_params (struct dt_message *q, const struct dt_tune_call *c, struct dt_err *reterr)
{
    if (c->n_params > DT_MESSAGE_PARAMS)
        return dt_err_set (reterr, -DT_ELIMIT, "site %s: more than %d parameters", c->site,
                           DT_MESSAGE_PARAMS);
    for (size_t i = 0; i < c->n_params; i++) {
        Detent__WorkerParam *p = &q->param[i];

        detent__worker_param__init (p);
        p->name = (char *)c->param[i].field;
        p->one = c->param[i].one;
        if (c->param[i].each) {
            p->each = (int64_t *)c->param[i].each;
            p->n_each = c->call.n_requests;
        }
        q->params[i] = p;
    }
    q->call.param = q->params;
    q->call.n_param = c->n_params;
    return 0;
}

/* "attention block_n=64 split_stride=256 tile_m=[4,...] (12 requests)" */
static void say (struct dt_message *q, const struct dt_tune_call *c)
{
    size_t n = 0, room = sizeof q->doing;
    int k = snprintf (q->doing, room, "%s", c->family);

    n = k > 0 ? (size_t)k : 0;
    for (size_t i = 0; i < c->n_params && n < room; i++) {
        const struct dt_tune_param *p = &c->param[i];

        k = p->each ? snprintf (q->doing + n, room - n, " %s=[%lld%s]", p->field,
                                c->call.n_requests ? (long long)p->each[0] : 0,
                                c->call.n_requests > 1 ? ",..." : "")
                    : snprintf (q->doing + n, room - n, " %s=%lld", p->field, (long long)p->one);
        n += k > 0 ? (size_t)k : 0;
    }
    if (n < room)
        snprintf (q->doing + n, room - n, " (%zu requests)", c->call.n_requests);
}

int dt_message_build (const struct dt_site *site, const struct dt_tune_call *c, int measure,
                      struct dt_message *q, struct dt_err *reterr)
{
    const struct dt_schema *schema = dt_schema_find (c->family);
    int r;

    memset (q, 0, sizeof *q);
    detent__worker_request__init (&q->rq);
    detent__worker_call__init (&q->call);
    if (!schema)
        return dt_err_set (reterr, -DT_EINPUT, "unknown family %s", c->family);
    q->call.family = (char *)c->family;
    q->call.requests = (uint32_t)c->call.n_requests;
    q->call.request = (int64_t *)c->call.request;
    q->call.n_request = c->call.n_requests * schema->n_fields;
    q->call.seed = (uint64_t *)c->id;
    q->call.n_seed = c->call.n_requests;
    q->call.repeats = 1;
    q->rq.body_case = measure ? DETENT__WORKER_REQUEST__BODY_MEASURE
                              : DETENT__WORKER_REQUEST__BODY_PLAN;
    q->rq.plan = &q->call; /* the same member of the union as `measure` */
    if ((r = add_facts (q, site, reterr)) < 0)
        return r;
    if ((r = add_params (q, c, reterr)) < 0)
        return r;
    say (q, c);
    return 0;
}
