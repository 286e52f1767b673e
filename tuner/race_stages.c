/* tuner/race_stages.c - of a race: its stages, and who goes on to the next. */
#include "tuner/racing.h"

#include <errno.h>
#include <math.h>

#define SCREEN_ROUNDS 2
#define SCREEN_CALLS 5    /* every so many is in a screening round, at least 4       */
#define SCREEN_RATIO 1.5  /* over the best arm's worst on each call of a round: out  */
#define SCREEN_LEAST 24   /* arms that stay                                          */
#define SCREEN_KEEP 16    /* or one in so many                                       */
#define HEAVY_SHARE 0.5   /* of the incumbent's cost that the heavy calls make up   */
#define HEAVY_ROUNDS 5    /* at most; looks come at 3, 4 and 5                      */
#define MANY_ROUNDS 7     /* as DT_RACE_FIELD_ROUNDS, where many arms were thinned   */
#define MANY_FINAL 30     /* rounds, after which a winner of many is one              */
#define FIELD_BUDGET 0.6  /* of the time, for all stages before the final one       */
#define CONFIRM_ROUNDS 12
#define CONFIRM_TAIL 0.05 /* one-sided                                               */

/* How many of the heaviest calls make up HEAVY_SHARE of the cost, and their share. */
static size_t heavy_calls (const struct dt_racing *s, double *ret_share)
{
    double all = 0, sum = 0;
    size_t n = 0;

    for (size_t c = 0; c < s->race->n_calls; c++)
        all += s->cost[c];
    while (n < s->race->n_calls && sum < HEAVY_SHARE * all)
        sum += s->cost[s->call[n++]];
    *ret_share = sum / all;
    return n;
}

static int field_time_left (const struct dt_racing *s)
{
    double spent = (double)(s->race->now_ns (s->race->ctx) - s->start_ns + s->round_ns) / 1e9;

    return spent < FIELD_BUDGET * s->race->budget_s;
}

/* Out: an arm that is SCREEN_RATIO over the best arm's mean on each call of the round;
 * what jolted one timing of it does not count. */
static void drop_far (struct dt_racing *s, size_t n_calls)
{
    double best = INFINITY;

    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a])
            best = fmin (best, s->sum[a] / (double)n_calls);
    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a] && a != s->race->incumbent && s->least[a] > SCREEN_RATIO * best)
            s->in[a] = 0;
}

/* After one screening round only a third of the arms go on: those that are fast on all calls
 * but their slowest, which may have been jolted. */
static void thin (struct dt_racing *s)
{
    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a])
            s->mean[a] = s->sum[a] - s->most[a];
    dt_race_keep (s, s->race->n_arms / 3);
    for (size_t a = 0; a < s->race->n_arms; a++)
        if (!isnan (s->mean[a]))
            s->mean[a] = s->log[a * s->room];
}

static int screen_stage (struct dt_racing *s, struct dt_err *reterr)
{
    size_t n_calls = s->race->n_calls / SCREEN_CALLS, keep = s->race->n_arms / SCREEN_KEEP;
    int r;

    n_calls = n_calls > 4 ? n_calls : s->race->n_calls < 4 ? s->race->n_calls : 4;
    s->n = 0;
    while (s->n < SCREEN_ROUNDS) {
        if ((r = dt_race_round (s, DT_RACE_SCREEN, n_calls, reterr)) <= 0)
            return r;
        drop_far (s, n_calls);
        if (s->n == 1 && n_calls > 2)
            thin (s);
    }
    dt_race_note_means (s);
    dt_race_keep (s, keep > SCREEN_LEAST ? keep : SCREEN_LEAST);
    return 0;
}

/* How many of many arms go on after so many rounds on all calls. */
static size_t thinned (size_t rounds)
{
    return rounds >= 5 ? 6 : rounds >= 3 ? 10 : SIZE_MAX - 1;
}

/* Rounds that drop arms.  In the heavy stage an arm's whole cost is at least its
 * cost on the heavy calls, which make up `share` of the incumbent's: it is beaten if
 * its ratio on them is above 1 / share. */
static int drop_stage (struct dt_racing *s, int stage, size_t n_calls, double share,
                       size_t max_rounds, struct dt_err *reterr)
{
    size_t best;
    int r;

    s->n = 0;
    s->round_ns = 0;
    while (s->n < max_rounds && dt_race_count (s) > DT_RACE_FINALISTS + 1 &&
           (s->n == 0 || field_time_left (s))) {
        if ((r = dt_race_round (s, stage, n_calls, reterr)) <= 0)
            return r;
        if (s->race->exhaustive || !dt_race_is_look (s->n))
            continue;
        best = dt_race_best (s);
        if (stage == DT_RACE_HEAVY)
            dt_race_drop_worse (s, s->race->incumbent, -log (share));
        else
            dt_race_drop_worse (s, best, 0);
        if (stage == DT_RACE_FIELD && s->race->n_arms > DT_RACE_MANY)
            dt_race_keep (s, thinned (s->n));
    }
    dt_race_note_means (s); /* for the choice of finalists */
    return 0;
}

