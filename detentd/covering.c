/* detentd/covering.c - which assignments of a site have certificates. */
#include "detentd/covering.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

struct dt_covering dt_covering_of (const struct dt_site *site, const struct dt_solution *solution,
                             const Detent__WorkerIdentity *who)
{
    return (struct dt_covering){
        .site = site, .solution = solution,
        .backend = { .name = who->name, .build = who->build, .libraries = who->libraries,
                     .driver = who->driver, .device = who->device, .units = who->units },
    };
}

uint32_t dt_covering_units (const struct dt_deployment *d)
{
    const struct dt_fact *f = d->n_sites ? dt_site_fact (&d->site[0], "units") : NULL;

    return f && f->kind == DT_FACT_INT && f->i > 0 && f->i < 65536 ? (uint32_t)f->i : 0;
}

int dt_covering_needs (const struct dt_solution_point *p)
{
    return p->is_free && !p->by_claim;
}

int dt_covering_needs_any (const struct dt_solution *s)
{
    for (size_t i = 0; i < s->n_points; i++)
        if (dt_covering_needs (&s->point[i]))
            return 1;
    return 0;
}

/* What a backend may ask for: its facts are ints. */
static struct dt_named *facts_of (const struct dt_site *site, struct dt_arena *a, size_t *ret_n)
{
    struct dt_named *list = dt_arena_array (a, site->n_facts, sizeof *list);

    *ret_n = 0;
    for (size_t i = 0; list && i < site->n_facts; i++)
        if (site->fact[i].kind == DT_FACT_INT || site->fact[i].kind == DT_FACT_BOOL)
            list[(*ret_n)++] = (struct dt_named){ site->fact[i].name, site->fact[i].i };
    return list;
}

int dt_covering_round (const struct dt_covering *c, size_t assignment, struct dt_arena *a,
                    struct dt_vm **ret_vm, struct dt_round *ret, struct dt_err *reterr)
{
    struct dt_buf blob = { 0 };
    int r;

    if (!(ret->fact = facts_of (c->site, a, &ret->n_facts)))
        return dt_err_nomem (reterr);
    if ((r = dt_solution_selector (c->solution, assignment, &blob, reterr)) == 0)
        r = dt_vm_load (blob.data, blob.len, ret_vm, reterr);
    dt_buf_done (&blob);
    if (r < 0)
        return r;
    ret->family = c->solution->family;
    ret->site = c->solution->site;
    ret->backend = &c->backend;
    ret->vm = *ret_vm;
    return 0;
}

int dt_covering_key (const struct dt_covering *c, size_t assignment, struct dt_arena *a,
                  struct dt_digest *ret, struct dt_named **ret_binding, size_t *ret_n,
                  struct dt_err *reterr)
{
    struct dt_certificate about = { .family = c->solution->family, .site = c->solution->site,
                                    .backend = c->backend };
    struct dt_round round = { .seed = 0 };
    struct dt_vm *vm = NULL;
    int r;

    if ((r = dt_covering_round (c, assignment, a, &vm, &round, reterr)) < 0)
        return r;
    about.fact = (struct dt_named *)round.fact;
    about.n_facts = round.n_facts;
    if ((r = dt_round_binding (&round, a, &about.binding, &about.n_binding, reterr)) == 0) {
        for (size_t i = 0; i < about.n_binding; i++) /* the vm owns the names */
            if (!(about.binding[i].name = dt_arena_strf (a, "%s", about.binding[i].name)))
                r = dt_err_nomem (reterr);
        dt_certificate_sort (&about);
    }
    if (r == 0)
        r = dt_certificate_key (&about, ret, reterr);
    if (r == 0 && ret_binding) {
        *ret_binding = about.binding;
        *ret_n = about.n_binding;
    }
    dt_vm_free (vm);
    return r;
}

int dt_covering_has (const struct dt_covering *c, size_t assignment, struct dt_store *s,
                  struct dt_err *reterr)
{
    struct dt_arena a = { 0 };
    struct dt_digest key, certificate;
    int r = dt_covering_key (c, assignment, &a, &key, NULL, NULL, reterr), has = 1;

    for (size_t i = 0; r >= 0 && has && i < c->solution->n_points; i++)
        if (dt_covering_needs (&c->solution->point[i])) {
            r = dt_store_certified (s, &key, c->solution->point[i].field, &certificate, reterr);
            has = r > 0;
        }
    dt_arena_done (&a);
    if (r == -DT_EUNSUPPORTED || r == -DT_EREFUSED)
        return 0; /* nothing certifies it */
    return r < 0 ? r : has;
}

static int none_left (const struct dt_solution *s, struct dt_err *reterr)
{
    struct dt_buf fields = { 0 };
    const char *text;
    int r;

    for (size_t i = 0; i < s->n_points; i++)
        if (dt_covering_needs (&s->point[i]))
            dt_buf_printf (&fields, "%s%s", fields.len ? ", " : "", s->point[i].field);
    text = dt_buf_str (&fields);
    r = dt_err_set (reterr, -DT_EREFUSED, "%s/%s: no assignment has certificates for its free "
                    "fields (%s) on this backend, and the deployment claims them not (detentctl "
                    "certify)", s->family, s->site, text ? text : "");
    dt_buf_done (&fields);
    return r;
}

int dt_covering_apply (const struct dt_covering *c, struct dt_store *s, uint8_t *allowed,
                    struct dt_err *reterr)
{
    const struct dt_solution *solution = c->solution;
    size_t left = 0;
    int r;

    if (!dt_covering_needs_any (solution))
        return 0;
    for (size_t i = 0; i < solution->n_assignments; i++) {
        if (!allowed[i] || solution->verdict[i] == DT_ILLEGAL)
            continue;
        if ((r = dt_covering_has (c, i, s, reterr)) < 0)
            return r;
        allowed[i] = (uint8_t)r;
        left += r != 0;
    }
    return left ? 0 : none_left (solution, reterr);
}
