/* proto/wire.h - requests and replies over ZeroMQ.
 * Uses: base/, protobuf-c, libzmq.  Used by: detentd, detentctl, libdetent. */
#ifndef DT_PROTO_WIRE_H
#define DT_PROTO_WIRE_H

#include "base/err.h"
#include "proto/detent.pb-c.h"

#define DT_WIRE_VERSION 1
#define DT_WIRE_MAX_BYTES (64u << 20)
#define DT_WIRE_MAX_NAME 64
#define DT_WIRE_MAX_MESSAGE 4096

/* A name of a deployment, workload or site: [a-z0-9][a-z0-9._-]{0,62}. */
int dt_wire_name_ok (const char *name);

/* The daemon's default endpoint: $DETENT_ENDPOINT, else ipc:// of detentd.sock in
 * $DETENT_RUNTIME_DIR, else in $XDG_RUNTIME_DIR/detent, else in /run/detent.
 * Owned by the caller. */
char *dt_wire_endpoint (struct dt_err *reterr);

/* A client: one DEALER socket; one request at a time; one thread. */
struct dt_client;

/*   -DT_EUNREACH  malformed endpoint, or an ipc path that is too long (107 bytes) */
int dt_client_open (const char *endpoint, struct dt_client **ret, struct dt_err *reterr);
struct dt_client *dt_client_close (struct dt_client *c);

/* Send a request; its id and version are filled in.
 *   -DT_EUNREACH  not sent within timeout_ms;  -DT_ELIMIT  too large */
int dt_client_send (struct dt_client *c, Detent__Request *rq, int timeout_ms,
                    struct dt_err *reterr);
/* The next reply to the last request, owned by the caller
 * (detent__reply__free_unpacked (r, NULL)).  Replies to older requests are
 * dropped.  An Error body is turned into its code and text.
 *   -DT_EUNREACH  nothing within timeout_ms;  -DT_EINPUT  a malformed frame */
int dt_client_recv (struct dt_client *c, int timeout_ms, Detent__Reply **ret,
                    struct dt_err *reterr);
/* Send, and receive the final reply. */
int dt_client_call (struct dt_client *c, Detent__Request *rq, int timeout_ms,
                    Detent__Reply **ret, struct dt_err *reterr);

#endif
