/* base/file.c - whole files, safely. */
#include <config.h> /* mkostemp */

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* Append what is left of fd to `ret`, at most `limit` bytes. */
static int read_all (int fd, const char *path, size_t limit, struct dt_buf *ret,
                     struct dt_err *reterr)
{
    uint8_t piece[16384];
    size_t total = 0;
    ssize_t n;

    for (;;) {
        n = read (fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return dt_err_set (reterr, -errno, "read %s: %m", path);
        if (n == 0)
            return ret->failed ? dt_err_nomem (reterr) : 0;
        if ((size_t)n > limit - total) /* whatever fstat said: it may grow */
            return dt_err_set (reterr, -DT_ELIMIT, "%s: larger than %zu bytes", path, limit);
        total += (size_t)n;
        dt_buf_put (ret, piece, (size_t)n);
    }
}

int dt_file_read (const char *path, size_t limit, struct dt_buf *ret, struct dt_err *reterr)
{
    size_t before = ret->len;
    struct stat st;
    int fd, r;

    /* Non-blocking: opening a pipe that nobody writes must not hang. */
    if ((fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) < 0)
        return dt_err_set (reterr, -errno, "open %s: %m", path);
    if (fstat (fd, &st) < 0)
        r = dt_err_set (reterr, -errno, "stat %s: %m", path);
    else if (!S_ISREG (st.st_mode))
        r = dt_err_set (reterr, -DT_EINPUT, "%s: not a regular file", path);
    else
        r = read_all (fd, path, limit, ret, reterr);
    if (r == 0 && !dt_buf_str (ret))
        r = dt_err_nomem (reterr);
    if (r < 0)
        ret->len = before;
    close (fd);
    return r;
}

static int write_all (int fd, const uint8_t *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write (fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Make the folder's entry for `path` survive a power loss. */
static int sync_folder (const char *path, struct dt_err *reterr)
{
    const char *slash = strrchr (path, '/');
    char *folder = !slash          ? dt_strdup (".")
                   : slash == path ? dt_strdup ("/")
                                   : dt_strndup (path, (size_t)(slash - path));
    int fd, r = 0;

    if (!folder)
        return dt_err_nomem (reterr);
    if ((fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        r = dt_err_set (reterr, -errno, "open %s: %m", folder);
    else if (fsync (fd) < 0)
        r = dt_err_set (reterr, -errno, "fsync %s: %m", folder);
    if (fd >= 0)
        close (fd);
    dt_free (folder);
    return r;
}

/* Fill and sync the temporary file; eats fd. */
static int fill (int fd, const char *path, const void *data, size_t n, unsigned mode,
                 struct dt_err *reterr)
{
    int r;

    if ((r = write_all (fd, data, n)) < 0)
        r = dt_err_set (reterr, r, "write %s: %s", path, strerror (-r));
    else if (fchmod (fd, mode) < 0)
        r = dt_err_set (reterr, -errno, "chmod %s: %m", path);
    else if (fsync (fd) < 0)
        r = dt_err_set (reterr, -errno, "fsync %s: %m", path);
    if (close (fd) < 0 && r == 0)
        r = dt_err_set (reterr, -errno, "close %s: %m", path);
    return r;
}

/* A rename would put a file where a device or a pipe is: root's /dev/null too. */
static int check_replaced (const char *path, struct dt_err *reterr)
{
    struct stat st;

    if (!*path)
        return dt_err_set (reterr, -DT_EINPUT, "a file to write: the name is empty");
    if (stat (path, &st) < 0)
        return 0; /* what hinders is said when it is created */
    if (S_ISDIR (st.st_mode))
        return dt_err_set (reterr, -EISDIR, "write %s: it is a folder", path);
    if (!S_ISREG (st.st_mode))
        return dt_err_set (reterr, -DT_EINPUT, "write %s: not a regular file", path);
    return 0;
}

int dt_file_replace (const char *path, const void *data, size_t n, unsigned mode,
                     struct dt_err *reterr)
{
    char *temporary;
    int fd, r;

    if ((r = check_replaced (path, reterr)) < 0)
        return r;
    if (!(temporary = dt_strf ("%s.XXXXXX", path)))
        return dt_err_nomem (reterr);
    if ((fd = mkostemp (temporary, O_CLOEXEC)) < 0) {
        r = dt_err_set (reterr, -errno, "create %s: %m", path);
        goto fail;
    }
    r = fill (fd, path, data, n, mode, reterr);
    if (r == 0 && rename (temporary, path) < 0)
        r = dt_err_set (reterr, -errno, "rename %s to %s: %m", temporary, path);
    if (r < 0)
        unlink (temporary);
    else
        r = sync_folder (path, reterr);
fail:
    dt_free (temporary);
    return r;
}

int dt_file_private_dir (const char *path, struct dt_err *reterr)
{
    struct stat st;

    if (mkdir (path, 0700) < 0 && errno != EEXIST)
        return dt_err_set (reterr, -errno, "make folder %s: %m", path);
    if (stat (path, &st) < 0)
        return dt_err_set (reterr, -errno, "stat %s: %m", path);
    if (!S_ISDIR (st.st_mode))
        return dt_err_set (reterr, -ENOTDIR, "%s: not a folder", path);
    if (st.st_uid != geteuid ())
        return dt_err_set (reterr, -EPERM, "%s: belongs to user %lu, not to this one", path,
                           (unsigned long)st.st_uid);
    if (st.st_mode & 077)
        return dt_err_set (reterr, -EPERM, "%s: others may enter (mode %03o); chmod 700 it",
                           path, (unsigned)st.st_mode & 0777);
    return 0;
}
