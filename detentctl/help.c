/* detentctl/help.c - help and completion, printed from the option tables. */
#include <string.h>

#include "detentctl/options.h"

static void print_option (const struct dt_ctl_option *o, FILE *out)
{
    char left[64], letter[8] = "";

    if (o->letter)
        snprintf (letter, sizeof letter, "-%c, ", o->letter);
    snprintf (left, sizeof left, "%s--%s%s%s", letter, o->name, o->argument ? " " : "",
              o->argument ? o->argument : "");
    fprintf (out, "  %-28s %s\n", left, o->help);
}

static void print_options (const char *title, const struct dt_ctl_option *o, FILE *out)
{
    if (!o)
        return;
    fprintf (out, "\n%s:\n", title);
    for (; o->name; o++)
        print_option (o, out);
}

void dt_ctl_help (const struct dt_ctl_command *command, FILE *out)
{
    if (command) {
        fprintf (out, "usage: detentctl %s [OPTION]...%s%s\n\n%s\n", command->name,
                 *command->arguments ? " " : "", command->arguments, command->help);
        print_options ("Options", command->option, out);
        print_options ("Common options", dt_ctl_common, out);
        return;
    }
    fputs ("usage: detentctl COMMAND [OPTION]... [ARGUMENT]...\n\n"
           "Solve, tune and commit batch-invariant kernel selections, through detentd.\n\n"
           "Commands:\n",
           out);
    for (size_t i = 0; dt_ctl_commands[i]; i++)
        fprintf (out, "  %-18s %s\n", dt_ctl_commands[i]->name, dt_ctl_commands[i]->help);
    print_options ("Common options", dt_ctl_common, out);
    fputs ("\n'detentctl COMMAND --help' says more of one; see also detentctl(1).\n", out);
}

/* --- bash -------------------------------------------------------------------- */

static void words_of (const struct dt_ctl_option *o, FILE *out)
{
    for (; o && o->name; o++)
        fprintf (out, " --%s", o->name);
}

/* First words; or the second words of one group. */
static void command_words (const char *group, FILE *out)
{
    const char *last = "";
    size_t n = group ? strlen (group) : 0;

    for (size_t i = 0; dt_ctl_commands[i]; i++) {
        const char *name = dt_ctl_commands[i]->name;
        size_t first = strcspn (name, " ");

        if (group && !strncmp (name, group, n) && name[n] == ' ')
            fprintf (out, " %s", name + n + 1);
        if (!group && (strcspn (last, " ") != first || strncmp (last, name, first)))
            fprintf (out, " %.*s", (int)first, name);
        last = name;
    }
}

static void completion_groups (FILE *out)
{
    const char *last = "";

    for (size_t i = 0; dt_ctl_commands[i]; i++) {
        const char *name = dt_ctl_commands[i]->name;
        size_t first = strcspn (name, " ");
        char group[32];

        if (!name[first] || !strncmp (last, name, first + 1))
            continue;
        last = name;
        snprintf (group, sizeof group, "%.*s", (int)first, name);
        fprintf (out, "        %s) words=\"", group);
        command_words (group, out);
        fputs ("\" ;;\n", out);
    }
}

void dt_ctl_completion (FILE *out)
{
    fputs ("# bash completion of detentctl; eval \"$(detentctl completion bash)\"\n"
           "_detentctl ()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} words= command=\"${COMP_WORDS[1]}\"\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"",
           out);
    command_words (NULL, out);
    fputs ("\"\n    elif [ \"$COMP_CWORD\" -eq 2 ] && [ \"${word#-}\" = \"$word\" ]; then\n"
           "        case $command in\n",
           out);
    completion_groups (out);
    fputs ("        esac\n    elif [ \"${word#-}\" != \"$word\" ]; then\n"
           "        case \"$command ${COMP_WORDS[2]}\" in\n",
           out);
    for (size_t i = 0; dt_ctl_commands[i]; i++) {
        const char *name = dt_ctl_commands[i]->name;

        fprintf (out, "        \"%s\"*) words=\"", name);
        words_of (dt_ctl_commands[i]->option, out);
        fputs ("\" ;;\n", out);
    }
    fputs ("        esac\n        words=\"$words", out);
    words_of (dt_ctl_common, out);
    fputs ("\"\n    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
           "    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n}\n"
           "complete -o filenames -F _detentctl detentctl\n",
           out);
}
