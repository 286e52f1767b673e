/* detentd/holds.c - devices that answer no more, and whether they do again. */
#include "detentd/holds.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "detentd/daemon.h"
#include "detentd/lease.h"
#include "detentd/worker.h"

struct hold {
    struct hold *next;
    char device[DT_HOLD_DEVICE];
    char why[sizeof ((struct dt_err *)NULL)->text], tried[sizeof ((struct dt_err *)NULL)->text];
    int64_t since_ns;
    uint64_t next_ns, wait_ns;
    int is; /* 0: it was */
    int trying;
};
struct dt_holds {
    pthread_mutex_t lock;
    struct hold *head;
};

int dt_holds_new (struct dt_holds **ret, struct dt_err *reterr)
{
    struct dt_holds *h = dt_calloc (1, sizeof *h);

    if (!h)
        return dt_err_nomem (reterr);
    pthread_mutex_init (&h->lock, NULL);
    *ret = h;
    return 0;
}

struct dt_holds *dt_holds_free (struct dt_holds *h)
{
    struct hold *one;

    if (!h)
        return NULL;
    while ((one = h->head)) {
        h->head = one->next;
        dt_free (one);
    }
    pthread_mutex_destroy (&h->lock);
    dt_free (h);
    return NULL;
}

/* Under the lock. */
static struct hold **find (struct dt_holds *h, const char *device)
{
    struct hold **at = &h->head;

    while (*at && strcmp ((*at)->device, device) != 0)
        at = &(*at)->next;
    return at;
}

/* Under the lock: the device's hold, made if it is not there. */
static struct hold *hold (struct dt_holds *h, const struct dt_hold_row *row)
{
    struct hold **at = find (h, row->device), *one = *at;

    if (!one) {
        if (!(one = *at = dt_calloc (1, sizeof *one)))
            return NULL;
        snprintf (one->device, sizeof one->device, "%s", row->device);
        one->wait_ns = DT_HOLD_FIRST_NS;
    }
    if (!one->is) {
        one->tried[0] = 0;
        one->since_ns = row->since_ns;
        one->next_ns = dt_time_mono_ns () + one->wait_ns;
    }
    one->is = 1;
    snprintf (one->why, sizeof one->why, "%s", row->why);
    return one;
}

static int add (void *ctx, const struct dt_hold_row *row)
{
    return hold (ctx, row) ? 0 : -ENOMEM;
}

int dt_holds_load (struct dt_holds *h, struct dt_store *s, struct dt_err *reterr)
{
    int r;

    pthread_mutex_lock (&h->lock);
    r = dt_store_holds (s, add, h, reterr);
    pthread_mutex_unlock (&h->lock);
    return r == -ENOMEM ? dt_err_nomem (reterr) : r;
}

int dt_holds_any (struct dt_holds *h)
{
    int any = 0;

    pthread_mutex_lock (&h->lock);
    for (const struct hold *one = h->head; one; one = one->next)
        any |= one->is;
    pthread_mutex_unlock (&h->lock);
    return any;
}

static void name (char device[DT_HOLD_DEVICE], const char *backend, uint32_t ordinal)
{
    snprintf (device, DT_HOLD_DEVICE, "%.64s:%u", backend, ordinal);
}

int dt_holds_check (struct dt_holds *h, const char *backend, uint32_t first, uint32_t devices,
                    struct dt_err *reterr)
{
    char device[DT_HOLD_DEVICE];
    int r = 0;

    pthread_mutex_lock (&h->lock);
    for (uint32_t i = 0; h->head && r == 0 && i < devices; i++) {
        const struct hold *one;

        name (device, backend, first + i);
        if ((one = *find (h, device)) && one->is)
            r = dt_err_set (reterr, -EAGAIN, "device %s: %s", device, one->why);
    }
    pthread_mutex_unlock (&h->lock);
    return r;
}

