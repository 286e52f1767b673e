/* detentd/job.c - one job: its states, what is said of it, and what the store has. */
#include "detentd/job.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "detentd/daemon.h"
#include "proto/wire.h"

static const struct {
    const char *name;
    unsigned next; /* bits of the states that may follow */
} states[DT_JOB_STATES] = {
    [DT_JOB_QUEUED] = { "queued", 1u << DT_JOB_HELD | 1u << DT_JOB_RUNNING | 1u << DT_JOB_FAILED
                                      | 1u << DT_JOB_CANCELLED },
    [DT_JOB_HELD] = { "held", 1u << DT_JOB_HELD | 1u << DT_JOB_RUNNING | 1u << DT_JOB_FAILED
                                  | 1u << DT_JOB_CANCELLED },
    [DT_JOB_RUNNING] = { "running", 1u << DT_JOB_DONE | 1u << DT_JOB_FAILED
                                        | 1u << DT_JOB_CANCELLED },
    [DT_JOB_DONE] = { "done", 0 },
    [DT_JOB_FAILED] = { "failed", 0 },
    [DT_JOB_CANCELLED] = { "cancelled", 0 },
};

const char *dt_job_state_name (enum dt_job_state s)
{
    return states[s].name;
}

struct dt_job *dt_job_new (const char *kind, const char *deployment, const char *workload,
                           struct dt_err *reterr)
{
    struct dt_job *j = dt_calloc (1, sizeof *j);

    if (!j || !(j->deployment = dt_strdup (deployment)) || !(j->workload = dt_strdup (workload))) {
        dt_err_nomem (reterr);
        if (j) {
            dt_free (j->deployment);
            dt_free (j);
        }
        return NULL;
    }
    j->kind = kind;
    pthread_mutex_init (&j->lock, NULL);
    j->left_s = -1;
    j->started_ns = dt_time_wall_ns ();
    j->began_ns = dt_time_mono_ns ();
    return j;
}

struct dt_job *dt_job_free (struct dt_job *j)
{
    if (!j)
        return NULL;
    pthread_mutex_destroy (&j->lock);
    dt_free (j->deployment);
    dt_free (j->workload);
    dt_free (j->family);
    dt_free (j->site);
    for (size_t i = 0; i < j->n_force; i++) {
        dt_free (j->force[i].site);
        dt_free (j->force[i].name);
        dt_free (j->force[i].value);
    }
    dt_free (j->force);
    dt_free (j->peer);
    dt_free (j->request);
    dt_free (j->backend);
    dt_free (j->result);
    dt_free (j);
    return NULL;
}

void dt_job_move (struct dt_job *j, enum dt_job_state state)
{
    pthread_mutex_lock (&j->lock);
    assert (states[j->state].next & 1u << state);
    j->state = state;
    j->changes++;
    pthread_mutex_unlock (&j->lock);
}

void dt_job_describe (struct dt_job *j, Detent__JobReply *ret, char what[DT_JOB_WHAT])
{
    detent__job_reply__init (ret);
    ret->job = j->id;
    ret->kind = (char *)j->kind;
    ret->deployment = j->deployment;
    ret->workload = j->workload;
    ret->started_ns = j->started_ns;
    ret->has_device = 1;
    ret->device = j->device;
    ret->has_shared = 1;
    ret->shared = j->shared;
    pthread_mutex_lock (&j->lock);
    ret->state = (char *)states[j->state].name;
    ret->fraction = j->fraction;
    ret->has_left_s = j->left_s >= 0;
    ret->left_s = j->left_s >= 0 ? j->left_s : 0;
    ret->measurements = j->measurements;
    memcpy (what, j->what, DT_JOB_WHAT);
    pthread_mutex_unlock (&j->lock);
    ret->what = what;
}

enum dt_job_state dt_job_state_of (int r)
{
    return r == 0 ? DT_JOB_DONE : r == -DT_ECANCELLED ? DT_JOB_CANCELLED : DT_JOB_FAILED;
}

/* Never before its start, and as much later as it took, though the clock be set. */
static int64_t ended (const struct dt_job *j)
{
    int64_t now = dt_time_wall_ns ();

    if (j->began_ns)
        return j->started_ns + (int64_t)(dt_time_mono_ns () - j->began_ns);
    return now > j->started_ns ? now : j->started_ns;
}

