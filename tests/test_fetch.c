/* tests/test_fetch.c - libdetent against a real detentd. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/canon.h"
#include "detent/tuple.h"
#include "tests/daemon_rig.h"
#include "tests/detent_rig.h"
#include "tests/suite.h"

static struct rig g;
static Detent__FetchReply *bundle; /* whose tuple and selectors go into the store */
static struct detent_error err;

static int put (struct dt_store *s, const char *kind, const ProtobufCBinaryData *b,
                struct dt_digest *ret, struct dt_err *reterr)
{
    return dt_store_blob_put (s, kind, b->data, b->len, ret, reterr);
}

static int put_tuple (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_selector_row selector = { .family = "attention", .site = "decoder" };
    struct dt_tuple_row row = { .deployment = "host-small", .uncovered = "" };
    struct dt_job_row end = { .kind = "tune", .deployment = "host-small", .workload = "chat",
                              .started_ns = 1, .state = "done", .what = "", .tuple = &row.digest, .ended_ns = 2 };
    struct dt_canon_value v;
    int r;

    if ((r = put (s, "selector", &bundle->selector[0]->pinned, &selector.pinned, reterr)) < 0
        || (r = put (s, "selector", &bundle->selector[0]->stock, &selector.stock, reterr)) < 0
        || (r = put (s, "tuple", &bundle->tuple, &row.digest, reterr)) < 0
        || (r = dt_canon_check (bundle->tuple.data, bundle->tuple.len, &v, reterr)) < 0)
        return r;
    v = dt_canon_get (v, "bits");
    row.bits = dt_digest_of (DETENT_DIGEST_BITS, v.at, v.len);
    *(struct dt_digest *)ctx = row.digest;
    if ((r = dt_store_tuple_put (s, &row, &selector, 1, reterr)) < 0
        || (r = dt_store_job_new (s, &end, &end.id, reterr)) < 0)
        return r;
    return dt_store_job_end (s, &end, reterr);
}

static void commit (const struct dt_digest *tuple)
{
    Detent__Reply *reply = NULL;
    struct dt_err e = { "" };
    int r = rig_commit (&g, "host-small", "chat", tuple, 0, NULL, &reply, &e);

    ck_assert_msg (r == 0, "%s", e.text);
    detent__reply__free_unpacked (reply, NULL);
}

static struct dt_digest start (void)
{
    struct dt_digest tuple = { { 0 } };
    struct dt_err e = { "" };
    struct dt_store *s = NULL;

    rig_init (&g);
    bundle = rig_bundle (RIG_NONE, 1);
    mkdir (g.state, 0700);
    ck_assert_msg (dt_store_open (g.database, 1, &s, &e) == 0, "%s", e.text);
    ck_assert_msg (dt_store_transact (s, put_tuple, &tuple, &e) == 0, "%s", e.text);
    dt_store_close (s);
    rig_start (&g, "detentd/detentd", NULL);
    return tuple;
}

static void stop (void)
{
    rig_done (&g);
    detent__fetch_reply__free_unpacked (bundle, NULL);
}

static void check_selection (struct detent *d)
{
    static const int64_t request[] = { 1, 100, 1, 2000 };
    struct detent_call call = { 2, request };
    struct detent_selector *s = NULL;
    struct detent_choice c;

    ck_assert_int_eq (detent_check_backend (d, RIG_BACKEND, RIG_UNITS, &err), 0);
    ck_assert_int_eq (detent_selector_new (d, "attention", "decoder", 8, &s, &err), 0);
    ck_assert_msg (detent_select (s, &call, &c, &err) == 0, "%s", err.text);
    ck_assert_int_eq (c.value[0], 256);
    ck_assert_int_eq (c.each[2][1], 32);
    detent_selector_free (s);
}

START_TEST (an_engines_life)
{
    struct dt_digest tuple = start ();
    char path[160];
    uint8_t first[32], bits[32];
    struct detent_options o = { .endpoint = g.endpoint, .deployment = "host-small",
                                .workload = "chat", .without_tuple = DETENT_REFUSE,
                                .bundle_path = path };
    struct detent *d = NULL;

    snprintf (path, sizeof path, "%s/bundle", g.dir);
    ck_assert_int_eq (detent_open (&o, &d, &err), -DETENT_ENOTFOUND); /* nothing committed */
    ck_assert_str_ne (err.text, "");

    commit (&tuple);
    ck_assert_msg (detent_open (&o, &d, &err) == 0, "%s", err.text);
    ck_assert_mem_eq (detent_tuple_digest (d), tuple.bytes, 32);
    memcpy (first, detent_snapshot (d), 32);
    memcpy (bits, detent_bits_digest (d), 32);
    check_selection (d);
    detent_close (d);

    /* Another rank asks for the first's commit after the next was made. */
    commit (&tuple);
    o.snapshot = first;
    ck_assert_msg (detent_open (&o, &d, &err) == 0, "%s", err.text);
    ck_assert_mem_eq (detent_snapshot (d), first, 32);
    detent_close (d);
    o.snapshot = NULL;
    ck_assert_int_eq (detent_open (&o, &d, &err), 0);
    ck_assert_mem_ne (detent_snapshot (d), first, 32);
    detent_close (d);

    /* Killed: only an engine that says what it must run starts. */
    kill (g.pid, SIGKILL);
    rig_wait (&g);
    ck_assert_int_eq (detent_open (&o, &d, &err), -DETENT_EUNREACH);
    o.required_bits = bits;
    ck_assert_msg (detent_open (&o, &d, &err) == 0, "%s", err.text);
    check_selection (d);
    detent_close (d);

    rig_start (&g, "detentd/detentd", NULL);
    ck_assert_msg (detent_open (&o, &d, &err) == 0, "%s", err.text);
    detent_close (d);
    stop ();
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("libdetent/fetch");
    TCase *tc = tcase_create ("fetch");

    tcase_set_timeout (tc, 60);
    tcase_add_test (tc, an_engines_life);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
