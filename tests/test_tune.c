/* tests/test_tune.c - tunes of a real detentd with the real worker and host kernels. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/daemon_rig.h"
#include "tests/suite.h"
#include "trace/dtrace.h"

#define DETENTD "detentd/detentd"

static struct rig rig;
static char backend_dir[256], profiler[256];
static const char *extra[] = { "--backend-dir", backend_dir, "--profiler", profiler, NULL };

static void setup (void)
{
    const char *build = getenv ("top_builddir");

    rig_init (&rig);
    snprintf (backend_dir, sizeof backend_dir, "%s/.libs", build ? build : ".");
    snprintf (profiler, sizeof profiler, "%s/detent-profiler", build ? build : ".");
}

static void teardown (void)
{
    rig_done (&rig);
}

/* FILE of the build as NAME in the folder of the test. */
static void link_file (const char *file, const char *name)
{
    char *from = dt_strf ("%s/%s", backend_dir, file), *to = dt_strf ("%s/%s", rig.dir, name);
    char real[4096];

    ck_assert_ptr_nonnull (realpath (from, real));
    ck_assert_int_eq (symlink (real, to), 0);
    dt_free (from);
    dt_free (to);
}

/* A backend of tests/ in the place of the host's. */
static void use_backend (const char *file)
{
    link_file (file, "detent-backend-host.so");
    snprintf (backend_dir, sizeof backend_dir, "%s", rig.dir);
}

/* For what is not about time: a busy machine's times may not be trusted, and then no tune
 * is done. */
static void use_steady (void)
{
    link_file ("detent-backend-host.so", "host.so");
    use_backend ("backend-steady.so");
}

/* Calls of `n` kinds; `large` ones take milliseconds each. */
static void make_trace (const char *site, int n, int large, struct dt_buf *ret)
{
    struct dt_trace *t = dt_trace_new ();
    struct dt_err err = { "" };

    rig_describe (t);
    ck_assert_int_eq (dt_trace_add_site (t, "attention", site, 4, &err), 0);
    if (!strcmp (site, "another")) /* both */
        ck_assert_int_eq (dt_trace_add_site (t, "attention", "decoder", 4, &err), 1);
    for (int i = 0; i < n; i++) {
        int64_t fields[32];
        uint64_t id[16];
        struct dt_call call = { .n_requests = large ? 16 : 2, .request = fields };

        for (int k = 0; k < 16; k++) {
            fields[2 * k] = 1;
            fields[2 * k + 1] = (large ? 8000 : 100) + 10 * i + k;
            id[k] = (uint64_t)(100 * i + k);
        }
        for (size_t k = 0; k < t->n_sites; k++)
            ck_assert_int_eq (dt_trace_add_call (t, k, 2, 0, &call, id, &err), 0);
    }
    ck_assert_int_eq (dt_trace_encode (t, ret, &err), 0);
    dt_trace_free (t);
}

