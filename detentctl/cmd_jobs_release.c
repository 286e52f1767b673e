/* detentctl/cmd_jobs_release.c - let jobs go on that wait for a device. */
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/hold_view.h"
#include "detentctl/print.h"

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__HoldReleaseRequest body = DETENT__HOLD_RELEASE_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    json_t *o;
    int r;

    body.device = c->n_args ? c->arg[0] : NULL;
    rq.body_case = DETENT__REQUEST__BODY_HOLD_RELEASE;
    rq.hold_release = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_HOLD_LIST, 30, &reply, reterr)) < 0)
        return r;
    if (c->json) {
        o = dt_json_object ();
        dt_json_set (o, "released", dt_holds_json (reply->hold_list->hold,
                                                   reply->hold_list->n_hold));
        dt_json_print (o);
    } else if (reply->hold_list->n_hold == 0)
        puts ("No device is held.");
    else
        dt_holds_print (reply->hold_list->hold, reply->hold_list->n_hold, "released");
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

const struct dt_ctl_command dt_cmd_jobs_release = {
    "jobs release", "[DEVICE]", 0, 1, "Let jobs go on that wait for a lost device, or for all.", NULL,
    run,
};
