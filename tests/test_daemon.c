/* tests/test_daemon.c - a real detentd, talked to over real sockets. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "detentd/dispatch.h"
#include "solver/solve.h"
#include "tests/daemon_rig.h"
#include "tests/suite.h"

#define DETENTD "detentd/detentd"

static struct rig rig;

static void setup (void)
{
    rig_init (&rig);
}

static void teardown (void)
{
    rig_done (&rig);
}

static Detent__Reply *ask_status (void)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__StatusRequest status = DETENT__STATUS_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    struct dt_err err = { "" };
    int r;

    rq.body_case = DETENT__REQUEST__BODY_STATUS;
    rq.status = &status;
    r = rig_call (&rig, &rq, &reply, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    return reply;
}

START_TEST (tells_its_status)
{
    Detent__Reply *reply;
    struct stat st;

    rig_start (&rig, DETENTD, NULL);
    reply = ask_status ();
    ck_assert_uint_eq (reply->status->pid, (uint64_t)rig.pid);
    ck_assert_uint_eq (reply->status->signer.len, 32);
    ck_assert_uint_eq (reply->status->commits, 0);
    ck_assert_str_eq (reply->status->store, rig.database);
    rig_reply_free (reply);
    ck_assert_int_eq (stat (rig.database, &st), 0);
    ck_assert_int_eq (st.st_mode & 0777, 0600);
    ck_assert_int_eq (stat (rig.endpoint + 6, &st), 0);
    ck_assert_int_eq (st.st_mode & 077, 0);
    ck_assert_int_eq (rig_stop (&rig), 0);
    ck_assert_int_ne (stat (rig.endpoint + 6, &st), 0); /* it tidies up */
}
END_TEST

START_TEST (traces)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TraceListRequest list = DETENT__TRACE_LIST_REQUEST__INIT;
    struct dt_buf trace = { 0 };
    struct dt_err err = { "" };
    Detent__Reply *reply;

    rig_start (&rig, DETENTD, NULL);
    rig_trace (0, &trace);
    for (int again = 0; again < 2; again++) {
        int r = rig_submit (&rig, "chat", &trace, &reply, &err);

        ck_assert_msg (r == 0, "%s", err.text);
        ck_assert_uint_eq (reply->trace_submit->calls, 3);
        ck_assert_uint_eq (reply->trace_submit->distinct, 1);
        ck_assert_int_eq (reply->trace_submit->known, again);
        rig_reply_free (reply);
    }
    ck_assert_int_eq (rig_submit (&rig, "code", &trace, &reply, &err), 0);
    ck_assert_int_eq (reply->trace_submit->known, 0); /* known of another workload */
    rig_reply_free (reply);
    ck_assert_int_eq (rig_submit (&rig, "No Name", &trace, &reply, &err), -DT_EINPUT);
    trace.data[trace.len / 2] ^= 1;
    ck_assert_int_eq (rig_submit (&rig, "chat", &trace, &reply, &err), -DT_ECORRUPT);
    trace.len = 0;
    ck_assert_int_lt (rig_submit (&rig, "chat", &trace, &reply, &err), 0);
    dt_buf_done (&trace);

    rq.body_case = DETENT__REQUEST__BODY_TRACE_LIST;
    rq.trace_list = &list;
    ck_assert_int_eq (rig_call (&rig, &rq, &reply, &err), 0);
    ck_assert_uint_eq (reply->trace_list->n_trace, 2);
    rig_reply_free (reply);
    list.workload = (char *)"chat";
    ck_assert_int_eq (rig_call (&rig, &rq, &reply, &err), 0);
    ck_assert_uint_eq (reply->trace_list->n_trace, 1);
    ck_assert_str_eq (reply->trace_list->trace[0]->deployment, "host-small");
    ck_assert_str_eq (reply->trace_list->trace[0]->source, "made.csv");
    rig_reply_free (reply);
}
END_TEST

static int call_show (const char *prefix, const char *deployment, const char *workload,
                      Detent__Reply **ret, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__ShowRequest show = DETENT__SHOW_REQUEST__INIT;

    show.prefix = (char *)prefix;
    show.deployment = (char *)deployment;
    show.workload = (char *)workload;
    rq.body_case = DETENT__REQUEST__BODY_SHOW;
    rq.show = &show;
    return rig_call (&rig, &rq, ret, err);
}

static Detent__Reply *call_log (const char *deployment, uint64_t limit)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__LogRequest log = DETENT__LOG_REQUEST__INIT;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int r;

    log.deployment = (char *)deployment;
    log.has_limit = limit > 0;
    log.limit = limit;
    rq.body_case = DETENT__REQUEST__BODY_LOG;
    rq.log = &log;
    r = rig_call (&rig, &rq, &reply, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    return reply;
}

