/* libdetent/bundle.c - the last good bundle on disk. */
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "libdetent/handle.h"
#include "proto/wire.h"

static const char magic[10] = "DTBUNDLE1\n"; /* without a zero */

/* Is that what is there?  Then nothing need be written: the disk may be full. */
static int is_kept (const char *path, const uint8_t *data, size_t n)
{
    struct dt_buf b;
    struct stat st;
    int is;

    dt_buf_init (&b);
    is = stat (path, &st) == 0 && (st.st_mode & 0777) == 0600
         && dt_file_read (path, n, &b, NULL) == 0 && b.len == n && !memcmp (b.data, data, n);
    dt_buf_done (&b);
    return is;
}

int dt_handle_keep (const char *path, const Detent__FetchReply *bundle, struct dt_err *reterr)
{
    size_t n = detent__fetch_reply__get_packed_size (bundle);
    uint8_t *data = dt_calloc (n + sizeof magic, 1);
    int r;

    if (!data)
        return dt_err_nomem (reterr);
    memcpy (data, magic, sizeof magic);
    detent__fetch_reply__pack (bundle, data + sizeof magic);
    r = is_kept (path, data, n + sizeof magic)
            ? 0
            : dt_file_replace (path, data, n + sizeof magic, 0600, reterr);
    if (r < 0)
        dt_err_prefix (reterr, r, "the last good bundle cannot be kept (bundle_path)");
    dt_free (data);
    return r;
}

int dt_handle_kept (const char *path, Detent__FetchReply **ret, struct dt_err *reterr)
{
    Detent__FetchReply *bundle;
    struct dt_buf b;
    int r;

    dt_buf_init (&b);
    if ((r = dt_file_read (path, DT_WIRE_MAX_BYTES + sizeof magic, &b, reterr)) < 0)
        goto done;
    if (b.len < sizeof magic || memcmp (b.data, magic, sizeof magic - 2)) {
        r = dt_err_set (reterr, -DT_ECORRUPT, "bundle %s: not a bundle", path);
        goto done;
    }
    if (memcmp (b.data, magic, sizeof magic)) {
        r = dt_err_set (reterr, -DT_EVERSION, "bundle %s: of another version", path);
        goto done;
    }
    bundle = detent__fetch_reply__unpack (&dt_wire_allocator, b.len - sizeof magic,
                                          b.data + sizeof magic);
    if (!bundle)
        r = dt_err_set (reterr, -DT_ECORRUPT, "bundle %s: malformed", path);
    else
        *ret = bundle;
done:
    dt_buf_done (&b);
    return r;
}
