/* detentd/commit.c - commits: their bytes, and what replies say of them. */
#include "detentd/commit.h"

#include <errno.h>
#include <string.h>

#include "base/time.h"
#include "detent/tuple.h"

struct head {
    int found;
    struct dt_digest digest;
    uint64_t sequence;
};

static int take_head (void *ctx, const struct dt_commit_row *row)
{
    struct head *head = ctx;

    head->found = 1;
    head->digest = row->digest;
    head->sequence = row->sequence;
    return 0;
}

static int check_tuple (struct dt_store *s, const struct dt_commit_ask *ask,
                        const struct dt_digest *digest, struct dt_tuple_row *ret,
                        struct dt_buf *text, struct dt_err *reterr)
{
    char hex[DT_DIGEST_HEX];
    int r, tuned;

    if ((r = dt_store_tuple_get (s, digest, ret, text, reterr)) < 0
        || (r = dt_store_tuple_tuned (s, digest, ask->deployment, ask->workload, &tuned,
                                      reterr)) < 0)
        return r;
    dt_digest_hex (digest, hex);
    if (!tuned)
        return dt_err_set (reterr, -DT_EREFUSED, "tuple %.12s, of deployment %s, was not tuned "
                           "for (%s, %s)", hex, ret->deployment, ask->deployment, ask->workload);
    if (ret->uncovered[0])
        return dt_err_set (reterr, -DT_EREFUSED, "tuple %.12s: free field %s has neither "
                           "certificate nor claim", hex, ret->uncovered);
    if ((r = dt_store_tuple_covered (s, digest, NULL, NULL, reterr)) < 0)
        return dt_err_prefix (reterr, r, "tuple %.12s", hex);
    if (ret->sampled && !ask->accept_sampled)
        return dt_err_set (reterr, -DT_EUNPROVED, "tuple %.12s: its legality is sampled, not "
                           "proved; --accept-sampled commits it", hex);
    return 0;
}

static int check_parent (const struct dt_commit_ask *ask, const struct head *head,
                         struct dt_err *reterr)
{
    char is[DT_DIGEST_HEX] = "none", want[DT_DIGEST_HEX] = "none";

    if (!ask->expected_parent && !ask->expect_first)
        return 0;
    if (ask->expect_first ? !head->found
                          : head->found && dt_digest_equal (&head->digest, ask->expected_parent))
        return 0;
    if (head->found)
        dt_digest_hex (&head->digest, is);
    if (ask->expected_parent)
        dt_digest_hex (ask->expected_parent, want);
    return dt_err_set (reterr, -DT_ECONFLICT, "(%s, %s): the newest commit is %.12s, not %.12s",
                       ask->deployment, ask->workload, is, want);
}

/* Keys in byte order, as include/detent/tuple.h lists them. */
static int encode (struct dt_canon *c, const struct dt_commit_ask *ask,
                   const struct dt_tuple_row *tuple, const struct head *head,
                   const struct dt_key *key, int64_t time_ns)
{
    dt_canon_map (c);
    dt_canon_kstr (c, "author", ask->author);
    dt_canon_kbytes (c, "bits", tuple->bits.bytes, DT_DIGEST_BYTES);
    dt_canon_kstr (c, "deployment", ask->deployment);
    dt_canon_kstr (c, "message", ask->message);
    if (head->found)
        dt_canon_kbytes (c, "parent", head->digest.bytes, DT_DIGEST_BYTES);
    dt_canon_kint (c, "sampled", tuple->sampled);
    dt_canon_kint (c, "sequence", (int64_t)head->sequence + 1);
    dt_canon_kbytes (c, "signer", key->public_key, sizeof key->public_key);
    dt_canon_kint (c, "time", time_ns);
    dt_canon_kbytes (c, "tuple", tuple->digest.bytes, DT_DIGEST_BYTES);
    dt_canon_kint (c, "version", DETENT_COMMIT_VERSION);
    dt_canon_kstr (c, "workload", ask->workload);
    dt_canon_end (c);
    return dt_canon_finish (c);
}

static int append (struct dt_store *s, const struct dt_key *key, const struct dt_commit_ask *ask,
                   const struct dt_tuple_row *tuple, const struct head *head,
                   struct dt_digest *ret, struct dt_err *reterr)
{
    struct dt_commit_row row = { .tuple = tuple->digest, .deployment = ask->deployment,
                                 .workload = ask->workload, .sequence = head->sequence + 1,
                                 .parent = head->found ? &head->digest : NULL,
                                 .time_ns = dt_time_wall_ns () };
    uint8_t signature[64];
    struct dt_canon c;
    int r;

    dt_canon_init (&c);
    if ((r = encode (&c, ask, tuple, head, key, row.time_ns)) < 0) {
        r = r == -ENOMEM ? dt_err_nomem (reterr) : dt_err_set (reterr, r, "commit: too large");
        goto fail;
    }
    if ((r = dt_store_blob_put (s, "commit", c.buf.data, c.buf.len, &row.digest, reterr)) < 0)
        goto fail;
    dt_key_sign (key, &row.digest, signature);
    row.signature = signature;
    if ((r = dt_store_commit_put (s, &row, reterr)) == 0)
        *ret = row.digest;
fail:
    dt_canon_done (&c);
    return r;
}