START_TEST (a_chain_of_commits)
{
    struct dt_digest first = rig_seed (&rig, "dep", "chat", 1, 0, "", 5000);
    struct dt_digest second = rig_seed (&rig, "dep", "chat", 2, 0, "", 5000);
    ProtobufCBinaryData none = { 0 }, head;
    Detent__Reply *a, *b, *reply;
    char hex[DT_DIGEST_HEX];
    struct dt_digest digest;
    struct dt_err err = { "" };
    int r;

    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (rig_fetch (&rig, "dep", "chat", NULL, &reply, &err), -DT_ENOTFOUND);
    ck_assert_int_eq (call_show (NULL, "dep", "chat", &reply, &err), -DT_ENOTFOUND);
    r = rig_commit (&rig, "dep", "chat", &first, 0, &none, &a, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    ck_assert_uint_eq (a->commit->commit->sequence, 1);
    ck_assert_int_eq (a->commit->commit->has_parent, 0);
    ck_assert_str_eq (a->commit->commit->message, "tuned für chat");
    head = a->commit->commit->digest;

    /* conflicts: not the first any more; another parent */
    ck_assert_int_eq (rig_commit (&rig, "dep", "chat", &second, 0, &none, &reply, &err),
                      -DT_ECONFLICT);
    ck_assert_int_eq (rig_commit (&rig, "dep", "chat", &second, 0, &a->commit->commit->tuple,
                                  &reply, &err), -DT_ECONFLICT);
    /* the newest finished tune, upon the head */
    ck_assert_int_eq (rig_commit (&rig, "dep", "chat", NULL, 0, &head, &b, &err), 0);
    ck_assert_uint_eq (b->commit->commit->sequence, 2);
    ck_assert_mem_eq (b->commit->commit->tuple.data, second.bytes, DT_DIGEST_BYTES);
    ck_assert_mem_eq (b->commit->commit->parent.data, head.data, DT_DIGEST_BYTES);

    ck_assert_int_eq (rig_fetch (&rig, "dep", "chat", NULL, &reply, &err), 0);
    ck_assert_int_eq (rig_check_bundle (reply->fetch), 2);
    rig_reply_free (reply);
    ck_assert_int_eq (rig_fetch (&rig, "dep", "chat", &head, &reply, &err), 0);
    ck_assert_int_eq (rig_check_bundle (reply->fetch), 1); /* the other ranks' snapshot */
    rig_reply_free (reply);
    ck_assert_int_eq (rig_fetch (&rig, "dep", "code", &head, &reply, &err), -DT_EREFUSED);
    ck_assert_int_eq (rig_fetch (&rig, "dep", "chat", &a->commit->commit->tuple, &reply, &err),
                      -DT_ENOTFOUND);

    reply = call_log ("dep", 0);
    ck_assert_uint_eq (reply->log->n_commit, 2);
    ck_assert_uint_eq (reply->log->commit[0]->sequence, 2);
    rig_reply_free (reply);
    reply = call_log (NULL, 1);
    ck_assert_uint_eq (reply->log->n_commit, 1);
    rig_reply_free (reply);
    reply = call_log ("other", 0);
    ck_assert_uint_eq (reply->log->n_commit, 0);
    rig_reply_free (reply);

    memcpy (digest.bytes, head.data, DT_DIGEST_BYTES);
    dt_digest_hex (&digest, hex);
    hex[10] = '\0';
    ck_assert_int_eq (call_show (hex, NULL, NULL, &reply, &err), 0);
    ck_assert_uint_eq (reply->show->commit->sequence, 1);
    ck_assert_uint_eq (reply->show->n_site, 1);
    ck_assert_str_eq (reply->show->site[0]->pin[0]->name, "choose.block_n");
    ck_assert_str_eq (reply->show->site[0]->pin[0]->value, "65");
    ck_assert_str_eq (reply->show->environment[0]->name, "deployment");
    rig_reply_free (reply);
    dt_digest_hex (&second, hex);
    ck_assert_int_eq (call_show (hex, NULL, NULL, &reply, &err), 0);
    ck_assert_ptr_null (reply->show->commit);
    rig_reply_free (reply);
    ck_assert_int_eq (call_show ("00", NULL, NULL, &reply, &err), -DT_EINPUT);
    ck_assert_int_eq (call_show (hex, "dep", NULL, &reply, &err), -DT_EINPUT);
    rig_reply_free (a);
    rig_reply_free (b);
}
END_TEST

START_TEST (refused_commits)
{
    struct dt_digest sampled = rig_seed (&rig, "dep", "chat", 1, 1, "", 100);
    struct dt_digest uncovered = rig_seed (&rig, "dep", "chat", 2, 0, "attention.tile_m", 100);
    struct dt_digest unknown = dt_digest_of ("tuple", "?", 1);
    struct dt_err err = { "" };
    Detent__Reply *reply;

    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (rig_commit (&rig, "dep", "chat", &sampled, 0, NULL, &reply, &err),
                      -DT_EUNPROVED);
    ck_assert_int_eq (rig_commit (&rig, "dep", "chat", &uncovered, 1, NULL, &reply, &err),
                      -DT_EREFUSED);
    ck_assert_msg (strstr (err.text, "tile_m"), "%s", err.text);
    ck_assert_int_eq (rig_commit (&rig, "dep", "code", &sampled, 1, NULL, &reply, &err),
                      -DT_EREFUSED);
    ck_assert_int_eq (rig_commit (&rig, "dep", "chat", &unknown, 1, NULL, &reply, &err),
                      -DT_ENOTFOUND);
    ck_assert_int_eq (rig_commit (&rig, "dep", "none", NULL, 1, NULL, &reply, &err),
                      -DT_ENOTFOUND);
    ck_assert_int_eq (rig_commit (&rig, "D!", "chat", NULL, 1, NULL, &reply, &err), -DT_EINPUT);
    ck_assert_int_eq (rig_commit (&rig, "dep", "chat", &sampled, 1, NULL, &reply, &err), 0);
    ck_assert_int_eq (reply->commit->commit->sampled, 1);
    rig_reply_free (reply);
}
END_TEST

/* A tuple is content: two workloads may come to one, and each commits it. */
START_TEST (one_tuple_of_two_workloads)
{
    static const char *const workload[] = { "chat", "code" };
    struct dt_digest tuple = rig_seed (&rig, "dep", workload[0], 1, 0, "", 100);
    struct dt_digest again = rig_seed (&rig, "dep", workload[1], 1, 0, "", 100);
    struct dt_err err = { "" };
    Detent__Reply *reply;

    ck_assert (dt_digest_equal (&tuple, &again));
    rig_start (&rig, DETENTD, NULL);
    for (size_t i = 0; i < DT_ARRAY_SIZE (workload); i++) {
        int r = rig_commit (&rig, "dep", workload[i], i ? &tuple : NULL, 0, NULL, &reply, &err);

        ck_assert_msg (r == 0, "%s: %s", workload[i], err.text);
        ck_assert_uint_eq (reply->commit->commit->sequence, 1);
        rig_reply_free (reply);
        ck_assert_int_eq (rig_fetch (&rig, "dep", workload[i], NULL, &reply, &err), 0);
        ck_assert_int_eq (rig_check_bundle (reply->fetch), 1);
        rig_reply_free (reply);
    }
    ck_assert_int_eq (rig_commit (&rig, "dep", "other", &tuple, 0, NULL, &reply, &err),
                      -DT_EREFUSED);
    ck_assert_msg (strstr (err.text, "was not tuned for (dep, other)"), "%s", err.text);
    ck_assert_int_eq (rig_commit (&rig, "dap", "chat", &tuple, 0, NULL, &reply, &err),
                      -DT_EREFUSED);
}
END_TEST

/* The sample deployment with its program, from the source tree; `deployment` and
 * `program` replace their text if not NULL. */
static int call_solve (const char *deployment, const char *program, Detent__Reply **ret,
                       struct dt_err *err)
{
    const char *top = getenv ("top_srcdir");
    char *yaml = dt_strf ("%s/deployments/host-small.yaml", top ? top : ".");
    char *py = dt_strf ("%s/programs/detent/attention.py", top ? top : ".");
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__SolveRequest solve = DETENT__SOLVE_REQUEST__INIT;
    Detent__Deployment d = DETENT__DEPLOYMENT__INIT;
    Detent__File file[2] = { DETENT__FILE__INIT, DETENT__FILE__INIT }, *programs = &file[1];
    struct dt_buf text[2] = { { 0 }, { 0 } };
    int r;

    ck_assert_int_eq (dt_file_read (yaml, 1 << 20, &text[0], err), 0);
    ck_assert_int_eq (dt_file_read (py, 1 << 20, &text[1], err), 0);
    file[0].name = (char *)"host-small.yaml";
    file[1].name = (char *)"attention.py";
    for (int i = 0; i < 2; i++) {
        const char *other = i ? program : deployment;

        file[i].data = (ProtobufCBinaryData){ .len = text[i].len, .data = text[i].data };
        if (other)
            file[i].data = (ProtobufCBinaryData){ .len = strlen (other), .data = (uint8_t *)other };
    }
    d.file = &file[0];
    d.program = &programs;
    d.n_program = program && !*program ? 0 : 1;
    solve.deployment = &d;
    rq.body_case = DETENT__REQUEST__BODY_SOLVE;
    rq.solve = &solve;
    r = rig_call (&rig, &rq, ret, err);
    dt_buf_done (&text[0]);
    dt_buf_done (&text[1]);
    dt_free (yaml);
    dt_free (py);
    return r;
}

static int call_pins (const char *deployment, Detent__Reply **ret, struct dt_err *err)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__PinsRequest pins = DETENT__PINS_REQUEST__INIT;

    pins.deployment = (char *)deployment;
    rq.body_case = DETENT__REQUEST__BODY_PINS;
    rq.pins = &pins;
    return rig_call (&rig, &rq, ret, err);
}

