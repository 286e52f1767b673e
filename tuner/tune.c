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
    struct dt_sample *sample; /* [n_traces] */
    size_t n_traces;
    struct dt_cover_at *at;   /* [n] the samples' calls, trace by trace */
    size_t n;
    double *weight, *mean_ns; /* [n] */
    uint32_t *group;          /* [n] */
    uint32_t *work;           /* [n_arms * n] */
    uint64_t salt, *id;       /* of data in a fresh process; [most requests] */
    uint64_t n_recalled, recalled_ns; /* they count against the budget, as if timed now */
};

static void site_done (struct site *s)
{
    dt_cover_done (&s->cover);
    for (size_t k = 0; s->sample && k < s->n_traces; k++)
        dt_sample_done (&s->sample[k]);
    dt_free (s->sample);
    dt_free (s->at);
    dt_free (s->weight);
    dt_free (s->mean_ns);
    dt_free (s->group);
    dt_free (s->work);
    dt_free (s->id);
}

/* --- callbacks ------------------------------------------------------------- */

static int time_call (struct site *s, size_t arm, size_t call, uint64_t *ret_ns,
                      struct dt_err *reterr)
{
    const struct dt_cover_arm *a = &s->cover.arm[arm];
    struct dt_tune_call c = dt_cover_call (&s->cover, a->variant[call]);
    int r;

    for (size_t i = 0; s->salt && i < c.call.n_requests; i++)
        s->id[i] = c.id[i] ^ s->salt;
    if (s->salt)
        c.id = s->id;
    if ((r = s->hooks->measure (s->hooks->ctx, &c, ret_ns, reterr)) == -DT_EUNSUPPORTED && reterr)
        dt_cover_refuse (&s->cover, a->assignment, call, reterr->text);
    return r;
}

static int measure (void *ctx, size_t arm, size_t call, uint64_t *ret_ns, struct dt_err *reterr)
{
    struct site *s = ctx;
    const struct dt_tune_hooks *hooks = s->hooks;
    struct dt_tune_at at = { s->cover.arm[arm].assignment, s->at[call].trace, s->at[call].call };
    uint64_t ns;
    int r;

    if (hooks->recall && hooks->recall (hooks->ctx, &at, ret_ns)) {
        s->n_recalled++;
        s->recalled_ns += *ret_ns;
        return 0;
    }
    if ((r = time_call (s, arm, call, &ns, reterr)) < 0
        || (hooks->keep && (r = hooks->keep (hooks->ctx, &at, ns, reterr)) < 0))
        return r;
    *ret_ns = ns;
    return 0;
}

/* Another process, and other data: what the operands hold follows from the ids. */
static int fresh (void *ctx, struct dt_err *reterr)
{
    struct site *s = ctx;

    s->salt = 0x5bd1e995a7c3f10du; /* any but 0: the same, so that a tune can be resumed */
    return s->hooks->fresh (s->hooks->ctx, reterr);
}

