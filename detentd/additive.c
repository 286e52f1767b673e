/* detentd/additive.c - is a step's cost the sum of its sites' costs? */
#include "detentd/additive.h"

#include <string.h>

#include "base/mem.h"
#include "tuner/calls.h"
#include "tuner/cover.h"
#include "tuner/stats.h"

enum { CHOSEN, DEFAULT, RUNNERS_UP, RANDOM, TUPLES = RANDOM + 4 };
#define STEPS 3 /* calls of each site: light, middling, heavy */
#define TRIES 64

struct check {
    struct dt_measure *m;
    struct dt_tune_hooks hooks;
    const struct dt_additive_site *site;
    size_t n_sites;
    struct dt_calls *calls;       /* [n_sites] */
    struct dt_cover_at (*at)[STEPS]; /* [n_sites] */
    struct dt_cover *cover;       /* [TUPLES * n_sites] a site's calls under a tuple */
};

static void done (struct check *c)
{
    for (size_t i = 0; c->cover && i < TUPLES * c->n_sites; i++)
        dt_cover_done (&c->cover[i]);
    for (size_t i = 0; c->calls && i < c->n_sites; i++)
        dt_calls_done (&c->calls[i]);
    dt_free (c->cover);
    dt_free (c->calls);
    dt_free (c->at);
}

/* Calls by work: the sample is in its order. */
static int choose_calls (struct check *c, size_t i, struct dt_err *reterr)
{
    int r = dt_calls_draw (&c->site[i].trace, 1, 0, 0, &c->calls[i], reterr);

    for (size_t k = 0; r == 0 && k < STEPS; k++)
        c->at[i][k] = c->calls[i].at[(2 * k + 1) * c->calls[i].n / (2 * STEPS)];
    return r;
}

static int cover (struct check *c, size_t tuple, size_t i, size_t assignment,
                  struct dt_err *reterr)
{
    struct dt_cover *cover = &c->cover[tuple * c->n_sites + i];

    c->m->site = c->site[i].site; /* whose facts plan and measure send */
    dt_cover_done (cover);        /* of a try that cannot run */
    return dt_cover_one (cover, c->site[i].solution, c->at[i], STEPS, assignment, &c->hooks, reterr);
}

/* A random legal assignment that can run; the chosen one if none was met. */
static int cover_random (struct check *c, size_t tuple, size_t i, struct dt_random *random,
                         struct dt_err *reterr)
{
    const struct dt_solution *s = c->site[i].solution;
    struct dt_err ignored;

    for (int tries = 0; tries < TRIES; tries++) {
        size_t a = dt_random_below (random, s->n_assignments);
        int r = s->verdict[a] == DT_ILLEGAL ? -DT_EILLEGAL : cover (c, tuple, i, a, &ignored);

        if (r != -DT_EILLEGAL)
            return r < 0 ? dt_err_set (reterr, r, "%s", ignored.text) : 0;
    }
    return cover (c, tuple, i, c->site[i].chosen, reterr);
}

static int cover_all (struct check *c, struct dt_err *reterr)
{
    struct dt_random random = { 1 };
    int r = 0;

    for (size_t t = 0; r == 0 && t < TUPLES; t++)
        for (size_t i = 0; r == 0 && i < c->n_sites; i++) {
            const struct dt_additive_site *s = &c->site[i];

            r = t >= RANDOM ? cover_random (c, t, i, &random, reterr)
                            : cover (c, t, i, t == CHOSEN    ? s->chosen
                                              : t == DEFAULT ? s->incumbent
                                                             : s->runner_up, reterr);
        }
    return r;
}

static int measure (void *ctx, size_t tuple, size_t site, size_t step, uint64_t *ret_ns,
                    struct dt_err *reterr)
{
    struct check *c = ctx;
    const struct dt_cover *cover = &c->cover[tuple * c->n_sites + site];
    struct dt_tune_call call = dt_cover_call (cover, cover->arm[0].variant[step]);

    c->m->site = c->site[site].site;
    return c->hooks.measure (c->hooks.ctx, &call, ret_ns, reterr);
}

int dt_additive_check (struct dt_measure *m, const struct dt_additive_site *site, size_t n_sites,
                       struct dt_additive_result *ret, size_t *ret_tuples,
                       struct dt_err *reterr)
{
    struct check c = { .m = m, .hooks = dt_measure_hooks (m), .site = site, .n_sites = n_sites };
    struct dt_additive a = { TUPLES, n_sites, STEPS, NULL, &c, measure };
    double *weight = dt_calloc (n_sites, sizeof *weight);
    int r = 0;

    c.calls = dt_calloc (n_sites, sizeof *c.calls);
    c.at = dt_calloc (n_sites, sizeof *c.at);
    c.cover = dt_calloc (TUPLES * n_sites, sizeof *c.cover);
    if (!weight || !c.calls || !c.at || !c.cover)
        r = dt_err_nomem (reterr);
    for (size_t i = 0; r == 0 && i < n_sites; i++) {
        weight[i] = (double)site[i].site->calls_per_step;
        r = choose_calls (&c, i, reterr);
    }
    a.weight = weight;
    if (r == 0 && (r = cover_all (&c, reterr)) == 0
        && (r = dt_additive_estimate (&a, ret, reterr)) == 0)
        *ret_tuples = TUPLES;
    done (&c);
    dt_free (weight);
    return r;
}
