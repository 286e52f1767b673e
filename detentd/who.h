/* detentd/who.h - who computes here: a backend's identity.
 * Uses: detentd/worker.h, detentd/options.h.  Used by: standing.c, req_coverage.c.
 *
 * Certificates hold for a backend's build, libraries, driver, device and units.  A worker
 * asks the backend for them without a context: a device that a job, another detentd or an
 * engine works on is not touched, so no lease is needed, and one that runs nothing any more
 * is known all the same if its driver knows it.  Libraries are loaded, which takes from
 * milliseconds to seconds; so the answer is kept for as long as the plugin's file is the
 * same, but not for long: a driver may be another by then. */
#ifndef DT_DETENTD_WHO_H
#define DT_DETENTD_WHO_H

#include "base/arena.h"
#include "base/err.h"
#include "proto/detent.pb-c.h"

/* How long an answer, or a failure, stands.  What must not be wrong at all (certify,
 * tune, commit's fetch by libdetent) asks the backend itself. */
#define DT_WHO_KEEP_NS 60000000000ull

struct dt_options;
struct dt_who; /* the table; any thread */

int dt_who_new (struct dt_who **ret, struct dt_err *reterr);
struct dt_who *dt_who_free (struct dt_who *t); /* NULL ok; returns NULL */

/* The identity of a backend on `units` (0: all) of its first device, copied into `a`; *ret
 * is NULL if there is none, and *ret_why (in `a`) says why.  `fresh`: ask now.  Not for
 * the loop.
 *   -ENOMEM */
int dt_who_get (struct dt_who *t, const struct dt_options *o, const char *backend, uint32_t units,
                int fresh, struct dt_arena *a, const Detent__WorkerIdentity **ret,
                const char **ret_why, struct dt_err *reterr);

#endif
