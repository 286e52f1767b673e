/* detentd/lease.c - the right to run kernels on some devices, of one job at a time. */
#include <config.h>

#include "detentd/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define THE_MACHINE "host" /* the device of a backend that names none */

/* What others may have put there (a pipe, a device) is not opened for long, nor locked. */
static int open_regular (const char *path)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd < 0 || (fstat (fd, &st) == 0 && S_ISREG (st.st_mode)))
        return fd;
    close (fd);
    errno = EINVAL;
    return -1;
}

/* Ours or another user's: to lock it, reading is enough.  Where others may write too
 * (/run/lock), a file is either made or opened, never both at once: the kernel would
 * refuse that of another user's file. */
static int open_lock (const char *path)
{
    int fd;

    for (int turn = 0; turn < 2; turn++) {
        if ((fd = open_regular (path)) >= 0 || errno != ENOENT)
            return fd;
        if ((fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644)) >= 0) {
            fchmod (fd, 0644); /* whatever the umask says */
            return fd;
        }
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* Numbers below are the worker's own. */
static int move_up (int fd)
{
    int above = fd < DT_WORKER_LEAST_KEPT ? fcntl (fd, F_DUPFD_CLOEXEC, DT_WORKER_LEAST_KEPT) : fd;

    if (above != fd)
        close (fd);
    return above;
}

static int lock_device (struct dt_lease *l, const char *dir, const char *device,
                        struct dt_err *reterr)
{
    char *path = dt_strf ("%s/detent-%s.lock", dir, device);
    int fd, r;

    if (!path)
        return dt_err_nomem (reterr);
    if (device[strspn (device, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:._-")])
        r = dt_err_set (reterr, -DT_EINPUT, "the backend's device '%s' has no name fit for a file",
                        device);
    else if ((fd = open_lock (path)) < 0 || (fd = move_up (fd)) < 0)
        r = dt_err_set (reterr, -EIO, "device %s: lock %s: %s; see --lock-dir of detentd", device,
                        path, errno == EINVAL || errno == ELOOP ? "not a file" : strerror (errno));
    else if (flock (fd, LOCK_EX | LOCK_NB) == 0) {
        l->fd[l->n++] = fd;
        r = 0;
    } else {
        r = errno == EWOULDBLOCK
                ? dt_err_set (reterr, -EAGAIN, "device %s: another detentd measures on it (it has "
                              "%s)", device, path)
                : dt_err_set (reterr, -EIO, "device %s: lock %s: %s", device, path,
                              strerror (errno));
        close (fd);
    }
    dt_free (path);
    return r;
}

static int lock_all (struct dt_lease *l, const char *dir, uint32_t ranks,
                     const Detent__WorkerReply *reply, struct dt_err *reterr)
{
    const Detent__WorkerDeviceNames *m = reply->devices;
    int r = 0;

    if (reply->body_case != DETENT__WORKER_REPLY__BODY_DEVICES || !m->has_devices
        || m->devices < 1 || m->devices > ranks || m->n_name > DT_WORKER_MAX_KEPT)
        return dt_err_set (reterr, -DT_EWORKER, "the worker's reply names no devices");
    l->devices = m->devices;
    if (m->n_name == 0)
        return lock_device (l, dir, THE_MACHINE, reterr);
    for (size_t i = 0; r == 0 && i < m->n_name; i++)
        r = lock_device (l, dir, m->name[i], reterr);
    return r;
}

int dt_lease_take (struct dt_lease *l, const struct dt_options *o, const char *plugin,
                   uint32_t first, uint32_t ranks, struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerDevices m = DETENT__WORKER_DEVICES__INIT;
    Detent__WorkerReply *reply;
    struct dt_worker *w = NULL;
    int r;

    m.backend = (char *)plugin;
    m.has_first = 1;
    m.first = first;
    m.count = ranks;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_DEVICES;
    rq.devices = &m;
    if ((r = dt_worker_new (o->profiler, NULL, 0, &w, reterr)) == 0
        && (r = dt_worker_call (w, &rq, plugin, &reply, reterr)) == 0) {
        r = lock_all (l, o->lock_dir, ranks, reply, reterr);
        detent__worker_reply__free_unpacked (reply, NULL);
    }
    dt_worker_free (w);
    if (r < 0)
        dt_lease_drop (l);
    return r;
}

void dt_lease_drop (struct dt_lease *l)
{
    for (size_t i = 0; i < l->n; i++)
        close (l->fd[i]);
    l->n = 0;
}
