/* profiler/: the real worker program over its socket, with a backend that works
 * and two that fail. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "proto/detent.pb-c.h"
#include "proto/frame.h"
#include "tests/suite.h"

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

static void send_open (const char *path, uint32_t ranks, uint32_t device)
{
    Detent__WorkerOpen open = DETENT__WORKER_OPEN__INIT;
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;

    open.backend = (char *)path;
    open.units = 2;
    open.has_ranks = ranks > 1;
    open.ranks = ranks;
    open.has_device = device != 0;
    open.device = device;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_OPEN;
    rq.open = &open;
    send_request (&rq);
}

static Detent__WorkerReply *open_ranks_at (const char *path, uint32_t ranks, uint32_t device)
{
    send_open (path, ranks, device);
    return receive ();
}

static Detent__WorkerReply *open_ranks (const char *path, uint32_t ranks)
{
    return open_ranks_at (path, ranks, 0);
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

static int64_t first_kv = 700; /* of the first request: another has other operands */

/* A call of two decode requests; `drop` names a fact or parameter to leave out. */
static void send_call (int measure, int64_t stride, uint32_t repeats, const char *drop)
{
    struct named given[] = { { "block_n", 64 }, { "split_stride", stride }, { "tile_m", 4 },
                             { "workers_per_request", 1 } };
    Detent__WorkerParam storage[16], *fact[16], *param[16];
    int64_t request[] = { 1, first_kv, 1, 33 };
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

static Detent__WorkerReply *receive_times (size_t n)
{
    Detent__WorkerReply *rp = receive ();

    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_TIMES);
    ck_assert_uint_eq (rp->times->n_ns, n);
    return rp;
}

static void expect_error (Detent__WorkerReply *rp, int code, const char *text)
{
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_ERROR);
    ck_assert_msg (rp->error->code == code, "%d: %s", rp->error->code, rp->error->text);
    ck_assert_msg (strstr (rp->error->text, text) != NULL, "'%s' lacks '%s'", rp->error->text,
                   text);
    detent__worker_reply__free_unpacked (rp, NULL);
}

static void opened (Detent__WorkerReply *rp)
{
    ck_assert_msg (rp->body_case == DETENT__WORKER_REPLY__BODY_IDENTITY, "%s",
                   rp->body_case == DETENT__WORKER_REPLY__BODY_ERROR ? rp->error->text : "?");
    detent__worker_reply__free_unpacked (rp, NULL);
}

static void expect_open (const char *path)
{
    opened (open_backend (path));
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
    rp = receive_times (3);
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

/* A plugin of the build in a folder of its own, beside which files tell it what to do. */
static struct {
    char dir[32], plugin[64];
} folder;

static void set_up (const char *library)
{
    char real[4096];

    strcpy (folder.dir, "/tmp/dt-worker-XXXXXX");
    ck_assert_ptr_nonnull (mkdtemp (folder.dir));
    snprintf (folder.plugin, sizeof folder.plugin, "%s/plugin.so", folder.dir);
    ck_assert_ptr_nonnull (realpath (built (library), real));
    ck_assert_int_eq (symlink (real, folder.plugin), 0);
}

/* NULL: it is told nothing. */
static void tell (const char *file, const char *text)
{
    char path[64];
    FILE *f;

    snprintf (path, sizeof path, "%s/%s", folder.dir, file);
    unlink (path);
    if (!text)
        return;
    ck_assert_ptr_nonnull (f = fopen (path, "w"));
    fputs (text, f);
    fclose (f);
}

static void tear_down (void)
{
    static const char *const file[] = { "fault", "fault.0", "fault.1", "fault.2", "hung" };

    for (size_t i = 0; i < DT_ARRAY_SIZE (file); i++)
        tell (file[i], NULL);
    unlink (folder.plugin);
    rmdir (folder.dir);
}

/* Times are warm, as the worker says: a backend that takes longer on operands
 * that are not where the last ones were does so once, however many repeats there are and
 * in the next request too. */
START_TEST (b24_caches_are_as_told)
{
    Detent__WorkerReply *rp;

    set_up (".libs/backend-told.so");
    tell ("fault", "cache");
    start ();
    rp = open_backend (folder.plugin);
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_IDENTITY);
    ck_assert_str_eq (rp->identity->caches, "warm");
    detent__worker_reply__free_unpacked (rp, NULL);
    for (int again = 0; again < 2; again++) {
        send_call (1, again ? 512 : 256, 5, NULL); /* another assignment, the same operands */
        rp = receive_times (5);
        for (size_t i = 0; i < 5; i++)
            ck_assert_uint_eq (rp->times->ns[i], i == 0 && !again ? 5000 : 1000);
        detent__worker_reply__free_unpacked (rp, NULL);
    }
    ck_assert_int_eq (stop (), 0);
    tear_down ();
}
END_TEST

