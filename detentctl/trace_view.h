/* detentctl/trace_view.h - what a .dtrace holds, for people and as JSON.
 * Uses: print.h, trace/.  Used by: cmd_trace_*.c. */
#ifndef DT_CTL_TRACE_VIEW_H
#define DT_CTL_TRACE_VIEW_H

#include "base/buf.h"
#include "detentctl/options.h"
#include "trace/dtrace.h"

/* `data` is the trace as encoded. */
void dt_trace_print (const struct dt_ctl *c, const struct dt_trace *t, const void *data, size_t n);
/* Read and decode a file; errors name it. */
int dt_trace_read (const char *path, size_t max_bytes, struct dt_buf *ret_data,
                   struct dt_trace **ret, struct dt_err *reterr);

#endif
