/* detentd/tuning.c - a tune, on the tuner's thread. */
#include "detentd/tuning.h"

#include <errno.h>
#include <string.h>

#include "base/canon.h"
#include "base/mem.h"
#include "base/time.h"
#include "detentd/additive.h"
#include "detentd/covering.h"
#include "detentd/daemon.h"
#include "detentd/describe.h"
#include "detentd/forced.h"
#include "detentd/incumbent.h"
#include "detentd/measure.h"
#include "detentd/solving.h"
#include "trace/dtrace.h"
#include "tuner/tuple.h"

#define TUNE_BUDGET_S 30.0 /* of a site, where none is given       */
#define TABLES_SHARE 3     /* tables have one in so many of it more */

struct site {
    const struct dt_trace_site *trace[DT_JOB_MAX_TRACES]; /* [job->n_traces] */
    uint8_t *allowed; /* [n_assignments] 1: may be chosen */
    struct dt_incumbent incumbent;
    struct dt_tune_result result;
    struct dt_tables_result tables;
    struct dt_buf pinned;
    struct dt_free_row *free; /* [n_free] fields that need certificates */
    size_t n_free;
};
struct tuning {
    struct dt_job *job;
    struct dt_solving solving;
    struct dt_trace *trace[DT_JOB_MAX_TRACES]; /* [job->n_traces] */
    struct site *site; /* [deployment->n_sites], in the solving's arena */
    struct dt_schema_of *schema; /* of the backend; NULL: none is known */
    struct dt_measure measure;
    struct dt_additive_result additive;
    size_t n_additive;   /* tuples it is over; 0: one site, nothing to add */
    struct dt_buf tuple; /* the tuple's bytes */
    struct dt_tuple_row row;
    Detent__JobReply reply;
    char what[DT_JOB_WHAT];
};

static struct dt_deployment *deployment (const struct tuning *t)
{
    return t->solving.deployment;
}

static int load_traces (struct tuning *t, struct dt_store *s, struct dt_err *reterr)
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

static int match_sites (struct tuning *t, struct dt_err *reterr)
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

/* What orders the race: measurements are taken again only under the same plan.  The
 * budget is not of it: who gives more time goes on. */
static int make_plan (struct tuning *t, size_t i, struct dt_err *reterr)
{
    const struct dt_solution *s = t->solving.site[i].solution;
    const struct dt_job *j = t->job;
    struct dt_digest allowed = dt_digest_of ("allowed", t->site[i].allowed, s->n_assignments);
    struct dt_canon c;
    int r;

    dt_canon_init (&c);
    dt_canon_map (&c);
    dt_canon_kbytes (&c, "allowed", allowed.bytes, DT_DIGEST_BYTES);
    dt_canon_kint (&c, "exhaustive", j->exhaustive);
    dt_canon_kint (&c, "incumbent", (int64_t)t->site[i].incumbent.assignment);
    dt_canon_kint (&c, "max_calls", (int64_t)j->max_calls);
    dt_canon_kint (&c, "order", DT_TUNE_ORDER);
    dt_canon_kbytes (&c, "solution", t->solving.site[i].key.bytes, DT_DIGEST_BYTES);
    dt_canon_kbytes (&c, "traces", j->trace, j->n_traces * sizeof *j->trace);
    dt_canon_end (&c);
    if ((r = dt_canon_finish (&c)) < 0)
        r = dt_err_nomem (reterr); /* it is far from too long */
    else
        t->measure.plan = dt_digest_of ("plan", c.buf.data, c.buf.len);
    dt_canon_done (&c);
    return r;
}

/* What is committed, or the default assignment. */
static int find_incumbent (struct tuning *t, size_t i, struct dt_store *s, struct dt_err *reterr)
{
    const struct dt_solution *solution = t->solving.site[i].solution;
    struct dt_tune_observations seen;
    size_t otherwise;
    int r = dt_tune_observe (solution, t->site[i].trace, t->job->n_traces, &seen, reterr);

    if (r < 0)
        return r;
    r = dt_solution_default (solution, &seen.view, &otherwise, reterr);
    dt_tune_observations_done (&seen);
    return r < 0 ? r : dt_incumbent_find (s, t->job->deployment, t->job->workload, solution,
                                          otherwise, &t->site[i].incumbent, reterr);
}

