/* detentd/options.h - the command line.
 * Uses: base/.  Used by: main.c, daemon.c. */
#ifndef DT_DETENTD_OPTIONS_H
#define DT_DETENTD_OPTIONS_H

#include "base/err.h"
#include "base/log.h"

struct dt_options {
    char *state_dir, *runtime_dir, *endpoint, *backend_dir, *profiler, *lock_dir;
    int foreground;
    enum dt_log_level log_level;
    int help, version;
};

/*   -DT_EUSAGE  one line that names the option */
int dt_options_parse (int argc, char **argv, struct dt_options *ret, struct dt_err *reterr);
void dt_options_done (struct dt_options *o);
/* --help, from the same table; owned by the caller. */
char *dt_options_help (void);

#endif
