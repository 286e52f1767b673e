/* tests/test_requests.c - handlers called in this process: each allocation fails in
 * turn, and the answer is out of memory or the right one, never another error. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "detentd/commit.h"
#include "detentd/dispatch.h"
#include "tests/daemon_rig.h"
#include "tests/suite.h"

static struct rig rig;
static struct dt_daemon d;
static struct dt_store *writer;

static int put_hold (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_hold_row row = { "cuda:0", "lost", 1 };

    (void)ctx;
    return dt_store_hold_put (s, &row, reterr);
}

static void setup (void)
{
    char *key;

    rig_init (&rig);
    rig_seed (&rig, "dep", "chat", 1, 0, "", 300);
    memset (&d, 0, sizeof d);
    key = dt_strf ("%s/node.key", rig.state);
    ck_assert_int_eq (dt_key_load (key, &d.key, NULL), 0);
    dt_free (key);
    ck_assert_int_eq (dt_store_open (rig.database, 1, &writer, NULL), 0);
    ck_assert_int_eq (dt_store_open (rig.database, 0, &d.reader, NULL), 0);
    d.store_path = rig.database;
    ck_assert_int_eq (dt_holds_new (&d.holds, NULL), 0);
    ck_assert_int_eq (dt_store_transact (writer, put_hold, NULL, NULL), 0);
    ck_assert_int_eq (dt_holds_load (d.holds, d.reader, NULL), 0);
}

static void teardown (void)
{
    dt_holds_free (d.holds);
    dt_store_close (writer);
    dt_store_close (d.reader);
    rig_done (&rig);
}

static int append (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_commit_ask ask = { .deployment = "dep", .workload = "chat", .message = "m",
                                 .author = "a" };

    return dt_commit_append (s, &d.key, &ask, ctx, reterr);
}

/* Commit until it succeeds: a failure leaves no commit. */
static void commit (void)
{
    struct dt_store_counts counts;
    struct dt_err err = { "" };
    struct dt_digest digest;
    int r = -ENOMEM;

    for (size_t n = 0; r < 0; n++) {
        ck_assert_int_eq (dt_store_counts (d.reader, &counts, NULL), 0);
        ck_assert_uint_eq (counts.commits, 0);
        dt_mem_fail_after (n);
        r = dt_store_transact (writer, append, &digest, &err);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert_msg (r == 0 || r == -ENOMEM, "%d %s", r, err.text);
        ck_assert_uint_lt (n, 1000);
    }
}

static Detent__StatusRequest status_rq = DETENT__STATUS_REQUEST__INIT;
static Detent__TraceListRequest traces_rq = DETENT__TRACE_LIST_REQUEST__INIT;
static Detent__JobListRequest jobs_rq = DETENT__JOB_LIST_REQUEST__INIT;
static Detent__LogRequest log_rq = DETENT__LOG_REQUEST__INIT;
static Detent__ShowRequest show_rq = DETENT__SHOW_REQUEST__INIT;
static Detent__FetchRequest fetch_rq = DETENT__FETCH_REQUEST__INIT;

static const struct {
    int body;
    void *message;
} requests[] = {
    { DETENT__REQUEST__BODY_STATUS, &status_rq },
    { DETENT__REQUEST__BODY_TRACE_LIST, &traces_rq },
    { DETENT__REQUEST__BODY_JOB_LIST, &jobs_rq },
    { DETENT__REQUEST__BODY_LOG, &log_rq },
    { DETENT__REQUEST__BODY_SHOW, &show_rq },
    { DETENT__REQUEST__BODY_FETCH, &fetch_rq },
};

static int serve (int i, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    struct dt_ask *a = dt_ask_new (&d);
    int r;

    if (!a)
        return -ENOMEM;
    rq.body_case = (Detent__Request__BodyCase)requests[i].body;
    rq.status = requests[i].message; /* all members of the union are one pointer */
    a->rq = &rq;
    r = dt_method_get ((size_t)requests[i].body)->handler (a, err);
    if (r == 0)
        ck_assert_uint_gt (detent__reply__get_packed_size (&a->reply), 10);
    a->rq = NULL; /* on the stack */
    dt_ask_free (a);
    return r;
}

START_TEST (out_of_memory)
{
    struct dt_trace_row row = { .workload = "chat", .deployment = "dep", .source = "s",
                                .calls = 1, .distinct_calls = 1, .bytes = 1 };
    struct dt_err err = { "" };
    int r = -ENOMEM, known;

    ck_assert_int_eq (dt_store_trace_put (writer, &row, "x", &known, NULL), 0);
    commit ();
    show_rq.deployment = fetch_rq.deployment = (char *)"dep";
    show_rq.workload = fetch_rq.workload = (char *)"chat";
    for (size_t n = 0; r < 0; n++) {
        dt_mem_fail_after (n);
        r = serve (_i, &err);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert_msg (r == 0 || r == -ENOMEM, "%zu: %d %s", n, r, err.text);
        ck_assert_uint_lt (n, 1000);
    }
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("detentd/requests");
    TCase *tc = tcase_create ("requests");

    tcase_set_timeout (tc, 120);
    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_add_loop_test (tc, out_of_memory, 0, DT_ARRAY_SIZE (requests));
    suite_add_tcase (s, tc);
    return suite_run (s);
}
