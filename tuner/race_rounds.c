/* tuner/race_rounds.c - of a race: rounds of timings. */
#include "tuner/racing.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"

static const char *const stage_name[DT_RACE_STAGES] = { "screening", "heavy calls", "all calls",
                                                        "finalists", "fresh process" };

#define SLOW 50           /* times the incumbent on a call: not timed again          */

size_t dt_race_count (const struct dt_racing *s)
{
    size_t n = 0;

    for (size_t a = 0; a < s->race->n_arms; a++)
        n += s->in[a];
    return n;
}

/* Time an arm on a call, or take the time of an arm that does the same work in
 * this visit.  The second self is always timed. */
static int time_arm (struct dt_racing *s, size_t arm, size_t call, double *ret_ns,
                     struct dt_err *reterr)
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
static void leave (struct dt_racing *s, size_t arm, int failed)
{
    s->in[arm] = 0;
    s->result.n_failed += failed != 0;
}

/* Every arm in the race on one call, in random order, into the sums. */
static int visit (struct dt_racing *s, size_t call, double weight, struct dt_err *reterr)
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

static int report (struct dt_racing *s, int stage, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    double spent = (double)(race->now_ns (race->ctx) - s->start_ns) / 1e9, fraction;

    fraction = race->budget_s > 0 && spent < race->budget_s ? spent / race->budget_s : 1;
    if (race->progress && race->progress (race->ctx, fraction, race->budget_s * (1 - fraction),
                                          stage_name[stage], dt_race_count (s)))
        return dt_err_set (reterr, -DT_ECANCELLED, "tuning was cancelled");
    return 0;
}

/* When rounds of a stage end.  What is begun must come to a first look: a decision on
 * less is none. */
static uint64_t deadline (const struct dt_racing *s, int stage)
{
    double budgets = stage < DT_RACE_FINAL       ? 1
                     : s->n < DT_RACE_FIRST_LOOK ? DT_RACE_OVERTIME
                     : stage == DT_RACE_CONFIRM  ? 2
                                         : 1;

    return s->start_ns + (uint64_t)(budgets * s->race->budget_s * 1e9);
}

/* The calls of a round: the first n_calls of s->call, heaviest first; in a screening
 * round n_calls of all sizes, each of equal weight. */
static int visit_calls (struct dt_racing *s, int stage, size_t n_calls, struct dt_err *reterr)
{
    const struct dt_race *race = s->race;
    uint64_t end_ns = deadline (s, stage);

    for (size_t i = 0; i < n_calls; i++) {
        int screens = stage == DT_RACE_SCREEN, r;
        size_t c = screens ? (2 * i + 1) * race->n_calls / (2 * n_calls) : s->call[i];

        if (race->now_ns (race->ctx) >= end_ns)
            return 0;
        if ((r = visit (s, c, screens ? 1 / s->weigh[c] : s->weight[c], reterr)) < 0)
            return r;
    }
    return 1;
}

/* One round.  1: done; 0: the budget ended first, and nothing is recorded. */
int dt_race_round (struct dt_racing *s, int stage, size_t n_calls, struct dt_err *reterr)
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

/* The race's weights, each over the incumbent's cost of its group. */
static int weigh_groups (struct dt_racing *s)
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
int dt_race_weigh (struct dt_racing *s, struct dt_err *reterr)
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
