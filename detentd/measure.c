/* detentd/measure.c - the tuner's callbacks: the worker, and what it measured. */
#include "detentd/measure.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "detentd/daemon.h"
#include "detentd/message.h"
#include "proto/wire.h"

/* Let the loop's thread kill this worker, or none. */
static void set_worker (struct dt_measure *m, struct dt_worker *w)
{
    pthread_mutex_lock (&m->job->lock);
    m->job->worker = w;
    pthread_mutex_unlock (&m->job->lock);
}

static int cancelled (struct dt_measure *m, struct dt_err *reterr)
{
    return dt_err_set (reterr, -DT_ECANCELLED, "%s",
                       atomic_load (&m->job->cancel) == DT_JOB_STOPPED ? "detentd was stopped"
                                                                       : "cancelled");
}

/* What came over the device: what is pending may be of that time.  A device that is lost
 * is so for the jobs that follow, too. */
static int note_bad (struct dt_measure *m, int r, const struct dt_err *why)
{
    if (r == -EBUSY || r == -DT_EUNTRUSTED || r == -DT_ELOST)
        m->n_pending = 0;
    if (r == -DT_ELOST)
        dt_holds_put (m->job->d, m->job->backend, m->job->device, m->job->devices, why->text);
    return r;
}

/* A worker that was killed because its owner cancelled did not fail. */
static int call (struct dt_measure *m, const Detent__WorkerRequest *rq, const char *doing,
                 Detent__WorkerReply **ret, struct dt_err *reterr)
{
    int r;

    if (atomic_load (&m->job->cancel))
        return cancelled (m, reterr);
    r = note_bad (m, dt_worker_call (m->worker, rq, doing, ret, reterr), reterr);
    return r < 0 && atomic_load (&m->job->cancel) ? cancelled (m, reterr) : r;
}

int dt_measure_ask (void *ctx, const Detent__WorkerRequest *rq, const char *doing,
                    Detent__WorkerReply **ret, struct dt_err *reterr)
{
    return call (ctx, rq, doing, ret, reterr);
}

static int put_backend (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_measure *m = ctx;
    struct dt_backend_row row = { .name = m->who->name, .build = m->who->build,
                                  .libraries = m->who->libraries, .driver = m->who->driver,
                                  .device = m->who->device, .clock = m->who->clock, .caches = m->who->caches,
                                  .units = m->who->units };

    return dt_store_backend_put (s, &row, &m->backend, reterr);
}

/* Start a worker and open the backend in it; *ret holds who it is. */
static int start_worker (struct dt_measure *m, Detent__WorkerReply **ret, struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerOpen open = DETENT__WORKER_OPEN__INIT;
    int r;

    open.backend = m->plugin;
    open.units = m->units;
    open.has_ranks = m->ranks > 1;
    open.ranks = m->ranks;
    open.has_device = 1;
    open.device = m->job->device;
    open.has_untimed = m->untimed;
    open.untimed = m->untimed;
    open.has_shared = 1;
    open.shared = m->job->shared;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_OPEN;
    rq.open = &open;
    if ((r = dt_worker_new (m->job->d->options->profiler, m->lease.fd, m->lease.n, &m->worker,
                            reterr)) < 0)
        return r;
    set_worker (m, m->worker);
    if ((r = call (m, &rq, m->plugin, ret, reterr)) < 0)
        return r;
    if ((*ret)->body_case == DETENT__WORKER_REPLY__BODY_IDENTITY)
        return 0;
    detent__worker_reply__free_unpacked (*ret, NULL);
    *ret = NULL;
    return dt_err_set (reterr, -DT_EWORKER, "the worker did not say who it is");
}

/* Take the lease, unless a device is held.  The worker that names them says how many they
 * are: ranks that are threads share one. */
static int take_free (struct dt_measure *m, const char *backend, struct dt_err *reterr)
{
    struct dt_job *j = m->job;
    struct dt_err held;
    int r;

    j->devices = 1; /* as far as is known */
    if ((r = dt_holds_check (j->d->holds, backend, j->device, 1, reterr)) < 0)
        return r;
    j->devices = m->ranks > 1 ? m->ranks : 1;
    r = dt_lease_take (&m->lease, j->d->options, m->plugin, j->device, j->devices, reterr);
    if (r == -DT_ELOST /* one that was lost before may have no name */
        && dt_holds_check (j->d->holds, backend, j->device, j->devices, &held) < 0)
        return dt_err_set (reterr, -EAGAIN, "%s", held.text);
    if (r < 0)
        return note_bad (m, r, reterr);
    j->devices = m->lease.devices;
    return dt_holds_check (j->d->holds, backend, j->device, j->devices, reterr);
}

