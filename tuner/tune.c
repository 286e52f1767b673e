/* tuner/tune.c - from a trace to the cheapest legal assignment of one site. */
#include "tuner/tune.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "tuner/cover.h"
#include "tuner/race.h"
#include "tuner/sample.h"

#define MAX_CALLS 24
#define BUDGET_S 30.0
#define MINIMUM_EFFECT 0.01

/* What the race's callbacks need. */
struct site {
    const struct dt_tune_hooks *hooks;
    struct dt_cover cover;
    struct dt_sample sample;
    double *weight, *mean_ns; /* [sample.n] */
    uint32_t *work;           /* [n_arms * sample.n] */
};

static void site_done (struct site *s)
{
    dt_cover_done (&s->cover);
    dt_sample_done (&s->sample);
    dt_free (s->weight);
    dt_free (s->mean_ns);
    dt_free (s->work);
}

static int measure (void *ctx, size_t arm, size_t call, uint64_t *ret_ns, struct dt_err *reterr)
{
    const struct site *s = ctx;
    const struct dt_cover_arm *a = &s->cover.arm[arm];
    struct dt_tune_call c = dt_cover_call (&s->cover, a->variant[call]);
    uint64_t ns;
    int r;

    if ((r = s->hooks->measure (s->hooks->ctx, &c, &ns, reterr)) < 0)
        return r;
    if (s->hooks->keep && (r = s->hooks->keep (s->hooks->ctx, a->assignment,
                                               s->sample.call[call].call, ns, reterr)) < 0)
        return r;
    *ret_ns = ns;
    return 0;
}

static uint64_t now_ns (void *ctx)
{
    (void)ctx;
    return dt_time_mono_ns ();
}

static int progress (void *ctx, double fraction, double left_s, const char *stage, size_t in_race)
{
    const struct site *s = ctx;
    char what[128];

    if (!s->hooks->progress)
        return 0;
    snprintf (what, sizeof what, "%s: %zu of %zu assignments left", stage, in_race,
              s->cover.n_arms);
    return s->hooks->progress (s->hooks->ctx, fraction, left_s, what);
}

/* Arms that launch the same on a call share its timing: work[arm][call] is the first
 * arm that does. */
static int share_work (struct site *s, struct dt_err *reterr)
{
    size_t n = s->sample.n;
    uint32_t *first = dt_calloc (s->cover.n_variants, sizeof *first); /* arm + 1 */

    s->work = dt_calloc (s->cover.n_arms * n, sizeof *s->work);
    s->weight = dt_calloc (n, sizeof *s->weight);
    s->mean_ns = dt_calloc (n, sizeof *s->mean_ns);
    if (!first || !s->work || !s->weight || !s->mean_ns) {
        dt_free (first);
        return dt_err_nomem (reterr);
    }
    for (size_t a = 0; a < s->cover.n_arms; a++)
        for (size_t c = 0; c < n; c++) {
            uint32_t *f = &first[s->cover.arm[a].same[c]]; /* of this call only */

            *f = *f ? *f : (uint32_t)a + 1;
            s->work[a * n + c] = *f - 1;
        }
    for (size_t c = 0; c < n; c++)
        s->weight[c] = s->sample.call[c].weight;
    dt_free (first);
    return 0;
}

/* The arm that stands for the incumbent: if that is not usable, the usable one with
 * the lowest index, since arms are in order of their first assignment. */
static size_t incumbent_arm (const struct site *s)
{
    return s->cover.incumbent < s->cover.n_arms ? s->cover.incumbent : 0;
}

static int race_site (struct site *s, const struct dt_tune_options *o, struct dt_race_result *ret,
                      struct dt_err *reterr)
{
    struct dt_race race = {
        .n_arms = s->cover.n_arms,
        .n_calls = s->sample.n,
        .weight = s->weight,
        .work = s->work,
        .incumbent = incumbent_arm (s),
        .minimum_effect = o->minimum_effect > 0 ? o->minimum_effect : MINIMUM_EFFECT,
        .budget_s = o->budget_s > 0 ? o->budget_s : BUDGET_S,
        .seed = o->seed,
        .exhaustive = o->exhaustive,
        .ctx = s,
        .measure = measure,
        .now_ns = now_ns,
        .progress = progress,
    };
    int r = dt_race_run (&race, ret, s->mean_ns, reterr);

    return r == -DT_EUNTRUSTED
               ? dt_err_prefix (reterr, r, "%s/%s", s->cover.site->family, s->cover.site->site)
               : r;
}

static void fill_result (const struct site *s, const struct dt_race_result *race,
                         struct dt_tune_result *ret)
{
    struct dt_tune_result out = {
        .chosen = s->cover.arm[race->chosen].assignment,
        .incumbent = s->cover.arm[incumbent_arm (s)].assignment,
        .tie = race->tie,
        .ratio = race->ratio,
        .ratio_lo = race->lo,
        .ratio_hi = race->hi,
        .worst_ratio = race->worst_ratio,
        .sample_error = dt_sample_error (&s->sample, s->mean_ns),
        .n_legal = s->cover.n_legal,
        .n_merged = s->cover.n_arms,
        .n_measured = race->n_measured,
        .n_calls = s->cover.site->n_calls,
        .n_sampled = s->sample.n,
        .n_measurements = race->n_measurements,
    };

    out.n_refused = s->cover.n_refused;
    memcpy (out.refusal, s->cover.refusal, sizeof out.refusal);
    for (size_t c = 0; c < s->sample.n; c++)
        out.trace_ns += s->weight[c] * s->mean_ns[c];
    *ret = out;
}

int dt_tune_site (const struct dt_solution *solution, const struct dt_trace_site *t,
                  size_t incumbent, const struct dt_tune_options *options,
                  const struct dt_tune_hooks *hooks, struct dt_tune_result *ret,
                  struct dt_err *reterr)
{
    struct site s = { .hooks = hooks };
    struct dt_race_result race;
    int r;

    if (incumbent >= solution->n_assignments)
        return dt_err_set (reterr, -DT_EINPUT, "%s/%s: no assignment %zu", t->family, t->site,
                           incumbent);
    if ((r = dt_sample_draw (t, options->max_calls ? options->max_calls : MAX_CALLS, options->seed,
                             &s.sample, reterr)) < 0 ||
        (r = dt_cover_build (&s.cover, solution, t, &s.sample, incumbent, hooks, reterr)) < 0 ||
        (r = share_work (&s, reterr)) < 0 || (r = race_site (&s, options, &race, reterr)) < 0)
        goto fail;
    fill_result (&s, &race, ret);
fail:
    site_done (&s);
    return r;
}
