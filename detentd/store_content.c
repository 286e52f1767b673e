/* detentd/store_content.c - blobs, traces, solutions and deployments. */
#include "detentd/store_sql.h"

#include <string.h>

#include "base/time.h"

int dt_store_blob_put (struct dt_store *s, const char *kind, const void *data, size_t n,
                       struct dt_digest *ret, struct dt_err *reterr)
{
    struct dt_digest digest = dt_digest_of (kind, data, n);
    int r = dt_store_exec (s, dt_store_bind (s, DT_STMT_BLOB_PUT, "dtbi", &digest, kind, data, n,
                                             dt_time_wall_ns ()), reterr);

    if (r == 0)
        *ret = digest;
    return r;
}

int dt_store_blob_get (struct dt_store *s, const char *kind, const struct dt_digest *digest,
                       struct dt_buf *ret, struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_BLOB_GET, "dt", digest, kind);
    char hex[DT_DIGEST_HEX];
    struct dt_digest is;
    size_t n;
    int r;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "no %s %s", kind, dt_digest_hex (digest, hex));
    n = (size_t)sqlite3_column_bytes (st, 0);
    is = dt_digest_of (kind, sqlite3_column_blob (st, 0), n);
    dt_buf_put (ret, sqlite3_column_blob (st, 0), n);
    sqlite3_reset (st);
    if (!dt_digest_equal (&is, digest))
        return dt_err_set (reterr, -DT_ECORRUPT, "store %s: %s %s does not match its digest",
                           s->path, kind, dt_digest_hex (digest, hex));
    return ret->failed ? dt_err_nomem (reterr) : 0;
}

int dt_store_trace_put (struct dt_store *s, const struct dt_trace_row *row, const void *data,
                        int *ret_known, struct dt_err *reterr)
{
    struct dt_digest digest;
    int r;

    if ((r = dt_store_blob_put (s, "trace", data, row->bytes, &digest, reterr)) < 0)
        return r;
    r = dt_store_exec (s, dt_store_bind (s, DT_STMT_TRACE_PUT, "dtttiii", &digest, row->workload,
                                         row->deployment, row->source, (int64_t)row->calls,
                                         (int64_t)row->distinct_calls, row->time_ns), reterr);
    if (r == 0)
        *ret_known = sqlite3_changes (s->db) == 0;
    return r;
}

int dt_store_traces (struct dt_store *s, const char *workload,
                     int (*fn) (void *ctx, const struct dt_trace_row *row), void *ctx,
                     struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_TRACES, "t", workload);
    struct dt_trace_row row;
    int r;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        if (dt_column_digest (st, 0, &row.digest) < 0)
            return dt_store_damaged (s, st, "trace", reterr);
        row.workload = dt_column_text (st, 1);
        row.deployment = dt_column_text (st, 2);
        row.source = dt_column_text (st, 3);
        row.calls = (uint64_t)sqlite3_column_int64 (st, 4);
        row.distinct_calls = (uint64_t)sqlite3_column_int64 (st, 5);
        row.bytes = (uint64_t)sqlite3_column_int64 (st, 6);
        row.time_ns = sqlite3_column_int64 (st, 7);
        if ((r = fn (ctx, &row)) < 0)
            return dt_store_stop (st, r);
    }
    return r;
}

int dt_store_trace_find (struct dt_store *s, const char *workload,
                         const struct dt_digest *want, struct dt_digest *ret,
                         struct dt_err *reterr)
{
    sqlite3_stmt *st = want ? dt_store_bind (s, DT_STMT_TRACE_HAS, "td", workload, want)
                            : dt_store_bind (s, DT_STMT_TRACE_NEWEST, "t", workload);
    char hex[DT_DIGEST_HEX];
    int r;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r == 0 && want)
        return dt_err_set (reterr, -DT_ENOTFOUND, "workload '%s' has no trace %s", workload,
                           dt_digest_hex (want, hex));
    if (r == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "workload '%s' has no trace", workload);
    if (dt_column_digest (st, 0, ret) < 0)
        return dt_store_damaged (s, st, "trace", reterr);
    sqlite3_reset (st);
    return 0;
}

static struct dt_digest check_digest (const char *domain, const struct dt_digest *key,
                                      const void *data, size_t n)
{
    struct dt_digest_state state;

    dt_digest_begin (&state, domain);
    dt_digest_add (&state, key->bytes, sizeof key->bytes);
    dt_digest_add (&state, data, n);
    return dt_digest_end (&state);
}

/* Column 0 of the row that `st` asks for, appended to `ret`, if column 1 checks it; and
 * column 2 of a solution. */
static int get_checked (struct dt_store *s, sqlite3_stmt *st, const char *domain,
                        const struct dt_digest *key, struct dt_buf *ret, uint64_t *ret_us,
                        struct dt_err *reterr)
{
    struct dt_digest stored, is;
    char hex[DT_DIGEST_HEX];
    uint64_t us;
    const void *data;
    size_t n;
    int r, good;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "no %s %s", domain, dt_digest_hex (key, hex));
    data = sqlite3_column_blob (st, 0);
    n = (size_t)sqlite3_column_bytes (st, 0);
    is = check_digest (domain, key, data, n);
    good = dt_column_digest (st, 1, &stored) == 0 && dt_digest_equal (&is, &stored);
    us = ret_us ? (uint64_t)sqlite3_column_int64 (st, 2) : 0;
    if (good)
        dt_buf_put (ret, data, n);
    sqlite3_reset (st);
    if (!good)
        return dt_err_set (reterr, -DT_ECORRUPT, "store %s: %s %s is damaged", s->path, domain,
                           dt_digest_hex (key, hex));
    if (ret->failed)
        return dt_err_nomem (reterr);
    if (ret_us)
        *ret_us = us;
    return 0;
}

