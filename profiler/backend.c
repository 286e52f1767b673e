#include "profiler/backend.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

int dt_plugin_load (struct dt_plugin *p, const char *path, struct dt_err *reterr)
{
    struct dt_plugin n = { .handle = NULL };
    dt_backend_get_f get;
    int r;

    if (path[0] != '/')
        return dt_err_set (reterr, -DT_EINPUT, "backend %s: not an absolute path", path);
    if (!(n.handle = dlopen (path, RTLD_NOW | RTLD_LOCAL)))
        return dt_err_set (reterr, -ENOENT, "backend cannot be loaded: %s", dlerror ());
    *(void **)&get = dlsym (n.handle, DT_BACKEND_SYMBOL);
    if (!get) {
        r = dt_err_set (reterr, -DT_EVERSION, "backend %s: no symbol %s; not a Detent backend",
                        path, DT_BACKEND_SYMBOL);
        goto fail;
    }
    if (!(n.backend = get ())) {
        r = dt_err_set (reterr, -DT_EVERSION, "backend %s: gives no backend", path);
        goto fail;
    }
    if (n.backend->abi != DT_BACKEND_ABI) {
        r = dt_err_set (reterr, -DT_EVERSION, "backend %s: ABI %u, this worker speaks %u; "
                        "rebuild it", path, n.backend->abi, DT_BACKEND_ABI);
        goto fail;
    }
    *p = n;
    return 0;
fail:
    dt_plugin_close (&n);
    return r;
}

/* What of a backend's codes is told apart when there is no context. */
static int code_of (int r)
{
    return r == -DT_BACKEND_ELOST || r == -DT_BACKEND_EPEER || r == -EBUSY ? r : -DT_EDEVICE;
}

int dt_plugin_open (struct dt_plugin *p, const char *path,
                    const struct dt_backend_options *options, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_plugin n;
    int r;

    if ((r = dt_plugin_load (&n, path, reterr)) < 0)
        return r;
    if ((r = n.backend->open (options, &n.ctx, &err)) < 0) {
        r = dt_err_set (reterr, code_of (r), "backend %s: %s", path, err.text);
        dt_plugin_close (&n);
        return r;
    }
    n.device = options->device;
    *p = n;
    return 0;
}

int dt_plugin_join (struct dt_plugin *p, const struct dt_backend_join *join, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };

    int r = p->backend->join (p->ctx, join, &err);

    return r < 0 ? dt_err_set (reterr, code_of (r), "%s", err.text) : 0;
}

int dt_plugin_buffer (const struct dt_backend *b, struct dt_backend_ctx *ctx, size_t bytes, void **ret,
                      struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    int r = b->alloc (ctx, bytes, ret, &err);

    /* -ENOMEM is the worker's own memory: this is the device's. */
    return r < 0 ? dt_err_set (reterr, r == -ENOMEM ? -DT_EDEVICE : r, "%s", err.text) : 0;
}

void dt_plugin_close (struct dt_plugin *p)
{
    if (p->ctx)
        p->backend->close (p->ctx);
    if (p->handle)
        dlclose (p->handle);
    *p = (struct dt_plugin){ .handle = NULL };
}

static const struct dt_backend_family *find_family (const struct dt_backend *b, const char *name)
{
    for (size_t i = 0; i < b->n_families; i++)
        if (strcmp (b->families[i].name, name) == 0)
            return &b->families[i];
    return NULL;
}

