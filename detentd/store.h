/* detentd/store.h - the daemon's store: one SQLite database.
 * Uses: base/, SQLite (inside).  Used by: detentd.
 *
 * Only store*.c speak SQL.  A connection belongs to one thread at a time; one of
 * them writes (detentd/writer.h), the others are read-only.  Functions that write
 * must run inside dt_store_transact, those that read several rows that belong
 * together inside dt_store_read.
 *
 * Errors of every function: -ENOSPC disk full, -DT_ESTORE the database failed,
 * -DT_EVERSION a newer detentd changed what is asked for, -ENOMEM; the text names the store's path. */
#ifndef DT_DETENTD_STORE_H
#define DT_DETENTD_STORE_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"

struct dt_store;

/* Open for writing (made and migrated if need be, then quick_check) or reading.  A
 * store that a newer detentd wrote is opened too, and left as it is: what can be read
 * of it is, and dt_store_transact fails with -DT_EVERSION.
 *   -DT_ECORRUPT  not our database */
int dt_store_open (const char *path, int write, struct dt_store **ret, struct dt_err *reterr);
int dt_store_is_newer (const struct dt_store *s);
struct dt_store *dt_store_close (struct dt_store *s); /* NULL ok; returns NULL */

/* Where a transaction is: a test may stop the process there.  NULL in detentd. */
enum dt_store_point { DT_STORE_BEFORE = 1, DT_STORE_INSIDE = 2, DT_STORE_AFTER = 3 };
extern void (*dt_store_hook) (struct dt_store *s, enum dt_store_point point);

/* Run `fn` in one transaction: committed, and durable, if it returns 0; else
 * rolled back.  dt_store_read: one consistent view for several reads. */
typedef int (*dt_store_f) (struct dt_store *s, void *ctx, struct dt_err *reterr);
int dt_store_transact (struct dt_store *s, dt_store_f fn, void *ctx, struct dt_err *reterr);
int dt_store_read (struct dt_store *s, dt_store_f fn, void *ctx, struct dt_err *reterr);

/* Strings and bytes handed to a row function are borrowed for that call; it
 * returns 0 to go on, or a negative code that ends the walk and is returned. */

/* --- content ----------------------------------------------------------------*/
/* Bytes under their digest in the domain `kind`; nothing happens if they are there. */
int dt_store_blob_put (struct dt_store *s, const char *kind, const void *data, size_t n,
                       struct dt_digest *ret, struct dt_err *reterr);
/* Appended to `ret`; checked against the digest.
 *   -DT_ENOTFOUND; -DT_ECORRUPT */
int dt_store_blob_get (struct dt_store *s, const char *kind, const struct dt_digest *digest,
                       struct dt_buf *ret, struct dt_err *reterr);

struct dt_trace_row {
    struct dt_digest digest;
    const char *workload, *deployment, *source;
    uint64_t calls, distinct_calls, bytes;
    int64_t time_ns;
};
/* *ret_known: the workload has this trace already. */
int dt_store_trace_put (struct dt_store *s, const struct dt_trace_row *row, const void *data,
                        int *ret_known, struct dt_err *reterr);
/* Newest first; of one workload, or all (NULL). */
int dt_store_traces (struct dt_store *s, const char *workload,
                     int (*fn) (void *ctx, const struct dt_trace_row *row), void *ctx,
                     struct dt_err *reterr);
/* The workload's newest trace, or `want` if the workload has it.  -DT_ENOTFOUND */
int dt_store_trace_find (struct dt_store *s, const char *workload,
                         const struct dt_digest *want, struct dt_digest *ret,
                         struct dt_err *reterr);

/* The JIT cache.  A missing entry is -DT_ENOTFOUND, one whose check digest does
 * not hold -DT_ECORRUPT. */
int dt_store_solution_get (struct dt_store *s, const struct dt_digest *key,
                           struct dt_buf *ret, uint64_t *ret_solve_us, struct dt_err *reterr);
int dt_store_solution_put (struct dt_store *s, const struct dt_digest *key, const void *data,
                           size_t n, uint64_t solve_us, struct dt_err *reterr);
/* What stands behind a solution's points; likewise (detentd/standing.h). */
int dt_store_standing_get (struct dt_store *s, const struct dt_digest *key, struct dt_buf *ret,
                           struct dt_err *reterr);
int dt_store_standing_put (struct dt_store *s, const struct dt_digest *key,
                           const struct dt_digest *solution, const void *data, size_t n,
                           struct dt_err *reterr);

struct dt_source_row {
    const char *name;
    struct dt_digest digest;
};
struct dt_site_row {
    const char *family, *site;
    struct dt_digest key;
};
/* Replace the deployment's last solve. */
int dt_store_deployment_put (struct dt_store *s, const char *name, const struct dt_digest *file,
                             const struct dt_source_row *source, size_t n_sources,
                             const struct dt_site_row *site, size_t n_sites,
                             struct dt_err *reterr);
/*   -DT_ENOTFOUND  never solved */
int dt_store_deployment_get (struct dt_store *s, const char *name, struct dt_digest *ret_file,
                             struct dt_err *reterr);
