/* proto/wire.c - requests and replies over ZeroMQ. */
#include "proto/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "base/mem.h"
#include "base/time.h"

#define MONITOR "inproc://monitor" /* each client has a context of its own */
#define RECONNECT_MS 50
#define RECONNECT_MAX_MS 200

struct dt_client {
    char *endpoint;
    void *ctx, *socket, *monitor;
    uint64_t last_id;   /* of the request that is waited for */
    int connected;      /* as the monitor tells */
    int was_connected;  /* a daemon has been there: wait for it to come back */
    int waiting;        /* a request was sent and its final reply did not come */
    int broken;         /* the connection broke while waiting */
};

static void *allocate (void *data, size_t n)
{
    (void)data;
    return dt_calloc (n, 1);
}

static void release (void *data, void *p)
{
    (void)data;
    dt_free (p);
}

ProtobufCAllocator dt_wire_allocator = { .alloc = allocate, .free = release };

int dt_wire_name_ok (const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t n = name ? strnlen (name, DT_WIRE_MAX_NAME) : 0;

    return n > 0 && n < DT_WIRE_MAX_NAME && strchr (first, name[0]) && strspn (name, rest) == n;
}

static const char *environment (const char *name)
{
    const char *s = getenv (name);

    return s && *s ? s : NULL;
}

char *dt_wire_endpoint (void)
{
    const char *s;

    if ((s = environment ("DETENT_ENDPOINT")))
        return dt_strdup (s);
    if ((s = environment ("DETENT_RUNTIME_DIR")))
        return dt_strf ("ipc://%s/detentd.sock", s);
    if ((s = environment ("XDG_RUNTIME_DIR")))
        return dt_strf ("ipc://%s/detent/detentd.sock", s);
    return dt_strdup ("ipc:///run/detent/detentd.sock");
}

/* --- the connection -------------------------------------------------------- */

static int unreachable (const struct dt_client *c, const char *why, struct dt_err *reterr)
{
    return dt_err_set (reterr, -DT_EUNREACH,
                       "detentd does not answer at %s (%s); is it running? (detentd --help, "
                       "systemctl status detentd)",
                       c->endpoint, why);
}

static int check_endpoint (const char *endpoint, struct dt_err *reterr)
{
    struct sockaddr_un a;
    size_t n;

    if (strncmp (endpoint, "ipc://", 6) || !endpoint[6])
        return dt_err_set (reterr, -DT_EINPUT,
                           "endpoint '%s': write ipc:// and the path of detentd's socket",
                           endpoint);
    n = strlen (endpoint + 6);
    if (n >= sizeof a.sun_path)
        return dt_err_set (reterr, -DT_EINPUT,
                           "endpoint '%s': the path has %zu bytes, a socket's may have %zu; set "
                           "DETENT_RUNTIME_DIR to a shorter one",
                           endpoint, n, sizeof a.sun_path - 1);
    return 0;
}

static void monitor_drain (struct dt_client *c)
{
    zmq_msg_t m;
    uint16_t event;

    zmq_msg_init (&m);
    while (zmq_msg_recv (&m, c->monitor, ZMQ_DONTWAIT) >= 0) {
        int more = zmq_msg_more (&m); /* the second part is the address */

        if (more && zmq_msg_size (&m) >= sizeof event) {
            memcpy (&event, zmq_msg_data (&m), sizeof event);
            c->connected = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
            c->was_connected |= c->connected;
            c->broken |= !c->connected && c->waiting;
        }
    }
    zmq_msg_close (&m);
}

static int set_int (void *socket, int option, int value)
{
    return zmq_setsockopt (socket, option, &value, sizeof value);
}

/* 0, or -1 with errno.  ZMQ_IMMEDIATE stays off: with it, a broken connection takes
 * along the replies that came over it and were not read yet. */
static int start (struct dt_client *c)
{
    int64_t most = DT_WIRE_MAX_BYTES;
    int events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED;

    if (!(c->ctx = zmq_ctx_new ()) || !(c->socket = zmq_socket (c->ctx, ZMQ_DEALER))
        || set_int (c->socket, ZMQ_LINGER, 0)
        || set_int (c->socket, ZMQ_RECONNECT_IVL, RECONNECT_MS)
        || set_int (c->socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS)
        || zmq_setsockopt (c->socket, ZMQ_MAXMSGSIZE, &most, sizeof most)
        || zmq_socket_monitor (c->socket, MONITOR, events)
        || !(c->monitor = zmq_socket (c->ctx, ZMQ_PAIR)) || set_int (c->monitor, ZMQ_LINGER, 0)
        || zmq_connect (c->monitor, MONITOR))
        return -1;
    return zmq_connect (c->socket, c->endpoint);
}

