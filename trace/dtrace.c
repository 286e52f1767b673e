/* trace/dtrace.c - a trace in memory: sites, calls, merging. */
#include "trace/dtrace.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

struct dt_trace *dt_trace_new (void)
{
    struct dt_trace *t = dt_calloc (1, sizeof *t);

    if (!t)
        return NULL;
    if (!(t->deployment = dt_strdup ("")) || !(t->engine = dt_strdup ("")) ||
        !(t->model = dt_strdup ("")) || !(t->importer = dt_strdup ("")) ||
        !(t->source = dt_strdup ("")) || !(t->options = dt_strdup ("")))
        return dt_trace_free (t);
    return t;
}

static void site_done (struct dt_trace_site *s)
{
    dt_free (s->family);
    dt_free (s->site);
    dt_free (s->call);
    dt_free (s->field);
    dt_free (s->id);
    dt_table_done (&s->seen[0]);
    dt_table_done (&s->seen[1]);
}

struct dt_trace *dt_trace_free (struct dt_trace *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < t->n_sites; i++)
        site_done (&t->site[i]);
    for (size_t i = 0; i < t->n_limits; i++)
        dt_free (t->limit[i].name);
    dt_free (t->site);
    dt_free (t->limit);
    dt_free (t->deployment);
    dt_free (t->engine);
    dt_free (t->model);
    dt_free (t->importer);
    dt_free (t->source);
    dt_free (t->options);
    dt_free (t);
    return NULL;
}

int dt_trace_text (char **text, const char *value, struct dt_err *reterr)
{
    char *copy;

    if (strlen (value) > DT_TRACE_MAX_TEXT)
        return dt_err_set (reterr, -DT_ELIMIT, "trace: a text of more than %d bytes: %.40s...",
                           DT_TRACE_MAX_TEXT, value);
    if (!(copy = dt_strdup (value)))
        return dt_err_nomem (reterr);
    dt_free (*text);
    *text = copy;
    return 0;
}

int dt_trace_add_limit (struct dt_trace *t, const char *name, int64_t value,
                        struct dt_err *reterr)
{
    char *copy = NULL;
    size_t at = 0;
    int r;

    while (at < t->n_limits && strcmp (t->limit[at].name, name) < 0)
        at++;
    if (at < t->n_limits && strcmp (t->limit[at].name, name) == 0) {
        t->limit[at].value = value;
        return 0;
    }
    if (t->n_limits == DT_TRACE_MAX_LIMITS)
        return dt_err_set (reterr, -DT_ELIMIT, "trace: more than %d limits", DT_TRACE_MAX_LIMITS);
    if (dt_grow ((void **)&t->limit, &t->room_limits, t->n_limits, sizeof *t->limit) < 0)
        return dt_err_nomem (reterr);
    if ((r = dt_trace_text (&copy, name, reterr)) < 0)
        return r;
    memmove (t->limit + at + 1, t->limit + at, (t->n_limits++ - at) * sizeof *t->limit);
    t->limit[at] = (struct dt_trace_limit){ copy, value };
    return 0;
}

static int site_check (const struct dt_trace *t, const char *family, const char *site,
                       int64_t calls_per_step, struct dt_err *reterr)
{
    if (!dt_schema_find (family))
        return dt_err_set (reterr, -DT_EINPUT, "trace: unknown family '%.64s'", family);
    if (calls_per_step < 1)
        return dt_err_set (reterr, -DT_EINPUT, "trace: site '%.64s': calls_per_step is not positive",
                           site);
    if (t->n_sites == DT_TRACE_MAX_SITES)
        return dt_err_set (reterr, -DT_ELIMIT, "trace: more than %d sites", DT_TRACE_MAX_SITES);
    for (size_t i = 0; i < t->n_sites; i++)
        if (strcmp (t->site[i].family, family) == 0 && strcmp (t->site[i].site, site) == 0)
            return dt_err_set (reterr, -DT_EINPUT, "trace: site '%.64s' of %s is there twice", site,
                               family);
    return 0;
}

int dt_trace_add_site (struct dt_trace *t, const char *family, const char *site,
                       int64_t calls_per_step, struct dt_err *reterr)
{
    struct dt_trace_site s = { .calls_per_step = calls_per_step };
    int r;

    if ((r = site_check (t, family, site, calls_per_step, reterr)) < 0)
        return r;
    s.schema = dt_schema_find (family);
    if ((r = dt_trace_text (&s.family, family, reterr)) < 0 ||
        (r = dt_trace_text (&s.site, site, reterr)) < 0)
        goto fail;
    if (dt_grow ((void **)&t->site, &t->room_sites, t->n_sites, sizeof *t->site) < 0) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    t->site[t->n_sites] = s;
    return (int)t->n_sites++;
fail:
    site_done (&s);
    return r;
}

