/* detentd/probe.h - batches that ask a family's kernels whether selection shows.
 * Uses: trace/schema.h, tuner/inputs.h, selir/vm.h.  Used by: detentd/round.c.
 *
 * A probe knows a site's pinned selector: it draws calls that selection takes, and
 * finds where the free values that it returns change.  Equal seeds draw equal
 * batches. */
#ifndef DT_DETENTD_PROBE_H
#define DT_DETENTD_PROBE_H

#include "base/arena.h"
#include "trace/schema.h"
#include "tuner/inputs.h"

#define DT_PROBE_MAX_REQUESTS 512

struct dt_probe; /* borrows the schema and the vm */

struct dt_probe_batch {
    size_t n;
    int64_t *request; /* [n * fields] row-major */
    uint64_t *seed;   /* [n]: equal requests have equal seeds */
};

/*   -DT_EINPUT    the selector is not of the schema
 *   -DT_EREFUSED  no call that could be thought of is in its domain */
int dt_probe_new (const struct dt_schema *schema, const struct dt_vm *vm, uint64_t seed,
                  struct dt_probe **ret, struct dt_err *reterr);
struct dt_probe *dt_probe_free (struct dt_probe *p); /* NULL ok; returns NULL */

/* A batch of n requests, or of fewer if selection takes no more, of about `work` by
 * dt_schema_work in all, of which one request has nearly half if there are several.
 * Of the arena of `a`.  -ENOMEM */
int dt_probe_draw (struct dt_probe *p, struct dt_arena *a, size_t n, double work,
                   struct dt_probe_batch *ret, struct dt_err *reterr);

/* What selection returns for a batch: scalar values in out[outputs]; of own outputs
 * those of the first request.  1, or 0: it refuses the batch. */
int dt_probe_select (struct dt_probe *p, const struct dt_probe_batch *b, int64_t *out);

/* The values at which a free value changes: least values of the upper side.
 * Appends to ret[room] those of input `i` of the selector; returns how many. */
size_t dt_probe_thresholds (struct dt_probe *p, size_t input, int64_t *ret, size_t room);

/* A batch in which the input's quantity is `v`, of at most `work`.  1, 0: none was
 * found, or -ENOMEM. */
int dt_probe_at (struct dt_probe *p, struct dt_arena *a, size_t input, int64_t v, double work,
                 struct dt_probe_batch *ret, struct dt_err *reterr);

#endif
