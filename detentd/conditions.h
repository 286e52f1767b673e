/* detentd/conditions.h - what the device was like while a job measured.
 * Uses: base/, proto/.  Used by: measure.h, tuning.c, certifying.c. */
#ifndef DT_DETENTD_CONDITIONS_H
#define DT_DETENTD_CONDITIONS_H

#include "base/err.h"
#include "proto/detent.pb-c.h"

struct dt_clocks { /* [n] MHz, in the order of the measurements */
    uint32_t *mhz;
    size_t n, room;
};
/* Other processes that worked on the device, looked for now and then.  Zero-initialise. */
struct dt_others {
    uint32_t most; /* at once */
    int known, unknown; /* a look told how many; a look did not */
};
/* Zero-initialise. */
struct dt_conditions {
    struct dt_clocks clock, memory;
    uint64_t reasons; /* of any measurement */
    int any_reasons;
    struct dt_others others;
};

/* So many were seen; -1: that was not reported. */
void dt_others_add (struct dt_others *o, int64_t n);
/* The most at once; -1: not known.  Nobody is known only where every look told. */
int64_t dt_others_most (const struct dt_others *o);

/* Of a measurement; NULL: nothing was reported.  -ENOMEM */
int dt_conditions_add (struct dt_conditions *c, const Detent__WorkerState *s,
                       struct dt_err *reterr);
/* Into the reply: least and median of each clock, if it was reported.  Sorts them. */
void dt_conditions_describe (struct dt_conditions *c, Detent__JobReply *ret);
void dt_conditions_done (struct dt_conditions *c);

#endif
