/* detentctl/cmd_tune.c - measure a workload and choose its tuple. */
#include "base/digest.h"
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/job.h"

static const struct dt_ctl_option options[] = {
    { "deployment", 0, "NAME", "a deployment that was solved" },
    { "workload", 0, "NAME", "the workload whose trace is replayed" },
    { "trace", 0, "DIGEST", "replay this trace (default: the workload's newest)" },
    { "budget", 0, "SECONDS", "time for each site" },
    { "max-calls", 0, "N", "replay at most N distinct calls of each site" },
    { "exhaustive", 0, NULL, "measure every legal assignment on every replayed call" },
    { "detach", 0, NULL, "print the job's number and do not wait for its end" },
    { 0 },
};

static int fill (const struct dt_ctl *c, Detent__TuneRequest *body, struct dt_digest *trace,
                 struct dt_err *reterr)
{
    const char *deployment, *workload;
    uint64_t calls = 0;
    double budget = 0;
    int r, has;

    if ((r = dt_ctl_name (c, "deployment", &deployment, reterr)) < 0
        || (r = dt_ctl_name (c, "workload", &workload, reterr)) < 0
        || (r = dt_ctl_seconds (c, "budget", &budget, reterr)) < 0
        || (r = dt_ctl_u64 (c, "max-calls", UINT32_MAX, &calls, reterr)) < 0
        || (r = dt_ctl_digest (c, "trace", trace, &has, &body->trace, reterr)) < 0)
        return r;
    body->has_trace = has;
    body->deployment = (char *)deployment;
    body->workload = (char *)workload;
    body->has_budget_s = dt_ctl_flag (c, "budget");
    body->budget_s = budget;
    body->has_max_calls = dt_ctl_flag (c, "max-calls");
    body->max_calls = calls;
    body->has_exhaustive = body->exhaustive = dt_ctl_flag (c, "exhaustive");
    body->has_detach = body->detach = dt_ctl_flag (c, "detach");
    return 0;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    static const char *const needed[] = { "deployment", "workload", NULL };
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TuneRequest body = DETENT__TUNE_REQUEST__INIT;
    struct dt_digest trace;
    int r;

    if ((r = dt_ctl_need (c, needed, reterr)) < 0 || (r = fill (c, &body, &trace, reterr)) < 0)
        return r;
    rq.body_case = DETENT__REQUEST__BODY_TUNE;
    rq.tune = &body;
    return dt_job_follow (c, &rq, reterr);
}

const struct dt_ctl_command dt_cmd_tune = {
    "tune", "", 0, 0, "Replay a workload on the kernels and choose its cheapest legal tuple.",
    options, run,
};