int dt_client_open (const char *endpoint, struct dt_client **ret, struct dt_err *reterr)
{
    struct dt_client *c;
    int r;

    if ((r = check_endpoint (endpoint, reterr)) < 0)
        return r;
    if (!(c = dt_calloc (1, sizeof *c)) || !(c->endpoint = dt_strdup (endpoint))) {
        dt_client_close (c);
        return dt_err_nomem (reterr);
    }
    if (start (c) < 0) {
        r = dt_err_set (reterr, -DT_EUNREACH, "endpoint '%s': %s", endpoint,
                        zmq_strerror (errno));
        dt_client_close (c);
        return r;
    }
    *ret = c;
    return 0;
}

struct dt_client *dt_client_close (struct dt_client *c)
{
    if (!c)
        return NULL;
    if (c->socket)
        zmq_close (c->socket);
    if (c->monitor)
        zmq_close (c->monitor);
    if (c->ctx)
        zmq_ctx_term (c->ctx);
    dt_free (c->endpoint);
    dt_free (c);
    return NULL;
}

/* Is somebody listening?  Asked of the socket's path itself, since ZeroMQ tries
 * again in silence.  0, or -DT_EUNREACH. */
static int probe (const struct dt_client *c, struct dt_err *reterr)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    const char *path = c->endpoint + 6;
    size_t n = strlen (path);
    socklen_t len = (socklen_t)(offsetof (struct sockaddr_un, sun_path) + n + (path[0] != '@'));
    int fd, r = 0, e;

    memcpy (a.sun_path, path, n);
    if (path[0] == '@')
        a.sun_path[0] = '\0';
    if ((fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
        return dt_err_set (reterr, -errno, "socket: %s", strerror (errno));
    e = connect (fd, (struct sockaddr *)&a, len) < 0 ? errno : 0;
    close (fd);
    if (e == ENOENT || e == ENOTDIR)
        r = unreachable (c, "no socket there", reterr);
    else if (e == EACCES || e == EPERM)
        r = dt_err_set (reterr, -DT_EUNREACH,
                        "detentd cannot be asked at %s (%s): only its own user and root may",
                        c->endpoint, strerror (e));
    else if (e && e != EAGAIN && e != EINTR && e != EINPROGRESS) /* a full backlog is alive */
        r = unreachable (c, strerror (e), reterr);
    return r;
}

/* --- one request ------------------------------------------------------------ */

static uint64_t deadline_of (int timeout_ms)
{
    return timeout_ms < 0 ? UINT64_MAX : dt_time_mono_ns () + (uint64_t)timeout_ms * 1000000;
}

/* Wait until the socket is ready for `events` (0: until it is connected) or the
 * connection of a request that waits breaks.  After a
 * break the socket is looked at once more: the reply may have come just before. */
static int wait_for (struct dt_client *c, short events, uint64_t deadline, struct dt_err *reterr)
{
    zmq_pollitem_t p[2] = { { .socket = c->socket, .events = events },
                            { .socket = c->monitor, .events = ZMQ_POLLIN } };

    for (int last = 0;; last = c->broken) {
        int n = zmq_poll (p, 2, last ? 0 : dt_time_left_ms (deadline));

        if (n < 0 && errno == EINTR)
            return dt_err_set (reterr, -EINTR, "interrupted");
        if (n < 0)
            return dt_err_set (reterr, -EIO, "%s: %s", c->endpoint, zmq_strerror (errno));
        if (p[1].revents)
            monitor_drain (c);
        if (p[0].revents || (!events && c->connected))
            return 0;
        if (last)
            return unreachable (c, "the connection broke before the reply", reterr);
        if (n == 0)
            return unreachable (c, "no answer in time", reterr);
    }
}

static int pack (const Detent__Request *rq, zmq_msg_t *ret, struct dt_err *reterr)
{
    size_t n = detent__request__get_packed_size (rq);

    if (n > DT_WIRE_MAX_BYTES)
        return dt_err_set (reterr, -DT_ELIMIT, "request of %zu bytes; the limit is %u", n,
                           DT_WIRE_MAX_BYTES);
    if (zmq_msg_init_size (ret, n))
        return dt_err_nomem (reterr);
    detent__request__pack (rq, zmq_msg_data (ret));
    return 0;
}

/* Hand the message to ZeroMQ on a connection that the monitor knows of: a request
 * is never queued for a daemon that is not there, and one that goes down with its
 * connection is told. */
static int push (struct dt_client *c, zmq_msg_t *m, uint64_t deadline, struct dt_err *reterr)
{
    int r;

    for (;;) {
        if (!c->connected && (r = wait_for (c, 0, deadline, reterr)) < 0)
            return r;
        c->waiting = 1;
        if (zmq_msg_send (m, c->socket, ZMQ_DONTWAIT) >= 0)
            return 0;
        c->waiting = 0;
        if (errno != EAGAIN && errno != EINTR)
            return dt_err_set (reterr, -EIO, "%s: %s", c->endpoint, zmq_strerror (errno));
        if ((r = wait_for (c, ZMQ_POLLOUT, deadline, reterr)) < 0)
            return r;
    }
}

static int send_by (struct dt_client *c, Detent__Request *rq, uint64_t deadline,
                    struct dt_err *reterr)
{
    zmq_msg_t m;
    int r;

    c->waiting = c->broken = 0; /* the reply to an older request is not wanted */
    monitor_drain (c);
    if (!c->was_connected && (r = probe (c, reterr)) < 0)
        return r;
    rq->id = ++c->last_id;
    rq->version = DT_WIRE_VERSION;
    if ((r = pack (rq, &m, reterr)) < 0)
        return r;
    if ((r = push (c, &m, deadline, reterr)) < 0)
        zmq_msg_close (&m);
    return r;
}

/* One frame, unpacked; NULL and 0 if it answers an older request. */
static int take (struct dt_client *c, zmq_msg_t *m, Detent__Reply **ret, struct dt_err *reterr)
{
    Detent__Reply *reply = NULL;
    int more = zmq_msg_more (m);

    if (!more)
        reply = detent__reply__unpack (&dt_wire_allocator, zmq_msg_size (m), zmq_msg_data (m));
    while (more && zmq_msg_recv (m, c->socket, 0) >= 0)
        more = zmq_msg_more (m);
    if (!reply) {
        c->waiting = 0;
        return dt_err_set (reterr, -DT_EVERSION,
                           "%s: a malformed reply; are client and daemon of one version?",
                           c->endpoint);
    }
    if (reply->id == c->last_id)
        *ret = reply;
    else
        detent__reply__free_unpacked (reply, NULL);
    return 0;
}

/* An Error body becomes a code and text, and the reply is freed. */
static int judge (struct dt_client *c, Detent__Reply *reply, Detent__Reply **ret,
                  struct dt_err *reterr)
{
    int code;

    if (reply->final || reply->body_case == DETENT__REPLY__BODY_ERROR)
        c->waiting = 0;
    if (reply->body_case != DETENT__REPLY__BODY_ERROR) {
        *ret = reply;
        return 0;
    }
    code = reply->error->code;
    if (code <= 0 || code > 65535)
        code = DT_EINPUT;
    dt_err_set (reterr, -code, "%s", reply->error->text);
    detent__reply__free_unpacked (reply, NULL);
    return -code;
}

static int recv_by (struct dt_client *c, uint64_t deadline, Detent__Reply **ret,
                    struct dt_err *reterr)
{
    Detent__Reply *reply = NULL;
    zmq_msg_t m;
    int r;

    while (!reply) {
        if ((r = wait_for (c, ZMQ_POLLIN, deadline, reterr)) < 0)
            return r;
        zmq_msg_init (&m);
        if (zmq_msg_recv (&m, c->socket, ZMQ_DONTWAIT) < 0)
            r = errno == EAGAIN || errno == EINTR
                    ? 0
                    : dt_err_set (reterr, -EIO, "%s: %s", c->endpoint, zmq_strerror (errno));
        else
            r = take (c, &m, &reply, reterr);
        zmq_msg_close (&m);
        if (r < 0)
            return r;
    }
    return judge (c, reply, ret, reterr);
}

int dt_client_send (struct dt_client *c, Detent__Request *rq, int timeout_ms,
                    struct dt_err *reterr)
{
    return send_by (c, rq, deadline_of (timeout_ms), reterr);
}

int dt_client_recv (struct dt_client *c, int timeout_ms, Detent__Reply **ret,
                    struct dt_err *reterr)
{
    return recv_by (c, deadline_of (timeout_ms), ret, reterr);
}

int dt_client_call (struct dt_client *c, Detent__Request *rq, int timeout_ms,
                    Detent__Reply **ret, struct dt_err *reterr)
{
    uint64_t deadline = deadline_of (timeout_ms);
    Detent__Reply *reply = NULL;
    int r;

    if ((r = send_by (c, rq, deadline, reterr)) < 0)
        return r;
    while ((r = recv_by (c, deadline, &reply, reterr)) == 0 && !reply->final) {
        detent__reply__free_unpacked (reply, NULL);
        reply = NULL;
    }
    if (r == 0)
        *ret = reply;
    return r;
}
