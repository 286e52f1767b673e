/* detentctl/cmd_cancel.c - end a job; what it measured is kept. */
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/job.h"

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__JobCancelRequest body = DETENT__JOB_CANCEL_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    int r;

    if ((r = dt_ctl_arg_u64 (c, 0, &body.job, reterr)) < 0)
        return r;
    rq.body_case = DETENT__REQUEST__BODY_JOB_CANCEL;
    rq.job_cancel = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_JOB, 30, &reply, reterr)) < 0)
        return r;
    dt_job_print (c, reply->job);
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

const struct dt_ctl_command dt_cmd_cancel = {
    "cancel", "JOB", 1, 1, "End a job; what it has measured is kept.", NULL, run,
};
