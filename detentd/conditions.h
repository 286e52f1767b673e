/* detentd/conditions.h - what the device was like while a job measured.
 * Uses: base/, proto/.  Used by: measure.c, tuning.c, certifying.c. */
#ifndef DT_DETENTD_CONDITIONS_H
#define DT_DETENTD_CONDITIONS_H

#include "base/err.h"
#include "proto/detent.pb-c.h"

struct dt_clocks { /* [n] MHz, in the order of the measurements */
    uint32_t *mhz;
    size_t n, room;
};
/* Zero-initialise. */
struct dt_conditions {
    struct dt_clocks clock, memory;
    uint64_t reasons; /* of any measurement */
    int any_reasons;
    uint32_t others; /* the most at once, if any measurement knows */
    int knows_others;
};

/* -ENOMEM */
int dt_conditions_add (struct dt_conditions *c, const Detent__WorkerState *s,
                       struct dt_err *reterr);
/* So many other processes at once; -1: not reported. */
void dt_conditions_others (struct dt_conditions *c, int64_t others);
/* Into the reply: least and median of each clock, if it was reported.  Sorts them. */
void dt_conditions_describe (struct dt_conditions *c, Detent__JobReply *ret);
void dt_conditions_done (struct dt_conditions *c);

#endif
