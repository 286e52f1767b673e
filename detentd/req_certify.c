/* detentd/req_certify.c - certify, and the list and revocation of certificates. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "detentd/certifying.h"
#include "detentd/dispatch.h"
#include "detentd/forced.h"
#include "detentd/publish.h"

#define REPEATS 2
#define RIVALS 1
#define SEED 1

static void started (struct dt_ask *a)
{
    const Detent__CertifyRequest *rq = a->rq->certify;

    dt_job_started (a, rq->has_detach && rq->detach, dt_certifying_run);
}

static int fill (struct dt_job *j, const Detent__CertifyRequest *rq, struct dt_err *reterr)
{
    int r;

    j->repeats = rq->has_repeats ? rq->repeats : REPEATS;
    j->rivals = rq->has_rivals ? rq->rivals : RIVALS;
    j->seed = rq->has_seed ? rq->seed : SEED;
    j->anew = rq->has_anew && rq->anew;
    j->shared = rq->has_shared && rq->shared;
    if (j->repeats < 1 || j->repeats > DT_CERTIFYING_MAX_REPEATS)
        return dt_err_set (reterr, -DT_EINPUT, "repeats %u: must be 1 to %d", j->repeats,
                           DT_CERTIFYING_MAX_REPEATS);
    if (j->rivals > DT_CERTIFYING_MAX_RIVALS)
        return dt_err_set (reterr, -DT_EINPUT, "rivals %u: at most %d", j->rivals,
                           DT_CERTIFYING_MAX_RIVALS);
    if ((rq->family && !(j->family = dt_strdup (rq->family)))
        || (rq->site && !(j->site = dt_strdup (rq->site))))
        return dt_err_nomem (reterr);
    if ((r = dt_job_set_device (j, rq->has_device, rq->device, reterr)) < 0)
        return r;
    return dt_forced_take (j, rq->assignment, rq->n_assignment, reterr);
}

int dt_job_of_certify (struct dt_daemon *d, Detent__Request *rq, struct dt_job **ret,
                       struct dt_err *reterr)
{
    struct dt_digest file;
    struct dt_job *j;
    int r;

    if ((r = dt_store_deployment_get (d->reader, rq->certify->deployment, &file, reterr)) < 0)
        return r;
    if (!(j = dt_job_new ("certify", rq->certify->deployment, "", reterr)))
        return -ENOMEM;
    if ((r = fill (j, rq->certify, reterr)) < 0 || (r = dt_job_keep_request (j, rq, reterr)) < 0) {
        dt_job_free (j);
        return r;
    }
    *ret = j;
    return 0;
}

int dt_req_certify (struct dt_ask *a, struct dt_err *reterr)
{
    const Detent__CertifyRequest *rq = a->rq->certify;
    int r;

    if ((r = dt_check_name ("deployment", rq->deployment, reterr)) < 0
        || (r = dt_check_optional_name ("family", rq->family, reterr)) < 0
        || (r = dt_check_optional_name ("site", rq->site, reterr)) < 0)
        return r;
    if ((r = dt_job_place (a, reterr)) < 0 || (r = dt_job_of_certify (a->d, a->rq, &a->job, reterr)) < 0)
        return r;
    a->after = started;
    return dt_ask_write (a, dt_job_insert, reterr);
}

/* --- what there is ---------------------------------------------------------------- */

struct listing {
    struct dt_ask *a;
    const struct dt_digest *want; /* NULL: all */
    void **items;
    size_t n;
};

static int add (void *ctx, const struct dt_certificate_row *row)
{
    struct listing *l = ctx;
    Detent__CertificateInfo *m;

    if (l->want && !dt_digest_equal (l->want, &row->digest))
        return 0;
    if (!(m = dt_arena_alloc (&l->a->arena, sizeof *m)))
        return -ENOMEM;
    detent__certificate_info__init (m);
    m->digest = dt_ask_digest (l->a, &row->digest);
    m->certificate = dt_ask_bytes (l->a, row->data, row->n_data);
    m->deployment = dt_arena_strf (&l->a->arena, "%s", row->deployment);
    m->why = row->revoked_ns ? dt_arena_strf (&l->a->arena, "%s", row->why) : NULL;
    m->time_ns = row->time_ns;
    m->has_revoked_ns = row->revoked_ns != 0;
    m->revoked_ns = row->revoked_ns;
    if (!m->digest.data || !m->certificate.data || !m->deployment
        || (row->revoked_ns && !m->why))
        return -ENOMEM;
    return dt_ask_push (l->a, &l->items, &l->n, m);
}

static int list (struct dt_ask *a, struct dt_store *s, const char *deployment,
                 const struct dt_digest *want, struct dt_err *reterr)
{
    Detent__CertificateListReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    struct listing l = { .a = a, .want = want };
    int r;

    if (!reply)
        return dt_err_nomem (reterr);
    if ((r = dt_store_certificates (s, deployment, add, &l, reterr)) < 0)
        return r == -ENOMEM ? dt_err_nomem (reterr) : r;
    detent__certificate_list_reply__init (reply);
    reply->certificate = (Detent__CertificateInfo **)l.items;
    reply->n_certificate = l.n;
    a->reply.body_case = DETENT__REPLY__BODY_CERTIFICATE_LIST;
    a->reply.certificate_list = reply;
    return 0;
}

static int find_and_list (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_ask *a = ctx;
    const Detent__CertificateListRequest *rq = a->rq->certificate_list;
    struct dt_digest want;
    int r;

    if (rq->prefix && (r = dt_store_certificate_find (s, rq->prefix, &want, reterr)) < 0)
        return r;
    return list (a, s, rq->deployment, rq->prefix ? &want : NULL, reterr);
}

int dt_req_certificate_list (struct dt_ask *a, struct dt_err *reterr)
{
    int r = dt_check_optional_name ("deployment", a->rq->certificate_list->deployment, reterr);

    return r < 0 ? r : dt_store_read (a->d->reader, find_and_list, a, reterr);
}

static int revoke (struct dt_ask *a, struct dt_store *s, struct dt_err *reterr)
{
    const Detent__CertificateRevokeRequest *rq = a->rq->certificate_revoke;
    struct dt_digest digest;
    int r;

    if ((r = dt_store_certificate_find (s, rq->prefix, &digest, reterr)) < 0
        || (r = dt_store_certificate_revoke (s, &digest, rq->why, reterr)) < 0)
        return r;
    return list (a, s, NULL, &digest, reterr);
}

static void revoked (struct dt_ask *a)
{
    dt_log (DT_LOG_WARNING, "certify", "a certificate was revoked: %s",
            a->rq->certificate_revoke->why);
    dt_publish (a->d, "certificate", &a->reply);
}

int dt_req_certificate_revoke (struct dt_ask *a, struct dt_err *reterr)
{
    const char *why = a->rq->certificate_revoke->why;
    int r = dt_check_text ("why", why, DT_WIRE_MAX_MESSAGE, reterr);

    if (r < 0)
        return r;
    if (!*why)
        return dt_err_set (reterr, -DT_EINPUT, "a revocation says why");
    a->after = revoked;
    return dt_ask_write (a, revoke, reterr);
}
