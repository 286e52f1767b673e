/* detentd/options.c - the command line. */
#include <config.h>

#include "detentd/options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define FLAG SIZE_MAX
#define SYSTEM_LOCKS "/run/lock"

static const struct option_row {
    const char *name, *argument, *help;
    size_t at; /* offset of the char * in struct dt_options, or FLAG */
} rows[] = {
    { "state-dir", "DIR", "database and signing key [$STATE_DIRECTORY, /var/lib/detent]",
      offsetof (struct dt_options, state_dir) },
    { "runtime-dir", "DIR", "sockets [$RUNTIME_DIRECTORY, /run/detent]",
      offsetof (struct dt_options, runtime_dir) },
    { "endpoint", "URL", "where clients connect [ipc://RUNTIME-DIR/detentd.sock]",
      offsetof (struct dt_options, endpoint) },
    { "backend-dir", "DIR", "folder of detent-backend-*.so", offsetof (struct dt_options, backend_dir) },
    { "profiler", "PATH", "the worker program", offsetof (struct dt_options, profiler) },
    { "lock-dir", "DIR", "locks of devices, of all detentds here [" SYSTEM_LOCKS ", else RUNTIME-DIR]",
      offsetof (struct dt_options, lock_dir) },
    { "log-level", "LEVEL", "error, warning, info or debug [info]", FLAG },
    { "foreground", NULL, "log for a terminal, not for the journal", FLAG },
    { "help", NULL, "print this", FLAG },
    { "version", NULL, "print the version", FLAG },
};

static int set_level (const char *s, enum dt_log_level *ret, struct dt_err *reterr)
{
    static const struct {
        const char *name;
        enum dt_log_level level;
    } levels[] = { { "error", DT_LOG_ERROR }, { "warning", DT_LOG_WARNING },
                   { "info", DT_LOG_INFO }, { "debug", DT_LOG_DEBUG } };

    for (size_t i = 0; i < DT_ARRAY_SIZE (levels); i++)
        if (strcmp (s, levels[i].name) == 0) {
            *ret = levels[i].level;
            return 0;
        }
    return dt_err_set (reterr, -DT_EUSAGE, "--log-level '%s': must be error, warning, info or "
                       "debug", s);
}

static char **slot (struct dt_options *o, const struct option_row *row)
{
    return (char **)((char *)o + row->at);
}

static int set (struct dt_options *o, const struct option_row *row, const char *value,
                struct dt_err *reterr)
{
    if (row->at != FLAG) {
        if (!*value)
            return dt_err_set (reterr, -DT_EUSAGE, "--%s: must not be empty", row->name);
        dt_free (*slot (o, row));
        *slot (o, row) = dt_strdup (value);
        return *slot (o, row) ? 0 : dt_err_nomem (reterr);
    }
    if (strcmp (row->name, "log-level") == 0)
        return set_level (value, &o->log_level, reterr);
    if (strcmp (row->name, "foreground") == 0)
        o->foreground = 1;
    else if (strcmp (row->name, "help") == 0)
        o->help = 1;
    else
        o->version = 1;
    return 0;
}

/* systemd may list several folders, separated by colons: the first is ours. */
static char *folder (const char *variable, const char *otherwise)
{
    const char *s = getenv (variable);

    return s && *s ? dt_strndup (s, strcspn (s, ":")) : dt_strdup (otherwise);
}

/* A socket's address must be the same for every client, wherever it is started, and
 * the worker is started by its path: make paths absolute. */
static int make_absolute (char **path, struct dt_err *reterr)
{
    char *here, *whole;

    if (!*path || **path == '/')
        return 0;
    if (!(here = getcwd (NULL, 0)))
        return dt_err_set (reterr, -errno, "the current folder: %s", strerror (errno));
    whole = dt_strf ("%s/%s", here, *path);
    free (here);
    if (!whole)
        return dt_err_nomem (reterr);
    dt_free (*path);
    *path = whole;
    return 0;
}

