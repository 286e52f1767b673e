/* tuner/race.c - which of several arms is cheapest, from noisy timings. */
#include "tuner/race.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tuner/racing.h"

static void run_done (struct dt_racing *s)
{
    void *all[] = { s->in, s->timed, s->order, s->call, s->cost, s->weight, s->weigh, s->sum,
                    s->least, s->most, s->log, s->scratch, s->mean, s->stamp, s->stamped_ns,
                    s->total_ns, s->n_timed };

    for (size_t i = 0; i < DT_ARRAY_SIZE (all); i++)
        dt_free (all[i]);
}

static int run_init (struct dt_racing *s, const struct dt_race *race)
{
    size_t n = race->n_arms + 1;
    size_t rounds = race->max_rounds ? race->max_rounds : DT_RACE_FINAL_ROUNDS;

    s->race = race;
    s->random.state = race->seed;
    s->aa = race->n_arms;
    s->room = rounds > DT_RACE_FIELD_ROUNDS ? rounds : DT_RACE_FIELD_ROUNDS;
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

static void summarise (struct dt_racing *s, double *ret_mean_ns)
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
    struct dt_racing s = { .result = { .again = 1, .again_lo = 1, .again_hi = 1 } };
    int r;

    if ((r = run_init (&s, race)) < 0)
        r = dt_err_nomem (reterr);
    else
        r = dt_race_stages (&s, reterr);
    if (r == 0) {
        summarise (&s, ret_mean_ns);
        *ret = s.result;
    }
    run_done (&s);
    return r;
}
