/* detentctl/options.c - parse a command line by the command's table. */
#include "detentctl/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "proto/wire.h"

#define LONG 256 /* getopt's value of option i is LONG + i */
#define MAX_COMMANDS 32

const struct dt_ctl_option dt_ctl_common[] = {
    { "endpoint", 0, "ADDRESS", "where detentd listens (default: $DETENT_ENDPOINT)" },
    { "timeout", 0, "SECONDS", "give up after so long without an answer (default: 30)" },
    { "json", 0, NULL, "print JSON, with a version number and sorted keys" },
    { "help", 'h', NULL, "print this help" },
    { "version", 0, NULL, "print the version" },
    { 0 },
};

static size_t count (const struct dt_ctl_option *o)
{
    size_t n = 0;

    while (o && o[n].name)
        n++;
    return n;
}

/* Option i of a command (NULL: none named yet): its own first, then the common. */
static const struct dt_ctl_option *option_at (const struct dt_ctl_command *c, size_t i)
{
    size_t own = c ? count (c->option) : 0;

    return i < own ? &c->option[i] : &dt_ctl_common[i - own];
}

static size_t options_of (const struct dt_ctl_command *c)
{
    return (c ? count (c->option) : 0) + count (dt_ctl_common);
}

static int find_option (const struct dt_ctl_command *c, const char *name)
{
    for (size_t i = 0; i < options_of (c); i++)
        if (!strcmp (option_at (c, i)->name, name))
            return (int)i;
    return -1;
}

/* --- values ------------------------------------------------------------------ */

const char *dt_ctl_value (const struct dt_ctl *c, const char *name)
{
    int i = find_option (c->command, name);

    assert (i >= 0);
    return c->value[i];
}

int dt_ctl_flag (const struct dt_ctl *c, const char *name)
{
    return dt_ctl_value (c, name) != NULL;
}

/* Decimal digits only: no sign, no space, no other base. */
static int parse_u64 (const char *s, uint64_t max, uint64_t *ret)
{
    char *end;
    unsigned long long v;

    if (!*s || strspn (s, "0123456789") != strlen (s))
        return -1;
    errno = 0;
    v = strtoull (s, &end, 10);
    if (errno || *end || v > max)
        return -1;
    *ret = v;
    return 0;
}

int dt_ctl_u64 (const struct dt_ctl *c, const char *name, uint64_t max, uint64_t *ret,
                struct dt_err *reterr)
{
    const char *s = dt_ctl_value (c, name);

    if (!s || parse_u64 (s, max, ret) == 0)
        return 0;
    return dt_err_set (reterr, -DT_EUSAGE, "--%s '%s' is not a whole number from 0 to %llu", name,
                       s, (unsigned long long)max);
}

int dt_ctl_u32 (const struct dt_ctl *c, const char *name, uint32_t max, uint32_t *ret, int *ret_has,
                struct dt_err *reterr)
{
    uint64_t v = *ret;
    int r = dt_ctl_u64 (c, name, max, &v, reterr);

    if (r < 0)
        return r;
    *ret = (uint32_t)v;
    *ret_has = dt_ctl_flag (c, name);
    return 0;
}

int dt_ctl_seconds (const struct dt_ctl *c, const char *name, double *ret,
                    struct dt_err *reterr)
{
    const char *s = dt_ctl_value (c, name);
    char *end;
    double v;

    if (!s)
        return 0;
    v = strtod (s, &end);
    if (end == s || *end || !isfinite (v) || v < 0 || v > 1e6)
        return dt_err_set (reterr, -DT_EUSAGE,
                           "--%s '%s' is not a number of seconds from 0 to 1000000", name, s);
    *ret = v;
    return 0;
}

int dt_ctl_arg_u64 (const struct dt_ctl *c, int i, uint64_t *ret, struct dt_err *reterr)
{
    if (parse_u64 (c->arg[i], INT64_MAX, ret) == 0)
        return 0;
    return dt_err_set (reterr, -DT_EUSAGE, "'%s' is not a number (%s %s)", c->arg[i],
                       c->command->name, c->command->arguments);
}

int dt_ctl_need (const struct dt_ctl *c, const char *const *names, struct dt_err *reterr)
{
    for (; *names; names++)
        if (!dt_ctl_flag (c, *names))
            return dt_err_set (reterr, -DT_EUSAGE, "--%s %s is missing (detentctl %s --help)",
                               *names,
                               option_at (c->command, (size_t)find_option (c->command, *names))
                                   ->argument,
                               c->command->name);
    return 0;
}

