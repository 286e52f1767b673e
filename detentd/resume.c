/* detentd/resume.c - held jobs after a restart. */
#include "detentd/resume.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "detentd/certifying.h"
#include "detentd/dispatch.h"
#include "detentd/tuning.h"
#include "proto/wire.h"

/* What is kept of a row until the walk of the store is over. */
struct held {
    uint64_t id;
    int64_t started_ns;
    char what[DT_JOB_WHAT];
    Detent__Request *rq;
};
struct resuming {
    struct held job[DT_JOBS_MAX];
    size_t n;
};

static int note (void *ctx, const struct dt_job_row *row)
{
    struct resuming *v = ctx;
    struct held *h = &v->job[v->n];

    if (strcmp (row->state, dt_job_state_name (DT_JOB_HELD)) != 0 || v->n == DT_JOBS_MAX)
        return 0;
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
    j->state = DT_JOB_HELD;
    snprintf (j->what, sizeof j->what, "%s", h->what);
    if ((r = dt_job_start (d, j, run, reterr)) < 0)
        dt_job_free (j);
    return r;
}

struct failing {
    uint64_t id;
    const char *why;
};

static int put_failed (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    const struct failing *f = ctx;

    return dt_job_fail_row (s, f->id, f->why, reterr);
}

int dt_resume (struct dt_daemon *d, struct dt_err *reterr)
{
    struct resuming *v = dt_calloc (1, sizeof *v);
    int r;

    if (!v)
        return dt_err_nomem (reterr);
    r = dt_store_jobs (d->reader, 0, note, v, reterr);
    while (r == 0 && v->n > 0) { /* the newest came first */
        struct held *h = &v->job[v->n - 1];
        struct dt_err why = { "" };
        struct failing f = { h->id, why.text };

        if (make (d, h, &why) < 0) {
            dt_log (DT_LOG_WARNING, "job", "%llu does not go on: %s", (unsigned long long)h->id,
                    why.text);
            r = dt_pool_transact (d->writer, put_failed, &f, reterr);
        }
        if (h->rq)
            detent__request__free_unpacked (h->rq, NULL);
        v->n--;
    }
    for (; v->n > 0; v->n--)
        if (v->job[v->n - 1].rq)
            detent__request__free_unpacked (v->job[v->n - 1].rq, NULL);
    dt_free (v);
    return r;
}
