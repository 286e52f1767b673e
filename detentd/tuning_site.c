/* detentd/tuning_site.c - one site of a tune: its plan, its incumbent, its choice, its tables. */
#include "detentd/tuning_parts.h"

#include <string.h>

#include "base/canon.h"
#include "detentd/covering.h"
#include "detentd/forced.h"

#define TUNE_BUDGET_S 30.0 /* of a site, where none is given       */
#define TABLES_SHARE 3     /* tables have one in so many of it more */

/* What orders the race: measurements are taken again only under the same plan.  The
 * budget is not of it: who gives more time goes on. */
static int make_plan (struct dt_tuning *t, size_t i, struct dt_err *reterr)
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
static int find_incumbent (struct dt_tuning *t, size_t i, struct dt_store *s, struct dt_err *reterr)
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
static int find_tables (struct dt_tuning *t, size_t i, const struct dt_tune_options *options,
                        const struct dt_tune_hooks *hooks, struct dt_err *reterr)
{
    const struct dt_solution *s = t->solving.site[i].solution;
    const struct dt_family *f = dt_schema_family (t->schema, s->family);
    struct dt_tune_free *free = dt_arena_array (&t->solving.arena, s->n_points, sizeof *free);
    struct dt_tune_options o = *options;
    struct dt_tuning_site *site = &t->site[i];
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

int dt_tuning_search (struct dt_tuning *t, size_t i, struct dt_store *s, struct dt_err *reterr)
{
    const struct dt_job *j = t->job;
    const struct dt_solution *solution = t->solving.site[i].solution;
    struct dt_tuning_site *site = &t->site[i];
    struct dt_tune_options options = { .max_calls = j->max_calls, .budget_s = j->budget_s,
                                       .exhaustive = j->exhaustive };
    struct dt_tune_hooks hooks = dt_measure_hooks (&t->measure);
    struct dt_covering cover;
    int r;

    t->measure.site = &t->solving.deployment->site[i];
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
        || (r = dt_measure_look (&t->measure, reterr)) < 0)
        return r;
    if ((r = find_tables (t, i, &options, &hooks, reterr)) < 0
        || (r = dt_measure_look (&t->measure, reterr)) < 0)
        return r;
    return dt_solution_selector_with (solution, site->result.chosen, site->tables.table,
                                      site->tables.n, &site->pinned, reterr);
}
