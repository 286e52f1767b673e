/* detentd/resume.c - what a stop left behind: jobs that have failed, and jobs that go on. */
#include "detentd/resume.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "detentd/certifying.h"
#include "detentd/dispatch.h"
#include "detentd/tuning.h"
#include "proto/wire.h"

/* Ids of what a stop left behind, oldest rows too: there are few. */
struct left {
    uint64_t id[DT_JOBS_MAX + DT_POOL_MAX_QUEUE];
    size_t n;
};

static int note_left (void *ctx, const struct dt_job_row *row)
{
    struct left *left = ctx;

    if (row->ended_ns == 0 && strcmp (row->state, dt_job_state_name (DT_JOB_HELD)) != 0
        && left->n < DT_ARRAY_SIZE (left->id))
        left->id[left->n++] = row->id;
    return 0;
}

struct failing {
    struct dt_store *s;
    const char *why;
};

static int fail_row (void *ctx, const struct dt_job_row *row)
{
    Detent__JobReply job = DETENT__JOB_REPLY__INIT;
    struct dt_job_row end = *row;
    struct failing *f = ctx;
    uint8_t *packed;
    int r;

    job.job = row->id;
    job.kind = (char *)row->kind;
    job.state = (char *)dt_job_state_name (DT_JOB_FAILED);
    job.deployment = (char *)row->deployment;
    job.workload = (char *)row->workload;
    job.what = (char *)f->why;
    job.started_ns = row->started_ns;
    job.has_ended_ns = job.has_code = 1;
    job.ended_ns = dt_time_wall_ns ();
    if (job.ended_ns < row->started_ns) /* the clock was set back */
        job.ended_ns = row->started_ns;
    job.measurements = row->measurements;
    job.has_device = row->device >= 0;
    job.device = (uint32_t)row->device;
    job.code = DT_EWORKER;
    if (!(packed = dt_calloc (1, detent__job_reply__get_packed_size (&job))))
        return -ENOMEM;
    end.n_result = detent__job_reply__pack (&job, packed);
    end.result = packed;
    end.state = job.state;
    end.what = f->why;
    end.code = job.code;
    end.tuple = NULL;
    end.ended_ns = job.ended_ns;
    r = dt_store_job_end (f->s, &end, NULL);
    dt_free (packed);
    return r;
}

static int fail_job (struct dt_store *s, uint64_t id, const char *why, struct dt_err *reterr)
{
    struct failing f = { s, why };
    int r = dt_store_jobs (s, id, 0, fail_row, &f, reterr);

    return r == -ENOMEM ? dt_err_nomem (reterr) : r;
}

static int recover (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct left *left = ctx;
    int r;

    if ((r = dt_store_jobs (s, 0, 0, note_left, left, reterr)) < 0)
        return r;
    for (size_t i = 0; i < left->n; i++)
        if ((r = fail_job (s, left->id[i], "detentd stopped while it ran", reterr)) < 0)
            return r;
    return 0;
}

int dt_jobs_recover (struct dt_store *s, struct dt_err *reterr)
{
    struct left left = { .n = 0 };

    return dt_store_transact (s, recover, &left, reterr);
}

/* --- those that were held --------------------------------------------------------- */

/* What is kept of a row until the walk of the store is over. */
struct held {
    uint64_t id;
    int64_t started_ns;
    char what[DT_JOB_WHAT];
    Detent__Request *rq;
};
struct resuming {
    struct held *job; /* [n] */
    size_t n, room;
};

static int note (void *ctx, const struct dt_job_row *row)
{
    struct resuming *v = ctx;
    struct held *h;

    if (strcmp (row->state, dt_job_state_name (DT_JOB_HELD)) != 0)
        return 0;
    if (dt_grow ((void **)&v->job, &v->room, v->n, sizeof *v->job) < 0)
        return -ENOMEM;
    h = &v->job[v->n];
    *h = (struct held){ .id = row->id, .started_ns = row->started_ns };
    snprintf (h->what, sizeof h->what, "%s", row->what);
    if (row->request)
        h->rq = detent__request__unpack (&dt_wire_allocator, row->n_request, row->request);
    v->n++;
    return 0;
}

static int make (struct dt_daemon *d, const struct held *h, struct dt_err *reterr)
{
    void (*run) (struct dt_work *w, struct dt_store *s) = dt_tuning_run;
    struct dt_job *j = NULL;
    int r;

    if (h->rq && h->rq->body_case == DETENT__REQUEST__BODY_TUNE)
        r = dt_job_of_tune (d, h->rq, &j, reterr);
    else if (h->rq && h->rq->body_case == DETENT__REQUEST__BODY_CERTIFY) {
        r = dt_job_of_certify (d, h->rq, &j, reterr);
        run = dt_certifying_run;
    } else
        r = dt_err_set (reterr, -DT_ECORRUPT, "what was asked for is not in the store");
    if (r < 0)
        return r;
    j->id = h->id;
    j->started_ns = h->started_ns;
    j->began_ns = 0;
    j->state = DT_JOB_HELD;
    snprintf (j->what, sizeof j->what, "%s", h->what);
    if ((r = dt_job_start (d, j, run, reterr)) < 0)
        dt_job_free (j);
    return r;
}

struct gone {
    uint64_t id;
    const char *why;
};

static int put_failed (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    const struct gone *g = ctx;

    return fail_job (s, g->id, g->why, reterr);
}

int dt_resume (struct dt_daemon *d, struct dt_err *reterr)
{
    struct resuming v = { .n = 0 };
    int r = dt_store_jobs (d->reader, 0, 0, note, &v, reterr);

    if (r == -ENOMEM)
        dt_err_nomem (reterr);
    while (r == 0 && v.n > 0) { /* the newest came first */
        struct held *h = &v.job[v.n - 1];
        struct dt_err why = { "" };
        struct gone gone = { h->id, why.text };

        if (make (d, h, &why) < 0) {
            dt_log (DT_LOG_WARNING, "job", "%llu does not go on: %s", (unsigned long long)h->id,
                    why.text);
            r = dt_pool_transact (d->writer, put_failed, &gone, reterr);
        }
        if (h->rq)
            detent__request__free_unpacked (h->rq, NULL);
        v.n--;
    }
    for (; v.n > 0; v.n--)
        if (v.job[v.n - 1].rq)
            detent__request__free_unpacked (v.job[v.n - 1].rq, NULL);
    dt_free (v.job);
    return r;
}
