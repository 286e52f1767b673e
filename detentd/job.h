/* detentd/job.h - one job, a tune or a certification.
 * Uses: detentd/pool.h, detentd/worker.h.  Used by: jobs.h, forced.h, measure.h, tuning.h,
 * tuning_parts.h.
 *
 * A job is queued, running, and then done, failed or cancelled.  One whose device does
 * not answer (holds.h), or is another detentd's (lease.h), is held before it runs: it is
 * with no thread, and a restart takes it up again. */
#ifndef DT_DETENTD_JOB_H
#define DT_DETENTD_JOB_H

#include <pthread.h>
#include <stdatomic.h>

#include "detentd/pool.h"
#include "detentd/worker.h"
#include "proto/detent.pb-c.h"

#define DT_JOB_WHAT 1024
#define DT_JOB_MAX_TRACES 16 /* of one workload: each has its part of the sampled calls */
#define DT_JOB_MAX_FORCE 64

enum dt_job_state {
    DT_JOB_QUEUED, DT_JOB_HELD, DT_JOB_RUNNING, DT_JOB_DONE, DT_JOB_FAILED, DT_JOB_CANCELLED,
    DT_JOB_STATES
};
const char *dt_job_state_name (enum dt_job_state s);
/* That of one whose work returned `r`. */
enum dt_job_state dt_job_state_of (int r);
enum { DT_JOB_ASKED = 1, DT_JOB_STOPPED = 2 }; /* who cancelled it: somebody, or detentd's end */

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
    uint32_t device;                 /* ordinal of the first that it runs on */
    uint8_t *request;                /* the packed Request, for a restart */
    size_t n_request;
    struct dt_job_force {
        char *site, *name, *value;
    } *force; /* [n_force] pins and knobs that the operator sets */
    size_t n_force;
    int64_t started_ns;
    uint64_t began_ns; /* then, of CLOCK_MONOTONIC; 0: in an earlier process */
    /* The loop's. */
    struct dt_peer *peer; /* [n_peers] clients that follow it */
    size_t n_peers, room_peers;
    int parked;           /* held: with no thread */
    uint64_t retry_ns;    /* not before, of CLOCK_MONOTONIC */
    unsigned retries;
    /* The tuner's thread's while the work is there, else the loop's. */
    char *backend;        /* what it needs: `devices` of that backend's, from `device` on; */
    uint32_t devices;     /* NULL: not known */
    int waits;            /* it ended its turn to be held */
    /* Shared. */
    _Atomic int cancel; /* 0, or who cancelled it */
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

struct dt_job *dt_job_new (const char *kind, const char *deployment, const char *workload,
                           struct dt_err *reterr);
struct dt_job *dt_job_free (struct dt_job *j); /* NULL ok; returns NULL */
/* The one that was asked for, if any was.  -DT_EINPUT */
int dt_job_set_device (struct dt_job *j, int has, uint32_t device, struct dt_err *reterr);
/* Pack what asked for it.  -ENOMEM */
int dt_job_keep_request (struct dt_job *j, const Detent__Request *rq, struct dt_err *reterr);
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
/* That of one with no tuple, in a transaction of its own.  The clients are told even if
 * the store cannot be: then it is owed, and the loop asks the store again. */
void dt_job_end (struct dt_job *j, const Detent__JobReply *reply);

#endif
