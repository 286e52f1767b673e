/* detentctl/cmd_completion.c - completion for a shell. */
#include <string.h>

#include "detentctl/commands.h"

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    if (strcmp (c->arg[0], "bash"))
        return dt_err_set (reterr, -DT_EUSAGE, "no completion for '%s'; there is one for bash",
                           c->arg[0]);
    dt_ctl_completion (stdout);
    return 0;
}

const struct dt_ctl_command dt_cmd_completion = {
    "completion", "bash", 1, 1, "Print a completion script for the shell.", NULL, run,
};
