/* detentctl/cmd_attach.c - follow a job that is under way, or see how it ended. */
#include "detentctl/commands.h"
#include "detentctl/job.h"

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__JobAttachRequest body = DETENT__JOB_ATTACH_REQUEST__INIT;
    int r;

    if ((r = dt_ctl_arg_u64 (c, 0, &body.job, reterr)) < 0)
        return r;
    rq.body_case = DETENT__REQUEST__BODY_JOB_ATTACH;
    rq.job_attach = &body;
    return dt_job_follow (c, &rq, reterr);
}

const struct dt_ctl_command dt_cmd_attach = {
    "attach", "JOB", 1, 1, "Follow a job until it ends, and show what came out.", NULL, run,
};
