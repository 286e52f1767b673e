/* detentctl/cmd_pins.c - the pins of a deployment's last solve. */
#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/site.h"

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__PinsRequest body = DETENT__PINS_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    int r;

    body.deployment = c->arg[0];
    rq.body_case = DETENT__REQUEST__BODY_PINS;
    rq.pins = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_PINS, 30, &reply, reterr)) < 0)
        return r;
    dt_site_print (c, reply->pins->deployment, reply->pins->site, reply->pins->n_site, 1);
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

const struct dt_ctl_command dt_cmd_pins = {
    "pins", "DEPLOYMENT", 1, 1, "Show the pins and knobs that the last solve of a deployment found.",
    NULL, run,
};
