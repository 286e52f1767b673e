/* tests/fuzz/fuzz_import.c - any bytes into each log parser, and what they accept
 * into the scheduler.  The first byte picks the format. */
#include <stdint.h>

#include "trace/import.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    struct dt_scheduler s = dt_scheduler_default ();
    struct dt_requests r;
    struct dt_trace *t;

    if (n < 1 || dt_requests_parse (dt_requests_formats ()[data[0] & 1], data + 1, n - 1, 0, &r,
                                    NULL) < 0)
        return 0;
    s.max_steps = 100;
    s.prefix_cache_blocks = r.block_tokens ? 16 : 0;
    t = dt_trace_new ();
    if (t && dt_trace_add_site (t, "attention", "x", 1, NULL) == 0)
        dt_schedule (&r, &s, t, NULL, NULL);
    dt_trace_free (t);
    dt_requests_done (&r);
    return 0;
}