static void has_pin (const Detent__SiteSolution *m, const char *name)
{
    struct dt_solution *s = NULL;
    struct dt_canon_value v;
    size_t i;

    ck_assert_int_eq (dt_canon_check (m->solution.data, m->solution.len, &v, NULL), 0);
    ck_assert_int_eq (dt_solution_decode (v, &s, NULL), 0);
    for (i = 0; i < s->n_pins && !strstr (s->pin[i].name, name); i++)
        ;
    ck_assert_msg (i < s->n_pins && s->pin[i].n_candidates > 1, "no pin %s", name);
    dt_solution_free (s);
}

START_TEST (solves)
{
    Detent__Reply *first, *again, *reply;
    struct dt_err err = { "" };
    int r;

    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (call_pins ("host-small", &reply, &err), -DT_ENOTFOUND);
    r = call_solve (NULL, NULL, &first, &err);
    ck_assert_msg (r == 0, "%s", err.text);
    ck_assert_str_eq (first->solve->deployment, "host-small");
    ck_assert_uint_eq (first->solve->n_site, 1);
    ck_assert_int_eq (first->solve->site[0]->cached, 0);
    has_pin (first->solve->site[0], "block_n");
    has_pin (first->solve->site[0], "split_stride");
    ck_assert_int_eq (call_solve (NULL, NULL, &again, &err), 0);
    ck_assert_int_eq (again->solve->site[0]->cached, 1);
    ck_assert_mem_eq (again->solve->site[0]->key.data, first->solve->site[0]->key.data, 32);
    ck_assert_uint_eq (again->solve->site[0]->solution.len, first->solve->site[0]->solution.len);
    ck_assert_mem_eq (again->solve->site[0]->solution.data, first->solve->site[0]->solution.data,
                      first->solve->site[0]->solution.len);
    rig_reply_free (first);
    rig_reply_free (again);
    ck_assert_int_eq (call_pins ("host-small", &reply, &err), 0);
    has_pin (reply->pins->site[0], "block_n");
    rig_reply_free (reply);
    reply = ask_status ();
    ck_assert_uint_eq (reply->status->cache_hits, 1);
    ck_assert_uint_eq (reply->status->cache_misses, 1);
    rig_reply_free (reply);
}
END_TEST

