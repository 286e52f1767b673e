/* base/err.c - the one error type. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Every code with its word and the exit code of a process that ends in it.
 * Words and numbers are never reused: scripts and peers rely on them. */
static const struct {
    int code;
    int exit;
    const char *name;
} codes[] = {
    { 0, 0, "ok" },
    { EINVAL, 2, "invalid" },
    { ENOENT, 4, "no-entry" },
    { EPERM, 5, "not-permitted" },
    { EACCES, 5, "no-access" },
    { ENOSPC, 10, "no-space" },
    { ENOMEM, 10, "no-memory" },
    { EIO, 10, "io" },
    { EEXIST, 10, "exists" },
    { EBUSY, 10, "busy" },
    { EAGAIN, 10, "again" },
    { EINTR, 10, "interrupted" },
    { ETIMEDOUT, 10, "timeout" },
    { ENOSYS, 10, "not-implemented" },
    { ENOTDIR, 10, "not-a-folder" },
    { EMFILE, 10, "too-many-files" },
    { EISDIR, 2, "is-a-folder" },
    { ENAMETOOLONG, 2, "name-too-long" },
    { EROFS, 10, "read-only" },
    { DT_ESYNTAX, 2, "syntax" },
    { DT_EINPUT, 2, "input" },
    { DT_ELIMIT, 2, "limit" },
    { DT_EUNCUT, 1, "uncut" },
    { DT_EILLEGAL, 5, "illegal" },
    { DT_EEVAL, 2, "eval" },
    { DT_EREFUSED, 5, "refused" },
    { DT_ECORRUPT, 2, "corrupt" },
    { DT_EVERSION, 2, "version" },
    { DT_EUNREACH, 3, "unreachable" },
    { DT_EUNSUPPORTED, 10, "unsupported" },
    { DT_EDEVICE, 10, "device" },
    { DT_EWORKER, 10, "worker" },
    { DT_EUNPROVED, 5, "unproved" },
    { DT_ECONFLICT, 6, "conflict" },
    { DT_ENOTFOUND, 4, "not-found" },
    { DT_ESTORE, 10, "store" },
    { DT_EENVIRONMENT, 9, "environment" },
    { DT_EUSAGE, 2, "usage" },
    { DT_ECANCELLED, 130, "cancelled" },
    { DT_EUNTRUSTED, 7, "untrusted" },
    { DT_ELOST, 10, "lost" },
    { DT_EPEER, 10, "peer" },
};

/* Drop trailing newlines, and the piece of a UTF-8 character that truncation
 * left at the end: the text must stay valid for JSON. */
static void tidy (char *text, int truncated)
{
    size_t n = strlen (text);
    size_t tail = 0; /* continuation bytes at the end */

    if (truncated) {
        while (tail < 3 && tail < n && ((unsigned char)text[n - 1 - tail] & 0xc0) == 0x80)
            tail++;
        if (tail < n) {
            unsigned char lead = (unsigned char)text[n - 1 - tail];
            size_t need = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;

            if (need > tail)
                n -= tail + 1;
        }
    }
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
}

static void print (struct dt_err *err, const char *format, va_list ap)
{
    int n = vsnprintf (err->text, sizeof err->text, format, ap);

    if (n < 0)
        err->text[0] = '\0';
    tidy (err->text, n >= (int)sizeof err->text);
}

int dt_err_set (struct dt_err *err, int code, const char *format, ...)
{
    struct dt_err now; /* an argument may point into err->text */
    va_list ap;

    if (!err)
        return code;
    va_start (ap, format);
    print (&now, format, ap);
    va_end (ap);
    memcpy (err->text, now.text, strlen (now.text) + 1);
    return code;
}

int dt_err_prefix (struct dt_err *err, int code, const char *format, ...)
{
    struct dt_err context;
    va_list ap;

    if (!err)
        return code;
    va_start (ap, format);
    print (&context, format, ap);
    va_end (ap);
    return dt_err_set (err, code, "%s: %s", context.text, err->text);
}

int dt_err_nomem (struct dt_err *err)
{
    return dt_err_set (err, -ENOMEM, "out of memory");
}

/* Index into codes, or -1. */
static int find (int code)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (codes[i].code == code || codes[i].code == -(long)code)
            return (int)i;
    return -1;
}

const char *dt_err_name (int code)
{
    int i = find (code);

    return i < 0 ? "system" : codes[i].name;
}

int dt_err_exit (int code)
{
    int i = find (code);

    return i < 0 ? 10 : codes[i].exit;
}
