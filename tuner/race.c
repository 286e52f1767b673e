/* tuner/race.c - which of several arms is cheapest, from noisy timings. */
#include "tuner/race.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tuner/stats.h"

enum { SCREEN, HEAVY, FIELD, FINAL, CONFIRM };
static const char *const stage_name[DT_RACE_STAGES] = { "screening", "heavy calls", "all calls",
                                                        "finalists", "fresh process" };

#define MANY 64           /* arms, above which they are screened and thinned        */
#define SCREEN_ROUNDS 2
#define SCREEN_CALLS 5    /* every so many is in a screening round, at least 4       */
#define SCREEN_RATIO 1.5  /* over the best arm's worst on each call of a round: out  */
#define SCREEN_LEAST 24   /* arms that stay                                          */
#define SCREEN_KEEP 16    /* or one in so many                                       */
#define SLOW 50           /* times the incumbent on a call: not timed again          */
#define CONFIRM_ROUNDS 12
#define CONFIRM_TAIL 0.05 /* one-sided                                               */
#define OVERTIME 8        /* budgets, after which the finalists' first look is given up */
#define HEAVY_SHARE 0.5   /* of the incumbent's cost that the heavy calls make up   */
#define HEAVY_ROUNDS 5    /* at most; looks come at 3, 4 and 5                      */
#define FIELD_ROUNDS 14   /* at most; then the best by mean are the finalists       */
#define MANY_ROUNDS 7    /* likewise, where many arms were thinned                  */
#define FINAL_ROUNDS 64
#define STOP_TAIL 0.025   /* when no other is likely better than a winner by the effect:
                             what is at stake is time, not a false winner            */
#define FIRST_LOOK 3      /* rounds before the first look: a variance needs some    */
#define FIELD_BUDGET 0.6  /* of the time, for all stages before the final one       */
#define FLOOR 1e-3        /* least half-width: clocks tick, noise has a long memory */

