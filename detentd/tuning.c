/* detentd/tuning.c - a tune, on the tuner's thread. */
#include "detentd/tuning.h"

#include <string.h>

#include "base/mem.h"
#include "detentd/covering.h"
#include "detentd/daemon.h"
#include "detentd/describe.h"
#include "detentd/forced.h"
#include "detentd/tuning_parts.h"

static struct dt_deployment *deployment (const struct dt_tuning *t)
{
    return t->solving.deployment;
}

static int load_traces (struct dt_tuning *t, struct dt_store *s, struct dt_err *reterr)
{
    int r = 0;

    for (size_t k = 0; r == 0 && k < t->job->n_traces; k++) {
        struct dt_buf b = { 0 };

        if ((r = dt_store_blob_get (s, "trace", &t->job->trace[k], &b, reterr)) == 0)
            r = dt_trace_decode (b.data, b.len, &t->trace[k], reterr);
        dt_buf_done (&b);
    }
    return r;
}

static const struct dt_trace_site *trace_site (const struct dt_trace *t,
                                               const struct dt_site *site)
{
    for (size_t i = 0; i < t->n_sites; i++)
        if (strcmp (t->site[i].family, site->family) == 0
            && strcmp (t->site[i].site, site->site) == 0 && t->site[i].n_calls > 0)
            return &t->site[i];
    return NULL;
}

static int match_sites (struct dt_tuning *t, struct dt_err *reterr)
{
    struct dt_deployment *d = deployment (t);

    if (!(t->site = dt_arena_array (&t->solving.arena, d->n_sites, sizeof *t->site)))
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < d->n_sites; i++)
        for (size_t k = 0; k < t->job->n_traces; k++)
            if (!(t->site[i].trace[k] = trace_site (t->trace[k], &d->site[i])))
                return dt_err_set (reterr, -DT_EINPUT, "the trace (%s, of deployment '%s') has no "
                                   "calls of site %s/%s", t->trace[k]->source,
                                   t->trace[k]->deployment, d->site[i].family, d->site[i].site);
    return 0;
}

/* Ranks that a call is measured on: the most that a site states. */
static uint32_t ranks (const struct dt_deployment *d)
{
    int64_t most = 1;

    for (size_t i = 0; i < d->n_sites; i++) {
        const struct dt_fact *f = dt_site_fact (&d->site[i], "ranks");

        if (f && f->kind == DT_FACT_INT && f->i > most && f->i < 65536)
            most = f->i;
    }
    return (uint32_t)most;
}

/* Do the sites fit the backend that is to run them? */
static int check_backend (struct dt_tuning *t, struct dt_err *reterr)
{
    const struct dt_daemon *d = t->job->d;
    struct dt_err why;
    int r = dt_families_get (d->families, d->options, deployment (t)->backend, &t->schema, &why,
                             reterr);

    if (r < 0 || !t->schema) /* opening it says why there is none */
        return r;
    for (size_t i = 0; r == 0 && i < deployment (t)->n_sites; i++) {
        const struct dt_site *site = &deployment (t)->site[i];
        const struct dt_family *f = dt_schema_family (t->schema, site->family);

        r = f ? dt_family_check_tune (f, site, t->solving.site[i].solution, reterr)
              : dt_err_set (reterr, -DT_EUNSUPPORTED, "site %s of family %s: backend %s has no such "
                            "family", site->site, site->family, deployment (t)->backend);
    }
    return r;
}

/* Of several sites: is a step's cost the sum of theirs? */
static int check_sum (struct dt_tuning *t, struct dt_err *reterr)
{
    size_t n = deployment (t)->n_sites;
    struct dt_additive_site *site = dt_arena_array (&t->solving.arena, n, sizeof *site);
    int r;

    if (!site)
        return dt_err_nomem (reterr);
    if (n < 2)
        return 0;
    for (size_t i = 0; i < n; i++)
        site[i] = (struct dt_additive_site){
            &deployment (t)->site[i], t->solving.site[i].solution, t->site[i].trace[0],
            t->site[i].result.chosen, t->site[i].result.incumbent, t->site[i].result.runner_up };
    r = dt_additive_check (&t->measure, site, n, &t->additive, &t->n_additive, reterr);
    return r < 0 ? r : dt_measure_look (&t->measure, reterr);
}