int dt_ctl_name (const struct dt_ctl *c, const char *option, const char **ret,
                 struct dt_err *reterr)
{
    const char *s = dt_ctl_value (c, option);

    if (s && !dt_wire_name_ok (s))
        return dt_err_set (reterr, -DT_EUSAGE,
                           "--%s '%s' is not a name: lower-case letters, digits, '.', '_', '-', "
                           "at most 63",
                           option, s);
    *ret = s;
    return 0;
}

/* --- parsing ------------------------------------------------------------------ */

/* "; did you mean 'x'?", or nothing. */
static const char *hint (const char *word, const char *const *names, size_t n, const char *dashes,
                         char text[64])
{
    const char *near = dt_suggest (word, names, n);

    text[0] = '\0';
    if (near)
        snprintf (text, 64, "; did you mean '%s%s'?", dashes, near);
    return text;
}

static int unknown_command (const char *word, const char *group, struct dt_err *reterr)
{
    char first[MAX_COMMANDS][24];
    const char *names[MAX_COMMANDS];
    char text[64], dash[24] = "";
    size_t n = 0, skip = group ? strlen (group) + 1 : 0;

    if (group)
        snprintf (dash, sizeof dash, "%s ", group);
    for (size_t i = 0; dt_ctl_commands[i] && n < MAX_COMMANDS; i++) {
        const char *name = dt_ctl_commands[i]->name;

        if (group && strncmp (name, dash, skip))
            continue;
        snprintf (first[n], sizeof first[n], "%.*s", (int)strcspn (name + skip, " "), name + skip);
        names[n] = first[n];
        n++;
    }
    return dt_err_set (reterr, -DT_EUSAGE, "unknown command '%s%s'%s (detentctl --help)", dash,
                       word, hint (word, names, n, dash, text));
}

/* The command that argv[0] (and argv[1]) name; *used words of them. */
static int find_command (int argc, char **argv, const struct dt_ctl_command **ret, int *used,
                         struct dt_err *reterr)
{
    size_t n = strlen (argv[0]);
    const char *group = NULL;

    for (size_t i = 0; dt_ctl_commands[i]; i++) {
        const char *name = dt_ctl_commands[i]->name;

        if (strncmp (name, argv[0], n) || (name[n] && name[n] != ' '))
            continue;
        if (name[n] && (argc < 2 || strcmp (name + n + 1, argv[1]))) {
            group = argv[0];
            continue;
        }
        *ret = dt_ctl_commands[i];
        *used = name[n] ? 2 : 1;
        return 0;
    }
    if (group && (argc < 2 || argv[1][0] == '-'))
        return dt_err_set (reterr, -DT_EUSAGE, "'%s' takes one more word (detentctl --help)",
                           group);
    return unknown_command (group ? argv[1] : argv[0], group, reterr);
}

/* What getopt_long calls '?': the word is not an option, or is half of several. */
static int bad_option (const struct dt_ctl_command *c, const char *word, int letter,
                       struct dt_err *reterr)
{
    const char *names[DT_CTL_MAX_OPTIONS];
    const char *help = c ? c->name : "";
    char text[64], bare[64];
    size_t n = options_of (c);

    if (letter >= LONG)
        return dt_err_set (reterr, -DT_EUSAGE, "option '--%s' takes no argument",
                           option_at (c, (size_t)(letter - LONG))->name);
    if (letter)
        return dt_err_set (reterr, -DT_EUSAGE, "unknown option '-%c' (detentctl %s%s--help)",
                           letter, help, *help ? " " : "");
    for (size_t i = 0; i < n; i++)
        names[i] = option_at (c, i)->name;
    snprintf (bare, sizeof bare, "%.*s", (int)strcspn (word + 2, "="), word + 2);
    return dt_err_set (reterr, -DT_EUSAGE, "unknown option '--%s'%s (detentctl %s%s--help)", bare,
                       hint (bare, names, n, "--", text), help, *help ? " " : "");
}

/* getopt's tables of a command. */
struct tables {
    struct option longs[DT_CTL_MAX_OPTIONS + 1];
    char shorts[2 * DT_CTL_MAX_OPTIONS + 3];
};