struct run {
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

static void run_done (struct run *s)
{
    void *all[] = { s->in, s->timed, s->order, s->call, s->cost, s->weight, s->weigh, s->sum,
                    s->least, s->most, s->log, s->scratch, s->mean, s->stamp, s->stamped_ns,
                    s->total_ns, s->n_timed };

    for (size_t i = 0; i < DT_ARRAY_SIZE (all); i++)
        dt_free (all[i]);
}

static int run_init (struct run *s, const struct dt_race *race)
{
    size_t n = race->n_arms + 1, rounds = race->max_rounds ? race->max_rounds : FINAL_ROUNDS;

    s->race = race;
    s->random.state = race->seed;
    s->aa = race->n_arms;
    s->room = rounds > FIELD_ROUNDS ? rounds : FIELD_ROUNDS;
    s->in = dt_calloc (n, 1);
    s->timed = dt_calloc (n, 1);
    s->order = dt_calloc (n, sizeof *s->order);
    s->call = dt_calloc (race->n_calls, sizeof *s->call);
    s->cost = dt_calloc (race->n_calls, sizeof *s->cost);
    s->weight = dt_calloc (race->n_calls, sizeof *s->weight);
    s->weigh = dt_calloc (race->n_calls, sizeof *s->weigh);
    s->sum = dt_calloc (n, sizeof *s->sum);
    s->least = dt_calloc (n, sizeof *s->least);
    s->most = dt_calloc (n, sizeof *s->most);
    s->log = dt_calloc (n, s->room * sizeof *s->log);
    s->scratch = dt_calloc (s->room, sizeof *s->scratch);
    s->mean = dt_calloc (n, sizeof *s->mean);
    s->stamp = dt_calloc (n, sizeof *s->stamp);
    s->stamped_ns = dt_calloc (n, sizeof *s->stamped_ns);
    s->total_ns = dt_calloc (race->n_arms * race->n_calls, sizeof *s->total_ns);
    s->n_timed = dt_calloc (race->n_arms * race->n_calls, sizeof *s->n_timed);
    if (!s->in || !s->timed || !s->order || !s->call || !s->cost || !s->weight || !s->weigh ||
        !s->least || !s->most || !s->sum || !s->log ||
        !s->scratch || !s->mean || !s->stamp || !s->stamped_ns || !s->total_ns || !s->n_timed)
        return -ENOMEM;
    memset (s->in, 1, n);
    for (size_t a = 0; a < n; a++)
        s->mean[a] = NAN;
    s->start_ns = race->now_ns (race->ctx);
    return 0;
}

static size_t in_race (const struct run *s)
{
    size_t n = 0;

    for (size_t a = 0; a < s->race->n_arms; a++)
        n += s->in[a];
    return n;
}

/* --- rounds ---------------------------------------------------------------- */

/* Time an arm on a call, or take the time of an arm that does the same work in
 * this visit.  The second self is always timed. */
static int time_arm (struct run *s, size_t arm, size_t call, double *ret_ns, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    size_t real = arm == s->aa ? race->incumbent : arm;
    size_t work = race->work ? race->work[real * race->n_calls + call] : real;
    uint64_t ns;
    int r;

    if (arm == s->aa || s->stamp[work] != s->stamps) {
        if ((r = race->measure (race->ctx, real, call, &ns, reterr)) < 0)
            return r;
        s->result.n_measurements++;
        *ret_ns = ns ? (double)ns : 1;
        if (arm != s->aa) {
            s->stamp[work] = s->stamps;
            s->stamped_ns[work] = *ret_ns;
        }
    } else
        *ret_ns = s->stamped_ns[work];
    s->timed[arm] = 1;
    s->total_ns[real * race->n_calls + call] += *ret_ns;
    s->n_timed[real * race->n_calls + call]++;
    return 0;
}

/* The arm is out: it cannot run, or takes too long to be timed again. */
static void leave (struct run *s, size_t arm, int failed)
{
    s->in[arm] = 0;
    s->result.n_failed += failed != 0;
}

/* Every arm in the race on one call, in random order, into the sums. */
static int visit (struct run *s, size_t call, double weight, struct dt_err *reterr)
{
    size_t n = 0;
    double ns;
    int r;

    for (size_t a = 0; a <= s->aa; a++)
        if (s->in[a])
            s->order[n++] = a;
    dt_random_shuffle (&s->random, s->order, n);
    s->stamps++;
    for (size_t k = 0; k < n; k++) {
        size_t a = s->order[k];
        int other = a != s->aa && a != s->race->incumbent;

        r = time_arm (s, a, call, &ns, reterr);
        if (r == -DT_EUNSUPPORTED && other) {
            leave (s, a, 1);
            continue;
        }
        if (r < 0)
            return r;
        if (other && ns > SLOW * s->weigh[call])
            leave (s, a, 0);
        s->sum[a] += weight * ns;
        s->least[a] = fmin (s->least[a], weight * ns);
        s->most[a] = fmax (s->most[a], weight * ns);
    }
    return 0;
}

static int report (struct run *s, int stage, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    double spent = (double)(race->now_ns (race->ctx) - s->start_ns) / 1e9, fraction;

    fraction = race->budget_s > 0 && spent < race->budget_s ? spent / race->budget_s : 1;
    if (race->progress && race->progress (race->ctx, fraction, race->budget_s * (1 - fraction),
                                          stage_name[stage], in_race (s)))
        return dt_err_set (reterr, -DT_ECANCELLED, "tuning was cancelled");
    return 0;
}

/* When rounds of a stage end.  What is begun must come to a first look: a decision on
 * less is none. */
static uint64_t deadline (const struct run *s, int stage)
{
    double budgets = stage < FINAL       ? 1
                     : s->n < FIRST_LOOK ? OVERTIME
                     : stage == CONFIRM  ? 2
                                         : 1;

    return s->start_ns + (uint64_t)(budgets * s->race->budget_s * 1e9);
}

/* The calls of a round: the first n_calls of s->call, heaviest first; in a screening
 * round n_calls of all sizes, each of equal weight. */
static int visit_calls (struct run *s, int stage, size_t n_calls, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    uint64_t end_ns = deadline (s, stage);

    for (size_t i = 0; i < n_calls; i++) {
        size_t c = stage == SCREEN ? (2 * i + 1) * race->n_calls / (2 * n_calls) : s->call[i];
        int r;

        if (race->now_ns (race->ctx) >= end_ns)
            return 0;
        if ((r = visit (s, c, stage == SCREEN ? 1 / s->weigh[c] : s->weight[c], reterr)) < 0)
            return r;
    }
    return 1;
}

/* One round.  1: done; 0: the budget ended first, and nothing is recorded. */
static int one_round (struct run *s, int stage, size_t n_calls, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    uint64_t start = race->now_ns (race->ctx);
    int r;

    for (size_t a = 0; a <= s->aa; a++) {
        s->sum[a] = s->most[a] = 0;
        s->least[a] = INFINITY;
    }
    if ((r = visit_calls (s, stage, n_calls, reterr)) <= 0)
        return r;
    for (size_t a = 0; a <= s->aa; a++)
        if (s->in[a])
            s->log[a * s->room + s->n] = log (s->sum[a] / s->sum[race->incumbent]);
    s->n++;
    s->result.rounds[stage]++;
    s->round_ns = race->now_ns (race->ctx) - start;
    if ((r = report (s, stage, reterr)) < 0)
        return r;
    return 1;
}

/* --- looks ----------------------------------------------------------------- */

/* The paired log-ratio of arm a to arm b over this stage's rounds. */
static struct dt_stats compare (struct run *s, size_t a, size_t b)
{
    for (size_t i = 0; i < s->n; i++)
        s->scratch[i] = s->log[a * s->room + i] - s->log[b * s->room + i];
    return dt_stats_trimmed (s->scratch, s->n);
}

/* Looks at 3, 4, 5, 7, 9, 12, ... rounds: few, since each spends alpha. */
static int is_look (size_t n)
{
    size_t at = FIRST_LOOK;

    while (at < n)
        at += at < 5 ? 1 : at / 3 + 1;
    return at == n;
}

/* Of the arms in the race, the one with the least mean; ties keep the incumbent,
 * then the lower index.  Notes all means. */
static size_t best_arm (struct run *s)
{
    size_t best = s->race->incumbent;

    s->mean[best] = 0;
    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a] && a != s->race->incumbent) {
            s->mean[a] = compare (s, a, s->race->incumbent).mean;
            if (s->mean[a] < s->mean[best])
                best = a;
        }
    return best;
}

