/* tuner/race.h - which of several arms is cheapest on weighted calls, from noisy
 * timings.
 * Uses: base/err.h.  Used by: tuner/tune.c, tests.
 *
 * Pure decision logic: it times by a callback and knows no kernel.  With the same
 * timings and clock it decides the same.
 *
 * A round visits calls; at each, every arm in the race is timed once, in random
 * order, so that drift is common to all.  A round gives each arm one weighted sum,
 * and arms are compared by the paired log-ratios of those sums.  Three stages:
 *
 *   heavy   rounds on the heaviest calls only drop an arm whose cost on them alone
 *           is above the incumbent's on all calls
 *   field   rounds on all calls drop those that are above the best
 *   final   a few finalists and the incumbent, on fresh timings only
 *
 * The winner must beat the incumbent by the minimum effect, by an interval that
 * holds at every look; else it is a tie, which keeps the incumbent. */
#ifndef DT_TUNER_RACE_H
#define DT_TUNER_RACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DT_RACE_FINALISTS 4   /* beside the incumbent            */
#define DT_RACE_ALPHA 0.01    /* a wrong winner in so many races */

struct dt_race {
    size_t n_arms, n_calls;
    const double *weight;     /* [n_calls] how often each call comes               */
    const uint32_t *work;     /* [n_arms * n_calls] equal entries of one call do
                                 the same and are timed once; each < n_arms; NULL:
                                 all differ                                        */
    size_t incumbent;
    double minimum_effect;    /* relative                                          */
    double budget_s;
    size_t max_rounds;        /* of the final stage; 0: 64                         */
    uint64_t seed;
    int exhaustive;           /* nothing is dropped before the finalists are chosen */

    void *ctx;
    int (*measure) (void *ctx, size_t arm, size_t call, uint64_t *ret_ns, struct dt_err *reterr);
    uint64_t (*now_ns) (void *ctx);
    /* After each round; NULL: none.  Another result than 0 ends the race with
     * -DT_ECANCELLED. */
    int (*progress) (void *ctx, double fraction, double left_s, const char *stage, size_t in_race);
};

struct dt_race_result {
    size_t chosen;
    int tie;
    double ratio, lo, hi;      /* chosen over incumbent; on a tie, of the incumbent
                                  against itself                                   */
    double worst_ratio;        /* worst arm timed in a whole round, over the chosen */
    size_t n_measured;         /* arms timed                                       */
    size_t n_final;            /* arms of the final stage                          */
    size_t rounds[3];          /* by stage                                         */
    uint64_t n_measurements;
};

/* ret_mean_ns (may be NULL): [n_calls] mean time of the chosen arm, 0 where it was
 * not timed.
 *   -DT_EUNTRUSTED  the incumbent differs from itself by more than the effect
 *   -DT_ECANCELLED, -ENOMEM, or what `measure` returned */
int dt_race_run (const struct dt_race *race, struct dt_race_result *ret, double *ret_mean_ns,
                 struct dt_err *reterr);

#endif
