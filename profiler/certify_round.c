/* A round begins and ends: facts, binding values, rooms. */
#include "profiler/certify_round.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

static int take_facts (struct dt_certify *c, const Detent__WorkerCertify *m,
                       struct dt_err *reterr)
{
    const struct dt_backend_family *f = c->family;

    for (size_t i = 0; i < f->n_facts; i++) {
        size_t k = 0;

        while (k < m->n_fact && strcmp (m->fact[k]->name, f->facts[i].name) != 0)
            k++;
        if (k == m->n_fact && !f->facts[i].optional)
            return dt_err_set (reterr, -DT_EINPUT, "%s: the deployment does not state the fact "
                               "%s, which the backend needs", f->name, f->facts[i].name);
        c->fact[i] = k < m->n_fact ? m->fact[k]->one : f->facts[i].lo;
    }
    return 0;
}

static int find_param (const struct dt_backend_family *f, const char *name, size_t *ret,
                       struct dt_err *reterr)
{
    for (*ret = 0; *ret < f->n_params; ++*ret)
        if (strcmp (f->params[*ret].name, name) == 0)
            return 0;
    return dt_err_set (reterr, -DT_EINPUT, "%s: the backend has no parameter %s", f->name, name);
}

static int add_field (struct dt_certify *c, size_t p, const Detent__WorkerFree *m,
                      struct dt_err *reterr)
{
    const struct dt_backend_param *param = &c->family->params[p];
    struct dt_certify_field *f = &c->field[c->n_fields++];

    *f = (struct dt_certify_field){ .param = p, .value = param->values, .n = param->n_values };
    if (m->n_value) {
        if (!(f->given = dt_memdup (m->value, m->n_value * sizeof *m->value)))
            return dt_err_nomem (reterr);
        f->value = f->given;
        f->n = m->n_value;
    }
    if (!(f->ran = dt_calloc (f->n, 1)))
        return dt_err_nomem (reterr);
    return 0;
}

static int take_params (struct dt_certify *c, const Detent__WorkerCertify *m,
                        struct dt_err *reterr)
{
    const struct dt_backend_family *f = c->family;
    uint8_t *given = dt_calloc (f->n_params, 1);
    size_t p;
    int r = given ? 0 : dt_err_nomem (reterr);

    for (size_t i = 0; r == 0 && i < m->n_param + m->n_free; i++) {
        int free = i >= m->n_param;
        const char *name = free ? m->free[i - m->n_param]->name : m->param[i]->name;

        if ((r = find_param (f, name, &p, reterr)) < 0)
            break;
        if (given[p]++)
            r = dt_err_set (reterr, -DT_EINPUT, "%s: %s is given twice", f->name, name);
        else if (free)
            r = add_field (c, p, m->free[i - m->n_param], reterr);
        else
            c->param[p].one = m->param[i]->one;
    }
    for (size_t i = 0; r == 0 && i < f->n_params; i++)
        if (!given[i])
            r = dt_err_set (reterr, -DT_EINPUT, "%s: the selection does not give %s, which the "
                            "backend needs", f->name, f->params[i].name);
    dt_free (given);
    return r;
}

static int make_rooms (struct dt_certify *c, const Detent__WorkerCertify *m,
                       struct dt_err *reterr)
{
    const struct dt_backend_family *f = c->family;
    size_t values = 0;

    for (size_t i = 0; i < f->n_params; i++)
        values += f->params[i].n_values;
    for (size_t i = 0; i < m->n_free; i++)
        values += m->free[i]->n_value;
    c->fact = dt_calloc (f->n_facts, sizeof *c->fact);
    c->param = dt_calloc (f->n_params, sizeof *c->param);
    c->each = dt_calloc (f->n_params, sizeof *c->each);
    c->field = dt_calloc (m->n_free, sizeof *c->field);
    c->told = dt_calloc (m->n_free, sizeof *c->told);
    c->told_of = dt_calloc (m->n_free, sizeof *c->told_of);
    c->told_value = dt_calloc (values, sizeof *c->told_value);
    return c->fact && c->param && c->each && c->field && c->told && c->told_of && c->told_value
               ? 0 : dt_err_nomem (reterr);
}

int dt_certify_new (const struct dt_plugin *plugin, const Detent__WorkerCertify *m,
                    struct dt_certify **ret, struct dt_err *reterr)
{
    const struct dt_backend *b = plugin->backend;
    struct dt_certify *c = dt_calloc (1, sizeof *c);
    int r;

    if (!c)
        return dt_err_nomem (reterr);
    c->b = b;
    c->random = m->seed;
    dt_lane_init (&c->lane, b, plugin->ctx);
    for (size_t i = 0; i < b->n_families && !c->family; i++)
        if (strcmp (b->families[i].name, m->family) == 0)
            c->family = &b->families[i];
    if (!c->family) {
        r = dt_err_set (reterr, -DT_EUNSUPPORTED, "the backend has no family %s", m->family);
        goto fail;
    }
    if ((r = make_rooms (c, m, reterr)) < 0 || (r = take_facts (c, m, reterr)) < 0
        || (r = take_params (c, m, reterr)) < 0 || (r = dt_certify_count (c, reterr)) < 0
        || (r = dt_certify_open_rivals (c, plugin, m->rivals, reterr)) < 0)
        goto fail;
    *ret = c;
    return 0;
fail:
    dt_certify_free (c);
    return r;
}

struct dt_certify *dt_certify_free (struct dt_certify *c)
{
    if (!c)
        return NULL;
    dt_certify_close_rivals (c);
    for (size_t i = 0; i < c->n_refs; i++)
        dt_free (c->ref[i].bits);
    for (size_t i = 0; i < c->n_fields; i++) {
        dt_free (c->field[i].given);
        dt_free (c->field[i].ran);
    }
    for (size_t i = 0; c->each && i < c->family->n_params; i++)
        dt_free (c->each[i]);
    dt_lane_done (&c->lane);
    dt_table_done (&c->ref_of);
    dt_free (c->ref);
    dt_free (c->fact);
    dt_free (c->param);
    dt_free (c->each);
    dt_free (c->field);
    dt_free (c->state);
    dt_free (c->told);
    dt_free (c->told_of);
    dt_free (c->told_value);
    dt_free (c);
    return NULL;
}
