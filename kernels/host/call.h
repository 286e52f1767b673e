/* host/call.h - what every family checks of a call, and how it refuses one.
 * Uses: kernels/host/host.h.  Used by: kernels/<family>/host. */
#ifndef KERNELS_HOST_CALL_H
#define KERNELS_HOST_CALL_H

#include "kernels/host/host.h"

/* Parameter p of one request. */
int64_t host_param (const struct dt_backend_call *call, size_t p, size_t request);

/* Fail with the message, the site's facts, the call's size and its parameters (of
 * the first request, where they differ by request).  Returns 'code'. */
int host_refuse (const struct dt_backend_call *call, struct dt_backend_error *err, int code,
                 const char *format, ...) __attribute__ ((format (printf, 4, 5)));

/* Each fact within its range.  -EINVAL */
int host_check_facts (const struct dt_backend_call *call, struct dt_backend_error *err);
/* Each parameter among its values, one for the call unless it is per request.  -EINVAL */
int host_check_params (const struct dt_backend_call *call, struct dt_backend_error *err);
/* No buffer beyond what memory can hold.  -EINVAL */
int host_check_size (const struct dt_backend_call *call, const struct host_size *size,
                     struct dt_backend_error *err);

void host_mix_facts (uint64_t digest[2], const struct dt_backend_call *call);
#endif
