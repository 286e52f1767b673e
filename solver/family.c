/* solver/family.c - what a backend says of one family, and whether a site fits it. */
#include "solver/family.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "solver/site.h"

static void put_facts (const struct dt_family *f, struct dt_canon *c)
{
    size_t i;

    dt_canon_key (c, "facts");
    dt_canon_list (c);
    for (i = 0; i < f->n_facts; i++) {
        dt_canon_map (c);
        dt_canon_kint (c, "hi", f->fact[i].hi);
        dt_canon_kint (c, "lo", f->fact[i].lo);
        dt_canon_kstr (c, "name", f->fact[i].name);
        dt_canon_kint (c, "optional", f->fact[i].optional != 0);
        dt_canon_kstr (c, "unit", f->fact[i].unit);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_params (const struct dt_family *f, struct dt_canon *c)
{
    size_t i, k;

    dt_canon_key (c, "params");
    dt_canon_list (c);
    for (i = 0; i < f->n_params; i++) {
        const struct dt_family_param *p = &f->param[i];

        dt_canon_map (c);
        dt_canon_kint (c, "binding", p->binding != 0);
        dt_canon_kstr (c, "name", p->name);
        dt_canon_kint (c, "per_request", p->per_request != 0);
        dt_canon_kstr (c, "unit", p->unit);
        dt_canon_key (c, "values");
        dt_canon_list (c);
        for (k = 0; k < p->n_values; k++)
            dt_canon_int (c, p->value[k]);
        dt_canon_end (c);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

int dt_family_digest (const struct dt_family *f, struct dt_digest *ret, struct dt_err *reterr)
{
    struct dt_canon c;
    size_t i;
    int r;

    dt_canon_init (&c);
    dt_canon_map (&c);
    put_facts (f, &c);
    dt_canon_kstr (&c, "name", f->name);
    put_params (f, &c);
    dt_canon_key (&c, "request_fields");
    dt_canon_list (&c);
    for (i = 0; i < f->n_request_fields; i++)
        dt_canon_str (&c, f->request_field[i]);
    dt_canon_end (&c);
    dt_canon_end (&c);
    if ((r = dt_canon_finish (&c)) == 0)
        *ret = dt_digest_of ("family", c.buf.data, c.buf.len);
    dt_canon_done (&c);
    if (r == -DT_ELIMIT)
        return dt_err_set (reterr, r, "family %s: its schema is too large to be named", f->name);
    return r < 0 ? dt_err_nomem (reterr) : 0;
}

static const struct dt_family_param *find_param (const struct dt_family *f, const char *name)
{
    size_t i;

    for (i = 0; i < f->n_params; i++)
        if (strcmp (f->param[i].name, name) == 0)
            return &f->param[i];
    return NULL;
}

/* A binding parameter that is taken to be free. */
static int contradicts (const struct dt_family *f, const struct dt_site *site, const char *field,
                        const char *who, struct dt_err *reterr)
{
    const struct dt_family_param *p = find_param (f, field);

    if (!p || !p->binding)
        return 0;
    return dt_err_set (reterr, -DT_EINPUT, "site %s of family %s: %s says that field \"%s\" is "
                       "free, and the backend that output bits depend on it", site->site,
                       site->family, who, field);
}

/* Names of the family's facts (dt_free); NULL out of memory. */
static const char **fact_names (const struct dt_family *f)
{
    const char **name = dt_calloc (f->n_facts, sizeof *name);
    size_t i;

    for (i = 0; name && i < f->n_facts; i++)
        name[i] = f->fact[i].name;
    return name;
}

int dt_family_check_solve (const struct dt_family *f, const struct dt_site *site,
                           const struct dt_program *p, const struct dt_graph *g,
                           const char *const *claim, size_t n_claims, struct dt_err *reterr)
{
    const char **name = fact_names (f);
    size_t i;
    int r;

    if (!name)
        return dt_err_nomem (reterr);
    r = dt_site_check (site, p, name, f->n_facts, reterr);
    dt_free (name);
    for (i = 0; r == 0 && i < g->n_points; i++)
        if (g->point[i].is_free)
            r = contradicts (f, site, g->point[i].field, site->program, reterr);
    for (i = 0; r == 0 && i < n_claims; i++)
        r = contradicts (f, site, claim[i], "a claim", reterr);
    return r;
}

static int check_fact (const struct dt_family *f, const struct dt_family_fact *want,
                       const struct dt_site *site, struct dt_err *reterr)
{
    const struct dt_fact *have = dt_site_fact (site, want->name);

    if (!have && want->optional)
        return 0;
    if (!have)
        return dt_err_set (reterr, -DT_EINPUT, "site %s of family %s: the backend needs the fact "
                           "\"%s\"%s%s%s, which the deployment does not state", site->site, f->name,
                           want->name, *want->unit ? " (" : "", want->unit,
                           *want->unit ? ")" : "");
    if (have->kind != DT_FACT_INT && have->kind != DT_FACT_BOOL)
        return dt_err_set (reterr, -DT_EINPUT, "site %s of family %s: the backend takes the fact "
                           "\"%s\" as a whole number or a bool", site->site, f->name, want->name);
    if (have->i < want->lo || have->i > want->hi)
        return dt_err_set (reterr, -DT_EINPUT, "site %s of family %s: %s is %lld, and the backend "
                           "takes %lld to %lld", site->site, f->name, want->name,
                           (long long)have->i, (long long)want->lo, (long long)want->hi);
    return 0;
}

static int unknown_field (const struct dt_family *f, const struct dt_site *site,
                          const char *field, struct dt_err *reterr)
{
    const char **name = dt_calloc (f->n_params, sizeof *name), *near;
    size_t i;
    int r;

    if (!name)
        return dt_err_nomem (reterr);
    for (i = 0; i < f->n_params; i++)
        name[i] = f->param[i].name;
    near = dt_suggest (field, name, f->n_params);
    r = dt_err_set (reterr, -DT_EINPUT, "site %s of family %s: %s returns \"%s\", and the backend "
                    "has no such parameter%s%s%s", site->site, f->name, site->program, field,
                    near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    dt_free (name);
    return r;
}

static int check_field (const struct dt_family *f, const struct dt_site *site,
                        const struct dt_solution_point *p, struct dt_err *reterr)
{
    const struct dt_family_param *param = find_param (f, p->field);

    if (!param)
        return unknown_field (f, site, p->field, reterr);
    if (p->own && !param->per_request)
        return dt_err_set (reterr, -DT_EINPUT, "site %s of family %s: \"%s\" follows an Own input, "
                           "and the backend takes one value for all requests", site->site, f->name,
                           p->field);
    return p->is_free ? contradicts (f, site, p->field, p->by_claim ? "a claim" : site->program,
                                     reterr)
                      : 0;
}

static int returned (const struct dt_solution *s, const char *name)
{
    size_t i;

    for (i = 0; i < s->n_points && strcmp (s->point[i].field, name) != 0; i++)
        ;
    return i < s->n_points;
}

int dt_family_check_tune (const struct dt_family *f, const struct dt_site *site,
                          const struct dt_solution *s, struct dt_err *reterr)
{
    size_t i;
    int r = 0;

    for (i = 0; r == 0 && i < f->n_facts; i++)
        r = check_fact (f, &f->fact[i], site, reterr);
    for (i = 0; r == 0 && i < s->n_points; i++)
        r = check_field (f, site, &s->point[i], reterr);
    for (i = 0; r == 0 && i < f->n_params; i++)
        if (!returned (s, f->param[i].name))
            r = dt_err_set (reterr, -DT_EINPUT, "site %s of family %s: %s does not return \"%s\", "
                            "which the backend needs", site->site, f->name, site->program,
                            f->param[i].name);
    return r;
}
