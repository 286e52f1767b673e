/* detentd/store_sql.h - inside the store: connection, statements, migrations.
 * Uses: SQLite.  Used by: store*.c, schema/migrations.c, tests. */
#ifndef DT_DETENTD_STORE_SQL_H
#define DT_DETENTD_STORE_SQL_H

#include <sqlite3.h>

#include "detentd/store.h"

struct dt_migration {
    int version;
    const char *name, *sql;
};
extern const struct dt_migration dt_migrations[]; /* ascending from 1 */
extern const size_t dt_n_migrations;

/* Marks a file as ours: "DTNT". */
#define DT_STORE_APPLICATION_ID 0x44544e54

enum dt_stmt {
    DT_STMT_BEGIN, DT_STMT_BEGIN_READ, DT_STMT_COMMIT, DT_STMT_ROLLBACK,
    DT_STMT_BLOB_PUT, DT_STMT_BLOB_GET,
    DT_STMT_TRACE_PUT, DT_STMT_TRACES, DT_STMT_TRACE_NEWEST, DT_STMT_TRACE_HAS,
    DT_STMT_SOLUTION_GET, DT_STMT_SOLUTION_PUT, DT_STMT_STANDING_GET, DT_STMT_STANDING_PUT,
    DT_STMT_DEPLOYMENT_PUT, DT_STMT_DEPLOYMENT_GET,
    DT_STMT_SOURCE_CLEAR, DT_STMT_SOURCE_PUT, DT_STMT_SOURCES,
    DT_STMT_SITE_CLEAR, DT_STMT_SITE_PUT, DT_STMT_SITES,
    DT_STMT_JOB_NEW, DT_STMT_JOB_START, DT_STMT_JOB_HOLD, DT_STMT_JOB_END, DT_STMT_JOBS,
    DT_STMT_HOLD_PUT, DT_STMT_HOLD_CLEAR, DT_STMT_HOLDS,
    DT_STMT_BACKEND_PUT, DT_STMT_BACKEND_GET, DT_STMT_MEASUREMENT_PUT, DT_STMT_MEASUREMENTS,
    DT_STMT_TUPLE_PUT, DT_STMT_TUPLE_GET, DT_STMT_TUPLE_TUNED, DT_STMT_TUPLE_NEWEST,
    DT_STMT_TUPLE_RESULT,
    DT_STMT_SELECTOR_PUT, DT_STMT_SELECTORS,
    DT_STMT_COMMIT_PUT, DT_STMT_COMMIT_GET, DT_STMT_COMMITS, DT_STMT_CERTIFICATE_PUT, DT_STMT_CERTIFICATE_FIELD_PUT,
    DT_STMT_CERTIFICATES, DT_STMT_CERTIFICATE_FIND, DT_STMT_CERTIFICATE_REVOKE,
    DT_STMT_CERTIFIED, DT_STMT_IN_FORCE, DT_STMT_REVOKED, DT_STMT_TUPLE_FREE_PUT, DT_STMT_TUPLE_FREE,
    DT_STMT_FIND,
    DT_STMT_COUNTS,
    DT_STMT_COUNT
};

struct dt_store {
    sqlite3 *db;
    char *path;
    int write;
    int64_t version; /* as it was found */
    sqlite3_stmt *stmt[DT_STMT_COUNT];
};

/* All of them; of a newer store, those that it can still be asked: what needs another is
 * refused, and the rest is served. */
int dt_store_prepare (struct dt_store *s, struct dt_err *reterr);
/* A statement, reset, with its parameters bound in order.  types: i int64_t,
 * t const char * (NULL: null), d const struct dt_digest * (NULL: null),
 * b const void * and size_t (NULL: null).  What is bound is borrowed until the
 * statement is used again or dt_store_reset.  NULL: a newer store has no such
 * table or column, and stepping says so. */
sqlite3_stmt *dt_store_bind (struct dt_store *s, enum dt_stmt id, const char *types, ...);
/* 1 a row, 0 done, or a negative code.  After 0 or a failure it is reset. */
int dt_store_step (struct dt_store *s, sqlite3_stmt *st, struct dt_err *reterr);
/* Step a statement that returns no row. */
int dt_store_exec (struct dt_store *s, sqlite3_stmt *st, struct dt_err *reterr);
/* Reset it before its last row; returns `r`. */
int dt_store_stop (sqlite3_stmt *st, int r);
/* So, for a row that the schema's CHECKs exclude: only a damaged file has it. */
int dt_store_damaged (struct dt_store *s, sqlite3_stmt *st, const char *table,
                      struct dt_err *reterr);
/* What SQLite said last, as a code. */
int dt_store_failed (struct dt_store *s, struct dt_err *reterr);
int dt_store_refuse_newer (const struct dt_store *s, struct dt_err *reterr);

const char *dt_column_text (sqlite3_stmt *st, int i);
/* 0, or -DT_ECORRUPT if the column is not 32 bytes. */
int dt_column_digest (sqlite3_stmt *st, int i, struct dt_digest *ret);
/* The first and last digest whose hex digits start so.  -DT_EINPUT */
int dt_store_prefix (const char *prefix, struct dt_digest *ret_lo, struct dt_digest *ret_hi,
                     struct dt_err *reterr);

#endif
