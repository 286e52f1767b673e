/* detentctl/cmd_pins.c - the pins of a deployment's last solve. */
#include "detentctl/commands.h"
#include "detentctl/site.h"

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    struct dt_solved v;
    int r = dt_solved_ask (c, c->arg[0], &v, reterr);

    if (r < 0)
        return r;
    dt_site_print (c, &v, DT_SITE_PINS);
    dt_solved_done (&v);
    return 0;
}

const struct dt_ctl_command dt_cmd_pins = {
    "pins", "DEPLOYMENT", 1, 1, "Show the pins and knobs that the last solve of a deployment found.",
    NULL, run,
};