static void submit (const char *workload, const char *site, int n, int large)
{
    struct dt_buf trace = { 0 };
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int r;

    make_trace (site, n, large, &trace);
    r = rig_submit (&rig, workload, &trace, &reply, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    rig_reply_free (reply);
    dt_buf_done (&trace);
}

/* The deployment with its one site once more, by another name. */
static void add_site (struct dt_buf *yaml)
{
    char *text = dt_strf ("%.*s", (int)yaml->len, (char *)yaml->data);
    char *site = strstr (text, "  - family"), *name = strstr (text, "decoder\n");
    char *claims = strstr (text, "claims:");
    struct dt_buf b = { 0 };

    ck_assert (site && name && claims);
    dt_buf_printf (&b, "%.*s%.*sanother%.*s%s", (int)(claims - text), text, (int)(name - site), site,
                   (int)(claims - name) - 7, name + 7, claims);
    dt_buf_done (yaml);
    *yaml = b;
    dt_free (text);
}

static void solve_sites (int n_sites)
{
    const char *top = getenv ("top_srcdir");
    char *yaml = dt_strf ("%s/deployments/host-small.yaml", top ? top : ".");
    char *py = dt_strf ("%s/programs/detent/attention.py", top ? top : ".");
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__SolveRequest s = DETENT__SOLVE_REQUEST__INIT;
    Detent__Deployment d = DETENT__DEPLOYMENT__INIT;
    Detent__File file = DETENT__FILE__INIT, program = DETENT__FILE__INIT, *programs = &program;
    struct dt_buf text[2] = { { 0 }, { 0 } };
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int r;

    ck_assert_int_eq (dt_file_read (yaml, 1 << 20, &text[0], &err), 0);
    ck_assert_int_eq (dt_file_read (py, 1 << 20, &text[1], &err), 0);
    if (n_sites == 2)
        add_site (&text[0]);
    file.name = (char *)"host-small.yaml";
    file.data = (ProtobufCBinaryData){ .len = text[0].len, .data = text[0].data };
    program.name = (char *)"attention.py";
    program.data = (ProtobufCBinaryData){ .len = text[1].len, .data = text[1].data };
    d.file = &file;
    d.program = &programs;
    d.n_program = 1;
    s.deployment = &d;
    rq.body_case = DETENT__REQUEST__BODY_SOLVE;
    rq.solve = &s;
    r = rig_call (&rig, &rq, &reply, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    rig_reply_free (reply);
    dt_buf_done (&text[0]);
    dt_buf_done (&text[1]);
    dt_free (yaml);
    dt_free (py);
}

static void solve (void)
{
    solve_sites (1);
}

static int send_tune (struct dt_client *c, const char *deployment, const char *workload,
                      double budget_s, int detach, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;

    t.deployment = (char *)deployment;
    t.workload = (char *)workload;
    t.has_budget_s = 1;
    t.budget_s = budget_s;
    t.has_detach = t.detach = detach;
    rq.body_case = DETENT__REQUEST__BODY_TUNE;
    rq.tune = &t;
    return dt_client_send (c, &rq, 5000, err);
}

/* Replies until the final one, which is returned; how many came before. */
static Detent__Reply *follow (struct dt_client *c, int *ret_n)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int r;

    for (*ret_n = 0;; ++*ret_n) {
        r = dt_client_recv (c, 60000, &reply, &err);
        ck_assert_msg (r == 0, "%s", err.text);
        if (reply->final)
            return reply;
        rig_reply_free (reply);
    }
}

static int64_t query (const char *sql)
{
    return rig_sql (&rig, sql);
}

static void pause_ms (long ms)
{
    struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep (&t, NULL);
}

/* The daemon's worker, once it has measured something; its pid. */
static pid_t find_worker (void)
{
    for (int i = 0; i < 2000; i++, pause_ms (10)) {
        char *path = dt_strf ("/proc/%d/task", (int)rig.pid);
        DIR *tasks = opendir (path);
        struct dirent *task;
        int pid = 0;

        dt_free (path);
        while (tasks && pid == 0 && (task = readdir (tasks))) {
            FILE *f;

            path = dt_strf ("/proc/%d/task/%s/children", (int)rig.pid, task->d_name);
            if ((f = fopen (path, "r"))) {
                if (fscanf (f, "%d", &pid) != 1)
                    pid = 0;
                fclose (f);
            }
            dt_free (path);
        }
        if (tasks)
            closedir (tasks);
        if (pid > 0 && query ("SELECT count (*) FROM measurement") > 0)
            return pid;
    }
    ck_abort_msg ("there is no worker");
    return 0;
}

static void start (int n_calls, int large)
{
    rig_start (&rig, DETENTD, extra);
    solve ();
    submit ("chat", "decoder", n_calls, large);
}

START_TEST (tunes_commits_and_fetches)
{
    struct dt_err err = { "" };
    Detent__Reply *done, *reply;
    int n;

    use_steady ();
    start (4, 0);
    ck_assert_int_eq (send_tune (rig.client, "host-small", "chat", 3, 0, &err), 0);
    done = follow (rig.client, &n);
    ck_assert_msg (strcmp (done->job->state, "done") == 0, "%s", done->job->what);
    ck_assert_int_ge (n, 1);
    ck_assert_uint_eq (done->job->n_site, 1);
    ck_assert_uint_eq (done->job->site[0]->n_pin, 2);
    ck_assert_uint_gt (done->job->measurements, 0);
    ck_assert_uint_eq (done->job->measurements,
                       (uint64_t)query ("SELECT count (*) FROM measurement"));
    /* an ended job says the same to whoever asks later */
    ck_assert_int_eq (rig_attach (&rig, done->job->job, &reply, &err), 0);
    ck_assert_str_eq (reply->job->state, "done");
    ck_assert_mem_eq (reply->job->tuple.data, done->job->tuple.data, 32);
    rig_reply_free (reply);
    ck_assert_int_eq (rig_commit (&rig, "host-small", "chat", NULL, 1, NULL, &reply, &err), 0);
    ck_assert_mem_eq (reply->commit->commit->tuple.data, done->job->tuple.data, 32);
    ck_assert_mem_eq (reply->commit->commit->bits.data, done->job->bits.data, 32);
    rig_reply_free (reply);
    ck_assert_int_eq (rig_fetch (&rig, "host-small", "chat", NULL, &reply, &err), 0);
    ck_assert_int_eq (rig_check_bundle (reply->fetch), 1);
    rig_reply_free (reply);
    rig_reply_free (done);
}
END_TEST

/* Killed or stopped by a signal in the middle: the job fails by name, and what was
 * measured stays; the next tune works. */
static const struct {
    int signal;
    const char *text;
} deaths[] = {
    { SIGKILL, "worker died on signal 9 while running attention block_n=" },
    { SIGSTOP, "did not answer in" },
};

START_TEST (a_worker_that_fails)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int n;

    use_steady ();
    start (6, 1);
    ck_assert_int_eq (send_tune (rig.client, "host-small", "chat", 60, 0, &err), 0);
    kill (find_worker (), deaths[_i].signal);
    reply = follow (rig.client, &n);
    ck_assert_str_eq (reply->job->state, "failed");
    ck_assert_int_eq (reply->job->code, DT_EWORKER);
    ck_assert_msg (strstr (reply->job->what, deaths[_i].text), "%s", reply->job->what);
    ck_assert_msg (strstr (reply->job->what, "split_stride="), "%s", reply->job->what);
    ck_assert_uint_gt (reply->job->measurements, 0);
    ck_assert_uint_eq (reply->job->measurements,
                       (uint64_t)query ("SELECT count (*) FROM measurement"));
    rig_reply_free (reply);
    submit ("small", "decoder", 1, 0);
    ck_assert_int_eq (send_tune (rig.client, "host-small", "small", 1, 0, &err), 0);
    reply = follow (rig.client, &n);
    ck_assert_msg (strcmp (reply->job->state, "done") == 0, "%s", reply->job->what);
    rig_reply_free (reply);
}
END_TEST

/* A disk that fills during a tune: the job fails by name, is said to have failed while
 * the store cannot take that (it may: a row finds room in a page), and is noted there
 * once it can. */
START_TEST (a_full_disk)
{
    char *full = dt_strf ("%s/full", rig.dir);
    struct dt_err err = { "" };
    Detent__Reply *reply, *later;
    int n;

    setenv ("DETENTD_FULL", full, 1);
    rig_start (&rig, "tests/detentd_kill", extra);
    solve ();
    submit ("chat", "decoder", 6, 1);
    ck_assert_int_eq (send_tune (rig.client, "host-small", "chat", 60, 0, &err), 0);
    find_worker ();
    fclose (fopen (full, "w"));
    reply = follow (rig.client, &n);
    ck_assert_str_eq (reply->job->state, "failed");
    ck_assert_int_eq (reply->job->code, ENOSPC);
    ck_assert_int_eq (rig_attach (&rig, reply->job->job, &later, &err), 0);
    ck_assert_str_eq (later->job->state, "failed");
    rig_reply_free (later);
    unlink (full);
    for (n = 0; n < 200 && query ("SELECT count (*) FROM job WHERE state = 'failed'") == 0; n++)
        pause_ms (50);
    ck_assert_int_lt (n, 200);
    ck_assert_int_eq (query ("SELECT code FROM job"), ENOSPC);
    rig_reply_free (reply);
    ck_assert_int_eq (rig_stop (&rig), 0);
    unsetenv ("DETENTD_FULL");
    dt_free (full);
}
END_TEST

