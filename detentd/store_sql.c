/* detentd/store_sql.c - the store's statements, and what binds and steps one. */
#include "detentd/store_sql.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"

static const struct {
    enum dt_stmt id;
    const char *sql;
} statements[] = {
    { DT_STMT_BEGIN, "BEGIN IMMEDIATE" },
    { DT_STMT_BEGIN_READ, "BEGIN" },
    { DT_STMT_COMMIT, "COMMIT" },
    { DT_STMT_ROLLBACK, "ROLLBACK" },
    { DT_STMT_BLOB_PUT, "INSERT INTO blob (digest, kind, data, time_ns) VALUES (?, ?, ?, ?)"
                        " ON CONFLICT (digest) DO NOTHING" },
    { DT_STMT_BLOB_GET, "SELECT data FROM blob WHERE digest = ? AND kind = ?" },
    { DT_STMT_TRACE_PUT, "INSERT INTO trace (digest, workload, deployment, source, calls,"
                         " distinct_calls, time_ns) VALUES (?, ?, ?, ?, ?, ?, ?)"
                         " ON CONFLICT (workload, digest) DO NOTHING" },
    { DT_STMT_TRACES, "SELECT t.digest, workload, deployment, source, calls, distinct_calls,"
                      " length (data), t.time_ns FROM trace t JOIN blob b ON b.digest = t.digest"
                      " WHERE ?1 IS NULL OR workload = ?1"
                      " ORDER BY t.rowid DESC" },
    { DT_STMT_TRACE_NEWEST, "SELECT digest FROM trace WHERE workload = ?"
                            " ORDER BY rowid DESC LIMIT 1" },
    { DT_STMT_TRACE_HAS, "SELECT digest FROM trace WHERE workload = ? AND digest = ?" },
    { DT_STMT_SOLUTION_GET, "SELECT data, check_digest, solve_us FROM solution WHERE key = ?" },
    { DT_STMT_SOLUTION_PUT, "INSERT INTO solution (key, data, check_digest, solve_us, time_ns)"
                            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
                            " data = excluded.data, check_digest = excluded.check_digest,"
                            " solve_us = excluded.solve_us, time_ns = excluded.time_ns" },
    { DT_STMT_STANDING_GET, "SELECT data, check_digest FROM standing WHERE key = ?" },
    { DT_STMT_STANDING_PUT, "INSERT INTO standing (key, solution, data, check_digest, time_ns)"
                            " VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
                            " data = excluded.data, check_digest = excluded.check_digest,"
                            " time_ns = excluded.time_ns" },
    { DT_STMT_DEPLOYMENT_PUT, "INSERT INTO deployment (name, file, time_ns) VALUES (?, ?, ?)"
                              " ON CONFLICT (name) DO UPDATE SET file = excluded.file,"
                              " time_ns = excluded.time_ns" },
    { DT_STMT_DEPLOYMENT_GET, "SELECT file FROM deployment WHERE name = ?" },
    { DT_STMT_SOURCE_CLEAR, "DELETE FROM deployment_source WHERE deployment = ?" },
    { DT_STMT_SOURCE_PUT, "INSERT INTO deployment_source (deployment, name, digest)"
                          " VALUES (?, ?, ?)" },
    { DT_STMT_SOURCES, "SELECT name, digest FROM deployment_source WHERE deployment = ?"
                       " ORDER BY name" },
    { DT_STMT_SITE_CLEAR, "DELETE FROM deployment_site WHERE deployment = ?" },
    { DT_STMT_SITE_PUT, "INSERT INTO deployment_site (deployment, family, site, key)"
                        " VALUES (?, ?, ?, ?)" },
    { DT_STMT_SITES, "SELECT family, site, key FROM deployment_site WHERE deployment = ?"
                     " ORDER BY family, site" },
    { DT_STMT_JOB_NEW, "INSERT INTO job (kind, state, deployment, workload, what, started_ns,"
                       " request, device) VALUES (?, 'queued', ?, ?, '', ?, ?, ?) RETURNING id" },
    { DT_STMT_JOB_START, "UPDATE job SET state = 'running', what = ''"
                         " WHERE id = ? AND state IN ('queued', 'held')" },
    { DT_STMT_JOB_HOLD, "UPDATE job SET state = 'held', what = ?"
                        " WHERE id = ? AND state IN ('queued', 'held')" },
    /* In the order in which they ended, though the clock be set back. */
    { DT_STMT_JOB_END, "UPDATE job SET state = ?, what = ?, code = nullif (?, 0), result = ?,"
                       " tuple = ?, ended_ns = max (?, coalesce ((SELECT max (ended_ns) + 1"
                       " FROM job), 0))"
                       " WHERE id = ? AND state IN ('queued', 'running', 'held')" },
    { DT_STMT_JOBS, "SELECT id, kind, state, deployment, workload, what, coalesce (code, 0),"
                    " result, tuple, started_ns, coalesce (ended_ns, 0),"
                    " (SELECT count (*) FROM measurement m WHERE m.job = job.id)"
                    ", request, coalesce (device, -1) FROM job WHERE id = ?1 OR (?1 = 0 AND (ended_ns IS NULL"
                    " OR id > (SELECT max (id) FROM job) - ?2)) ORDER BY id DESC" },
    { DT_STMT_HOLD_PUT, "INSERT INTO hold (device, why, since_ns) VALUES (?, ?, ?)"
                        " ON CONFLICT (device) DO UPDATE SET why = excluded.why" },
    { DT_STMT_HOLD_CLEAR, "DELETE FROM hold WHERE device = ?" },
    { DT_STMT_HOLDS, "SELECT device, why, since_ns FROM hold ORDER BY device" },
    { DT_STMT_BACKEND_PUT, "INSERT INTO backend (name, build, libraries, driver, device, units,"
                           " clock, caches) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING" },
    { DT_STMT_BACKEND_GET, "SELECT id FROM backend WHERE name = ? AND build = ? AND libraries = ?"
                           " AND driver = ? AND device = ? AND units = ? AND clock = ? AND caches = ?" },
    { DT_STMT_MEASUREMENT_PUT, "INSERT INTO measurement (job, backend, solution, assignment,"
                               " trace, call, elapsed_ns, plan, clock_mhz, memory_mhz, reasons,"
                               " free, others) VALUES (?, ?, ?, ?, ?, ?, ?, ?,"
                               " nullif (?, 0), nullif (?, 0), iif (?9 > 0, ?, NULL), ?,"
                               " nullif (?, -1))" },
    { DT_STMT_MEASUREMENTS, "SELECT trace, assignment, call, elapsed_ns, job,"
                            " coalesce (others, -1) FROM measurement"
                            " WHERE backend = ? AND plan = ? ORDER BY id" },
    { DT_STMT_TUPLE_PUT, "INSERT INTO tuple (digest, bits, deployment, sampled, uncovered,"
                         " time_ns) VALUES (?, ?, ?, ?, ?, ?)"
                         " ON CONFLICT (digest) DO NOTHING" },
    { DT_STMT_TUPLE_GET, "SELECT bits, deployment, sampled, uncovered FROM tuple"
                         " WHERE digest = ?" },
    { DT_STMT_TUPLE_TUNED, "SELECT EXISTS (SELECT 1 FROM job WHERE tuple = ?1 AND deployment = ?2"
                           " AND workload = ?3 AND state = 'done')" },
    { DT_STMT_TUPLE_NEWEST, "SELECT tuple FROM job WHERE state = 'done' AND deployment = ?"
                            " AND workload = ? AND tuple IS NOT NULL"
                            " ORDER BY ended_ns DESC, id DESC LIMIT 1" },
    /* Of what was committed, the last tune before that. */
    { DT_STMT_TUPLE_RESULT, "SELECT result FROM job WHERE state = 'done' AND tuple = ?1"
                            " AND coalesce (?2, deployment) = deployment"
                            " AND coalesce (?3, workload) = workload AND result IS NOT NULL"
                            " ORDER BY ended_ns <= ?4 DESC, ended_ns DESC, id DESC LIMIT 1" },
    { DT_STMT_SELECTOR_PUT, "INSERT INTO tuple_selector (tuple, family, site, pinned, stock)"
                            " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING" },
    { DT_STMT_SELECTORS, "SELECT family, site, pinned, stock FROM tuple_selector"
                         " WHERE tuple = ? ORDER BY family, site" },
    { DT_STMT_COMMIT_PUT, "INSERT INTO commit_log (digest, deployment, workload, sequence, tuple,"
                          " parent, signature, time_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?)" },
    { DT_STMT_COMMIT_GET, "SELECT c.digest, deployment, workload, sequence, tuple, parent,"
                          " signature, c.time_ns, data FROM commit_log c"
                          " JOIN blob b ON b.digest = c.digest WHERE c.digest = ?" },
    { DT_STMT_COMMITS, "SELECT c.digest, deployment, workload, sequence, tuple, parent,"
                       " signature, c.time_ns, data FROM commit_log c"
                       " JOIN blob b ON b.digest = c.digest"
                       " WHERE (?1 IS NULL OR deployment = ?1) AND (?2 IS NULL OR workload = ?2)"
                       " ORDER BY c.rowid DESC LIMIT ?3" },
    { DT_STMT_CERTIFICATE_PUT, "INSERT INTO certificate (digest, key, deployment, family, site,"
                               " time_ns) VALUES (?, ?, ?, ?, ?, ?)"
                               " ON CONFLICT (digest) DO NOTHING" },
    { DT_STMT_CERTIFICATE_FIELD_PUT, "INSERT INTO certificate_field (certificate, field)"
                                     " VALUES (?, ?) ON CONFLICT DO NOTHING" },
    { DT_STMT_CERTIFICATES, "SELECT c.digest, key, deployment, family, site, c.time_ns,"
                            " coalesce (revoked_ns, 0), coalesce (why, ''), data"
                            " FROM certificate c JOIN blob b ON b.digest = c.digest"
                            " WHERE ?1 IS NULL OR deployment = ?1"
                            " ORDER BY family, site, c.time_ns, c.rowid" },
    { DT_STMT_CERTIFICATE_FIND, "SELECT digest FROM certificate WHERE digest BETWEEN ? AND ?"
                                " LIMIT 2" },
    { DT_STMT_CERTIFICATE_REVOKE, "UPDATE certificate SET revoked_ns = ?, why = ?"
                                  " WHERE digest = ? AND revoked_ns IS NULL" },
    { DT_STMT_CERTIFIED, "SELECT c.digest FROM certificate c JOIN certificate_field f"
                         " ON f.certificate = c.digest WHERE key = ? AND field = ?"
                         " AND revoked_ns IS NULL ORDER BY c.rowid DESC LIMIT 1" },
    { DT_STMT_IN_FORCE, "SELECT digest FROM certificate WHERE family = ? AND site = ?"
                        " AND revoked_ns IS NULL ORDER BY digest" },
    { DT_STMT_REVOKED, "SELECT c.digest, why FROM certificate c JOIN certificate_field f"
                       " ON f.certificate = c.digest WHERE key = ? AND field = ?"
                       " AND revoked_ns IS NOT NULL ORDER BY revoked_ns DESC LIMIT 1" },
    { DT_STMT_TUPLE_FREE_PUT, "INSERT INTO tuple_free (tuple, family, site, field, key)"
                              " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING" },
    { DT_STMT_TUPLE_FREE, "SELECT family, site, field, key FROM tuple_free WHERE tuple = ?"
                          " ORDER BY family, site, field" },
    { DT_STMT_FIND, "SELECT digest, kind = 'commit' FROM blob WHERE digest BETWEEN ? AND ?"
                    " AND kind IN ('commit', 'tuple') LIMIT 2" },
    { DT_STMT_COUNTS, "SELECT (SELECT count (*) FROM trace), (SELECT count (*) FROM solution),"
                      " (SELECT count (*) FROM tuple), (SELECT count (*) FROM commit_log),"
                      " (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)" },
};
_Static_assert (DT_ARRAY_SIZE (statements) == DT_STMT_COUNT, "one row per statement");

