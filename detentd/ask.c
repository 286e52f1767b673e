/* detentd/ask.c - one request on its way to its reply. */
#include "detentd/ask.h"

#include <errno.h>
#include <string.h>
#include <zmq.h>

#include "base/mem.h"
#include "detentd/solving.h"

static int call_task (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_ask *a = ctx;

    return a->task (a, s, reterr);
}

static void run (struct dt_work *w, struct dt_store *s)
{
    struct dt_ask *a = (struct dt_ask *)w;

    a->r = a->transact ? dt_store_transact (s, call_task, a, &a->err) : a->task (a, s, &a->err);
}

static void done (struct dt_work *w, struct dt_daemon *d)
{
    struct dt_ask *a = (struct dt_ask *)w;

    (void)d;
    dt_ask_finish (a, a->r, &a->err);
}

static int later (struct dt_ask *a, struct dt_pool *pool, dt_task_f task, int transact,
                  struct dt_err *reterr)
{
    int r;

    a->work.run = run;
    a->work.done = done;
    a->task = task;
    a->transact = transact;
    /* What it says if the pool stops before it runs. */
    a->r = dt_err_set (&a->err, -DT_ECANCELLED, "detentd is stopping");
    r = dt_pool_post (pool, &a->work, reterr);
    return r < 0 ? r : DT_LATER;
}

int dt_ask_crew (struct dt_ask *a, dt_task_f task, struct dt_err *reterr)
{
    return later (a, a->d->crew, task, 0, reterr);
}

int dt_ask_write (struct dt_ask *a, dt_task_f task, struct dt_err *reterr)
{
    return later (a, a->d->writer, task, 1, reterr);
}

static void *from_arena (void *arena, size_t n)
{
    return dt_arena_alloc (arena, n);
}

static void keep (void *arena, void *p)
{
    (void)arena;
    (void)p;
}

struct dt_ask *dt_ask_new (struct dt_daemon *d)
{
    struct dt_ask *a = dt_calloc (1, sizeof *a);

    if (!a)
        return NULL;
    a->d = d;
    a->allocator = (ProtobufCAllocator){ .alloc = from_arena, .free = keep,
                                         .allocator_data = &a->arena };
    detent__reply__init (&a->reply);
    a->reply.final = 1;
    return a;
}

void dt_ask_finish (struct dt_ask *a, int r, const struct dt_err *err)
{
    if (a->warning.text[0])
        dt_log (DT_LOG_WARNING, "detentd", "%s", a->warning.text);
    if (r == 0 && a->after) {
        a->after (a);
        r = a->r;
        err = &a->err;
    }
    if (r < 0)
        dt_reply_error (a->d, &a->peer, r, err->text);
    else
        dt_reply_send (a->d, &a->peer, &a->reply);
    dt_ask_free (a);
}

void dt_ask_free (struct dt_ask *a)
{
    dt_job_free (a->job);
    a->d->jobs.coming -= a->has_place != 0;
    if (a->solving)
        dt_solving_done (a->solving);
    if (a->rq)
        detent__request__free_unpacked (a->rq, NULL);
    dt_arena_done (&a->arena);
    dt_free (a);
}

/* Route and body; with ZMQ_ROUTER_MANDATORY a full or missing peer is an error of
 * the first part. */
