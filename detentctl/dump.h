/* detentctl/dump.h - a site's graphs and code as text, and its graph for dot(1).
 * Uses: collect.h, selir/, solver/.  Used by: cmd_solve.c. */
#ifndef DT_CTL_DUMP_H
#define DT_CTL_DUMP_H

#include "detentctl/collect.h"
#include "solver/site.h"

enum dt_dump_what {
    DT_DUMP_GRAPH,      /* specialised: the meaning of the program       */
    DT_DUMP_SIMPLIFIED, /* what is cut                                   */
    DT_DUMP_RESIDUAL,   /* with the pins as symbols: what is judged      */
    DT_DUMP_CODE,       /* of the unpinned selector                      */
    DT_DUMP_DOT         /* the simplified graph, with sources, sinks, cut */
};
/* "graph", "simplified", "residual", "code".
 *   -DT_EUSAGE */
int dt_dump_parse (const char *word, enum dt_dump_what *ret, struct dt_err *reterr);

/* Print it of every site, solved in this process; errors are those of dt_site_solve. */
int dt_dump (const struct dt_collected *k, enum dt_dump_what what,
             const struct dt_site_options *options, struct dt_err *reterr);

#endif