/* Everything up to the tuple's bytes; nothing of it is in the store yet. */
static int tune (struct dt_tuning *t, struct dt_store *s, struct dt_err *reterr)
{
    int r;

    if ((r = dt_solving_load (&t->solving, s, t->job->deployment, reterr)) < 0
        || (r = dt_forced_check (t->job, deployment (t), reterr)) < 0
        || (r = load_traces (t, s, reterr)) < 0 || (r = match_sites (t, reterr)) < 0
        || (r = check_backend (t, reterr)) < 0
        || (r = dt_measure_open (&t->measure, t->job, deployment (t)->backend,
                                 dt_covering_units (deployment (t)), ranks (deployment (t)), reterr)) < 0)
        return r;
    t->measure.sites = (double)deployment (t)->n_sites;
    for (size_t i = 0; i < deployment (t)->n_sites; i++)
        if ((r = dt_tuning_search (t, i, s, reterr)) < 0)
            return r;
    if ((r = check_sum (t, reterr)) < 0)
        return r;
    return dt_tuning_tuple (t, reterr);
}

/* --- the end -------------------------------------------------------------------*/

static int pack (struct dt_tuning *t, enum dt_job_state state, int code, const char *what,
                 struct dt_err *reterr)
{
    struct dt_job *j = t->job;
    Detent__JobReply *r = &t->reply;

    dt_job_describe_end (j, state, code, what, r, t->what);
    if (t->measure.who) {
        r->clock = t->measure.who->clock;
        r->caches = t->measure.who->caches;
        r->device_model = t->measure.who->device;
        dt_conditions_describe (&t->measure.conditions, r);
    }
    if (state == DT_JOB_DONE) {
        r->has_additive_d = r->has_additive_factor = r->has_additive_tuples = t->n_additive > 0;
        r->additive_d = t->additive.d;
        r->additive_factor = t->additive.factor;
        r->additive_tuples = t->n_additive;
        r->has_tuple = r->has_bits = 1;
        r->tuple = (ProtobufCBinaryData){ DT_DIGEST_BYTES, t->row.digest.bytes };
        r->bits = (ProtobufCBinaryData){ DT_DIGEST_BYTES, t->row.bits.bytes };
        r->n_site = deployment (t)->n_sites;
        if (!(r->site = dt_arena_array (&t->solving.arena, r->n_site, sizeof *r->site)))
            return dt_err_nomem (reterr);
        for (size_t i = 0; i < r->n_site; i++)
            if (!(r->site[i] = dt_describe_result (&t->solving.arena,
                                                   t->solving.site[i].solution,
                                                   &t->site[i].result, &t->site[i].tables))
                || dt_forced_describe (j, &t->solving.arena, r->site[i]) < 0)
                return dt_err_nomem (reterr);
            else
                r->site[i]->incumbent = (char *)dt_incumbent_name (&t->site[i].incumbent,
                                                                   &t->site[i].result);
    }
    return dt_job_pack (j, r, reterr);
}

static int succeed (struct dt_tuning *t, struct dt_err *reterr)
{
    int r;

    if ((r = pack (t, DT_JOB_DONE, 0, "", reterr)) < 0)
        return r;
    dt_holds_forget (t->job->d->holds, t->job->backend, t->job->device, t->job->devices);
    return dt_pool_transact (t->job->d->writer, dt_tuning_put, t, reterr);
}

static void fail (struct dt_tuning *t, enum dt_job_state state, int code, const struct dt_err *err)
{
    struct dt_err ignored;

    if (pack (t, state, code, err->text, &ignored) == 0)
        dt_job_end (t->job, &t->reply);
}

static void done (struct dt_tuning *t)
{
    dt_measure_close (&t->measure);
    dt_schema_unref (t->schema);
    for (size_t i = 0; t->site && i < deployment (t)->n_sites; i++)
        dt_buf_done (&t->site[i].pinned);
    dt_buf_done (&t->tuple);
    for (size_t k = 0; k < t->job->n_traces; k++)
        dt_trace_free (t->trace[k]);
    dt_solving_done (&t->solving);
    dt_free (t);
}

static int run (struct dt_tuning *t, struct dt_store *s, struct dt_err *reterr)
{
    struct dt_err ignored;
    int r;

    if ((r = dt_job_live (t->job, reterr)) < 0)
        return r;
    if ((r = tune (t, s, reterr)) == 0)
        return succeed (t, reterr);
    dt_measure_flush (&t->measure, &ignored); /* what was measured stays */
    return r;
}

void dt_tuning_run (struct dt_work *w, struct dt_store *s)
{
    struct dt_job *j = (struct dt_job *)w;
    struct dt_tuning *t = dt_calloc (1, sizeof *t);
    struct dt_err err = { "" };
    enum dt_job_state state;
    int r;

    if (!t)
        return; /* no result: clients are told an error, the row fails at the next start */
    t->job = j;
    r = run (t, s, &err);
    if (j->waits) {
        dt_job_hold (j, err.text);
        done (t);
        return;
    }
    state = dt_job_state_of (r);
    if (r < 0)
        fail (t, state, r, &err);
    dt_job_move (j, state);
    done (t);
}