static uint64_t now_ns (void *ctx)
{
    return dt_time_mono_ns () + ((const struct site *)ctx)->recalled_ns;
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

/* --- the site -------------------------------------------------------------- */

/* Each trace has the same part of the sample. */
static int draw_samples (struct site *s, const struct dt_trace_site *const *trace, size_t n_traces,
                         const struct dt_tune_options *o, struct dt_err *reterr)
{
    size_t max = (o->max_calls ? o->max_calls : MAX_CALLS) / n_traces;
    int r;

    if (!(s->sample = dt_calloc (n_traces, sizeof *s->sample)))
        return dt_err_nomem (reterr);
    s->n_traces = n_traces;
    for (size_t k = 0; k < n_traces; k++) {
        if ((r = dt_sample_draw (trace[k], max ? max : 1, o->seed, &s->sample[k], reterr)) < 0)
            return r;
        s->n += s->sample[k].n;
    }
    return 0;
}

/* The samples' calls as one list. */
static int list_calls (struct site *s, const struct dt_trace_site *const *trace,
                       struct dt_err *reterr)
{
    size_t at = 0, most = 0;

    s->at = dt_calloc (s->n, sizeof *s->at);
    s->weight = dt_calloc (s->n, sizeof *s->weight);
    s->group = dt_calloc (s->n, sizeof *s->group);
    s->mean_ns = dt_calloc (s->n, sizeof *s->mean_ns);
    if (!s->at || !s->weight || !s->group || !s->mean_ns)
        return dt_err_nomem (reterr);
    for (size_t k = 0; k < s->n_traces; k++)
        for (size_t i = 0; i < s->sample[k].n; i++, at++) {
            const struct dt_sample_call *c = &s->sample[k].call[i];
            size_t requests = trace[k]->call[c->call].n_requests;

            s->at[at] = (struct dt_cover_at){ trace[k], k, c->call, c->weight };
            s->weight[at] = c->weight;
            s->group[at] = (uint32_t)k;
            most = requests > most ? requests : most;
        }
    s->id = dt_calloc (most, sizeof *s->id);
    return s->id ? 0 : dt_err_nomem (reterr);
}

/* Arms that launch the same on a call share its timing: work[arm][call] is the first
 * arm that does. */
static int share_work (struct site *s, struct dt_err *reterr)
{
    size_t n = s->n;
    uint32_t *first = dt_calloc (s->cover.n_variants, sizeof *first); /* arm + 1 */

    s->work = dt_calloc (s->cover.n_arms * n, sizeof *s->work);
    if (!first || !s->work) {
        dt_free (first);
        return dt_err_nomem (reterr);
    }
    for (size_t a = 0; a < s->cover.n_arms; a++)
        for (size_t c = 0; c < n; c++) {
            uint32_t *f = &first[s->cover.arm[a].same[c]]; /* of this call only */

            *f = *f ? *f : (uint32_t)a + 1;
            s->work[a * n + c] = *f - 1;
        }
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
        .n_calls = s->n,
        .weight = s->weight,
        .work = s->work,
        .group = s->group,
        .n_groups = s->n_traces,
        .incumbent = incumbent_arm (s),
        .minimum_effect = o->minimum_effect > 0 ? o->minimum_effect : MINIMUM_EFFECT,
        .budget_s = o->budget_s > 0 ? o->budget_s : BUDGET_S,
        .seed = o->seed,
        .exhaustive = o->exhaustive,
        .ctx = s,
        .measure = measure,
        .fresh = s->hooks->fresh ? fresh : NULL,
        .now_ns = now_ns,
        .progress = progress,
    };
    int r = dt_race_run (&race, ret, s->mean_ns, reterr);

    return r == -DT_EUNTRUSTED
               ? dt_err_prefix (reterr, r, "%s/%s", s->at[0].site->family, s->at[0].site->site)
               : r;
}

/* The cost of the traces, and how far off it may be: the traces' samples are
 * independent of each other. */
static void estimate (const struct site *s, struct dt_tune_result *out)
{
    double square = 0;
    size_t at = 0;

    for (size_t k = 0; k < s->n_traces; k++) {
        double sum = 0, error = dt_sample_error (&s->sample[k], s->mean_ns + at);

        for (size_t i = 0; i < s->sample[k].n; i++, at++)
            sum += s->weight[at] * s->mean_ns[at];
        out->trace_ns += sum;
        square += error * error * sum * sum;
        out->n_calls += s->at[at - 1].site->n_calls;
    }
    out->sample_error = out->trace_ns > 0 ? sqrt (square) / out->trace_ns : 0;
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
        .n_legal = s->cover.n_legal,
        .n_merged = s->cover.n_arms,
        .n_measured = race->n_measured,
        .n_sampled = s->n,
        .n_measurements = race->n_measurements,
        .n_recalled = s->n_recalled,
        .confirm = race->confirm,
        .again = race->again,
        .again_lo = race->again_lo,
        .again_hi = race->again_hi,
    };

    out.n_refused = s->cover.n_refused;
    memcpy (out.refusal, s->cover.refusal, sizeof out.refusal);
    estimate (s, &out);
    *ret = out;
}

int dt_tune_site (const struct dt_solution *solution, const struct dt_trace_site *const *trace,
                  size_t n_traces, size_t incumbent, const struct dt_tune_options *options,
                  const struct dt_tune_hooks *hooks, struct dt_tune_result *ret,
                  struct dt_err *reterr)
{
    struct site s = { .hooks = hooks };
    struct dt_race_result race;
    int r;

    if (incumbent >= solution->n_assignments)
        return dt_err_set (reterr, -DT_EINPUT, "%s/%s: no assignment %zu", solution->family,
                           solution->site, incumbent);
    if ((r = draw_samples (&s, trace, n_traces, options, reterr)) < 0
        || (r = list_calls (&s, trace, reterr)) < 0
        || (r = dt_cover_build (&s.cover, solution, s.at, s.n, options->allowed, incumbent, hooks,
                                reterr)) < 0
        || (r = share_work (&s, reterr)) < 0 || (r = race_site (&s, options, &race, reterr)) < 0)
        goto fail;
    fill_result (&s, &race, ret);
fail:
    site_done (&s);
    return r;
}
