#include <config.h> /* posix_spawn_file_actions_addclosefrom_np */

#include "profiler/ranks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"
#include "proto/frame.h"

#define SOCKET_FD 3
#define GRACE_MS 1000 /* to exit by themselves once they are left */

extern char **environ;

struct dt_ranks {
    uint32_t ranks;
    int fd[DT_RANKS_MAX];    /* [0] is unused; -1: it is gone, or its stream out of step */
    pid_t pid[DT_RANKS_MAX];
    uint64_t deadline_ns;    /* for all replies to what was sent last */
    int failed;              /* what the last gather failed with, and why */
    struct dt_err why;
};

/* How near to the cause an error of a rank is: see dt_ranks_take. */
static int weight (int r)
{
    switch (r) {
    case 0:
        return 0;
    case -EAGAIN:
        return 1;
    case -DT_EPEER:
        return 2;
    case -ETIMEDOUT:
        return 3;
    case -DT_EUNTRUSTED:
        return 4;
    case -DT_ELOST:
        return 6;
    default:
        return 5;
    }
}

/* Of two results, the one to report. */
static int heavier (int r, int other, const struct dt_err *why, struct dt_err *reterr)
{
    if (weight (other) <= weight (r))
        return r;
    return dt_err_set (reterr, other, "%s", why->text);
}

