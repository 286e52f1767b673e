/* detentd/store_certificate.c - certificates, and the fields that need them. */
#include "detentd/store_sql.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"

int dt_store_certificate_put (struct dt_store *s, const struct dt_certificate_row *row,
                              const char *const *field, size_t n_fields, struct dt_digest *ret,
                              struct dt_err *reterr)
{
    struct dt_digest digest;
    int r;

    if ((r = dt_store_blob_put (s, "certificate", row->data, row->n_data, &digest, reterr)) < 0
        || (r = dt_store_exec (s, dt_store_bind (s, DT_STMT_CERTIFICATE_PUT, "ddttti", &digest,
                                                 &row->key, row->deployment, row->family,
                                                 row->site, dt_time_wall_ns ()), reterr)) < 0)
        return r;
    for (size_t i = 0; i < n_fields; i++)
        if ((r = dt_store_exec (s, dt_store_bind (s, DT_STMT_CERTIFICATE_FIELD_PUT, "dt", &digest,
                                                  field[i]), reterr)) < 0)
            return r;
    *ret = digest;
    return 0;
}

int dt_store_certificates (struct dt_store *s, const char *deployment,
                           int (*fn) (void *ctx, const struct dt_certificate_row *row), void *ctx,
                           struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_CERTIFICATES, "t", deployment);
    struct dt_certificate_row row;
    int r;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        if (dt_column_digest (st, 0, &row.digest) < 0 || dt_column_digest (st, 1, &row.key) < 0)
            return dt_store_damaged (s, st, "certificate", reterr);
        row.deployment = dt_column_text (st, 2);
        row.family = dt_column_text (st, 3);
        row.site = dt_column_text (st, 4);
        row.time_ns = sqlite3_column_int64 (st, 5);
        row.revoked_ns = sqlite3_column_int64 (st, 6);
        row.why = dt_column_text (st, 7);
        row.data = sqlite3_column_blob (st, 8);
        row.n_data = (size_t)sqlite3_column_bytes (st, 8);
        if ((r = fn (ctx, &row)) < 0)
            return dt_store_stop (st, r);
    }
    return r;
}

int dt_store_certificate_find (struct dt_store *s, const char *prefix, struct dt_digest *ret,
                               struct dt_err *reterr)
{
    struct dt_digest lo, hi;
    sqlite3_stmt *st;
    int r, n = 0;

    if ((r = dt_store_prefix (prefix, &lo, &hi, reterr)) < 0)
        return r;
    st = dt_store_bind (s, DT_STMT_CERTIFICATE_FIND, "dd", &lo, &hi);
    while ((r = dt_store_step (s, st, reterr)) > 0)
        if (n++ == 0 && dt_column_digest (st, 0, ret) < 0)
            return dt_store_damaged (s, st, "certificate", reterr);
    if (r < 0)
        return r;
    if (n == 0)
        return dt_err_set (reterr, -DT_ENOTFOUND, "no certificate %s", prefix);
    if (n > 1)
        return dt_err_set (reterr, -DT_EINPUT, "several certificates start with %s", prefix);
    return 0;
}

int dt_store_certificate_revoke (struct dt_store *s, const struct dt_digest *digest,
                                 const char *why, struct dt_err *reterr)
{
    char hex[DT_DIGEST_HEX];
    int r;

    if ((r = dt_store_exec (s, dt_store_bind (s, DT_STMT_CERTIFICATE_REVOKE, "itd",
                                              dt_time_wall_ns (), why, digest), reterr)) < 0)
        return r;
    if (sqlite3_changes (s->db) == 1)
        return 0;
    return dt_err_set (reterr, -DT_ENOTFOUND, "certificate %.12s is revoked already",
                       dt_digest_hex (digest, hex));
}

