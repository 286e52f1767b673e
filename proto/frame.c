/* proto/frame.c - length-prefixed frames over a stream socket. */
#include "proto/frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/time.h"

#define CHUNK 16384 /* bytes read at a time */

static int gone (struct dt_err *reterr)
{
    return dt_err_set (reterr, -DT_EWORKER, "the other side of the worker's socket is gone");
}

static int wait_for (int fd, short events, uint64_t deadline, struct dt_err *reterr)
{
    struct pollfd p = { .fd = fd, .events = events };
    int n;

    while ((n = poll (&p, 1, dt_time_left_ms (deadline))) < 0 && errno == EINTR)
        ;
    if (n < 0)
        return dt_err_set (reterr, -errno, "worker's socket: %s", strerror (errno));
    if (n == 0)
        return dt_err_set (reterr, -ETIMEDOUT, "the worker did not answer in time");
    return 0;
}

static int write_all (int fd, const uint8_t *p, size_t n, int more, uint64_t deadline,
                      struct dt_err *reterr)
{
    int r;

    while (n > 0) {
        ssize_t k = send (fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0));

        if (k >= 0) {
            p += k;
            n -= (size_t)k;
        } else if (errno == EAGAIN) {
            if ((r = wait_for (fd, POLLOUT, deadline, reterr)) < 0)
                return r;
        } else if (errno == EPIPE || errno == ECONNRESET)
            return gone (reterr);
        else if (errno != EINTR)
            return dt_err_set (reterr, -errno, "worker's socket: %s", strerror (errno));
    }
    return 0;
}

static uint64_t deadline_in (int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : dt_time_mono_ns () + (uint64_t)timeout_ms * 1000000;
}

int dt_frame_write (int fd, const void *data, size_t n, int timeout_ms, struct dt_err *reterr)
{
    uint64_t deadline = deadline_in (timeout_ms);
    uint8_t head[4];
    int r;

    if (n > DT_FRAME_MAX)
        return dt_err_set (reterr, -DT_ELIMIT, "frame of %zu bytes; the limit is %u", n,
                           DT_FRAME_MAX);
    for (int i = 0; i < 4; i++)
        head[i] = (uint8_t)(n >> 8 * i);
    if ((r = write_all (fd, head, 4, n > 0, deadline, reterr)) < 0)
        return r;
    return write_all (fd, data, n, 0, deadline, reterr);
}

static int read_all (int fd, size_t n, uint64_t deadline, struct dt_buf *ret,
                     struct dt_err *reterr)
{
    uint8_t chunk[CHUNK];
    int r;

    while (n > 0) {
        ssize_t k;

        if ((r = wait_for (fd, POLLIN, deadline, reterr)) < 0)
            return r;
        k = recv (fd, chunk, n < CHUNK ? n : CHUNK, MSG_DONTWAIT);
        if (k == 0 || (k < 0 && errno == ECONNRESET))
            return gone (reterr);
        if (k < 0 && errno != EAGAIN && errno != EINTR)
            return dt_err_set (reterr, -errno, "worker's socket: %s", strerror (errno));
        if (k < 0)
            continue;
        dt_buf_put (ret, chunk, (size_t)k);
        if (ret->failed)
            return dt_err_nomem (reterr);
        n -= (size_t)k;
    }
    return 0;
}

int dt_frame_read (int fd, int timeout_ms, struct dt_buf *ret, struct dt_err *reterr)
{
    uint64_t deadline = deadline_in (timeout_ms);
    size_t start = ret->len, n = 0;
    struct dt_buf head;
    int r;

    dt_buf_init (&head);
    if ((r = read_all (fd, 4, deadline, &head, reterr)) < 0)
        goto done;
    for (int i = 0; i < 4; i++)
        n |= (size_t)head.data[i] << 8 * i;
    if (n > DT_FRAME_MAX)
        r = dt_err_set (reterr, -DT_ELIMIT, "frame of %zu bytes; the limit is %u", n,
                        DT_FRAME_MAX);
    else if ((r = read_all (fd, n, deadline, ret, reterr)) < 0)
        ret->len = start;
done:
    dt_buf_done (&head);
    return r;
}
