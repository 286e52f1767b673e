/* detentd/jobs.c - the table of the jobs that have not ended. */
#include "detentd/jobs.h"

#include "base/mem.h"
#include "base/time.h"
#include "detentd/ask.h"
#include "detentd/publish.h"

#define SETTLE_TICKS 5 /* a second: a full disk is seldom freed sooner */
/* How soon a job asks again for a device that another detentd has: a second, then twice as
 * long each time up to this. */
#define RETRY_NS 1000000000ull
#define MOST_DOUBLINGS 3

static void tell (struct dt_job *j, Detent__JobReply *job, int final)
{
    Detent__Reply reply = DETENT__REPLY__INIT;
    size_t kept = 0;

    reply.final = final;
    reply.body_case = DETENT__REPLY__BODY_JOB;
    reply.job = job;
    for (size_t i = 0; i < j->n_peers; i++)
        if (dt_reply_send (j->d, &j->peer[i], &reply) == 0)
            j->peer[kept++] = j->peer[i]; /* who does not read is not told again */
    j->n_peers = kept;
    dt_publish (j->d, "job", &reply);
}

static void unlink_job (struct dt_daemon *d, struct dt_job *j)
{
    struct dt_job **at = &d->jobs.head;

    while (*at && *at != j)
        at = &(*at)->next;
    if (*at) {
        *at = j->next;
        d->jobs.n--;
    }
}

/* To the crew, which ends what is cancelled: it only writes. */
static void end_cancelled (struct dt_job *j)
{
    if (dt_pool_post (j->d->crew, &j->work, NULL) < 0)
        dt_pool_post (j->d->tuner, &j->work, NULL);
}

/* Its turn ended, and it did not. */
static void park (struct dt_job *j)
{
    unsigned doublings = j->retries < MOST_DOUBLINGS ? j->retries : MOST_DOUBLINGS;

    j->waits = 0;
    if (atomic_load (&j->cancel) == DT_JOB_ASKED) {
        end_cancelled (j);
        return;
    }
    j->parked = 1;
    j->retries++;
    j->retry_ns = dt_time_mono_ns () + (RETRY_NS << doublings);
}

/* The oldest of those that may go on. */
static struct dt_job *find_ready (struct dt_daemon *d, uint64_t now)
{
    struct dt_job *oldest = NULL;

    for (struct dt_job *j = d->jobs.head; j; j = j->next)
        if (j->parked && now >= j->retry_ns && (!oldest || j->id < oldest->id)
            && (!j->backend || dt_holds_check (d->holds, j->backend, j->device, j->devices, NULL) == 0))
            oldest = j;
    return oldest;
}

static void go_on (struct dt_daemon *d)
{
    uint64_t now = dt_time_mono_ns ();
    struct dt_job *j;

    while ((j = find_ready (d, now)) && dt_pool_post (d->tuner, &j->work, NULL) == 0)
        j->parked = 0;
}

/* On the loop, when the tuner's thread is through with it, or never began. */
static void ended (struct dt_work *w, struct dt_daemon *d)
{
    struct dt_job *j = (struct dt_job *)w;
    Detent__JobReply *job = NULL;

    if (j->waits) {
        park (j);
        return;
    }
    if (j->result)
        job = detent__job_reply__unpack (&dt_wire_allocator, j->n_result, j->result);
    if (job) {
        dt_log (DT_LOG_INFO, "job", "%llu (%s%s%s): %s%s%s", (unsigned long long)j->id,
                j->deployment, *j->workload ? ", " : "", j->workload, job->state,
                *job->what ? ": " : "", job->what);
        tell (j, job, 1);
        detent__job_reply__free_unpacked (job, NULL);
    } else
        for (size_t i = 0; i < j->n_peers; i++)
            dt_reply_error (d, &j->peer[i], -DT_ECANCELLED, "detentd is stopping");
    unlink_job (d, j);
    if (j->owed && j->result) {
        j->next = d->jobs.owed;
        d->jobs.owed = j;
    } else
        dt_job_free (j);
}

int dt_job_start (struct dt_daemon *d, struct dt_job *j,
                  void (*run) (struct dt_work *w, struct dt_store *s), struct dt_err *reterr)
{
    int r;

    j->d = d;
    j->work.run = run;
    j->work.done = ended;
    if ((r = dt_pool_post (d->tuner, &j->work, reterr)) < 0)
        return r;
    j->next = d->jobs.head;
    d->jobs.head = j;
    d->jobs.n++;
    return 0;
}

