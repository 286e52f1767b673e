/* tuner/race.h - which of several arms is cheapest on weighted calls, from noisy
 * timings.
 * Uses: base/err.h.  Used by: tuner/tune.c, tests.
 *
 * Pure decision logic: it times by a callback and knows no kernel.  With the same
 * timings and clock it decides the same.
 *
 * A round visits calls; at each, every arm in the race is timed once, in random
 * order, so that drift is common to all.  A round gives each arm one weighted sum,
 * and arms are compared by the paired log-ratios of those sums.  Stages:
 *
 *   screen  if there are many arms: two rounds on a few calls of all sizes keep the
 *           best part of them
 *   heavy   if there are few: rounds on the heaviest calls only drop an arm whose cost
 *           on them alone is above the incumbent's on all calls
 *   field   rounds on all calls drop those that are above the best; of many, the best
 *           by mean go on
 *   final   a few finalists and the incumbent, on fresh timings only
 *   confirm the winner and the incumbent in a fresh process
 *
 * The winner must beat the incumbent by the minimum effect, by an interval that
 * holds at every look, and again in the fresh process; else it is a tie, which keeps
 * the incumbent.  An arm that takes 50 times the incumbent's time on a call is not
 * timed again: what hangs costs one timing.
 *
 * If calls are of several groups (traces of one workload), the objective is the mean
 * over groups of the cost relative to the incumbent's. */
#ifndef DT_TUNER_RACE_H
#define DT_TUNER_RACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DT_RACE_FINALISTS 4   /* beside the incumbent            */
#define DT_RACE_ALPHA 0.01    /* a wrong winner in so many races */
#define DT_RACE_STAGES 5

struct dt_race {
    size_t n_arms, n_calls;
    const double *weight;     /* [n_calls] how often each call comes               */
    const uint32_t *work;     /* [n_arms * n_calls] equal entries of one call do
                                 the same and are timed once; each < n_arms; NULL:
                                 all differ                                        */
    const uint32_t *group;    /* [n_calls] < n_groups; NULL: one                   */
    size_t n_groups;
    size_t incumbent;
    double minimum_effect;    /* relative                                          */
    double budget_s;
    size_t max_rounds;        /* of the final stage; 0: 64                         */
    uint64_t seed;
    int exhaustive;           /* nothing is dropped before the finalists are chosen */

    void *ctx;
    /* -DT_EUNSUPPORTED: this arm cannot run; the race goes on without it.  Any other
     * error ends the race. */
    int (*measure) (void *ctx, size_t arm, size_t call, uint64_t *ret_ns, struct dt_err *reterr);
    /* From now on time in a new process, with new addresses and data; NULL: winners are
     * not confirmed. */
    int (*fresh) (void *ctx, struct dt_err *reterr);
    uint64_t (*now_ns) (void *ctx);
    /* After each round; NULL: none.  Another result than 0 ends the race with
     * -DT_ECANCELLED. */
    int (*progress) (void *ctx, double fraction, double left_s, const char *stage, size_t in_race);
};

struct dt_race_result {
    size_t chosen;
    size_t runner_up;          /* the next best by mean that was timed, `chosen` if none was */
    int tie;
    double ratio, lo, hi;      /* chosen over incumbent; on a tie, of the incumbent
                                  against itself                                   */
    double worst_ratio;        /* worst arm timed in a whole round, over the chosen */
    size_t n_measured;         /* arms timed                                       */
    size_t n_final;            /* arms of the final stage                          */
    size_t n_failed;           /* arms that could not run                          */
    size_t rounds[DT_RACE_STAGES];
    uint64_t n_measurements;
    int confirm;               /* enum dt_race_confirm                             */
    double again, again_lo, again_hi; /* the winner's ratio in the fresh process, with its
                                  interval (90%); 1 if there was no winner         */
};
enum dt_race_confirm {
    DT_RACE_NO_WINNER, DT_RACE_CONFIRMED, DT_RACE_NOT_CONFIRMED /* so the incumbent stays */
};

/* ret_mean_ns (may be NULL): [n_calls] mean time of the chosen arm, 0 where it was
 * not timed.
 *   -DT_EUNTRUSTED  the incumbent differs from itself by more than the effect, a winner
 *                   is slower than the incumbent in the fresh process, or the budget
 *                   was too short for three rounds of the finalists
 *   -DT_ECANCELLED, -ENOMEM, or what `measure` returned */
int dt_race_run (const struct dt_race *race, struct dt_race_result *ret, double *ret_mean_ns,
                 struct dt_err *reterr);

#endif
