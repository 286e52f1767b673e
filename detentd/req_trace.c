/* detentd/req_trace.c - trace_submit and trace_list. */
#include <errno.h>

#include "base/time.h"
#include "detentd/dispatch.h"
#include "detentd/publish.h"
#include "trace/dtrace.h"

struct submission {
    struct dt_trace_row row;
    const void *data;
    int known;
};

static int put (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct submission *sub = ctx;

    return dt_store_trace_put (s, &sub->row, sub->data, &sub->known, reterr);
}

static void count_calls (const struct dt_trace *t, struct dt_trace_row *row)
{
    for (size_t i = 0; i < t->n_sites; i++) {
        row->distinct_calls += t->site[i].n_calls;
        for (size_t k = 0; k < t->site[i].n_calls; k++)
            row->calls += t->site[i].call[k].count;
    }
}

static void published (struct dt_ask *a)
{
    dt_publish (a->d, "trace", &a->reply);
}

/* On the crew: decoding a large trace takes longer than a turn of the loop may. */
static int submit (struct dt_ask *a, struct dt_store *store, struct dt_err *reterr)
{
    const Detent__TraceSubmitRequest *rq = a->rq->trace_submit;
    Detent__TraceSubmitReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    struct submission sub = { .row = { .workload = rq->workload, .bytes = rq->trace.len,
                                       .time_ns = dt_time_wall_ns () },
                              .data = rq->trace.data };
    struct dt_trace *t = NULL;
    int r;

    (void)store;
    if (!reply)
        return dt_err_nomem (reterr);
    if ((r = dt_trace_decode (rq->trace.data, rq->trace.len, &t, reterr)) < 0)
        return dt_err_prefix (reterr, r, "trace");
    sub.row.deployment = t->deployment ? t->deployment : "";
    sub.row.source = t->source ? t->source : "";
    count_calls (t, &sub.row);
    sub.row.digest = dt_trace_digest (rq->trace.data, rq->trace.len);
    if (sub.row.calls == 0)
        r = dt_err_set (reterr, -DT_EINPUT, "trace: it has no calls");
    else
        r = dt_pool_transact (a->d->writer, put, &sub, reterr);
    dt_trace_free (t);
    if (r < 0)
        return r;
    detent__trace_submit_reply__init (reply);
    reply->digest = dt_ask_digest (a, &sub.row.digest);
    reply->calls = sub.row.calls;
    reply->distinct = sub.row.distinct_calls;
    reply->known = sub.known;
    if (!reply->digest.data)
        return dt_err_nomem (reterr);
    a->reply.body_case = DETENT__REPLY__BODY_TRACE_SUBMIT;
    a->reply.trace_submit = reply;
    return 0;
}

int dt_req_trace_submit (struct dt_ask *a, struct dt_err *reterr)
{
    int r;

    if ((r = dt_check_name ("workload", a->rq->trace_submit->workload, reterr)) < 0)
        return r;
    a->after = published;
    return dt_ask_crew (a, submit, reterr);
}

struct listing {
    struct dt_ask *a;
    void **items;
    size_t n;
};

static int add (void *ctx, const struct dt_trace_row *row)
{
    struct listing *l = ctx;
    Detent__TraceInfo *info = dt_arena_alloc (&l->a->arena, sizeof *info);

    if (!info)
        return -ENOMEM;
    detent__trace_info__init (info);
    info->digest = dt_ask_digest (l->a, &row->digest);
    info->workload = dt_arena_strf (&l->a->arena, "%s", row->workload);
    info->deployment = dt_arena_strf (&l->a->arena, "%s", row->deployment);
    info->source = dt_arena_strf (&l->a->arena, "%s", row->source);
    info->calls = row->calls;
    info->distinct = row->distinct_calls;
    info->bytes = row->bytes;
    info->time_ns = row->time_ns;
    if (!info->digest.data || !info->workload || !info->deployment || !info->source)
        return -ENOMEM;
    return dt_ask_push (l->a, &l->items, &l->n, info);
}

int dt_req_trace_list (struct dt_ask *a, struct dt_err *reterr)
{
    Detent__TraceListReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    const char *workload = a->rq->trace_list->workload;
    struct listing l = { .a = a };
    int r;

    if (!reply)
        return dt_err_nomem (reterr);
    if ((r = dt_check_optional_name ("workload", workload, reterr)) < 0
        || (r = dt_store_traces (a->d->reader, workload, add, &l, reterr)) < 0)
        return r == -ENOMEM ? dt_err_nomem (reterr) : r;
    detent__trace_list_reply__init (reply);
    reply->trace = (Detent__TraceInfo **)l.items;
    reply->n_trace = l.n;
    a->reply.body_case = DETENT__REPLY__BODY_TRACE_LIST;
    a->reply.trace_list = reply;
    return 0;
}
