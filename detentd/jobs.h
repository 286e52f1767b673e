/* detentd/jobs.h - tunes from the request to their end.
 * Uses: detentd/store.h, detentd/pool.h.  Used by: req_*.c, tuning.c, resume.c, loop.c.
 *
 * A job is queued, running, and then done, failed or cancelled.  One whose device does
 * not answer (holds.h), or is another detentd's (lease.h), is held before it runs: it is
 * with no thread, and a restart takes it up again.  The store has every job; this table
 * has those that have not ended.  It belongs to the loop; what the tuner's thread shares
 * with it is under the job's lock. */
#ifndef DT_DETENTD_JOBS_H
#define DT_DETENTD_JOBS_H

#include <pthread.h>
#include <stdatomic.h>

#include "detentd/pool.h"
#include "detentd/worker.h"
#include "proto/detent.pb-c.h"

/* Jobs that have not ended.  One takes a minute of a node's kernels: beyond this
 * somebody submits by mistake. */
#define DT_JOBS_MAX 32
#define DT_JOB_WHAT 1024
#define DT_JOB_MAX_TRACES 16 /* of one workload: each has its part of the sampled calls */
#define DT_JOB_MAX_FORCE 64

enum dt_job_state {
    DT_JOB_QUEUED, DT_JOB_HELD, DT_JOB_RUNNING, DT_JOB_DONE, DT_JOB_FAILED, DT_JOB_CANCELLED,
    DT_JOB_STATES
};
const char *dt_job_state_name (enum dt_job_state s);

struct dt_peer;
struct dt_job {
    struct dt_work work; /* first */
    struct dt_job *next;
    struct dt_daemon *d;
    /* Set before it is queued, then read only. */
    uint64_t id;
    const char *kind; /* "tune", "certify": static */
    char *deployment, *workload;
    char *family, *site; /* certify: only these, or NULL */
    uint32_t repeats, rivals;
    uint64_t seed;
    struct dt_digest trace[DT_JOB_MAX_TRACES];
    size_t n_traces;
    double budget_s;
    uint64_t max_calls;
    int exhaustive, no_tables, anew; /* anew: what is in the store is not taken */
    int shared;                      /* other processes may work on the device */
    uint8_t *request;                /* the packed Request, for a restart */
    size_t n_request;
    struct dt_job_force {
        char *site, *name, *value;
    } *force; /* [n_force] pins and knobs that the operator sets */
    size_t n_force;
    int64_t started_ns;
    /* The loop's. */
    struct dt_peer *peer; /* [n_peers] clients that follow it */
    size_t n_peers, room_peers;
    int parked;           /* held: with no thread */
    uint64_t retry_ns;    /* not before, of CLOCK_MONOTONIC */
    unsigned retries;
    /* The tuner's thread's while the work is there, else the loop's. */
    char *backend;        /* what it needs: that backend's first devices; NULL: not known */
    uint32_t devices;
    int waits;            /* it ended its turn to be held */
    /* Shared. */
    _Atomic int cancel; /* 0, or who ended it */
    pthread_mutex_t lock;
    enum dt_job_state state;
    double fraction, left_s; /* left_s < 0: unknown */
    char what[DT_JOB_WHAT];
    uint64_t measurements; /* that are stored */
    uint64_t changes, told; /* told: those that followers know */
    struct dt_worker *worker;
    /* Written by the tuner's thread before `done`: the packed final JobReply. */
    uint8_t *result;
    size_t n_result;
    int owed; /* 1: its end is not in the store, which was full then */
};

struct dt_jobs {
    struct dt_job *head;
    size_t n;
    size_t coming;       /* asked for, and not in the table yet */
    struct dt_job *owed; /* ended; the store is asked again until it takes that */
    int asking;          /* owed->work is with the writer */
    unsigned ticks;
};

struct dt_job *dt_job_new (const char *kind, const char *deployment, const char *workload,
                           struct dt_err *reterr);
struct dt_job *dt_job_free (struct dt_job *j); /* NULL ok; returns NULL */
/* Into the table, and to the tuner; the job is the table's.
 *   what dt_pool_post returns: the job is still the caller's */
int dt_job_start (struct dt_daemon *d, struct dt_job *j,
                  void (*run) (struct dt_work *w, struct dt_store *s), struct dt_err *reterr);
struct dt_job *dt_job_find (struct dt_daemon *d, uint64_t id);
struct dt_job *dt_job_owed (struct dt_daemon *d, uint64_t id); /* ended, not in the store */
/* Follow it: progress, then the end. */
int dt_job_attach (struct dt_job *j, const struct dt_peer *peer, struct dt_err *reterr);
/* Ask it to end; kills its worker. */
enum { DT_JOB_ASKED = 1, DT_JOB_STOPPED = 2 };
void dt_job_cancel (struct dt_job *j, int why);
/* Fill in what is known now; strings are borrowed from the job and `what`. */
void dt_job_describe (struct dt_job *j, Detent__JobReply *ret, char what[DT_JOB_WHAT]);
/* On the tuner's thread: move to another state; the table of states allows it. */
void dt_job_move (struct dt_job *j, enum dt_job_state state);

/* -DT_ECANCELLED if somebody asked it to end. */
int dt_job_live (struct dt_job *j, struct dt_err *reterr);
/* On the tuner's thread: it cannot run for now, for this reason; its turn ends. */
void dt_job_hold (struct dt_job *j, const char *why);
/* On the tuner's thread, in this order: running, in the store too; what it was in
 * the end (dt_job_describe, and `text` in place of `what`); that, packed for the
 * clients; and in the store, within a transaction.
 *   -DT_ECANCELLED, -ENOMEM, or the store's */
int dt_job_begin (struct dt_job *j, struct dt_err *reterr);
void dt_job_describe_end (struct dt_job *j, enum dt_job_state state, int code, const char *text,
                          Detent__JobReply *ret, char what[DT_JOB_WHAT]);
int dt_job_pack (struct dt_job *j, const Detent__JobReply *reply, struct dt_err *reterr);
int dt_job_put_end (struct dt_job *j, struct dt_store *s, const Detent__JobReply *reply,
                    const struct dt_digest *tuple, struct dt_err *reterr);

/* Tell followers what changed, and go on with what need wait no more; called at most every
 * DT_JOBS_TICK_MS. */
#define DT_JOBS_TICK_MS 200
void dt_jobs_tick (struct dt_daemon *d);
int dt_jobs_any (const struct dt_daemon *d); /* a tick has something to do */
/* After the pools: forget what is held, and ends that the store never took; the next start
 * has them. */
void dt_jobs_done (struct dt_daemon *d);
/* The daemon stops: cancel all but those that are held. */
void dt_jobs_stop (struct dt_daemon *d);
/* Pack what asked for it.  -ENOMEM */
int dt_job_keep_request (struct dt_job *j, const Detent__Request *rq, struct dt_err *reterr);

#endif
