/* base/file.h - whole files, safely.
 * Uses: base/err.h, base/buf.h.  Used by: mains, detentd, libdetent. */
#ifndef DT_BASE_FILE_H
#define DT_BASE_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Read a regular file of at most `limit` bytes, appended to `ret`, which is then a
 * string too: never NULL, with a zero behind its bytes.
 *   -errno  of open or read        -DT_ELIMIT  larger than `limit`
 *   -DT_EINPUT  not a regular file
 * On failure ret->len is as before. */
int dt_file_read (const char *path, size_t limit, struct dt_buf *ret, struct dt_err *reterr);

/* Replace `path` as one step: write a temporary file beside it, fsync, rename,
 * fsync the folder.  After success the content survives a power loss; after
 * failure the old file is untouched, but for one case: if the rename is done and
 * only the folder's fsync fails, the new content is there and may not survive.
 * `mode` holds whatever the umask; a symbolic link at `path` is replaced itself.
 *   -DT_EINPUT  what is there is a device, pipe or socket; or an empty name
 *   -EISDIR     ... a folder */
int dt_file_replace (const char *path, const void *data, size_t n, unsigned mode,
                     struct dt_err *reterr);

/* Make a private directory (0700) if it is not there; refuse one that belongs
 * to somebody else or that others may enter (-EPERM).  Its parent must be there; a
 * symbolic link to such a directory will do (systemd makes them). */
int dt_file_private_dir (const char *path, struct dt_err *reterr);

#endif