int dt_store_sources (struct dt_store *s, const char *deployment,
                      int (*fn) (void *ctx, const struct dt_source_row *row), void *ctx,
                      struct dt_err *reterr);
int dt_store_sites (struct dt_store *s, const char *deployment,
                    int (*fn) (void *ctx, const struct dt_site_row *row), void *ctx,
                    struct dt_err *reterr);

/* --- jobs -------------------------------------------------------------------*/
struct dt_job_row {
    uint64_t id;
    const char *kind, *state, *deployment, *workload, *what;
    int code;             /* 0: none */
    const void *result;   /* a packed JobReply, NULL while it has not ended */
    size_t n_result;
    const struct dt_digest *tuple; /* NULL: none */
    int64_t started_ns, ended_ns;  /* ended_ns 0: not ended */
    uint64_t measurements;
    const void *request;  /* a packed Request; NULL: an older detentd kept none */
    size_t n_request;
    int64_t device;       /* its first one's ordinal; -1: an older detentd did not say */
};
/* kind, deployment, workload, started_ns, request and device of the row are written. */
int dt_store_job_new (struct dt_store *s, const struct dt_job_row *row, uint64_t *ret,
                      struct dt_err *reterr);
int dt_store_job_start (struct dt_store *s, uint64_t id, struct dt_err *reterr);
/* It waits for a device: `why` says for which. */
int dt_store_job_hold (struct dt_store *s, uint64_t id, const char *why, struct dt_err *reterr);
/* id, state, what, code, result, tuple and ended_ns of the row are written. */
int dt_store_job_end (struct dt_store *s, const struct dt_job_row *row, struct dt_err *reterr);
/* One job (id); or, newest first, those that have not ended and those that are among the
 * `newest` of all (id 0).  -DT_ENOTFOUND */
int dt_store_jobs (struct dt_store *s, uint64_t id, uint32_t newest,
                   int (*fn) (void *ctx, const struct dt_job_row *row), void *ctx,
                   struct dt_err *reterr);

/* A device that does not answer. */
struct dt_hold_row {
    const char *device, *why;
    int64_t since_ns;
};
/* One that is there keeps its time. */
int dt_store_hold_put (struct dt_store *s, const struct dt_hold_row *row, struct dt_err *reterr);
int dt_store_hold_clear (struct dt_store *s, const char *device, struct dt_err *reterr);
int dt_store_holds (struct dt_store *s, int (*fn) (void *ctx, const struct dt_hold_row *row),
                    void *ctx, struct dt_err *reterr);

struct dt_backend_row {
    const char *name, *build, *libraries, *driver, *device, *clock, *caches;
    uint32_t units;
};
int dt_store_backend_put (struct dt_store *s, const struct dt_backend_row *row, int64_t *ret,
                          struct dt_err *reterr);
struct dt_measurement {
    uint64_t job;
    int64_t backend;
    struct dt_digest solution, trace, plan;
    uint64_t assignment, call, elapsed_ns;
    uint32_t clock_mhz, memory_mhz; /* 0: not reported, and then nor are the reasons */
    uint64_t reasons;
    int64_t others; /* processes that worked on the device meanwhile; -1: not reported */
    char free[80]; /* "field=value" of what is timed for a table; "": the assignment's own */
};
int dt_store_measurement_put (struct dt_store *s, const struct dt_measurement *m,
                              struct dt_err *reterr);

/* Measurements of a plan by a backend, in the order they were made: job, trace, assignment,
 * call, elapsed_ns and others (-1 if not reported) of each. */
int dt_store_measurements (struct dt_store *s, int64_t backend, const struct dt_digest *plan,
                           int (*fn) (void *ctx, const struct dt_measurement *m), void *ctx,
                           struct dt_err *reterr);

/* --- tuples and commits -----------------------------------------------------*/
struct dt_tuple_row {
    struct dt_digest digest, bits;
    const char *deployment;
    int sampled;
    const char *uncovered;
};
struct dt_selector_row {
    const char *family, *site;
    struct dt_digest pinned, stock;
};
/* The tuple's own blob and its selectors' must be there. */
int dt_store_tuple_put (struct dt_store *s, const struct dt_tuple_row *row,
                        const struct dt_selector_row *selector, size_t n_selectors,
                        struct dt_err *reterr);
/* Text of the row lies in `text` (appended).  -DT_ENOTFOUND */
int dt_store_tuple_get (struct dt_store *s, const struct dt_digest *digest,
                        struct dt_tuple_row *ret, struct dt_buf *text, struct dt_err *reterr);
/* 1 in *ret: a tune of the deployment for the workload came to this tuple. */
int dt_store_tuple_tuned (struct dt_store *s, const struct dt_digest *digest,
                          const char *deployment, const char *workload, int *ret,
                          struct dt_err *reterr);
/* Of the newest tune that is done.  -DT_ENOTFOUND */
int dt_store_tuple_newest (struct dt_store *s, const char *deployment, const char *workload,
                           struct dt_digest *ret, struct dt_err *reterr);
