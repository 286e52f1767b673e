/* detentd/jobs.h - the table of the jobs that have not ended.
 * Uses: detentd/job.h.  Used by: req_*.c, resume.c, daemon.h, loop.c.
 *
 * The store has every job.  The table belongs to the loop; what the tuner's thread shares
 * with it is under the job's lock. */
#ifndef DT_DETENTD_JOBS_H
#define DT_DETENTD_JOBS_H

#include "detentd/job.h"

/* Jobs that have not ended.  One takes a minute of a node's kernels: beyond this
 * somebody submits by mistake. */
#define DT_JOBS_MAX 32

struct dt_jobs {
    struct dt_job *head;
    size_t n;
    size_t coming;       /* asked for, and not in the table yet */
    struct dt_job *owed; /* ended; the store is asked again until it takes that */
    int asking;          /* owed->work is with the writer */
    unsigned ticks;
};

/* Into the table, and to the tuner; the job is the table's.
 *   what dt_pool_post returns: the job is still the caller's */
int dt_job_start (struct dt_daemon *d, struct dt_job *j,
                  void (*run) (struct dt_work *w, struct dt_store *s), struct dt_err *reterr);
struct dt_job *dt_job_find (struct dt_daemon *d, uint64_t id);
struct dt_job *dt_job_owed (struct dt_daemon *d, uint64_t id); /* ended, not in the store */
/* Follow it: progress, then the end. */
int dt_job_attach (struct dt_job *j, const struct dt_peer *peer, struct dt_err *reterr);
/* Ask it to end, with who does; kills its worker. */
void dt_job_cancel (struct dt_job *j, int why);

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

#endif
