/* detentctl/cmd_jobs.c - the jobs of detentd. */
#include <inttypes.h>
#include <string.h>

#include "base/time.h"
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/job.h"
#include "detentctl/print.h"

static void state (struct dt_sheet *s, const char *text)
{
    if (!strcmp (text, "done"))
        dt_sheet_good (s, text);
    else if (!strcmp (text, "failed"))
        dt_sheet_bad (s, text);
    else
        dt_sheet_cell (s, "%s", text);
}

static void print_table (const Detent__JobListReply *l)
{
    static const struct dt_column columns[] = {
        { "JOB", DT_RIGHT },      { "KIND", DT_LEFT }, { "STATE", DT_LEFT }, { "DONE", DT_RIGHT },
        { "DEVICE", DT_LEFT },
        { "DEPLOYMENT", DT_LEFT }, { "WORKLOAD", DT_LEFT }, { "STARTED", DT_LEFT },
        { "WHAT", DT_CUT },       { 0 },
    };
    struct dt_sheet *s = dt_sheet_new (columns);
    char time[DT_TIME_TEXT], devices[DT_JOB_DEVICES];

    for (size_t i = 0; i < l->n_job; i++) {
        const Detent__JobReply *j = l->job[i];

        dt_sheet_row (s);
        dt_sheet_cell (s, "%" PRIu64, j->job);
        dt_sheet_cell (s, "%s", j->kind);
        state (s, j->state);
        dt_sheet_cell (s, "%.0f%%", j->fraction * 100);
        dt_sheet_cell (s, "%s", dt_job_devices (j, devices));
        dt_sheet_cell (s, "%s", j->deployment);
        dt_sheet_cell (s, "%s", j->workload);
        dt_sheet_cell (s, "%s", dt_time_text (j->started_ns, time));
        dt_sheet_cell (s, "%s", j->what);
    }
    dt_sheet_print (s, NULL);
    if (l->n_job == 0)
        puts ("No jobs.");
}

static void print_json (const Detent__JobListReply *l)
{
    json_t *o = dt_json_object (), *a = dt_json_array ();

    for (size_t i = 0; i < l->n_job; i++)
        dt_json_append (a, dt_job_json (l->job[i]));
    dt_json_set (o, "jobs", a);
    dt_json_print (o);
}

static const struct dt_ctl_option options[] = {
    { "limit", 0, "N", "of those that have ended, none before the newest N (default: 100)" },
    { 0 },
};

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__JobListRequest body = DETENT__JOB_LIST_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    uint64_t limit = 0;
    int r;

    if ((r = dt_ctl_u64 (c, "limit", UINT32_MAX, &limit, reterr)) < 0)
        return r;
    body.has_limit = dt_ctl_flag (c, "limit");
    body.limit = (uint32_t)limit;
    rq.body_case = DETENT__REQUEST__BODY_JOB_LIST;
    rq.job_list = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_JOB_LIST, 30, &reply, reterr)) < 0)
        return r;
    (c->json ? print_json : print_table) (reply->job_list);
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

const struct dt_ctl_command dt_cmd_jobs = {
    "jobs", "", 0, 0, "List the jobs of detentd.", options, run,
};
