/* tuner/race_looks.c - of a race: what its rounds say so far. */
#include "tuner/racing.h"

#include <math.h>

#define STOP_TAIL 0.025   /* when no other is likely better than a winner by the effect:
                             what is at stake is time, not a false winner            */
#define NEAR 4            /* of many arms, likely better by a part of the effect: several
                             are so near to each other                               */
#define FLOOR 1e-3        /* least half-width: clocks tick, noise has a long memory */

/* The paired log-ratio of arm a to arm b over this stage's rounds. */
struct dt_stats dt_race_compare (struct dt_racing *s, size_t a, size_t b)
{
    for (size_t i = 0; i < s->n; i++)
        s->scratch[i] = s->log[a * s->room + i] - s->log[b * s->room + i];
    return dt_stats_trimmed (s->scratch, s->n);
}

/* Looks at 3, 4, 5, 7, 9, 12, ... rounds: few, since each spends alpha. */
int dt_race_is_look (size_t n)
{
    size_t at = DT_RACE_FIRST_LOOK;

    while (at < n)
        at += at < 5 ? 1 : at / 3 + 1;
    return at == n;
}

/* Of the arms in the race, the one with the least mean; ties keep the incumbent,
 * then the lower index.  Notes all means. */
size_t dt_race_best (struct dt_racing *s)
{
    size_t best = s->race->incumbent;

    s->mean[best] = 0;
    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a] && a != s->race->incumbent) {
            s->mean[a] = dt_race_compare (s, a, s->race->incumbent).mean;
            if (s->mean[a] < s->mean[best])
                best = a;
        }
    return best;
}

/* The standard error that most arms have against `b`: arms of one device share
 * their noise, so few rounds of one arm need not stand alone. */
static struct dt_stats pooled_error (struct dt_racing *s, size_t b)
{
    struct dt_stats all = { 0 };

    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a] && a != b) {
            struct dt_stats one = dt_race_compare (s, a, b);

            all.error += one.error * one.error * one.df;
            all.df += one.df;
        }
    all.error = sqrt (all.error / all.df);
    return all;
}

double dt_race_half (double half)
{
    return half > FLOOR ? half : FLOOR;
}

/* Drop the arms that are worse than `b` for sure: lower bound of the log-ratio
 * above `bar`.  An arm that is noisier than the rest is judged by its own error and
 * degrees of freedom, all others by the pooled ones. */
void dt_race_drop_worse (struct dt_racing *s, size_t b, double bar)
{
    double n = (double)s->race->n_arms;
    double tail = dt_stats_spend (DT_RACE_ALPHA / 2, ++s->looks) / 2 / (n * (n - 1) / 2);
    struct dt_stats pool = pooled_error (s, b);
    double pool_half = pool.error * dt_stats_t (tail, pool.df), t_own = 0;

    for (size_t a = 0; a < s->race->n_arms; a++) {
        struct dt_stats one;
        double half = pool_half;

        if (!s->in[a] || a == b || a == s->race->incumbent)
            continue;
        one = dt_race_compare (s, a, b);
        if (one.error > 2 * pool.error) {
            t_own = t_own > 0 ? t_own : dt_stats_t (tail, one.df);
            half = one.error * t_own;
        }
        if (one.mean - dt_race_half (half) > bar)
            s->in[a] = 0;
    }
}

/* Keep the best few by mean, and the incumbent. */
void dt_race_keep (struct dt_racing *s, size_t few)
{
    while (dt_race_count (s) > few + 1) {
        size_t worst = s->race->incumbent;

        for (size_t a = 0; a < s->race->n_arms; a++)
            if (s->in[a] && a != s->race->incumbent &&
                (worst == s->race->incumbent || !(s->mean[a] <= s->mean[worst])))
                worst = a;
        s->in[worst] = 0;
    }
}

/* Note the means of one round, or of more. */
void dt_race_note_means (struct dt_racing *s)
{
    if (s->n >= 2)
        dt_race_best (s);
    else if (s->n == 1)
        for (size_t a = 0; a < s->race->n_arms; a++)
            s->mean[a] = s->in[a] ? s->log[a * s->room] : s->mean[a];
}

/* An interval that may crown: the arm's own error and degrees of freedom. */
static double strict_half (const struct dt_stats *one, double tail)
{
    return dt_race_half (one->error * dt_stats_t (tail, one->df));
}

/* One look at the finalists.  1: settled.  The choice so far goes to the result. */
int dt_race_settle (struct dt_racing *s, double tail)
{
    int many = s->race->n_arms > DT_RACE_MANY, open = 0;
    double effect = log1p (s->race->minimum_effect), better = many ? effect / NEAR : effect;
    size_t best = s->race->incumbent;

    dt_race_best (s);
    s->result.tie = 1;
    for (size_t a = 0; a < s->race->n_arms; a++) {
        struct dt_stats one;
        double half;

        if (!s->in[a] || a == s->race->incumbent)
            continue;
        one = dt_race_compare (s, a, s->race->incumbent);
        half = strict_half (&one, tail);
        if (one.mean + half < -effect && (best == s->race->incumbent || one.mean < s->mean[best])) {
            best = a;
            s->result.tie = 0;
            s->result.ratio = exp (one.mean);
            s->result.lo = exp (one.mean - half);
            s->result.hi = exp (one.mean + half);
        } else if (one.mean + half >= -effect && one.mean - half < -effect)
            open = 1; /* may beat the incumbent yet */
    }
    s->result.chosen = best;
    if (best == s->race->incumbent)
        return !open;
    open = 0;
    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a] && a != best) {
            struct dt_stats one = dt_race_compare (s, a, best);
            double loose = dt_race_half (one.error * dt_stats_t (STOP_TAIL, one.df));

            open |= one.mean - loose < -better; /* may well beat the best yet */
            if (one.mean - (many ? loose : strict_half (&one, tail)) > 0 && a != s->race->incumbent)
                s->in[a] = 0;        /* never will */
        }
    return !open;
}

/* The incumbent against itself: a race that tells it apart is not to be trusted. */
int dt_race_check_self (struct dt_racing *s, double tail, struct dt_err *reterr)
{
    struct dt_stats self = dt_race_compare (s, s->aa, s->race->incumbent);
    double half = strict_half (&self, tail), effect = log1p (s->race->minimum_effect);

    if (s->result.tie) {
        s->result.ratio = 1;
        s->result.lo = exp (self.mean - half);
        s->result.hi = exp (self.mean + half);
    }
    if (fabs (self.mean) - half > effect)
        return dt_err_set (reterr, -DT_EUNTRUSTED,
                           "the incumbent timed against itself differs by %.1f%%",
                           100 * (exp (fabs (self.mean)) - 1));
    return 0;
}