START_TEST (cancelled)
{
    struct dt_client *second;
    struct dt_err err = { "" };
    Detent__Reply *reply, *queued;
    int n;

    start (6, 1);
    ck_assert_int_eq (dt_client_open (rig.endpoint, &second, &err), 0);
    ck_assert_int_eq (send_tune (second, "host-small", "chat", 60, 0, &err), 0);
    find_worker ();
    ck_assert_int_eq (send_tune (rig.client, "host-small", "chat", 60, 1, &err), 0);
    queued = follow (rig.client, &n);
    ck_assert_str_eq (queued->job->state, "queued"); /* one at a time */
    ck_assert_int_eq (rig_cancel (&rig, queued->job->job, &reply, &err), 0);
    rig_reply_free (reply);
    ck_assert_int_eq (rig_attach (&rig, queued->job->job, &reply, &err), 0);
    if (!reply->final) { /* its end is being written; the first one runs on */
        rig_reply_free (reply);
        reply = follow (rig.client, &n);
    }
    ck_assert_str_eq (reply->job->state, "cancelled");
    rig_reply_free (reply);
    ck_assert_int_eq (rig_cancel (&rig, 1, &reply, &err), 0);
    rig_reply_free (reply);
    reply = follow (second, &n);
    ck_assert_str_eq (reply->job->state, "cancelled");
    ck_assert_uint_gt (reply->job->measurements, 0);
    rig_reply_free (reply);
    rig_reply_free (queued);
    dt_client_close (second);
}
END_TEST

static Detent__Reply *tune_of (Detent__TuneRequest *t, const char *workload, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    int n;

    t->deployment = (char *)"host-small";
    t->workload = (char *)workload;
    t->budget_s = t->has_budget_s ? t->budget_s : 1;
    t->has_budget_s = 1;
    rq.body_case = DETENT__REQUEST__BODY_TUNE;
    rq.tune = t;
    ck_assert_int_eq (dt_client_send (rig.client, &rq, 5000, err), 0);
    return follow (rig.client, &n);
}

static Detent__Reply *tune_with (Detent__TuneRequest *t, struct dt_err *err)
{
    return tune_of (t, "chat", err);
}

/* Two workloads with the same trace come to the same tuple, and each commits it. */
START_TEST (one_tuple_of_two_workloads)
{
    static const char *const workload[] = { "chat", "code" };
    Detent__Forced force[2] = { DETENT__FORCED__INIT, DETENT__FORCED__INIT };
    Detent__Forced *list[2] = { &force[0], &force[1] };
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;
    struct dt_err err = { "" };
    Detent__Reply *tuned[2], *reply;

    for (int i = 0; i < 2; i++) { /* one choice, however busy the machine is */
        force[i].site = (char *)"decoder";
        force[i].name = (char *)(i ? "split_stride" : "block_n");
        force[i].value = (char *)(i ? "512" : "64");
    }
    t.force = list;
    t.n_force = 2;
    t.has_no_tables = t.no_tables = 1;
    use_steady ();
    start (2, 0);
    submit (workload[1], "decoder", 2, 0);
    for (size_t i = 0; i < DT_ARRAY_SIZE (workload); i++) {
        int r;

        tuned[i] = tune_of (&t, workload[i], &err);
        ck_assert_msg (!strcmp (tuned[i]->job->state, "done"), "%s", tuned[i]->job->what);
        r = rig_commit (&rig, "host-small", workload[i], NULL, 1, NULL, &reply, &err);
        ck_assert_msg (r == 0, "%s: %s", workload[i], err.text);
        rig_reply_free (reply);
    }
    ck_assert_mem_eq (tuned[0]->job->tuple.data, tuned[1]->job->tuple.data, 32);
    ck_assert_int_eq (query ("SELECT count (*) FROM tuple"), 1);
    ck_assert_int_eq (query ("SELECT count (*) FROM commit_log"), 2);
    rig_reply_free (tuned[0]);
    rig_reply_free (tuned[1]);
}
END_TEST

/* The same tune again takes what the one before it measured; `anew` takes nothing. */
START_TEST (measurements_are_reused)
{
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int64_t n;

    use_steady ();
    start (3, 0);
    reply = tune_with (&t, &err);
    ck_assert_str_eq (reply->job->state, "done");
    ck_assert_uint_eq (reply->job->site[0]->recalled, 0);
    rig_reply_free (reply);
    n = query ("SELECT count (*) FROM measurement WHERE free IS NULL");
    ck_assert_int_eq (query ("SELECT count (*) FROM measurement WHERE length (plan) = 32"), n);
    reply = tune_with (&t, &err);
    ck_assert_str_eq (reply->job->state, "done");
    ck_assert_uint_gt (reply->job->site[0]->recalled, 0);
    ck_assert_uint_le (reply->job->site[0]->recalled, (uint64_t)n);
    rig_reply_free (reply);
    t.has_anew = t.anew = 1;
    reply = tune_with (&t, &err);
    ck_assert_str_eq (reply->job->state, "done");
    ck_assert_uint_eq (reply->job->site[0]->recalled, 0);
    rig_reply_free (reply);
}
END_TEST

