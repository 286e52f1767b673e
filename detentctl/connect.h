/* detentctl/connect.h - one request to detentd.
 * Uses: options.h, proto/wire.h.  Used by: the commands. */
#ifndef DT_CTL_CONNECT_H
#define DT_CTL_CONNECT_H

#include "detentctl/options.h"
#include "proto/wire.h"

/* Connect to --endpoint or the default one. */
int dt_ctl_connect (const struct dt_ctl *c, struct dt_client **ret, struct dt_err *reterr);
/* --timeout in milliseconds, or the given default in seconds. */
int dt_ctl_timeout (const struct dt_ctl *c, double default_s, int *ret_ms, struct dt_err *reterr);
/* Connect, ask and return the final reply, whose body is `want`; free it with
 * detent__reply__free_unpacked (r, NULL).
 *   -DT_EUNREACH, -DT_EVERSION (another body), or the daemon's error */
int dt_ctl_call (const struct dt_ctl *c, Detent__Request *rq, Detent__Reply__BodyCase want,
                 double default_s, Detent__Reply **ret, struct dt_err *reterr);

/* 64 hex digits of an option, as bytes of a message; `d` keeps them. */
struct dt_digest;
int dt_ctl_digest (const struct dt_ctl *c, const char *option, struct dt_digest *d, int *ret_has,
                   ProtobufCBinaryData *ret, struct dt_err *reterr);

#endif