int dt_commit_append (struct dt_store *s, const struct dt_key *key,
                      const struct dt_commit_ask *ask, struct dt_digest *ret,
                      struct dt_err *reterr)
{
    struct dt_digest digest;
    struct dt_tuple_row tuple;
    struct dt_buf text = { 0 };
    struct head head = { 0 };
    int r;

    if (ask->tuple)
        digest = *ask->tuple;
    else if ((r = dt_store_tuple_newest (s, ask->deployment, ask->workload, &digest, reterr)) < 0)
        return r;
    if ((r = check_tuple (s, ask, &digest, &tuple, &text, reterr)) == 0
        && (r = dt_store_commits (s, ask->deployment, ask->workload, 1, take_head, &head,
                                  reterr)) == 0
        && (r = check_parent (ask, &head, reterr)) == 0)
        r = append (s, key, ask, &tuple, &head, ret, reterr);
    dt_buf_done (&text);
    return r;
}

/* An entry of the commit, in the arena: 0, -DT_ECORRUPT if it is not there, -ENOMEM. */
static int text_of (struct dt_ask *a, struct dt_canon_value v, const char *key, char **ret)
{
    const uint8_t *p;
    size_t n;

    if (dt_canon_as_bytes (dt_canon_get (v, key), &p, &n) < 0)
        return -DT_ECORRUPT;
    return (*ret = dt_arena_strn (&a->arena, (const char *)p, n)) ? 0 : -ENOMEM;
}

static int bytes_of (struct dt_ask *a, struct dt_canon_value v, const char *key,
                     ProtobufCBinaryData *ret)
{
    const uint8_t *p;
    size_t n;

    if (dt_canon_as_bytes (dt_canon_get (v, key), &p, &n) < 0)
        return -DT_ECORRUPT;
    *ret = dt_ask_bytes (a, p, n);
    return ret->data ? 0 : -ENOMEM;
}

static int fill (struct dt_ask *a, struct dt_canon_value v, Detent__CommitInfo *info)
{
    int64_t sampled, sequence;
    int r;

    if (dt_canon_as_int (dt_canon_get (v, "sampled"), &sampled) < 0
        || dt_canon_as_int (dt_canon_get (v, "sequence"), &sequence) < 0
        || dt_canon_as_int (dt_canon_get (v, "time"), &info->time_ns) < 0)
        return -DT_ECORRUPT;
    info->sampled = sampled != 0;
    info->sequence = (uint64_t)sequence;
    info->has_parent = dt_canon_tag (dt_canon_get (v, "parent")) != 0;
    if ((r = text_of (a, v, "author", &info->author)) < 0
        || (r = text_of (a, v, "message", &info->message)) < 0
        || (r = text_of (a, v, "deployment", &info->deployment)) < 0
        || (r = text_of (a, v, "workload", &info->workload)) < 0
        || (r = bytes_of (a, v, "tuple", &info->tuple)) < 0
        || (r = bytes_of (a, v, "bits", &info->bits)) < 0
        || (r = bytes_of (a, v, "signer", &info->signer)) < 0)
        return r;
    return info->has_parent ? bytes_of (a, v, "parent", &info->parent) : 0;
}

int dt_commit_info (struct dt_ask *a, const struct dt_commit_row *row,
                    Detent__CommitInfo **ret, struct dt_err *reterr)
{
    Detent__CommitInfo *info = dt_arena_alloc (&a->arena, sizeof *info);
    struct dt_canon_value v;
    char hex[DT_DIGEST_HEX];
    int r;

    if (!info)
        return dt_err_nomem (reterr);
    detent__commit_info__init (info);
    info->digest = dt_ask_digest (a, &row->digest);
    info->commit = dt_ask_bytes (a, row->data, row->n_data);
    info->signature = dt_ask_bytes (a, row->signature, 64);
    if (!info->digest.data || !info->commit.data || !info->signature.data)
        return dt_err_nomem (reterr);
    if ((r = dt_canon_check (row->data, row->n_data, &v, reterr)) < 0
        || (r = fill (a, v, info)) < 0)
        return r == -ENOMEM ? dt_err_nomem (reterr)
                            : dt_err_set (reterr, r, "commit %s is damaged",
                                          dt_digest_hex (&row->digest, hex));
    *ret = info;
    return 0;
}

struct one {
    struct dt_ask *a;
    Detent__CommitInfo *info;
    struct dt_err *err;
};

static int take_one (void *ctx, const struct dt_commit_row *row)
{
    struct one *one = ctx;

    return dt_commit_info (one->a, row, &one->info, one->err);
}

int dt_commit_head (struct dt_ask *a, struct dt_store *s, const char *deployment,
                    const char *workload, Detent__CommitInfo **ret, struct dt_err *reterr)
{
    struct one one = { .a = a, .err = reterr };
    int r;

    if ((r = dt_store_commits (s, deployment, workload, 1, take_one, &one, reterr)) < 0)
        return r;
    if (!one.info)
        return dt_err_set (reterr, -DT_ENOTFOUND, "nothing is committed for (%s, %s)", deployment,
                           workload);
    *ret = one.info;
    return 0;
}

int dt_commit_by_digest (struct dt_ask *a, struct dt_store *s, const struct dt_digest *digest,
                         Detent__CommitInfo **ret, struct dt_err *reterr)
{
    struct one one = { .a = a, .err = reterr };
    int r = dt_store_commit_get (s, digest, take_one, &one, reterr);

    if (r == 0)
        *ret = one.info;
    return r;
}
