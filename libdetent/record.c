/* libdetent/record.c - collect the calls of one process into a .dtrace. */
#include <pthread.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "libdetent/handle.h"
#include "trace/dtrace.h"

struct detent_recorder {
    pthread_mutex_t lock; /* over the trace */
    struct dt_trace *trace;
};

/* Every site of the tuple, each counted as it is called: calls_per_step is 1. */
static int fill_header (struct dt_trace *t, const struct detent *d, struct dt_err *reterr)
{
    int r;

    if ((r = dt_trace_text (&t->deployment, d->deployment, reterr)) < 0
        || (r = dt_trace_text (&t->engine, d->engine, reterr)) < 0
        || (r = dt_trace_text (&t->model, d->model, reterr)) < 0
        || (r = dt_trace_text (&t->importer, "libdetent", reterr)) < 0
        || (r = dt_trace_text (&t->source, "recorded", reterr)) < 0)
        return r;
    for (size_t i = 0; i < d->n_sites; i++)
        if ((r = dt_trace_add_site (t, d->site[i].family, d->site[i].site, 1, reterr)) < 0)
            return r;
    t->has_tuple = !d->stock && d->backend_ok; /* else it may yet be stock */
    t->tuple = d->tuple;
    return 0;
}

int detent_recorder_new (const struct detent *d, struct detent_recorder **ret,
                         struct detent_error *err)
{
    struct dt_err *e = dt_handle_err (err);
    struct detent_recorder *rec = dt_calloc (1, sizeof *rec);
    int r;

    if (!rec)
        return dt_err_nomem (e);
    pthread_mutex_init (&rec->lock, NULL);
    if (!(rec->trace = dt_trace_new ()))
        r = dt_err_nomem (e);
    else
        r = fill_header (rec->trace, d, e);
    if (r < 0)
        detent_recorder_free (rec);
    else
        *ret = rec;
    return r;
}

void detent_recorder_free (struct detent_recorder *rec)
{
    if (!rec)
        return;
    dt_trace_free (rec->trace);
    pthread_mutex_destroy (&rec->lock);
    dt_free (rec);
}

int detent_record (struct detent_recorder *rec, const char *family, const char *site,
                   const struct detent_call *call, struct detent_error *err)
{
    struct dt_call c = { .n_requests = call->n_requests, .request = call->request };
    size_t i = 0, n;
    int r;

    pthread_mutex_lock (&rec->lock);
    n = rec->trace->n_sites;
    while (i < n && (strcmp (rec->trace->site[i].family, family)
                     || strcmp (rec->trace->site[i].site, site)))
        i++;
    if (i == n)
        r = dt_err_set (dt_handle_err (err), -DT_ENOTFOUND, "the tuple has no site %s/%s", family,
                        site);
    else
        r = dt_trace_add_call (rec->trace, i, 1, 0, &c, NULL, dt_handle_err (err));
    pthread_mutex_unlock (&rec->lock);
    return r;
}

int detent_recorder_write (struct detent_recorder *rec, const char *path, struct detent_error *err)
{
    struct dt_buf b;
    int r;

    dt_buf_init (&b);
    pthread_mutex_lock (&rec->lock);
    r = dt_trace_encode (rec->trace, &b, dt_handle_err (err));
    pthread_mutex_unlock (&rec->lock);
    if (r == 0)
        r = dt_file_replace (path, b.data, b.len, 0644, dt_handle_err (err));
    dt_buf_done (&b);
    return r;
}
