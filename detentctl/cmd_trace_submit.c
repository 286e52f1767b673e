/* detentctl/cmd_trace_submit.c - give a trace to detentd. */
#include <inttypes.h>

#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/print.h"
#include "detentctl/trace_view.h"

static const struct dt_ctl_option options[] = {
    { "workload", 0, "NAME", "the workload that the trace belongs to" },
    { 0 },
};

static void print (const struct dt_ctl *c, const char *workload, const Detent__TraceSubmitReply *t)
{
    json_t *o, *r;

    if (!c->json) {
        dt_print (stdout, "trace %s: %" PRIu64 " calls, %" PRIu64 " distinct, for %s%s",
                  dt_hex (t->digest), t->calls, t->distinct, workload,
                  t->known ? " (it was there already)" : "");
        putchar ('\n');
        return;
    }
    o = dt_json_object ();
    dt_json_set (o, "calls", dt_json_u64 (t->calls));
    dt_json_set (o, "digest", dt_json_hex (t->digest));
    dt_json_set (o, "distinct", dt_json_u64 (t->distinct));
    dt_json_set (o, "known", json_boolean (t->known));
    dt_json_set (o, "workload", dt_json_text (workload));
    r = dt_json_object ();
    dt_json_set (r, "trace", o);
    dt_json_print (r);
}

static int submit (const struct dt_ctl *c, const char *workload, struct dt_buf *data,
                   struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TraceSubmitRequest body = DETENT__TRACE_SUBMIT_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    int r;

    body.workload = (char *)workload;
    body.trace = (ProtobufCBinaryData){ data->len, data->data };
    rq.body_case = DETENT__REQUEST__BODY_TRACE_SUBMIT;
    rq.trace_submit = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_TRACE_SUBMIT, 120, &reply, reterr)) < 0)
        return r;
    print (c, workload, reply->trace_submit);
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

/* The file is checked here first, so that a broken one is refused by its name. */
static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    static const char *const needed[] = { "workload", NULL };
    const char *workload;
    struct dt_trace *t = NULL;
    struct dt_buf b = { 0 };
    int r;

    if ((r = dt_ctl_need (c, needed, reterr)) < 0
        || (r = dt_ctl_name (c, "workload", &workload, reterr)) < 0)
        return r;
    if ((r = dt_trace_read (c->arg[0], DT_WIRE_MAX_BYTES, &b, &t, reterr)) == 0)
        r = submit (c, workload, &b, reterr);
    dt_trace_free (t);
    dt_buf_done (&b);
    return r;
}

const struct dt_ctl_command dt_cmd_trace_submit = {
    "trace submit", "FILE", 1, 1, "Give a trace to detentd, for a workload.", options, run,
};
