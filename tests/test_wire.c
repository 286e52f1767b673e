/* tests/test_wire.c - the client against a ROUTER on a real ipc socket. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "base/mem.h"
#include "base/time.h"
#include "proto/wire.h"
#include "tests/suite.h"

static char folder[] = "/tmp/detent-wire-XXXXXX";
static char endpoint[64];

/* A server answers `n` requests, as `how` says, and goes. */
enum how { ANSWER, PROGRESS, OLD_FIRST, ERROR, BAD_CODE, GARBAGE, TWO_PARTS, NO_ID, GO };
struct server {
    enum how how;
    int n; /* requests to answer, or -1: until `stop` */
    atomic_int stop;
    void *ctx, *socket;
    pthread_t thread;
};

static void reply_raw (struct server *s, zmq_msg_t *who, const void *data, size_t n, int parts)
{
    zmq_msg_t id;

    zmq_msg_init (&id);
    zmq_msg_copy (&id, who);
    zmq_msg_send (&id, s->socket, ZMQ_SNDMORE);
    while (parts-- > 1)
        zmq_send (s->socket, data, n, ZMQ_SNDMORE);
    zmq_send (s->socket, data, n, 0);
}

static void reply (struct server *s, zmq_msg_t *who, uint64_t id, int final, int code)
{
    Detent__Reply r = DETENT__REPLY__INIT;
    Detent__TraceListReply list = DETENT__TRACE_LIST_REPLY__INIT;
    Detent__Error e = DETENT__ERROR__INIT;
    uint8_t data[256];

    r.id = id;
    r.final = final;
    r.body_case = code ? DETENT__REPLY__BODY_ERROR : DETENT__REPLY__BODY_TRACE_LIST;
    if (code)
        r.error = &e;
    else
        r.trace_list = &list;
    e.code = code;
    e.text = (char *)"workload chat: 100%s of it is not there";
    reply_raw (s, who, data, detent__reply__pack (&r, data), 1);
}

static void answer (struct server *s, zmq_msg_t *who, uint64_t id)
{
    switch (s->how) {
    case PROGRESS:
        reply (s, who, id, 0, 0);
        break;
    case OLD_FIRST:
        reply (s, who, id - 1, 1, 0);
        break;
    case ERROR:
        reply (s, who, id, 1, DT_ENOTFOUND);
        return;
    case BAD_CODE:
        reply (s, who, id, 1, -5);
        return;
    case GARBAGE:
        reply_raw (s, who, "\xff\xff\xff", 3, 1);
        return;
    case TWO_PARTS:
        reply_raw (s, who, "\x08\x01\x10\x01", 4, 2);
        return;
    case NO_ID:
        reply_raw (s, who, "\x10\x01", 2, 1);
        return;
    case ANSWER:
    case GO:
        break;
    }
    if (s->how != GO)
        reply (s, who, id, 1, 0);
}

static void *serve (void *arg)
{
    struct server *s = arg;

    for (int i = 0; s->n < 0 ? !atomic_load (&s->stop) : i < s->n; i++) {
        zmq_pollitem_t p = { .socket = s->socket, .events = ZMQ_POLLIN };
        zmq_msg_t who, body;
        Detent__Request *rq;

        if (s->n < 0 && zmq_poll (&p, 1, 20) == 0)
            continue;
        zmq_msg_init (&who);
        zmq_msg_init (&body);
        ck_assert_int_ge (zmq_msg_recv (&who, s->socket, 0), 0);
        ck_assert_int_ge (zmq_msg_recv (&body, s->socket, 0), 0);
        rq = detent__request__unpack (NULL, zmq_msg_size (&body), zmq_msg_data (&body));
        ck_assert_ptr_nonnull (rq);
        ck_assert_uint_eq (rq->version, DT_WIRE_VERSION);
        answer (s, &who, rq->id);
        detent__request__free_unpacked (rq, NULL);
        zmq_msg_close (&who);
        zmq_msg_close (&body);
    }
    zmq_close (s->socket);
    zmq_ctx_term (s->ctx);
    return NULL;
}

static void server_start (struct server *s, enum how how, int n)
{
    s->how = how;
    s->n = n;
    atomic_init (&s->stop, 0);
    s->ctx = zmq_ctx_new ();
    s->socket = zmq_socket (s->ctx, ZMQ_ROUTER);
    ck_assert_int_eq (zmq_bind (s->socket, endpoint), 0);
    ck_assert_int_eq (pthread_create (&s->thread, NULL, serve, s), 0);
}

static int call (struct dt_client *c, int timeout_ms, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TraceListRequest list = DETENT__TRACE_LIST_REQUEST__INIT;
    Detent__Reply *got = NULL;
    int r;

    rq.body_case = DETENT__REQUEST__BODY_TRACE_LIST;
    rq.trace_list = &list;
    r = dt_client_call (c, &rq, timeout_ms, &got, err);
    if (r < 0)
        ck_assert_ptr_null (got);
    else {
        ck_assert_uint_eq (got->id, rq.id);
        ck_assert (got->final);
        detent__reply__free_unpacked (got, NULL);
    }
    return r;
}