static int defaults (struct dt_options *o, struct dt_err *reterr)
{
    char **const paths[] = { &o->state_dir, &o->runtime_dir, &o->backend_dir, &o->profiler,
                             &o->lock_dir };
    int r;

    for (size_t i = 0; i < DT_ARRAY_SIZE (paths); i++)
        if ((r = make_absolute (paths[i], reterr)) < 0)
            return r;
    if (!o->state_dir)
        o->state_dir = folder ("STATE_DIRECTORY", "/var/lib/detent");
    if (!o->runtime_dir)
        o->runtime_dir = folder ("RUNTIME_DIRECTORY", "/run/detent");
    if (!o->endpoint && o->runtime_dir)
        o->endpoint = dt_strf ("ipc://%s/detentd.sock", o->runtime_dir);
    if (!o->backend_dir)
        o->backend_dir = dt_strdup (DT_BACKEND_DIR);
    if (!o->profiler)
        o->profiler = dt_strdup (DT_PROFILER);
    if (!o->lock_dir && o->runtime_dir)
        o->lock_dir = dt_strdup (access (SYSTEM_LOCKS, W_OK) == 0 ? SYSTEM_LOCKS : o->runtime_dir);
    for (size_t i = 0; i < DT_ARRAY_SIZE (rows); i++)
        if (rows[i].at != FLAG && !*slot (o, &rows[i]))
            return dt_err_nomem (reterr);
    return 0;
}

/* getopt's error, as one line that names the word as it was written. */
static int refuse (char **argv, int c, struct dt_err *reterr)
{
    const char *word = argv[optind - 1];

    return c == ':' ? dt_err_set (reterr, -DT_EUSAGE, "%s: needs an argument", word)
                    : dt_err_set (reterr, -DT_EUSAGE, "unknown option '%s'; see --help", word);
}

int dt_options_parse (int argc, char **argv, struct dt_options *ret, struct dt_err *reterr)
{
    struct dt_options o = { .log_level = DT_LOG_INFO };
    struct option longs[DT_ARRAY_SIZE (rows) + 1] = { 0 };
    int c, r, i;

    for (size_t k = 0; k < DT_ARRAY_SIZE (rows); k++)
        longs[k] = (struct option){ .name = rows[k].name, .val = 256,
                                    .has_arg = rows[k].argument ? required_argument
                                                                : no_argument };
    optind = 0;
    while ((c = getopt_long (argc, argv, ":", longs, &i)) != -1) {
        r = c == 256 ? set (&o, &rows[i], optarg ? optarg : "", reterr)
                     : refuse (argv, c, reterr);
        if (r < 0)
            goto fail;
    }
    if (optind < argc) {
        r = dt_err_set (reterr, -DT_EUSAGE, "unexpected argument '%s'; see --help", argv[optind]);
        goto fail;
    }
    if ((r = defaults (&o, reterr)) < 0)
        goto fail;
    *ret = o;
    return 0;
fail:
    dt_options_done (&o);
    return r;
}

void dt_options_done (struct dt_options *o)
{
    for (size_t i = 0; i < DT_ARRAY_SIZE (rows); i++)
        if (rows[i].at != FLAG)
            dt_free (*slot (o, &rows[i]));
    *o = (struct dt_options){ 0 };
}

char *dt_options_help (void)
{
    struct dt_buf b = { 0 };

    dt_buf_printf (&b, "Usage: detentd [OPTION]...\n"
                       "Serve Detent's clients: solve, tune, commit, fetch.\n\n");
    for (size_t i = 0; i < DT_ARRAY_SIZE (rows); i++)
        dt_buf_printf (&b, "  --%s%s%-*s %s\n", rows[i].name, rows[i].argument ? "=" : "",
                       20 - (int)strlen (rows[i].name) - (rows[i].argument != NULL),
                       rows[i].argument ? rows[i].argument : "", rows[i].help);
    dt_buf_u8 (&b, '\0');
    if (b.failed) {
        dt_buf_done (&b);
        return NULL;
    }
    return (char *)b.data;
}
