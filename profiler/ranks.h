/* profiler/ranks.h - the other ranks of a group: a worker process each.
 * Uses: base/, proto/, include/detent/backend.h.  Used by: profiler/worker.c.
 *
 * Rank 0 is the worker that detentd talks to.  It starts the others as processes like
 * itself, each with a socket as descriptor 3, and passes on what all ranks must run. */
#ifndef DT_PROFILER_RANKS_H
#define DT_PROFILER_RANKS_H

#include "base/err.h"
#include "detent/backend.h"
#include "proto/detent.pb-c.h"

/* A group is of 2 to this many ranks. */
#define DT_RANKS_MAX 64
/* For all ranks to open and join, and to answer a request: above the backend's own patience
 * with a lost rank, below detentd's with the worker. */
#define DT_RANKS_DEADLINE_MS 12000

struct dt_ranks;

/* Start the ranks from 1 on, told what rank 0 was told.
 *   -DT_EWORKER  a process does not start     -DT_EINPUT  too many ranks */
int dt_ranks_start (const Detent__WorkerOpen *open, struct dt_ranks **ret, struct dt_err *reterr);
/* Close their sockets, at which they end, and wait for that; who takes long is killed.  NULL
 * ok; returns NULL. */
struct dt_ranks *dt_ranks_free (struct dt_ranks *k);

/* Rank 0's gather (`user` is the dt_ranks), and any other's (`user` is an int *: the
 * socket to rank 0); see include/detent/backend.h. */
int dt_ranks_gather (void *user, const void *mine, size_t bytes, void *all);
int dt_ranks_gather_below (void *user, const void *mine, size_t bytes, void *all);

/* All ranks have opened, rank 0 with the result `mine` and the text in reterr: take the
 * others' replies.  The result is as that of dt_ranks_take.
 *   -DT_EENVIRONMENT  a rank's device is not of the model of `who`, rank 0's */
int dt_ranks_opened (struct dt_ranks *k, int mine, const Detent__WorkerIdentity *who,
                     struct dt_err *reterr);

/* Pass on a request to measure or to look, which rank 0 then serves itself.  A rank that
 * does not take it is met when the replies are.
 *   -ENOMEM  it was passed to none */
int dt_ranks_pass (struct dt_ranks *k, const Detent__WorkerRequest *rq, struct dt_err *reterr);
/* Take the others' replies: all of them, so that the sockets stay in step.  `mine` is rank
 * 0's own result, and its text in reterr.
 *
 * If all are well: of each repeat the least time stays in times->ns [n_ns], since the rank
 * that came last waited for nobody, and the worst of all devices in times->state: the
 * least clocks, every reason, the most others.  Of a look, n_ns is 0.
 *
 * Else the one error that is the cause of others, with `rank 1: ` before the text of
 * another rank's: a lost device comes first, then whatever a rank knows of itself, a time
 * that is not to be trusted, a rank that does not answer, one that only knows that another
 * did not come, and -EAGAIN last. */
int dt_ranks_take (struct dt_ranks *k, int mine, Detent__WorkerTimes *times, struct dt_err *reterr);

#endif
