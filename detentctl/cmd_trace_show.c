/* detentctl/cmd_trace_show.c - what a trace file holds. */
#include "detentctl/commands.h"
#include "detentctl/trace_view.h"

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    struct dt_trace *t = NULL;
    struct dt_buf b = { 0 };
    int r;

    if ((r = dt_trace_read (c->arg[0], DT_TRACE_MAX_BYTES, &b, &t, reterr)) == 0)
        dt_trace_print (c, t, b.data, b.len);
    dt_trace_free (t);
    dt_buf_done (&b);
    return r;
}

const struct dt_ctl_command dt_cmd_trace_show = {
    "trace show", "FILE", 1, 1, "Check a trace file and show what it holds.", NULL, run,
};
