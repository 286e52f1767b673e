/* tuner/stats.h - the statistics of the race: plain code, no clock, no device.
 * Uses: nothing of ours.  Used by: tuner/race.c, tuner/cover.c. */
#ifndef DT_TUNER_STATS_H
#define DT_TUNER_STATS_H

#include <stddef.h>
#include <stdint.h>

/* A seeded generator (splitmix64): the same sequence everywhere. */
struct dt_random {
    uint64_t state;
};
uint64_t dt_random_next (struct dt_random *r);
size_t dt_random_below (struct dt_random *r, size_t n); /* 0..n-1; n > 0 */
double dt_random_unit (struct dt_random *r);            /* in [0, 1)     */
void dt_random_shuffle (struct dt_random *r, size_t *items, size_t n);

/* Location and its standard error: the mean without the lowest and highest fifth
 * (rounded down), and Yuen's standard error of it from the winsorised variance, so
 * that a few outliers on either side do not count.  n >= 2; sorts x in place. */
struct dt_stats {
    double mean, error;
    double df; /* degrees of freedom of `error` */
};
struct dt_stats dt_stats_trimmed (double *x, size_t n);

/* t such that Student's T with df degrees of freedom is above it with probability
 * `tail` (0 < tail < 0.5). */
double dt_stats_t (double tail, double df);

/* What look k (1, 2, ...) may spend of alpha: alpha / (k (k + 1)), which sums to
 * alpha over all looks, so the interval holds at every one of them. */
double dt_stats_spend (double alpha, size_t k);

#endif