/* A context that is to contend and finds the device lost says so, as any other would. */
/* Operands that are kept for later make room for those that are needed now. */
START_TEST (little_memory_is_enough)
{
    set_up (".libs/backend-told.so");
    tell ("fault", "room 3");
    start ();
    expect_open (folder.plugin);
    for (first_kv = 700; first_kv < 705; first_kv++) { /* and the outputs */
        send_call (1, 256, 1, NULL);
        detent__worker_reply__free_unpacked (receive_times (1), NULL);
    }
    tell ("fault", "room 1");
    first_kv = 800;
    send_call (1, 256, 1, NULL);
    expect_error (receive (), DT_EDEVICE, "no memory for 64 bytes");
    tell ("fault", "room 3");
    send_call (1, 256, 1, NULL);
    detent__worker_reply__free_unpacked (receive_times (1), NULL);
    ck_assert_int_eq (stop (), 0);
    tear_down ();
}
END_TEST

START_TEST (a_rival_keeps_its_code)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerCertify m = DETENT__WORKER_CERTIFY__INIT;
    Detent__WorkerParam p[] = { DETENT__WORKER_PARAM__INIT, DETENT__WORKER_PARAM__INIT,
                                DETENT__WORKER_PARAM__INIT };
    Detent__WorkerFree free[] = { DETENT__WORKER_FREE__INIT, DETENT__WORKER_FREE__INIT };
    Detent__WorkerParam *fact = &p[0], *param[] = { &p[1], &p[2] };
    Detent__WorkerFree *all[] = { &free[0], &free[1] };

    set_up (".libs/backend-told.so");
    start ();
    expect_open (folder.plugin);
    tell ("fault", "gone cudaErrorECCUncorrectable");
    p[0].name = (char *)"head_dim";
    p[0].one = 64;
    p[1].name = (char *)"block_n";
    p[1].one = 64;
    p[2].name = (char *)"split_stride";
    p[2].one = 256;
    free[0].name = (char *)"tile_m";
    free[1].name = (char *)"workers_per_request";
    m.family = (char *)"attention";
    m.fact = &fact;
    m.n_fact = 1;
    m.param = param;
    m.n_param = 2;
    m.free = all;
    m.n_free = 2;
    m.rivals = 1;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_CERTIFY;
    rq.certify = &m;
    send_request (&rq);
    expect_error (receive (), DT_ELOST, "beside the first: cudaErrorECCUncorrectable");
    ck_assert_int_eq (stop (), 0);
    tear_down ();
}
END_TEST

/* The names of a backend's devices, or who computes on one. */
static Detent__WorkerReply *ask_of (const char *path, uint32_t device, uint32_t ranks)
{
    Detent__WorkerDevices names = DETENT__WORKER_DEVICES__INIT;
    Detent__WorkerIdentify who = DETENT__WORKER_IDENTIFY__INIT;
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;

    names.backend = who.backend = (char *)path;
    names.has_first = who.has_device = 1;
    names.first = who.device = device;
    names.count = ranks;
    who.units = 3;
    rq.body_case = ranks ? DETENT__WORKER_REQUEST__BODY_DEVICES
                         : DETENT__WORKER_REQUEST__BODY_IDENTIFY;
    if (ranks)
        rq.devices = &names;
    else
        rq.identify = &who;
    send_request (&rq);
    return receive ();
}

