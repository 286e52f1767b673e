/* tests/detentd_kill.c - detentd, stopped by SIGKILL at a chosen point of a
 * transaction, or with a database that may not grow.
 *
 * $DETENTD_KILL_POINT is 1 (before BEGIN), 2 (inside) or 3 (after COMMIT);
 * $DETENTD_KILL_HIT counts transactions from 1.  While the file $DETENTD_FULL is
 * there, the database may not grow by a page. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "detentd/daemon.h"
#include "detentd/store_sql.h"

static int kill_point, kill_hit;
static const char *full;

static void set_limit (struct dt_store *s)
{
    int is_full = access (full, F_OK) == 0;

    /* 1 is below what is used: SQLite takes the present size. */
    sqlite3_exec (s->db, is_full ? "PRAGMA max_page_count = 1"
                                 : "PRAGMA max_page_count = 1073741823", NULL, NULL, NULL);
}

static void hook (struct dt_store *s, enum dt_store_point point)
{
    if (full && point == DT_STORE_BEFORE)
        set_limit (s);
    if ((int)point == kill_point && --kill_hit == 0)
        kill (getpid (), SIGKILL);
}

int main (int argc, char **argv)
{
    const char *point = getenv ("DETENTD_KILL_POINT"), *hit = getenv ("DETENTD_KILL_HIT");
    struct dt_options options;
    struct dt_daemon *d;
    struct dt_err err = { "" };
    int r;

    umask (0077);
    kill_point = point ? atoi (point) : 0;
    kill_hit = hit ? atoi (hit) : 0;
    full = getenv ("DETENTD_FULL");
    if ((r = dt_options_parse (argc, argv, &options, &err)) < 0
        || (r = dt_daemon_open (&options, &d, &err)) < 0) {
        fprintf (stderr, "%s\n", err.text);
        return 1;
    }
    dt_store_hook = hook; /* transactions of requests only, not those of the start */
    r = dt_daemon_run (d, &err);
    dt_daemon_close (d);
    dt_options_done (&options);
    return r < 0;
}