int dt_store_in_force (struct dt_store *s, const char *family, const char *site,
                       struct dt_buf *ret, struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_IN_FORCE, "tt", family, site);
    struct dt_digest digest;
    int r;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        if (dt_column_digest (st, 0, &digest) < 0)
            return dt_store_damaged (s, st, "certificate", reterr);
        dt_buf_put (ret, digest.bytes, sizeof digest.bytes);
    }
    return r == 0 && ret->failed ? dt_err_nomem (reterr) : r;
}

int dt_store_certified (struct dt_store *s, const struct dt_digest *key, const char *field,
                        struct dt_digest *ret, struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_CERTIFIED, "dt", key, field);
    int r;

    if ((r = dt_store_step (s, st, reterr)) <= 0)
        return r;
    if (dt_column_digest (st, 0, ret) < 0)
        return dt_store_damaged (s, st, "certificate", reterr);
    sqlite3_reset (st);
    return 1;
}

int dt_store_tuple_free_put (struct dt_store *s, const struct dt_digest *tuple,
                             const struct dt_free_row *row, struct dt_err *reterr)
{
    return dt_store_exec (s, dt_store_bind (s, DT_STMT_TUPLE_FREE_PUT, "dtttd", tuple,
                                            row->family, row->site, row->field, &row->key),
                          reterr);
}

int dt_store_tuple_free (struct dt_store *s, const struct dt_digest *tuple,
                         int (*fn) (void *ctx, const struct dt_free_row *row), void *ctx,
                         struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_TUPLE_FREE, "d", tuple);
    struct dt_free_row row;
    int r;

    while ((r = dt_store_step (s, st, reterr)) > 0) {
        row.family = dt_column_text (st, 0);
        row.site = dt_column_text (st, 1);
        row.field = dt_column_text (st, 2);
        if (dt_column_digest (st, 3, &row.key) < 0)
            return dt_store_damaged (s, st, "tuple_free", reterr);
        if ((r = fn (ctx, &row)) < 0)
            return dt_store_stop (st, r);
    }
    return r;
}

/* Why a field is not covered: a certificate that was revoked, or there is none. */
static int uncovered (struct dt_store *s, const struct dt_free_row *row, struct dt_err *reterr)
{
    sqlite3_stmt *st = dt_store_bind (s, DT_STMT_REVOKED, "dt", &row->key, row->field);
    struct dt_digest digest;
    char hex[DT_DIGEST_HEX];
    int r;

    if ((r = dt_store_step (s, st, reterr)) < 0)
        return r;
    if (r == 0)
        return dt_err_set (reterr, -DT_EREFUSED, "free field %s/%s.%s has neither certificate nor "
                           "claim (detentctl certify)", row->family, row->site, row->field);
    if (dt_column_digest (st, 0, &digest) < 0)
        return dt_store_damaged (s, st, "certificate", reterr);
    r = dt_err_set (reterr, -DT_EREFUSED, "free field %s/%s.%s: its certificate %.12s was revoked: "
                    "%s", row->family, row->site, row->field, dt_digest_hex (&digest, hex),
                    dt_column_text (st, 1));
    sqlite3_reset (st);
    return r;
}

struct covering {
    struct dt_store *s;
    int (*fn) (void *ctx, const struct dt_digest *certificate);
    void *ctx;
    struct dt_err *err;
};

static int cover (void *ctx, const struct dt_free_row *row)
{
    struct covering *c = ctx;
    struct dt_digest digest;
    int r = dt_store_certified (c->s, &row->key, row->field, &digest, c->err);

    if (r == 0)
        return uncovered (c->s, row, c->err);
    return r > 0 && c->fn ? c->fn (c->ctx, &digest) : r < 0 ? r : 0;
}

int dt_store_tuple_covered (struct dt_store *s, const struct dt_digest *tuple,
                            int (*fn) (void *ctx, const struct dt_digest *certificate), void *ctx,
                            struct dt_err *reterr)
{
    struct covering c = { .s = s, .fn = fn, .ctx = ctx, .err = reterr };

    return dt_store_tuple_free (s, tuple, cover, &c, reterr);
}