static int spawn (int fd, pid_t *ret)
{
    char *argv[] = { (char *)"detent-profiler", NULL };
    posix_spawn_file_actions_t files;
    int r;

    posix_spawn_file_actions_init (&files);
    r = posix_spawn_file_actions_adddup2 (&files, fd, SOCKET_FD);
    if (r == 0)
        r = posix_spawn_file_actions_addclosefrom_np (&files, SOCKET_FD + 1);
    if (r == 0)
        r = posix_spawn (ret, "/proc/self/exe", &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy (&files);
    return -r;
}

/* It is out of step and asked no more; one that hangs would not see its socket close. */
static void leave (struct dt_ranks *k, uint32_t rank)
{
    if (k->pid[rank] > 0) /* 0: it did not start */
        kill (k->pid[rank], SIGKILL);
    close (k->fd[rank]);
    k->fd[rank] = -1;
}

/* To the ranks from `first` to before `end`.  One that does not take it is left, and met
 * when its reply is due. */
static int send_request (struct dt_ranks *k, uint32_t first, uint32_t end,
                         const Detent__WorkerRequest *rq, struct dt_err *reterr)
{
    size_t n = detent__worker_request__get_packed_size (rq);
    uint8_t *data = dt_calloc (n ? n : 1, 1);

    if (!data)
        return dt_err_nomem (reterr);
    detent__worker_request__pack (rq, data);
    for (uint32_t i = first; i < end; i++)
        if (k->fd[i] >= 0 && dt_frame_write (k->fd[i], data, n, DT_RANKS_DEADLINE_MS, NULL) < 0)
            leave (k, i);
    dt_free (data);
    return 0;
}

/* All ranks open at the same time, and serve a request at the same time. */
static void begin_replies (struct dt_ranks *k)
{
    k->deadline_ns = dt_time_mono_ns () + DT_RANKS_DEADLINE_MS * 1000000ull;
}

static int read_reply (struct dt_ranks *k, uint32_t rank, struct dt_buf *in, struct dt_err *reterr)
{
    int r;

    if (k->fd[rank] < 0)
        return dt_err_set (reterr, -DT_EWORKER, "its process is gone");
    if ((r = dt_frame_read (k->fd[rank], dt_time_left_ms (k->deadline_ns), in, NULL)) == 0)
        return 0;
    leave (k, rank);
    return r == -ETIMEDOUT ? dt_err_set (reterr, r, "no answer in %d s", DT_RANKS_DEADLINE_MS / 1000)
                           : dt_err_set (reterr, -DT_EWORKER, "its process died");
}

/* One reply, for the caller to free; an Error becomes the failure. */
static int take_reply (struct dt_ranks *k, uint32_t rank, Detent__WorkerReply **ret,
                       struct dt_err *reterr)
{
    Detent__WorkerReply *reply;
    struct dt_buf in = { 0 };
    int r;

    if ((r = read_reply (k, rank, &in, reterr)) < 0)
        goto fail;
    if (!(reply = detent__worker_reply__unpack (NULL, in.len, in.data))) {
        r = dt_err_set (reterr, -DT_EWORKER, "a malformed reply");
        goto fail;
    }
    if (reply->body_case == DETENT__WORKER_REPLY__BODY_ERROR) {
        r = dt_err_set (reterr, reply->error->code > 0 ? -reply->error->code : -DT_EWORKER, "%s",
                        reply->error->text);
        detent__worker_reply__free_unpacked (reply, NULL);
        goto fail;
    }
    dt_buf_done (&in);
    *ret = reply;
    return 0;
fail:
    dt_buf_done (&in);
    return dt_err_prefix (reterr, r, "rank %u", rank);
}

static int start (struct dt_ranks *k, uint32_t rank, const Detent__WorkerOpen *open,
                  struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerOpen mine = *open;
    int pair[2], r;

    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return dt_err_set (reterr, -errno, "rank %u: socketpair: %s", rank, strerror (errno));
    k->fd[rank] = pair[0];
    r = spawn (pair[1], &k->pid[rank]);
    close (pair[1]);
    if (r < 0) {
        k->pid[rank] = 0;
        return dt_err_set (reterr, -DT_EWORKER, "rank %u does not start: %s", rank, strerror (-r));
    }
    mine.has_rank = 1;
    mine.rank = rank;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_OPEN;
    rq.open = &mine;
    return send_request (k, rank, rank + 1, &rq, reterr);
}

int dt_ranks_start (const Detent__WorkerOpen *open, struct dt_ranks **ret, struct dt_err *reterr)
{
    struct dt_ranks *k;
    uint32_t i;
    int r;

    if (open->ranks < 2 || open->ranks > DT_RANKS_MAX)
        return dt_err_set (reterr, -DT_EINPUT, "%u ranks; 2 to %d are possible", open->ranks,
                           DT_RANKS_MAX);
    if (!(k = dt_calloc (1, sizeof *k)))
        return dt_err_nomem (reterr);
    k->ranks = open->ranks;
    begin_replies (k);
    for (i = 0; i < k->ranks; i++)
        k->fd[i] = -1;
    for (i = 1; i < k->ranks; i++)
        if ((r = start (k, i, open, reterr)) < 0) {
            dt_ranks_free (k);
            return r;
        }
    *ret = k;
    return 0;
}

/* Until it has closed its end of the socket, as it does when it exits. */
static void wait_for_exit (int fd, uint64_t deadline_ns)
{
    struct pollfd p = { .fd = fd };
    int r;

    do
        r = poll (&p, 1, dt_time_left_ms (deadline_ns));
    while (r < 0 && errno == EINTR);
}

struct dt_ranks *dt_ranks_free (struct dt_ranks *k)
{
    uint64_t deadline_ns = dt_time_mono_ns () + GRACE_MS * 1000000ull;
    uint32_t i;

    if (!k)
        return NULL;
    for (i = 1; i < k->ranks; i++)
        if (k->fd[i] >= 0)
            shutdown (k->fd[i], SHUT_WR);
    for (i = 1; i < k->ranks; i++)
        if (k->fd[i] >= 0) {
            wait_for_exit (k->fd[i], deadline_ns);
            leave (k, i);
        }
    for (i = 1; i < k->ranks; i++)
        while (k->pid[i] > 0 && waitpid (k->pid[i], NULL, 0) < 0 && errno == EINTR)
            ;
    dt_free (k);
    return NULL;
}

/* `mine` at its place, then every other rank's word; the weightiest error is kept. */
static int gather (struct dt_ranks *k, uint32_t rank, void *at, size_t bytes, struct dt_err *reterr)
{
    Detent__WorkerReply *reply;
    int r;

    if ((r = take_reply (k, rank, &reply, reterr)) < 0)
        return r;
    if (reply->body_case == DETENT__WORKER_REPLY__BODY_SHARE && reply->share->data.len == bytes)
        memcpy (at, reply->share->data.data, bytes);
    else
        r = dt_err_set (reterr, -DT_EWORKER, "rank %u: not its word to the others", rank);
    detent__worker_reply__free_unpacked (reply, NULL);
    return r;
}

static int share (struct dt_ranks *k, const void *all, size_t n, struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerShare m = DETENT__WORKER_SHARE__INIT;

    m.data = (ProtobufCBinaryData){ .len = n, .data = (uint8_t *)all };
    rq.body_case = DETENT__WORKER_REQUEST__BODY_SHARE;
    rq.share = &m;
    return send_request (k, 1, k->ranks, &rq, reterr);
}

int dt_ranks_gather (void *user, const void *mine, size_t bytes, void *all)
{
    struct dt_ranks *k = user;
    uint8_t *at = all;
    struct dt_err err;
    int r = 0;

    memcpy (at, mine, bytes);
    for (uint32_t i = 1; i < k->ranks; i++)
        r = heavier (r, gather (k, i, at + i * bytes, bytes, &err), &err, &k->why);
    if (r == 0)
        r = share (k, all, k->ranks * bytes, &k->why);
    return k->failed = r;
}

int dt_ranks_gather_below (void *user, const void *mine, size_t bytes, void *all)
{
    Detent__WorkerReply rp = DETENT__WORKER_REPLY__INIT;
    Detent__WorkerShare m = DETENT__WORKER_SHARE__INIT;
    const int *fd = user;
    Detent__WorkerRequest *rq = NULL;
    struct dt_buf in = { 0 };
    struct dt_err err;
    uint8_t *out;
    size_t n;
    int r;

    m.data = (ProtobufCBinaryData){ .len = bytes, .data = (uint8_t *)mine };
    rp.body_case = DETENT__WORKER_REPLY__BODY_SHARE;
    rp.share = &m;
    n = detent__worker_reply__get_packed_size (&rp);
    if (!(out = dt_calloc (n, 1)))
        return -ENOMEM;
    detent__worker_reply__pack (&rp, out);
    r = dt_frame_write (*fd, out, n, DT_RANKS_DEADLINE_MS, &err);
    dt_free (out);
    if (r == 0)
        r = dt_frame_read (*fd, DT_RANKS_DEADLINE_MS, &in, &err);
    if (r == 0 && (rq = detent__worker_request__unpack (NULL, in.len, in.data))
        && rq->body_case == DETENT__WORKER_REQUEST__BODY_SHARE && rq->share->data.len >= bytes
        && rq->share->data.len % bytes == 0)
        memcpy (all, rq->share->data.data, rq->share->data.len);
    else if (r == 0)
        r = -EPROTO;
    if (rq)
        detent__worker_request__free_unpacked (rq, NULL);
    dt_buf_done (&in);
    return r;
}

/* What a group measures is kept under one identity.  Libraries and driver are this machine's. */
static int check_equal (uint32_t rank, const Detent__WorkerIdentity *is, const Detent__WorkerIdentity *was,
                        struct dt_err *reterr)
{
    if (strcmp (is->device, was->device) == 0 && is->units == was->units)
        return 0;
    return dt_err_set (reterr, -DT_EENVIRONMENT, "rank %u: its device is '%s' with %u units, and rank "
                       "0's is '%s' with %u: a group takes equal ones", rank, is->device, is->units,
                       was->device, was->units);
}

static int take_opened (struct dt_ranks *k, uint32_t rank, const Detent__WorkerIdentity *who,
                        struct dt_err *reterr)
{
    Detent__WorkerReply *reply;
    int r;

    if ((r = take_reply (k, rank, &reply, reterr)) < 0)
        return r;
    if (reply->body_case != DETENT__WORKER_REPLY__BODY_IDENTITY)
        r = dt_err_set (reterr, -DT_EWORKER, "rank %u did not say who it is", rank);
    else
        r = check_equal (rank, reply->identity, who, reterr);
    detent__worker_reply__free_unpacked (reply, NULL);
    return r;
}

int dt_ranks_opened (struct dt_ranks *k, int mine, const Detent__WorkerIdentity *who,
                     struct dt_err *reterr)
{
    struct dt_err err;
    int r = mine;

    if (k->failed) /* who failed has answered, and the others wait for its word */
        return dt_err_set (reterr, k->failed, "%s", k->why.text);
    for (uint32_t i = 1; mine < 0 && i < k->ranks; i++)
        if (k->fd[i] >= 0)
            shutdown (k->fd[i], SHUT_WR); /* none waits for rank 0's word any more */
    for (uint32_t i = 1; i < k->ranks; i++)
        r = heavier (r, take_opened (k, i, who, &err), &err, reterr);
    return r;
}

int dt_ranks_pass (struct dt_ranks *k, const Detent__WorkerRequest *rq, struct dt_err *reterr)
{
    begin_replies (k);
    return send_request (k, 1, k->ranks, rq, reterr);
}

static void keep_least (int has, uint32_t mhz, protobuf_c_boolean *ret_has, uint32_t *ret)
{
    if (has && (!*ret_has || mhz < *ret))
        *ret = mhz;
    *ret_has |= has;
}

/* Of two devices the worse in each respect. */
static void keep_worst (const Detent__WorkerState *s, Detent__WorkerState *ret)
{
    keep_least (s->has_clock_mhz, s->clock_mhz, &ret->has_clock_mhz, &ret->clock_mhz);
    keep_least (s->has_memory_mhz, s->memory_mhz, &ret->has_memory_mhz, &ret->memory_mhz);
    ret->has_reasons |= s->has_reasons;
    ret->reasons |= s->reasons;
    if (s->others > ret->others)
        ret->others = s->others;
    /* That nobody is on one device says nothing of one that cannot tell. */
    ret->has_others = ret->others > 0 || (ret->has_others && s->has_others);
}

static int take_one (struct dt_ranks *k, uint32_t rank, Detent__WorkerTimes *times,
                     struct dt_err *reterr)
{
    int timed = times->n_ns > 0, r;
    const Detent__WorkerState *state;
    Detent__WorkerReply *reply;

    if ((r = take_reply (k, rank, &reply, reterr)) < 0)
        return r;
    if (reply->body_case != (timed ? DETENT__WORKER_REPLY__BODY_TIMES
                                   : DETENT__WORKER_REPLY__BODY_STATE)
        || (timed && reply->times->n_ns != times->n_ns))
        r = dt_err_set (reterr, -DT_EWORKER, "rank %u: another reply than was asked for", rank);
    for (size_t j = 0; r == 0 && j < times->n_ns; j++)
        if (reply->times->ns[j] < times->ns[j])
            times->ns[j] = reply->times->ns[j];
    state = r < 0 ? NULL : timed ? reply->times->state : reply->state;
    if (state)
        keep_worst (state, times->state);
    detent__worker_reply__free_unpacked (reply, NULL);
    return r;
}

int dt_ranks_take (struct dt_ranks *k, int mine, Detent__WorkerTimes *times, struct dt_err *reterr)
{
    struct dt_err err;
    int r = mine;

    for (uint32_t i = 1; i < k->ranks; i++)
        r = heavier (r, take_one (k, i, times, &err), &err, reterr);
    return r;
}
