/* detentctl - the client of detentd. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "detentctl/options.h"
#include "detentctl/print.h"

static int run (const struct dt_ctl *c, struct dt_err *err)
{
    if (c->version) {
        printf ("detentctl %s\n", PACKAGE_VERSION);
        return 0;
    }
    if (c->help) {
        dt_ctl_help (c->command, stdout);
        return 0;
    }
    return c->command->run (c, err);
}

int main (int argc, char **argv)
{
    struct dt_err err = { "" };
    struct dt_ctl c;
    int r;

    setlocale (LC_CTYPE, ""); /* numbers stay as C writes them */
    signal (SIGXFSZ, SIG_IGN); /* a file at its limit is an error that can be told */
    dt_print_init ();
    if ((r = dt_ctl_parse (argc, argv, &c, &err)) == 0)
        r = run (&c, &err);
    if (r < 0)
        dt_print_error (&c, r, &err);
    if (fflush (stdout) || ferror (stdout)) {
        fprintf (stderr, "detentctl: standard output: %s\n", strerror (errno));
        return dt_err_exit (-EIO);
    }
    return r > 0 ? r : dt_err_exit (r);
}