/* The standard error that most arms have against `b`: arms of one device share
 * their noise, so few rounds of one arm need not stand alone. */
static struct dt_stats pooled_error (struct run *s, size_t b)
{
    struct dt_stats all = { 0 };

    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a] && a != b) {
            struct dt_stats one = compare (s, a, b);

            all.error += one.error * one.error * one.df;
            all.df += one.df;
        }
    all.error = sqrt (all.error / all.df);
    return all;
}

static double at_least_floor (double half)
{
    return half > FLOOR ? half : FLOOR;
}

/* Drop the arms that are worse than `b` for sure: lower bound of the log-ratio
 * above `bar`.  An arm that is noisier than the rest is judged by its own error and
 * degrees of freedom, all others by the pooled ones. */
static void drop_worse (struct run *s, size_t b, double bar)
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
        one = compare (s, a, b);
        if (one.error > 2 * pool.error) {
            t_own = t_own > 0 ? t_own : dt_stats_t (tail, one.df);
            half = one.error * t_own;
        }
        if (one.mean - at_least_floor (half) > bar)
            s->in[a] = 0;
    }
}

/* --- stages ---------------------------------------------------------------- */

/* The race's weights, each over the incumbent's cost of its group. */
static int weigh_groups (struct run *s)
{
    const struct dt_race *race = s->race;
    size_t groups = race->group ? race->n_groups : 1;
    double *cost = dt_calloc (groups, sizeof *cost);

    if (!cost)
        return -ENOMEM;
    for (size_t c = 0; c < race->n_calls; c++)
        cost[race->group ? race->group[c] : 0] += race->weight[c] * s->weigh[c];
    for (size_t c = 0; c < race->n_calls; c++)
        s->weight[c] = race->weight[c] / cost[race->group ? race->group[c] : 0];
    dt_free (cost);
    return 0;
}