struct dt_call dt_trace_call_get (const struct dt_trace_site *s, size_t i)
{
    return (struct dt_call){
        .n_requests = s->call[i].n_requests,
        .request = s->field + s->call[i].at * s->schema->n_fields,
    };
}

static const void *call_key (const void *ctx, uint32_t index, size_t *ret_len)
{
    const struct dt_trace_site *s = ctx;
    struct dt_call call = dt_trace_call_get (s, index);

    *ret_len = call.n_requests * s->schema->n_fields * sizeof *call.request;
    return call.request;
}

static int call_check (const struct dt_trace_site *s, uint64_t count, const struct dt_call *call,
                       struct dt_err *reterr)
{
    if (call->n_requests == 0 || count == 0)
        return dt_err_set (reterr, -DT_EINPUT, "trace: site '%.64s': a call without requests or count",
                           s->site);
    if (call->n_requests > DT_TRACE_MAX_REQUESTS)
        return dt_err_set (reterr, -DT_ELIMIT, "trace: site '%.64s': a call of more than %d requests",
                           s->site, DT_TRACE_MAX_REQUESTS);
    for (size_t i = 0; i < call->n_requests * s->schema->n_fields; i++)
        if (call->request[i] < 0)
            return dt_err_set (reterr, -DT_EINPUT, "trace: site '%.64s': %s is negative", s->site,
                               s->schema->field[i % s->schema->n_fields]);
    return 0;
}

/* Room for n more entries in an array that doubles. */
static int reserve (void **items, size_t *room, size_t used, size_t n, size_t size)
{
    size_t want = *room ? *room : 64;
    void *p;

    if (n <= *room - used)
        return 0;
    while (want < used + n) /* bounded by DT_TRACE_MAX_BYTES */
        want *= 2;
    if (!(p = dt_realloc (*items, want, size)))
        return -ENOMEM;
    *items = p;
    *room = want;
    return 0;
}

int dt_trace_add_call (struct dt_trace *t, size_t site, uint64_t count, int synthetic,
                       const struct dt_call *call, const uint64_t *id, struct dt_err *reterr)
{
    struct dt_trace_site *s = &t->site[site];
    struct dt_table *seen = &s->seen[synthetic != 0];
    size_t f = s->schema->n_fields, n = call->n_requests, key_len = n * f * sizeof *s->field;
    size_t need = n * (f + 1) * 8 + sizeof *s->call;
    uint32_t i;
    int r;

    if ((r = call_check (s, count, call, reterr)) < 0)
        return r;
    if ((i = dt_table_get (seen, call->request, key_len, call_key, s)) != DT_TABLE_NONE) {
        if (__builtin_add_overflow (s->call[i].count, count, &count))
            return dt_err_set (reterr, -DT_EINPUT, "trace: site '%.64s': a count leaves 64 bits",
                               s->site);
        s->call[i].count = count;
        return 0;
    }
    if (need > DT_TRACE_MAX_BYTES - t->bytes)
        return dt_err_set (reterr, -DT_ELIMIT, "trace: more than %u bytes of calls",
                           DT_TRACE_MAX_BYTES);
    if (reserve ((void **)&s->field, &s->room_field, s->n_requests * f, n * f, sizeof *s->field) < 0 ||
        reserve ((void **)&s->id, &s->room_id, s->n_requests, n, sizeof *s->id) < 0 ||
        reserve ((void **)&s->call, &s->room_calls, s->n_calls, 1, sizeof *s->call) < 0 ||
        dt_table_put (seen, call->request, key_len, (uint32_t)s->n_calls) < 0)
        return dt_err_nomem (reterr);
    memcpy (s->field + s->n_requests * f, call->request, key_len);
    for (size_t k = 0; k < n; k++)
        s->id[s->n_requests + k] = id ? id[k] : k;
    s->call[s->n_calls++] = (struct dt_trace_call){ count, (uint32_t)n, synthetic != 0, s->n_requests };
    s->n_requests += n;
    t->bytes += need;
    return 0;
}

struct dt_digest dt_trace_digest (const void *data, size_t n)
{
    return dt_digest_of ("trace", data, n);
}
