/* detentd/req_fetch.c - fetch: what an engine needs, all of one commit. */
#include <errno.h>
#include <string.h>

#include "detentd/commit.h"
#include "detentd/dispatch.h"

#define DT_FETCH_MAX_CERTIFICATES 4096 /* a site has one; as many as a bundle's sites */

struct bundle {
    struct dt_ask *a;
    void **rows;
    size_t n;
};

static int note (void *ctx, const struct dt_selector_row *row)
{
    struct bundle *b = ctx;
    struct dt_selector_row *copy = dt_arena_alloc (&b->a->arena, sizeof *copy);

    if (!copy)
        return -ENOMEM;
    *copy = *row;
    copy->family = dt_arena_strf (&b->a->arena, "%s", row->family);
    copy->site = dt_arena_strf (&b->a->arena, "%s", row->site);
    if (!copy->family || !copy->site)
        return -ENOMEM;
    return dt_ask_push (b->a, &b->rows, &b->n, copy);
}

static int blob (struct dt_ask *a, struct dt_store *s, const char *kind,
                 const struct dt_digest *digest, ProtobufCBinaryData *ret, struct dt_err *reterr)
{
    struct dt_buf data = { 0 };
    int r = dt_store_blob_get (s, kind, digest, &data, reterr);

    if (r == 0) {
        *ret = dt_ask_bytes (a, data.data, data.len);
        r = ret->data ? 0 : dt_err_nomem (reterr);
    }
    dt_buf_done (&data);
    return r;
}

static int selectors (struct dt_ask *a, struct dt_store *s, const struct dt_digest *tuple,
                      Detent__FetchReply *reply, struct dt_err *reterr)
{
    struct bundle b = { .a = a };
    void **items = NULL;
    size_t n = 0;
    int r;

    if ((r = dt_store_selectors (s, tuple, note, &b, reterr)) < 0)
        return r == -ENOMEM ? dt_err_nomem (reterr) : r;
    for (size_t i = 0; i < b.n; i++) {
        const struct dt_selector_row *row = b.rows[i];
        Detent__Selector *sel = dt_arena_alloc (&a->arena, sizeof *sel);

        if (!sel)
            return dt_err_nomem (reterr);
        detent__selector__init (sel);
        sel->family = (char *)row->family;
        sel->site = (char *)row->site;
        if ((r = blob (a, s, "selector", &row->pinned, &sel->pinned, reterr)) < 0
            || (r = blob (a, s, "selector", &row->stock, &sel->stock, reterr)) < 0)
            return r;
        if (dt_ask_push (a, &items, &n, sel) < 0)
            return dt_err_nomem (reterr);
    }
    reply->selector = (Detent__Selector **)items;
    reply->n_selector = n;
    return 0;
}

/* Certificates that several fields share travel once. */
struct certificates {
    struct dt_ask *a;
    struct dt_store *s;
    Detent__FetchReply *reply;
    struct dt_digest seen[DT_FETCH_MAX_CERTIFICATES];
    size_t n;
    struct dt_err *err;
};

static int add_certificate (void *ctx, const struct dt_digest *digest)
{
    struct certificates *c = ctx;

    for (size_t i = 0; i < c->n; i++)
        if (dt_digest_equal (&c->seen[i], digest))
            return 0;
    if (c->n == DT_FETCH_MAX_CERTIFICATES)
        return dt_err_set (c->err, -DT_ELIMIT, "the tuple needs more than %d certificates",
                           DT_FETCH_MAX_CERTIFICATES);
    c->seen[c->n] = *digest;
    return blob (c->a, c->s, "certificate", digest, &c->reply->certificate[c->n++], c->err);
}

/* What covers the tuple's free fields now: one that was revoked since the commit is a
 * refusal, which an engine meets when it starts. */
static int certificates (struct dt_ask *a, struct dt_store *s, const struct dt_digest *tuple,
                         Detent__FetchReply *reply, struct dt_err *reterr)
{
    struct certificates *c = dt_arena_alloc (&a->arena, sizeof *c);
    int r;

    if (!c || !(reply->certificate = dt_arena_array (&a->arena, DT_FETCH_MAX_CERTIFICATES,
                                                     sizeof *reply->certificate)))
        return dt_err_nomem (reterr);
    *c = (struct certificates){ .a = a, .s = s, .reply = reply, .err = reterr };
    if ((r = dt_store_tuple_covered (s, tuple, add_certificate, c, reterr)) < 0)
        return r;
    reply->n_certificate = c->n;
    return 0;
}

/* The commit of a snapshot must be of the chain that is asked for. */
static int snapshot (struct dt_ask *a, struct dt_store *s, const Detent__FetchRequest *rq,
                     Detent__CommitInfo **ret, struct dt_err *reterr)
{
    Detent__CommitInfo *info;
    struct dt_digest digest;
    int r;

    if ((r = dt_check_digest ("snapshot", rq->snapshot, &digest, reterr)) < 0
        || (r = dt_commit_by_digest (a, s, &digest, &info, reterr)) < 0)
        return r;
    if (strcmp (info->deployment, rq->deployment) != 0
        || strcmp (info->workload, rq->workload) != 0)
        return dt_err_set (reterr, -DT_EREFUSED, "the snapshot is a commit of (%s, %s), not of "
                           "(%s, %s)", info->deployment, info->workload, rq->deployment,
                           rq->workload);
    *ret = info;
    return 0;
}

/* Within one read, so that everything belongs to one commit. */
static int fetch (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_ask *a = ctx;
    const Detent__FetchRequest *rq = a->rq->fetch;
    Detent__FetchReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    Detent__CommitInfo *info;
    struct dt_digest tuple;
    int r;

    if (!reply)
        return dt_err_nomem (reterr);
    detent__fetch_reply__init (reply);
    r = rq->has_snapshot ? snapshot (a, s, rq, &info, reterr)
                         : dt_commit_head (a, s, rq->deployment, rq->workload, &info, reterr);
    if (r < 0
        || (r = dt_check_digest ("tuple of the commit", info->tuple, &tuple, reterr)) < 0
        || (r = blob (a, s, "tuple", &tuple, &reply->tuple, reterr)) < 0
        || (r = selectors (a, s, &tuple, reply, reterr)) < 0
        || (r = certificates (a, s, &tuple, reply, reterr)) < 0)
        return r;
    reply->commit = info->commit;
    reply->signature = info->signature;
    reply->signer = info->signer;
    reply->snapshot = info->digest;
    a->reply.body_case = DETENT__REPLY__BODY_FETCH;
    a->reply.fetch = reply;
    return 0;
}

int dt_req_fetch (struct dt_ask *a, struct dt_err *reterr)
{
    const Detent__FetchRequest *rq = a->rq->fetch;
    int r;

    if ((r = dt_check_name ("deployment", rq->deployment, reterr)) < 0
        || (r = dt_check_name ("workload", rq->workload, reterr)) < 0)
        return r;
    return dt_store_read (a->d->reader, fetch, a, reterr);
}
