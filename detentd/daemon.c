/* detentd/daemon.c - the daemon's lifetime: open, run, close. */
#include <config.h>

#include "detentd/daemon.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <zmq.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "detentd/loop.h"
#include "detentd/place.h"
#include "detentd/resume.h"
#include "detentd/sd.h"
#include "proto/wire.h"

/* Parsing and solving: one for each core of a small node, and a request that
 * waits for the writer holds one too. */
#define CREW 4
/* After a signal: running kernels and solves may end, then they are left. */
#define STOP_S 5
#define LONG_STEP_US 60000000 /* opening and checking a large database */

/* Messages that wait in each direction.  A reply is dropped when a client has this
 * many unread; requests beyond it wait in the client. */
#define ROUTER_SEND_HWM 64
#define ROUTER_RECEIVE_HWM 8
#define EVENTS_HWM 1000
#define LINGER_MS 200

static int set (void *socket, int option, int value)
{
    return zmq_setsockopt (socket, option, &value, sizeof value);
}

static int bind_socket (struct dt_daemon *d, int type, const char *endpoint, void **ret,
                        struct dt_err *reterr)
{
    int64_t max_bytes = DT_WIRE_MAX_BYTES;
    void *s = zmq_socket (d->zmq, type);

    if (s)
        *ret = s; /* closed with the daemon whatever follows */
    if (!s || set (s, ZMQ_LINGER, LINGER_MS) < 0
        || zmq_setsockopt (s, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes) < 0
        || (type == ZMQ_ROUTER
            && (set (s, ZMQ_SNDHWM, ROUTER_SEND_HWM) < 0
                || set (s, ZMQ_RCVHWM, ROUTER_RECEIVE_HWM) < 0
                || set (s, ZMQ_ROUTER_MANDATORY, 1) < 0))
        || (type == ZMQ_PUB && set (s, ZMQ_SNDHWM, EVENTS_HWM) < 0)
        || (type == ZMQ_PULL && set (s, ZMQ_RCVHWM, 0) < 0)
        || zmq_bind (s, endpoint) < 0)
        return dt_err_set (reterr, -errno, "bind %s: %s", endpoint, zmq_strerror (errno));
    return 0;
}

/* Check the place of a socket, then bind it. */
static int bind_checked (struct dt_daemon *d, int type, const char *endpoint, void **ret,
                         struct dt_err *reterr)
{
    int r;

    if ((r = dt_place_endpoint (endpoint, reterr)) < 0)
        return r;
    return bind_socket (d, type, endpoint, ret, reterr);
}

