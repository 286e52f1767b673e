/* tuner/calls.h - the calls of a workload's traces that are replayed.
 * Uses: tuner/sample.h, tuner/cover.h.  Used by: tuner/tune.c, tuner/tables.c. */
#ifndef DT_TUNER_CALLS_H
#define DT_TUNER_CALLS_H

#include "tuner/cover.h"
#include "tuner/sample.h"

#define DT_CALLS_MAX 24     /* sampled, if nothing else is asked for */
#define DT_CALLS_SPREAD 512 /* of each trace, to plan only: 512 plans take 30 ms */

struct dt_calls {
    struct dt_sample *sample; /* [n_traces]; NULL of a spread               */
    size_t n_traces;
    struct dt_cover_at *at;   /* [n] trace by trace                         */
    double *weight;           /* [n] */
    uint32_t *group;          /* [n] the trace                              */
    size_t n, most_requests;
};

/* Sampled with weights, `max` of all traces (0: DT_CALLS_MAX), each the same part. */
int dt_calls_draw (const struct dt_trace_site *const *trace, size_t n_traces, size_t max,
                   uint64_t seed, struct dt_calls *ret, struct dt_err *reterr);
/* At most DT_CALLS_SPREAD of each trace, evenly, weights as counted. */
int dt_calls_spread (const struct dt_trace_site *const *trace, size_t n_traces,
                     struct dt_calls *ret, struct dt_err *reterr);
void dt_calls_done (struct dt_calls *c);

#endif