/* The devices are this job's, until the measuring ends. */
static int take_devices (struct dt_measure *m, const char *backend, struct dt_err *reterr)
{
    struct dt_job *j = m->job;
    int r;

    if (!j->backend || strcmp (j->backend, backend) != 0) { /* solved anew while it was held */
        dt_free (j->backend);
        if (!(j->backend = dt_strdup (backend)))
            return dt_err_nomem (reterr);
    }
    r = take_free (m, backend, reterr);
    j->waits = r == -EAGAIN;
    return r;
}

int dt_measure_open (struct dt_measure *m, struct dt_job *job, const char *backend,
                     uint32_t units, uint32_t ranks, struct dt_err *reterr)
{
    int r;

    m->job = job;
    m->units = units;
    m->ranks = ranks;
    m->flushed_ns = dt_time_mono_ns ();
    if (!dt_wire_name_ok (backend))
        return dt_err_set (reterr, -DT_EINPUT, "backend '%s' is not a name", backend);
    if (!(m->plugin = dt_strf ("%s/detent-backend-%s.so", job->d->options->backend_dir, backend)))
        return dt_err_nomem (reterr);
    if ((r = take_devices (m, backend, reterr)) < 0 || (r = dt_job_begin (job, reterr)) < 0
        || (r = start_worker (m, &m->opened, reterr)) < 0)
        return r;
    m->who = m->opened->identity;
    return dt_pool_transact (job->d->writer, put_backend, m, reterr);
}

static void stop_worker (struct dt_measure *m)
{
    if (m->job)
        set_worker (m, NULL);
    m->worker = dt_worker_free (m->worker);
}

void dt_measure_close (struct dt_measure *m)
{
    stop_worker (m);
    if (m->opened)
        detent__worker_reply__free_unpacked (m->opened, NULL);
    m->opened = NULL;
    dt_lease_drop (&m->lease);
    dt_conditions_done (&m->conditions);
    dt_free (m->known);
    dt_free (m->plugin);
    m->known = NULL;
    m->plugin = NULL;
}

/* One look; *ret: does the backend tell how many others there are? */
static int look (struct dt_measure *m, int *ret, struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerLook look = DETENT__WORKER_LOOK__INIT;
    Detent__WorkerReply *reply;
    int64_t others = -1;
    int r;

    rq.body_case = DETENT__WORKER_REQUEST__BODY_LOOK;
    rq.look = &look;
    if ((r = call (m, &rq, "a look at the device", &reply, reterr)) < 0)
        return r;
    if (reply->body_case == DETENT__WORKER_REPLY__BODY_STATE && reply->state->has_others)
        others = reply->state->others;
    detent__worker_reply__free_unpacked (reply, NULL);
    dt_others_add (&m->others, others);
    dt_others_add (&m->conditions.others, others);
    *ret = others >= 0;
    return 0;
}

/* --- what is known from before ------------------------------------------------- */

/* A time that a job of its own device may take: nobody else was there, or the backend never
 * tells. */
static int is_alone (const struct dt_measure *m, const struct dt_measurement *one)
{
    return one->others == 0 || (one->others < 0 && !m->tells_others);
}

/* A job that is to be alone takes no time that may be contended, and of the job that measured
 * one nothing behind it either: what was asked there followed from contended times. */
static int add_known (void *ctx, const struct dt_measurement *one)
{
    struct dt_measure *m = ctx;

    if (!m->job->shared && !is_alone (m, one))
        m->contended_job = one->job;
    if (one->job == m->contended_job)
        return 0;
    if (dt_grow ((void **)&m->known, &m->room_known, m->n_known, sizeof *m->known) < 0)
        return -ENOMEM;
    m->known[m->n_known++] = *one;
    return 0;
}

int dt_measure_recall (struct dt_measure *m, struct dt_store *s, struct dt_err *reterr)
{
    int r;

    m->n_known = m->at_known = 0;
    m->contended_job = 0;
    if (m->job->anew)
        return 0;
    if ((r = look (m, &m->tells_others, reterr)) < 0)
        return r;
    r = dt_store_measurements (s, m->backend, &m->plan, add_known, m, reterr);
    return r == -ENOMEM ? dt_err_nomem (reterr) : r;
}

