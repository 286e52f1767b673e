/* base/err.h - the one error type.
 * Uses: nothing of ours.  Used by: every folder.
 *
 * A function that can fail returns 0 or a negative code: -errno, or -DT_E...
 * from 1000 up.  Text goes to an optional struct dt_err, the last parameter.
 * Only mains and the event loop print it. */
#ifndef DT_BASE_ERR_H
#define DT_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

/* Codes beyond errno's.  Each has one meaning and one exit code of detentctl
 * (dt_err_exit); they travel in error replies, so numbers are never reused. */
enum dt_code {
    DT_ESYNTAX = 1000,  /* a SelIR program: not in the language, ill-typed     */
    DT_EINPUT = 1001,   /* content of a file or request is not valid           */
    DT_ELIMIT = 1002,   /* a named limit is exceeded                           */
    DT_EUNCUT = 1003,   /* selection cannot be made invariant: no finite cut   */
    DT_EILLEGAL = 1004, /* no legal assignment, or this one is not legal       */
    DT_EEVAL = 1005,    /* a run-time error of a SelIR program                 */
    DT_EREFUSED = 1006, /* a condition or domain refuses these inputs          */
    DT_ECORRUPT = 1007, /* a checksum, digest or signature does not hold       */
    DT_EVERSION = 1008, /* written by a version that this one does not read    */
    DT_EUNREACH = 1009, /* the daemon does not answer                          */
    DT_EUNSUPPORTED = 1010, /* the backend has no kernel for this              */
    DT_EDEVICE = 1011,  /* the device or a kernel failed                       */
    DT_EWORKER = 1012,  /* the worker process died or hung                     */
    DT_EUNPROVED = 1013, /* legality is sampled only, and that was not accepted */
    DT_ECONFLICT = 1014, /* somebody else committed first                      */
    DT_ENOTFOUND = 1015, /* no such deployment, workload, trace, job, commit   */
    DT_ESTORE = 1016,   /* the database failed (disk full, I/O)                */
    DT_EENVIRONMENT = 1017, /* another backend build, device or engine         */
    DT_EUSAGE = 1018,   /* the command line is wrong                           */
    DT_ECANCELLED = 1019, /* cancelled by its owner                            */
    DT_EUNTRUSTED = 1020, /* measurements too noisy or contradictory to decide */
    DT_ELOST = 1021,    /* a device is lost: what waits for it is held         */
    DT_EPEER = 1022,    /* another rank of the group did not come              */
};

struct dt_err {
    char text[1024]; /* one line, or several for a located program error; never
                        ends in a newline */
};

/* Format text into `err` (NULL: drop it) and return `code`, so that a caller
 * can write `return dt_err_set (err, -EINVAL, ...)`.  Truncates. */
int dt_err_set (struct dt_err *err, int code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Put "context: " in front of the text already in `err`; returns `code`. */
int dt_err_prefix (struct dt_err *err, int code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* -ENOMEM with its text; the one out-of-memory message. */
int dt_err_nomem (struct dt_err *err);

/* A stable lower-case word for a code ("input", "not-found", "no-space"), for
 * JSON; takes the code with either sign.  Never NULL: an errno without a word of
 * its own is "system". */
const char *dt_err_name (int code);

/* The process's exit code for a code, as section 8 of the design lists them:
 * 0 for 0; 1 no cut; 2 usage or content; 3 unreachable; 4 not found; 5 refused;
 * 6 conflict; 7 untrusted; 9 environment; 130 cancelled; 10 all else. */
int dt_err_exit (int code);

#endif
