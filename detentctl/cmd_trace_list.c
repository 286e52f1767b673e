/* detentctl/cmd_trace_list.c - the traces that detentd has. */
#include <inttypes.h>

#include "base/time.h"
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/print.h"

static const struct dt_ctl_option options[] = {
    { "workload", 0, "NAME", "of this workload only" },
    { 0 },
};

static void print_table (const Detent__TraceListReply *l)
{
    static const struct dt_column columns[] = {
        { "TRACE", DT_LEFT },  { "WORKLOAD", DT_LEFT },  { "DEPLOYMENT", DT_LEFT },
        { "CALLS", DT_RIGHT }, { "DISTINCT", DT_RIGHT }, { "BYTES", DT_RIGHT },
        { "TIME", DT_LEFT },   { "SOURCE", DT_CUT },     { 0 },
    };
    struct dt_sheet *s = dt_sheet_new (columns);
    char time[DT_TIME_TEXT];

    for (size_t i = 0; i < l->n_trace; i++) {
        const Detent__TraceInfo *t = l->trace[i];

        dt_sheet_row (s);
        dt_sheet_cell (s, "%s", dt_hex_short (t->digest));
        dt_sheet_cell (s, "%s", t->workload);
        dt_sheet_cell (s, "%s", t->deployment);
        dt_sheet_cell (s, "%" PRIu64, t->calls);
        dt_sheet_cell (s, "%" PRIu64, t->distinct);
        dt_sheet_cell (s, "%" PRIu64, t->bytes);
        dt_sheet_cell (s, "%s", dt_time_text (t->time_ns, time));
        dt_sheet_cell (s, "%s", t->source);
    }
    dt_sheet_print (s, NULL);
    if (l->n_trace == 0)
        puts ("No traces.");
}

static void print_json (const Detent__TraceListReply *l)
{
    json_t *r = dt_json_object (), *a = dt_json_array ();

    for (size_t i = 0; i < l->n_trace; i++) {
        const Detent__TraceInfo *t = l->trace[i];
        json_t *o = dt_json_object ();

        dt_json_set (o, "bytes", dt_json_u64 (t->bytes));
        dt_json_set (o, "calls", dt_json_u64 (t->calls));
        dt_json_set (o, "deployment", dt_json_text (t->deployment));
        dt_json_set (o, "digest", dt_json_hex (t->digest));
        dt_json_set (o, "distinct", dt_json_u64 (t->distinct));
        dt_json_set (o, "source", dt_json_text (t->source));
        dt_json_set (o, "time", dt_json_time (t->time_ns));
        dt_json_set (o, "workload", dt_json_text (t->workload));
        dt_json_append (a, o);
    }
    dt_json_set (r, "traces", a);
    dt_json_print (r);
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TraceListRequest body = DETENT__TRACE_LIST_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    const char *workload;
    int r;

    if ((r = dt_ctl_name (c, "workload", &workload, reterr)) < 0)
        return r;
    body.workload = (char *)workload;
    rq.body_case = DETENT__REQUEST__BODY_TRACE_LIST;
    rq.trace_list = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_TRACE_LIST, 30, &reply, reterr)) < 0)
        return r;
    (c->json ? print_json : print_table) (reply->trace_list);
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

const struct dt_ctl_command dt_cmd_trace_list = {
    "trace list", "", 0, 0, "List the traces that detentd has.", options, run,
};
