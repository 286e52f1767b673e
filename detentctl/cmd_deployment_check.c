/* detentctl/cmd_deployment_check.c - is a deployment file good? */
#include <inttypes.h>

#include "base/mem.h"
#include "detentctl/collect.h"
#include "detentctl/commands.h"
#include "detentctl/print.h"
#include "selir/program.h"
#include "solver/site.h"
#include "trace/schema.h"

static const struct dt_ctl_option options[] = {
    { "programs", 0, "FOLDER", "where programs are that are not beside FILE" },
    { 0 },
};

/* Specialise one site's program on its facts: *ret values; its inputs and claims. */
static int check_site (const struct dt_collected *k, size_t i, uint64_t *ret,
                       struct dt_err *reterr)
{
    const struct dt_site *site = &k->deployment->site[i];
    struct dt_source source[DT_SOURCE_MAX_FILES];
    struct dt_program *program = NULL;
    struct dt_graph *graph = NULL;
    int r;

    if ((r = dt_program_parse (source, dt_collected_sources (k, site, source), &program, reterr))
        < 0)
        return r;
    if ((r = dt_site_specialise (site, program, &graph, reterr)) == 0
        && (r = dt_site_check_graph (k->deployment, i, graph, dt_schema_check_input, reterr)) == 0)
        *ret = graph->n_nodes;
    dt_graph_free (graph);
    dt_program_free (program);
    return r;
}

static void print_table (const struct dt_deployment *d, const uint64_t *values)
{
    static const struct dt_column columns[] = {
        { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT },   { "PROGRAM", DT_CUT },
        { "CALLS/STEP", DT_RIGHT }, { "FACTS", DT_RIGHT }, { "VALUES", DT_RIGHT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);

    dt_print (stdout, "%s: model %s, engine %s %s, backend %s", d->name, d->model, d->engine,
              d->engine_build, d->backend);
    putchar ('\n');
    for (size_t i = 0; i < d->n_sites; i++) {
        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", d->site[i].family);
        dt_sheet_cell (t, "%s", d->site[i].site);
        dt_sheet_cell (t, "%s", d->site[i].program);
        dt_sheet_cell (t, "%" PRId64, d->site[i].calls_per_step);
        dt_sheet_cell (t, "%zu", d->site[i].n_facts);
        dt_sheet_cell (t, "%" PRIu64, values[i]);
    }
    dt_sheet_print (t, "Sites");
}

static void print_json (const struct dt_deployment *d, const uint64_t *values)
{
    json_t *o = dt_json_object (), *a = dt_json_array ();

    for (size_t i = 0; i < d->n_sites; i++) {
        json_t *s = dt_json_object ();

        dt_json_set (s, "calls_per_step", dt_json_u64 ((uint64_t)d->site[i].calls_per_step));
        dt_json_set (s, "facts", dt_json_u64 (d->site[i].n_facts));
        dt_json_set (s, "family", dt_json_text (d->site[i].family));
        dt_json_set (s, "program", dt_json_text (d->site[i].program));
        dt_json_set (s, "site", dt_json_text (d->site[i].site));
        dt_json_set (s, "specialised", dt_json_u64 (values[i]));
        dt_json_append (a, s);
    }
    dt_json_set (o, "backend", dt_json_text (d->backend));
    dt_json_set (o, "deployment", dt_json_text (d->name));
    dt_json_set (o, "engine", dt_json_text (d->engine));
    dt_json_set (o, "engine_build", dt_json_text (d->engine_build));
    dt_json_set (o, "model", dt_json_text (d->model));
    dt_json_set (o, "sites", a);
    dt_json_print (o);
}

static int check (const struct dt_ctl *c, const struct dt_collected *k, struct dt_err *reterr)
{
    const struct dt_deployment *d = k->deployment;
    uint64_t *values = dt_calloc (d->n_sites, sizeof *values);
    int r = values ? 0 : dt_err_nomem (reterr);

    for (size_t i = 0; r == 0 && i < d->n_sites; i++)
        r = check_site (k, i, &values[i], reterr);
    if (r == 0 && c->json)
        print_json (d, values);
    else if (r == 0)
        print_table (d, values);
    dt_free (values);
    return r;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    struct dt_collected k;
    int r;

    if ((r = dt_collect (c, c->arg[0], &k, reterr)) < 0)
        return r;
    r = check (c, &k, reterr);
    dt_collected_done (&k);
    return r;
}

const struct dt_ctl_command dt_cmd_deployment_check = {
    "deployment check", "FILE", 1, 1,
    "Check a deployment, its programs, and that the facts fit them.", options, run,
};