int dt_store_solution_get (struct dt_store *s, const struct dt_digest *key,
                           struct dt_buf *ret, uint64_t *ret_solve_us, struct dt_err *reterr)
{
    return get_checked (s, dt_store_bind (s, DT_STMT_SOLUTION_GET, "d", key), "solution", key, ret,
                        ret_solve_us, reterr);
}

int dt_store_solution_put (struct dt_store *s, const struct dt_digest *key, const void *data,
                           size_t n, uint64_t solve_us, struct dt_err *reterr)
{
    struct dt_digest check = check_digest ("solution", key, data, n);

    return dt_store_exec (s, dt_store_bind (s, DT_STMT_SOLUTION_PUT, "dbdii", key, data, n,
                                            &check, (int64_t)solve_us, dt_time_wall_ns ()),
                          reterr);
}

int dt_store_standing_get (struct dt_store *s, const struct dt_digest *key, struct dt_buf *ret,
                           struct dt_err *reterr)
{
    return get_checked (s, dt_store_bind (s, DT_STMT_STANDING_GET, "d", key), "standing", key, ret,
                        NULL, reterr);
}

int dt_store_standing_put (struct dt_store *s, const struct dt_digest *key,
                           const struct dt_digest *solution, const void *data, size_t n,
                           struct dt_err *reterr)
{
    struct dt_digest check = check_digest ("standing", key, data, n);

    return dt_store_exec (s, dt_store_bind (s, DT_STMT_STANDING_PUT, "ddbdi", key, solution, data,
                                            n, &check, dt_time_wall_ns ()), reterr);
}

int dt_store_deployment_put (struct dt_store *s, const char *name, const struct dt_digest *file,
                             const struct dt_source_row *source, size_t n_sources,
                             const struct dt_site_row *site, size_t n_sites,
                             struct dt_err *reterr)
{
    int r;

    if ((r = dt_store_exec (s, dt_store_bind (s, DT_STMT_DEPLOYMENT_PUT, "tdi", name, file,
                                              dt_time_wall_ns ()), reterr)) < 0
        || (r = dt_store_exec (s, dt_store_bind (s, DT_STMT_SOURCE_CLEAR, "t", name), reterr)) < 0
        || (r = dt_store_exec (s, dt_store_bind (s, DT_STMT_SITE_CLEAR, "t", name), reterr)) < 0)
        return r;
    for (size_t i = 0; i < n_sources; i++)
        if ((r = dt_store_exec (s, dt_store_bind (s, DT_STMT_SOURCE_PUT, "ttd", name,
                                                  source[i].name, &source[i].digest),
                                reterr)) < 0)
            return r;
    for (size_t i = 0; i < n_sites; i++)
        if ((r = dt_store_exec (s, dt_store_bind (s, DT_STMT_SITE_PUT, "tttd", name,
                                                  site[i].family, site[i].site, &site[i].key),
                                reterr)) < 0)
            return r;
    return 0;
}

int dt_store_deployment_get (struct dt_store *s, const char *name, struct dt_digest *ret_file,
                             struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_DEPLOYMENT_GET, "t", name);
    int r;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "deployment '%s' was never solved", name);
    if (dt_column_digest (st, 0, ret_file) < 0)
        return dt_store_damaged (s, st, "deployment", reterr);
    sqlite3_reset (st);
    return 0;
}

int dt_store_sources (struct dt_store *s, const char *deployment,
                      int (*fn) (void *ctx, const struct dt_source_row *row), void *ctx,
                      struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_SOURCES, "t", deployment);
    struct dt_source_row row;
    int r;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        row.name = dt_column_text (st, 0);
        if (dt_column_digest (st, 1, &row.digest) < 0)
            return dt_store_damaged (s, st, "deployment_source", reterr);
        if ((r = fn (ctx, &row)) < 0)
            return dt_store_stop (st, r);
    }
    return r;
}

int dt_store_sites (struct dt_store *s, const char *deployment,
                    int (*fn) (void *ctx, const struct dt_site_row *row), void *ctx,
                    struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_SITES, "t", deployment);
    struct dt_site_row row;
    int r;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        row.family = dt_column_text (st, 0);
        row.site = dt_column_text (st, 1);
        if (dt_column_digest (st, 2, &row.key) < 0)
            return dt_store_damaged (s, st, "deployment_site", reterr);
        if ((r = fn (ctx, &row)) < 0)
            return dt_store_stop (st, r);
    }
    return r;
}

int dt_store_counts (struct dt_store *s, struct dt_store_counts *ret, struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_COUNTS, "");
    int r;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    ret->traces = (uint64_t)sqlite3_column_int64 (st, 0);
    ret->solutions = (uint64_t)sqlite3_column_int64 (st, 1);
    ret->tuples = (uint64_t)sqlite3_column_int64 (st, 2);
    ret->commits = (uint64_t)sqlite3_column_int64 (st, 3);
    ret->bytes = (uint64_t)sqlite3_column_int64 (st, 4);
    sqlite3_reset (st);
    return 0;
}