static int send_bytes (struct dt_daemon *d, const struct dt_peer *peer, zmq_msg_t *body)
{
    if (zmq_send (d->router, peer->route, peer->n_route, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0
        || zmq_msg_send (body, d->router, ZMQ_DONTWAIT) < 0) {
        dt_log (DT_LOG_DEBUG, "wire", "a reply to request %llu is dropped: %s",
                (unsigned long long)peer->id, zmq_strerror (errno));
        zmq_msg_close (body);
        return -EAGAIN;
    }
    return 0;
}

int dt_reply_send (struct dt_daemon *d, const struct dt_peer *peer, const Detent__Reply *reply)
{
    Detent__Reply r = *reply;
    zmq_msg_t body;
    size_t n;

    r.id = peer->id;
    if ((n = detent__reply__get_packed_size (&r)) > DT_WIRE_MAX_BYTES)
        return dt_reply_error (d, peer, -DT_ELIMIT, "the reply is larger than a frame may be; "
                               "ask for less");
    if (zmq_msg_init_size (&body, n) < 0)
        return dt_reply_error (d, peer, -ENOMEM, "out of memory");
    detent__reply__pack (&r, zmq_msg_data (&body));
    return send_bytes (d, peer, &body);
}

int dt_reply_error (struct dt_daemon *d, const struct dt_peer *peer, int code,
                    const char *text)
{
    Detent__Error e = DETENT__ERROR__INIT;
    Detent__Reply r = DETENT__REPLY__INIT;
    zmq_msg_t body;

    e.code = -code;
    e.text = (char *)(*text ? text : dt_err_name (code));
    r.id = peer->id;
    r.final = 1;
    r.body_case = DETENT__REPLY__BODY_ERROR;
    r.error = &e;
    if (zmq_msg_init_size (&body, detent__reply__get_packed_size (&r)) < 0)
        return -EAGAIN;
    detent__reply__pack (&r, zmq_msg_data (&body));
    return send_bytes (d, peer, &body);
}

int dt_check_name (const char *field, const char *value, struct dt_err *reterr)
{
    if (dt_wire_name_ok (value))
        return 0;
    return dt_err_set (reterr, -DT_EINPUT, "%s '%.80s' is not a name: a-z, 0-9, '.', '_' and '-', "
                       "at most 63, letter or digit first", field, value);
}

int dt_check_optional_name (const char *field, const char *value, struct dt_err *reterr)
{
    return value ? dt_check_name (field, value, reterr) : 0;
}

/* Bytes of the UTF-8 character at p, 0 if there is none. */
static size_t utf8 (const unsigned char *p)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = { { 0x80, 0, 0 }, { 0xe0, 0xc0, 0x80 }, { 0xf0, 0xe0, 0x800 },
                  { 0xf8, 0xf0, 0x10000 } };

    for (size_t n = 0; n < DT_ARRAY_SIZE (forms); n++) {
        uint32_t c;

        if ((p[0] & forms[n].mask) != forms[n].lead)
            continue;
        c = p[0] & (unsigned char)~forms[n].mask;
        for (size_t i = 1; i <= n; i++) {
            if ((p[i] & 0xc0) != 0x80)
                return 0;
            c = c << 6 | (p[i] & 0x3f);
        }
        return c < forms[n].least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n + 1;
    }
    return 0;
}

/* Control characters of C0, DEL and C1 (which is two bytes, c2 80 to c2 9f). */
static int control (const unsigned char *p)
{
    return (p[0] < 0x20 && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7f
           || (p[0] == 0xc2 && p[1] < 0xa0);
}

int dt_check_text (const char *field, const char *value, size_t limit, struct dt_err *reterr)
{
    const unsigned char *p = (const unsigned char *)value;
    size_t n = strlen (value), step;

    if (n == 0)
        return dt_err_set (reterr, -DT_EINPUT, "%s is empty", field);
    if (n > limit)
        return dt_err_set (reterr, -DT_ELIMIT, "%s has %zu bytes, the limit is %zu", field, n,
                           limit);
    for (; *p; p += step) {
        if (!(step = utf8 (p)))
            return dt_err_set (reterr, -DT_EINPUT, "%s is not UTF-8", field);
        if (control (p))
            return dt_err_set (reterr, -DT_EINPUT, "%s has a control character", field);
    }
    return 0;
}

int dt_check_digest (const char *field, ProtobufCBinaryData value, struct dt_digest *ret,
                     struct dt_err *reterr)
{
    if (value.len != DT_DIGEST_BYTES)
        return dt_err_set (reterr, -DT_EINPUT, "%s has %zu bytes, a digest has %d", field,
                           value.len, DT_DIGEST_BYTES);
    memcpy (ret->bytes, value.data, DT_DIGEST_BYTES);
    return 0;
}

ProtobufCBinaryData dt_ask_bytes (struct dt_ask *a, const void *data, size_t n)
{
    ProtobufCBinaryData b = { .len = n, .data = dt_arena_alloc (&a->arena, n) };

    if (b.data && n > 0)
        memcpy (b.data, data, n);
    return b;
}

ProtobufCBinaryData dt_ask_digest (struct dt_ask *a, const struct dt_digest *digest)
{
    return dt_ask_bytes (a, digest->bytes, sizeof digest->bytes);
}

struct dt_solving *dt_ask_solving (struct dt_ask *a)
{
    return a->solving = dt_arena_alloc (&a->arena, sizeof *a->solving);
}

int dt_ask_push (struct dt_ask *a, void ***items, size_t *n, void *item)
{
    void **more = *items;

    if (!item)
        return -ENOMEM;
    if ((*n & (*n - 1)) == 0) { /* a power of two, or none: full */
        if (!(more = dt_arena_array (&a->arena, *n ? 2 * *n : 1, sizeof *more)))
            return -ENOMEM;
        if (*n)
            memcpy (more, *items, *n * sizeof *more);
        *items = more;
    }
    more[(*n)++] = item;
    return 0;
}