/* A damaged cache entry is a miss and a warning, never a wrong answer.
 * A byte more, or any one byte another: of the solution's start, middle and end, of its
 * check digest. */
static const char *const damages[] = {
    "data = CAST (data || 'x' AS BLOB)",
    "data = CAST (X'00' || substr (data, 2) AS BLOB)",
    "data = CAST (substr (data, 1, length (data) / 2)"
    " || CASE substr (data, length (data) / 2 + 1, 1) WHEN X'ff' THEN X'00' ELSE X'ff' END"
    " || substr (data, length (data) / 2 + 2) AS BLOB)",
    "data = CAST (substr (data, 1, length (data) - 1) || X'7f' AS BLOB)",
    "data = CAST (substr (data, 1, length (data) - 1) AS BLOB)",
    "check_digest = CAST (substr (check_digest, 1, 31) || X'00' AS BLOB)",
};

static void change (const char *statement, int rows)
{
    ck_assert_int_eq (rig_sql (&rig, statement), rows);
}

/* Solved, then with a row of the table as damages[i] has it, and started again. */
static void solve_and_damage (const char *table, int i)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;
    char statement[300];

    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (call_solve (NULL, NULL, &reply, &err), 0);
    rig_reply_free (reply);
    ck_assert_int_eq (rig_stop (&rig), 0);
    snprintf (statement, sizeof statement, "UPDATE %s SET %s", table, damages[i]);
    change (statement, 1);
    rig_start (&rig, DETENTD, NULL);
}

START_TEST (solves_again_when_the_cache_is_damaged)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;

    solve_and_damage ("solution", _i);
    ck_assert_int_eq (call_pins ("host-small", &reply, &err), -DT_ECORRUPT);
    ck_assert_int_eq (call_solve (NULL, NULL, &reply, &err), 0);
    ck_assert_int_eq (reply->solve->site[0]->cached, 0);
    rig_reply_free (reply);
    ck_assert_int_eq (call_pins ("host-small", &reply, &err), 0);
    rig_reply_free (reply);
    rig_logged (&rig, "solved again");
}
END_TEST

/* So is one of what stands behind the points, without which the solution is no hit. */
START_TEST (counts_again_when_a_standing_is_damaged)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;

    solve_and_damage ("standing", _i);
    ck_assert_int_eq (call_pins ("host-small", &reply, &err), 0);
    rig_reply_free (reply);
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq (call_solve (NULL, NULL, &reply, &err), 0);
        ck_assert_int_eq (reply->solve->site[0]->cached, again);
        rig_reply_free (reply);
    }
    rig_logged (&rig, "counted again");
}
END_TEST

/* A hit that changes nothing writes nothing; a program that is no longer sent does. */
START_TEST (known_solves_write_nothing)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;

    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (call_solve (NULL, NULL, &reply, &err), 0);
    rig_reply_free (reply);
    change ("UPDATE deployment SET time_ns = 7", 1);
    ck_assert_int_eq (call_solve (NULL, NULL, &reply, &err), 0);
    rig_reply_free (reply);
    change ("UPDATE deployment SET time_ns = 8 WHERE time_ns = 7", 1);
    change ("DELETE FROM deployment_source", 1);
    ck_assert_int_eq (call_solve (NULL, NULL, &reply, &err), 0);
    ck_assert_int_eq (reply->solve->site[0]->cached, 1);
    rig_reply_free (reply);
    change ("UPDATE deployment SET time_ns = 9 WHERE time_ns = 8", 0);
    change ("UPDATE deployment_source SET name = name", 1);
}
END_TEST

/* In place of the host's plugin: none, or one of the build. */
static void use_backend (const char *name)
{
    const char *build = getenv ("top_builddir");
    char *from = name ? dt_strf ("%s/.libs/%s.so", build ? build : ".", name) : NULL;
    char *to = dt_strf ("%s/detent-backend-host.so", rig.dir), real[4096];

    unlink (to);
    if (from) {
        ck_assert_ptr_nonnull (realpath (from, real));
        ck_assert_int_eq (symlink (real, to), 0);
    }
    dt_free (from);
    dt_free (to);
}

static char profiler[256];
static const char *workers[] = { "--backend-dir", rig.dir, "--profiler", profiler, NULL };

