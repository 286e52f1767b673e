/* detentctl/options.h - commands, their option tables, and what was given.
 * Uses: base/.  Used by: every file of detentctl.
 *
 * One table for each command drives parsing, --help and completion; a test holds
 * the man page against it. */
#ifndef DT_CTL_OPTIONS_H
#define DT_CTL_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define DT_CTL_MAX_OPTIONS 24 /* of one command, with those of all commands */

struct dt_ctl_option {
    const char *name;     /* long name; NULL ends a table           */
    char letter;          /* short name, 0 if it has none           */
    const char *argument; /* what it takes, as help shows it; or NULL */
    const char *help;
};

struct dt_ctl;
struct dt_ctl_command {
    const char *name;      /* one word or two: "solve", "trace import" */
    const char *arguments; /* as help shows them: "FILE", or ""         */
    int min_args, max_args;
    const char *help;
    const struct dt_ctl_option *option; /* NULL: none of its own */
    /* 0, a negative code with its text, or the exit code of an answer that is already
     * on stdout. */
    int (*run) (const struct dt_ctl *c, struct dt_err *reterr);
};

/* One parsed command line.  Borrows argv. */
struct dt_ctl {
    const struct dt_ctl_command *command; /* NULL: none was named */
    const char *value[DT_CTL_MAX_OPTIONS]; /* of the command's options, then of all's;
                                              NULL: not given; "" for a flag    */
    char **arg;
    int n_args;
    int json, help, version; /* of --json, --help, --version */
};

/* All commands, in the order of help; ends with NULL. */
extern const struct dt_ctl_command *const dt_ctl_commands[];
/* Options that every command takes. */
extern const struct dt_ctl_option dt_ctl_common[];

/*   -DT_EUSAGE  one line that says what to write instead
 * `ret` is filled as far as possible on failure too: how to report it (json). */
int dt_ctl_parse (int argc, char **argv, struct dt_ctl *ret, struct dt_err *reterr);

/* An option by its long name: NULL if it was not given. */
const char *dt_ctl_value (const struct dt_ctl *c, const char *name);
int dt_ctl_flag (const struct dt_ctl *c, const char *name);
/* Numbers: *ret is untouched if the option was not given.
 *   -DT_EUSAGE  not a number, or out of range */
int dt_ctl_u64 (const struct dt_ctl *c, const char *name, uint64_t max, uint64_t *ret,
                struct dt_err *reterr);
int dt_ctl_seconds (const struct dt_ctl *c, const char *name, double *ret,
                    struct dt_err *reterr);
/* And whether it was given. */
int dt_ctl_u32 (const struct dt_ctl *c, const char *name, uint32_t max, uint32_t *ret, int *ret_has,
                struct dt_err *reterr);
/* A positional argument as a number. */
int dt_ctl_arg_u64 (const struct dt_ctl *c, int i, uint64_t *ret, struct dt_err *reterr);
/* Each of `names` (ends with NULL) must be given. */
int dt_ctl_need (const struct dt_ctl *c, const char *const *names, struct dt_err *reterr);
/* A deployment's or workload's name, as the daemon takes it. */
int dt_ctl_name (const struct dt_ctl *c, const char *option, const char **ret,
                 struct dt_err *reterr);

/* Help of a command, or of all (NULL); and bash's completion. */
void dt_ctl_help (const struct dt_ctl_command *command, FILE *out);
void dt_ctl_completion (FILE *out);

#endif
