/* detentctl/connect.c - one request to detentd. */
#include "detentctl/connect.h"

#include "base/digest.h"
#include "base/mem.h"

int dt_ctl_connect (const struct dt_ctl *c, struct dt_client **ret, struct dt_err *reterr)
{
    const char *given = dt_ctl_value (c, "endpoint");
    char *endpoint = given ? dt_strdup (given) : dt_wire_endpoint ();
    int r;

    if (!endpoint)
        return dt_err_nomem (reterr);
    r = dt_client_open (endpoint, ret, reterr);
    dt_free (endpoint);
    return r;
}

int dt_ctl_timeout (const struct dt_ctl *c, double default_s, int *ret_ms, struct dt_err *reterr)
{
    double s = default_s;
    int r;

    if ((r = dt_ctl_seconds (c, "timeout", &s, reterr)) < 0)
        return r;
    *ret_ms = (int)(s * 1000);
    return 0;
}

int dt_ctl_call (const struct dt_ctl *c, Detent__Request *rq, Detent__Reply__BodyCase want,
                 double default_s, Detent__Reply **ret, struct dt_err *reterr)
{
    struct dt_client *client = NULL;
    Detent__Reply *reply = NULL;
    int timeout_ms, r;

    if ((r = dt_ctl_timeout (c, default_s, &timeout_ms, reterr)) < 0
        || (r = dt_ctl_connect (c, &client, reterr)) < 0)
        return r;
    r = dt_client_call (client, rq, timeout_ms, &reply, reterr);
    dt_client_close (client);
    if (r < 0)
        return r;
    if (reply->body_case != want) {
        detent__reply__free_unpacked (reply, NULL);
        return dt_err_set (reterr, -DT_EVERSION,
                           "detentd answers another question; are client and daemon of one "
                           "version?");
    }
    *ret = reply;
    return 0;
}

int dt_ctl_digest (const struct dt_ctl *c, const char *option, struct dt_digest *d, int *ret_has,
                   ProtobufCBinaryData *ret, struct dt_err *reterr)
{
    const char *hex = dt_ctl_value (c, option);

    if (hex && dt_digest_parse (hex, d) < 0)
        return dt_err_set (reterr, -DT_EUSAGE, "--%s '%s' is not a digest of 64 hex digits",
                           option, hex);
    *ret_has = hex != NULL;
    *ret = hex ? (ProtobufCBinaryData){ DT_DIGEST_BYTES, d->bytes } : (ProtobufCBinaryData){ 0 };
    return 0;
}