static void make_tables (const struct dt_ctl_command *c, int stop_at_word, struct tables *t)
{
    size_t n = options_of (c);
    char *s = t->shorts;

    assert (n <= DT_CTL_MAX_OPTIONS);
    if (stop_at_word)
        *s++ = '+';
    *s++ = ':';
    for (size_t i = 0; i < n; i++) {
        const struct dt_ctl_option *o = option_at (c, i);

        t->longs[i] = (struct option){ o->name, o->argument ? required_argument : no_argument,
                                       NULL, LONG + (int)i };
        if (o->letter) {
            *s++ = o->letter;
            if (o->argument)
                *s++ = ':';
        }
    }
    t->longs[n] = (struct option){ 0 };
    *s = '\0';
}

/* Which option getopt's answer means; -1 if it is none. */
static int which (const struct dt_ctl_command *c, int answer)
{
    if (answer >= LONG)
        return answer - LONG;
    for (size_t i = 0; i < options_of (c); i++)
        if (option_at (c, i)->letter == answer)
            return (int)i;
    return -1;
}

/* Parse options of argv[1..] into value[]; optind is at the first word left. */
static int parse_options (const struct dt_ctl_command *c, int argc, char **argv, int stop_at_word,
                          const char **value, struct dt_err *reterr)
{
    struct tables t;
    int answer, i;

    make_tables (c, stop_at_word, &t);
    opterr = 0;
    optind = 0; /* glibc: start anew */
    while ((answer = getopt_long (argc, argv, t.shorts, t.longs, NULL)) != -1) {
        if (answer == '?')
            return bad_option (c, argv[optind - 1], optopt, reterr);
        if (answer == ':')
            return dt_err_set (reterr, -DT_EUSAGE, "option '%s' takes an argument: %s",
                               argv[optind - 1], option_at (c, (size_t)which (c, optopt))->argument);
        i = which (c, answer);
        value[i] = option_at (c, (size_t)i)->argument ? optarg : "";
    }
    return 0;
}

static int check_arguments (const struct dt_ctl *c, struct dt_err *reterr)
{
    const struct dt_ctl_command *k = c->command;

    if (c->n_args >= k->min_args && c->n_args <= k->max_args)
        return 0;
    if (c->n_args > k->max_args)
        return dt_err_set (reterr, -DT_EUSAGE, "%s: unexpected argument '%s' (detentctl %s --help)",
                           k->name, c->arg[k->max_args], k->name);
    return dt_err_set (reterr, -DT_EUSAGE, "%s: argument missing: %s (detentctl %s --help)",
                       k->name, k->arguments, k->name);
}

/* The common options come last in value[]. */
static void note_common (struct dt_ctl *c)
{
    c->json = dt_ctl_flag (c, "json");
    c->help = dt_ctl_flag (c, "help");
    c->version = dt_ctl_flag (c, "version");
}

int dt_ctl_parse (int argc, char **argv, struct dt_ctl *ret, struct dt_err *reterr)
{
    const char *before[DT_CTL_MAX_OPTIONS] = { 0 };
    size_t own, n = count (dt_ctl_common);
    int used = 0, r;

    memset (ret, 0, sizeof *ret);
    r = parse_options (NULL, argc, argv, 1, ret->value, reterr);
    note_common (ret);
    if (r < 0)
        return r;
    argc -= optind;
    argv += optind;
    if (argc == 0)
        return ret->help || ret->version
                   ? 0
                   : dt_err_set (reterr, -DT_EUSAGE, "no command given (detentctl --help)");
    if ((r = find_command (argc, argv, &ret->command, &used, reterr)) < 0) {
        for (int i = 0; i < argc; i++) /* its options are not known: how to report is */
            ret->json |= !strcmp (argv[i], "--json");
        return r;
    }
    memcpy (before, ret->value, sizeof before);
    memset (ret->value, 0, sizeof ret->value);
    own = count (ret->command->option);
    memcpy (ret->value + own, before, n * sizeof *before);
    r = parse_options (ret->command, argc - used + 1, argv + used - 1, 0, ret->value, reterr);
    note_common (ret);
    if (r < 0)
        return r;
    ret->arg = argv + used - 1 + optind;
    ret->n_args = argc - used + 1 - optind;
    return ret->help || ret->version ? 0 : check_arguments (ret, reterr);
}
