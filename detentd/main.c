/* detentd/main.c - parse, open, serve, close. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "detentd/daemon.h"

static int say (char *text)
{
    int r = text && fputs (text, stdout) != EOF && fflush (stdout) == 0 ? 0 : 10;

    dt_free (text);
    return r;
}

static int fail (int code, const struct dt_err *err)
{
    dt_log (DT_LOG_ERROR, "detentd", "%s", err->text);
    return dt_err_exit (code);
}

int main (int argc, char **argv)
{
    struct dt_options options;
    struct dt_daemon *d;
    struct dt_err err = { "" };
    int r;

    umask (0077); /* before anything is made: database, key, sockets */
    dt_log_init (DT_LOG_INFO, 0);
    if ((r = dt_options_parse (argc, argv, &options, &err)) < 0)
        return fail (r, &err);
    if (options.help || options.version) {
        r = say (options.help ? dt_options_help () : dt_strf ("detentd %s\n", PACKAGE_VERSION));
        dt_options_done (&options);
        return r;
    }
    dt_log_init (options.log_level, !options.foreground && getenv ("JOURNAL_STREAM"));
    if ((r = dt_daemon_open (&options, &d, &err)) == 0) {
        r = dt_daemon_run (d, &err);
        dt_daemon_close (d);
    }
    r = r < 0 ? fail (r, &err) : 0;
    dt_options_done (&options);
    return r;
}
