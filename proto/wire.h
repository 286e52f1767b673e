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
#define DT_WIRE_MAX_DEVICE 1023 /* ordinal; far more than a node has */

/* A name of a deployment, workload or site: [a-z0-9][a-z0-9._-]{0,62}.  NULL is
 * none. */
int dt_wire_name_ok (const char *name);

/* The daemon's default endpoint: $DETENT_ENDPOINT, else ipc:// of detentd.sock in
 * $DETENT_RUNTIME_DIR, else in $XDG_RUNTIME_DIR/detent, else in /run/detent.
 * Empty variables count as unset.  NULL out of memory.  Owned by the caller. */
char *dt_wire_endpoint (void);

/* A client: one DEALER socket; one request at a time; one thread.
 *
 * It survives a restart of the daemon: it connects again by itself, and a request
 * that waits for the daemon to come back is sent when it does.  A daemon that was
 * never there (no socket at the path, or nobody listens on it) is told at once,
 * without waiting.  A request whose connection breaks before the reply fails: the
 * daemon may or may not have done it. */
struct dt_client;

/* `endpoint` is ipc:// and a path ("ipc://@name": Linux's abstract name).
 *   -DT_EINPUT  another form, a path longer than 107 bytes */
int dt_client_open (const char *endpoint, struct dt_client **ret, struct dt_err *reterr);
struct dt_client *dt_client_close (struct dt_client *c); /* NULL ok; returns NULL */

/* Send a request; its id and version are filled in.  timeout_ms < 0: no limit.
 *   -DT_EUNREACH  not there, or not sent within timeout_ms
 *   -DT_ELIMIT    larger than DT_WIRE_MAX_BYTES
 *   -EINTR        a signal came */
int dt_client_send (struct dt_client *c, Detent__Request *rq, int timeout_ms,
                    struct dt_err *reterr);
/* The next reply to the last request, owned by the caller
 * (detent__reply__free_unpacked (r, NULL)).  Replies to older requests are
 * dropped.  An Error body is turned into its code and text.
 *   -DT_EUNREACH  nothing within timeout_ms, or the connection broke
 *   -DT_EVERSION  a malformed frame
 *   -EINTR        a signal came; call again to go on waiting */
int dt_client_recv (struct dt_client *c, int timeout_ms, Detent__Reply **ret,
                    struct dt_err *reterr);
/* Send, and receive the final reply; timeout_ms holds for the whole. */
int dt_client_call (struct dt_client *c, Detent__Request *rq, int timeout_ms,
                    Detent__Reply **ret, struct dt_err *reterr);

/* Unpack with base/mem.h, so that tests can fail each allocation; release with
 * detent__*__free_unpacked (m, NULL). */
extern ProtobufCAllocator dt_wire_allocator;

#endif
