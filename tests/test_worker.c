/* profiler/: the real worker program over its socket, with a backend that works
 * and two that fail. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "proto/detent.pb-c.h"
#include "proto/frame.h"

static pid_t pid;
static int fd;

static const char *built (const char *name)
{
    static char path[4096];
    const char *top = getenv ("top_builddir");

    snprintf (path, sizeof path, "%s/%s", top ? top : ".", name);
    return path;
}

static void start (void)
{
    char program[4096], *argv[] = { program, NULL }, *env[] = { NULL };
    posix_spawn_file_actions_t actions;
    int pair[2];

    snprintf (program, sizeof program, "%s", built ("detent-profiler"));
    ck_assert_int_eq (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_adddup2 (&actions, pair[1], 3);
    ck_assert_int_eq (posix_spawn (&pid, program, &actions, NULL, argv, env), 0);
    posix_spawn_file_actions_destroy (&actions);
    close (pair[1]);
    fd = pair[0];
}

/* Closes the socket and returns how the worker ended. */
static int stop (void)
{
    int status;

    close (fd);
    ck_assert_int_eq (waitpid (pid, &status, 0), pid);
    return status;
}

static void send_request (const Detent__WorkerRequest *rq)
{
    size_t n = detent__worker_request__get_packed_size (rq);
    uint8_t *data = malloc (n);
    struct dt_err err = { "" };

    detent__worker_request__pack (rq, data);
    ck_assert_msg (dt_frame_write (fd, data, n, 5000, &err) == 0, "%s", err.text);
    free (data);
}

static Detent__WorkerReply *receive (void)
{
    struct dt_buf frame;
    struct dt_err err = { "" };
    Detent__WorkerReply *rp;

    dt_buf_init (&frame);
    ck_assert_msg (dt_frame_read (fd, 20000, &frame, &err) == 0, "%s", err.text);
    rp = detent__worker_reply__unpack (NULL, frame.len, frame.data);
    ck_assert_ptr_nonnull (rp);
    dt_buf_done (&frame);
    return rp;
}

static Detent__WorkerReply *open_ranks (const char *path, uint32_t ranks)
{
    Detent__WorkerOpen open = DETENT__WORKER_OPEN__INIT;
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;

    open.backend = (char *)path;
    open.units = 2;
    open.has_ranks = ranks > 1;
    open.ranks = ranks;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_OPEN;
    rq.open = &open;
    send_request (&rq);
    return receive ();
}

static Detent__WorkerReply *open_backend (const char *path)
{
    return open_ranks (path, 1);
}

struct named {
    const char *name;
    int64_t value;
};
static const struct named facts[] = {
    { "head_dim", 64 }, { "q_heads", 4 }, { "kv_heads", 2 }, { "page_size", 16 },
    { "bf16", 0 }, { "output_bf16", 0 }, { "max_context", 4096 }, { "max_batch", 8 },
    { "max_query", 64 }, { "ranks", 2 }, { "of_no_interest", 1 },
};

/* A call of two decode requests; `drop` names a fact or parameter to leave out. */
static void send_call (int measure, int64_t stride, uint32_t repeats, const char *drop)
{
    struct named given[] = { { "block_n", 64 }, { "split_stride", stride }, { "tile_m", 4 },
                             { "workers_per_request", 1 } };
    Detent__WorkerParam storage[16], *fact[16], *param[16];
    int64_t request[] = { 1, 700, 1, 33 };
    uint64_t seed[] = { 7, 8 };
    Detent__WorkerCall call = DETENT__WORKER_CALL__INIT;
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    size_t used = 0;

    call.fact = fact;
    call.param = param;
    for (size_t i = 0; i < DT_ARRAY_SIZE (facts) + DT_ARRAY_SIZE (given); i++) {
        int is_fact = i < DT_ARRAY_SIZE (facts);
        const struct named *n = is_fact ? &facts[i] : &given[i - DT_ARRAY_SIZE (facts)];
        Detent__WorkerParam *p = &storage[used];

        if (drop && strcmp (drop, n->name) == 0)
            continue;
        detent__worker_param__init (p);
        p->name = (char *)n->name;
        p->one = n->value;
        if (is_fact)
            fact[call.n_fact++] = p;
        else
            param[call.n_param++] = p;
        used++;
    }
    call.family = (char *)"attention";
    call.requests = 2;
    call.request = request;
    call.n_request = 4;
    call.seed = seed;
    call.n_seed = 2;
    call.repeats = repeats;
    rq.body_case = measure ? DETENT__WORKER_REQUEST__BODY_MEASURE
                           : DETENT__WORKER_REQUEST__BODY_PLAN;
    if (measure)
        rq.measure = &call;
    else
        rq.plan = &call;
    send_request (&rq);
}

