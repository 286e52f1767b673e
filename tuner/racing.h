/* tuner/racing.h - a race under way: what the parts of race.c share.
 * Uses: tuner/race.h, tuner/stats.h.  Used by: tuner/race*.c. */
#ifndef DT_TUNER_RACING_H
#define DT_TUNER_RACING_H

#include "tuner/race.h"
#include "tuner/stats.h"

enum { DT_RACE_SCREEN, DT_RACE_HEAVY, DT_RACE_FIELD, DT_RACE_FINAL, DT_RACE_CONFIRM };

#define DT_RACE_MANY 64         /* arms, above which they are screened and thinned     */
#define DT_RACE_FIRST_LOOK 3    /* rounds before the first look: a variance needs some */
#define DT_RACE_FIELD_ROUNDS 14 /* at most; then the best by mean are the finalists    */
#define DT_RACE_FINAL_ROUNDS 64
/* Budgets, after which the first look at finalists is given up. */
#define DT_RACE_OVERTIME 8

struct dt_racing {
    const struct dt_race *race;
    struct dt_random random;
    size_t aa;              /* arm index of the incumbent's second self: n_arms */
    uint8_t *in, *timed;    /* [n_arms + 1] in the race; timed at all           */
    size_t *order;          /* [n_arms + 1] scratch for shuffling               */
    size_t *call;           /* [n_calls] heaviest first                         */
    double *cost;           /* [n_calls] of the incumbent, weighted             */
    double *weight;         /* [n_calls] the race's, over the cost of its group */
    double *weigh;          /* [n_calls] the incumbent's first time             */
    double *sum, *least, *most; /* [n_arms + 1] of the round at hand, and of its calls */
    double *log;            /* [(n_arms + 1) * room] log-ratios of this stage   */
    size_t room, n;         /* rounds with room for; rounds                     */
    double *scratch;        /* [room] */
    double *mean;           /* [n_arms + 1] last known log-ratio, NAN: none     */
    uint32_t *stamp;        /* [n_arms] of the work's last timing               */
    double *stamped_ns;     /* [n_arms] */
    uint32_t stamps;
    double *total_ns;       /* [n_arms * n_calls] with n_timed: mean times      */
    uint32_t *n_timed;
    size_t looks;
    uint64_t start_ns, round_ns;
    struct dt_race_result result;
};

/* --- rounds (race_rounds.c) --------------------------------------------------- */

size_t dt_race_count (const struct dt_racing *s); /* arms in the race */
/* The incumbent once on each call: to order the calls by cost, and to warm up. */
int dt_race_weigh (struct dt_racing *s, struct dt_err *reterr);
/* A round of a stage over its n_calls.  1: done; 0: the budget ended first, and nothing
 * is recorded. */
int dt_race_round (struct dt_racing *s, int stage, size_t n_calls, struct dt_err *reterr);

/* --- looks (race_looks.c) ----------------------------------------------------- */

/* The paired log-ratio of arm a to arm b over this stage's rounds. */
struct dt_stats dt_race_compare (struct dt_racing *s, size_t a, size_t b);
int dt_race_is_look (size_t rounds);
double dt_race_half (double half); /* at least the floor */
/* The arm in the race with the least mean; notes all means. */
size_t dt_race_best (struct dt_racing *s);
void dt_race_note_means (struct dt_racing *s);
/* Keep the best few by the means that are noted, and the incumbent. */
void dt_race_keep (struct dt_racing *s, size_t few);
/* Drop the arms that are worse than `b` for sure: by more than `bar`. */
void dt_race_drop_worse (struct dt_racing *s, size_t b, double bar);
/* The finalists: 1 if it is settled.  The choice so far goes to the result. */
int dt_race_settle (struct dt_racing *s, double tail);
/*   -DT_EUNTRUSTED  the incumbent differs from itself */
int dt_race_check_self (struct dt_racing *s, double tail, struct dt_err *reterr);

/* --- stages (race_stages.c) --------------------------------------------------- */

int dt_race_stages (struct dt_racing *s, struct dt_err *reterr);

#endif