void dt_job_describe_end (struct dt_job *j, enum dt_job_state state, int code, const char *text,
                          Detent__JobReply *ret, char what[DT_JOB_WHAT])
{
    dt_job_describe (j, ret, what);
    ret->state = (char *)states[state].name;
    ret->what = (char *)text;
    ret->has_left_s = 0;
    ret->has_ended_ns = 1;
    ret->ended_ns = ended (j);
    ret->has_code = code != 0;
    ret->code = -code;
    ret->backend = j->backend;
    ret->has_devices = j->backend != NULL;
    ret->devices = j->devices;
    if (state == DT_JOB_DONE)
        ret->fraction = 1;
}

int dt_job_set_device (struct dt_job *j, int has, uint32_t device, struct dt_err *reterr)
{
    if (has && device > DT_WIRE_MAX_DEVICE)
        return dt_err_set (reterr, -DT_EINPUT, "device %u: at most %d", device, DT_WIRE_MAX_DEVICE);
    j->device = has ? device : 0;
    return 0;
}

int dt_job_keep_request (struct dt_job *j, const Detent__Request *rq, struct dt_err *reterr)
{
    size_t n = detent__request__get_packed_size (rq);

    if (!(j->request = dt_calloc (n, 1)))
        return dt_err_nomem (reterr);
    j->n_request = detent__request__pack (rq, j->request);
    return 0;
}

int dt_job_pack (struct dt_job *j, const Detent__JobReply *reply, struct dt_err *reterr)
{
    dt_free (j->result);
    j->n_result = 0;
    if (!(j->result = dt_calloc (detent__job_reply__get_packed_size (reply), 1)))
        return dt_err_nomem (reterr);
    j->n_result = detent__job_reply__pack (reply, j->result);
    return 0;
}

int dt_job_put_end (struct dt_job *j, struct dt_store *s, const Detent__JobReply *reply,
                    const struct dt_digest *tuple, struct dt_err *reterr)
{
    struct dt_job_row row = { .id = j->id, .state = reply->state, .what = reply->what,
                              .code = reply->has_code ? reply->code : 0,
                              .result = j->result, .n_result = j->n_result,
                              .tuple = tuple, .ended_ns = reply->ended_ns };

    return dt_store_job_end (s, &row, reterr);
}

static int put_running (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    return dt_store_job_start (s, ((struct dt_job *)ctx)->id, reterr);
}

int dt_job_live (struct dt_job *j, struct dt_err *reterr)
{
    return atomic_load (&j->cancel) ? dt_err_set (reterr, -DT_ECANCELLED, "cancelled") : 0;
}

/* With what it says of itself from now on. */
static void move (struct dt_job *j, enum dt_job_state state, const char *what)
{
    pthread_mutex_lock (&j->lock);
    snprintf (j->what, sizeof j->what, "%s", what);
    pthread_mutex_unlock (&j->lock);
    dt_job_move (j, state);
}

int dt_job_begin (struct dt_job *j, struct dt_err *reterr)
{
    int r;

    if ((r = dt_job_live (j, reterr)) < 0
        || (r = dt_pool_transact (j->d->writer, put_running, j, reterr)) < 0)
        return r;
    move (j, DT_JOB_RUNNING, "");
    return 0;
}

struct holding {
    const struct dt_job *j;
    const char *why;
};

static int put_held (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct holding *h = ctx;

    return dt_store_job_hold (s, h->j->id, h->why, reterr);
}

void dt_job_hold (struct dt_job *j, const char *why)
{
    struct holding h = { j, why };
    struct dt_err err;

    if (dt_pool_transact (j->d->writer, put_held, &h, &err) < 0) /* a restart does not know it */
        dt_log (DT_LOG_WARNING, "job", "%llu: %s", (unsigned long long)j->id, err.text);
    move (j, DT_JOB_HELD, why);
}

struct ending {
    struct dt_job *j;
    const Detent__JobReply *reply;
};

static int put_end (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct ending *e = ctx;

    return dt_job_put_end (e->j, s, e->reply, NULL, reterr);
}

void dt_job_end (struct dt_job *j, const Detent__JobReply *reply)
{
    struct ending e = { j, reply };
    struct dt_err ignored;

    j->owed = dt_pool_transact (j->d->writer, put_end, &e, &ignored) < 0;
}
