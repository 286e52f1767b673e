/* host/team.h - threads that stand for the ranks of a collective, and their barrier.
 * Uses: pthread.  Used by: kernels/host/backend.c, kernels/allreduce/host.
 *
 * Ranks wait for each other, so each has a thread of its own, asleep between calls:
 * the pool's threads are fewer, and take one task after the other.  A rank that does
 * not come is reported, never waited for without end. */
#ifndef KERNELS_HOST_TEAM_H
#define KERNELS_HOST_TEAM_H

#include <detent/backend.h>

#define HOST_MAX_RANKS 8u

struct host_team; /* owned; one call of host_team_run at a time */

/* One rank's part of a call.  Returns 0, or the code of a barrier that failed. */
typedef int (*host_rank_f) (void *arg, struct host_team *team, size_t rank);

/* Start HOST_MAX_RANKS threads.  -ENOMEM, -EAGAIN */
int host_team_new (struct host_team **ret);
/* NULL ok; returns NULL.  A rank that is lost is left behind, with the team: what
 * it does later touches neither. */
struct host_team *host_team_free (struct host_team *team);

/* Most bytes of a call's 'arg'. */
#define HOST_TEAM_ARG 256

/* Run all ranks and return when they are done.  'arg' is copied, for a rank that is
 * lost may still read it: at most HOST_TEAM_ARG bytes.
 *   -DT_BACKEND_EDEVICE  a rank did not come to a barrier within timeout_ns, or did
 *                        not end long after the others; 'err' names the ranks.  In the
 *                        second case the team is lost, and refuses all calls; the
 *                        call's buffers may still be written */
int host_team_run (struct host_team *team, size_t ranks, uint64_t timeout_ns, host_rank_f run,
                   const void *arg, size_t arg_bytes, struct dt_backend_error *err);

/* Wait for all ranks of this run.  -DT_BACKEND_EDEVICE: some rank did not come; the
 * caller ends its part. */
int host_team_wait (struct host_team *team, size_t rank);
#endif