/* The incumbent once on each call: to order the calls by cost, and to warm up. */
static int weigh_calls (struct run *s, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    int r;

    for (size_t c = 0; c < race->n_calls; c++)
        if ((r = time_arm (s, s->aa, c, &s->weigh[c], reterr)) < 0)
            return r;
    if (weigh_groups (s) < 0)
        return dt_err_nomem (reterr);
    for (size_t c = 0; c < race->n_calls; c++) {
        size_t at = c;

        s->cost[c] = s->weight[c] * s->weigh[c];
        for (; at > 0 && s->cost[s->call[at - 1]] < s->cost[c]; at--)
            s->call[at] = s->call[at - 1];
        s->call[at] = c;
    }
    return 0;
}

/* How many of the heaviest calls make up HEAVY_SHARE of the cost, and their share. */
static size_t heavy_calls (const struct run *s, double *ret_share)
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

static int field_time_left (const struct run *s)
{
    double spent = (double)(s->race->now_ns (s->race->ctx) - s->start_ns + s->round_ns) / 1e9;

    return spent < FIELD_BUDGET * s->race->budget_s;
}

/* Keep the best few by mean, and the incumbent. */
static void keep_best (struct run *s, size_t few)
{
    while (in_race (s) > few + 1) {
        size_t worst = s->race->incumbent;

        for (size_t a = 0; a < s->race->n_arms; a++)
            if (s->in[a] && a != s->race->incumbent &&
                (worst == s->race->incumbent || !(s->mean[a] <= s->mean[worst])))
                worst = a;
        s->in[worst] = 0;
    }
}

/* Note the means of one round, or of more. */
static void note_means (struct run *s)
{
    if (s->n >= 2)
        best_arm (s);
    else if (s->n == 1)
        for (size_t a = 0; a < s->race->n_arms; a++)
            s->mean[a] = s->in[a] ? s->log[a * s->room] : s->mean[a];
}

/* Out: an arm that is SCREEN_RATIO over the best arm's mean on each call of the round;
 * what jolted one timing of it does not count. */
static void drop_far (struct run *s, size_t n_calls)
{
    double best = INFINITY;

    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a])
            best = fmin (best, s->sum[a] / (double)n_calls);
    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a] && a != s->race->incumbent && s->least[a] > SCREEN_RATIO * best)
            s->in[a] = 0;
}

/* After one screening round only half of the arms go on: those that are fast on all calls
 * but their slowest, which may have been jolted. */
static void halve (struct run *s)
{
    for (size_t a = 0; a < s->race->n_arms; a++)
        if (s->in[a])
            s->mean[a] = s->sum[a] - s->most[a];
    keep_best (s, s->race->n_arms / 2);
    for (size_t a = 0; a < s->race->n_arms; a++)
        if (!isnan (s->mean[a]))
            s->mean[a] = s->log[a * s->room];
}