int dt_holds_walk (struct dt_holds *h, int (*fn) (void *ctx, const struct dt_hold *one), void *ctx)
{
    int r = 0;

    pthread_mutex_lock (&h->lock);
    for (const struct hold *one = h->head; r == 0 && one; one = one->next) {
        struct dt_hold v = { one->device, one->why, one->tried, one->since_ns,
                             one->trying ? 0 : one->next_ns };

        r = one->is ? fn (ctx, &v) : 0;
    }
    pthread_mutex_unlock (&h->lock);
    return r;
}

void dt_holds_release (struct dt_holds *h, const char *device)
{
    struct hold *one;

    pthread_mutex_lock (&h->lock);
    if ((one = *find (h, device)))
        one->is = 0;
    pthread_mutex_unlock (&h->lock);
}

void dt_holds_forget (struct dt_holds *h, const char *backend, uint32_t first, uint32_t devices)
{
    char device[DT_HOLD_DEVICE];

    pthread_mutex_lock (&h->lock);
    for (uint32_t i = 0; h->head && i < devices; i++) {
        struct hold **at, *one;

        name (device, backend, first + i);
        at = find (h, device);
        if ((one = *at) && !one->is) {
            *at = one->next;
            dt_free (one);
        }
    }
    pthread_mutex_unlock (&h->lock);
}

static int put (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    return dt_store_hold_put (s, ctx, reterr);
}

void dt_holds_put (struct dt_daemon *d, const char *backend, uint32_t first, uint32_t devices,
                   const char *why)
{
    char device[DT_HOLD_DEVICE];
    struct dt_hold_row row = { device, why, dt_time_wall_ns () };
    struct dt_err err;

    for (uint32_t i = 0; i < devices; i++) {
        name (device, backend, first + i);
        pthread_mutex_lock (&d->holds->lock);
        hold (d->holds, &row);
        pthread_mutex_unlock (&d->holds->lock);
        if (dt_pool_transact (d->writer, put, &row, &err) < 0)
            dt_log (DT_LOG_WARNING, "hold", "%s: %s", device, err.text);
        dt_log (DT_LOG_WARNING, "hold", "%s: %s; jobs for it wait until it answers", device, why);
    }
}

/* --- trying ---------------------------------------------------------------------- */

struct trying {
    struct dt_work work; /* first */
    struct dt_daemon *d;
    char device[DT_HOLD_DEVICE];
    int shared;
    int r;
    int lasts; /* it cannot be tried at all, for a reason that does not pass */
    struct dt_err err;
};

/* Does an attempt to name and lock a device say that there is none, or no backend or lock for
 * it?  Not so if it is used or lost, or if the worker failed. */
static int is_lasting (int r)
{
    return r != -DT_ELOST && r != -EBUSY && r != -EAGAIN && r != -DT_EWORKER && r != -ENOMEM;
}

/* In a worker of its own, which holds the lease. */
static int probe (struct trying *t, Detent__WorkerProbe *m, struct dt_err *reterr)
{
    const struct dt_options *o = t->d->options;
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    struct dt_lease lease = { .n = 0 };
    Detent__WorkerReply *reply;
    struct dt_worker *w = NULL;
    int r;

    if ((r = dt_lease_take (&lease, o, m->backend, m->device, 1, reterr)) < 0) {
        t->lasts = is_lasting (r);
        return r;
    }
    rq.body_case = DETENT__WORKER_REQUEST__BODY_PROBE;
    rq.probe = m;
    if ((r = dt_worker_new (o->profiler, lease.fd, lease.n, &w, reterr)) == 0
        && (r = dt_worker_call (w, &rq, "a trial of the device", &reply, reterr)) == 0)
        detent__worker_reply__free_unpacked (reply, NULL);
    dt_worker_free (w);
    dt_lease_drop (&lease);
    return r;
}

