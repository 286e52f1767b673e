/* detentctl/solved.c - the solutions of a deployment's sites, from here or from detentd. */
#include "detentctl/solved.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "detentctl/connect.h"
#include "solver/site.h"
#include "trace/schema.h"

static void done_site (struct dt_solved_site *site)
{
    dt_solution_free (site->solution);
    dt_free (site->certified);
    dt_free (site->unjudged);
}

void dt_solved_done (struct dt_solved *v)
{
    for (size_t i = 0; i < v->n_sites; i++)
        done_site (&v->site[i]);
    dt_free (v->site);
    dt_free (v->deployment);
    memset (v, 0, sizeof *v);
}

static int begin (const char *deployment, size_t n, struct dt_solved *ret, struct dt_err *reterr)
{
    memset (ret, 0, sizeof *ret);
    ret->deployment = dt_strdup (deployment);
    ret->site = dt_calloc (n, sizeof *ret->site);
    return ret->deployment && ret->site ? 0 : dt_err_nomem (reterr);
}

/* Ended though it is not counted yet. */
static int drop (int r, struct dt_solved_site *site)
{
    if (r < 0)
        done_site (site);
    return r;
}

/* What was begun becomes the caller's, or nothing is left of it. */
static int end (int r, struct dt_solved *v, struct dt_solved *ret)
{
    if (r < 0)
        dt_solved_done (v);
    else
        *ret = *v;
    return r;
}

static int solve_site (const struct dt_collected *k, size_t i,
                       const struct dt_site_options *options, struct dt_solved_site *ret,
                       struct dt_err *reterr)
{
    struct dt_source source[DT_SOURCE_MAX_FILES];
    size_t n = dt_collected_sources (k, &k->deployment->site[i], source);
    uint64_t start_ns = dt_time_raw_ns ();
    int r = dt_site_solve (k->deployment, i, source, n, options, &ret->solution, &ret->question,
                           reterr);

    ret->solve_us = (dt_time_raw_ns () - start_ns) / 1000;
    if (r < 0)
        return r;
    ret->key = dt_solve_cache_key (&ret->question, NULL);
    ret->certified = dt_calloc (ret->solution->n_points, sizeof *ret->certified);
    return drop (ret->certified ? 0 : dt_err_nomem (reterr), ret);
}

int dt_solved_here (const struct dt_collected *k, int strict, int no_free, struct dt_solved *ret,
                    struct dt_err *reterr)
{
    struct dt_site_options options = { .strict = strict, .no_free = no_free, .n_threads = 2,
                                       .input = dt_schema_check_input };
    struct dt_solved v;
    int r = begin (k->deployment->name, k->deployment->n_sites, &v, reterr);

    for (; r == 0 && v.n_sites < k->deployment->n_sites; v.n_sites++)
        if ((r = solve_site (k, v.n_sites, &options, &v.site[v.n_sites], reterr)) < 0)
            break;
    return end (r, &v, ret);
}

static int take_digest (const Detent__SiteSolution *m, const ProtobufCBinaryData *from,
                        struct dt_digest *ret, struct dt_err *reterr)
{
    if (from->len != DT_DIGEST_BYTES)
        return dt_err_set (reterr, -DT_ECORRUPT, "site %s: a key of %zu bytes", m->site, from->len);
    memcpy (ret->bytes, from->data, DT_DIGEST_BYTES);
    return 0;
}

static int take_standing (const Detent__SiteSolution *m, struct dt_solved_site *ret,
                          struct dt_err *reterr)
{
    size_t n = ret->solution->n_points;

    if (m->n_certified != n)
        return dt_err_set (reterr, -DT_ECORRUPT, "site %s: certificates of %zu fields, and it has "
                           "%zu", m->site, m->n_certified, n);
    if (!(ret->certified = dt_calloc (n, sizeof *ret->certified))
        || (m->unjudged && !(ret->unjudged = dt_strdup (m->unjudged))))
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++)
        ret->certified[i] = m->certified[i];
    return 0;
}

static int take_site (const Detent__SiteSolution *m, struct dt_solved_site *ret,
                      struct dt_err *reterr)
{
    struct dt_canon_value value;
    int r;

    if ((r = take_digest (m, &m->key, &ret->key, reterr)) < 0
        || (r = take_digest (m, &m->question, &ret->question, reterr)) < 0)
        return r;
    if ((r = dt_canon_check (m->solution.data, m->solution.len, &value, reterr)) < 0
        || (r = dt_solution_decode (value, &ret->solution, reterr)) < 0)
        return dt_err_prefix (reterr, r, "site %s", m->site);
    ret->cached = m->cached;
    ret->solve_us = m->solve_us;
    return drop (take_standing (m, ret, reterr), ret);
}

int dt_solved_take (const char *deployment, Detent__SiteSolution *const *site, size_t n,
                    struct dt_solved *ret, struct dt_err *reterr)
{
    struct dt_solved v;
    int r = begin (deployment, n, &v, reterr);

    for (; r == 0 && v.n_sites < n; v.n_sites++)
        if ((r = take_site (site[v.n_sites], &v.site[v.n_sites], reterr)) < 0)
            break;
    return end (r, &v, ret);
}

int dt_solved_ask (const struct dt_ctl *c, const char *deployment, struct dt_solved *ret,
                   struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__PinsRequest body = DETENT__PINS_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    int r;

    body.deployment = (char *)deployment;
    rq.body_case = DETENT__REQUEST__BODY_PINS;
    rq.pins = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_PINS, 30, &reply, reterr)) < 0)
        return r;
    r = dt_solved_take (reply->pins->deployment, reply->pins->site, reply->pins->n_site, ret,
                        reterr);
    detent__reply__free_unpacked (reply, NULL);
    return r;
}