/* A value that the operator sets wins, is shown as set, and is never replaced. */
START_TEST (b31_forced_values)
{
    static const struct {
        const char *site, *name, *value, *text; /* text: of the error, NULL: none */
    } cases[] = {
        { "decoder", "block_n", "32", NULL },
        { "decoder", "choose.block_n", "16", "no legal assignment" },
        { "decoder", "blocks", "16", "no pin or knob is named" },
    };
    Detent__Forced force = DETENT__FORCED__INIT, *list[] = { &force };
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;
    struct dt_err err = { "" };

    use_steady ();
    start (2, 0);
    t.force = list;
    t.n_force = 1;
    for (size_t i = 0; i < DT_ARRAY_SIZE (cases); i++) {
        Detent__Reply *reply;

        force.site = (char *)cases[i].site;
        force.name = (char *)cases[i].name;
        force.value = (char *)cases[i].value;
        reply = tune_with (&t, &err);
        if (cases[i].text) {
            ck_assert_str_eq (reply->job->state, "failed");
            ck_assert_msg (strstr (reply->job->what, cases[i].text), "%s", reply->job->what);
        } else {
            ck_assert_str_eq (reply->job->state, "done");
            ck_assert_str_eq (reply->job->site[0]->forced[0], "block_n=32");
            ck_assert_str_eq (reply->job->site[0]->pin[0]->value, "32");
        }
        rig_reply_free (reply);
    }
}
END_TEST

/* Stopped while a tune runs: it ends, the worker gone with it; killed: the
 * job is known as failed at the next start. */
static const struct {
    int signal;
    const char *state, *text;
} ends[] = {
    { SIGTERM, "cancelled", "detentd was stopped" },
    { SIGKILL, "failed", "detentd stopped while it ran" },
};

START_TEST (the_daemon_ends)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int64_t stored;
    pid_t worker;
    int n;

    start (6, 1);
    ck_assert_int_eq (send_tune (rig.client, "host-small", "chat", 60, 1, &err), 0);
    rig_reply_free (follow (rig.client, &n));
    worker = find_worker ();
    kill (rig.pid, ends[_i].signal);
    rig_wait (&rig);
    for (int i = 0; i < 300 && kill (worker, 0) == 0; i++)
        pause_ms (10); /* it exits once its socket is closed and its call is through */
    ck_assert_int_ne (kill (worker, 0), 0);
    stored = query ("SELECT count (*) FROM measurement");
    rig_start (&rig, DETENTD, extra);
    ck_assert_int_eq (rig_attach (&rig, 1, &reply, &err), 0);
    ck_assert_str_eq (reply->job->state, ends[_i].state);
    ck_assert_str_eq (reply->job->what, ends[_i].text);
    ck_assert_uint_eq (reply->job->measurements, (uint64_t)stored);
    ck_assert_int_gt (stored, 0);
    rig_reply_free (reply);
}
END_TEST

static int tune_code (const char *deployment, const char *workload, struct dt_err *err)
{
    Detent__Reply *started, *reply;
    int r, n;

    ck_assert_int_eq (send_tune (rig.client, deployment, workload, 1, 1, err), 0);
    if ((r = dt_client_recv (rig.client, 10000, &started, err)) < 0)
        return r;
    ck_assert_int_eq (rig_attach (&rig, started->job->job, &reply,
                                   err), 0);
    rig_reply_free (started);
    if (!reply->final) {
        rig_reply_free (reply);
        reply = follow (rig.client, &n);
    }
    r = reply->job->has_code ? -reply->job->code : 0;
    dt_err_set (err, r, "%s", reply->job->what);
    rig_reply_free (reply);
    return r;
}

START_TEST (refused_tunes)
{
    struct dt_err err = { "" };

    rig_start (&rig, DETENTD, extra);
    submit ("chat", "decoder", 1, 0);
    ck_assert_int_eq (tune_code ("host-small", "chat", &err), -DT_ENOTFOUND); /* not solved */
    solve ();
    ck_assert_int_eq (tune_code ("host-small", "other", &err), -DT_ENOTFOUND); /* no trace */
    ck_assert_int_eq (tune_code ("host-small", "Bad Name", &err), -DT_EINPUT);
    submit ("encoder", "encoder", 1, 0);
    ck_assert_int_eq (tune_code ("host-small", "encoder", &err), -DT_EINPUT);
    ck_assert_msg (strstr (err.text, "attention/decoder"), "%s", err.text);
    rig_stop (&rig);
    snprintf (backend_dir, sizeof backend_dir, "/nonexistent");
    rig_start (&rig, DETENTD, extra);
    ck_assert_int_lt (tune_code ("host-small", "chat", &err), 0);
    ck_assert_msg (strstr (err.text, "/nonexistent/detent-backend-host.so"), "%s", err.text);
    rig_stop (&rig);
    snprintf (profiler, sizeof profiler, "/nonexistent/detent-profiler");
    rig_start (&rig, DETENTD, extra);
    ck_assert_int_eq (tune_code ("host-small", "chat", &err), -DT_EWORKER);
    ck_assert_msg (strstr (err.text, profiler), "%s", err.text);
}
END_TEST

/* A deployment that was solved before its backend was there, or under another one, is
 * held against it before a kernel is asked for. */
START_TEST (the_backends_schema)
{
    char *plugin = dt_strf ("%s/detent-backend-host.so", rig.dir), *real;
    struct dt_err err = { "" };

    use_backend ("backend-strict.so");
    ck_assert_ptr_nonnull (real = realpath (plugin, NULL));
    ck_assert_int_eq (unlink (plugin), 0);
    start (2, 0);
    ck_assert_int_eq (symlink (real, plugin), 0);
    ck_assert_int_eq (tune_code ("host-small", "chat", &err), -DT_EINPUT);
    ck_assert_str_eq (err.text, "site decoder of family attention: the backend needs the fact "
                                "\"lanes\", which the deployment does not state");
    ck_assert_int_eq (query ("SELECT count (*) FROM measurement"), 0);
    free (real);
    dt_free (plugin);
}
END_TEST

/* What the backend's plan refuses is told with its numbers and never launched: the
 * worker would die. */
