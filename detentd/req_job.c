/* detentd/req_job.c - job_list, job_attach and job_cancel. */
#include <errno.h>

#include "detentd/dispatch.h"

/* Of those that ended; the loop reads 100 of a site each in 2 ms, and of a hundred sites
 * (36 KiB a job) 1000 are within a frame. */
#define DEFAULT_LIST 100
#define MAX_LIST 1000

int dt_job_reply (struct dt_ask *a, struct dt_job *j, int final, struct dt_err *reterr)
{
    Detent__JobReply *job = dt_arena_alloc (&a->arena, sizeof *job);
    char *what = dt_arena_alloc (&a->arena, DT_JOB_WHAT);

    if (!job || !what)
        return dt_err_nomem (reterr);
    dt_job_describe (j, job, what);
    a->reply.final = final;
    a->reply.body_case = DETENT__REPLY__BODY_JOB;
    a->reply.job = job;
    return 0;
}

/* Those that are on their way count too: each waits for the writer before it is in the
 * table, and what is beyond the table's room would be lost at a restart. */
int dt_job_place (struct dt_ask *a, struct dt_err *reterr)
{
    struct dt_jobs *jobs = &a->d->jobs;

    if (jobs->n + jobs->coming >= DT_JOBS_MAX)
        return dt_err_set (reterr, -EBUSY, "%zu jobs wait or run; at most %d may",
                           jobs->n + jobs->coming, DT_JOBS_MAX);
    a->has_place = 1;
    jobs->coming++;
    return 0;
}

int dt_job_insert (struct dt_ask *a, struct dt_store *s, struct dt_err *reterr)
{
    struct dt_job *j = a->job;
    struct dt_job_row row = { .kind = j->kind, .deployment = j->deployment,
                              .workload = j->workload, .started_ns = j->started_ns,
                              .request = j->request, .n_request = j->n_request,
                              .device = j->device };

    return dt_store_job_new (s, &row, &j->id, reterr);
}

void dt_job_started (struct dt_ask *a, int detach,
                     void (*run) (struct dt_work *w, struct dt_store *s))
{
    struct dt_job *j = a->job;
    struct dt_err err = { "" };
    int r;

    if ((r = detach ? 0 : dt_job_attach (j, &a->peer, &err)) < 0
        || (r = dt_job_start (a->d, j, run, &err)) < 0) {
        dt_log (DT_LOG_WARNING, "job", "%llu was not started: %s", (unsigned long long)j->id,
                err.text);
        a->r = r;
        a->err = err;
        return;
    }
    a->job = NULL; /* the table's now */
    if ((r = dt_job_reply (a, j, detach, &err)) < 0) {
        a->r = r;
        a->err = err;
    }
}

struct found {
    struct dt_ask *a;
    void **items;
    size_t n;
};

/* An ended job is what its result says, wherever that is; another what its row says, and, if it is
 * live, what the table knows. */
static int describe (void *ctx, const struct dt_job_row *row)
{
    struct found *f = ctx;
    struct dt_arena *arena = &f->a->arena;
    struct dt_job *live = dt_job_find (f->a->d, row->id);
    struct dt_job *owed = dt_job_owed (f->a->d, row->id);
    const uint8_t *result = owed ? owed->result : row->result;
    Detent__JobReply *job;

    if (result) {
        if (!(job = detent__job_reply__unpack (&f->a->allocator,
                                               owed ? owed->n_result : row->n_result, result)))
            return -ENOMEM;
        return dt_ask_push (f->a, &f->items, &f->n, job);
    }
    if (!(job = dt_arena_alloc (arena, sizeof *job)))
        return -ENOMEM;
    detent__job_reply__init (job);
    if (live) {
        char *what = dt_arena_alloc (arena, DT_JOB_WHAT);

        if (!what)
            return -ENOMEM;
        dt_job_describe (live, job, what);
    } else {
        job->job = row->id;
        job->started_ns = row->started_ns;
        job->measurements = row->measurements;
        job->has_device = row->device >= 0;
        job->device = (uint32_t)row->device;
        job->kind = dt_arena_strf (arena, "%s", row->kind);
        job->state = dt_arena_strf (arena, "%s", row->state);
        job->deployment = dt_arena_strf (arena, "%s", row->deployment);
        job->workload = dt_arena_strf (arena, "%s", row->workload);
        job->what = dt_arena_strf (arena, "%s", row->what);
        if (!job->kind || !job->state || !job->deployment || !job->workload || !job->what)
            return -ENOMEM;
    }
    return dt_ask_push (f->a, &f->items, &f->n, job);
}

int dt_req_job_list (struct dt_ask *a, struct dt_err *reterr)
{
    Detent__JobListReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    const Detent__JobListRequest *rq = a->rq->job_list;
    uint32_t newest = rq->has_limit ? rq->limit : DEFAULT_LIST;
    struct found f = { .a = a };
    int r;

    if (!reply)
        return dt_err_nomem (reterr);
    if (newest > MAX_LIST)
        return dt_err_set (reterr, -DT_ELIMIT, "limit %u: at most %d jobs in one reply", newest,
                           MAX_LIST);
    if ((r = dt_store_jobs (a->d->reader, 0, newest, describe, &f, reterr)) < 0)
        return r == -ENOMEM ? dt_err_nomem (reterr) : r;
    detent__job_list_reply__init (reply);
    reply->job = (Detent__JobReply **)f.items;
    reply->n_job = f.n;
    a->reply.body_case = DETENT__REPLY__BODY_JOB_LIST;
    a->reply.job_list = reply;
    return 0;
}

int dt_req_job_attach (struct dt_ask *a, struct dt_err *reterr)
{
    uint64_t id = a->rq->job_attach->job;
    struct dt_job *j = dt_job_find (a->d, id);
    struct found f = { .a = a };
    int r;

    if (id == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "no job 0");
    if (j) {
        if ((r = dt_job_attach (j, &a->peer, reterr)) < 0)
            return r;
        return dt_job_reply (a, j, 0, reterr);
    }
    if ((r = dt_store_jobs (a->d->reader, id, 0, describe, &f, reterr)) < 0)
        return r == -ENOMEM ? dt_err_nomem (reterr) : r;
    a->reply.body_case = DETENT__REPLY__BODY_JOB;
    a->reply.job = f.items[0];
    return 0;
}

int dt_req_job_cancel (struct dt_ask *a, struct dt_err *reterr)
{
    uint64_t id = a->rq->job_cancel->job;
    struct dt_job *j = dt_job_find (a->d, id);

    if (!j)
        return dt_err_set (reterr, -DT_ENOTFOUND, "no job %llu waits or runs",
                           (unsigned long long)id);
    dt_job_cancel (j, DT_JOB_ASKED);
    return dt_job_reply (a, j, 1, reterr);
}
