/* proto/frame.h - length-prefixed frames over a stream socket (worker and daemon).
 * Uses: base/.  Used by: detentd, profiler.
 *
 * A frame is u32 length, little-endian, and the bytes; at most DT_FRAME_MAX. */
#ifndef DT_PROTO_FRAME_H
#define DT_PROTO_FRAME_H

#include "base/buf.h"
#include "base/err.h"

#define DT_FRAME_MAX (64u << 20)

/* Write one frame whole within timeout_ms (-1: no limit); waits while the socket is
 * full; never raises SIGPIPE.  After -ETIMEDOUT the stream is out of step: close it.
 *   -DT_EWORKER  the peer is gone
 *   -ETIMEDOUT   it did not take the whole frame in time
 *   -DT_ELIMIT   longer than DT_FRAME_MAX; nothing was written */
int dt_frame_write (int fd, const void *data, size_t n, int timeout_ms,
                    struct dt_err *reterr);
/* Read one frame, appended to `ret`, within timeout_ms (-1: no limit).  Memory
 * grows with what arrives, not with the length that the peer states.  After any
 * failure the stream is out of step: close it.  `ret` is then as before.
 *   -DT_EWORKER  the peer closed or reset the connection
 *   -ETIMEDOUT   no whole frame in time
 *   -DT_ELIMIT   longer than DT_FRAME_MAX */
int dt_frame_read (int fd, int timeout_ms, struct dt_buf *ret, struct dt_err *reterr);

#endif
