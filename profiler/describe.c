#include "profiler/describe.h"

#include "base/mem.h"

/* `count` messages and the pointers to them that a repeated field takes. */
static int list (struct dt_arena *a, size_t count, size_t size, void *ret_item, void *ret_list)
{
    char *item = dt_arena_array (a, count, size);
    void **pointer = dt_arena_array (a, count, sizeof *pointer);

    if (!item || !pointer)
        return -1;
    for (size_t i = 0; i < count; i++)
        pointer[i] = item + i * size;
    *(void **)ret_item = item;
    *(void ***)ret_list = pointer;
    return 0;
}

static int describe_facts (struct dt_arena *a, const struct dt_backend_family *f,
                           Detent__WorkerFamily *m)
{
    Detent__WorkerFact *fact;

    if (list (a, f->n_facts, sizeof *fact, &fact, &m->fact) < 0)
        return -1;
    for (size_t i = 0; i < f->n_facts; i++) {
        detent__worker_fact__init (&fact[i]);
        fact[i].name = (char *)f->facts[i].name;
        fact[i].unit = (char *)f->facts[i].unit;
        fact[i].lo = f->facts[i].lo;
        fact[i].hi = f->facts[i].hi;
        fact[i].has_may_lack = 1;
        fact[i].may_lack = f->facts[i].optional != 0;
    }
    m->n_fact = f->n_facts;
    return 0;
}

static int describe_params (struct dt_arena *a, const struct dt_backend_family *f,
                            Detent__WorkerFamily *m)
{
    Detent__WorkerParameter *param;

    if (list (a, f->n_params, sizeof *param, &param, &m->param) < 0)
        return -1;
    for (size_t i = 0; i < f->n_params; i++) {
        detent__worker_parameter__init (&param[i]);
        param[i].name = (char *)f->params[i].name;
        param[i].unit = (char *)f->params[i].unit;
        param[i].binding = f->params[i].binding != 0;
        param[i].per_request = f->params[i].per_request != 0;
        param[i].value = (int64_t *)f->params[i].values;
        param[i].n_value = f->params[i].n_values;
    }
    m->n_param = f->n_params;
    return 0;
}

int dt_describe_plugin (const char *path, struct dt_description *d, Detent__WorkerReply *ret,
                        struct dt_err *reterr)
{
    const struct dt_backend *b;
    Detent__WorkerFamily *family;
    int r;

    if ((r = dt_plugin_load (&d->plugin, path, reterr)) < 0)
        return r;
    b = d->plugin.backend;
    if (list (&d->arena, b->n_families, sizeof *family, &family, &d->schema.family) < 0)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < b->n_families; i++) {
        detent__worker_family__init (&family[i]);
        family[i].name = (char *)b->families[i].name;
        family[i].request_field = (char **)b->families[i].request_fields;
        family[i].n_request_field = b->families[i].n_request_fields;
        if (describe_facts (&d->arena, &b->families[i], &family[i]) < 0
            || describe_params (&d->arena, &b->families[i], &family[i]) < 0)
            return dt_err_nomem (reterr);
    }
    d->schema.n_family = b->n_families;
    ret->body_case = DETENT__WORKER_REPLY__BODY_SCHEMA;
    ret->schema = &d->schema;
    return 0;
}

void dt_describe_done (struct dt_description *d)
{
    dt_arena_done (&d->arena);
    dt_plugin_close (&d->plugin);
}
