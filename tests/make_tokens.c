/* tests/make_tokens.c - a .dtrace of one site of gemm, from its calls' token counts.
 * usage: make_tokens DEPLOYMENT SITE TRACE TOKENS... */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "trace/dtrace.h"

int main (int argc, char **argv)
{
    struct dt_trace *t = dt_trace_new ();
    struct dt_err err = { "wrong usage" };
    struct dt_buf out;
    int bad;

    dt_buf_init (&out);
    bad = argc < 5 || !t || dt_trace_text (&t->deployment, argv[1], &err) < 0
          || dt_trace_add_site (t, "gemm", argv[2], 1, &err) < 0;
    for (int i = 4; !bad && i < argc; i++) {
        int64_t tokens = atoll (argv[i]);
        struct dt_call call = { 1, &tokens };

        bad = dt_trace_add_call (t, 0, 1, 0, &call, NULL, &err) < 0;
    }
    bad = bad || dt_trace_encode (t, &out, &err) < 0
          || dt_file_replace (argv[3], out.data, out.len, 0600, &err) < 0;
    if (bad)
        fprintf (stderr, "make_tokens: %s\n", err.text);
    dt_buf_done (&out);
    dt_trace_free (t);
    return bad;
}