static void solve_key (int cached, uint8_t ret[DT_DIGEST_BYTES])
{
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int r = call_solve (NULL, NULL, &reply, &err);

    ck_assert_msg (r == 0, "%s", err.text);
    ck_assert_int_eq (reply->solve->site[0]->cached, cached);
    memcpy (ret, reply->solve->site[0]->key.data, DT_DIGEST_BYTES);
    rig_reply_free (reply);
}

/* Another schema is another key; none is one too; the same again is a hit. */
START_TEST (keys_hold_the_backends_schema)
{
    uint8_t none[DT_DIGEST_BYTES], host[DT_DIGEST_BYTES], other[DT_DIGEST_BYTES];
    uint8_t again[DT_DIGEST_BYTES];
    const char *build = getenv ("top_builddir");

    snprintf (profiler, sizeof profiler, "%s/detent-profiler", build ? build : ".");
    rig_start (&rig, DETENTD, workers);
    solve_key (0, none);
    use_backend ("detent-backend-host");
    solve_key (0, host);
    solve_key (1, again);
    ck_assert_mem_eq (host, again, sizeof host);
    use_backend ("backend-picky");
    solve_key (0, other);
    ck_assert_mem_ne (host, none, sizeof host);
    ck_assert_mem_ne (other, none, sizeof host);
    ck_assert_mem_ne (other, host, sizeof host);
    use_backend ("backend-hang"); /* another file, and the same schema */
    solve_key (1, again);
    ck_assert_mem_eq (other, again, sizeof host);
    use_backend (NULL);
    solve_key (1, again);
    ck_assert_mem_eq (none, again, sizeof host);
}
END_TEST

/* A backend that cannot be described is a warning, and a solve without a schema. */
START_TEST (solves_without_a_schema)
{
    uint8_t none[DT_DIGEST_BYTES], again[DT_DIGEST_BYTES];

    snprintf (profiler, sizeof profiler, "/nonexistent/detent-profiler");
    rig_start (&rig, DETENTD, workers);
    solve_key (0, none);
    use_backend ("detent-backend-host");
    solve_key (1, again);
    ck_assert_mem_eq (none, again, sizeof none);
    rig_logged (&rig, "backend host is not known");
}
END_TEST

START_TEST (solves_refused_by_the_schema)
{
    const char *build = getenv ("top_builddir");
    struct dt_err err = { "" };
    Detent__Reply *reply;

    snprintf (profiler, sizeof profiler, "%s/detent-profiler", build ? build : ".");
    use_backend ("backend-strict");
    rig_start (&rig, DETENTD, workers);
    ck_assert_int_eq (call_solve (NULL, NULL, &reply, &err), -DT_EINPUT);
    ck_assert_str_eq (err.text, "site decoder of family attention: attention.py says that field "
                                "\"tile_m\" is free, and the backend that output bits depend on "
                                "it");
    ck_assert_int_eq (call_pins ("host-small", &reply, &err), -DT_ENOTFOUND);
}
END_TEST

START_TEST (refused_solves)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;

    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (call_solve ("name: [", NULL, &reply, &err), -DT_EINPUT);
    ck_assert_msg (strstr (err.text, "host-small.yaml:"), "%s", err.text);
    ck_assert_int_eq (call_solve ("", NULL, &reply, &err), -DT_EINPUT);
    ck_assert_int_eq (call_solve (NULL, "def choose(:\n", &reply, &err), -DT_ESYNTAX);
    ck_assert_msg (strstr (err.text, "attention.py:1"), "%s", err.text);
    ck_assert_int_eq (call_solve (NULL, "", &reply, &err), -DT_ENOTFOUND); /* not sent */
    ck_assert_msg (strstr (err.text, "attention.py"), "%s", err.text);
    ck_assert_int_eq (call_pins ("host-small", &reply, &err), -DT_ENOTFOUND);
}
END_TEST

START_TEST (ended_jobs)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;

    rig_seed (&rig, "dep", "chat", 1, 0, "", 100);
    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (rig_list_jobs (&rig, &reply, &err), 0);
    ck_assert_uint_eq (reply->job_list->n_job, 1);
    ck_assert_str_eq (reply->job_list->job[0]->state, "done");
    rig_reply_free (reply);
    ck_assert_int_eq (rig_attach (&rig, 1, &reply, &err), 0);
    ck_assert_str_eq (reply->job->workload, "chat");
    rig_reply_free (reply);
    ck_assert_int_eq (rig_attach (&rig, 9, &reply, &err), -DT_ENOTFOUND);
    ck_assert_int_eq (rig_attach (&rig, 0, &reply, &err), -DT_ENOTFOUND);
    ck_assert_int_eq (rig_cancel (&rig, 1, &reply, &err), -DT_ENOTFOUND);
}
END_TEST

/* --- what is no good request -------------------------------------------------*/