static int final_stage (struct dt_racing *s, struct dt_err *reterr)
{
    size_t n = dt_race_count (s), pairs = n * (n - 1) / 2 + 1, looks = 0; /* 1: against itself */
    size_t max_rounds = s->race->max_rounds ? s->race->max_rounds : DT_RACE_FINAL_ROUNDS;
    int many = s->race->n_arms > DT_RACE_MANY;
    double tail = 0;
    int r = 1, settled = 0;

    s->n = 0;
    s->result.n_final = n;
    s->result.chosen = s->race->incumbent;
    s->result.tie = 1;
    s->result.ratio = s->result.lo = s->result.hi = 1;
    while (!settled && s->n < max_rounds && r > 0) {
        if ((r = dt_race_round (s, DT_RACE_FINAL, s->race->n_calls, reterr)) < 0)
            return r;
        if (s->n < DT_RACE_FIRST_LOOK || !(dt_race_is_look (s->n) || r == 0 || s->n == max_rounds))
            continue;
        tail = dt_stats_spend (DT_RACE_ALPHA / 2, ++looks) / 2 / (double)pairs;
        settled = dt_race_settle (s, tail)
                  || (many && s->n >= MANY_FINAL && !s->result.tie);
    }
    if (looks)
        return dt_race_check_self (s, tail, reterr);
    return dt_err_set (reterr, -DT_EUNTRUSTED, "unstable: %zu rounds of the finalists in %d times "
                       "the budget; %d are needed to tell anything: give a longer one", s->n,
                       DT_RACE_OVERTIME, DT_RACE_FIRST_LOOK);
}

/* The winner's rounds against the incumbent in a fresh process: a fixed number, one
 * look.  A winner that does not win again is none. */
static int confirm_stage (struct dt_racing *s, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    size_t chosen = s->result.chosen;
    struct dt_stats one;
    double half;
    int r = 1;

    if ((r = race->fresh (race->ctx, reterr)) < 0)
        return r;
    for (size_t a = 0; a < race->n_arms; a++)
        s->in[a] = a == chosen || a == race->incumbent;
    s->n = 0;
    for (r = 1; r > 0 && s->n < CONFIRM_ROUNDS;)
        if ((r = dt_race_round (s, DT_RACE_CONFIRM, race->n_calls, reterr)) < 0)
            return r;
    if (s->n >= DT_RACE_FIRST_LOOK) {
        one = dt_race_compare (s, chosen, race->incumbent);
        half = dt_race_half (one.error * dt_stats_t (CONFIRM_TAIL, one.df));
        s->result.again = exp (one.mean);
        s->result.again_lo = exp (one.mean - half);
        s->result.again_hi = exp (one.mean + half);
        if (one.mean - half > 0)
            return dt_err_set (reterr, -DT_EUNTRUSTED,
                               "unstable: %.1f%% faster than the incumbent, "
                               "then %.1f%% slower in a fresh process",
                               100 * (1 - s->result.ratio), 100 * (s->result.again - 1));
        if (one.mean + half < 0) {
            s->result.confirm = DT_RACE_CONFIRMED;
            return dt_race_check_self (s, DT_RACE_ALPHA / 2, reterr);
        }
    }
    s->result.confirm = DT_RACE_NOT_CONFIRMED;
    s->result.chosen = race->incumbent;
    s->result.tie = 1;
    s->result.ratio = s->result.lo = s->result.hi = 1;
    return s->n >= DT_RACE_FIRST_LOOK ? dt_race_check_self (s, DT_RACE_ALPHA / 2, reterr) : 0;
}

int dt_race_stages (struct dt_racing *s, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    double share;
    size_t n_heavy, rounds;
    int r;

    if ((r = dt_race_weigh (s, reterr)) < 0)
        return r;
    if (race->n_arms > DT_RACE_MANY && !race->exhaustive && (r = screen_stage (s, reterr)) < 0)
        return r;
    n_heavy = heavy_calls (s, &share);
    if (n_heavy < race->n_calls && !race->exhaustive && race->n_arms <= DT_RACE_MANY &&
        (r = drop_stage (s, DT_RACE_HEAVY, n_heavy, share, HEAVY_ROUNDS, reterr)) < 0)
        return r;
    rounds = race->n_arms > DT_RACE_MANY && !race->exhaustive ? MANY_ROUNDS : DT_RACE_FIELD_ROUNDS;
    if ((r = drop_stage (s, DT_RACE_FIELD, race->n_calls, 1, rounds, reterr)) < 0)
        return r;
    dt_race_keep (s, DT_RACE_FINALISTS);
    if ((r = final_stage (s, reterr)) < 0)
        return r;
    return s->result.tie || !race->fresh ? 0 : confirm_stage (s, reterr);
}