int dt_store_failed (struct dt_store *s, struct dt_err *reterr)
{
    int code = sqlite3_errcode (s->db);

    if (code == SQLITE_NOMEM)
        return dt_err_nomem (reterr);
    if (code == SQLITE_FULL)
        return dt_err_set (reterr, -ENOSPC, "store %s: no space left; nothing was changed",
                           s->path);
    return dt_err_set (reterr, code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -DT_ECORRUPT
                                                                              : -DT_ESTORE,
                       "store %s: %s", s->path, sqlite3_errmsg (s->db));
}

int dt_store_refuse_newer (const struct dt_store *s, struct dt_err *reterr)
{
    return dt_err_set (reterr, -DT_EVERSION,
                       "store %s: its version %lld was written by a newer detentd; this one knows "
                       "%zu and only reads: upgrade it", s->path, (long long)s->version,
                       dt_n_migrations);
}

int dt_store_prepare (struct dt_store *s, struct dt_err *reterr)
{
    for (size_t i = 0; i < DT_STMT_COUNT; i++)
        if (sqlite3_prepare_v3 (s->db, statements[i].sql, -1, SQLITE_PREPARE_PERSISTENT,
                                &s->stmt[statements[i].id], NULL) != SQLITE_OK
            && !dt_store_is_newer (s))
            return dt_err_prefix (reterr, dt_store_failed (s, reterr), "%s", statements[i].sql);
    return 0;
}

