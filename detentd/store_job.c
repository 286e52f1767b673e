/* detentd/store_job.c - jobs, who measured, and what was measured. */
#include "detentd/store_sql.h"

int dt_store_job_new (struct dt_store *s, const struct dt_job_row *row, uint64_t *ret,
                      struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_JOB_NEW, "tttibi", row->kind, row->deployment,
                                      row->workload, row->started_ns, row->request,
                                      row->n_request, row->device);
    int r;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    *ret = (uint64_t)sqlite3_column_int64 (st, 0);
    return dt_store_exec (s, st, reterr);
}

/* A state that the table of job.c does not allow changes no row. */
static int moved (struct dt_store *s, uint64_t id, struct dt_err *reterr)
{
    return sqlite3_changes (s->db) == 1
               ? 0
               : dt_err_set (reterr, -DT_ENOTFOUND, "job %llu is not running",
                             (unsigned long long)id);
}

int dt_store_job_start (struct dt_store *s, uint64_t id, struct dt_err *reterr)
{
    int r = dt_store_exec (s, dt_store_bind (s, DT_STMT_JOB_START, "i", (int64_t)id), reterr);

    return r < 0 ? r : moved (s, id, reterr);
}

int dt_store_job_hold (struct dt_store *s, uint64_t id, const char *why, struct dt_err *reterr)
{
    int r = dt_store_exec (s, dt_store_bind (s, DT_STMT_JOB_HOLD, "ti", why, (int64_t)id), reterr);

    return r < 0 ? r : moved (s, id, reterr);
}

int dt_store_job_end (struct dt_store *s, const struct dt_job_row *row, struct dt_err *reterr)
{
    int r = dt_store_exec (s, dt_store_bind (s, DT_STMT_JOB_END, "ttibdii", row->state, row->what,
                                             (int64_t)row->code, row->result, row->n_result,
                                             row->tuple, row->ended_ns, (int64_t)row->id),
                           reterr);

    return r < 0 ? r : moved (s, row->id, reterr);
}

int dt_store_jobs (struct dt_store *s, uint64_t id, uint32_t newest,
                   int (*fn) (void *ctx, const struct dt_job_row *row), void *ctx,
                   struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_JOBS, "ii", (int64_t)id, (int64_t)newest);
    struct dt_digest tuple;
    struct dt_job_row row;
    int r, found = 0;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        found = 1;
        row.id = (uint64_t)sqlite3_column_int64 (st, 0);
        row.kind = dt_column_text (st, 1);
        row.state = dt_column_text (st, 2);
        row.deployment = dt_column_text (st, 3);
        row.workload = dt_column_text (st, 4);
        row.what = dt_column_text (st, 5);
        row.code = sqlite3_column_int (st, 6);
        row.result = sqlite3_column_blob (st, 7);
        row.n_result = (size_t)sqlite3_column_bytes (st, 7);
        row.tuple = dt_column_digest (st, 8, &tuple) == 0 ? &tuple : NULL;
        row.started_ns = sqlite3_column_int64 (st, 9);
        row.ended_ns = sqlite3_column_int64 (st, 10);
        row.measurements = (uint64_t)sqlite3_column_int64 (st, 11);
        row.request = sqlite3_column_blob (st, 12);
        row.n_request = (size_t)sqlite3_column_bytes (st, 12);
        row.device = sqlite3_column_int64 (st, 13);
        if ((r = fn (ctx, &row)) < 0)
            return dt_store_stop (st, r);
    }
    if (r == 0 && id != 0 && !found)
        return dt_err_set (reterr, -DT_ENOTFOUND, "no job %llu", (unsigned long long)id);
    return r;
}

int dt_store_hold_put (struct dt_store *s, const struct dt_hold_row *row, struct dt_err *reterr)
{
    return dt_store_exec (s, dt_store_bind (s, DT_STMT_HOLD_PUT, "tti", row->device, row->why,
                                            row->since_ns), reterr);
}

int dt_store_hold_clear (struct dt_store *s, const char *device, struct dt_err *reterr)
{
    return dt_store_exec (s, dt_store_bind (s, DT_STMT_HOLD_CLEAR, "t", device), reterr);
}

int dt_store_holds (struct dt_store *s, int (*fn) (void *ctx, const struct dt_hold_row *row),
                    void *ctx, struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_HOLDS, "");
    int r;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        struct dt_hold_row row = { dt_column_text (st, 0), dt_column_text (st, 1),
                                   sqlite3_column_int64 (st, 2) };

        if ((r = fn (ctx, &row)) < 0)
            return dt_store_stop (st, r);
    }
    return r;
}

int dt_store_backend_put (struct dt_store *s, const struct dt_backend_row *row, int64_t *ret,
                          struct dt_err *reterr)
{
    sqlite3_stmt *st;
    int r;

    st = dt_store_bind (s, DT_STMT_BACKEND_PUT, "tttttitt", row->name, row->build, row->libraries,
                        row->driver, row->device, (int64_t)row->units, row->clock,
                        row->caches);
    if ((r = dt_store_exec (s, st, reterr)) < 0)
        return r;
    st = dt_store_bind (s, DT_STMT_BACKEND_GET, "tttttitt", row->name, row->build, row->libraries,
                        row->driver, row->device, (int64_t)row->units, row->clock,
                        row->caches);
    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r == 0)
        return dt_err_set (reterr, -DT_ESTORE, "store %s: backend %s was not kept", s->path,
                           row->name);
    *ret = sqlite3_column_int64 (st, 0);
    sqlite3_reset (st);
    return 0;
}

int dt_store_measurement_put (struct dt_store *s, const struct dt_measurement *m,
                              struct dt_err *reterr)
{
    const char *free = m->free[0] ? m->free : NULL;
    const struct dt_digest *plan = free ? NULL : &m->plan; /* none asks for it again */

    return dt_store_exec (s, dt_store_bind (s, DT_STMT_MEASUREMENT_PUT, "iididiidiiiti",
                                            (int64_t)m->job, m->backend, &m->solution,
                                            (int64_t)m->assignment, &m->trace, (int64_t)m->call,
                                            (int64_t)m->elapsed_ns, plan,
                                            (int64_t)m->clock_mhz, (int64_t)m->memory_mhz,
                                            (int64_t)m->reasons, free, m->others), reterr);
}

int dt_store_measurements (struct dt_store *s, int64_t backend, const struct dt_digest *plan,
                           int (*fn) (void *ctx, const struct dt_measurement *m), void *ctx,
                           struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_MEASUREMENTS, "id", backend, plan);
    struct dt_measurement m = { .backend = backend, .plan = *plan };
    int r;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        if (dt_column_digest (st, 0, &m.trace) < 0)
            return dt_store_damaged (s, st, "measurement", reterr);
        m.assignment = (uint64_t)sqlite3_column_int64 (st, 1);
        m.call = (uint64_t)sqlite3_column_int64 (st, 2);
        m.elapsed_ns = (uint64_t)sqlite3_column_int64 (st, 3);
        m.job = (uint64_t)sqlite3_column_int64 (st, 4);
        m.others = sqlite3_column_int64 (st, 5);
        if ((r = fn (ctx, &m)) < 0)
            return dt_store_stop (st, r);
    }
    return r;
}