/* Tables for the site's free fields, of the values that the backend states. */
static int find_tables (struct tuning *t, size_t i, const struct dt_tune_options *options,
                        const struct dt_tune_hooks *hooks, struct dt_err *reterr)
{
    const struct dt_solution *s = t->solving.site[i].solution;
    const struct dt_family *f = dt_schema_family (t->schema, s->family);
    struct dt_tune_free *free = dt_arena_array (&t->solving.arena, s->n_points, sizeof *free);
    struct dt_tune_options o = *options;
    struct site *site = &t->site[i];
    size_t n = 0;

    site->tables = (struct dt_tables_result){ .ratio = 1, .lo = 1, .hi = 1 };
    if (!free)
        return dt_err_nomem (reterr);
    for (size_t p = 0; f && p < s->n_points; p++)
        for (size_t k = 0; s->point[p].is_free && k < f->n_params; k++)
            if (!strcmp (f->param[k].name, s->point[p].field) && f->param[k].n_values > 1)
                free[n++] = (struct dt_tune_free){ f->param[k].name, f->param[k].value,
                                                   f->param[k].n_values };
    if (n == 0 || t->job->no_tables)
        return 0;
    o.budget_s = (options->budget_s > 0 ? options->budget_s : TUNE_BUDGET_S) / TABLES_SHARE;
    return dt_tables_find (s, site->result.chosen, site->trace, t->job->n_traces, free, n, &o,
                           hooks, &t->solving.arena, &site->tables, reterr);
}

static int tune_site (struct tuning *t, size_t i, struct dt_store *s, struct dt_err *reterr)
{
    const struct dt_job *j = t->job;
    const struct dt_solution *solution = t->solving.site[i].solution;
    struct site *site = &t->site[i];
    struct dt_tune_options options = { .max_calls = j->max_calls, .budget_s = j->budget_s,
                                       .exhaustive = j->exhaustive };
    struct dt_tune_hooks hooks = dt_measure_hooks (&t->measure);
    struct dt_covering cover;
    int r;

    t->measure.site = &deployment (t)->site[i];
    t->measure.solution = t->solving.site[i].key;
    t->measure.done_sites = (double)i;
    if (!(site->allowed = dt_arena_array (&t->solving.arena, solution->n_assignments, 1)))
        return dt_err_nomem (reterr);
    memset (site->allowed, 1, solution->n_assignments);
    options.allowed = site->allowed;
    cover = dt_covering_of (t->measure.site, solution, t->measure.who);
    if ((r = dt_forced_apply (j, &t->solving.arena, solution, site->allowed, reterr)) < 0
        || (r = dt_covering_apply (&cover, s, site->allowed, reterr)) < 0
        || (r = find_incumbent (t, i, s, reterr)) < 0 || (r = make_plan (t, i, reterr)) < 0
        || (r = dt_measure_recall (&t->measure, s, reterr)) < 0)
        return r;
    options.otherwise = site->incumbent.otherwise;
    if ((r = dt_tune_site (solution, site->trace, j->n_traces, site->incumbent.assignment,
                           &options, &hooks, &site->result, reterr)) < 0
        || (r = dt_measure_flush (&t->measure, reterr)) < 0)
        return r;
    if ((r = find_tables (t, i, &options, &hooks, reterr)) < 0
        || (r = dt_measure_look (&t->measure, reterr)) < 0)
        return r;
    return dt_solution_selector_with (solution, site->result.chosen, site->tables.table,
                                      site->tables.n, &site->pinned, reterr);
}

/* Free fields without a claim, with the key of the certificates that cover them. */
static int note_free (struct tuning *t, size_t i, struct dt_err *reterr)
{
    const struct dt_solution *s = t->solving.site[i].solution;
    struct dt_covering cover = dt_covering_of (&deployment (t)->site[i], s, t->measure.who);
    struct site *site = &t->site[i];
    struct dt_digest key;
    int r;

    if (s->verdict[site->result.chosen] == DT_SAMPLED)
        t->row.sampled = 1;
    if (!dt_covering_needs_any (s))
        return 0;
    if (!(site->free = dt_arena_array (&t->solving.arena, s->n_points, sizeof *site->free)))
        return dt_err_nomem (reterr);
    if ((r = dt_covering_key (&cover, site->result.chosen, &t->solving.arena, &key, NULL, NULL,
                              reterr)) < 0)
        return r;
    for (size_t k = 0; k < s->n_points; k++)
        if (dt_covering_needs (&s->point[k]))
            site->free[site->n_free++] = (struct dt_free_row){
                .family = s->family, .site = s->site, .field = s->point[k].field, .key = key };
    return 0;
}

