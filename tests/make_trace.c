/* tests/make_trace.c - a .dtrace of attention/decoder from an azure-csv log.
 * usage: make_trace LOG TRACE REQUESTS */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "trace/import.h"

int main (int argc, char **argv)
{
    struct dt_scheduler s = dt_scheduler_default ();
    struct dt_trace *t = dt_trace_new ();
    struct dt_err err = { "wrong usage" };
    struct dt_requests requests = { .n = 0 };
    struct dt_buf log, out;
    int bad;

    dt_buf_init (&log);
    dt_buf_init (&out);
    bad = argc != 4 || !t || dt_file_read (argv[1], 1u << 26, &log, &err) < 0
          || dt_requests_parse ("azure-csv", log.data, log.len, strtoul (argv[3], NULL, 10),
                                &requests, &err) < 0
          || dt_trace_text (&t->deployment, "host-small", &err) < 0
          || dt_trace_add_site (t, "attention", "decoder", 4, &err) < 0
          || dt_schedule (&requests, &s, t, NULL, &err) < 0 || dt_trace_encode (t, &out, &err) < 0
          || dt_file_replace (argv[2], out.data, out.len, 0600, &err) < 0;
    if (bad)
        fprintf (stderr, "make_trace: %s\n", err.text);
    dt_requests_done (&requests);
    dt_buf_done (&log);
    dt_buf_done (&out);
    dt_trace_free (t);
    return bad;
}