static struct dt_job *find (struct dt_job *j, uint64_t id)
{
    while (j && j->id != id)
        j = j->next;
    return j;
}

struct dt_job *dt_job_find (struct dt_daemon *d, uint64_t id)
{
    return find (d->jobs.head, id);
}

struct dt_job *dt_job_owed (struct dt_daemon *d, uint64_t id)
{
    return find (d->jobs.owed, id);
}

int dt_job_attach (struct dt_job *j, const struct dt_peer *peer, struct dt_err *reterr)
{
    void *items = j->peer;

    if (dt_grow (&items, &j->room_peers, j->n_peers, sizeof *j->peer) < 0)
        return dt_err_nomem (reterr);
    j->peer = items;
    j->peer[j->n_peers++] = *peer;
    return 0;
}

void dt_job_cancel (struct dt_job *j, int why)
{
    atomic_store (&j->cancel, why);
    if (j->parked) {
        j->parked = 0;
        end_cancelled (j);
        return;
    }
    pthread_mutex_lock (&j->lock);
    if (j->worker)
        dt_worker_kill (j->worker);
    pthread_mutex_unlock (&j->lock);
    /* One that waits behind a long tune ends at once, on the crew: it only writes. */
    if (!dt_pool_remove (j->d->tuner, &j->work))
        return;
    if (why == DT_JOB_STOPPED && j->state == DT_JOB_HELD)
        j->parked = 1; /* it was to have another turn: at the next start */
    else
        end_cancelled (j);
}

void dt_jobs_stop (struct dt_daemon *d)
{
    for (struct dt_job *j = d->jobs.head; j; j = j->next)
        if (!j->parked)
            dt_job_cancel (j, DT_JOB_STOPPED);
}

/* --- ends that the store did not take --------------------------------------------*/

static int put_owed (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_job *j = ctx;
    Detent__JobReply *job = detent__job_reply__unpack (NULL, j->n_result, j->result);
    struct dt_job_row row = { .id = j->id, .result = j->result, .n_result = j->n_result };
    int r;

    if (!job)
        return dt_err_nomem (reterr);
    row.state = job->state;
    row.what = job->what;
    row.code = job->has_code ? job->code : 0;
    row.ended_ns = job->ended_ns;
    r = dt_store_job_end (s, &row, reterr);
    detent__job_reply__free_unpacked (job, NULL);
    return r;
}

/* On the writer's thread. */
static void ask_again (struct dt_work *w, struct dt_store *s)
{
    struct dt_job *j = (struct dt_job *)w;
    int r = dt_store_transact (s, put_owed, j, NULL);

    j->owed = r < 0 && r != -DT_ENOTFOUND;
}

static void asked (struct dt_work *w, struct dt_daemon *d)
{
    struct dt_job *j = (struct dt_job *)w, **at = &d->jobs.owed;

    d->jobs.asking = 0;
    if (j->owed)
        return;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    dt_job_free (j);
}

static void settle (struct dt_daemon *d)
{
    struct dt_job *j = d->jobs.owed;

    if (!j || d->jobs.asking || ++d->jobs.ticks % SETTLE_TICKS)
        return;
    j->work.run = ask_again;
    j->work.done = asked;
    d->jobs.asking = dt_pool_post (d->writer, &j->work, NULL) == 0;
}

void dt_jobs_done (struct dt_daemon *d)
{
    struct dt_job *j;

    while ((j = d->jobs.owed)) {
        d->jobs.owed = j->next;
        dt_job_free (j);
    }
    while ((j = d->jobs.head)) {
        for (size_t i = 0; i < j->n_peers; i++)
            dt_reply_error (d, &j->peer[i], -DT_ECANCELLED, "detentd is stopping; what is held goes "
                            "on when it is started again");
        d->jobs.head = j->next;
        dt_job_free (j);
    }
}

void dt_jobs_tick (struct dt_daemon *d)
{
    char what[DT_JOB_WHAT];
    Detent__JobReply job;
    int news;

    for (struct dt_job *j = d->jobs.head; j; j = j->next) {
        pthread_mutex_lock (&j->lock);
        news = j->changes != j->told;
        j->told = j->changes;
        pthread_mutex_unlock (&j->lock);
        if (!news)
            continue;
        dt_job_describe (j, &job, what);
        tell (j, &job, 0);
    }
    settle (d);
    dt_holds_tick (d);
    go_on (d);
}

int dt_jobs_any (const struct dt_daemon *d)
{
    return d->jobs.head || d->jobs.owed || dt_holds_any (d->holds);
}