static int make_tuple (struct tuning *t, struct dt_err *reterr)
{
    const Detent__WorkerIdentity *who = t->measure.who;
    struct dt_tuple_backend backend = { .name = who->name, .build = who->build,
                                        .libraries = who->libraries, .driver = who->driver,
                                        .device = who->device, .units = who->units };
    size_t n = deployment (t)->n_sites;
    struct dt_tuple_site *site = dt_arena_array (&t->solving.arena, n, sizeof *site);
    int r;

    if (!site)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++) {
        const struct dt_solution *s = t->solving.site[i].solution;

        site[i] = (struct dt_tuple_site){
            .solution = s,
            .assignment = t->site[i].result.chosen,
            .table = t->site[i].tables.table,
            .n_tables = t->site[i].tables.n,
            .pinned = dt_digest_of ("selector", t->site[i].pinned.data, t->site[i].pinned.len),
            .stock = dt_digest_of ("selector", s->stock.data, s->stock.len) };
        if ((r = dt_solving_program (&t->solving, &deployment (t)->site[i], &site[i].program,
                                     reterr)) < 0)
            return r;
    }
    t->row.deployment = t->job->deployment;
    t->row.uncovered = ""; /* a commit looks for certificates */
    for (size_t i = 0; i < n; i++)
        if ((r = note_free (t, i, reterr)) < 0)
            return r;
    return dt_tuple_encode (deployment (t), &backend, site, n, &t->tuple, &t->row.bits,
                            &t->row.digest, reterr);
}

/* Do the sites fit the backend that is to run them? */
static int check_backend (struct tuning *t, struct dt_err *reterr)
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
static int check_sum (struct tuning *t, struct dt_err *reterr)
{
    size_t n = deployment (t)->n_sites;
    struct dt_additive_site *site = dt_arena_array (&t->solving.arena, n, sizeof *site);

    if (!site)
        return dt_err_nomem (reterr);
    if (n < 2)
        return 0;
    for (size_t i = 0; i < n; i++)
        site[i] = (struct dt_additive_site){
            &deployment (t)->site[i], t->solving.site[i].solution, t->site[i].trace[0],
            t->site[i].result.chosen, t->site[i].result.incumbent, t->site[i].result.runner_up };
    return dt_additive_check (&t->measure, site, n, &t->additive, &t->n_additive, reterr);
}

/* Everything up to the tuple's bytes; nothing of it is in the store yet. */
static int tune (struct tuning *t, struct dt_store *s, struct dt_err *reterr)
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
        if ((r = tune_site (t, i, s, reterr)) < 0)
            return r;
    if ((r = check_sum (t, reterr)) < 0)
        return r;
    return make_tuple (t, reterr);
}

/* --- the end -------------------------------------------------------------------*/

static int pack (struct tuning *t, enum dt_job_state state, int code, const char *what,
                 struct dt_err *reterr)
{
    struct dt_job *j = t->job;
    Detent__JobReply *r = &t->reply;

    dt_job_describe_end (j, state, code, what, r, t->what);
    if (t->measure.who) {
        r->clock = t->measure.who->clock;
        r->caches = t->measure.who->caches;
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

/* In one transaction: selectors, tuple, and the job's end. */
static int put_done (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct tuning *t = ctx;
    size_t n = deployment (t)->n_sites;
    struct dt_selector_row *row = dt_arena_array (&t->solving.arena, n, sizeof *row);
    struct dt_digest digest;
    int r;

    if (!row)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++) {
        const struct dt_solution *solution = t->solving.site[i].solution;

        row[i].family = solution->family;
        row[i].site = solution->site;
        if ((r = dt_store_blob_put (s, "selector", t->site[i].pinned.data,
                                    t->site[i].pinned.len, &row[i].pinned, reterr)) < 0
            || (r = dt_store_blob_put (s, "selector", solution->stock.data,
                                       solution->stock.len, &row[i].stock, reterr)) < 0)
            return r;
    }
    if ((r = dt_store_blob_put (s, "tuple", t->tuple.data, t->tuple.len, &digest, reterr)) < 0
        || (r = dt_store_tuple_put (s, &t->row, row, n, reterr)) < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < t->site[i].n_free; k++)
            if ((r = dt_store_tuple_free_put (s, &digest, &t->site[i].free[k], reterr)) < 0)
                return r;
    return dt_job_put_end (t->job, s, &t->reply, &digest, reterr);
}

static int succeed (struct tuning *t, struct dt_err *reterr)
{
    int r;

    if ((r = pack (t, DT_JOB_DONE, 0, "", reterr)) < 0)
        return r;
    dt_holds_forget (t->job->d->holds, t->job->backend, t->job->devices);
    return dt_pool_transact (t->job->d->writer, put_done, t, reterr);
}

static void fail (struct tuning *t, enum dt_job_state state, int code, const struct dt_err *err)
{
    struct dt_err ignored;

    if (pack (t, state, code, err->text, &ignored) == 0)
        dt_job_end (t->job, &t->reply);
}

static void done (struct tuning *t)
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

static int run (struct tuning *t, struct dt_store *s, struct dt_err *reterr)
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
    struct tuning *t = dt_calloc (1, sizeof *t);
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
