/* detentd/req_commit.c - commit, log and show. */
#include <errno.h>
#include <string.h>

#include "detentd/commit.h"
#include "detentd/dispatch.h"
#include "detentd/publish.h"
#include "detentd/show.h"

#define MAX_AUTHOR 256
#define DEFAULT_LOG 100
#define MAX_LOG 10000 /* a commit has at most about 5 KiB: within a frame */

static int commit (struct dt_ask *a, struct dt_store *s, struct dt_err *reterr)
{
    const Detent__CommitRequest *rq = a->rq->commit;
    struct dt_commit_ask ask = { .deployment = rq->deployment, .workload = rq->workload,
                                 .message = rq->message, .author = rq->author,
                                 .accept_sampled = rq->has_accept_sampled && rq->accept_sampled };
    Detent__CommitReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    struct dt_digest tuple, parent, digest;
    int r;

    if (!reply)
        return dt_err_nomem (reterr);
    if (rq->has_tuple) {
        if ((r = dt_check_digest ("tuple", rq->tuple, &tuple, reterr)) < 0)
            return r;
        ask.tuple = &tuple;
    }
    if (rq->has_expected_parent && rq->expected_parent.len == 0)
        ask.expect_first = 1;
    else if (rq->has_expected_parent) {
        if ((r = dt_check_digest ("expected_parent", rq->expected_parent, &parent, reterr)) < 0)
            return r;
        ask.expected_parent = &parent;
    }
    detent__commit_reply__init (reply);
    if ((r = dt_commit_append (s, &a->d->key, &ask, &digest, reterr)) < 0
        || (r = dt_commit_by_digest (a, s, &digest, &reply->commit, reterr)) < 0)
        return r;
    a->reply.body_case = DETENT__REPLY__BODY_COMMIT;
    a->reply.commit = reply;
    return 0;
}

/* After COMMIT: engines may now fetch it. */
static void committed (struct dt_ask *a)
{
    const Detent__CommitInfo *c = a->reply.commit->commit;

    dt_log (DT_LOG_INFO, "commit", "(%s, %s) #%llu by %s", c->deployment, c->workload,
            (unsigned long long)c->sequence, c->author);
    dt_publish (a->d, "commit", &a->reply);
}

int dt_req_commit (struct dt_ask *a, struct dt_err *reterr)
{
    const Detent__CommitRequest *rq = a->rq->commit;
    int r;

    if ((r = dt_check_name ("deployment", rq->deployment, reterr)) < 0
        || (r = dt_check_name ("workload", rq->workload, reterr)) < 0
        || (r = dt_check_text ("message", rq->message, DT_WIRE_MAX_MESSAGE, reterr)) < 0
        || (r = dt_check_text ("author", rq->author, MAX_AUTHOR, reterr)) < 0)
        return r;
    if (strpbrk (rq->author, "\n\t"))
        return dt_err_set (reterr, -DT_EINPUT, "author has a control character");
    a->after = committed;
    return dt_ask_write (a, commit, reterr);
}

struct listing {
    struct dt_ask *a;
    void **items;
    size_t n;
    struct dt_err *err;
};

static int add (void *ctx, const struct dt_commit_row *row)
{
    struct listing *l = ctx;
    Detent__CommitInfo *info = NULL;
    int r;

    if ((r = dt_commit_info (l->a, row, &info, l->err)) < 0)
        return r;
    return dt_ask_push (l->a, &l->items, &l->n, info) < 0 ? dt_err_nomem (l->err) : 0;
}

int dt_req_log (struct dt_ask *a, struct dt_err *reterr)
{
    const Detent__LogRequest *rq = a->rq->log;
    Detent__LogReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    struct listing l = { .a = a, .err = reterr };
    uint64_t limit = rq->has_limit ? rq->limit : DEFAULT_LOG;
    int r;

    if (!reply)
        return dt_err_nomem (reterr);
    if ((r = dt_check_optional_name ("deployment", rq->deployment, reterr)) < 0
        || (r = dt_check_optional_name ("workload", rq->workload, reterr)) < 0)
        return r;
    if (limit > MAX_LOG)
        return dt_err_set (reterr, -DT_ELIMIT, "limit %llu: at most %d commits in one reply",
                           (unsigned long long)limit, MAX_LOG);
    if ((r = dt_store_commits (a->d->reader, rq->deployment, rq->workload, limit, add, &l,
                               reterr)) < 0)
        return r;
    detent__log_reply__init (reply);
    reply->commit = (Detent__CommitInfo **)l.items;
    reply->n_commit = l.n;
    a->reply.body_case = DETENT__REPLY__BODY_LOG;
    a->reply.log = reply;
    return 0;
}

/* The commit or tuple that is asked for; within one read. */
static int show (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_ask *a = ctx;
    const Detent__ShowRequest *rq = a->rq->show;
    Detent__CommitInfo *info = NULL;
    struct dt_digest digest;
    int r, is_commit = 1;

    if (rq->prefix)
        r = dt_store_find (s, rq->prefix, &digest, &is_commit, reterr);
    else
        r = dt_commit_head (a, s, rq->deployment, rq->workload, &info, reterr);
    if (r == 0 && rq->prefix && is_commit)
        r = dt_commit_by_digest (a, s, &digest, &info, reterr);
    if (r == 0 && info)
        r = dt_check_digest ("tuple of the commit", info->tuple, &digest, reterr);
    if (r < 0)
        return r;
    return dt_show_tuple (a, s, &digest, info, reterr);
}

int dt_req_show (struct dt_ask *a, struct dt_err *reterr)
{
    const Detent__ShowRequest *rq = a->rq->show;
    int r;

    if (!rq->prefix
        && ((r = dt_check_name ("deployment", rq->deployment, reterr)) < 0
            || (r = dt_check_name ("workload", rq->workload, reterr)) < 0))
        return r;
    if (rq->prefix && (rq->deployment || rq->workload))
        return dt_err_set (reterr, -DT_EINPUT, "show: a prefix, or a deployment and a workload, "
                           "not both");
    return dt_store_read (a->d->reader, show, a, reterr);
}