static void expect_error (Detent__WorkerReply *rp, int code, const char *text)
{
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_ERROR);
    ck_assert_msg (rp->error->code == code, "%d: %s", rp->error->code, rp->error->text);
    ck_assert_msg (strstr (rp->error->text, text) != NULL, "'%s' lacks '%s'", rp->error->text,
                   text);
    detent__worker_reply__free_unpacked (rp, NULL);
}

static void expect_open (const char *path)
{
    Detent__WorkerReply *rp = open_backend (path);

    ck_assert_msg (rp->body_case == DETENT__WORKER_REPLY__BODY_IDENTITY, "%s",
                   rp->body_case == DETENT__WORKER_REPLY__BODY_ERROR ? rp->error->text : "?");
    detent__worker_reply__free_unpacked (rp, NULL);
}

START_TEST (measures_the_host)
{
    Detent__WorkerReply *rp;

    start ();
    expect_open (built (".libs/detent-backend-host.so"));
    send_call (0, 256, 1, NULL);
    rp = receive ();
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_PLAN);
    detent__worker_reply__free_unpacked (rp, NULL);
    send_call (1, 256, 3, NULL);
    rp = receive ();
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_TIMES);
    ck_assert_uint_eq (rp->times->n_ns, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_gt (rp->times->ns[i], 0);
    detent__worker_reply__free_unpacked (rp, NULL);
    ck_assert_int_eq (stop (), 0);
}
END_TEST

START_TEST (refuses_and_goes_on)
{
    start ();
    send_call (1, 256, 1, NULL);
    expect_error (receive (), DT_EINPUT, "no backend is open");
    expect_error (open_backend ("relative.so"), DT_EINPUT, "not an absolute path");
    expect_error (open_backend ("/nonexistent.so"), ENOENT, "cannot be loaded");
    expect_open (built (".libs/detent-backend-host.so"));
    send_call (1, 256, 1, "head_dim");
    expect_error (receive (), DT_EINPUT, "head_dim");
    send_call (1, 256, 1, "block_n");
    expect_error (receive (), DT_EINPUT, "block_n");
    send_call (1, 300, 1, NULL);
    expect_error (receive (), EINVAL, "split_stride=300");
    send_call (1, 256, 0, NULL);
    expect_error (receive (), DT_EINPUT, "0 repeats");
    send_call (0, 256, 1, NULL);
    detent__worker_reply__free_unpacked (receive (), NULL);
    ck_assert_int_eq (stop (), 0);
}
END_TEST

START_TEST (answers_garbage)
{
    struct dt_err err = { "" };

    start ();
    ck_assert_int_eq (dt_frame_write (fd, "\xff\xff\xff", 3, 5000, &err), 0);
    expect_error (receive (), DT_EINPUT, "not a worker request");
    ck_assert_int_eq (dt_frame_write (fd, "", 0, 5000, &err), 0);
    expect_error (receive (), DT_EVERSION, "unknown request");
    ck_assert_int_eq (stop (), 0);
}
END_TEST

START_TEST (dies_with_its_kernel)
{
    const char *sanitizers = getenv ("SANITIZERS");
    struct dt_buf frame;
    struct dt_err err = { "" };
    int status;

    start ();
    expect_open (built (".libs/backend-crash.so"));
    send_call (1, 512, 1, NULL);
    dt_buf_init (&frame);
    ck_assert_int_eq (dt_frame_read (fd, 20000, &frame, &err), -DT_EWORKER);
    dt_buf_done (&frame);
    status = stop ();
    /* A sanitizer catches the signal, reports it and exits. */
    ck_assert (WIFSIGNALED (status)
               || (sanitizers && *sanitizers && WEXITSTATUS (status) != 0));
}
END_TEST

START_TEST (a_hung_kernel_times_out)
{
    struct dt_buf frame;
    struct dt_err err = { "" };

    start ();
    expect_open (built (".libs/backend-hang.so"));
    send_call (1, 512, 1, NULL);
    dt_buf_init (&frame);
    ck_assert_int_eq (dt_frame_read (fd, 200, &frame, &err), -ETIMEDOUT);
    dt_buf_done (&frame);
    kill (pid, SIGKILL);
    ck_assert (WIFSIGNALED (stop ()));
}
END_TEST

/* Bug log B24: times are warm, as the worker says: a backend that takes longer on operands
 * that are not where the last ones were does so once, however many repeats there are and
 * in the next request too. */