static void *raw_socket (void *ctx)
{
    int timeout_ms = 2000, none = 0;
    void *s = zmq_socket (ctx, ZMQ_DEALER);

    ck_assert (s);
    zmq_setsockopt (s, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_setsockopt (s, ZMQ_LINGER, &none, sizeof none);
    ck_assert_int_eq (zmq_connect (s, rig.endpoint), 0);
    return s;
}

/* The code of the error reply to a frame, 0 for another reply, -1 for none. */
static int raw_call (void *s, const void *data, size_t n)
{
    uint8_t buf[65536];
    Detent__Reply *reply;
    int got, code;

    zmq_send (s, data, n, 0);
    if ((got = zmq_recv (s, buf, sizeof buf, 0)) < 0)
        return -1;
    ck_assert_int_le (got, (int)sizeof buf);
    reply = detent__reply__unpack (NULL, (size_t)got, buf);
    ck_assert (reply);
    code = reply->body_case == DETENT__REPLY__BODY_ERROR ? reply->error->code : 0;
    rig_reply_free (reply);
    return code;
}

static size_t pack_log (uint8_t *buf, uint32_t version, const char *deployment)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__LogRequest log = DETENT__LOG_REQUEST__INIT;

    rq.id = 5;
    rq.version = version;
    rq.body_case = DETENT__REQUEST__BODY_LOG;
    rq.log = &log;
    log.deployment = (char *)deployment;
    return detent__request__pack (&rq, buf);
}

START_TEST (malformed_frames)
{
    static const uint8_t no_body[] = { 0x08, 5, 0x10, 1 };
    static const uint8_t unknown[] = { 0x08, 5, 0x10, 1, 0xfa, 0x07, 0 };     /* field 127 */
    static const uint8_t too_long[] = { 0x08, 5, 0x10, 1, 0xa2, 0x01, 0xff, 0xff, 0xff, 0x7f };
    static const uint8_t no_version[] = { 0x08, 5, 0x52, 0 };
    uint8_t buf[512];
    void *ctx = zmq_ctx_new (), *s;
    size_t n;

    rig_start (&rig, DETENTD, NULL);
    s = raw_socket (ctx);
    ck_assert_int_eq (raw_call (s, buf, pack_log (buf, 1, NULL)), 0);
    ck_assert_int_eq (raw_call (s, buf, pack_log (buf, 2, NULL)), DT_EVERSION);
    ck_assert_int_eq (raw_call (s, buf, pack_log (buf, 1, "Not A Name")), DT_EINPUT);
    ck_assert_int_eq (raw_call (s, no_body, sizeof no_body), ENOSYS);
    ck_assert_int_eq (raw_call (s, unknown, sizeof unknown), ENOSYS);
    ck_assert_int_eq (raw_call (s, too_long, sizeof too_long), DT_EINPUT);
    ck_assert_int_eq (raw_call (s, no_version, sizeof no_version), DT_EINPUT);
    n = pack_log (buf, 1, "a-name");
    buf[n - 2] = 0; /* a zero byte inside a string */
    ck_assert_int_eq (raw_call (s, buf, n), DT_EINPUT);
    /* an empty frame, and one in two parts, are dropped: the next is answered */
    zmq_send (s, "", 0, 0);
    zmq_send (s, buf, 3, ZMQ_SNDMORE);
    zmq_send (s, buf, 3, 0);
    ck_assert_int_eq (raw_call (s, buf, pack_log (buf, 1, NULL)), 0);
    zmq_close (s);
    zmq_ctx_term (ctx);
}
END_TEST

/* Valid requests with bytes changed, cut or added: an error, an answer or silence,
 * and the daemon lives. */
START_TEST (mutated_frames)
{
    struct dt_buf trace = { 0 };
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__TraceSubmitRequest t = DETENT__TRACE_SUBMIT_REQUEST__INIT;
    void *ctx = zmq_ctx_new (), *s;
    uint64_t random = 88172645463325252u;
    uint8_t *valid, *buf;
    size_t n;

    rig_start (&rig, DETENTD, NULL);
    s = raw_socket (ctx);
    rig_trace (1, &trace);
    rq.id = 300;
    rq.version = 1;
    rq.body_case = DETENT__REQUEST__BODY_TRACE_SUBMIT;
    rq.trace_submit = &t;
    t.workload = (char *)"chat";
    t.trace = (ProtobufCBinaryData){ .len = trace.len, .data = trace.data };
    n = detent__request__get_packed_size (&rq);
    valid = dt_calloc (n, 1);
    buf = dt_calloc (n + 16, 1);
    detent__request__pack (&rq, valid);
    for (int i = 0; i < 200; i++) {
        size_t len = n;

        memcpy (buf, valid, n);
        for (int k = 0; k <= i % 4; k++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            /* half of them in the first bytes, where the structure is */
            buf[(random >> 8) % (i & 1 ? n : 16)] = (uint8_t)random;
        }
        if (i % 5 == 0)
            len = (random >> 20) % (n + 16);
        zmq_send (s, buf, len, 0);
    }
    zmq_close (s);
    rig_reply_free (ask_status ());
    ck_assert_int_eq (waitpid (rig.pid, NULL, WNOHANG), 0);
    ck_assert_int_eq (rig_stop (&rig), 0);
    dt_free (valid);
    dt_free (buf);
    dt_buf_done (&trace);
    zmq_ctx_term (ctx);
}
END_TEST

