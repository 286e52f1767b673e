/* tests/fuzz/fuzz_dtrace.c - any bytes into the .dtrace decoder; what it accepts
 * must survive a round trip. */
#include <stdint.h>
#include <stdlib.h>

#include "trace/dtrace.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    struct dt_trace *t = NULL, *u = NULL;
    struct dt_buf b = { 0 };

    if (dt_trace_decode (data, n, &t, NULL) < 0)
        return 0;
    if (dt_trace_encode (t, &b, NULL) < 0 || dt_trace_decode (b.data, b.len, &u, NULL) < 0 ||
        t->n_sites != u->n_sites || t->bytes != u->bytes)
        abort ();
    dt_trace_free (t);
    dt_trace_free (u);
    dt_buf_done (&b);
    return 0;
}
