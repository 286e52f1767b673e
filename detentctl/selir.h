/* detentctl/selir.h - a program file and the facts given for it, without a daemon.
 * Uses: collect.h, settings.h, selir/, solver/.  Used by: cmd_selir_{check,run}.c. */
#ifndef DT_CTL_SELIR_H
#define DT_CTL_SELIR_H

#include "detentctl/collect.h"
#include "selir/program.h"

struct dt_selir {
    struct dt_collected file; /* the program first, then what it imports */
    struct dt_program *program;
    struct dt_graph *graph; /* NULL until specialised */
};

/* The options that give facts: put them into a command's table. */
#define DT_SELIR_OPTIONS \
    { "facts", 0, "NAME=VALUE,...", "the facts to run it with; they come before DEPLOYMENT's" }, \
    { "deployment", 0, "FILE", "take the facts of a site of this deployment (YAML)" }, \
    { "site", 0, "SITE", "that site: its name, or FAMILY/SITE (default: the one of PROGRAM)" }

/* Read, parse and check a program.  dt_selir_done whatever happened.
 *   -DT_EUSAGE  the name does not end in .py;  or as dt_program_parse */
int dt_selir_open (const char *path, struct dt_selir *ret, struct dt_err *reterr);
/* Specialise it on the facts of --facts and --deployment.  Errors as
 * dt_program_specialise. */
int dt_selir_specialise (const struct dt_ctl *c, struct dt_selir *s, struct dt_err *reterr);
/* Whether facts were given, or it needs none. */
int dt_selir_has_facts (const struct dt_ctl *c, const struct dt_selir *s);
void dt_selir_done (struct dt_selir *s);

#endif
