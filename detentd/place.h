/* detentd/place.h - the daemon's directories, lock and endpoint.
 * Uses: base/.  Used by: daemon.c. */
#ifndef DT_DETENTD_PLACE_H
#define DT_DETENTD_PLACE_H

#include "base/err.h"

/* Make the state directory private, refuse a network file system, and hold its
 * lock: *ret is the lock's file descriptor, which close releases.
 *   -EBUSY  another detentd has it */
int dt_place_lock (const char *state_dir, int *ret, struct dt_err *reterr);
/* Check an endpoint and clear a stale socket away.
 *   -DT_EUSAGE  not an absolute ipc:// path, or over 107 bytes
 *   -EADDRINUSE somebody listens there     -EEXIST  not a socket: left alone */
int dt_place_endpoint (const char *endpoint, struct dt_err *reterr);
/* Remove the socket of an endpoint that this process was bound to. */
void dt_place_clear (const char *endpoint);
/* The endpoint of events beside it: .pub for .sock, else .pub appended.  Owned by
 * the caller; NULL out of memory. */
char *dt_place_events (const char *endpoint);

#endif