static void setup (void)
{
    strcpy (folder + strlen (folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull (mkdtemp (folder));
    snprintf (endpoint, sizeof endpoint, "ipc://%s/s", folder);
}

static void teardown (void)
{
    unlink (endpoint + 6);
    rmdir (folder);
}

static const struct {
    enum how how;
    int want;
    const char *text;
} replies[] = {
    { ANSWER, 0, "" },
    { PROGRESS, 0, "" },
    { OLD_FIRST, 0, "" },
    { ERROR, -DT_ENOTFOUND, "workload chat: 100%s of it is not there" },
    { BAD_CODE, -DT_EINPUT, "workload chat" },
    { GARBAGE, -DT_EVERSION, "malformed" },
    { TWO_PARTS, -DT_EVERSION, "malformed" },
    { NO_ID, -DT_EVERSION, "malformed" },
};

START_TEST (one_call)
{
    struct dt_err err = { "" };
    struct dt_client *c = NULL;
    struct server s;
    int r;

    server_start (&s, replies[_i].how, 1);
    ck_assert_int_eq (dt_client_open (endpoint, &c, NULL), 0);
    r = call (c, 5000, &err);
    ck_assert_msg (r == replies[_i].want, "%d: %d %s", _i, r, err.text);
    ck_assert_msg (strstr (err.text, replies[_i].text), "%s", err.text);
    pthread_join (s.thread, NULL);
    dt_client_close (c);
}
END_TEST

/* Nothing at the path, or a socket that nobody listens on: known at once. */
START_TEST (not_there)
{
    struct dt_err err = { "" };
    struct dt_client *c = NULL;
    uint64_t before = dt_time_mono_ns ();
    struct server s;

    if (_i == 1) {
        server_start (&s, ANSWER, 0);
        pthread_join (s.thread, NULL);
    }
    ck_assert_int_eq (dt_client_open (endpoint, &c, NULL), 0);
    ck_assert_int_eq (call (c, 60000, &err), -DT_EUNREACH);
    ck_assert_uint_lt (dt_time_mono_ns () - before, 2000000000u);
    ck_assert_ptr_nonnull (strstr (err.text, endpoint));
    ck_assert_ptr_nonnull (strstr (err.text, "systemctl status detentd"));
    dt_client_close (c);
}
END_TEST

START_TEST (silent) /* it listens, and does not answer */
{
    struct dt_err err = { "" };
    struct dt_client *c = NULL;
    void *ctx = zmq_ctx_new (), *router = zmq_socket (ctx, ZMQ_ROUTER);

    ck_assert_int_eq (zmq_bind (router, endpoint), 0);
    ck_assert_int_eq (dt_client_open (endpoint, &c, NULL), 0);
    ck_assert_int_eq (call (c, 50, &err), -DT_EUNREACH);
    ck_assert_ptr_nonnull (strstr (err.text, "no answer in time"));
    dt_client_close (c);
    zmq_close (router);
    zmq_ctx_term (ctx);
}
END_TEST

START_TEST (restart) /* the client goes on with the daemon that comes after */
{
    struct dt_err err = { "" };
    struct dt_client *c = NULL;
    struct server s;
    int r;

    ck_assert_int_eq (dt_client_open (endpoint, &c, NULL), 0);
    for (int i = 0; i < 3; i++) {
        server_start (&s, ANSWER, -1);
        /* The end of the daemon before may reach the client only now. */
        for (int tries = 0; (r = call (c, 10000, &err)) == -DT_EUNREACH && tries < 5; tries++)
            ck_assert_ptr_nonnull (strstr (err.text, "connection broke"));
        ck_assert_msg (r == 0, "%s", err.text);
        ck_assert_msg (call (c, 10000, &err) == 0, "%s", err.text);
        atomic_store (&s.stop, 1);
        pthread_join (s.thread, NULL);
    }
    dt_client_close (c);
}
END_TEST

START_TEST (goes_while_asked) /* told at once, not after the timeout */
{
    struct dt_err err = { "" };
    struct dt_client *c = NULL;
    uint64_t before = dt_time_mono_ns ();
    struct server s;

    server_start (&s, GO, 1);
    ck_assert_int_eq (dt_client_open (endpoint, &c, NULL), 0);
    ck_assert_int_eq (call (c, 60000, &err), -DT_EUNREACH);
    ck_assert_ptr_nonnull (strstr (err.text, "broke"));
    ck_assert_uint_lt (dt_time_mono_ns () - before, 5000000000u);
    pthread_join (s.thread, NULL);
    server_start (&s, ANSWER, 1);
    ck_assert_msg (call (c, 10000, &err) == 0, "%s", err.text);
    pthread_join (s.thread, NULL);
    dt_client_close (c);
}
END_TEST

/* Another user's: that is no reason to look whether it runs. */
START_TEST (not_ours)
{
    struct dt_err err = { "" };
    struct dt_client *c = NULL;
    int root = geteuid () == 0;

    ck_assert_int_eq (chmod (folder, 0), 0);
    if (root)
        ck_assert_int_eq (seteuid (65534), 0);
    ck_assert_int_eq (dt_client_open (endpoint, &c, NULL), 0);
    ck_assert_int_eq (call (c, 60000, &err), -DT_EUNREACH);
    ck_assert_ptr_nonnull (strstr (err.text, "only its own user and root"));
    dt_client_close (c);
    if (root)
        ck_assert_int_eq (seteuid (0), 0);
    ck_assert_int_eq (chmod (folder, 0700), 0);
}
END_TEST

START_TEST (bad_endpoint)
{
    static const char *const bad[] = { "", "ipc://", "tcp://127.0.0.1:5555", "/run/x" };
    struct dt_client *c = NULL;
    struct dt_err err = { "" };
    char longest[6 + 108 + 1] = "ipc://";

    for (size_t i = 0; i < DT_ARRAY_SIZE (bad); i++)
        ck_assert_int_eq (dt_client_open (bad[i], &c, &err), -DT_EINPUT);
    memset (longest + 6, 'a', 108);
    ck_assert_int_eq (dt_client_open (longest, &c, &err), -DT_EINPUT);
    ck_assert_ptr_nonnull (strstr (err.text, "107"));
    ck_assert_ptr_null (c);
}
END_TEST

START_TEST (too_large)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TraceSubmitRequest submit = DETENT__TRACE_SUBMIT_REQUEST__INIT;
    struct dt_client *c = NULL;
    struct dt_err err = { "" };
    struct server s;

    server_start (&s, ANSWER, 1);
    rq.body_case = DETENT__REQUEST__BODY_TRACE_SUBMIT;
    rq.trace_submit = &submit;
    submit.workload = (char *)"chat";
    submit.trace.len = DT_WIRE_MAX_BYTES;
    submit.trace.data = dt_calloc (submit.trace.len, 1);
    ck_assert_int_eq (dt_client_open (endpoint, &c, NULL), 0);
    ck_assert_int_eq (dt_client_send (c, &rq, 1000, &err), -DT_ELIMIT);
    ck_assert_int_eq (call (c, 5000, NULL), 0); /* the client is as good as before */
    pthread_join (s.thread, NULL);
    dt_free (submit.trace.data);
    dt_client_close (c);
}
END_TEST

START_TEST (no_memory)
{
    struct server s;
    int r = -1;

    server_start (&s, ANSWER, 1);
    for (size_t n = 0; r < 0; n++) {
        struct dt_client *c = NULL;

        dt_mem_fail_after (n);
        r = dt_client_open (endpoint, &c, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (r == 0 || (r == -ENOMEM && !c));
        if (r == 0)
            ck_assert_int_eq (call (c, 5000, NULL), 0);
        dt_client_close (c);
    }
    pthread_join (s.thread, NULL);
}
END_TEST

START_TEST (names)
{
    static const char *const good[] = { "a", "host-small", "0.9_x",
        "a23456789012345678901234567890123456789012345678901234567890123" };
    static const char *const bad[] = { "", "-a", ".a", "A", "a b", "a/b", "a\n",
        "a234567890123456789012345678901234567890123456789012345678901234" };

    for (size_t i = 0; i < DT_ARRAY_SIZE (good); i++)
        ck_assert_msg (dt_wire_name_ok (good[i]), "%s", good[i]);
    for (size_t i = 0; i < DT_ARRAY_SIZE (bad); i++)
        ck_assert_msg (!dt_wire_name_ok (bad[i]), "%s", bad[i]);
    ck_assert (!dt_wire_name_ok (NULL));
}
END_TEST

START_TEST (default_endpoint)
{
    static const struct { const char *endpoint, *runtime, *xdg, *want; } env[] = {
        { "ipc:///a", "/b", "/c", "ipc:///a" },
        { "", "/b", "/c", "ipc:///b/detentd.sock" },
        { NULL, NULL, "/c", "ipc:///c/detent/detentd.sock" },
        { NULL, "", "", "ipc:///run/detent/detentd.sock" },
    };
    static const char *const name[] = { "DETENT_ENDPOINT", "DETENT_RUNTIME_DIR",
                                        "XDG_RUNTIME_DIR" };
    const char *value[] = { env[_i].endpoint, env[_i].runtime, env[_i].xdg };
    char *got;

    for (int i = 0; i < 3; i++)
        value[i] ? setenv (name[i], value[i], 1) : unsetenv (name[i]);
    got = dt_wire_endpoint ();
    ck_assert_str_eq (got, env[_i].want);
    dt_free (got);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("proto/wire");
    TCase *tc = tcase_create ("wire");

    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_set_timeout (tc, 30);
    tcase_add_loop_test (tc, one_call, 0, (int)DT_ARRAY_SIZE (replies));
    tcase_add_loop_test (tc, not_there, 0, 2);
    tcase_add_test (tc, silent);
    tcase_add_test (tc, restart);
    tcase_add_test (tc, goes_while_asked);
    tcase_add_test (tc, not_ours);
    tcase_add_test (tc, bad_endpoint);
    tcase_add_test (tc, too_large);
    tcase_add_test (tc, no_memory);
    tcase_add_test (tc, names);
    tcase_add_loop_test (tc, default_endpoint, 0, 4);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
