/* detentd/certifying.h - a job that certifies, on the tuner's thread.
 * Uses: detentd/pool.h.  Used by: req_certify.c, resume.c. */
#ifndef DT_DETENTD_CERTIFYING_H
#define DT_DETENTD_CERTIFYING_H

#include "detentd/pool.h"

/* Rounds of one job.  One takes one to three seconds: beyond this say which. */
#define DT_CERTIFYING_MAX_ROUNDS 512

/* Of a request.  A batch has 16 to 64 runs a repeat, and as much time (dt_worker_deadline_ms). */
#define DT_CERTIFYING_MAX_REPEATS 100
#define DT_CERTIFYING_MAX_RIVALS 16 /* as many as the worker takes */

void dt_certifying_run (struct dt_work *w, struct dt_store *s);

#endif