START_TEST (b21_refused_values)
{
    static const char *const numbers[] = { "block_n=64 takes 262144 bytes of shared memory; the "
                                           "device has 232448", "split_stride=512 is out of range" };
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int n;

    use_backend ("backend-picky.so");
    start (2, 0);
    ck_assert_int_eq (send_tune (rig.client, "host-small", "chat", 2, 0, &err), 0);
    reply = follow (rig.client, &n);
    ck_assert_msg (strcmp (reply->job->state, "done") == 0, "%s", reply->job->what);
    ck_assert_uint_gt (reply->job->site[0]->refused, 0);
    ck_assert_uint_lt (reply->job->site[0]->refused, reply->job->site[0]->legal);
    for (size_t i = 0, k; i < DT_ARRAY_SIZE (numbers); i++) {
        const Detent__SiteResult *s = reply->job->site[0];

        for (k = 0; k < s->n_refusal && !strstr (s->refusal[k]->why, numbers[i]); k++)
            ck_assert_uint_eq (s->refusal[k]->n_value, s->n_pin + s->n_knob);
        ck_assert_msg (k < s->n_refusal, "nothing is refused since %s", numbers[i]);
    }
    rig_reply_free (reply);
}
END_TEST

/* All are refused: that job fails by name, and nothing but its row is stored. */
START_TEST (b21_no_legal_value)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int n;

    use_backend ("backend-picky.so");
    start (2, 1);
    ck_assert_int_eq (send_tune (rig.client, "host-small", "chat", 2, 0, &err), 0);
    reply = follow (rig.client, &n);
    ck_assert_str_eq (reply->job->state, "failed");
    ck_assert_int_eq (reply->job->code, DT_EILLEGAL);
    ck_assert_int_eq (dt_err_exit (reply->job->code), 5);
    ck_assert_msg (strstr (reply->job->what, "no legal value"), "%s", reply->job->what);
    ck_assert_msg (strstr (reply->job->what, " bytes of shared memory")
                       || strstr (reply->job->what, "is above 5000"), "%s", reply->job->what);
    ck_assert_int_eq (query ("SELECT (SELECT count (*) FROM tuple)"
                             " + (SELECT count (*) FROM measurement)"), 0);
    rig_reply_free (reply);
}
END_TEST

/* A value that the operator sets, and that no kernel takes for some calls of the trace,
 * of which a part is sampled: the tune says which and how many, chooses no other, and there
 * is nothing to commit. */
START_TEST (b31_forced_and_refused)
{
    Detent__Forced force = DETENT__FORCED__INIT, *list[] = { &force };
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;
    struct dt_trace *trace = dt_trace_new ();
    struct dt_buf bytes = { 0 };
    struct dt_err err = { "" };
    Detent__Reply *reply;

    use_backend ("backend-picky.so");
    start (2, 0);
    rig_describe (trace);
    ck_assert_int_eq (dt_trace_add_site (trace, "attention", "decoder", 4, &err), 0);
    for (uint64_t i = 1; i <= 40; i++) { /* 28 of them above 5000 */
        int64_t fields[] = { 1, 400 * (int64_t)i };
        struct dt_call call = { .n_requests = 1, .request = fields };

        ck_assert_int_eq (dt_trace_add_call (trace, 0, 2, 0, &call, &i, &err), 0);
    }
    ck_assert_int_eq (dt_trace_encode (trace, &bytes, &err), 0);
    ck_assert_int_eq (rig_submit (&rig, "mixed", &bytes, &reply, &err), 0);
    rig_reply_free (reply);
    force.site = (char *)"decoder";
    force.name = (char *)"block_n";
    force.value = (char *)"32";
    t.force = list;
    t.n_force = 1;
    reply = tune_of (&t, "chat", &err); /* of short calls alone it is taken */
    ck_assert_msg (!strcmp (reply->job->state, "done"), "%s", reply->job->what);
    ck_assert_str_eq (reply->job->site[0]->pin[0]->value, "32");
    rig_reply_free (reply);
    reply = tune_of (&t, "mixed", &err);
    ck_assert_str_eq (reply->job->state, "failed");
    ck_assert_int_eq (reply->job->code, DT_EILLEGAL);
    ck_assert_msg (strstr (reply->job->what, "block_n=32")
                       && strstr (reply->job->what, "kv_len=5200 is above 5000")
                       && strstr (reply->job->what, "28 calls (requests=1 longest_query=1"
                                  " longest_kv=5200; requests=1 longest_query=1 longest_kv=5600; ")
                       && strstr (reply->job->what, "longest_kv=8000; and 20 more): "), "%s",
                   reply->job->what);
    ck_assert_int_eq (reply->job->has_tuple, 0);
    rig_reply_free (reply);
    ck_assert_int_eq (rig_commit (&rig, "host-small", "mixed", NULL, 1, NULL, &reply, &err),
                      -DT_ENOTFOUND);
    dt_buf_done (&bytes);
    dt_trace_free (trace);
}
END_TEST

/* The told backend does what this file says; NULL: nothing. */
static void tell (const char *text)
{
    char *path = dt_strf ("%s/fault", rig.dir);
    FILE *f;

    unlink (path);
    if (text) {
        ck_assert_ptr_nonnull (f = fopen (path, "w"));
        fputs (text, f);
        ck_assert_int_eq (fclose (f), 0);
    }
    dt_free (path);
}

static Detent__Reply *tune_forced (const char *block_n)
{
    Detent__Forced force = DETENT__FORCED__INIT, *list[] = { &force };
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;
    struct dt_err err = { "" };
    Detent__Reply *reply;

    force.site = (char *)"decoder";
    force.name = (char *)"block_n";
    force.value = (char *)block_n;
    t.force = list;
    t.n_force = block_n != NULL;
    t.has_anew = t.anew = 1;
    reply = tune_with (&t, &err);
    ck_assert_msg (!strcmp (reply->job->state, "done"), "%s", reply->job->what);
    ck_assert_int_eq (reply->job->site[0]->tie, 1); /* all take the same */
    return reply;
}

static struct dt_digest commit_newest (void)
{
    struct dt_digest digest;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int r = rig_commit (&rig, "host-small", "chat", NULL, 1, NULL, &reply, &err);

    ck_assert_msg (r == 0, "%s", err.text);
    memcpy (digest.bytes, reply->commit->commit->digest.data, sizeof digest.bytes);
    rig_reply_free (reply);
    return digest;
}

