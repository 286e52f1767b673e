/* detentd/place.c - the daemon's directories, lock and endpoint. */
#include <config.h>

#include "detentd/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define MAX_IPC_PATH (sizeof ((struct sockaddr_un *)NULL)->sun_path - 1)

/* SQLite's WAL needs shared memory and locks that these do not give.  Numbers are
 * statfs(2)'s. */
static const struct {
    unsigned long magic;
    const char *name;
} network[] = {
    { 0x6969, "NFS" }, { 0x517b, "SMB" }, { 0xff534d42, "CIFS" }, { 0xfe534d42, "SMB2" },
    { 0x5346414f, "AFS" }, { 0x00c36400, "Ceph" }, { 0x0bd00bd0, "Lustre" },
};

static int check_local (const char *path, struct dt_err *reterr)
{
    struct statfs fs;

    if (statfs (path, &fs) < 0)
        return dt_err_set (reterr, -errno, "statfs %s: %m", path);
    for (size_t i = 0; i < DT_ARRAY_SIZE (network); i++)
        if (((unsigned long)fs.f_type & 0xffffffff) == network[i].magic)
            return dt_err_set (reterr, -DT_EUSAGE, "%s: on %s; the store needs a local file system",
                               path, network[i].name);
    return 0;
}

/* "pid 123", as the holder wrote it. */
static int held (int fd, const char *state_dir, struct dt_err *reterr)
{
    char pid[16] = "";
    ssize_t n = pread (fd, pid, sizeof pid - 1, 0);

    pid[n > 0 ? n : 0] = '\0';
    return dt_err_set (reterr, -EBUSY, "%s: another detentd has this state directory (pid %ld)",
                       state_dir, strtol (pid, NULL, 10));
}

int dt_place_lock (const char *state_dir, int *ret, struct dt_err *reterr)
{
    char *path = NULL;
    int fd = -1, r;

    if ((r = dt_file_private_dir (state_dir, reterr)) < 0
        || (r = check_local (state_dir, reterr)) < 0)
        return r;
    if (!(path = dt_strf ("%s/detentd.lock", state_dir)))
        return dt_err_nomem (reterr);
    fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        r = dt_err_set (reterr, -errno, "open %s: %m", path);
    else if (flock (fd, LOCK_EX | LOCK_NB) < 0)
        r = errno == EWOULDBLOCK ? held (fd, state_dir, reterr)
                                 : dt_err_set (reterr, -errno, "lock %s: %m", path);
    else if (dprintf (fd, "%-14ld\n", (long)getpid ()) < 0) /* over the last one's: no new room */
        r = dt_err_set (reterr, -errno, "write %s: %m", path);
    else
        r = 0;
    dt_free (path);
    if (r < 0 && fd >= 0)
        close (fd);
    if (r == 0)
        *ret = fd;
    return r;
}

/* A socket file is stale if nobody answers on it. */
static int clear_socket (const char *path, struct dt_err *reterr)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int refused;

    if (fd < 0)
        return dt_err_set (reterr, -errno, "socket: %m");
    memcpy (to.sun_path, path, strlen (path) + 1);
    refused = connect (fd, (struct sockaddr *)&to, sizeof to) < 0 && errno == ECONNREFUSED;
    close (fd);
    if (!refused)
        return dt_err_set (reterr, -EADDRINUSE, "%s: another process listens there", path);
    if (unlink (path) < 0)
        return dt_err_set (reterr, -errno, "unlink %s: %m", path);
    return 0;
}

int dt_place_endpoint (const char *endpoint, struct dt_err *reterr)
{
    const char *path = endpoint + 6;
    struct stat st;

    if (strncmp (endpoint, "tcp://", 6) == 0)
        return dt_err_set (reterr, -DT_EUSAGE, "endpoint %s: tcp:// needs CURVE keys, which this "
                           "version does not have; use ipc://", endpoint);
    if (strncmp (endpoint, "ipc://", 6) != 0 || path[0] != '/')
        return dt_err_set (reterr, -DT_EUSAGE, "endpoint %s: must be ipc:// and an absolute path",
                           endpoint);
    if (strlen (path) > MAX_IPC_PATH)
        return dt_err_set (reterr, -DT_EUSAGE, "endpoint %s: the path has %zu bytes, a socket's "
                           "may have %zu", endpoint, strlen (path), MAX_IPC_PATH);
    if (lstat (path, &st) < 0)
        return errno == ENOENT ? 0 : dt_err_set (reterr, -errno, "stat %s: %m", path);
    if (!S_ISSOCK (st.st_mode))
        return dt_err_set (reterr, -EEXIST, "%s: is there and is no socket; not replaced", path);
    return clear_socket (path, reterr);
}

void dt_place_clear (const char *endpoint)
{
    struct stat st;

    if (lstat (endpoint + 6, &st) == 0 && S_ISSOCK (st.st_mode))
        unlink (endpoint + 6);
}

char *dt_place_events (const char *endpoint)
{
    size_t n = strlen (endpoint);

    if (n > 5 && strcmp (endpoint + n - 5, ".sock") == 0)
        n -= 5;
    return dt_strf ("%.*s.pub", (int)n, endpoint);
}
