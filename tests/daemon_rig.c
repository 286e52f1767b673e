/* tests/daemon_rig.c - a real detentd in a directory of its own, and requests to it. */
#include "tests/daemon_rig.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/canon.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "detent/tuple.h"
#include "trace/dtrace.h"

#define TIMEOUT_MS 20000

extern char **environ;

void rig_init (struct rig *g)
{
    memset (g, 0, sizeof *g);
    umask (0077);
    snprintf (g->dir, sizeof g->dir, "/tmp/detentd-test-XXXXXX");
    ck_assert (mkdtemp (g->dir));
    snprintf (g->state, sizeof g->state, "%s/s", g->dir);
    snprintf (g->runtime, sizeof g->runtime, "%s/r", g->dir);
    snprintf (g->endpoint, sizeof g->endpoint, "ipc://%s/detentd.sock", g->runtime);
    snprintf (g->database, sizeof g->database, "%s/detent.db", g->state);
    snprintf (g->log, sizeof g->log, "%s/log", g->dir);
}

pid_t rig_spawn (struct rig *g, const char *program, const char *const *extra)
{
    const char *build = getenv ("top_builddir"), *locks = getenv ("DT_TEST_LOCKS");
    char *path = dt_strf ("%s/%s", build ? build : ".", program);
    char *argv[24] = { path, (char *)"--state-dir", g->state, (char *)"--runtime-dir", g->runtime,
                       (char *)"--lock-dir", locks ? (char *)locks : g->runtime,
                       (char *)"--foreground" };
    posix_spawn_file_actions_t files;
    size_t n = 8;
    pid_t pid;

    for (; extra && *extra; extra++)
        argv[n++] = (char *)*extra;
    posix_spawn_file_actions_init (&files);
    posix_spawn_file_actions_addopen (&files, 2, g->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    ck_assert_int_eq (posix_spawn (&pid, path, &files, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy (&files);
    dt_free (path);
    return pid;
}

static int answers (struct rig *g)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__StatusRequest status = DETENT__STATUS_REQUEST__INIT;
    Detent__Reply *reply;

    rq.body_case = DETENT__REQUEST__BODY_STATUS;
    rq.status = &status;
    if (dt_client_call (g->client, &rq, 1000, &reply, NULL) < 0)
        return 0;
    detent__reply__free_unpacked (reply, NULL);
    return 1;
}

void rig_start (struct rig *g, const char *program, const char *const *extra)
{
    struct timespec pause = { .tv_nsec = 2000000 };
    uint64_t until = dt_time_mono_ns () + 20000000000ull;

    g->pid = rig_spawn (g, program, extra);
    g->client = dt_client_close (g->client);
    ck_assert_int_eq (dt_client_open (g->endpoint, &g->client, NULL), 0);
    while (!answers (g)) {
        ck_assert_msg (waitpid (g->pid, NULL, WNOHANG) == 0, "detentd ended; see %s", g->log);
        ck_assert_msg (dt_time_mono_ns () < until, "detentd does not answer; see %s", g->log);
        nanosleep (&pause, NULL);
    }
}

int rig_wait (struct rig *g)
{
    int status = 0;

    if (g->pid > 0)
        waitpid (g->pid, &status, 0);
    g->pid = 0;
    g->client = dt_client_close (g->client);
    return status;
}

int rig_stop (struct rig *g)
{
    if (g->pid > 0)
        kill (g->pid, SIGTERM);
    return rig_wait (g);
}

void rig_done (struct rig *g)
{
    char *command = dt_strf ("rm -rf %s", g->dir);

    if (g->pid > 0) /* a leak is an exit code under the address sanitizer */
        ck_assert_msg (rig_stop (g) == 0, "detentd did not end well; see %s", g->log);
    ck_assert_int_eq (system (command), 0);
    dt_free (command);
}

int rig_call (struct rig *g, Detent__Request *rq, Detent__Reply **ret, struct dt_err *err)
{
    return dt_client_call (g->client, rq, TIMEOUT_MS, ret, err);
}

void rig_reply_free (Detent__Reply *r)
{
    detent__reply__free_unpacked (r, NULL);
}

int rig_attach (struct rig *g, uint64_t job, Detent__Reply **ret, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__JobAttachRequest attach = DETENT__JOB_ATTACH_REQUEST__INIT;

    attach.job = job;
    rq.body_case = DETENT__REQUEST__BODY_JOB_ATTACH;
    rq.job_attach = &attach;
    return rig_call (g, &rq, ret, err);
}

int rig_cancel (struct rig *g, uint64_t job, Detent__Reply **ret, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__JobCancelRequest cancel = DETENT__JOB_CANCEL_REQUEST__INIT;

    cancel.job = job;
    rq.body_case = DETENT__REQUEST__BODY_JOB_CANCEL;
    rq.job_cancel = &cancel;
    return rig_call (g, &rq, ret, err);
}

int rig_list_jobs (struct rig *g, Detent__Reply **ret, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__JobListRequest list = DETENT__JOB_LIST_REQUEST__INIT;

    rq.body_case = DETENT__REQUEST__BODY_JOB_LIST;
    rq.job_list = &list;
    return rig_call (g, &rq, ret, err);
}

int64_t rig_sql (struct rig *g, const char *statement)
{
    sqlite3_stmt *st;
    sqlite3 *db;
    int64_t v;

    ck_assert_int_eq (sqlite3_open_v2 (g->database, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout (db, 5000);
    ck_assert_msg (sqlite3_prepare_v2 (db, statement, -1, &st, NULL) == SQLITE_OK, "%s",
                   sqlite3_errmsg (db));
    v = sqlite3_step (st) == SQLITE_ROW ? sqlite3_column_int64 (st, 0) : sqlite3_changes (db);
    ck_assert_int_eq (sqlite3_finalize (st), SQLITE_OK);
    sqlite3_close (db);
    return v;
}

void rig_logged (struct rig *g, const char *text)
{
    struct dt_buf log = { 0 };

    ck_assert_int_eq (dt_file_read (g->log, 1 << 20, &log, NULL), 0);
    ck_assert_msg (strstr (dt_buf_str (&log), text), "%s", dt_buf_str (&log));
    dt_buf_done (&log);
}

/* The tuple's bytes, in the form of include/detent/tuple.h. */
static void encode (struct dt_canon *c, const char *deployment, unsigned seed,
                    const struct dt_digest *pinned, const struct dt_digest *stock,
                    struct dt_digest *ret_bits)
{
    struct dt_canon_value v;

    dt_canon_init (c);
    dt_canon_map (c);
    dt_canon_key (c, "bits");
    dt_canon_map (c);
    dt_canon_key (c, "backend");
    dt_canon_map (c);
    dt_canon_kstr (c, "build", "b1");
    dt_canon_kstr (c, "device", "cpu");
    dt_canon_kstr (c, "driver", "");
    dt_canon_kstr (c, "libraries", "libm");
    dt_canon_kstr (c, "name", "host");
    dt_canon_kint (c, "units", 2);
    dt_canon_end (c);
    dt_canon_kstr (c, "deployment", deployment);
    dt_canon_key (c, "engine");
    dt_canon_map (c);
    dt_canon_kstr (c, "build", "1");
    dt_canon_kstr (c, "name", "ref");
    dt_canon_end (c);
    dt_canon_kstr (c, "model", "m");
    dt_canon_key (c, "parallelism");
    dt_canon_map (c);
    dt_canon_kint (c, "tp", 1);
    dt_canon_end (c);
    dt_canon_key (c, "sites");
    dt_canon_list (c);
    dt_canon_map (c);
    dt_canon_key (c, "facts");
    dt_canon_map (c);
    dt_canon_kint (c, "head_dim", 64);
    dt_canon_end (c);
    dt_canon_kstr (c, "family", "attention");
    dt_canon_key (c, "knobs");
    dt_canon_map (c);
    dt_canon_kint (c, "waves", 2);
    dt_canon_end (c);
    dt_canon_key (c, "pins");
    dt_canon_map (c);
    dt_canon_kint (c, "choose.block_n", 64 + (int64_t)seed);
    dt_canon_end (c);
    dt_canon_kbytes (c, "program", pinned->bytes, DT_DIGEST_BYTES);
    dt_canon_kstr (c, "site", "decoder");
    dt_canon_end (c);
    dt_canon_end (c);
    dt_canon_end (c);
    dt_canon_key (c, "selectors");
    dt_canon_list (c);
    dt_canon_map (c);
    dt_canon_kstr (c, "family", "attention");
    dt_canon_kbytes (c, "pinned", pinned->bytes, DT_DIGEST_BYTES);
    dt_canon_kstr (c, "site", "decoder");
    dt_canon_kbytes (c, "stock", stock->bytes, DT_DIGEST_BYTES);
    dt_canon_end (c);
    dt_canon_end (c);
    dt_canon_key (c, "tables");
    dt_canon_list (c);
    dt_canon_end (c);
    dt_canon_kint (c, "version", DETENT_TUPLE_VERSION);
    dt_canon_end (c);
    ck_assert_int_eq (dt_canon_finish (c), 0);
    ck_assert_int_eq (dt_canon_check (c->buf.data, c->buf.len, &v, NULL), 0);
    v = dt_canon_get (v, "bits");
    *ret_bits = dt_digest_of (DETENT_DIGEST_BITS, v.at, v.len);
}

struct seeding {
    const char *deployment, *workload, *uncovered;
    unsigned seed;
    int sampled;
    size_t n_selector;
    struct dt_digest digest;
};

static int put_selector (struct dt_store *s, const struct seeding *sd, int stock,
                         struct dt_digest *ret)
{
    uint8_t *bytes = dt_calloc (sd->n_selector, 1);
    int r;

    for (size_t i = 0; i < sd->n_selector; i++)
        bytes[i] = (uint8_t)(i * 7 + sd->seed * 13 + (unsigned)stock);
    r = dt_store_blob_put (s, "selector", bytes, sd->n_selector, ret, NULL);
    dt_free (bytes);
    return r;
}

static int seed_tuple (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct seeding *sd = ctx;
    struct dt_selector_row selector = { .family = "attention", .site = "decoder" };
    struct dt_tuple_row row = { .deployment = sd->deployment,
                                .sampled = sd->sampled, .uncovered = sd->uncovered };
    struct dt_job_row end = { .kind = "tune", .deployment = sd->deployment,
                              .workload = sd->workload, .started_ns = dt_time_wall_ns (),
                              .state = "done", .what = "", .result = NULL, .tuple = &row.digest };
    struct dt_canon c;
    int r;

    ck_assert_int_eq (put_selector (s, sd, 0, &selector.pinned), 0);
    ck_assert_int_eq (put_selector (s, sd, 1, &selector.stock), 0);
    encode (&c, sd->deployment, sd->seed, &selector.pinned, &selector.stock, &row.bits);
    r = dt_store_blob_put (s, "tuple", c.buf.data, c.buf.len, &row.digest, reterr);
    dt_canon_done (&c);
    if (r < 0 || (r = dt_store_tuple_put (s, &row, &selector, 1, reterr)) < 0
        || (r = dt_store_job_new (s, &end, &end.id, reterr)) < 0)
        return r;
    end.ended_ns = dt_time_wall_ns ();
    sd->digest = row.digest;
    return dt_store_job_end (s, &end, reterr);
}

struct dt_digest rig_seed (struct rig *g, const char *deployment, const char *workload,
                           unsigned seed, int sampled, const char *uncovered,
                           size_t n_selector)
{
    struct seeding sd = { .deployment = deployment, .workload = workload, .seed = seed,
                          .sampled = sampled, .uncovered = uncovered, .n_selector = n_selector };
    struct dt_err err = { "" };
    struct dt_store *s;
    int r;

    mkdir (g->state, 0700);
    r = dt_store_open (g->database, 1, &s, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    r = dt_store_transact (s, seed_tuple, &sd, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    dt_store_close (s);
    return sd.digest;
}

int rig_commit (struct rig *g, const char *deployment, const char *workload,
                const struct dt_digest *tuple, int accept_sampled,
                const ProtobufCBinaryData *expected_parent, Detent__Reply **ret,
                struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__CommitRequest c = DETENT__COMMIT_REQUEST__INIT;

    c.deployment = (char *)deployment;
    c.workload = (char *)workload;
    c.message = (char *)"tuned für chat";
    c.author = (char *)"me";
    if (tuple) {
        c.has_tuple = 1;
        c.tuple = (ProtobufCBinaryData){ .len = DT_DIGEST_BYTES, .data = (uint8_t *)tuple->bytes };
    }
    c.has_accept_sampled = c.accept_sampled = accept_sampled;
    if (expected_parent) {
        c.has_expected_parent = 1;
        c.expected_parent = *expected_parent;
    }
    rq.body_case = DETENT__REQUEST__BODY_COMMIT;
    rq.commit = &c;
    return rig_call (g, &rq, ret, err);
}

int rig_fetch (struct rig *g, const char *deployment, const char *workload,
               const ProtobufCBinaryData *snapshot, Detent__Reply **ret, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__FetchRequest f = DETENT__FETCH_REQUEST__INIT;

    f.deployment = (char *)deployment;
    f.workload = (char *)workload;
    if (snapshot) {
        f.has_snapshot = 1;
        f.snapshot = *snapshot;
    }
    rq.body_case = DETENT__REQUEST__BODY_FETCH;
    rq.fetch = &f;
    return rig_call (g, &rq, ret, err);
}

static void same (struct dt_canon_value map, const char *key, const struct dt_digest *want)
{
    const uint8_t *p;
    size_t n;

    ck_assert_int_eq (dt_canon_as_bytes (dt_canon_get (map, key), &p, &n), 0);
    ck_assert_uint_eq (n, DT_DIGEST_BYTES);
    ck_assert_mem_eq (p, want->bytes, n);
}

int64_t rig_check_bundle (const Detent__FetchReply *f)
{
    struct dt_digest commit = dt_digest_of (DETENT_DIGEST_COMMIT, f->commit.data, f->commit.len);
    struct dt_digest tuple = dt_digest_of (DETENT_DIGEST_TUPLE, f->tuple.data, f->tuple.len);
    struct dt_digest pinned, stock;
    struct dt_canon_value c, t, selector;
    struct dt_canon_iter it = { 0 };
    int64_t sequence;

    ck_assert_uint_eq (f->snapshot.len, DT_DIGEST_BYTES);
    ck_assert_mem_eq (f->snapshot.data, commit.bytes, DT_DIGEST_BYTES);
    ck_assert_int_eq (crypto_sign_verify_detached (f->signature.data, commit.bytes,
                                                   DT_DIGEST_BYTES, f->signer.data), 0);
    ck_assert_int_eq (dt_canon_check (f->commit.data, f->commit.len, &c, NULL), 0);
    ck_assert_int_eq (dt_canon_check (f->tuple.data, f->tuple.len, &t, NULL), 0);
    same (c, "tuple", &tuple);
    ck_assert_uint_eq (f->n_selector, dt_canon_count (dt_canon_get (t, "selectors")));
    for (size_t i = 0; dt_canon_next (dt_canon_get (t, "selectors"), &it, NULL, NULL, &selector);
         i++) {
        pinned = dt_digest_of (DETENT_DIGEST_SELECTOR, f->selector[i]->pinned.data,
                               f->selector[i]->pinned.len);
        stock = dt_digest_of (DETENT_DIGEST_SELECTOR, f->selector[i]->stock.data,
                              f->selector[i]->stock.len);
        same (selector, "pinned", &pinned);
        same (selector, "stock", &stock);
    }
    ck_assert_int_eq (dt_canon_as_int (dt_canon_get (c, "sequence"), &sequence), 0);
    return sequence;
}

static void set_text (char **at, const char *text)
{
    dt_free (*at);
    ck_assert ((*at = dt_strdup (text)));
}

void rig_describe (struct dt_trace *t)
{
    ck_assert (t);
    set_text (&t->deployment, "host-small");
    set_text (&t->engine, "ref");
    set_text (&t->model, "m");
    set_text (&t->importer, "test");
    set_text (&t->source, "made.csv");
}

void rig_trace (unsigned seed, struct dt_buf *ret)
{
    struct dt_trace *t = dt_trace_new ();
    int64_t fields[] = { 1, 100 + (int64_t)seed, 1, 200 };
    uint64_t ids[] = { 1, 2 };
    struct dt_call call = { .n_requests = 2, .request = fields };
    struct dt_err err = { "" };
    int r;

    rig_describe (t);
    ck_assert_int_eq (dt_trace_add_site (t, "attention", "decoder", 4, &err), 0);
    ck_assert_int_eq (dt_trace_add_call (t, 0, 3, 0, &call, ids, &err), 0);
    r = dt_trace_encode (t, ret, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    dt_trace_free (t);
}

int rig_submit (struct rig *g, const char *workload, const struct dt_buf *trace,
                Detent__Reply **ret, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TraceSubmitRequest t = DETENT__TRACE_SUBMIT_REQUEST__INIT;

    t.workload = (char *)workload;
    t.trace = (ProtobufCBinaryData){ .len = trace->len, .data = trace->data };
    rq.body_case = DETENT__REQUEST__BODY_TRACE_SUBMIT;
    rq.trace_submit = &t;
    return rig_call (g, &rq, ret, err);
}
