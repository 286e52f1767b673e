/* detentd/families.h - what backends say of their families.
 * Uses: detentd/worker.h, solver/family.h.  Used by: req_solve.c, tuning.c.
 *
 * A worker that only describes is started once for each backend file (name, size and
 * time), and its answer kept.  No device is needed for that.  Without an answer there
 * is no schema: solves go on, under a key that says so, and tunes fail at their own
 * attempt to open the backend. */
#ifndef DT_DETENTD_FAMILIES_H
#define DT_DETENTD_FAMILIES_H

#include "base/err.h"
#include "solver/family.h"

/* A backend that could not be described is asked again after this. */
#define DT_FAMILIES_RETRY_NS 60000000000ull

struct dt_options;
struct dt_families; /* the table; any thread */
struct dt_schema_of; /* one backend's families; immutable */

int dt_families_new (struct dt_families **ret, struct dt_err *reterr);
struct dt_families *dt_families_free (struct dt_families *t); /* NULL ok; returns NULL */

/* The families of a backend by name; *ret is NULL if there is no such file, or it
 * could not be described (then *why says how, at the attempt only).  Released with
 * dt_schema_unref.  Not for the loop: it may start a worker and wait for it.
 *   -ENOMEM */
int dt_families_get (struct dt_families *t, const struct dt_options *o, const char *backend,
                     struct dt_schema_of **ret, struct dt_err *why, struct dt_err *reterr);
struct dt_schema_of *dt_schema_unref (struct dt_schema_of *s); /* NULL ok; returns NULL */
/* One of them by name; NULL if there is none, or s is NULL.  Borrowed. */
const struct dt_family *dt_schema_family (const struct dt_schema_of *s, const char *name);

#endif