START_TEST (says_who_computes_and_where)
{
    Detent__WorkerReply *rp;

    start ();
    rp = ask_of (built (".libs/detent-backend-host.so"), 0, 0);
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_IDENTITY);
    ck_assert_str_eq (rp->identity->name, "host");
    ck_assert_uint_eq (rp->identity->units, 3);
    detent__worker_reply__free_unpacked (rp, NULL);
    send_call (1, 256, 1, NULL); /* that opened nothing */
    expect_error (receive (), DT_EINPUT, "no backend is open");
    expect_error (ask_of (built (".libs/detent-backend-host.so"), 1, 0), DT_EDEVICE,
                  "no device 1");
    rp = ask_of (built (".libs/backend-told.so"), 1, 1);
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_DEVICES);
    ck_assert_uint_eq (rp->devices->n_name, 1);
    ck_assert_str_eq (rp->devices->name[0], "host-1");
    detent__worker_reply__free_unpacked (rp, NULL);
    rp = ask_of (built (".libs/backend-told.so"), 1, 4); /* its ranks are threads */
    ck_assert_uint_eq (rp->devices->devices, 1);
    detent__worker_reply__free_unpacked (rp, NULL);
    rp = ask_of (built (".libs/backend-ranks.so"), 1, 2);
    ck_assert_uint_eq (rp->devices->devices, 2);
    detent__worker_reply__free_unpacked (rp, NULL);
    expect_error (ask_of (built (".libs/backend-told.so"), 2, 1), DT_EDEVICE,
                  "no device 2; there are 2");
    ck_assert_int_eq (stop (), 0);
}
END_TEST

START_TEST (runs_every_rank)
{
    Detent__WorkerReply *rp;

    start ();
    opened (open_ranks (built (".libs/backend-ranks.so"), 2));
    send_call (1, 256, 3, NULL);
    rp = receive_times (3);
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
    rp = receive_times (1);
    ck_assert_uint_eq (rp->times->ns[0], 1000 + 64 - 1);
    detent__worker_reply__free_unpacked (rp, NULL);
    ck_assert_int_eq (stop (), 0);
}
END_TEST

/* Of a group's errors the cause is told, whichever rank has it; `want` stands in its text. */
static const struct {
    const char *what, *rank[3];
    int code;
    const char *want;
} causes[] = {
    { "another process came to rank 1's device",
      { "run 1022 rank 1 did not come", "run 16 another process", "run 1022 rank 1 did not come" },
      EBUSY, "rank 1: attention" },
    { "a slowed device", { "run 1022 rank 2 did not come", NULL, "run 1020 slowed" }, DT_EUNTRUSTED,
      "rank 2: " },
    { "a kernel", { "run 1020 slowed", "run 1022 rank 2 did not come", "run 1011 a kernel" },
      DT_EDEVICE, "a kernel" },
    { "a device is lost", { "run 16 another process", "run 1011 a kernel", "run 1021 lost" },
      DT_ELOST, "lost" },
    { "rank 0's own", { "run 1011 mine", "run 1022 rank 0 did not come", NULL }, DT_EDEVICE, "mine" },
    { "of equal ones the first", { "run 1022 rank 2 did not come", "run 16 first", "run 1011 second" },
      EBUSY, "first" },
    { "nobody knows why", { "run 11 no time", "run 1022 rank 2 did not come", NULL }, DT_EPEER,
      "rank 2 did not come" },
    { "while they open", { NULL, "open 16 another process", "open 1021 lost" }, DT_ELOST,
      "rank 2: " },
    { "while they open, and rank 0 joins", { "join 1022 rank 2 did not come", NULL, "open 1021 lost" },
      DT_ELOST, "rank 2: " },
    { "while they join", { "join 1022 rank 1 did not come", "join 1021 lost", NULL }, DT_ELOST,
      "rank 1: " },
    { "another model of device", { NULL, "who H100", NULL }, DT_EENVIRONMENT,
      "rank 1: its device is 'H100' with 1 units, and rank 0's is 'test' with 1: a group takes equal ones" },
    { "rank 0 alone does not join", { "join 1011 mine", NULL, NULL }, DT_EDEVICE, "mine" },
};