/* What the newest commit says was forced; "": nothing was. */
static const char *shown_forced (char text[64])
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__ShowRequest show = DETENT__SHOW_REQUEST__INIT;
    const Detent__TupleSite *site;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int r;

    show.deployment = (char *)"host-small";
    show.workload = (char *)"chat";
    rq.body_case = DETENT__REQUEST__BODY_SHOW;
    rq.show = &show;
    r = rig_call (&rig, &rq, &reply, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    site = reply->show->site[0];
    ck_assert_str_eq (site->pin[0]->name, "choose.block_n");
    ck_assert_str_eq (site->pin[0]->value, "32");
    snprintf (text, 64, "%s", site->n_forced ? site->forced[0] : "");
    rig_reply_free (reply);
    return text;
}

/* A forced value that is committed is shown as forced by that commit.  A tune that
 * comes to the same by itself changes nothing of it, and when committed is not forced. */
START_TEST (b31_forced_is_shown)
{
    struct dt_digest tuple[2];
    Detent__Reply *reply;
    char text[64];

    use_backend ("backend-told.so");
    tell (NULL);
    start (2, 0);
    for (int i = 0; i < 2; i++) {
        reply = tune_forced (i == 0 ? "32" : NULL);
        memcpy (tuple[i].bytes, reply->job->tuple.data, sizeof tuple[i].bytes);
        rig_reply_free (reply);
        if (i == 0)
            commit_newest ();
        ck_assert_str_eq (shown_forced (text), "block_n=32");
    }
    ck_assert_mem_eq (tuple[0].bytes, tuple[1].bytes, sizeof tuple[0].bytes);
    commit_newest ();
    ck_assert_str_eq (shown_forced (text), "");
}
END_TEST

/* A tie keeps the default assignment until something is committed, and that then, unless
 * it may not be chosen. */
START_TEST (a_tie_keeps_the_incumbent)
{
    const Detent__SiteResult *s;
    Detent__Reply *reply;
    const char *other;
    char *at_first;

    use_backend ("backend-told.so");
    tell (NULL);
    start (2, 0);
    reply = tune_forced (NULL);
    ck_assert_str_eq (reply->job->site[0]->incumbent, "default");
    ck_assert_ptr_nonnull (at_first = dt_strdup (reply->job->site[0]->pin[0]->value));
    rig_reply_free (reply);
    other = strcmp (at_first, "64") ? "64" : "32";
    reply = tune_forced (other);
    ck_assert_str_ne (reply->job->site[0]->incumbent, "committed");
    rig_reply_free (reply);
    commit_newest ();
    reply = tune_forced (NULL);
    s = reply->job->site[0];
    ck_assert_str_eq (s->incumbent, "committed");
    ck_assert_str_eq (s->pin[0]->name, "choose.block_n");
    ck_assert_str_eq (s->pin[0]->value, other);
    rig_reply_free (reply);
    reply = tune_forced (at_first);
    ck_assert_str_eq (reply->job->site[0]->incumbent, "default");
    rig_reply_free (reply);
    dt_free (at_first);
}
END_TEST

/* Committed once, then something goes wrong: that tune fails by name, no tuple is stored,
 * the one before is served, and once all is well the next tune works. */
static const struct {
    const char *fault, *text;
    double budget_s;
    int code, measured; /* of the failed tune: it had measured something */
} faults[] = {
    /* the clock is slow whenever it is asked */
    { "slow unstable: device 0 is slowed (SM clock at 55% of nominal)", "unstable", 2,
      DT_EUNTRUSTED, 0 },
    /* times spread by 30%, and there is time for two of each only */
    { "noise", "unstable", 0.02, DT_EUNTRUSTED, 1 },
    /* the device fails half-way, and at the start */
    { "run 9 CUDA_ERROR_ECC_UNCORRECTABLE", "CUDA_ERROR_ECC_UNCORRECTABLE", 2, DT_EDEVICE, 1 },
    { "run 9 CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_LAUNCH_FAILED", 2, DT_EDEVICE, 1 },
    { "run 9 CUDA_ERROR_DEVICE_UNAVAILABLE", "DEVICE_UNAVAILABLE", 2, DT_EDEVICE, 1 },
    /* another process comes half-way, or is there at the end */
    { "other 9 another process (7) started to compute", "another process (7)", 2, EBUSY, 0 },
    { "late another process (8) started to compute", "another process (8)", 2, EBUSY, 0 },
    { "open CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_OUT_OF_MEMORY", 2, DT_EDEVICE, 0 },
};

START_TEST (b25_b29_b30_faults)
{
    Detent__Reply *good, *bad, *fetched;
    struct dt_err err = { "" };
    struct dt_digest head;
    int n;

    use_backend ("backend-told.so");
    tell (NULL);
    start (2, 0);
    rig_reply_free (tune_forced (NULL));
    head = commit_newest ();
    submit ("other", "decoder", 3, 0);
    tell (faults[_i].fault);
    ck_assert_int_eq (send_tune (rig.client, "host-small", "other", faults[_i].budget_s, 0, &err),
                      0);
    bad = follow (rig.client, &n);
    ck_assert_str_eq (bad->job->state, "failed");
    ck_assert_msg (bad->job->code == faults[_i].code, "%d: %s", bad->job->code, bad->job->what);
    ck_assert_msg (strstr (bad->job->what, faults[_i].text), "%s", bad->job->what);
    ck_assert_int_eq (bad->job->has_tuple, 0);
    ck_assert_int_eq (bad->job->measurements > 0, faults[_i].measured);
    ck_assert_int_eq (query ("SELECT count (*) FROM tuple"), 1);
    ck_assert_int_eq (query ("SELECT count (*) FROM measurement WHERE elapsed_ns NOT BETWEEN 1000"
                             " AND 1299"), 0);
    rig_reply_free (bad);
    ck_assert_int_eq (rig_fetch (&rig, "host-small", "chat", NULL, &fetched, &err), 0);
    ck_assert_int_eq (rig_check_bundle (fetched->fetch), 1);
    ck_assert_mem_eq (fetched->fetch->snapshot.data, head.bytes, sizeof head.bytes);
    rig_reply_free (fetched);
    tell (NULL);
    ck_assert_int_eq (send_tune (rig.client, "host-small", "other", 2, 0, &err), 0);
    good = follow (rig.client, &n);
    ck_assert_msg (!strcmp (good->job->state, "done"), "%s", good->job->what);
    rig_reply_free (good);
}
END_TEST