/* To the first of the next job, or the end. */
static void skip_job (struct dt_measure *m)
{
    uint64_t job = m->known[m->at_known].job;

    while (m->at_known < m->n_known && m->known[m->at_known].job == job)
        m->at_known++;
}

/* A tune of the same plan asks in the same order, as far as times do not decide it.  A job
 * that asked for another one here went another way, so that nothing more is taken of it. */
static int on_recall (void *ctx, const struct dt_tune_at *at, uint64_t *ret_ns)
{
    struct dt_measure *m = ctx;
    const struct dt_measurement *k;

    for (; m->at_known < m->n_known; skip_job (m)) {
        k = &m->known[m->at_known];
        if (k->assignment != at->assignment || k->call != at->call
            || !dt_digest_equal (&k->trace, &m->job->trace[at->trace]))
            continue;
        *ret_ns = k->elapsed_ns;
        dt_others_add (&m->conditions.others, k->others);
        m->at_known++;
        return 1;
    }
    return 0;
}

/* --- what is pending ------------------------------------------------------------ */

static int put_pending (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_measure *m = ctx;
    int r;

    for (size_t i = 0; i < m->n_pending; i++) {
        m->pending[i].others = dt_others_most (&m->others);
        if ((r = dt_store_measurement_put (s, &m->pending[i], reterr)) < 0)
            return r;
    }
    return 0;
}

int dt_measure_flush (struct dt_measure *m, struct dt_err *reterr)
{
    int r;

    m->flushed_ns = dt_time_mono_ns ();
    if (m->n_pending == 0)
        return 0;
    if ((r = dt_pool_transact (m->job->d->writer, put_pending, m, reterr)) < 0)
        return r;
    pthread_mutex_lock (&m->job->lock);
    m->job->measurements += m->n_pending;
    pthread_mutex_unlock (&m->job->lock);
    m->n_pending = 0;
    m->flushed_ns = dt_time_mono_ns ();
    return 0;
}

static int on_plan (void *ctx, const struct dt_tune_call *c, uint64_t ret_launch[2],
                    int *ret_unsupported, struct dt_err *reterr)
{
    Detent__WorkerReply *reply;
    struct dt_measure *m = ctx;
    struct dt_message q;
    int r;

    if ((r = dt_message_build (m->site, c, 0, &q, reterr)) < 0)
        return r;
    r = call (m, &q.rq, q.doing, &reply, reterr);
    if (r == -DT_EUNSUPPORTED || r == -EINVAL) { /* what a backend's plan refuses with */
        *ret_unsupported = 1;
        return 0;
    }
    if (r < 0)
        return r;
    if (reply->body_case == DETENT__WORKER_REPLY__BODY_PLAN) {
        ret_launch[0] = reply->plan->launch_a;
        ret_launch[1] = reply->plan->launch_b;
        *ret_unsupported = 0;
    } else
        r = dt_err_set (reterr, -DT_EWORKER, "%s: the worker's reply is no plan", q.doing);
    detent__worker_reply__free_unpacked (reply, NULL);
    return r;
}

/* The device while the last measurement was made. */
static int note_state (struct dt_measure *m, const Detent__WorkerState *s, struct dt_err *reterr)
{
    m->state = s ? *s : (Detent__WorkerState)DETENT__WORKER_STATE__INIT;
    m->state.base.n_unknown_fields = 0; /* the reply's, which is freed */
    m->state.base.unknown_fields = NULL;
    dt_others_add (&m->others, s && s->has_others ? (int64_t)s->others : -1);
    return dt_conditions_add (&m->conditions, s, reterr);
}

static int on_measure (void *ctx, const struct dt_tune_call *c, uint64_t *ret_ns,
                       struct dt_err *reterr)
{
    Detent__WorkerReply *reply;
    struct dt_measure *m = ctx;
    struct dt_message q;
    int r;

