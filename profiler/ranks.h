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
/* For a rank to open its device and to answer a call: above the backend's own patience
 * with a lost rank, below detentd's with the worker. */
#define DT_RANKS_DEADLINE_MS 12000

struct dt_ranks;

/* Start the ranks from 1 on, told what rank 0 was told.
 *   -DT_EWORKER  a process does not start     -DT_EINPUT  too many ranks */
int dt_ranks_start (const Detent__WorkerOpen *open, struct dt_ranks **ret, struct dt_err *reterr);
/* Close their sockets, at which they end, and wait for that; NULL ok; returns NULL. */
struct dt_ranks *dt_ranks_free (struct dt_ranks *k);

/* Rank 0's gather (`user` is the dt_ranks), and any other's (`user` is an int *: the
 * socket to rank 0); see include/detent/backend.h. */
int dt_ranks_gather (void *user, const void *mine, size_t bytes, void *all);
int dt_ranks_gather_below (void *user, const void *mine, size_t bytes, void *all);

/* Why the last gather of rank 0 failed; "" if none did. */
const char *dt_ranks_why (const struct dt_ranks *k);

/* Take the others' replies to their opening. */
int dt_ranks_opened (struct dt_ranks *k, struct dt_err *reterr);

/* Pass a measure request on; then, once rank 0 has run it too, take the others' times:
 * of each repeat the least stays in ns [n], since the rank that came last waited for
 * nobody.  `rank 1: ` stands before the text of another rank's error; -EAGAIN only if no
 * rank has another. */
int dt_ranks_pass (struct dt_ranks *k, const Detent__WorkerRequest *rq, struct dt_err *reterr);
int dt_ranks_times (struct dt_ranks *k, uint64_t *ns, size_t n, struct dt_err *reterr);

#endif