static void bind_one (sqlite3_stmt *st, int i, char type, va_list *ap)
{
    const void *p;
    size_t n;
    int r;

    switch (type) {
    case 'i':
        r = sqlite3_bind_int64 (st, i, va_arg (*ap, int64_t));
        break;
    case 't':
        r = sqlite3_bind_text (st, i, va_arg (*ap, const char *), -1, SQLITE_STATIC);
        break;
    case 'd':
        p = va_arg (*ap, const struct dt_digest *);
        r = sqlite3_bind_blob (st, i, p, DT_DIGEST_BYTES, SQLITE_STATIC);
        break;
    default:
        assert (type == 'b');
        p = va_arg (*ap, const void *);
        n = va_arg (*ap, size_t);
        r = p && n == 0 ? sqlite3_bind_zeroblob (st, i, 0)
                        : sqlite3_bind_blob64 (st, i, p, n, SQLITE_STATIC);
    }
    /* Static binding allocates nothing; a wrong index is a programming error. */
    assert (r == SQLITE_OK || r == SQLITE_NOMEM || r == SQLITE_TOOBIG);
    (void)r;
}

sqlite3_stmt *dt_store_bind (struct dt_store *s, enum dt_stmt id, const char *types, ...)
{
    sqlite3_stmt *st = s->stmt[id];
    va_list ap;

    if (!st)
        return NULL; /* dt_store_step says why */
    sqlite3_reset (st);
    sqlite3_clear_bindings (st);
    va_start (ap, types);
    for (int i = 0; types[i]; i++)
        bind_one (st, i + 1, types[i], &ap);
    va_end (ap);
    return st;
}

