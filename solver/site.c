/* solver/site.c - a deployment's site, solved from its program's text. */
#include "solver/site.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "solver/family.h"

static int named (const char *name, const char *const *list, size_t n)
{
    size_t i;

    for (i = 0; i < n && strcmp (list[i], name) != 0; i++)
        ;
    return i < n;
}

static int is_asked (const struct dt_program *p, const char *name)
{
    size_t i, n = dt_program_facts (p);

    for (i = 0; i < n && strcmp (dt_program_fact (p, i), name) != 0; i++)
        ;
    return i < n;
}

int dt_site_check (const struct dt_site *site, const struct dt_program *p,
                   const char *const *asked, size_t n_asked, struct dt_err *reterr)
{
    size_t i, n = dt_program_facts (p);
    const char **all = dt_calloc (n + n_asked, sizeof *all), *near;
    int r = 0;

    if (!all)
        return dt_err_nomem (reterr);
    for (i = 0; i < n; i++)
        all[i] = dt_program_fact (p, i);
    for (i = 0; i < n_asked; i++)
        all[n + i] = asked[i];
    for (i = site->n_limits; i < site->n_facts && r == 0; i++) {
        const char *name = site->fact[i].name;

        if (named (name, all, n + n_asked))
            continue;
        near = dt_suggest (name, all, n + n_asked);
        r = dt_err_set (reterr, -DT_EINPUT,
                        "site %s of family %s: neither %s nor the backend asks for the fact "
                        "\"%s\"%s%s%s", site->site, site->family, site->program, name,
                        near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    dt_free (all);
    return r;
}

int dt_site_specialise (const struct dt_site *site, const struct dt_program *p,
                        struct dt_graph **ret, struct dt_err *reterr)
{
    struct dt_fact *fact;
    size_t i, n = 0;
    int r;

    if (strcmp (dt_program_family (p), site->family) != 0)
        return dt_err_set (reterr, -DT_EINPUT, "site %s is of family %s, and %s of family %s",
                           site->site, site->family, site->program, dt_program_family (p));
    if (!(fact = dt_calloc (site->n_facts, sizeof *fact)))
        return dt_err_nomem (reterr);
    for (i = 0; i < site->n_facts; i++)
        if (is_asked (p, site->fact[i].name))
            fact[n++] = site->fact[i];
    r = dt_program_specialise (p, fact, n, ret, reterr);
    dt_free (fact);
    return r == -DT_EINPUT ? dt_err_prefix (reterr, r, "site %s of family %s", site->site,
                                            site->family)
                           : r;
}

/* The fields that the deployment claims for a family; *ret_n of them. */
static const char **claims_of (const struct dt_deployment *d, const char *family, size_t *ret_n)
{
    const char **claim = dt_calloc (d->n_claims, sizeof *claim);
    size_t i, n = 0;

    for (i = 0; claim && i < d->n_claims; i++)
        if (strcmp (d->claim[i].family, family) == 0)
            claim[n++] = d->claim[i].field;
    *ret_n = n;
    return claim;
}

int dt_site_check_graph (const struct dt_deployment *d, size_t site, const struct dt_graph *g,
                         dt_site_input_f input, struct dt_err *reterr)
{
    const struct dt_site *s = &d->site[site];
    const char **claim;
    size_t n;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < g->n_inputs; i++)
        if (g->input[i].type == DT_TYPE_FLOAT)
            r = dt_err_set (reterr, -DT_EINPUT, "the domain of input %s is of floats, and a call gives "
                            "ints: take those it is made of, and divide in the program",
                            g->input[i].name);
        else if (input)
            r = input (s->family, g->input[i].name, g->input[i].klass == DT_INPUT_OWN, reterr);
    if (r < 0)
        return dt_err_prefix (reterr, r, "site %s, program %s", s->site, s->program);
    if (!(claim = claims_of (d, s->family, &n)))
        return dt_err_nomem (reterr);
    r = dt_solve_check_claims (g, claim, n, reterr);
    dt_free (claim);
    return r;
}

/* A copy of the sources, and of their digests if they are known, with the site's program
 * in front (dt_free both). */
static int program_first (const struct dt_site *site, const struct dt_source *source,
                          const struct dt_digest *text, size_t n, struct dt_source **ret,
                          struct dt_digest **ret_text, struct dt_err *reterr)
{
    struct dt_source *copy;
    struct dt_digest *digest = NULL;
    size_t i, first;

    for (first = 0; first < n && strcmp (source[first].name, site->program) != 0; first++)
        ;
    if (first == n)
        return dt_err_set (reterr, -DT_ENOTFOUND, "site %s of family %s: no source named %s",
                           site->site, site->family, site->program);
    copy = dt_calloc (n, sizeof *copy);
    if (!copy || (text && !(digest = dt_calloc (n, sizeof *digest)))) {
        dt_free (copy);
        return dt_err_nomem (reterr);
    }
    for (i = 0; i < n; i++) {
        size_t to = i == first ? 0 : i < first ? i + 1 : i;

        copy[to] = source[i];
        if (text)
            digest[to] = text[i];
    }
    *ret = copy;
    *ret_text = digest;
    return 0;
}

/* Claims and sources of a site, as options and key take them. */
static int gather (const struct dt_deployment *d, size_t site, const struct dt_source *source,
                   size_t n, const struct dt_site_options *options, struct dt_solve_key *ret,
                   struct dt_err *reterr)
{
    const struct dt_site *s = &d->site[site];
    struct dt_source *mine = NULL;
    struct dt_digest *text = NULL;
    int r;

    memset (ret, 0, sizeof *ret);
    if ((options->family
         && (r = dt_family_digest (options->family, &ret->parameters, reterr)) < 0)
        || (r = program_first (s, source, options->text, n, &mine, &text, reterr)) < 0)
        return r;
    ret->version = DT_SOLVER_VERSION;
    ret->source = mine;
    ret->text = text;
    ret->n_sources = n;
    ret->fact = s->fact;
    ret->n_facts = s->n_facts;
    ret->options = (struct dt_solve_options){ .site = s->site, .strict = options->strict,
                                              .no_free = options->no_free,
                                              .n_threads = options->n_threads };
    ret->options.claim = claims_of (d, s->family, &ret->options.n_claims);
    if (!ret->options.claim) {
        dt_free (mine);
        dt_free (text);
        return dt_err_nomem (reterr);
    }
    return 0;
}

static void gather_done (struct dt_solve_key *k)
{
    dt_free ((void *)k->source);
    dt_free ((void *)k->text);
    dt_free ((void *)k->options.claim);
}

int dt_site_key (const struct dt_deployment *d, size_t site, const struct dt_source *source,
                 size_t n_sources, const struct dt_site_options *options,
                 struct dt_digest *ret, struct dt_err *reterr)
{
    struct dt_solve_key key;
    int r;

    if ((r = gather (d, site, source, n_sources, options, &key, reterr)) < 0)
        return r;
    r = dt_solve_digest (&key, ret, reterr);
    gather_done (&key);
    return r;
}

int dt_site_solve (const struct dt_deployment *d, size_t site, const struct dt_source *source,
                   size_t n_sources, const struct dt_site_options *options,
                   struct dt_solution **ret, struct dt_digest *ret_key, struct dt_err *reterr)
{
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL;
    struct dt_solve_key key;
    struct dt_digest digest;
    int r;

    if ((r = gather (d, site, source, n_sources, options, &key, reterr)) < 0)
        return r;
    if ((r = dt_solve_digest (&key, &digest, reterr)) < 0
        || (r = dt_program_parse (key.source, n_sources, &p, reterr)) < 0
        || (r = dt_site_specialise (&d->site[site], p, &g, reterr)) < 0
        || (r = dt_site_check_graph (d, site, g, options->input, reterr)) < 0
        || (options->family
            && (r = dt_family_check_solve (options->family, &d->site[site], p, g,
                                           key.options.claim, key.options.n_claims, reterr)) < 0)
        || (r = dt_solve (g, &key.options, ret, reterr)) < 0)
        goto fail;
    if (ret_key)
        *ret_key = digest;
fail:
    dt_graph_free (g);
    dt_program_free (p);
    gather_done (&key);
    return r;
}
