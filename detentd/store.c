/* detentd/store.c - the connection, migrations and transactions. */
#include "detentd/store_sql.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"

void (*dt_store_hook) (struct dt_store *s, enum dt_store_point point);

/* Writers of another process are possible for a moment (sqlite3 at the shell). */
#define BUSY_TIMEOUT_MS 5000

static int script (struct dt_store *s, const char *sql, struct dt_err *reterr)
{
    return sqlite3_exec (s->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : dt_store_failed (s, reterr);
}

/* The first column of the first row, as a number. */
static int number (struct dt_store *s, const char *sql, int64_t *ret, struct dt_err *reterr)
{
    sqlite3_stmt *st;
    int r;

    if (sqlite3_prepare_v2 (s->db, sql, -1, &st, NULL) != SQLITE_OK)
        return dt_store_failed (s, reterr);
    if (sqlite3_step (st) == SQLITE_ROW) {
        *ret = sqlite3_column_int64 (st, 0);
        r = 0;
    } else
        r = dt_store_failed (s, reterr);
    sqlite3_finalize (st);
    return r;
}

/* quick_check's rows are its verdict: exactly one that says "ok". */
static int check (struct dt_store *s, struct dt_err *reterr)
{
    sqlite3_stmt *st;
    int r;

    if (sqlite3_prepare_v2 (s->db, "PRAGMA quick_check (1)", -1, &st, NULL) != SQLITE_OK)
        return dt_store_failed (s, reterr);
    if (sqlite3_step (st) != SQLITE_ROW)
        r = dt_store_failed (s, reterr);
    else if (strcmp (dt_column_text (st, 0), "ok") != 0)
        r = dt_err_set (reterr, -DT_ECORRUPT, "store %s: %s", s->path, dt_column_text (st, 0));
    else
        r = 0;
    sqlite3_finalize (st);
    return r;
}

/* Each row of foreign_key_check is a reference to nothing. */
static int check_keys (struct dt_store *s, struct dt_err *reterr)
{
    sqlite3_stmt *st;
    int code, r = 0;

    if (sqlite3_prepare_v2 (s->db, "PRAGMA foreign_key_check", -1, &st, NULL) != SQLITE_OK)
        return dt_store_failed (s, reterr);
    if ((code = sqlite3_step (st)) == SQLITE_ROW)
        r = dt_err_set (reterr, -DT_ECORRUPT, "store %s: a row of %s refers to nothing", s->path,
                        dt_column_text (st, 0));
    else if (code != SQLITE_DONE)
        r = dt_store_failed (s, reterr);
    sqlite3_finalize (st);
    return r;
}

static int migrate_one (struct dt_store *s, const struct dt_migration *m, struct dt_err *reterr)
{
    char *sql = dt_strf ("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d; COMMIT;", m->sql,
                         m->version);
    int r;

    if (!sql)
        return dt_err_nomem (reterr);
    if ((r = script (s, sql, reterr)) < 0) {
        sqlite3_exec (s->db, "ROLLBACK", NULL, NULL, NULL);
        r = dt_err_prefix (reterr, r, "migration %s", m->name);
    }
    dt_free (sql);
    return r;
}

/* Is it ours, and of which version?  Nothing is written. */
static int look (struct dt_store *s, struct dt_err *reterr)
{
    int64_t application, tables;
    int r;

    if ((r = number (s, "PRAGMA user_version", &s->version, reterr)) < 0
        || (r = number (s, "PRAGMA application_id", &application, reterr)) < 0
        || (r = number (s, "SELECT count (*) FROM sqlite_schema", &tables, reterr)) < 0)
        return r;
    if (application != DT_STORE_APPLICATION_ID && (application != 0 || tables > 0))
        return dt_err_set (reterr, -DT_ECORRUPT, "store %s: a database, but not Detent's", s->path);
    return 0;
}

/* Bring the database to this program's version.  A newer one stays as it is. */
static int migrate (struct dt_store *s, struct dt_err *reterr)
{
    int r;

    if (dt_store_is_newer (s))
        return check (s, reterr);
    if ((r = script (s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", reterr)) < 0)
        return r;
    /* One that is as it must be is not written to: on a full disk it can be served. */
    if (s->version == 0 && (r = script (s, "PRAGMA application_id = 0x44544e54", reterr)) < 0)
        return r;
    /* A table that others refer to is replaced with foreign keys off; what they say is
     * checked once all is there. */
    if ((r = script (s, "PRAGMA foreign_keys = OFF", reterr)) < 0)
        return r;
    for (size_t i = (size_t)s->version; i < dt_n_migrations; i++)
        if ((r = migrate_one (s, &dt_migrations[i], reterr)) < 0)
            return r;
    if ((r = script (s, "PRAGMA foreign_keys = ON", reterr)) < 0
        || (r = check_keys (s, reterr)) < 0)
        return r;
    return check (s, reterr);
}

int dt_store_is_newer (const struct dt_store *s)
{
    return s->version > (int64_t)dt_n_migrations;
}

int dt_store_open (const char *path, int write, struct dt_store **ret, struct dt_err *reterr)
{
    int flags = write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    struct dt_store *s = dt_calloc (1, sizeof *s);
    int r;

    if (!s || !(s->path = dt_strdup (path))) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    s->write = write;
    if (sqlite3_open_v2 (path, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        r = s->db ? dt_store_failed (s, reterr) : dt_err_nomem (reterr);
        goto fail;
    }
    sqlite3_busy_timeout (s->db, BUSY_TIMEOUT_MS);
    if ((r = script (s, "PRAGMA foreign_keys = ON", reterr)) < 0
        || (r = look (s, reterr)) < 0 || (write && (r = migrate (s, reterr)) < 0)
        || (r = dt_store_prepare (s, reterr)) < 0)
        goto fail;
    *ret = s;
    return 0;
fail:
    dt_store_close (s);
    return r;
}

struct dt_store *dt_store_close (struct dt_store *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < DT_STMT_COUNT; i++)
        sqlite3_finalize (s->stmt[i]);
    sqlite3_close (s->db);
    dt_free (s->path);
    dt_free (s);
    return NULL;
}

static void at (struct dt_store *s, enum dt_store_point point)
{
    if (dt_store_hook)
        dt_store_hook (s, point);
}

/* Some errors (a full disk) have rolled back already. */
static void rollback (struct dt_store *s)
{
    if (!sqlite3_get_autocommit (s->db))
        dt_store_exec (s, dt_store_bind (s, DT_STMT_ROLLBACK, ""), NULL);
}

int dt_store_transact (struct dt_store *s, dt_store_f fn, void *ctx, struct dt_err *reterr)
{
    int r;

    assert (s->write);
    if (dt_store_is_newer (s))
        return dt_store_refuse_newer (s, reterr);
    at (s, DT_STORE_BEFORE);
    if ((r = dt_store_exec (s, dt_store_bind (s, DT_STMT_BEGIN, ""), reterr)) < 0)
        return r;
    if ((r = fn (s, ctx, reterr)) < 0)
        goto fail;
    at (s, DT_STORE_INSIDE);
    if ((r = dt_store_exec (s, dt_store_bind (s, DT_STMT_COMMIT, ""), reterr)) < 0)
        goto fail;
    at (s, DT_STORE_AFTER);
    return 0;
fail:
    rollback (s);
    return r;
}

int dt_store_read (struct dt_store *s, dt_store_f fn, void *ctx, struct dt_err *reterr)
{
    int r;

    if ((r = dt_store_exec (s, dt_store_bind (s, DT_STMT_BEGIN_READ, ""), reterr)) < 0)
        return r;
    r = fn (s, ctx, reterr);
    rollback (s);
    return r;
}
