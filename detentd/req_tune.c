/* detentd/req_tune.c - tune: check, and queue a job. */
#include <errno.h>

#include "detentd/dispatch.h"
#include "detentd/forced.h"
#include "detentd/tuning.h"

static void started (struct dt_ask *a)
{
    const Detent__TuneRequest *rq = a->rq->tune;

    dt_job_started (a, rq->has_detach && rq->detach, dt_tuning_run);
}

static int add_trace (void *ctx, const struct dt_trace_row *row)
{
    struct dt_job *j = ctx;

    if (j->n_traces == DT_JOB_MAX_TRACES)
        return -DT_ELIMIT;
    j->trace[j->n_traces++] = row->digest;
    return 0;
}

/* The traces that are replayed: all of the workload, the one that is named, or the newest. */
static int find_traces (struct dt_daemon *d, const Detent__TuneRequest *rq, struct dt_job *j,
                        struct dt_err *reterr)
{
    struct dt_digest want;
    int r;

    if (rq->has_all_traces && rq->all_traces) {
        if (rq->has_trace)
            return dt_err_set (reterr, -DT_EINPUT, "all traces, or one: not both");
        r = dt_store_traces (d->reader, rq->workload, add_trace, j, reterr);
        if (r == -DT_ELIMIT)
            return dt_err_set (reterr, r, "workload '%s' has more than %d traces; one tuple serves "
                               "at most so many", rq->workload, DT_JOB_MAX_TRACES);
        if (r < 0 || j->n_traces)
            return r;
    }
    if (rq->has_trace && (r = dt_check_digest ("trace", rq->trace, &want, reterr)) < 0)
        return r;
    j->n_traces = 1;
    return dt_store_trace_find (d->reader, rq->workload, rq->has_trace ? &want : NULL,
                                &j->trace[0], reterr);
}

static int check_tune (struct dt_daemon *d, const Detent__TuneRequest *rq, struct dt_job *j,
                       struct dt_err *reterr)
{
    struct dt_digest file;
    int r;

    if (rq->has_budget_s && !(rq->budget_s > 0 && rq->budget_s <= 86400))
        return dt_err_set (reterr, -DT_EINPUT, "budget_s %g: must be above 0 and at most 86400",
                           rq->budget_s);
    if (rq->has_max_calls && (rq->max_calls == 0 || rq->max_calls > 65536))
        return dt_err_set (reterr, -DT_EINPUT, "max_calls %llu: must be 1 to 65536",
                           (unsigned long long)rq->max_calls);
    if ((r = dt_store_deployment_get (d->reader, rq->deployment, &file, reterr)) < 0)
        return r;
    j->budget_s = rq->has_budget_s ? rq->budget_s : 0;
    j->max_calls = rq->has_max_calls ? rq->max_calls : 0;
    j->exhaustive = rq->has_exhaustive && rq->exhaustive;
    j->anew = rq->has_anew && rq->anew;
    j->no_tables = rq->has_no_tables && rq->no_tables;
    j->shared = rq->has_shared && rq->shared;
    if ((r = dt_job_set_device (j, rq->has_device, rq->device, reterr)) < 0
        || (r = dt_forced_take (j, rq->force, rq->n_force, reterr)) < 0)
        return r;
    return find_traces (d, rq, j, reterr);
}

int dt_job_of_tune (struct dt_daemon *d, Detent__Request *rq, struct dt_job **ret,
                    struct dt_err *reterr)
{
    Detent__TuneRequest *t = rq->tune, as_found = *t;
    struct dt_job *j;
    int r;

    if (!(j = dt_job_new ("tune", t->deployment, t->workload, reterr)))
        return -ENOMEM;
    if ((r = check_tune (d, t, j, reterr)) < 0)
        goto fail;
    if (!(t->has_all_traces && t->all_traces)) {
        as_found.has_trace = 1;
        as_found.trace = (ProtobufCBinaryData){ DT_DIGEST_BYTES, j->trace[0].bytes };
    }
    rq->tune = &as_found;
    r = dt_job_keep_request (j, rq, reterr);
    rq->tune = t;
    if (r < 0)
        goto fail;
    *ret = j;
    return 0;
fail:
    dt_job_free (j);
    return r;
}

int dt_req_tune (struct dt_ask *a, struct dt_err *reterr)
{
    const Detent__TuneRequest *rq = a->rq->tune;
    int r;

    if ((r = dt_check_name ("deployment", rq->deployment, reterr)) < 0
        || (r = dt_check_name ("workload", rq->workload, reterr)) < 0)
        return r;
    if ((r = dt_job_place (a, reterr)) < 0 || (r = dt_job_of_tune (a->d, a->rq, &a->job, reterr)) < 0)
        return r;
    a->after = started;
    return dt_ask_write (a, dt_job_insert, reterr);
}
