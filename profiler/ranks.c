#include <config.h> /* posix_spawn_file_actions_addclosefrom_np */

#include "profiler/ranks.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "proto/frame.h"

#define SOCKET_FD 3

extern char **environ;

struct dt_ranks {
    uint32_t ranks;
    int fd[DT_RANKS_MAX];    /* [0] is unused */
    pid_t pid[DT_RANKS_MAX];
    struct dt_err why;
};

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

static int send_request (int fd, const Detent__WorkerRequest *rq, struct dt_err *reterr)
{
    size_t n = detent__worker_request__get_packed_size (rq);
    uint8_t *data = dt_calloc (n ? n : 1, 1);
    int r;

    if (!data)
        return dt_err_nomem (reterr);
    detent__worker_request__pack (rq, data);
    r = dt_frame_write (fd, data, n, DT_RANKS_DEADLINE_MS, reterr);
    dt_free (data);
    return r;
}

/* One reply, for the caller to free; an Error becomes the failure. */
static int take_reply (struct dt_ranks *k, uint32_t rank, Detent__WorkerReply **ret,
                       struct dt_err *reterr)
{
    Detent__WorkerReply *reply;
    struct dt_buf in = { 0 };
    int r;

    if ((r = dt_frame_read (k->fd[rank], DT_RANKS_DEADLINE_MS, &in, reterr)) < 0)
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
    if (r < 0)
        return dt_err_set (reterr, -DT_EWORKER, "rank %u does not start: %s", rank, strerror (-r));
    mine.has_rank = 1;
    mine.rank = rank;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_OPEN;
    rq.open = &mine;
    return send_request (k->fd[rank], &rq, reterr);
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

struct dt_ranks *dt_ranks_free (struct dt_ranks *k)
{
    uint32_t i;

    if (!k)
        return NULL;
    for (i = 1; i < k->ranks; i++)
        if (k->fd[i] >= 0)
            close (k->fd[i]);
    for (i = 1; i < k->ranks; i++)
        while (k->pid[i] > 0 && waitpid (k->pid[i], NULL, 0) < 0 && errno == EINTR)
            ;
    dt_free (k);
    return NULL;
}

const char *dt_ranks_why (const struct dt_ranks *k)
{
    return k->why.text;
}

static int share (struct dt_ranks *k, const void *all, size_t n)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerShare m = DETENT__WORKER_SHARE__INIT;
    uint32_t i;
    int r;

    m.data = (ProtobufCBinaryData){ .len = n, .data = (uint8_t *)all };
    rq.body_case = DETENT__WORKER_REQUEST__BODY_SHARE;
    rq.share = &m;
    for (i = 1; i < k->ranks; i++)
        if ((r = send_request (k->fd[i], &rq, &k->why)) < 0)
            return r;
    return 0;
}

int dt_ranks_gather (void *user, const void *mine, size_t bytes, void *all)
{
    struct dt_ranks *k = user;
    uint8_t *at = all;
    uint32_t i;
    int r;

    memcpy (at, mine, bytes);
    for (i = 1; i < k->ranks; i++) {
        Detent__WorkerReply *reply;

        if ((r = take_reply (k, i, &reply, &k->why)) < 0)
            return r;
        if (reply->body_case == DETENT__WORKER_REPLY__BODY_SHARE && reply->share->data.len == bytes)
            memcpy (at + i * bytes, reply->share->data.data, bytes);
        else
            r = dt_err_set (&k->why, -DT_EWORKER, "rank %u: not its word to the others", i);
        detent__worker_reply__free_unpacked (reply, NULL);
        if (r < 0)
            return r;
    }
    return share (k, all, k->ranks * bytes);
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

int dt_ranks_opened (struct dt_ranks *k, struct dt_err *reterr)
{
    Detent__WorkerReply *reply;
    uint32_t i;
    int r;

    for (i = 1; i < k->ranks; i++) {
        if ((r = take_reply (k, i, &reply, reterr)) < 0)
            return r;
        if (reply->body_case != DETENT__WORKER_REPLY__BODY_IDENTITY)
            r = dt_err_set (reterr, -DT_EWORKER, "rank %u did not say who it is", i);
        detent__worker_reply__free_unpacked (reply, NULL);
        if (r < 0)
            return r;
    }
    return 0;
}

int dt_ranks_pass (struct dt_ranks *k, const Detent__WorkerRequest *rq, struct dt_err *reterr)
{
    uint32_t i;
    int r;

    for (i = 1; i < k->ranks; i++)
        if ((r = send_request (k->fd[i], rq, reterr)) < 0)
            return dt_err_prefix (reterr, r, "rank %u", i);
    return 0;
}

static int take_times (struct dt_ranks *k, uint32_t rank, uint64_t *ns, size_t n,
                       struct dt_err *reterr)
{
    Detent__WorkerReply *reply;
    size_t j;
    int r;

    if ((r = take_reply (k, rank, &reply, reterr)) < 0)
        return r;
    if (reply->body_case != DETENT__WORKER_REPLY__BODY_TIMES || reply->times->n_ns != n)
        r = dt_err_set (reterr, -DT_EWORKER, "rank %u: the reply is no times", rank);
    for (j = 0; r == 0 && j < n; j++)
        if (reply->times->ns[j] < ns[j])
            ns[j] = reply->times->ns[j];
    detent__worker_reply__free_unpacked (reply, NULL);
    return r;
}

int dt_ranks_times (struct dt_ranks *k, uint64_t *ns, size_t n, struct dt_err *reterr)
{
    struct dt_err other;
    uint32_t i;
    int r = take_times (k, 1, ns, n, reterr);

    for (i = 2; i < k->ranks; i++) { /* every reply is taken: the sockets stay in step */
        int q = take_times (k, i, ns, n, &other);

        if (q < 0 && (r == 0 || r == -EAGAIN)) {
            r = q;
            *reterr = other;
        }
    }
    return r;
}