int dt_store_step (struct dt_store *s, sqlite3_stmt *st, struct dt_err *reterr)
{
    int code, r;

    if (!st)
        return dt_store_refuse_newer (s, reterr);
    code = sqlite3_step (st);
    if (code == SQLITE_ROW)
        return 1;
    r = code == SQLITE_DONE ? 0 : dt_store_failed (s, reterr);
    sqlite3_reset (st);
    return r;
}

int dt_store_exec (struct dt_store *s, sqlite3_stmt *st, struct dt_err *reterr)
{
    int r = dt_store_step (s, st, reterr);

    if (r > 0) {
        sqlite3_reset (st);
        r = 0;
    }
    return r;
}

int dt_store_stop (sqlite3_stmt *st, int r)
{
    sqlite3_reset (st);
    return r;
}

int dt_store_damaged (struct dt_store *s, sqlite3_stmt *st, const char *table,
                      struct dt_err *reterr)
{
    return dt_store_stop (st, dt_err_set (reterr, -DT_ECORRUPT, "store %s: a damaged row of %s",
                                          s->path, table));
}

const char *dt_column_text (sqlite3_stmt *st, int i)
{
    const char *text = (const char *)sqlite3_column_text (st, i);

    return text ? text : "";
}

int dt_column_digest (sqlite3_stmt *st, int i, struct dt_digest *ret)
{
    const void *p = sqlite3_column_blob (st, i);

    if (!p || sqlite3_column_bytes (st, i) != DT_DIGEST_BYTES)
        return -DT_ECORRUPT;
    memcpy (ret->bytes, p, DT_DIGEST_BYTES);
    return 0;
}