/* What comes over a device is noticed a little later.  What was measured
 * before the last good look stays, and nothing of what may be of that time. */
static const struct {
    const char *fault;
    int code;
} doubts[] = { { "other 300 another process", EBUSY },
               { "slowed 300 unstable", DT_EUNTRUSTED },
               { "lost 300 cudaErrorECCUncorrectable", DT_ELOST } };

START_TEST (doubtful_times_are_left_out)
{
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;
    struct dt_err err = { "" };
    Detent__Reply *reply;

    use_backend ("backend-told.so");
    tell (doubts[_i].fault);
    start (12, 0);
    t.has_exhaustive = t.exhaustive = 1;
    reply = tune_with (&t, &err);
    ck_assert_str_eq (reply->job->state, "failed");
    ck_assert_msg (reply->job->code == doubts[_i].code, "%d: %s", reply->job->code,
                   reply->job->what);
    /* How many looks 299 take goes by time. */
    ck_assert_uint_gt (reply->job->measurements, 0);
    ck_assert_uint_le (reply->job->measurements, 299);
    ck_assert_uint_eq (reply->job->measurements,
                       (uint64_t)query ("SELECT count (*) FROM measurement WHERE elapsed_ns = 1000"));
    ck_assert_int_eq (query ("SELECT count (*) FROM measurement WHERE elapsed_ns <> 1000"), 0);
    rig_reply_free (reply);
    tell (NULL);
}
END_TEST

/* Tune, and how many measurements were recalled; -1: it is not known who else was there.  All
 * take the same time, so each tune is settled after as many rounds, if the budget lets it. */
static uint64_t recalled (int shared, int64_t want_contended)
{
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    uint64_t n;

    t.has_shared = t.shared = shared;
    t.has_exhaustive = t.exhaustive = 1;
    t.has_budget_s = 1;
    t.budget_s = 60;
    reply = tune_with (&t, &err);
    ck_assert_msg (!strcmp (reply->job->state, "done"), "%s", reply->job->what);
    ck_assert_int_eq (reply->job->has_contended ? (int64_t)reply->job->contended : -1,
                      want_contended);
    n = reply->job->site[0]->recalled;
    rig_reply_free (reply);
    return n;
}

/* Times beside another process are never taken for those of a device of the job's own;
 * a tune that takes others takes them, and says so. */
START_TEST (b29_contended_times_stay_apart)
{
    uint64_t all;

    use_backend ("backend-told.so");
    tell ("state 1980 2619 0 2");
    start (2, 0);
    ck_assert_uint_eq (recalled (1, 2), 0);
    ck_assert_int_eq (query ("SELECT count (*) FROM measurement WHERE others IS NOT 2"), 0);
    tell (NULL);
    ck_assert_uint_eq (recalled (0, 0), 0);
    ck_assert_uint_gt (all = recalled (0, 0), 0);
    ck_assert_uint_ge (recalled (1, 2), all);
    ck_assert_int_eq (query ("SELECT count (*) FROM measurement WHERE job > 1 AND others > 0"), 0);
}
END_TEST

/* Another comes in the middle and goes: what was measured before is taken, and what follows
 * of that tune is not; nor does it keep what a later one measured from being taken. */
START_TEST (b29_contended_from_the_middle)
{
    uint64_t before, all;

    use_backend ("backend-told.so");
    tell ("come 300 400");
    start (12, 0);
    recalled (1, 1);
    before = (uint64_t)query ("SELECT count (*) FROM measurement WHERE id <"
                              " (SELECT min (id) FROM measurement WHERE others > 0)");
    ck_assert_uint_gt (before, 0);
    ck_assert_uint_lt (before, 300);
    ck_assert_int_gt (query ("SELECT count (*) FROM measurement WHERE others = 0 AND id >"
                             " (SELECT max (id) FROM measurement WHERE others > 0)"), 0);
    tell (NULL);
    ck_assert_uint_eq (recalled (0, 0), before);
    ck_assert_uint_gt (all = recalled (0, 0), before);
    ck_assert_uint_eq (recalled (0, 0), all);
}
END_TEST

/* Not known is not nobody: such times are taken by who takes others, who then does not know
 * either, and by who never knows, but not where it can be known. */
START_TEST (b29_unknown_times_stay_apart)
{
    uint64_t all;

    use_backend ("backend-told.so");
    tell ("state 1980 2619 0");
    start (2, 0);
    ck_assert_uint_eq (recalled (1, -1), 0);
    ck_assert_int_eq (query ("SELECT count (*) FROM measurement WHERE others IS NOT NULL"), 0);
    ck_assert_uint_gt (all = recalled (1, -1), 0);
    ck_assert_uint_eq (recalled (0, -1), all);
    tell (NULL);
    ck_assert_uint_eq (recalled (1, -1), all);
    ck_assert_uint_eq (recalled (0, 0), 0);
    ck_assert_uint_eq (recalled (0, 0), all);
}
END_TEST

/* A shared tune goes on where a contended one stopped: what it measured behind times that
 * others may not take hides nothing of what they measured there. */
START_TEST (b29_contended_and_resumed)
{
    uint64_t before;

    use_backend ("backend-told.so");
    tell ("come 300 400");
    start (12, 0);
    recalled (1, 1);
    query ("DELETE FROM measurement WHERE plan IS NOT NULL AND id >"
           " (SELECT max (id) - 50 FROM measurement WHERE plan IS NOT NULL)");
    recalled (1, 1);
    ck_assert_int_gt (query ("SELECT count (*) FROM measurement WHERE job = 2"
                             " AND plan IS NOT NULL"), 0);
    tell (NULL);
    before = recalled (0, 0);
    ck_assert_uint_gt (recalled (0, 0), before);
}
END_TEST