START_TEST (the_cause_is_told)
{
    Detent__WorkerReply *rp;
    char file[32];

    set_up (".libs/backend-ranks.so");
    for (int i = 0; i < 3; i++) {
        snprintf (file, sizeof file, "fault.%d", i);
        tell (file, causes[_i].rank[i]);
    }
    start ();
    rp = open_ranks (folder.plugin, 3);
    if (rp->body_case == DETENT__WORKER_REPLY__BODY_IDENTITY) {
        detent__worker_reply__free_unpacked (rp, NULL);
        send_call (1, 256, 1, NULL);
        rp = receive ();
    }
    expect_error (rp, causes[_i].code, causes[_i].want);
    stop ();
    tear_down ();
}
END_TEST

/* One of 3 ranks dies: so it is told, and the others' replies are not taken for later ones. */
START_TEST (a_dead_rank_is_told_each_time)
{
    set_up (".libs/backend-ranks.so");
    tell ("fault.0", "run 1022 rank 1 did not come");
    tell ("fault.2", "run 1022 rank 1 did not come");
    start ();
    detent__worker_reply__free_unpacked (open_ranks (folder.plugin, 3), NULL);
    send_call (1, 512, 1, NULL);
    expect_error (receive (), DT_EWORKER, "rank 1: its process died");
    tell ("fault.0", NULL);
    tell ("fault.2", NULL);
    send_call (1, 256, 1, NULL);
    expect_error (receive (), DT_EWORKER, "rank 1: its process is gone");
    tell ("fault.2", "run 1021 lost");
    send_call (1, 256, 1, NULL);
    expect_error (receive (), DT_ELOST, "rank 2: ");
    ck_assert_int_eq (stop (), 0);
    tear_down ();
}
END_TEST

/* The rank that hangs, once it does. */
static pid_t hung (void)
{
    char path[64];
    int number = 0;

    snprintf (path, sizeof path, "%s/hung", folder.dir);
    for (int turn = 0; turn < 2000 && number == 0; turn++) {
        FILE *f = fopen (path, "r");

        if (f && fscanf (f, "%d\n", &number) != 1)
            number = 0;
        if (f)
            fclose (f);
        usleep (5000);
    }
    ck_assert_int_gt (number, 0);
    return (pid_t)number;
}

/* How a process of another's ended: 1 if it did so by itself. */
static int has_ended (pid_t one)
{
    int status;

    for (int turn = 0; turn < 2000; turn++, usleep (5000))
        if (waitpid (one, &status, WNOHANG) == one)
            return 1;
    kill (one, SIGKILL);
    waitpid (one, &status, 0);
    return 0;
}

/* Nobody is left on a device: not when rank 0 is killed, nor when it gives a rank up. */
START_TEST (a_rank_that_hangs_is_ended)
{
    pid_t one;

    ck_assert_int_eq (prctl (PR_SET_CHILD_SUBREAPER, 1), 0);
    set_up (".libs/backend-ranks.so");
    tell ("fault.1", "hang");
    start ();
    if (_i == 0) {
        send_open (folder.plugin, 2, 0);
        one = hung ();
        kill (pid, SIGKILL);
        ck_assert (WIFSIGNALED (stop ()));
        ck_assert_msg (has_ended (one), "a rank outlives rank 0");
    } else {
        send_open (folder.plugin, 3, 0);
        one = hung ();
        expect_error (receive (), ETIMEDOUT, "rank 1: no answer in 12 s");
        ck_assert_int_eq (kill (one, 0), -1); /* it is reaped */
        send_open (folder.plugin, 1, 0);
        opened (receive ());
        ck_assert_int_eq (stop (), 0);
    }
    tear_down ();
}
END_TEST

static Detent__WorkerReply *ask_look (void)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerLook look = DETENT__WORKER_LOOK__INIT;

    rq.body_case = DETENT__WORKER_REQUEST__BODY_LOOK;
    rq.look = &look;
    send_request (&rq);
    return receive ();
}

static void expect_worst (const Detent__WorkerState *s)
{
    ck_assert (s->has_clock_mhz && s->has_memory_mhz && s->has_reasons && s->has_others);
    ck_assert_uint_eq (s->clock_mhz, 1200);
    ck_assert_uint_eq (s->memory_mhz, 2000);
    ck_assert_uint_eq (s->reasons, 0x4 | 0x40);
    ck_assert_uint_eq (s->others, 3);
}

