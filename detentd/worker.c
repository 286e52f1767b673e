/* detentd/worker.c - one detent-profiler process. */
#include <config.h> /* posix_spawn_file_actions_addclosefrom_np */

#include "detentd/worker.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "proto/frame.h"
#include "proto/wire.h"

#define WORKER_FD 3
/* To exit by itself once its socket is closed: a group's other ranks have a second of it, and
 * one that is killed leaves them on their devices for a moment. */
#define GRACE_MS 2000

struct dt_worker {
    int fd;
    pthread_mutex_t lock;
    pid_t pid;  /* 0: reaped */
    int status; /* of waitpid */
    int killed; /* by dt_worker_kill */
};

/* Of the daemon's environment a worker gets what finds its libraries and its GPU, and
 * nothing else: "NAME" or "PREFIX_". */
static const char *const passed[] = {
    "PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "CUDA_", "NCCL_", "DETENT_CUDA_",
};

static int is_passed (const char *variable)
{
    size_t name = strcspn (variable, "=");

    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        size_t n = strlen (passed[i]);

        if (strncmp (variable, passed[i], n) == 0 && (n == name || passed[i][n - 1] == '_'))
            return 1;
    }
    return 0;
}

/* What of `environ` is passed, and LC_ALL; the strings are borrowed. */
static char **worker_environment (void)
{
    size_t n = 0, i;
    char **env;

    for (i = 0; environ[i]; i++)
        n += (size_t)is_passed (environ[i]);
    if (!(env = dt_calloc (n + 2, sizeof *env)))
        return NULL;
    for (n = 0, i = 0; environ[i]; i++)
        if (is_passed (environ[i]))
            env[n++] = environ[i];
    env[n] = (char *)"LC_ALL=C.UTF-8";
    return env;
}

