/* detentd/worker.h - one detent-profiler process.
 * Uses: proto/.  Used by: job.h, lease.h, holds.c, families.c, who.c.
 *
 * A worker that dies or hangs is an error of the call (-DT_EWORKER), whose text
 * says how it ended and what it ran.  One thread calls; any may kill. */
#ifndef DT_DETENTD_WORKER_H
#define DT_DETENTD_WORKER_H

#include "base/err.h"
#include "proto/detent.pb-c.h"

/* To take a request, and then to answer it.  A call of attention takes milliseconds; the largest that a
 * trace may hold (65,536 requests) seconds on two cores. */
#define DT_WORKER_DEADLINE_MS 15000
/* A batch of certification runs each of up to 64 combinations so often; of a product of 8,192
 * tokens on a GPU a run takes 40 ms, as its 235 MB are fetched and compared.  So many repeats
 * have the time above, twice as many twice that. */
#define DT_WORKER_REPEATS 4

struct dt_worker;

/* Files that a worker holds open for its owner. */
#define DT_WORKER_MAX_KEPT 64
#define DT_WORKER_LEAST_KEPT 4 /* their least number in the owner */

/* Start the program; it finds its socket at file descriptor 3, and holds what `keep`
 * [n_keep] are open on until it ends. */
int dt_worker_new (const char *profiler, const int *keep, size_t n_keep, struct dt_worker **ret,
                   struct dt_err *reterr);
/* How long a request may take. */
int dt_worker_deadline_ms (const Detent__WorkerRequest *rq);
/* Send a request and wait for its reply, which the caller frees
 * (detent__worker_reply__free_unpacked (r, NULL)).  An Error reply becomes its code
 * and text.  `doing` says what it runs, for the error. */
int dt_worker_call (struct dt_worker *w, const Detent__WorkerRequest *rq, const char *doing,
                    Detent__WorkerReply **ret, struct dt_err *reterr);
void dt_worker_kill (struct dt_worker *w); /* any thread */
/* Close its socket, give it a moment to exit, else kill; NULL ok; returns NULL. */
struct dt_worker *dt_worker_free (struct dt_worker *w);

#endif
