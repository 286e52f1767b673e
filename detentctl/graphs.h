/* detentctl/graphs.h - the graphs of a site, made in this process.
 * Uses: collect.h, selir/, solver/.  Used by: dump.c, cmd_explain.c. */
#ifndef DT_CTL_GRAPHS_H
#define DT_CTL_GRAPHS_H

#include "detentctl/collect.h"
#include "solver/site.h"

struct dt_graphs {
    struct dt_graph *graph, *simple; /* specialised; simplified: what is cut */
    uint32_t *map;                   /* from graph into simple               */
    struct dt_solution *solution;
};

/* Specialise, simplify and solve site i.  Errors are those of dt_site_solve. */
int dt_graphs_make (const struct dt_collected *k, size_t i, const struct dt_site_options *options,
                    struct dt_graphs *ret, struct dt_err *reterr);
void dt_graphs_done (struct dt_graphs *s);

/* The value of `simple` that a pin stands for; DT_NODE_NONE if it was chosen in a
 * later cut, and is none of that graph. */
uint32_t dt_graphs_pin (const struct dt_graphs *s, const struct dt_solution_pin *p);

#endif
