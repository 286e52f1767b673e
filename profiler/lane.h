/* profiler/lane.h - one context with buffers that grow, for calls that are compared.
 * Uses: base/, include/detent/backend.h.  Used by: profiler/certify*.c. */
#ifndef DT_PROFILER_LANE_H
#define DT_PROFILER_LANE_H

#include "base/err.h"
#include "detent/backend.h"

struct dt_lane_buffer {
    void *data;
    size_t bytes;
};

/* A context is used by one thread at a time, and so is its lane. */
struct dt_lane {
    const struct dt_backend *b;
    struct dt_backend_ctx *ctx; /* borrowed */
    struct dt_lane_buffer operands, output, workspace;
    size_t filled_bytes; /* of operands, as the last fill's plan said */
    struct dt_backend_row *row; /* of the last run */
    size_t room_rows;
    uint8_t *host; /* the last run's output */
    size_t room_host;
};

void dt_lane_init (struct dt_lane *l, const struct dt_backend *b, struct dt_backend_ctx *ctx);
void dt_lane_done (struct dt_lane *l);

/* Is there a kernel?  1, 0 if the backend refuses the call, or -ENOMEM and the like. */
int dt_lane_takes (struct dt_lane *l, const struct dt_backend_call *call,
                   struct dt_err *reterr);
/* Write the call's operands over `poison` bytes, which show where nothing is written. */
int dt_lane_fill (struct dt_lane *l, const struct dt_backend_call *call, uint64_t scatter,
                  int poison, struct dt_err *reterr);
/* Run the filled call on an output and a workspace of `poison` bytes. */
int dt_lane_run (struct dt_lane *l, const struct dt_backend_call *call, int poison,
                 struct dt_err *reterr);
/* Fetch the last run's output and rows into the lane. */
int dt_lane_read (struct dt_lane *l, const struct dt_backend_call *call, struct dt_err *reterr);

#endif
