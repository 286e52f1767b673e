/* detentd/store_commit.c - tuples, their selectors, and the chains of commits. */
#include "detentd/store_sql.h"

#include <ctype.h>
#include <string.h>

#include "base/time.h"

#define SIGNATURE_BYTES 64
#define MIN_PREFIX 6

int dt_store_tuple_put (struct dt_store *s, const struct dt_tuple_row *row,
                        const struct dt_selector_row *selector, size_t n_selectors,
                        struct dt_err *reterr)
{
    int r;

    r = dt_store_exec (s, dt_store_bind (s, DT_STMT_TUPLE_PUT, "ddtiti", &row->digest, &row->bits,
                                         row->deployment, (int64_t)row->sampled, row->uncovered,
                                         dt_time_wall_ns ()), reterr);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n_selectors; i++)
        if ((r = dt_store_exec (s, dt_store_bind (s, DT_STMT_SELECTOR_PUT, "dttdd", &row->digest,
                                                  selector[i].family, selector[i].site,
                                                  &selector[i].pinned, &selector[i].stock),
                                reterr)) < 0)
            return r;
    return 0;
}

int dt_store_tuple_get (struct dt_store *s, const struct dt_digest *digest,
                        struct dt_tuple_row *ret, struct dt_buf *text, struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_TUPLE_GET, "d", digest);
    struct dt_tuple_row row = { .digest = *digest };
    char hex[DT_DIGEST_HEX];
    size_t at[2];
    int r;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "no tuple %s", dt_digest_hex (digest, hex));
    r = dt_column_digest (st, 0, &row.bits);
    row.sampled = sqlite3_column_int (st, 2);
    for (int i = 0; i < 2; i++) {
        const char *column = dt_column_text (st, i == 0 ? 1 : 3);

        at[i] = text->len;
        dt_buf_put (text, column, strlen (column) + 1);
    }
    sqlite3_reset (st);
    if (r < 0)
        return dt_store_damaged (s, st, "tuple", reterr);
    if (text->failed)
        return dt_err_nomem (reterr);
    row.deployment = (const char *)text->data + at[0];
    row.uncovered = (const char *)text->data + at[1];
    *ret = row;
    return 0;
}

int dt_store_tuple_tuned (struct dt_store *s, const struct dt_digest *digest,
                          const char *deployment, const char *workload, int *ret,
                          struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_TUPLE_TUNED, "dtt", digest, deployment, workload);
    int r;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    *ret = sqlite3_column_int (st, 0);
    sqlite3_reset (st);
    return 0;
}

int dt_store_tuple_newest (struct dt_store *s, const char *deployment, const char *workload,
                           struct dt_digest *ret, struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_TUPLE_NEWEST, "tt", deployment, workload);
    int r;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "no finished tune of (%s, %s)", deployment,
                           workload);
    r = dt_column_digest (st, 0, ret);
    sqlite3_reset (st);
    return r < 0 ? dt_store_damaged (s, st, "job", reterr) : 0;
}

int dt_store_tuple_result (struct dt_store *s, const struct dt_digest *digest,
                           const char *deployment, const char *workload, int64_t time_ns,
                           struct dt_buf *ret, struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_TUPLE_RESULT, "dtti", digest, deployment, workload,
                                      time_ns);
    int r;

    if ((r = dt_store_step (s, st, reterr)) <= 0)
        return r;
    dt_buf_put (ret, sqlite3_column_blob (st, 0), (size_t)sqlite3_column_bytes (st, 0));
    sqlite3_reset (st);
    return ret->failed ? dt_err_nomem (reterr) : 0;
}

int dt_store_selectors (struct dt_store *s, const struct dt_digest *tuple,
                        int (*fn) (void *ctx, const struct dt_selector_row *row), void *ctx,
                        struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_SELECTORS, "d", tuple);
    struct dt_selector_row row;
    int r;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        row.family = dt_column_text (st, 0);
        row.site = dt_column_text (st, 1);
        if (dt_column_digest (st, 2, &row.pinned) < 0 || dt_column_digest (st, 3, &row.stock) < 0)
            return dt_store_damaged (s, st, "tuple_selector", reterr);
        if ((r = fn (ctx, &row)) < 0)
            return dt_store_stop (st, r);
    }
    return r;
}

int dt_store_commit_put (struct dt_store *s, const struct dt_commit_row *row,
                         struct dt_err *reterr)
{
    return dt_store_exec (s, dt_store_bind (s, DT_STMT_COMMIT_PUT, "dttiddbi", &row->digest,
                                            row->deployment, row->workload,
                                            (int64_t)row->sequence, &row->tuple, row->parent,
                                            (const void *)row->signature,
                                            (size_t)SIGNATURE_BYTES, row->time_ns), reterr);
}