/* Signals become events of the loop; threads inherit the mask. */
static int take_signals (struct dt_daemon *d, struct dt_err *reterr)
{
    sigset_t set;

    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGHUP);
    if (pthread_sigmask (SIG_BLOCK, &set, NULL) != 0
        || (d->signal_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
        return dt_err_set (reterr, -errno, "signals: %m");
    signal (SIGPIPE, SIG_IGN);
    signal (SIGXFSZ, SIG_IGN); /* a file at its limit is a full disk, not the end */
    return 0;
}

static int open_key (struct dt_daemon *d, struct dt_err *reterr)
{
    char *path = dt_strf ("%s/node.key", d->options->state_dir);
    int r = path ? dt_key_load (path, &d->key, reterr) : dt_err_nomem (reterr);

    if (r == 0 && d->key.is_new) /* also where it was lost: engines may know another */
        dt_log (DT_LOG_INFO, "detentd", "made a signing key: %s", path);
    dt_free (path);
    return r;
}

/* What a stop left is told in the store; if nothing can be written there, engines are
 * served all the same, and the next start tells it. */
static int recover (struct dt_store *s, struct dt_err *reterr)
{
    struct dt_err why = { "" };
    int r = dt_jobs_recover (s, &why);

    if (r == -ENOSPC || r == -DT_ESTORE) {
        dt_log (DT_LOG_WARNING, "store", "jobs that were under way are shown as they were: %s",
                why.text);
        return 0;
    }
    return r < 0 ? dt_err_set (reterr, r, "%s", why.text) : 0;
}

/* Migrate with a connection of its own before the threads get theirs. */
static int open_store (struct dt_daemon *d, struct dt_err *reterr)
{
    struct dt_store *s = NULL;
    int r;

    if (!(d->store_path = dt_strf ("%s/detent.db", d->options->state_dir)))
        return dt_err_nomem (reterr);
    dt_sd_extend (LONG_STEP_US);
    if ((r = dt_store_open (d->store_path, 1, &s, reterr)) == 0 && dt_store_is_newer (s))
        dt_log (DT_LOG_WARNING, "store", "%s was written by a newer detentd: it is read, and "
                "requests that would write are refused; upgrade this one", d->store_path);
    else if (r == 0)
        r = recover (s, reterr);
    if (r == 0)
        r = dt_store_open (d->store_path, 0, &d->reader, reterr);
    if (r == 0 && !dt_store_is_newer (s))
        r = dt_holds_load (d->holds, d->reader, reterr);
    dt_store_close (s);
    return r;
}

static int open_pools (struct dt_daemon *d, struct dt_err *reterr)
{
    int r;

    if ((r = bind_socket (d, ZMQ_PULL, DT_POOL_FINISHED, &d->finished, reterr)) < 0
        || (r = dt_pool_new (d->zmq, d->store_path, 1, 1, &d->writer, reterr)) < 0
        || (r = dt_pool_new (d->zmq, d->store_path, 0, CREW, &d->crew, reterr)) < 0)
        return r;
    return dt_pool_new (d->zmq, d->store_path, 0, 1, &d->tuner, reterr);
}

static int open_sockets (struct dt_daemon *d, struct dt_err *reterr)
{
    int r;

    if (!(d->events_endpoint = dt_place_events (d->options->endpoint)))
        return dt_err_nomem (reterr);
    if ((r = bind_checked (d, ZMQ_ROUTER, d->options->endpoint, &d->router, reterr)) < 0)
        return r;
    return bind_checked (d, ZMQ_PUB, d->events_endpoint, &d->events, reterr);
}

int dt_daemon_open (const struct dt_options *options, struct dt_daemon **ret,
                    struct dt_err *reterr)
{
    struct dt_daemon *d = dt_calloc (1, sizeof *d);
    int r;

    if (!d)
        return dt_err_nomem (reterr);
    d->options = options;
    d->signal_fd = d->lock_fd = -1;
    d->started_ns = dt_time_mono_ns ();
    if ((r = take_signals (d, reterr)) < 0
        || (r = dt_place_lock (options->state_dir, &d->lock_fd, reterr)) < 0
        || (r = dt_file_private_dir (options->runtime_dir, reterr)) < 0
        || (r = dt_place_endpoint (options->endpoint, reterr)) < 0
        || (r = dt_families_new (&d->families, reterr)) < 0
        || (r = dt_who_new (&d->who, reterr)) < 0
        || (r = dt_holds_new (&d->holds, reterr)) < 0
        || (r = open_key (d, reterr)) < 0
        || (r = open_store (d, reterr)) < 0)
        goto fail;
    if (!(d->zmq = zmq_ctx_new ())) {
        r = dt_err_set (reterr, -errno, "ZeroMQ: %s", zmq_strerror (errno));
        goto fail;
    }
    if ((r = open_pools (d, reterr)) < 0 || (r = open_sockets (d, reterr)) < 0
        || (!dt_store_is_newer (d->reader) && (r = dt_resume (d, reterr)) < 0))
        goto fail;
    *ret = d;
    return 0;
fail:
    dt_daemon_close (d);
    return r;
}

int dt_daemon_run (struct dt_daemon *d, struct dt_err *reterr)
{
    int r;

    dt_log (DT_LOG_INFO, "detentd", "serving on %s, store %s", d->options->endpoint,
            d->store_path);
    dt_sd_ready ("serving");
    r = dt_loop_run (d, reterr);
    dt_sd_stopping ((STOP_S + 1) * 1000000ull);
    return r;
}

/* End the threads: those that ask the writer first.  -ETIMEDOUT: one is still
 * computing, and what it uses must stay. */
static int stop_pools (struct dt_daemon *d)
{
    uint64_t deadline = dt_time_mono_ns () + STOP_S * 1000000000ull;
    int r = 0;

    dt_jobs_stop (d);
    if (d->tuner)
        r = dt_pool_stop (d->tuner, deadline);
    if (d->crew && dt_pool_stop (d->crew, deadline) < 0)
        r = -ETIMEDOUT;
    if (d->writer && dt_pool_stop (d->writer, deadline + 1000000000u) < 0)
        r = -ETIMEDOUT;
    return r;
}

static void close_sockets (struct dt_daemon *d)
{
    if (d->router)
        zmq_close (d->router);
    if (d->events)
        zmq_close (d->events);
    if (d->finished)
        zmq_close (d->finished);
    if (d->zmq)
        zmq_ctx_term (d->zmq);
    if (d->router)
        dt_place_clear (d->options->endpoint);
    if (d->events)
        dt_place_clear (d->events_endpoint);
}

struct dt_daemon *dt_daemon_close (struct dt_daemon *d)
{
    if (stop_pools (d) < 0) {
        dt_log (DT_LOG_WARNING, "detentd", "work under way did not end in %d s and is left", STOP_S);
        _exit (0);
    }
    if (d->router)
        dt_loop_finish_work (d); /* what is committed is acknowledged */
    dt_pool_free (d->tuner, d);
    dt_pool_free (d->crew, d);
    /* The writer's connection is the last: one that only reads leaves all that was
     * written since the start in the log beside the database. */
    dt_store_close (d->reader);
    dt_pool_free (d->writer, d);
    dt_jobs_done (d);
    close_sockets (d);
    dt_families_free (d->families);
    dt_who_free (d->who);
    dt_holds_free (d->holds);
    dt_key_done (&d->key);
    dt_free (d->store_path);
    dt_free (d->events_endpoint);
    if (d->signal_fd >= 0)
        close (d->signal_fd);
    if (d->lock_fd >= 0)
        close (d->lock_fd);
    dt_free (d);
    return NULL;
}
