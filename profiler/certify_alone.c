/* A request alone, and whether a row has its bits. */
#include "profiler/certify_round.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

const int dt_certify_poison[DT_CERTIFY_POISONS] = { 0xff, 0x00, 0x7e, 0x3c };

static const char *const kinds[DT_BACKEND_DATA_KINDS] = {
    [DT_BACKEND_RANDOM] = "random", [DT_BACKEND_CANCEL] = "cancelling",
    [DT_BACKEND_SPREAD] = "spread",
};

static const void *key_of (const void *ctx, uint32_t index, size_t *ret_len)
{
    const struct dt_certify *c = ctx;

    *ret_len = DT_DIGEST_BYTES;
    return c->ref[index].key.bytes;
}

static struct dt_digest request_key (const struct dt_certify *c,
                                     const struct dt_backend_call *call)
{
    struct dt_digest_state s;

    dt_digest_begin (&s, "request");
    dt_digest_add (&s, &call->data, sizeof call->data);
    dt_digest_add (&s, call->seed, sizeof *call->seed);
    dt_digest_add (&s, call->request, c->family->n_request_fields * sizeof *call->request);
    return dt_digest_end (&s);
}

int dt_certify_run_one (struct dt_certify *c, const struct dt_backend_call *one,
                        struct dt_err *reterr)
{
    int r;

    if ((r = dt_certify_choose (c, one, reterr)) <= 0)
        return r;
    if ((r = dt_lane_fill (&c->lane, one, 0, dt_certify_poison[0], reterr)) < 0
        || (r = dt_lane_run (&c->lane, one, dt_certify_poison[0], reterr)) < 0
        || (r = dt_lane_read (&c->lane, one, reterr)) < 0)
        return r;
    return 1;
}

static int keep (struct dt_certify *c, const struct dt_digest *key, uint32_t *ret,
                 struct dt_err *reterr)
{
    struct dt_certify_reference ref = { .key = *key, .n = c->lane.row[0].length };
    void *items = c->ref;

    if (c->ref_bytes + ref.n > DT_CERTIFY_REFERENCE_BYTES)
        return dt_err_set (reterr, -DT_ELIMIT, "outputs to compare with exceed %zu bytes",
                           DT_CERTIFY_REFERENCE_BYTES);
    if (dt_grow (&items, &c->room_refs, c->n_refs, sizeof *c->ref) < 0)
        return dt_err_nomem (reterr);
    c->ref = items;
    if (!(ref.bits = dt_memdup (c->lane.host + c->lane.row[0].offset, ref.n ? ref.n : 1)))
        return dt_err_nomem (reterr);
    c->ref[c->n_refs] = ref;
    if (dt_table_put (&c->ref_of, key->bytes, DT_DIGEST_BYTES, (uint32_t)c->n_refs) < 0) {
        dt_free (ref.bits);
        return dt_err_nomem (reterr);
    }
    *ret = (uint32_t)c->n_refs++;
    c->ref_bytes += ref.n;
    return 0;
}

struct dt_backend_call dt_certify_one (const struct dt_certify *c,
                                       const struct dt_backend_call *call, size_t i)
{
    struct dt_backend_call one = *call;

    one.n_requests = 1;
    one.request = call->request + i * c->family->n_request_fields;
    one.seed = call->seed + i;
    one.exchange = 0;
    return one;
}

int dt_certify_references (struct dt_certify *c, const struct dt_backend_call *call,
                           uint32_t *ret, struct dt_err *reterr)
{
    int r;

    for (size_t i = 0; i < call->n_requests; i++) {
        struct dt_backend_call one = dt_certify_one (c, call, i);
        struct dt_digest key = request_key (c, &one);

        ret[i] = dt_table_get (&c->ref_of, key.bytes, DT_DIGEST_BYTES, key_of, c);
        if (ret[i] != DT_TABLE_NONE)
            continue;
        if ((r = dt_certify_run_one (c, &one, reterr)) <= 0
            || (r = keep (c, &key, &ret[i], reterr)) < 0)
            return r;
    }
    return 1;
}

/* "row 3 of 17 (query_len=1 kv_len=700), cancelling data, tile_m=4 workers=2: byte ..." */
static void describe (struct dt_certify *c, const struct dt_backend_call *call, size_t i,
                      const uint8_t *is, const struct dt_certify_reference *was, const char *how)
{
    const struct dt_backend_family *f = c->family;
    char *text = c->difference;
    size_t room = sizeof c->difference, at = 0, n = 0;

    n = (size_t)snprintf (text, room, "row %zu of %zu (", i, call->n_requests);
    for (size_t k = 0; k < f->n_request_fields && n < room; k++)
        n += (size_t)snprintf (text + n, room - n, "%s%s=%lld", k ? " " : "",
                               f->request_fields[k],
                               (long long)call->request[i * f->n_request_fields + k]);
    if (n < room)
        n += (size_t)snprintf (text + n, room - n, "), %s data", kinds[call->data]);
    for (size_t k = 0; k < c->n_fields && n < room; k++) {
        const struct dt_backend_value *v = &call->param[c->field[k].param];

        n += (size_t)snprintf (text + n, room - n, " %s=%lld", f->params[c->field[k].param].name,
                               (long long)(v->each ? v->each[i] : v->one));
    }
    while (at < was->n && is[at] == was->bits[at])
        at++;
    if (n < room && at < was->n)
        snprintf (text + n, room - n, "%s: byte %zu of %zu is 0x%02x, and 0x%02x when the request "
                  "is alone", how, at, was->n, is[at], was->bits[at]);
}

void dt_certify_compare (struct dt_certify *c, const struct dt_lane *l,
                     const struct dt_backend_call *call, const uint32_t *ref, const char *how,
                     Detent__WorkerCertified *ret)
{
    for (size_t i = 0; i < call->n_requests; i++) {
        const struct dt_certify_reference *was = &c->ref[ref[i]];
        const uint8_t *is = l->host + l->row[i].offset;

        ret->rows++;
        if (l->row[i].length == was->n && memcmp (is, was->bits, was->n) == 0)
            continue;
        ret->changed++;
        if (c->difference[0])
            continue;
        if (l->row[i].length != was->n)
            snprintf (c->difference, sizeof c->difference, "row %zu of %zu has %zu bytes, and "
                      "%zu when the request is alone", i, call->n_requests, l->row[i].length,
                      was->n);
        else
            describe (c, call, i, is, was, how);
    }
}