/* Hand each row of a statement on; the number of rows in *ret_n. */
static int walk (struct dt_store *s, sqlite3_stmt *st,
                 int (*fn) (void *ctx, const struct dt_commit_row *row), void *ctx,
                 size_t *ret_n, struct dt_err *reterr)
{
    struct dt_commit_row row;
    struct dt_digest parent;
    size_t n = 0;
    int r;

    for (; (r = dt_store_step (s, st, reterr)) > 0; n++) {
        row.deployment = dt_column_text (st, 1);
        row.workload = dt_column_text (st, 2);
        row.sequence = (uint64_t)sqlite3_column_int64 (st, 3);
        row.parent = dt_column_digest (st, 5, &parent) == 0 ? &parent : NULL;
        row.signature = sqlite3_column_blob (st, 6);
        row.time_ns = sqlite3_column_int64 (st, 7);
        row.data = sqlite3_column_blob (st, 8);
        row.n_data = (size_t)sqlite3_column_bytes (st, 8);
        if (dt_column_digest (st, 0, &row.digest) < 0 || dt_column_digest (st, 4, &row.tuple) < 0
            || sqlite3_column_bytes (st, 6) != SIGNATURE_BYTES || !row.data)
            return dt_store_damaged (s, st, "commit_log", reterr);
        if ((r = fn (ctx, &row)) < 0)
            return dt_store_stop (st, r);
    }
    if (r == 0)
        *ret_n = n;
    return r;
}

int dt_store_commit_get (struct dt_store *s, const struct dt_digest *digest,
                         int (*fn) (void *ctx, const struct dt_commit_row *row), void *ctx,
                         struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_COMMIT_GET, "d", digest);
    char hex[DT_DIGEST_HEX];
    size_t n;
    int r = walk (s, st, fn, ctx, &n, reterr);

    if (r == 0 && n == 0)
        r = dt_err_set (reterr, -DT_ENOTFOUND, "no commit %s", dt_digest_hex (digest, hex));
    return r;
}

int dt_store_commits (struct dt_store *s, const char *deployment, const char *workload,
                      uint64_t limit,
                      int (*fn) (void *ctx, const struct dt_commit_row *row), void *ctx,
                      struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_COMMITS, "tti", deployment, workload,
                                      limit > INT64_MAX ? INT64_MAX : (int64_t)limit);
    size_t n;

    return walk (s, st, fn, ctx, &n, reterr);
}

int dt_store_prefix (const char *prefix, struct dt_digest *ret_lo, struct dt_digest *ret_hi,
                   struct dt_err *reterr)
{
    char lo[DT_DIGEST_HEX], hi[DT_DIGEST_HEX];
    size_t n = strlen (prefix);

    if (n < MIN_PREFIX || n >= DT_DIGEST_HEX)
        return dt_err_set (reterr, -DT_EINPUT, "a digest's prefix has %d to %d hex digits, not %zu",
                           MIN_PREFIX, DT_DIGEST_HEX - 1, n);
    for (size_t i = 0; i < n; i++)
        if (!isxdigit ((unsigned char)prefix[i]))
            return dt_err_set (reterr, -DT_EINPUT, "'%s' is not a digest's prefix: hex digits only",
                               prefix);
    memset (lo, '0', sizeof lo - 1);
    memset (hi, 'f', sizeof hi - 1);
    lo[sizeof lo - 1] = hi[sizeof hi - 1] = '\0';
    memcpy (lo, prefix, n);
    memcpy (hi, prefix, n);
    if (dt_digest_parse (lo, ret_lo) < 0 || dt_digest_parse (hi, ret_hi) < 0)
        return dt_err_set (reterr, -DT_EINPUT, "'%s' is not a digest's prefix", prefix);
    return 0;
}

int dt_store_find (struct dt_store *s, const char *prefix, struct dt_digest *ret,
                   int *ret_is_commit, struct dt_err *reterr)
{
    struct dt_digest lo, hi, found;
    sqlite3_stmt *st;
    int r, is_commit;

    if ((r = dt_store_prefix (prefix, &lo, &hi, reterr)) < 0)
        return r;
    st = dt_store_bind (s, DT_STMT_FIND, "dd", &lo, &hi);
    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "no commit or tuple starts with %s", prefix);
    r = dt_column_digest (st, 0, &found);
    is_commit = sqlite3_column_int (st, 1);
    if (r < 0)
        return dt_store_damaged (s, st, "blob", reterr);
    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r > 0) {
        sqlite3_reset (st);
        return dt_err_set (reterr, -DT_EINPUT, "several commits or tuples start with %s", prefix);
    }
    *ret = found;
    *ret_is_commit = is_commit;
    return 0;
}
