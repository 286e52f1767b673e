/* verify/runner.h - one batch on a backend, with buffers that grow.
 * Uses: verify/battery.h.  Used by: verify/battery.c. */
#ifndef DT_VERIFY_RUNNER_H
#define DT_VERIFY_RUNNER_H

#include "verify/battery.h"

struct dt_runner_buffer {
    void *data;
    size_t bytes;
};

/* The result of the last run is in host, after dt_runner_read. */
struct dt_runner {
    const struct dt_battery *o;
    struct dt_backend_call call;
    struct dt_runner_buffer operands, output, workspace;
    struct dt_backend_row *row; /* [n_requests] of the batch */
    uint8_t *host;
    size_t host_bytes, output_bytes, element_bytes;
};

void dt_runner_init (struct dt_runner *r, const struct dt_battery *o);
void dt_runner_done (struct dt_runner *r);

/* Write the operands of a batch, which both parameter sets then run on.  request
 * and seed are borrowed until the next fill. */
int dt_runner_fill (struct dt_runner *r, size_t n_requests, const int64_t *request,
                    const uint64_t *seed, const struct dt_backend_value *a,
                    const struct dt_backend_value *b, uint64_t scatter, struct dt_err *reterr);
/* Run the filled batch; *ret_ns is the kernels' time. */
int dt_runner_run (struct dt_runner *r, const struct dt_backend_value *param, uint64_t *ret_ns,
                   struct dt_err *reterr);
int dt_runner_read (struct dt_runner *r, struct dt_err *reterr);

#endif