/* A client asks for a lot and reads nothing: others are served. */
START_TEST (a_client_that_never_reads)
{
    int small = 1, none = 0;
    void *ctx = zmq_ctx_new (), *s = zmq_socket (ctx, ZMQ_DEALER);
    uint8_t buf[64];
    size_t n = pack_log (buf, 1, NULL);
    struct dt_digest tuple = rig_seed (&rig, "dep", "chat", 1, 0, "", 100000);
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__FetchRequest f = DETENT__FETCH_REQUEST__INIT;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    uint64_t start;

    rig_start (&rig, DETENTD, NULL);
    ck_assert_int_eq (rig_commit (&rig, "dep", "chat", &tuple, 0, NULL, &reply, &err), 0);
    rig_reply_free (reply);
    zmq_setsockopt (s, ZMQ_RCVHWM, &small, sizeof small);
    zmq_setsockopt (s, ZMQ_LINGER, &none, sizeof none);
    ck_assert_int_eq (zmq_connect (s, rig.endpoint), 0);
    rq.id = 9;
    rq.version = 1;
    rq.body_case = DETENT__REQUEST__BODY_FETCH;
    rq.fetch = &f;
    f.deployment = (char *)"dep";
    f.workload = (char *)"chat";
    n = detent__request__pack (&rq, buf);
    for (int i = 0; i < 1000; i++)
        zmq_send (s, buf, n, 0);
    start = dt_time_mono_ns ();
    for (int i = 0; i < 20; i++)
        rig_reply_free (ask_status ());
    ck_assert_uint_lt (dt_time_mono_ns () - start, 10000000000ull);
    zmq_close (s);
    zmq_ctx_term (ctx);
}
END_TEST

START_TEST (two_clients_at_once)
{
    struct dt_digest tuple = rig_seed (&rig, "dep", "chat", 1, 0, "", 100);
    void *ctx = zmq_ctx_new (), *a, *b;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    uint8_t buf[64];

    rig_start (&rig, DETENTD, NULL);
    a = raw_socket (ctx);
    b = raw_socket (ctx);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq (raw_call (a, buf, pack_log (buf, 1, NULL)), 0);
        ck_assert_int_eq (raw_call (b, buf, pack_log (buf, 1, NULL)), 0);
        ck_assert_int_eq (rig_commit (&rig, "dep", "chat", &tuple, 0, NULL, &reply, &err), 0);
        ck_assert_uint_eq (reply->commit->commit->sequence, (uint64_t)i + 1);
        rig_reply_free (reply);
    }
    zmq_close (a);
    zmq_close (b);
    zmq_ctx_term (ctx);
}
END_TEST

