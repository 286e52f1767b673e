/* tuner/tune.c - from a trace to the cheapest legal assignment of one site. */
#include "tuner/tune.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "tuner/calls.h"
#include "tuner/cover.h"
#include "tuner/race.h"

#define BUDGET_S 30.0
#define MINIMUM_EFFECT 0.01

/* What the race's callbacks need. */
struct site {
    const struct dt_tune_hooks *hooks;
    struct dt_cover cover;
    struct dt_calls calls;
    double *mean_ns;          /* [calls.n] */
    uint32_t *work;           /* [n_arms * calls.n] */
    uint64_t salt, *id;       /* of data in a fresh process; [most requests] */
    uint64_t n_recalled, recalled_ns; /* they count against the budget, as if timed now */
};

static void site_done (struct site *s)
{
    dt_cover_done (&s->cover);
    dt_calls_done (&s->calls);
    dt_free (s->mean_ns);
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
    struct dt_tune_at at = { s->cover.arm[arm].assignment, s->calls.at[call].trace,
                             s->calls.at[call].call };
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

/* Arms that launch the same on a call share its timing: work[arm][call] is the first
 * arm that does. */
static int share_work (struct site *s, struct dt_err *reterr)
{
    size_t n = s->calls.n;
    uint32_t *first = dt_calloc (s->cover.n_variants, sizeof *first); /* arm + 1 */

    s->work = dt_calloc (s->cover.n_arms * n, sizeof *s->work);
    s->mean_ns = dt_calloc (n, sizeof *s->mean_ns);
    s->id = dt_calloc (s->calls.most_requests, sizeof *s->id);
    if (!first || !s->work || !s->mean_ns || !s->id) {
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
        .n_calls = s->calls.n,
        .weight = s->calls.weight,
        .work = s->work,
        .group = s->calls.group,
        .n_groups = s->calls.n_traces,
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
               ? dt_err_prefix (reterr, r, "%s/%s", s->calls.at[0].site->family, s->calls.at[0].site->site)
               : r;
}

/* The cost of the traces, and how far off it may be: the traces' samples are
 * independent of each other. */
static void estimate (const struct site *s, struct dt_tune_result *out)
{
    double square = 0;
    size_t at = 0;

    for (size_t k = 0; k < s->calls.n_traces; k++) {
        double sum = 0, error = dt_sample_half (&s->calls.sample[k], s->mean_ns + at);

        for (size_t i = 0; i < s->calls.sample[k].n; i++, at++)
            sum += s->calls.weight[at] * s->mean_ns[at];
        out->trace_ns += sum;
        square += error * error * sum * sum;
        out->n_calls += s->calls.at[at - 1].site->n_calls;
    }
    out->sample_error = out->trace_ns > 0 ? sqrt (square) / out->trace_ns : 0;
}

static void fill_result (const struct site *s, const struct dt_race_result *race,
                         struct dt_tune_result *ret)
{
    struct dt_tune_result out = {
        .chosen = s->cover.arm[race->chosen].assignment,
        .incumbent = s->cover.arm[incumbent_arm (s)].assignment,
        .runner_up = s->cover.arm[race->runner_up].assignment,
        .tie = race->tie,
        .ratio = race->ratio,
        .ratio_lo = race->lo,
        .ratio_hi = race->hi,
        .worst_ratio = race->worst_ratio,
        .n_legal = s->cover.n_legal,
        .n_merged = s->cover.n_arms,
        .n_measured = race->n_measured,
        .n_sampled = s->calls.n,
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

/* An assignment on calls that were not sampled: one that it cannot run must be known
 * before it is committed. */
static int check_all (const struct site *s, size_t chosen,
                      const struct dt_trace_site *const *trace, size_t n_traces,
                      struct dt_err *reterr)
{
    const struct dt_solution *solution = s->cover.solution;
    struct dt_calls all;
    struct dt_cover cover;
    int r;

    if ((r = dt_calls_spread (trace, n_traces, &all, reterr)) < 0)
        return r;
    r = dt_cover_one (&cover, solution, all.at, all.n, chosen, s->hooks, reterr);
    dt_cover_done (&cover);
    dt_calls_done (&all);
    return r;
}

/* No assignment is usable: of the first, all calls are named, not the sampled ones alone. */
static int name_calls (const struct site *s, const struct dt_trace_site *const *trace,
                       size_t n_traces, struct dt_err *reterr)
{
    struct dt_err all = { "" };
    int r;

    if (s->cover.n_refused == 0)
        return -DT_EILLEGAL;
    r = check_all (s, s->cover.refusal[0].assignment, trace, n_traces, &all);
    if (r < 0 && r != -DT_EILLEGAL) /* cancelled, or the device: not the assignments' fault */
        return dt_err_set (reterr, r, "%s", all.text);
    if (r == 0)
        return -DT_EILLEGAL;
    return dt_err_set (reterr, -DT_EILLEGAL, "no legal value is usable: each of %zu legal "
                       "assignments is refused; the first: %s", s->cover.n_legal, all.text);
}

/* What is refused once is refused again, so the second cover differs in its incumbent
 * only. */
static int cover (struct site *s, const struct dt_solution *solution,
                  const struct dt_trace_site *const *trace, size_t n_traces,
                  const struct dt_tune_options *o, size_t incumbent, struct dt_err *reterr)
{
    int r = dt_cover_build (&s->cover, solution, s->calls.at, s->calls.n, o->allowed, incumbent,
                            s->hooks, reterr);

    if (r == -DT_EILLEGAL)
        return name_calls (s, trace, n_traces, reterr);
    if (r < 0 || s->cover.incumbent < s->cover.n_arms || o->otherwise == incumbent)
        return r;
    dt_cover_done (&s->cover);
    return dt_cover_build (&s->cover, solution, s->calls.at, s->calls.n, o->allowed, o->otherwise,
                           s->hooks, reterr);
}

/* What won must be able to run all of the traces. */
static int check_chosen (const struct site *s, const struct dt_race_result *race,
                         const struct dt_trace_site *const *trace, size_t n_traces,
                         struct dt_err *reterr)
{
    int r = check_all (s, s->cover.arm[race->chosen].assignment, trace, n_traces, reterr);

    return r == -DT_EILLEGAL ? dt_err_prefix (reterr, r, "what was chosen") : r;
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
    if ((r = dt_calls_draw (trace, n_traces, options->max_calls, options->seed, &s.calls,
                            reterr)) < 0
        || (r = cover (&s, solution, trace, n_traces, options, incumbent, reterr)) < 0
        || (r = share_work (&s, reterr)) < 0 || (r = race_site (&s, options, &race, reterr)) < 0
        || (r = check_chosen (&s, &race, trace, n_traces, reterr)) < 0)
        goto fail;
    fill_result (&s, &race, ret);
fail:
    site_done (&s);
    return r;
}
