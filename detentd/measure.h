/* detentd/measure.h - the tuner's callbacks: the worker, and what it measured.
 * Uses: detentd/conditions.h, job.h, lease.h, tuner/tune.h.  Used by: tuning_parts.h,
 * additive.h, certifying.c. */
#ifndef DT_DETENTD_MEASURE_H
#define DT_DETENTD_MEASURE_H

#include "detentd/conditions.h"
#include "detentd/job.h"
#include "detentd/lease.h"
#include "solver/deployment.h"
#include "tuner/tune.h"

/* Measurements are stored in one transaction per this many or this long, so that
 * a sync of the disk (milliseconds) does not follow each call (microseconds). */
#define DT_MEASURE_BATCH 256
#define DT_MEASURE_BATCH_NS 250000000ull

/* Belongs to the tuner's thread. */
struct dt_measure {
    struct dt_job *job;
    struct dt_worker *worker;
    Detent__WorkerReply *opened; /* holds the identity */
    const Detent__WorkerIdentity *who;
    int64_t backend; /* row of the store */
    char *plugin;    /* its path */
    struct dt_lease lease;
    struct dt_conditions conditions;
    Detent__WorkerState state; /* of the last measurement */
    struct dt_others others;   /* since the last look */
    uint32_t units, ranks;
    int untimed; /* set before `open`: nothing will be timed */
    /* Of the site that is tuned now. */
    const struct dt_site *site;
    struct dt_digest solution, plan;
    struct dt_measurement *known; /* [n_known] of the plan, in their order */
    size_t n_known, room_known, at_known;
    int tells_others;       /* does the backend, now, say how many others there are? */
    uint64_t contended_job; /* whose times are known up to the first that is contended; 0: none */
    double done_sites, sites; /* for the fraction of the whole */
    struct dt_measurement pending[DT_MEASURE_BATCH];
    size_t n_pending;
    uint64_t flushed_ns;
};

/* Take the lease of the job's devices, one for each rank, and begin the job; start a
 * worker, open the backend in it, and note who it is in the store.  A device that the
 * worker says is lost is held from then on (holds.h).
 *   -EAGAIN  a device is held, or leased to another detentd: job->waits is set */
int dt_measure_open (struct dt_measure *m, struct dt_job *job, const char *backend,
                     uint32_t units, uint32_t ranks, struct dt_err *reterr);
/* A request of the caller's own; `ctx` is a dt_measure.  A worker whose job is
 * cancelled meanwhile gives -DT_ECANCELLED. */
int dt_measure_ask (void *ctx, const Detent__WorkerRequest *rq, const char *doing,
                    Detent__WorkerReply **ret, struct dt_err *reterr);
/* Look at the devices (below), and read what is known of the plan that is set, for the
 * site that is set. */
int dt_measure_recall (struct dt_measure *m, struct dt_store *s, struct dt_err *reterr);
/* Are the devices still this job's alone?  Then what is pending is stored, as contended as
 * they were at the worst moment since the look before; the job's counter then has it.
 * Whenever the worker says that another process came, or that the device is slowed or
 * lost, what is pending is dropped: nobody knows since when.
 *   -EBUSY     another process came to work on one
 *   -DT_ELOST */
int dt_measure_look (struct dt_measure *m, struct dt_err *reterr);
/* Store what is pending without a look: what was measured is not lost because the job
 * fails for another reason. */
int dt_measure_flush (struct dt_measure *m, struct dt_err *reterr);
void dt_measure_close (struct dt_measure *m);
/* The callbacks, for the site that is set. */
struct dt_tune_hooks dt_measure_hooks (struct dt_measure *m);

#endif