START_TEST (events)
{
    struct dt_digest tuple = rig_seed (&rig, "dep", "chat", 1, 0, "", 100);
    char *endpoint = dt_strf ("ipc://%s/detentd.pub", rig.runtime);
    void *ctx = zmq_ctx_new (), *s = zmq_socket (ctx, ZMQ_SUB);
    int timeout_ms = 100;
    struct dt_err err = { "" };
    Detent__Reply *reply;
    uint8_t buf[4096];
    int got = -1;

    rig_start (&rig, DETENTD, NULL);
    zmq_setsockopt (s, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_setsockopt (s, ZMQ_SUBSCRIBE, "commit", 6);
    ck_assert_int_eq (zmq_connect (s, endpoint), 0);
    for (int i = 0; i < 50 && got < 0; i++) { /* subscribing takes a moment */
        ck_assert_int_eq (rig_commit (&rig, "dep", "chat", &tuple, 0, NULL, &reply, &err), 0);
        rig_reply_free (reply);
        got = zmq_recv (s, buf, sizeof buf, 0);
    }
    ck_assert_int_eq (got, 6);
    got = zmq_recv (s, buf, sizeof buf, 0);
    ck_assert_int_gt (got, 0);
    reply = detent__reply__unpack (NULL, (size_t)got, buf);
    ck_assert_str_eq (reply->commit->commit->author, "me");
    rig_reply_free (reply);
    zmq_close (s);
    zmq_ctx_term (ctx);
    dt_free (endpoint);
}
END_TEST

/* --- starting -----------------------------------------------------------------*/

/* Start a second one that must refuse; what it said is in the log's tail. */
static void refused (const char *const *extra, const char *text)
{
    struct dt_buf log = { 0 };
    int status;
    pid_t pid;

    unlink (rig.log);
    pid = rig_spawn (&rig, DETENTD, extra);
    ck_assert_int_eq (waitpid (pid, &status, 0), pid);
    ck_assert (WIFEXITED (status));
    ck_assert_int_ne (WEXITSTATUS (status), 0);
    ck_assert_int_eq (dt_file_read (rig.log, 1 << 20, &log, NULL), 0);
    ck_assert_msg (strstr (dt_buf_str (&log), text), "%s", dt_buf_str (&log));
    ck_assert_ptr_eq (strchr (dt_buf_str (&log), '\n'), dt_buf_str (&log) + log.len - 1);
    dt_buf_done (&log);
}

START_TEST (a_second_daemon_is_refused)
{
    rig_start (&rig, DETENTD, NULL);
    refused (NULL, "another detentd");
    rig_reply_free (ask_status ()); /* the first serves on */
}
END_TEST

START_TEST (endpoints_that_are_refused)
{
    char file[100], other[128], longest[200];
    const char *extra[] = { "--endpoint", NULL, NULL };
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct stat st;
    FILE *f;
    int fd;

    extra[1] = "tcp://127.0.0.1:5555";
    refused (extra, "CURVE");
    extra[1] = "ipc://relative";
    refused (extra, "absolute path");
    snprintf (longest, sizeof longest, "ipc://%s/%0*d", rig.dir, 120, 0);
    extra[1] = longest;
    refused (extra, "107");
    /* a regular file is left alone */
    snprintf (file, sizeof file, "%s/file", rig.dir);
    ck_assert ((f = fopen (file, "w")));
    fclose (f);
    snprintf (other, sizeof other, "ipc://%s", file);
    extra[1] = other;
    refused (extra, "no socket");
    ck_assert_int_eq (stat (file, &st), 0);
    ck_assert (S_ISREG (st.st_mode));
    /* so is one that somebody listens on */
    unlink (file);
    memcpy (at.sun_path, file, strlen (file) + 1);
    fd = socket (AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq (bind (fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq (listen (fd, 1), 0);
    refused (extra, "another process listens");
    close (fd); /* and now it is stale: replaced */
    snprintf (rig.endpoint, sizeof rig.endpoint, "ipc://%s", file);
    rig_start (&rig, DETENTD, extra);
}
END_TEST

START_TEST (directories_that_are_refused)
{
    mkdir (rig.state, 0755);
    chmod (rig.state, 0755);
    refused (NULL, "others may enter");
    chmod (rig.state, 0700);
    {
        char *key = dt_strf ("%s/node.key", rig.state);

        ck_assert_int_eq (dt_file_replace (key, "short", 5, 0600, NULL), 0);
        refused (NULL, "not a signing key");
        ck_assert_int_eq (dt_file_replace (key, "01234567890123456789012345678901", 32, 0644,
                                           NULL), 0);
        refused (NULL, "0600");
        dt_free (key);
    }
}
END_TEST

#ifdef HAVE_SYSTEMD
/* What systemd would be told, up to the message that starts with `want`. */
static void expect_notice (int fd, const char *want)
{
    char text[512];
    ssize_t n;

    do {
        n = recv (fd, text, sizeof text - 1, 0);
        ck_assert_int_gt (n, 0);
        text[n] = '\0';
    } while (strncmp (text, want, strlen (want)) != 0);
}

START_TEST (tells_systemd)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct timeval timeout = { .tv_sec = 10 };
    int fd = socket (AF_UNIX, SOCK_DGRAM, 0);

    snprintf (at.sun_path, sizeof at.sun_path, "%s/notify", rig.dir);
    ck_assert_int_eq (bind (fd, (struct sockaddr *)&at, sizeof at), 0);
    setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setenv ("NOTIFY_SOCKET", at.sun_path, 1);
    setenv ("WATCHDOG_USEC", "200000", 1);
    rig_start (&rig, DETENTD, NULL);
    expect_notice (fd, "READY=1");
    expect_notice (fd, "WATCHDOG=1"); /* twice: from the idle loop */
    expect_notice (fd, "WATCHDOG=1");
    ck_assert_int_eq (rig_stop (&rig), 0);
    expect_notice (fd, "STOPPING=1");
    unsetenv ("NOTIFY_SOCKET");
    unsetenv ("WATCHDOG_USEC");
    close (fd);
}
END_TEST
#endif

/* The key, and with it the signer, stays. */
START_TEST (starts_again_after_kill)
{
    uint8_t signer[32];
    Detent__Reply *reply;

    rig_start (&rig, DETENTD, NULL);
    reply = ask_status ();
    memcpy (signer, reply->status->signer.data, 32);
    rig_reply_free (reply);
    kill (rig.pid, SIGKILL);
    rig_wait (&rig);
    rig_start (&rig, DETENTD, NULL); /* over its stale sockets and lock */
    reply = ask_status ();
    ck_assert_mem_eq (reply->status->signer.data, signer, 32);
    rig_reply_free (reply);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("detentd/daemon");
    TCase *tc = tcase_create ("daemon");

    tcase_set_timeout (tc, 120);
    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_add_test (tc, tells_its_status);
    tcase_add_test (tc, traces);
    tcase_add_test (tc, a_chain_of_commits);
    tcase_add_test (tc, refused_commits);
    tcase_add_test (tc, one_tuple_of_two_workloads);
    tcase_add_test (tc, solves);
    tcase_add_loop_test (tc, solves_again_when_the_cache_is_damaged, 0, DT_ARRAY_SIZE (damages));
    tcase_add_loop_test (tc, counts_again_when_a_standing_is_damaged, 0, DT_ARRAY_SIZE (damages));
    tcase_add_test (tc, known_solves_write_nothing);
    tcase_add_test (tc, keys_hold_the_backends_schema);
    tcase_add_test (tc, solves_without_a_schema);
    tcase_add_test (tc, solves_refused_by_the_schema);
    tcase_add_test (tc, refused_solves);
    tcase_add_test (tc, ended_jobs);
    tcase_add_test (tc, malformed_frames);
    tcase_add_test (tc, mutated_frames);
    tcase_add_test (tc, a_client_that_never_reads);
    tcase_add_test (tc, two_clients_at_once);
    tcase_add_test (tc, events);
    tcase_add_test (tc, a_second_daemon_is_refused);
    tcase_add_test (tc, endpoints_that_are_refused);
    tcase_add_test (tc, directories_that_are_refused);
#ifdef HAVE_SYSTEMD
    tcase_add_test (tc, tells_systemd);
#endif
    tcase_add_test (tc, starts_again_after_kill);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