/* What the told backend did, in its order: runs and looks. */
static char *read_log (void)
{
    char *path = dt_strf ("%s/events", rig.dir), *text;
    struct dt_buf b = { 0 };
    struct dt_err err = { "" };

    ck_assert_msg (dt_file_read (path, 16 << 20, &b, &err) == 0, "%s", err.text);
    text = dt_strf ("%.*s", (int)b.len, (char *)b.data);
    dt_buf_done (&b);
    dt_free (path);
    return text;
}

/* Whatever was run for a tune's result, the last thing done is a look at the device: of
 * several sites, the check of their sum comes after all of them. */
START_TEST (b29_a_look_comes_last)
{
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    char *log;

    use_backend ("backend-told.so");
    tell ("log");
    rig_start (&rig, DETENTD, extra);
    solve_sites (2);
    submit ("chat", "another", 2, 0);
    reply = tune_with (&t, &err);
    ck_assert_msg (!strcmp (reply->job->state, "done"), "%s", reply->job->what);
    ck_assert_uint_eq (reply->job->n_site, 2);
    ck_assert_int_eq (reply->job->has_additive_tuples, 1);
    log = read_log ();
    ck_assert_msg (log[0] && log[strlen (log) - 1] == 'L', "...%s",
                   log + (strlen (log) > 40 ? strlen (log) - 40 : 0));
    dt_free (log);
    rig_reply_free (reply);
}
END_TEST

/* A site's times are stored behind a look of their own, whatever follows: without tables, at
 * once another one. */
START_TEST (b29_a_look_before_storing)
{
    Detent__TuneRequest t = DETENT__TUNE_REQUEST__INIT;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    size_t n;
    char *log;

    use_backend ("backend-told.so");
    tell ("log");
    start (2, 0);
    t.has_no_tables = t.no_tables = 1;
    reply = tune_with (&t, &err);
    ck_assert_msg (!strcmp (reply->job->state, "done"), "%s", reply->job->what);
    log = read_log ();
    n = strlen (log);
    ck_assert_msg (n > 2 && !strcmp (log + n - 2, "LL"), "...%s", log + (n > 40 ? n - 40 : 0));
    dt_free (log);
    rig_reply_free (reply);
}
END_TEST

/* A certification looks before each batch: whoever came is not disturbed by more than one. */
START_TEST (b29_certify_looks_at_each_batch)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__CertifyRequest c = DETENT__CERTIFY_REQUEST__INIT;
    Detent__Forced force[2] = { DETENT__FORCED__INIT, DETENT__FORCED__INIT };
    Detent__Forced *list[2] = { &force[0], &force[1] };
    Detent__Reply *reply;
    struct dt_err err = { "" };
    uint64_t looks = 0;
    char *log;
    int n;

    use_backend ("backend-told.so");
    tell (_i ? "log\nlate another process (8) started to compute" : "log");
    rig_start (&rig, DETENTD, extra);
    solve ();
    for (int i = 0; i < 2; i++) {
        force[i].site = (char *)"decoder";
        force[i].name = (char *)(i ? "split_stride" : "block_n");
        force[i].value = (char *)(i ? "512" : "64");
    }
    c.deployment = (char *)"host-small";
    c.assignment = list;
    c.n_assignment = 2;
    rq.body_case = DETENT__REQUEST__BODY_CERTIFY;
    rq.certify = &c;
    ck_assert_int_eq (dt_client_send (rig.client, &rq, 5000, &err), 0);
    reply = follow (rig.client, &n);
    log = read_log ();
    if (_i) {
        ck_assert_str_eq (reply->job->state, "failed");
        ck_assert_int_eq (reply->job->code, EBUSY);
        ck_assert_str_eq (log, "L");
    } else {
        ck_assert_msg (!strcmp (reply->job->state, "done"), "%s", reply->job->what);
        ck_assert_uint_eq (reply->job->n_certified, 1);
        for (const char *p = log; *p; p++)
            looks += *p == 'L';
        ck_assert_uint_gt (reply->job->certified[0]->batches, 0);
        ck_assert_uint_gt (looks, reply->job->certified[0]->batches);
    }
    dt_free (log);
    rig_reply_free (reply);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("detentd/tune");
    TCase *tc = tcase_create ("tune");

    tcase_set_timeout (tc, 300);
    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_add_test (tc, tunes_commits_and_fetches);
    tcase_add_loop_test (tc, a_worker_that_fails, 0, DT_ARRAY_SIZE (deaths));
    tcase_add_test (tc, cancelled);
    tcase_add_test (tc, one_tuple_of_two_workloads);
    tcase_add_test (tc, measurements_are_reused);
    tcase_add_test (tc, b31_forced_values);
    tcase_add_test (tc, a_full_disk);
    tcase_add_loop_test (tc, the_daemon_ends, 0, DT_ARRAY_SIZE (ends));
    tcase_add_test (tc, refused_tunes);
    tcase_add_test (tc, the_backends_schema);
    tcase_add_test (tc, b21_refused_values);
    tcase_add_test (tc, b21_no_legal_value);
    tcase_add_test (tc, b31_forced_and_refused);
    suite_add_tcase (s, tc);
    tc = tcase_create ("told");
    tcase_set_timeout (tc, 300);
    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_add_test (tc, a_tie_keeps_the_incumbent);
    tcase_add_test (tc, b31_forced_is_shown);
    tcase_add_loop_test (tc, b25_b29_b30_faults, 0, DT_ARRAY_SIZE (faults));
    tcase_add_loop_test (tc, doubtful_times_are_left_out, 0, DT_ARRAY_SIZE (doubts));
    tcase_add_test (tc, b29_contended_times_stay_apart);
    tcase_add_test (tc, b29_contended_from_the_middle);
    tcase_add_test (tc, b29_unknown_times_stay_apart);
    tcase_add_test (tc, b29_contended_and_resumed);
    tcase_add_test (tc, b29_a_look_comes_last);
    tcase_add_test (tc, b29_a_look_before_storing);
    tcase_add_loop_test (tc, b29_certify_looks_at_each_batch, 0, 2);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
