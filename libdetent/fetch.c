/* libdetent/fetch.c - ask detentd for a bundle. */
#include <errno.h>

#include "base/mem.h"
#include "base/time.h"
#include "libdetent/handle.h"
#include "proto/wire.h"

#define DEFAULT_TIMEOUT_MS 5000

/* An engine's signals are its own affair: go on waiting, until the time is over. */
static int call (struct dt_client *c, Detent__Request *rq, int timeout_ms, Detent__Reply **ret,
                 struct dt_err *reterr)
{
    uint64_t end = dt_time_mono_ns () + (uint64_t)timeout_ms * 1000000;
    int r;

    do
        r = dt_client_send (c, rq, dt_time_left_ms (end), reterr);
    while (r == -EINTR);
    if (r < 0)
        return r;
    do
        r = dt_client_recv (c, dt_time_left_ms (end), ret, reterr);
    while (r == -EINTR);
    return r;
}

static int fetch_from (struct dt_client *c, const struct detent_options *o,
                       Detent__FetchReply **ret, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__FetchRequest fetch = DETENT__FETCH_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    int r;

    fetch.deployment = (char *)o->deployment;
    fetch.workload = (char *)o->workload;
    if (o->snapshot) {
        fetch.has_snapshot = 1;
        fetch.snapshot.data = (uint8_t *)o->snapshot;
        fetch.snapshot.len = DT_DIGEST_BYTES;
    }
    rq.body_case = DETENT__REQUEST__BODY_FETCH;
    rq.fetch = &fetch;
    if ((r = call (c, &rq, o->timeout_ms ? o->timeout_ms : DEFAULT_TIMEOUT_MS, &reply,
                   reterr)) < 0)
        return r;
    if (reply->body_case != DETENT__REPLY__BODY_FETCH || !reply->fetch)
        r = dt_err_set (reterr, -DT_EVERSION, "fetch: detentd sent another kind of reply");
    else {
        *ret = reply->fetch; /* out of the reply, which is freed without it */
        reply->body_case = DETENT__REPLY__BODY__NOT_SET;
        reply->fetch = NULL;
    }
    detent__reply__free_unpacked (reply, NULL);
    return r;
}

int dt_handle_fetch (const struct detent_options *o, Detent__FetchReply **ret,
                     struct dt_err *reterr)
{
    struct dt_client *c = NULL;
    char *endpoint = o->endpoint ? dt_strdup (o->endpoint) : dt_wire_endpoint ();
    int r;

    if (!endpoint)
        return dt_err_nomem (reterr);
    if ((r = dt_client_open (endpoint, &c, reterr)) == 0)
        r = fetch_from (c, o, ret, reterr);
    dt_client_close (c);
    dt_free (endpoint);
    return r;
}
