/* detentctl/graphs.c - the graphs of a site, made in this process. */
#include "detentctl/graphs.h"

#include <string.h>

#include "base/mem.h"
#include "selir/simplify.h"
#include "solver/explain.h"

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

/* Whether value i of the program is one of pin p: at its place, and with its name or
 * its expression. */
static int is_pinned (const struct dt_graphs *s, const struct dt_solution_pin *p, uint32_t i)
{
    const struct dt_node *n = &s->graph->node[i];
    size_t len = strcspn (p->name, "#"); /* "#2" tells apart pins of one name */
    struct dt_buf place = { 0 }, text = { 0 };
    int yes;

    if (s->map[i] == DT_NODE_NONE)
        return 0;
    dt_explain_place (s->graph, n->span, &place);
    dt_explain_expression (s->simple, s->map[i], &text);
    yes = dt_buf_str (&place) && dt_buf_str (&text) && !strcmp (dt_buf_str (&place), p->where)
          && ((n->name && strlen (n->name) == len && !strncmp (n->name, p->name, len))
              || !strcmp (dt_buf_str (&text), p->expression));
    dt_buf_done (&place);
    dt_buf_done (&text);
    return yes;
}

/* A local that is assigned in a loop has many values of its name: the last counts. */
uint32_t dt_graphs_pin (const struct dt_graphs *s, const struct dt_solution_pin *p)
{
    uint32_t found = DT_NODE_NONE;

    for (uint32_t i = 0; i < s->graph->n_nodes; i++)
        if (is_pinned (s, p, i) && (found == DT_NODE_NONE || s->map[i] > found))
            found = s->map[i];
    return found;
}
