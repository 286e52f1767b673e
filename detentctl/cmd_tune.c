/* detentctl/cmd_tune.c - measure a workload and choose its tuple. */
#include "base/digest.h"
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/forced.h"
#include "detentctl/job.h"

static const struct dt_ctl_option options[] = {
    { "deployment", 0, "NAME", "a deployment that was solved" },
    { "workload", 0, "NAME", "the workload whose trace is replayed" },
    { "trace", 0, "DIGEST", "replay this trace (default: the workload's newest)" },
    { "all-traces", 0, NULL, "one tuple for all traces of the workload: the least mean cost over "
                             "the incumbent's" },
    { "budget", 0, "SECONDS", "time for each site" },
    { "max-calls", 0, "N", "replay at most N distinct calls of each site" },
    { "exhaustive", 0, NULL, "measure every legal assignment on every replayed call" },
    { "force", 0, "LIST", "pins and knobs to set by hand, as SITE:NAME=VALUE,..." },
    { "no-tables", 0, NULL, "leave free values to the program: no tables for them" },
    { "anew", 0, NULL, "time all, also what an earlier tune of the same timed" },
    { "device", 0, "N", "on this device of the backend; ranks take those that follow too "
                        "(default: 0)" },
    { "shared", 0, NULL, "also beside other processes on the device; the result says how many" },
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
        || (r = dt_ctl_u32 (c, "device", DT_WIRE_MAX_DEVICE, &body->device, &body->has_device,
                            reterr)) < 0
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
    body->has_all_traces = body->all_traces = dt_ctl_flag (c, "all-traces");
    body->has_no_tables = body->no_tables = dt_ctl_flag (c, "no-tables");
    body->has_anew = body->anew = dt_ctl_flag (c, "anew");
    body->has_shared = body->shared = dt_ctl_flag (c, "shared");
    body->has_detach = body->detach = dt_ctl_flag (c, "detach");
    return 0;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    static const char *const needed[] = { "deployment", "workload", NULL };
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TuneRequest body = DETENT__TUNE_REQUEST__INIT;
    struct dt_forced forced;
    struct dt_digest trace;
    int r;

    if ((r = dt_ctl_need (c, needed, reterr)) < 0 || (r = fill (c, &body, &trace, reterr)) < 0)
        return r;
    rq.body_case = DETENT__REQUEST__BODY_TUNE;
    rq.tune = &body;
    if ((r = dt_forced_parse (c, "force", &forced, reterr)) < 0)
        return r;
    body.force = forced.list;
    body.n_force = forced.n;
    r = dt_job_follow (c, &rq, reterr);
    dt_forced_done (&forced);
    return r;
}

const struct dt_ctl_command dt_cmd_tune = {
    "tune", "", 0, 0, "Replay a workload on the kernels and choose its cheapest legal tuple.",
    options, run,
};
