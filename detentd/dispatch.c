/* detentd/dispatch.c - from a frame to its handler. */
#include "detentd/dispatch.h"

#include <errno.h>

#include "base/mem.h"

static const struct dt_method methods[] = { /* index = number in the oneof */
    [DETENT__REQUEST__BODY_STATUS] = { "status", dt_req_status, DT_ROLE_READ },
    [DETENT__REQUEST__BODY_TRACE_SUBMIT] = { "trace_submit", dt_req_trace_submit, DT_ROLE_SUBMIT },
    [DETENT__REQUEST__BODY_TRACE_LIST] = { "trace_list", dt_req_trace_list, DT_ROLE_READ },
    [DETENT__REQUEST__BODY_SOLVE] = { "solve", dt_req_solve, DT_ROLE_SUBMIT },
    [DETENT__REQUEST__BODY_PINS] = { "pins", dt_req_pins, DT_ROLE_READ },
    [DETENT__REQUEST__BODY_TUNE] = { "tune", dt_req_tune, DT_ROLE_SUBMIT },
    [DETENT__REQUEST__BODY_JOB_LIST] = { "job_list", dt_req_job_list, DT_ROLE_READ },
    [DETENT__REQUEST__BODY_JOB_ATTACH] = { "job_attach", dt_req_job_attach, DT_ROLE_READ },
    [DETENT__REQUEST__BODY_JOB_CANCEL] = { "job_cancel", dt_req_job_cancel, DT_ROLE_SUBMIT },
    [DETENT__REQUEST__BODY_COMMIT] = { "commit", dt_req_commit, DT_ROLE_ADMIN },
    [DETENT__REQUEST__BODY_LOG] = { "log", dt_req_log, DT_ROLE_READ },
    [DETENT__REQUEST__BODY_SHOW] = { "show", dt_req_show, DT_ROLE_READ },
    [DETENT__REQUEST__BODY_CERTIFY] = { "certify", dt_req_certify, DT_ROLE_SUBMIT },
    [DETENT__REQUEST__BODY_CERTIFICATE_LIST] = { "certificate_list", dt_req_certificate_list,
                                                 DT_ROLE_READ },
    [DETENT__REQUEST__BODY_CERTIFICATE_REVOKE] = { "certificate_revoke",
                                                   dt_req_certificate_revoke, DT_ROLE_ADMIN },
    [DETENT__REQUEST__BODY_COVERAGE] = { "coverage", dt_req_coverage, DT_ROLE_READ },
    [DETENT__REQUEST__BODY_HOLD_RELEASE] = { "hold_release", dt_req_hold_release, DT_ROLE_ADMIN },
    [DETENT__REQUEST__BODY_FETCH] = { "fetch", dt_req_fetch, DT_ROLE_READ },
};

const struct dt_method *dt_method_get (size_t number)
{
    return number < DT_ARRAY_SIZE (methods) && methods[number].handler ? &methods[number] : NULL;
}

/* The id that every writer of protobuf puts first: field 1, a varint. */
static int find_id (const uint8_t *frame, size_t n, uint64_t *ret)
{
    struct dt_reader r;
    uint64_t id;

    dt_reader_init (&r, frame, n);
    if (dt_reader_u8 (&r) != 0x08)
        return -DT_EINPUT;
    id = dt_reader_varint (&r);
    if (r.bad)
        return -DT_EINPUT;
    *ret = id;
    return 0;
}

/* protobuf-c cuts a string at a zero byte and merges a field that comes twice.
 * A frame in which that happened has another size when packed again. */
static int whole (const Detent__Request *rq, size_t n)
{
    return detent__request__get_packed_size (rq) == n;
}

static int call (struct dt_ask *a, enum dt_role role, struct dt_err *reterr)
{
    size_t number = (size_t)a->rq->body_case; /* 0 if the peer knows a newer method */
    const struct dt_method *m = dt_method_get (number);

    if (a->rq->version != DT_WIRE_VERSION)
        return dt_err_set (reterr, -DT_EVERSION, "protocol version %u; this detentd speaks %d",
                           a->rq->version, DT_WIRE_VERSION);
    if (!m)
        return dt_err_set (reterr, -ENOSYS, "unknown request; this detentd may be too old");
    if (role < m->role)
        return dt_err_set (reterr, -EPERM, "%s: not permitted", m->name);
    dt_log (DT_LOG_DEBUG, "wire", "request %llu: %s", (unsigned long long)a->rq->id, m->name);
    return m->handler (a, reterr);
}

void dt_dispatch (struct dt_daemon *d, const struct dt_peer *peer, const uint8_t *frame,
                  size_t n, enum dt_role role)
{
    struct dt_ask *a = dt_ask_new (d);
    struct dt_err err = { "" };
    struct dt_peer to = *peer;
    int r;

    if (!a || !(a->rq = detent__request__unpack (&dt_wire_allocator, n, frame))
        || !whole (a->rq, n)) {
        if (find_id (frame, n, &to.id) == 0)
            dt_reply_error (d, &to, -DT_EINPUT, "malformed request");
        else
            dt_log (DT_LOG_DEBUG, "wire", "dropped a malformed frame of %zu bytes", n);
        if (a)
            dt_ask_free (a);
        return;
    }
    a->peer = to;
    a->peer.id = a->rq->id;
    if ((r = call (a, role, &err)) != DT_LATER)
        dt_ask_finish (a, r, &err);
}