START_TEST (b24_caches_are_as_told)
{
    char dir[] = "/tmp/dt-worker-XXXXXX", plugin[64], fault[64], real[4096];
    Detent__WorkerReply *rp;
    FILE *f;

    ck_assert_ptr_nonnull (mkdtemp (dir));
    snprintf (plugin, sizeof plugin, "%s/told.so", dir);
    snprintf (fault, sizeof fault, "%s/fault", dir);
    ck_assert_ptr_nonnull (realpath (built (".libs/backend-told.so"), real));
    ck_assert_int_eq (symlink (real, plugin), 0);
    ck_assert_ptr_nonnull (f = fopen (fault, "w"));
    fputs ("cache", f);
    fclose (f);
    start ();
    rp = open_backend (plugin);
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_IDENTITY);
    ck_assert_str_eq (rp->identity->caches, "warm");
    detent__worker_reply__free_unpacked (rp, NULL);
    for (int again = 0; again < 2; again++) {
        send_call (1, again ? 512 : 256, 5, NULL); /* another assignment, the same operands */
        rp = receive ();
        ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_TIMES);
        ck_assert_uint_eq (rp->times->n_ns, 5);
        for (size_t i = 0; i < 5; i++)
            ck_assert_uint_eq (rp->times->ns[i], i == 0 && !again ? 5000 : 1000);
        detent__worker_reply__free_unpacked (rp, NULL);
    }
    ck_assert_int_eq (stop (), 0);
    unlink (plugin);
    unlink (fault);
    rmdir (dir);
}
END_TEST

START_TEST (runs_every_rank)
{
    Detent__WorkerReply *rp;

    start ();
    rp = open_ranks (built (".libs/backend-ranks.so"), 2);
    ck_assert_msg (rp->body_case == DETENT__WORKER_REPLY__BODY_IDENTITY, "%s",
                   rp->body_case == DETENT__WORKER_REPLY__BODY_ERROR ? rp->error->text : "?");
    detent__worker_reply__free_unpacked (rp, NULL);
    send_call (1, 256, 3, NULL);
    rp = receive ();
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_TIMES);
    ck_assert_uint_eq (rp->times->n_ns, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq (rp->times->ns[i], 1000 + 64 - 1); /* of rank 1, the faster one */
    detent__worker_reply__free_unpacked (rp, NULL);
    send_call (1, 512, 1, NULL);
    expect_error (receive (), DT_EWORKER, "rank 1");
    ck_assert_int_eq (stop (), 0);
}
END_TEST

/* Of one rank, the other, and one that never has a time. */
static const struct {
    int64_t stride;
    uint64_t want_ns; /* 0: an error */
} missed[] = { { 1024, 1000 + 3000 + 64 - 1 }, { 4096, 1000 + 3000 + 64 - 1 }, { 2048, 0 } };

START_TEST (missed_times_are_run_again)
{
    Detent__WorkerReply *rp;

    start ();
    detent__worker_reply__free_unpacked (open_ranks (built (".libs/backend-ranks.so"), 2), NULL);
    send_call (1, missed[_i].stride, 1, NULL);
    rp = receive ();
    if (missed[_i].want_ns) {
        ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_TIMES);
        ck_assert_uint_eq (rp->times->ns[0], missed[_i].want_ns);
        detent__worker_reply__free_unpacked (rp, NULL);
    } else
        expect_error (rp, DT_EUNTRUSTED, "5 runs in a row: run 5 gave no time");
    send_call (1, 256, 1, NULL); /* all ranks go on in step */
    rp = receive ();
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_TIMES);
    ck_assert_uint_eq (rp->times->ns[0], 1000 + 64 - 1);
    detent__worker_reply__free_unpacked (rp, NULL);
    ck_assert_int_eq (stop (), 0);
}
END_TEST

START_TEST (refuses_ranks_without_devices)
{
    start ();
    expect_error (open_ranks (built (".libs/backend-ranks.so"), 3), DT_EDEVICE, "rank 2: ");
    expect_error (open_ranks (built (".libs/backend-ranks.so"), 65), DT_EINPUT, "65 ranks");
    expect_open (built (".libs/backend-ranks.so"));
    ck_assert_int_eq (stop (), 0);
}
END_TEST

START_TEST (a_backend_without_groups_has_all_ranks)
{
    Detent__WorkerReply *rp;

    start ();
    rp = open_ranks (built (".libs/detent-backend-host.so"), 4);
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_IDENTITY);
    detent__worker_reply__free_unpacked (rp, NULL);
    ck_assert_int_eq (stop (), 0);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("profiler/worker");
    TCase *tc = tcase_create ("worker");
    SRunner *sr;
    int failed;

    tcase_set_timeout (tc, 60);
    tcase_add_test (tc, measures_the_host);
    tcase_add_test (tc, refuses_and_goes_on);
    tcase_add_test (tc, answers_garbage);
    tcase_add_test (tc, dies_with_its_kernel);
    tcase_add_test (tc, a_hung_kernel_times_out);
    tcase_add_test (tc, b24_caches_are_as_told);
    tcase_add_test (tc, runs_every_rank);
    tcase_add_loop_test (tc, missed_times_are_run_again, 0, DT_ARRAY_SIZE (missed));
    tcase_add_test (tc, refuses_ranks_without_devices);
    tcase_add_test (tc, a_backend_without_groups_has_all_ranks);
    suite_add_tcase (s, tc);
    sr = srunner_create (s);
    srunner_run_all (sr, CK_ENV);
    failed = srunner_ntests_failed (sr);
    srunner_free (sr);
    return failed != 0;
}
