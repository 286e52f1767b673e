/* detent-profiler: the process in which kernels run.  detentd starts it with a
 * stream socket as descriptor 3 and ends it by closing that socket. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/log.h"
#include "profiler/worker.h"

#include "config.h"

#define SOCKET_FD 3

static int usage (FILE *to)
{
    fprintf (to, "usage: detent-profiler [--help | --version]\n\n"
                 "Runs kernels of a backend for detentd, which starts it with a socket as\n"
                 "descriptor %d.  There is no need to start it by hand.\n", SOCKET_FD);
    return to == stdout ? 0 : 2;
}

int main (int argc, char **argv)
{
    struct dt_err err = { "" };
    int type;
    socklen_t n = sizeof type;
    int r;

    if (argc == 2 && strcmp (argv[1], "--help") == 0)
        return usage (stdout);
    if (argc == 2 && strcmp (argv[1], "--version") == 0)
        return printf ("detent-profiler %s\n", PACKAGE_VERSION) < 0;
    if (argc != 1 || getsockopt (SOCKET_FD, SOL_SOCKET, SO_TYPE, &type, &n) < 0)
        return usage (stderr);
    dt_log_init (DT_LOG_WARNING, 0);
    prctl (PR_SET_NAME, "detent-profiler");
    if ((r = dt_worker_serve (SOCKET_FD, &err)) < 0)
        dt_log (DT_LOG_ERROR, "profiler", "%s", err.text);
    return dt_err_exit (r);
}