/* The JobReply of the tune that found a tuple, appended to `ret`: the last before time_ns,
 * of this deployment and workload, or of any (NULL).  Nothing if there is none. */
int dt_store_tuple_result (struct dt_store *s, const struct dt_digest *digest,
                           const char *deployment, const char *workload, int64_t time_ns,
                           struct dt_buf *ret, struct dt_err *reterr);
int dt_store_selectors (struct dt_store *s, const struct dt_digest *tuple,
                        int (*fn) (void *ctx, const struct dt_selector_row *row), void *ctx,
                        struct dt_err *reterr);

struct dt_commit_row {
    struct dt_digest digest, tuple;
    const char *deployment, *workload;
    uint64_t sequence;
    const struct dt_digest *parent; /* NULL: the first */
    const uint8_t *signature;       /* [64] */
    int64_t time_ns;
    const void *data; /* the commit's bytes */
    size_t n_data;
};
/* The commit's blob must be there. */
int dt_store_commit_put (struct dt_store *s, const struct dt_commit_row *row,
                         struct dt_err *reterr);
/* One commit by digest.  -DT_ENOTFOUND */
int dt_store_commit_get (struct dt_store *s, const struct dt_digest *digest,
                         int (*fn) (void *ctx, const struct dt_commit_row *row), void *ctx,
                         struct dt_err *reterr);
/* Newest first, at most `limit`; deployment and workload may be NULL (any). */
int dt_store_commits (struct dt_store *s, const char *deployment, const char *workload,
                      uint64_t limit,
                      int (*fn) (void *ctx, const struct dt_commit_row *row), void *ctx,
                      struct dt_err *reterr);
/* The one commit or tuple whose digest starts with the hex digits.
 *   -DT_EINPUT  fewer than 6 or more than 64, no hex, or several match
 *   -DT_ENOTFOUND */
int dt_store_find (struct dt_store *s, const char *prefix, struct dt_digest *ret,
                   int *ret_is_commit, struct dt_err *reterr);

/* --- certificates -------------------------------------------------------------*/
struct dt_certificate_row {
    struct dt_digest digest, key; /* key: dt_certificate_key */
    const char *deployment, *family, *site;
    int64_t time_ns, revoked_ns; /* revoked_ns 0: it holds */
    const char *why;             /* it was revoked; "" */
    const void *data;            /* its bytes */
    size_t n_data;
};
/* digest, time and revocation are set here. */
int dt_store_certificate_put (struct dt_store *s, const struct dt_certificate_row *row,
                              const char *const *field, size_t n_fields, struct dt_digest *ret,
                              struct dt_err *reterr);
/* Of those made for a deployment, or all (NULL); by site. */
int dt_store_certificates (struct dt_store *s, const char *deployment,
                           int (*fn) (void *ctx, const struct dt_certificate_row *row), void *ctx,
                           struct dt_err *reterr);
/* The one whose digest starts with the hex digits.  As dt_store_find. */
int dt_store_certificate_find (struct dt_store *s, const char *prefix, struct dt_digest *ret,
                               struct dt_err *reterr);
/*   -DT_ENOTFOUND  no such certificate, or it is revoked already */
int dt_store_certificate_revoke (struct dt_store *s, const struct dt_digest *digest,
                                 const char *why, struct dt_err *reterr);
/* All that were not revoked for a site of that name, whatever backend they are of, each
 * appended to `ret` (DT_DIGEST_BYTES) in ascending order. */
int dt_store_in_force (struct dt_store *s, const char *family, const char *site,
                       struct dt_buf *ret, struct dt_err *reterr);
/* 1 and the newest certificate under the key that covers the field and holds; or 0. */
int dt_store_certified (struct dt_store *s, const struct dt_digest *key, const char *field,
                        struct dt_digest *ret, struct dt_err *reterr);

/* A free field without a claim, and the key of the certificates that cover it. */
struct dt_free_row {
    const char *family, *site, *field;
    struct dt_digest key;
};
int dt_store_tuple_free_put (struct dt_store *s, const struct dt_digest *tuple,
                             const struct dt_free_row *row, struct dt_err *reterr);
int dt_store_tuple_free (struct dt_store *s, const struct dt_digest *tuple,
                         int (*fn) (void *ctx, const struct dt_free_row *row), void *ctx,
                         struct dt_err *reterr);
/* All free fields of a tuple are covered: 0; `fn` (may be NULL) is handed the
 * certificates, each once for a field.
 *   -DT_EREFUSED  one is not: the text names it, and a certificate that was revoked */
int dt_store_tuple_covered (struct dt_store *s, const struct dt_digest *tuple,
                            int (*fn) (void *ctx, const struct dt_digest *certificate), void *ctx,
                            struct dt_err *reterr);

struct dt_store_counts {
    uint64_t traces, solutions, tuples, commits, bytes;
};
int dt_store_counts (struct dt_store *s, struct dt_store_counts *ret, struct dt_err *reterr);

#endif