static int ask_device (struct trying *t, struct dt_err *reterr)
{
    const struct dt_options *o = t->d->options;
    Detent__WorkerProbe m = DETENT__WORKER_PROBE__INIT;
    char *colon = strrchr (t->device, ':');
    int r;

    if (!colon)
        return dt_err_set (reterr, -DT_ECORRUPT, "device '%s' has no number", t->device);
    m.device = (uint32_t)strtoul (colon + 1, NULL, 10);
    m.has_shared = m.shared = t->shared;
    if (!(m.backend = dt_strf ("%s/detent-backend-%.*s.so", o->backend_dir,
                               (int)(colon - t->device), t->device)))
        return dt_err_nomem (reterr);
    r = probe (t, &m, reterr);
    dt_free (m.backend);
    return r;
}

static int clear (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    return dt_store_hold_clear (s, ctx, reterr);
}

/* On the tuner's thread.  Where no trial can succeed, the jobs are not left to wait for one:
 * each meets the reason itself, and fails with it. */
static void try (struct dt_work *w, struct dt_store *s)
{
    struct trying *t = (struct trying *)w;
    struct dt_err ignored;

    (void)s;
    if ((t->r = ask_device (t, &t->err)) < 0 && !t->lasts)
        return;
    dt_pool_transact (t->d->writer, clear, t->device, &ignored); /* else a start tries again */
    dt_holds_release (t->d->holds, t->device);
}

/* On the loop. */
static void tried (struct dt_work *w, struct dt_daemon *d)
{
    struct trying *t = (struct trying *)w;
    struct hold *one;

    pthread_mutex_lock (&d->holds->lock);
    if ((one = *find (d->holds, t->device))) {
        one->trying = 0;
        snprintf (one->tried, sizeof one->tried, "%s", t->r < 0 ? t->err.text : "");
        one->wait_ns = 2 * one->wait_ns < DT_HOLD_MOST_NS ? 2 * one->wait_ns : DT_HOLD_MOST_NS;
        one->next_ns = dt_time_mono_ns () + one->wait_ns;
    }
    pthread_mutex_unlock (&d->holds->lock);
    if (t->r == 0)
        dt_log (DT_LOG_INFO, "hold", "%s answers again; its jobs go on", t->device);
    else if (t->lasts)
        dt_log (DT_LOG_WARNING, "hold", "%s cannot be tried and is held no more: %s", t->device,
                t->err.text);
    else
        dt_log (DT_LOG_DEBUG, "hold", "%s is still held: %s", t->device, t->err.text);
    dt_free (t);
}

/* Does a job wait for the device that may run beside other processes? */
static int is_shared (const struct dt_daemon *d, const char *device)
{
    char other[DT_HOLD_DEVICE];

    for (const struct dt_job *j = d->jobs.head; j; j = j->next)
        for (uint32_t i = 0; j->parked && j->shared && j->backend && i < j->devices; i++) {
            name (other, j->backend, j->device + i);
            if (strcmp (other, device) == 0)
                return 1;
        }
    return 0;
}

/* Under the lock. */
static void post (struct dt_daemon *d, struct hold *one)
{
    struct trying *t = dt_calloc (1, sizeof *t);

    if (!t)
        return; /* the next tick asks again */
    t->d = d;
    t->work.run = try;
    t->work.done = tried;
    t->r = -DT_ECANCELLED;
    snprintf (t->device, sizeof t->device, "%s", one->device);
    t->shared = is_shared (d, one->device);
    one->trying = dt_pool_post (d->tuner, &t->work, NULL) == 0;
    if (!one->trying)
        dt_free (t);
}

void dt_holds_tick (struct dt_daemon *d)
{
    uint64_t now = dt_time_mono_ns ();

    pthread_mutex_lock (&d->holds->lock);
    for (struct hold *one = d->holds->head; one; one = one->next)
        if (one->is && !one->trying && now >= one->next_ns)
            post (d, one);
    pthread_mutex_unlock (&d->holds->lock);
}