static int screen_stage (struct run *s, struct dt_err *reterr)
{
    size_t n_calls = s->race->n_calls / SCREEN_CALLS, keep = s->race->n_arms / SCREEN_KEEP;
    int r;

    n_calls = n_calls > 4 ? n_calls : s->race->n_calls < 4 ? s->race->n_calls : 4;
    s->n = 0;
    while (s->n < SCREEN_ROUNDS) {
        if ((r = one_round (s, SCREEN, n_calls, reterr)) <= 0)
            return r;
        drop_far (s, n_calls);
        if (s->n == 1 && n_calls > 2)
            halve (s);
    }
    note_means (s);
    keep_best (s, keep > SCREEN_LEAST ? keep : SCREEN_LEAST);
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
static int drop_stage (struct run *s, int stage, size_t n_calls, double share, size_t max_rounds,
                       struct dt_err *reterr)
{
    size_t best;
    int r;

    s->n = 0;
    s->round_ns = 0;
    while (s->n < max_rounds && in_race (s) > DT_RACE_FINALISTS + 1 &&
           (s->n == 0 || field_time_left (s))) {
        if ((r = one_round (s, stage, n_calls, reterr)) <= 0)
            return r;
        if (s->race->exhaustive || !is_look (s->n))
            continue;
        best = best_arm (s);
        if (stage == HEAVY)
            drop_worse (s, s->race->incumbent, -log (share));
        else
            drop_worse (s, best, 0);
        if (stage == FIELD && s->race->n_arms > MANY)
            keep_best (s, thinned (s->n));
    }
    note_means (s); /* for the choice of finalists */
    return 0;
}

/* An interval that may crown: the arm's own error and degrees of freedom. */
static double strict_half (const struct dt_stats *one, double tail)
{
    return at_least_floor (one->error * dt_stats_t (tail, one->df));
}

/* One look at the finalists.  1: settled.  The choice so far goes to the result. */
static int settle (struct run *s, double tail)
{
    double effect = log1p (s->race->minimum_effect);
    size_t best = s->race->incumbent;
    int open = 0;

    best_arm (s);
    s->result.tie = 1;
    for (size_t a = 0; a < s->race->n_arms; a++) {
        struct dt_stats one;
        double half;

        if (!s->in[a] || a == s->race->incumbent)
            continue;
        one = compare (s, a, s->race->incumbent);
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
            struct dt_stats one = compare (s, a, best);
            double loose = at_least_floor (one.error * dt_stats_t (STOP_TAIL, one.df));

            open |= one.mean - loose < -effect; /* may well beat the best yet */
            if (one.mean - strict_half (&one, tail) > 0 && a != s->race->incumbent)
                s->in[a] = 0;        /* never will */
        }
    return !open;
}

/* The incumbent against itself: a race that tells it apart is not to be trusted. */
static int check_self (struct run *s, double tail, struct dt_err *reterr)
{
    struct dt_stats self = compare (s, s->aa, s->race->incumbent);
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

static int final_stage (struct run *s, struct dt_err *reterr)
{
    size_t n = in_race (s), pairs = n * (n - 1) / 2 + 1, looks = 0; /* 1: against itself */
    size_t max_rounds = s->race->max_rounds ? s->race->max_rounds : FINAL_ROUNDS;
    int many = s->race->n_arms > MANY; /* then a winner has as many rounds as if all were timed */
    double tail = 0;
    int r = 1, settled = 0;

    s->n = 0;
    s->result.n_final = n;
    s->result.chosen = s->race->incumbent;
    s->result.tie = 1;
    s->result.ratio = s->result.lo = s->result.hi = 1;
    while (!settled && s->n < max_rounds && r > 0) {
        if ((r = one_round (s, FINAL, s->race->n_calls, reterr)) < 0)
            return r;
        if (s->n < FIRST_LOOK || !(is_look (s->n) || r == 0 || s->n == max_rounds))
            continue;
        tail = dt_stats_spend (DT_RACE_ALPHA / 2, ++looks) / 2 / (double)pairs;
        settled = settle (s, tail) || (many && s->n >= FIELD_ROUNDS && !s->result.tie);
    }
    if (looks)
        return check_self (s, tail, reterr);
    return dt_err_set (reterr, -DT_EUNTRUSTED, "unstable: %zu rounds of the finalists in %d times the "
                       "budget; %d are needed to tell anything: give a longer one", s->n, OVERTIME,
                       FIRST_LOOK);
}

/* The winner's rounds against the incumbent in a fresh process: a fixed number, one
 * look.  A winner that does not win again is none. */
static int confirm_stage (struct run *s, struct dt_err *reterr)
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
        if ((r = one_round (s, CONFIRM, race->n_calls, reterr)) < 0)
            return r;
    if (s->n >= FIRST_LOOK) {
        one = compare (s, chosen, race->incumbent);
        half = at_least_floor (one.error * dt_stats_t (CONFIRM_TAIL, one.df));
        s->result.again = exp (one.mean);
        s->result.again_lo = exp (one.mean - half);
        s->result.again_hi = exp (one.mean + half);
        if (one.mean - half > 0)
            return dt_err_set (reterr, -DT_EUNTRUSTED, "unstable: %.1f%% faster than the incumbent, "
                               "then %.1f%% slower in a fresh process",
                               100 * (1 - s->result.ratio), 100 * (s->result.again - 1));
        if (one.mean + half < 0) {
            s->result.confirm = DT_RACE_CONFIRMED;
            return check_self (s, DT_RACE_ALPHA / 2, reterr);
        }
    }
    s->result.confirm = DT_RACE_NOT_CONFIRMED;
    s->result.chosen = race->incumbent;
    s->result.tie = 1;
    s->result.ratio = s->result.lo = s->result.hi = 1;
    return s->n >= FIRST_LOOK ? check_self (s, DT_RACE_ALPHA / 2, reterr) : 0;
}

/* --- the whole ------------------------------------------------------------- */

static int run_stages (struct run *s, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    double share;
    size_t n_heavy;
    int r;

    if ((r = weigh_calls (s, reterr)) < 0)
        return r;
    if (race->n_arms > MANY && !race->exhaustive && (r = screen_stage (s, reterr)) < 0)
        return r;
    n_heavy = heavy_calls (s, &share);
    if (n_heavy < race->n_calls && !race->exhaustive && race->n_arms <= MANY &&
        (r = drop_stage (s, HEAVY, n_heavy, share, HEAVY_ROUNDS, reterr)) < 0)
        return r;
    if ((r = drop_stage (s, FIELD, race->n_calls, 1,
                        race->n_arms > MANY && !race->exhaustive ? MANY_ROUNDS : FIELD_ROUNDS,
                        reterr)) < 0)
        return r;
    keep_best (s, DT_RACE_FINALISTS);
    if ((r = final_stage (s, reterr)) < 0)
        return r;
    return s->result.tie || !race->fresh ? 0 : confirm_stage (s, reterr);
}

static void summarise (struct run *s, double *ret_mean_ns)
{
    const struct dt_race *race = s->race;
    size_t chosen = s->result.chosen;
    double worst = 0;

    for (size_t a = 0; a < race->n_arms; a++) {
        s->result.n_measured += s->timed[a];
        if (s->mean[a] > worst) /* false for NAN */
            worst = s->mean[a];
    }
    s->result.runner_up = chosen;
    for (size_t a = 0; a < race->n_arms; a++)
        if (a != chosen && isfinite (s->mean[a])
            && (s->result.runner_up == chosen || s->mean[a] < s->mean[s->result.runner_up]))
            s->result.runner_up = a;
    s->result.worst_ratio = exp (worst) / s->result.ratio;
    for (size_t c = 0; ret_mean_ns && c < race->n_calls; c++) {
        uint32_t n = s->n_timed[chosen * race->n_calls + c];

        ret_mean_ns[c] = n ? s->total_ns[chosen * race->n_calls + c] / n : 0;
    }
}

int dt_race_run (const struct dt_race *race, struct dt_race_result *ret, double *ret_mean_ns,
                 struct dt_err *reterr)
{
    struct run s = { .result = { .again = 1, .again_lo = 1, .again_hi = 1 } };
    int r;

    if ((r = run_init (&s, race)) < 0)
        r = dt_err_nomem (reterr);
    else
        r = run_stages (&s, reterr);
    if (r == 0) {
        summarise (&s, ret_mean_ns);
        *ret = s.result;
    }
    run_done (&s);
    return r;
}
