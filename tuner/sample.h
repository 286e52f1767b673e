/* tuner/sample.h - few calls that stand for all of a trace.
 * Uses: trace/dtrace.h.  Used by: tuner/tune.c, tests. */
#ifndef DT_TUNER_SAMPLE_H
#define DT_TUNER_SAMPLE_H

#include "trace/dtrace.h"

/* A call of the site and how many calls of the trace it stands for. */
struct dt_sample_call {
    size_t call;
    double weight;
    uint8_t certain; /* in every sample: it stands for itself only */
};
struct dt_sample {
    struct dt_sample_call *call; /* in the order of work */
    size_t n;
};

/* Draw at most `max` distinct calls, with a chance proportional to count times
 * dt_schema_work; calls heavy enough are in for certain.  The rest are drawn
 * systematically in the order of work per call, so that all sizes are there.
 * weight = count / chance: sum (weight * t) estimates the trace's sum (count * t)
 * without bias.  -DT_EINPUT: the site has no calls; -ENOMEM. */
int dt_sample_draw (const struct dt_trace_site *s, size_t max, uint64_t seed,
                    struct dt_sample *ret, struct dt_err *reterr);
void dt_sample_done (struct dt_sample *s);

/* Relative standard error of sum (weight * time[n]), from differences of calls
 * that are neighbours in the order of work. */
double dt_sample_error (const struct dt_sample *s, const double *time);
/* Half of its interval (99%, by Student's t for as few calls as were drawn): what is
 * stated of an estimate. */
double dt_sample_half (const struct dt_sample *s, const double *time);

#endif