static int ascending (const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The child's files: the standard ones, its socket, and behind it what it keeps.  Taken in
 * ascending order, each is at least the number that it moves to, so that none is
 * overwritten before its turn. */
static int give_files (posix_spawn_file_actions_t *files, int fd, const int *keep, size_t n_keep)
{
    int sorted[DT_WORKER_MAX_KEPT], r;

    assert (n_keep <= DT_WORKER_MAX_KEPT);
    for (size_t i = 0; i < n_keep; i++)
        sorted[i] = keep[i];
    qsort (sorted, n_keep, sizeof *sorted, ascending);
    r = posix_spawn_file_actions_adddup2 (files, fd, WORKER_FD);
    for (size_t i = 0; r == 0 && i < n_keep; i++) {
        assert (sorted[i] >= DT_WORKER_LEAST_KEPT);
        r = posix_spawn_file_actions_adddup2 (files, sorted[i], WORKER_FD + 1 + (int)i);
    }
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np (files, WORKER_FD + 1 + (int)n_keep);
    return r;
}

/* The child starts with no signal blocked or ignored. */
static int spawn (const char *profiler, int fd, const int *keep, size_t n_keep, pid_t *ret)
{
    char *argv[] = { (char *)"detent-profiler", NULL };
    char **env = worker_environment ();
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    int r;

    if (!env)
        return -ENOMEM;
    sigemptyset (&none);
    sigfillset (&all);
    posix_spawnattr_init (&how);
    posix_spawnattr_setflags (&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask (&how, &none);
    posix_spawnattr_setsigdefault (&how, &all);
    posix_spawn_file_actions_init (&files);
    r = give_files (&files, fd, keep, n_keep);
    if (r == 0)
        r = posix_spawn (ret, profiler, &files, &how, argv, env);
    posix_spawn_file_actions_destroy (&files);
    posix_spawnattr_destroy (&how);
    dt_free (env);
    return -r;
}

int dt_worker_new (const char *profiler, const int *keep, size_t n_keep, struct dt_worker **ret,
                   struct dt_err *reterr)
{
    struct dt_worker *w = dt_calloc (1, sizeof *w);
    int pair[2], r;

    if (!w)
        return dt_err_nomem (reterr);
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        r = dt_err_set (reterr, -errno, "worker: socketpair: %m");
        dt_free (w);
        return r;
    }
    r = spawn (profiler, pair[1], keep, n_keep, &w->pid);
    close (pair[1]);
    if (r < 0) {
        close (pair[0]);
        dt_free (w);
        return dt_err_set (reterr, -DT_EWORKER, "start worker %s: %s", profiler, strerror (-r));
    }
    w->fd = pair[0];
    pthread_mutex_init (&w->lock, NULL);
    *ret = w;
    return 0;
}

void dt_worker_kill (struct dt_worker *w)
{
    pthread_mutex_lock (&w->lock);
    if (w->pid > 0) {
        w->killed = 1;
        kill (w->pid, SIGKILL);
    }
    pthread_mutex_unlock (&w->lock);
}

/* Wait for its end.  The lock keeps a kill from reaching a pid that is reaped, and
 * is not held while waiting: the child stays a zombie until it is. */
static void reap (struct dt_worker *w)
{
    siginfo_t info;

    while (waitid (P_PID, (id_t)w->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock (&w->lock);
    waitpid (w->pid, &w->status, 0);
    w->pid = 0;
    pthread_mutex_unlock (&w->lock);
}

/* It closed its socket or hangs: the text of the error says how it ended. */
static int dead (struct dt_worker *w, int code, int deadline_ms, const char *doing,
                 struct dt_err *reterr)
{
    if (w->pid > 0) {
        kill (w->pid, SIGKILL); /* one that is exiting keeps its own status */
        reap (w);
    }
    if (code == -ETIMEDOUT)
        return dt_err_set (reterr, -DT_EWORKER, "worker did not answer in %d s and was killed "
                           "while running %s", deadline_ms / 1000, doing);
    if (WIFSIGNALED (w->status))
        return dt_err_set (reterr, -DT_EWORKER, "worker died on signal %d while running %s",
                           WTERMSIG (w->status), doing);
    return dt_err_set (reterr, -DT_EWORKER, "worker exited with code %d while running %s",
                       WEXITSTATUS (w->status), doing);
}

/* The worker's own text names the call. */
static int check (Detent__WorkerReply *reply, struct dt_err *reterr)
{
    if (reply->body_case != DETENT__WORKER_REPLY__BODY_ERROR)
        return 0;
    /* A code that is no error would read as success. */
    return dt_err_set (reterr, reply->error->code > 0 ? -reply->error->code : -DT_EWORKER,
                       "%s", reply->error->text);
}

int dt_worker_deadline_ms (const Detent__WorkerRequest *rq)
{
    uint32_t times = 1;

    if (rq->body_case == DETENT__WORKER_REQUEST__BODY_BATCH)
        times = (rq->batch->repeats + DT_WORKER_REPEATS - 1) / DT_WORKER_REPEATS;
    else if (rq->body_case == DETENT__WORKER_REQUEST__BODY_OPEN && rq->open->ranks > 1)
        times = 2; /* rank 0 opens its device, and then all the others theirs */
    return DT_WORKER_DEADLINE_MS * (int)times;
}

int dt_worker_call (struct dt_worker *w, const Detent__WorkerRequest *rq, const char *doing,
                    Detent__WorkerReply **ret, struct dt_err *reterr)
{
    size_t n = detent__worker_request__get_packed_size (rq);
    Detent__WorkerReply *reply;
    struct dt_buf in = { 0 };
    int deadline_ms = dt_worker_deadline_ms (rq), r;
    uint8_t *out;

    if (w->pid == 0)
        return dt_err_set (reterr, -DT_EWORKER, "the worker has ended");
    if (!(out = dt_calloc (n, 1)))
        return dt_err_nomem (reterr);
    detent__worker_request__pack (rq, out);
    r = dt_frame_write (w->fd, out, n, deadline_ms, reterr);
    dt_free (out);
    if (r == 0)
        r = dt_frame_read (w->fd, deadline_ms, &in, reterr);
    if (r == -DT_EWORKER || r == -ETIMEDOUT)
        r = dead (w, r, deadline_ms, doing, reterr);
    else if (r == -DT_ELIMIT) /* whatever it wrote, nobody gave it as input */
        r = dt_err_set (reterr, -DT_EWORKER, "%s: the worker's reply is malformed", doing);
    if (r < 0)
        goto fail;
    if (!(reply = detent__worker_reply__unpack (&dt_wire_allocator, in.len, in.data))) {
        r = dt_err_set (reterr, -DT_EWORKER, "%s: the worker's reply is malformed", doing);
        goto fail;
    }
    if ((r = check (reply, reterr)) == 0)
        *ret = reply;
    else
        detent__worker_reply__free_unpacked (reply, NULL);
fail:
    dt_buf_done (&in);
    return r;
}

/* Its exit closes its end of the pair, which poll sees on ours. */
static void wait_for_exit (struct dt_worker *w)
{
    struct pollfd fd = { .fd = w->fd, .events = POLLIN };

    shutdown (w->fd, SHUT_WR);
    poll (&fd, 1, GRACE_MS);
    kill (w->pid, SIGKILL); /* nothing happens to one that has exited */
    reap (w);
}

struct dt_worker *dt_worker_free (struct dt_worker *w)
{
    if (!w)
        return NULL;
    if (w->pid > 0)
        wait_for_exit (w);
    close (w->fd);
    pthread_mutex_destroy (&w->lock);
    dt_free (w);
    return NULL;
}
