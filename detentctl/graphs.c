/* detentctl/graphs.c - the graphs of a site, made in this process. */
#include "detentctl/graphs.h"

#include <string.h>

#include "base/mem.h"
#include "selir/simplify.h"

void dt_graphs_done (struct dt_graphs *s)
{
    dt_graph_free (s->graph);
    dt_graph_free (s->simple);
    dt_free (s->map);
    dt_solution_free (s->solution);
    memset (s, 0, sizeof *s);
}

static int make (const struct dt_collected *k, size_t i, const struct dt_site_options *options,
                 struct dt_graphs *s, struct dt_err *reterr)
{
    struct dt_source source[DT_SOURCE_MAX_FILES];
    size_t n = dt_collected_sources (k, &k->deployment->site[i], source);
    struct dt_program *program = NULL;
    int r;

    if ((r = dt_program_parse (source, n, &program, reterr)) < 0)
        return r;
    r = dt_site_specialise (&k->deployment->site[i], program, &s->graph, reterr);
    dt_program_free (program);
    if (r < 0
        || (r = dt_simplify (s->graph, DT_PASS_ALL, NULL, 1, &s->simple, &s->map, reterr)) < 0)
        return r;
    return dt_site_solve (k->deployment, i, source, n, options, &s->solution, NULL, reterr);
}

int dt_graphs_make (const struct dt_collected *k, size_t i, const struct dt_site_options *options,
                    struct dt_graphs *ret, struct dt_err *reterr)
{
    struct dt_graphs s = { 0 };
    int r = make (k, i, options, &s, reterr);

    if (r < 0)
        dt_graphs_done (&s);
    else
        *ret = s;
    return r;
}

uint32_t dt_graphs_pin (const struct dt_graphs *s, const struct dt_solution_pin *p)
{
    return p->node < s->graph->n_nodes ? s->map[p->node] : DT_NODE_NONE;
}