    if ((r = dt_message_build (m->site, c, 1, &q, reterr)) < 0
        || (r = call (m, &q.rq, q.doing, &reply, reterr)) < 0)
        return r;
    if (reply->body_case == DETENT__WORKER_REPLY__BODY_TIMES && reply->times->n_ns == 1
        && reply->times->ns[0] > 0) {
        if ((r = note_state (m, reply->times->state, reterr)) == 0)
            *ret_ns = reply->times->ns[0];
    } else
        r = dt_err_set (reterr, -DT_EWORKER, "%s: the worker's reply is no time", q.doing);
    detent__worker_reply__free_unpacked (reply, NULL);
    return r;
}

static int on_progress (void *ctx, double fraction, double left_s, const char *what)
{
    struct dt_measure *m = ctx;
    struct dt_job *j = m->job;

    pthread_mutex_lock (&j->lock);
    j->fraction = (m->done_sites + fraction) / m->sites;
    /* what is known of this site, and as much for each that follows */
    j->left_s = left_s < 0 ? -1 : left_s * (m->sites - m->done_sites);
    snprintf (j->what, sizeof j->what, "%s/%s: %s", m->site->family, m->site->site, what);
    j->changes++;
    pthread_mutex_unlock (&j->lock);
    return atomic_load (&j->cancel);
}

static int keep (struct dt_measure *m, const struct dt_tune_at *at, const char *free, uint64_t ns,
                 struct dt_err *reterr)
{
    const Detent__WorkerState *s = &m->state;
    struct dt_measurement *one = &m->pending[m->n_pending++];

    *one = (struct dt_measurement){
        .job = m->job->id, .backend = m->backend, .solution = m->solution, .plan = m->plan,
        .trace = m->job->trace[at->trace], .assignment = at->assignment, .call = at->call,
        .elapsed_ns = ns, .clock_mhz = s->has_clock_mhz ? s->clock_mhz : 0,
        .memory_mhz = s->has_memory_mhz ? s->memory_mhz : 0, .reasons = s->reasons };
    snprintf (one->free, sizeof one->free, "%s", free);
    if (m->n_pending == DT_MEASURE_BATCH
        || dt_time_mono_ns () - m->flushed_ns > DT_MEASURE_BATCH_NS)
        return dt_measure_look (m, reterr);
    return 0;
}

static int on_keep (void *ctx, const struct dt_tune_at *at, uint64_t ns, struct dt_err *reterr)
{
    return keep (ctx, at, "", ns, reterr);
}

static int on_keep_free (void *ctx, const struct dt_tune_at *at, const char *field,
                         const int64_t *value, uint64_t ns, struct dt_err *reterr)
{
    char free[sizeof ((struct dt_measurement *)NULL)->free];

    if (value)
        snprintf (free, sizeof free, "%.56s=%lld", field, (long long)*value);
    else
        snprintf (free, sizeof free, "%.56s=program", field);
    return keep (ctx, at, free, ns, reterr);
}

int dt_measure_look (struct dt_measure *m, struct dt_err *reterr)
{
    int tells, r;

    if ((r = look (m, &tells, reterr)) < 0 || (r = dt_measure_flush (m, reterr)) < 0)
        return r;
    m->others = (struct dt_others){ .most = 0 };
    return 0;
}

/* Another process must be the same backend. */
static int on_fresh (void *ctx, struct dt_err *reterr)
{
    Detent__WorkerReply *opened = NULL;
    struct dt_measure *m = ctx;
    const Detent__WorkerIdentity *was = m->who, *is;
    int r, same;

    if ((r = dt_measure_look (m, reterr)) < 0)
        return r;
    stop_worker (m);
    if ((r = start_worker (m, &opened, reterr)) < 0)
        return r;
    is = opened->identity;
    same = !strcmp (was->name, is->name) && !strcmp (was->build, is->build)
           && !strcmp (was->libraries, is->libraries) && !strcmp (was->driver, is->driver)
           && !strcmp (was->device, is->device) && !strcmp (was->clock, is->clock)
           && !strcmp (was->caches, is->caches)
           && was->units == is->units;
    detent__worker_reply__free_unpacked (opened, NULL);
    return same ? 0 : dt_err_set (reterr, -DT_EENVIRONMENT, "backend %s changed while it was timed",
                                  was->name);
}

struct dt_tune_hooks dt_measure_hooks (struct dt_measure *m)
{
    return (struct dt_tune_hooks){ .ctx = m, .plan = on_plan, .measure = on_measure,
                                   .progress = on_progress, .keep = on_keep,
                                   .keep_free = on_keep_free,
                                   .fresh = on_fresh, .recall = on_recall };
}
