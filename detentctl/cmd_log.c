/* detentctl/cmd_log.c - the commits, newest first. */
#include <inttypes.h>

#include "base/time.h"
#include "detentctl/commands.h"
#include "detentctl/commit_view.h"
#include "detentctl/connect.h"
#include "detentctl/print.h"

static const struct dt_ctl_option options[] = {
    { "deployment", 0, "NAME", "of this deployment only" },
    { "workload", 0, "NAME", "of this workload only" },
    { "limit", 0, "N", "the newest N (default: 100)" },
    { 0 },
};

static void print_table (const Detent__LogReply *l)
{
    static const struct dt_column columns[] = {
        { "COMMIT", DT_LEFT }, { "SEQ", DT_RIGHT }, { "DEPLOYMENT", DT_LEFT },
        { "WORKLOAD", DT_LEFT }, { "TUPLE", DT_LEFT }, { "TIME", DT_LEFT },
        { "AUTHOR", DT_CUT },  { "MESSAGE", DT_CUT }, { 0 },
    };
    struct dt_sheet *s = dt_sheet_new (columns);
    char time[DT_TIME_TEXT];

    for (size_t i = 0; i < l->n_commit; i++) {
        const Detent__CommitInfo *m = l->commit[i];

        dt_sheet_row (s);
        dt_sheet_cell (s, "%s", dt_hex_short (m->digest));
        dt_sheet_cell (s, "%" PRIu64, m->sequence);
        dt_sheet_cell (s, "%s", m->deployment);
        dt_sheet_cell (s, "%s", m->workload);
        dt_sheet_cell (s, "%s", dt_hex_short (m->tuple));
        dt_sheet_cell (s, "%s", dt_time_text (m->time_ns, time));
        dt_sheet_cell (s, "%s", m->author);
        dt_sheet_cell (s, "%s", m->message);
    }
    dt_sheet_print (s, NULL);
    if (l->n_commit == 0)
        puts ("No commits.");
}

static void print_json (const Detent__LogReply *l)
{
    json_t *o = dt_json_object (), *a = dt_json_array ();

    for (size_t i = 0; i < l->n_commit; i++)
        dt_json_append (a, dt_commit_json (l->commit[i]));
    dt_json_set (o, "commits", a);
    dt_json_print (o);
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__LogRequest body = DETENT__LOG_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    const char *deployment, *workload;
    int r;

    if ((r = dt_ctl_name (c, "deployment", &deployment, reterr)) < 0
        || (r = dt_ctl_name (c, "workload", &workload, reterr)) < 0
        || (r = dt_ctl_u64 (c, "limit", UINT32_MAX, &body.limit, reterr)) < 0)
        return r;
    body.deployment = (char *)deployment;
    body.workload = (char *)workload;
    body.has_limit = dt_ctl_flag (c, "limit");
    rq.body_case = DETENT__REQUEST__BODY_LOG;
    rq.log = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_LOG, 30, &reply, reterr)) < 0)
        return r;
    (c->json ? print_json : print_table) (reply->log);
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

const struct dt_ctl_command dt_cmd_log = {
    "log", "", 0, 0, "List commits, newest first.", options, run,
};