/* A group's times are as good as the worst of its devices, and a look is at all of them. */
START_TEST (the_worst_device_counts)
{
    Detent__WorkerReply *rp;

    set_up (".libs/backend-ranks.so");
    tell ("fault.0", "state 1980 2619 4 0");
    tell ("fault.1", "state 1200 2619 64 3");
    tell ("fault.2", "state 1500 2000 0 1");
    start ();
    detent__worker_reply__free_unpacked (open_ranks (folder.plugin, 3), NULL);
    send_call (1, 256, 1, NULL);
    rp = receive_times (1);
    expect_worst (rp->times->state);
    detent__worker_reply__free_unpacked (rp, NULL);
    rp = ask_look ();
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_STATE);
    expect_worst (rp->state);
    detent__worker_reply__free_unpacked (rp, NULL);
    tell ("fault.1", "late 16 another process");
    tell ("fault.2", "late 1021 lost");
    expect_error (ask_look (), DT_ELOST, "rank 2: lost");
    tell ("fault.2", NULL);
    expect_error (ask_look (), EBUSY, "rank 1: another process");
    tell ("fault.1", NULL);
    rp = ask_look (); /* all ranks are in step */
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_STATE);
    ck_assert_uint_eq (rp->state->clock_mhz, 1980);
    ck_assert (rp->state->has_others && rp->state->others == 0);
    detent__worker_reply__free_unpacked (rp, NULL);
    tell ("fault.1", "state 1980 2619 4"); /* nobody that one knows of */
    rp = ask_look ();
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_STATE);
    ck_assert (!rp->state->has_others);
    detent__worker_reply__free_unpacked (rp, NULL);
    tell ("fault.2", "state 1980 2619 4 1");
    rp = ask_look ();
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_STATE);
    ck_assert (rp->state->has_others && rp->state->others == 1);
    detent__worker_reply__free_unpacked (rp, NULL);
    ck_assert_int_eq (stop (), 0);
    tear_down ();
}
END_TEST

START_TEST (refuses_ranks_without_devices)
{
    Detent__WorkerReply *rp;

    start ();
    expect_error (open_ranks (built (".libs/backend-ranks.so"), 4), DT_EDEVICE, "rank 3: ");
    expect_error (open_ranks (built (".libs/backend-ranks.so"), 65), DT_EINPUT, "65 ranks");
    rp = open_ranks_at (built (".libs/backend-ranks.so"), 2, 1); /* on the last two of three */
    ck_assert_int_eq (rp->body_case, DETENT__WORKER_REPLY__BODY_IDENTITY);
    detent__worker_reply__free_unpacked (rp, NULL);
    expect_error (open_ranks_at (built (".libs/backend-ranks.so"), 2, 2), DT_EDEVICE,
                  "rank 1: ");
    expect_error (open_ranks_at (built (".libs/backend-ranks.so"), 1, 3), DT_EDEVICE,
                  "no device 3; there are 3");
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

    tcase_set_timeout (tc, 60);
    tcase_add_test (tc, measures_the_host);
    tcase_add_test (tc, refuses_and_goes_on);
    tcase_add_test (tc, answers_garbage);
    tcase_add_test (tc, dies_with_its_kernel);
    tcase_add_test (tc, a_hung_kernel_times_out);
    tcase_add_test (tc, b24_caches_are_as_told);
    tcase_add_test (tc, little_memory_is_enough);
    tcase_add_test (tc, a_rival_keeps_its_code);
    tcase_add_test (tc, says_who_computes_and_where);
    tcase_add_test (tc, runs_every_rank);
    tcase_add_loop_test (tc, missed_times_are_run_again, 0, DT_ARRAY_SIZE (missed));
    tcase_add_loop_test (tc, the_cause_is_told, 0, DT_ARRAY_SIZE (causes));
    tcase_add_test (tc, a_dead_rank_is_told_each_time);
    tcase_add_loop_test (tc, a_rank_that_hangs_is_ended, 0, 2);
    tcase_add_test (tc, the_worst_device_counts);
    tcase_add_test (tc, refuses_ranks_without_devices);
    tcase_add_test (tc, a_backend_without_groups_has_all_ranks);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