static const Detent__WorkerParam *find (Detent__WorkerParam *const *list, size_t n,
                                        const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp (list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

static int take_facts (struct dt_plugin_call *c, const Detent__WorkerCall *m,
                       struct dt_err *reterr)
{
    const struct dt_backend_family *f = c->call.family;

    for (size_t i = 0; i < f->n_facts; i++) {
        const Detent__WorkerParam *p = find (m->fact, m->n_fact, f->facts[i].name);

        if (!p && !f->facts[i].optional)
            return dt_err_set (reterr, -DT_EINPUT, "%s: the deployment does not state the fact "
                               "%s, which the backend needs", f->name, f->facts[i].name);
        c->fact[i] = p ? p->one : f->facts[i].lo;
    }
    return 0;
}

static int take_params (struct dt_plugin_call *c, const Detent__WorkerCall *m,
                        struct dt_err *reterr)
{
    const struct dt_backend_family *f = c->call.family;

    for (size_t i = 0; i < f->n_params; i++) {
        const Detent__WorkerParam *p = find (m->param, m->n_param, f->params[i].name);

        if (!p)
            return dt_err_set (reterr, -DT_EINPUT, "%s: the selection does not give %s, which "
                               "the backend needs", f->name, f->params[i].name);
        if (p->n_each && p->n_each != m->requests)
            return dt_err_set (reterr, -DT_EINPUT, "%s: %s has %zu values for %u requests",
                               f->name, p->name, p->n_each, m->requests);
        c->param[i].one = p->one;
        c->param[i].each = p->n_each ? p->each : NULL;
    }
    for (size_t i = 0; i < m->n_param; i++) {
        size_t k = 0;

        while (k < f->n_params && strcmp (f->params[k].name, m->param[i]->name) != 0)
            k++;
        if (k == f->n_params)
            return dt_err_set (reterr, -DT_EINPUT, "%s: the backend has no parameter %s",
                               f->name, m->param[i]->name);
    }
    return 0;
}

int dt_plugin_call_init (struct dt_plugin_call *c, const struct dt_backend *b,
                         const Detent__WorkerCall *m, struct dt_err *reterr)
{
    const struct dt_backend_family *f = find_family (b, m->family);
    struct dt_plugin_call n = { .fact = NULL };
    int r;

    if (!f)
        return dt_err_set (reterr, -DT_EUNSUPPORTED, "the backend has no family %s", m->family);
    if (m->requests < 1 || m->n_seed != m->requests
        || m->n_request != (size_t)m->requests * f->n_request_fields)
        return dt_err_set (reterr, -DT_EINPUT, "%s: %u requests with %zu seeds and %zu fields; "
                           "%zu fields are due for each", f->name, m->requests, m->n_seed,
                           m->n_request, f->n_request_fields);
    n.fact = dt_calloc (f->n_facts, sizeof *n.fact);
    n.param = dt_calloc (f->n_params, sizeof *n.param);
    if (!n.fact || !n.param) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    n.call = (struct dt_backend_call){ .family = f, .fact = n.fact, .n_requests = m->requests,
                                       .request = m->request, .seed = m->seed,
                                       .param = n.param };
    if ((r = take_facts (&n, m, reterr)) < 0 || (r = take_params (&n, m, reterr)) < 0)
        goto fail;
    *c = n;
    return 0;
fail:
    dt_plugin_call_done (&n);
    return r;
}

void dt_plugin_call_done (struct dt_plugin_call *c)
{
    dt_free (c->fact);
    dt_free (c->param);
    *c = (struct dt_plugin_call){ .fact = NULL };
}

/* The whole of " name=value" for the text that has room for it. */
static void add_value (char *text, size_t size, size_t *n, const char *name, int64_t value)
{
    if (*n < size)
        *n += (size_t)snprintf (text + *n, size - *n, " %s=%lld", name, (long long)value);
}

int dt_plugin_named (const struct dt_backend_call *c, int code, struct dt_err *reterr)
{
    const struct dt_backend_family *f = c->family;
    char text[400];
    size_t n = (size_t)snprintf (text, sizeof text, "%s requests=%zu", f->name, c->n_requests);

    for (size_t i = 0; i < f->n_facts; i++)
        add_value (text, sizeof text, &n, f->facts[i].name, c->fact[i]);
    for (size_t i = 0; c->n_requests == 1 && i < f->n_request_fields; i++)
        add_value (text, sizeof text, &n, f->request_fields[i], c->request[i]);
    for (size_t i = 0; i < f->n_params; i++)
        add_value (text, sizeof text, &n, f->params[i].name,
                   c->param[i].each ? c->param[i].each[0] : c->param[i].one);
    return dt_err_prefix (reterr, code, "%s", text);
}
