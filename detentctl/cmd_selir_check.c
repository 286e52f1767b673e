/* detentctl/cmd_selir_check.c - is a program in the language? */
#include <inttypes.h>
#include <string.h>

#include "detentctl/commands.h"
#include "detentctl/print.h"
#include "detentctl/selir.h"

static const struct dt_ctl_option options[] = {
    DT_SELIR_OPTIONS,
    { "syntax", 0, NULL, "for editors: without facts; one line for the first finding, or none" },
    { 0 },
};

static void print_text (const struct dt_selir *s)
{
    size_t n = dt_program_facts (s->program);

    dt_print (stdout, "%s: family %s; ", s->file.file[0].name, dt_program_family (s->program));
    if (s->graph) {
        printf ("%" PRIu32 " values, %" PRIu32 " inputs, %" PRIu32 " knobs, %" PRIu32
                " selection points\n",
                s->graph->n_nodes, s->graph->n_inputs, s->graph->n_knobs, s->graph->n_points);
        return;
    }
    printf ("checked without its %zu facts (--facts):", n);
    for (size_t i = 0; i < n; i++)
        dt_print (stdout, "%s%s", i ? ", " : " ", dt_program_fact (s->program, i));
    putchar ('\n');
}

static void print_json (const struct dt_selir *s)
{
    json_t *o = dt_json_object (), *facts = dt_json_array (), *r = dt_json_object ();

    for (size_t i = 0; i < dt_program_facts (s->program); i++)
        dt_json_append (facts, dt_json_text (dt_program_fact (s->program, i)));
    dt_json_set (o, "facts", facts);
    dt_json_set (o, "family", dt_json_text (dt_program_family (s->program)));
    dt_json_set (o, "name", dt_json_text (s->file.file[0].name));
    dt_json_set (o, "values", s->graph ? dt_json_u64 (s->graph->n_nodes) : json_null ());
    dt_json_set (r, "program", o);
    dt_json_print (r);
}

static int check (const struct dt_ctl *c, struct dt_err *reterr)
{
    struct dt_selir s;
    int r;

    if ((r = dt_selir_open (c->arg[0], &s, reterr)) < 0)
        return r;
    if (dt_selir_has_facts (c, &s))
        r = dt_selir_specialise (c, &s, reterr);
    if (r == 0)
        (c->json ? print_json : print_text) (&s);
    dt_selir_done (&s);
    return r;
}

/* "FILE:LINE:COLUMN: text (advice)": the line of the program and its caret left out. */
static void print_finding (const char *text)
{
    const char *advice = strstr (text, "\nadvice: ");
    int n = (int)strcspn (text, "\n");

    dt_print (stdout, advice ? "%.*s (%s)" : "%.*s", n, text, advice ? advice + 9 : "");
    putchar ('\n');
}

/* Editors read findings from stdout; what is no finding (a missing file) is an error
 * like any other. */
static int check_syntax (const struct dt_ctl *c, struct dt_err *reterr)
{
    struct dt_selir s;
    int r = dt_selir_open (c->arg[0], &s, reterr);

    if (r == -DT_ESYNTAX || r == -DT_ELIMIT) {
        print_finding (reterr->text);
        return dt_err_exit (r);
    }
    dt_selir_done (&s);
    return r;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    return dt_ctl_flag (c, "syntax") ? check_syntax (c, reterr) : check (c, reterr);
}

const struct dt_ctl_command dt_cmd_selir_check = {
    "selir check", "PROGRAM", 1, 1,
    "Check a selection program; with facts, specialise it too.", options, run,
};
