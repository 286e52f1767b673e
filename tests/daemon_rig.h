/* tests/daemon_rig.h - a real detentd in a directory of its own, and requests to it. */
#ifndef DT_TESTS_DAEMON_RIG_H
#define DT_TESTS_DAEMON_RIG_H

#include <sys/types.h>

#include "detentd/store.h"
#include "proto/wire.h"

struct rig {
    char dir[64], state[80], runtime[80], endpoint[128], database[128], log[128];
    pid_t pid;
    struct dt_client *client;
};

/* A fresh directory; nothing runs yet. */
void rig_init (struct rig *g);
/* Start PROGRAM of the build ("detentd/detentd") with --state-dir and so on, and
 * `extra` (NULL-terminated, may be NULL); wait until it answers. */
void rig_start (struct rig *g, const char *program, const char *const *extra);
/* Start it and only return its pid. */
pid_t rig_spawn (struct rig *g, const char *program, const char *const *extra);
/* SIGTERM, and its exit status (of waitpid). */
int rig_stop (struct rig *g);
int rig_wait (struct rig *g);
/* Stop what runs and remove the directory. */
void rig_done (struct rig *g);

/* One request; the reply is owned by the caller, or NULL with a negative code. */
int rig_call (struct rig *g, Detent__Request *rq, Detent__Reply **ret, struct dt_err *err);

void rig_reply_free (Detent__Reply *r); /* NULL ok */
int rig_attach (struct rig *g, uint64_t job, Detent__Reply **ret, struct dt_err *err);
int rig_cancel (struct rig *g, uint64_t job, Detent__Reply **ret, struct dt_err *err);
int rig_list_jobs (struct rig *g, Detent__Reply **ret, struct dt_err *err);
/* One statement to its database: what it gives first, else how many rows it changed. */
int64_t rig_sql (struct rig *g, const char *statement);
/* It has logged this. */
void rig_logged (struct rig *g, const char *text);

/* Store, in a database that nobody has open, a tuple of (deployment, workload)
 * with one site and selectors of `n_selector` bytes; `seed` makes it distinct.  A
 * finished job makes it the newest tune's. */
struct dt_digest rig_seed (struct rig *g, const char *deployment, const char *workload,
                           unsigned seed, int sampled, const char *uncovered,
                           size_t n_selector);

int rig_commit (struct rig *g, const char *deployment, const char *workload,
                const struct dt_digest *tuple, int accept_sampled,
                const ProtobufCBinaryData *expected_parent, Detent__Reply **ret,
                struct dt_err *err);
int rig_fetch (struct rig *g, const char *deployment, const char *workload,
               const ProtobufCBinaryData *snapshot, Detent__Reply **ret, struct dt_err *err);
/* A fetched bundle is whole: digests, signature, selectors.  The sequence of its commit. */
int64_t rig_check_bundle (const Detent__FetchReply *f);
/* Header fields of a fresh trace. */
struct dt_trace;
void rig_describe (struct dt_trace *t);
/* An encoded trace of one attention site; owned by the caller (dt_buf_done). */
void rig_trace (unsigned seed, struct dt_buf *ret);
int rig_submit (struct rig *g, const char *workload, const struct dt_buf *trace,
                Detent__Reply **ret, struct dt_err *err);

#endif
