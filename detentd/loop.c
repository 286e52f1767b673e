/* detentd/loop.c - the event loop: requests, finished work, signals, ticks. */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <zmq.h>

#include "base/time.h"
#include "detentd/dispatch.h"
#include "detentd/loop.h"
#include "detentd/sd.h"

/* Frames served in one turn, so that signals and finished work are seen between.
 * A handler on the loop takes at most a few milliseconds (a fetch of 100 KiB: 0.2). */
#define FRAMES_PER_TURN 16

/* Receive one part; *ret_more tells whether another follows. */
static int part (void *socket, zmq_msg_t *msg, int *ret_more)
{
    zmq_msg_init (msg);
    while (zmq_msg_recv (msg, socket, ZMQ_DONTWAIT) < 0)
        if (errno != EINTR) {
            zmq_msg_close (msg);
            return -errno;
        }
    *ret_more = zmq_msg_more (msg);
    return 0;
}

static void skip (void *socket, int more)
{
    zmq_msg_t msg;

    while (more && part (socket, &msg, &more) == 0)
        zmq_msg_close (&msg);
}

/* One request: its route, and exactly one frame. */
static int serve_one (struct dt_daemon *d)
{
    struct dt_peer peer = { 0 };
    zmq_msg_t route, frame;
    int more;

    if (part (d->router, &route, &more) < 0)
        return -EAGAIN;
    peer.n_route = zmq_msg_size (&route);
    if (peer.n_route <= sizeof peer.route)
        memcpy (peer.route, zmq_msg_data (&route), peer.n_route);
    zmq_msg_close (&route);
    if (!more || part (d->router, &frame, &more) < 0)
        return 0;
    if (more || peer.n_route > sizeof peer.route)
        dt_log (DT_LOG_DEBUG, "wire", "dropped a message of several frames");
    else /* whoever reaches a private ipc socket is the node's own user: admin */
        dt_dispatch (d, &peer, zmq_msg_data (&frame), zmq_msg_size (&frame), DT_ROLE_ADMIN);
    zmq_msg_close (&frame);
    skip (d->router, more);
    return 0;
}

void dt_loop_finish_work (struct dt_daemon *d)
{
    struct dt_work *w;

    while (zmq_recv (d->finished, &w, sizeof w, ZMQ_DONTWAIT) == (int)sizeof w)
        w->done (w, d);
}

static void on_signal (struct dt_daemon *d)
{
    struct signalfd_siginfo info;

    if (read (d->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    dt_log (DT_LOG_INFO, "detentd", "stopping on signal %u", info.ssi_signo);
    d->stopping = 1;
}

/* When the loop must wake although nothing happens. */
struct ticks {
    uint64_t watchdog_ns, jobs_ns;    /* how often; 0: never */
    uint64_t watchdog_at, jobs_at;    /* CLOCK_MONOTONIC     */
};

static long timeout_ms (struct dt_daemon *d, const struct ticks *t, uint64_t now)
{
    uint64_t until = UINT64_MAX;

    if (t->watchdog_ns)
        until = t->watchdog_at;
    if (dt_jobs_any (d) && t->jobs_at < until)
        until = t->jobs_at;
    if (until == UINT64_MAX)
        return -1;
    return until <= now ? 0 : (long)((until - now) / 1000000) + 1;
}

static void tick (struct dt_daemon *d, struct ticks *t, uint64_t now)
{
    if (t->watchdog_ns && now >= t->watchdog_at) {
        dt_sd_watchdog ();
        t->watchdog_at = now + t->watchdog_ns;
    }
    if (dt_jobs_any (d) && now >= t->jobs_at) {
        dt_jobs_tick (d);
        t->jobs_at = now + t->jobs_ns;
    }
}

int dt_loop_run (struct dt_daemon *d, struct dt_err *reterr)
{
    zmq_pollitem_t items[] = {
        { .socket = d->finished, .events = ZMQ_POLLIN },
        { .socket = d->router, .events = ZMQ_POLLIN },
        { .fd = d->signal_fd, .events = ZMQ_POLLIN },
    };
    struct ticks t = { .watchdog_ns = dt_sd_watchdog_us () * 1000,
                       .jobs_ns = DT_JOBS_TICK_MS * 1000000ull };

    while (!d->stopping) {
        if (zmq_poll (items, 3, timeout_ms (d, &t, dt_time_mono_ns ())) < 0 && errno != EINTR)
            return dt_err_set (reterr, -errno, "poll: %s", zmq_strerror (errno));
        if (items[0].revents)
            dt_loop_finish_work (d);
        if (items[2].revents)
            on_signal (d);
        for (int i = 0; items[1].revents && i < FRAMES_PER_TURN; i++)
            if (serve_one (d) < 0)
                break;
        tick (d, &t, dt_time_mono_ns ());
    }
    return 0;
}
