/* detentctl/cmd_explain.c - the story of a pin, in words. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "detentctl/commands.h"
#include "detentctl/graphs.h"
#include "detentctl/print.h"
#include "detentctl/sheet.h"
#include "detentctl/site.h"
#include "solver/deployment.h"
#include "solver/explain.h"
#include "solver/reach.h"
#include "trace/schema.h"

static const struct dt_ctl_option options[] = {
    { "deployment", 0, "NAME", "explain the last solve of this deployment" },
    { "file", 0, "FILE", "solve this deployment (YAML) in this process; tells lines and inputs too" },
    { "site", 0, "SITE", "the pin of this site, a name or FAMILY/SITE (default: the first that has it)" },
    { "programs", 0, "FOLDER", "where programs are that are not beside FILE" },
    { 0 },
};

/* A pin, and what only sources tell. */
struct story {
    const struct dt_solution *s;
    const struct dt_solution_pin *pin;
    size_t index;
    char *line;   /* of the program, NULL if there are no sources */
    char *inputs; /* that reach it; likewise                      */
};

/* How the assignments with one candidate fared. */
struct tally {
    size_t legal, illegal;
    const char *why; /* of the first illegal one */
};

static void count (const struct story *t, size_t candidate, struct tally *ret)
{
    const struct dt_solution *s = t->s;
    int64_t *v = dt_calloc (s->n_pins + s->n_knobs, sizeof *v);

    if (!v)
        dt_print_nomem ();
    memset (ret, 0, sizeof *ret);
    for (size_t i = 0; i < s->n_assignments; i++) {
        dt_solution_assignment (s, i, v, v + s->n_pins);
        if (v[t->index] != t->pin->candidate[candidate])
            continue;
        if (s->verdict[i] != DT_ILLEGAL)
            ret->legal++;
        else if (ret->illegal++ == 0)
            ret->why = s->why[i];
    }
    dt_free (v);
}

/* --- text ------------------------------------------------------------------------ */

static void say (const char *what, const char *text)
{
    dt_print (stdout, "%s %s", what, text);
    putchar ('\n');
}

static void print_where (const struct story *t)
{
    dt_print (stdout, "%s is a pin of %s/%s.", t->pin->name, t->s->family, t->s->site);
    fputs ("\n\n", stdout);
    say ("Computed at", t->pin->where);
    if (t->line)
        say ("   ", t->line);
    say ("as", t->pin->expression);
    if (t->inputs)
        say ("from the inputs", t->inputs);
}

static void print_why (const struct story *t)
{
    size_t n = t->s->n_pins;

    puts ("\nThe batch reaches a binding selection point through it:");
    say ("   ", t->pin->path);
    printf ("Each such path passes through one of the %zu pin%s of this site. No set of fewer values\n"
            "does that, and of the sets of this size it is the one nearest the selection points:\n"
            "what is computed before it may go on following the batch.\n",
            n, n == 1 ? "" : "s");
}

static void print_candidates (const struct story *t)
{
    static const struct dt_column columns[] = { { "VALUE", DT_RIGHT }, { "LEGAL", DT_RIGHT },
                                                { "ILLEGAL", DT_RIGHT },
                                                { "A COUNTEREXAMPLE", DT_WRAP }, { 0 } };
    struct dt_sheet *sheet = dt_sheet_new (columns);
    struct dt_buf b = { 0 };
    struct tally n;

    for (size_t i = 0; i < t->pin->n_candidates; i++) {
        count (t, i, &n);
        dt_sheet_row (sheet);
        dt_sheet_cell (sheet, "%s",
                       dt_site_values (t->s, t->pin->type, &t->pin->candidate[i], 1, 1, &b));
        dt_sheet_cell (sheet, "%zu", n.legal);
        dt_sheet_cell (sheet, "%zu", n.illegal);
        dt_sheet_cell (sheet, "%s", n.why ? n.why : "");
    }
    dt_sheet_print (sheet, "Candidates, with how many assignments of all pins and knobs");
    puts (t->pin->exact ? "The program takes each of these values for some input."
                        : "The program takes no others; whether it takes each of these was not tried.");
    dt_buf_done (&b);
}

static void print_story (const struct story *t)
{
    print_where (t);
    print_why (t);
    print_candidates (t);
    puts ("\nPinned, it is one of these values in every call, whatever the batch. Unpinned (stock), the\n"
          "program computes it anew from each batch, and a request's bits follow its neighbours.");
}

/* --- JSON ------------------------------------------------------------------------ */

static json_t *candidates_json (const struct story *t)
{
    json_t *a = dt_json_array ();
    struct dt_buf b = { 0 };
    struct tally n;

    for (size_t i = 0; i < t->pin->n_candidates; i++) {
        json_t *o = dt_json_object ();

        count (t, i, &n);
        dt_json_set (o, "illegal", dt_json_u64 (n.illegal));
        dt_json_set (o, "legal", dt_json_u64 (n.legal));
        dt_json_set (o, "value", dt_site_value_json (t->s, t->pin->type, t->pin->candidate[i]));
        dt_json_set (o, "why_illegal", n.why ? dt_json_text (n.why) : json_null ());
        dt_json_append (a, o);
    }
    dt_buf_done (&b);
    return a;
}

static void print_json (const struct story *t)
{
    json_t *o = dt_json_object (), *r = dt_json_object ();

    dt_json_set (o, "candidates", candidates_json (t));
    dt_json_set (o, "exact", json_boolean (t->pin->exact));
    dt_json_set (o, "expression", dt_json_text (t->pin->expression));
    dt_json_set (o, "family", dt_json_text (t->s->family));
    dt_json_set (o, "inputs", t->inputs ? dt_json_text (t->inputs) : json_null ());
    dt_json_set (o, "line", t->line ? dt_json_text (t->line) : json_null ());
    dt_json_set (o, "name", dt_json_text (t->pin->name));
    dt_json_set (o, "path", dt_json_text (t->pin->path));
    dt_json_set (o, "site", dt_json_text (t->s->site));
    dt_json_set (o, "where", dt_json_text (t->pin->where));
    dt_json_set (r, "pin", o);
    dt_json_print (r);
}

/* --- finding --------------------------------------------------------------------- */

/* "choose.split_stride", or "split_stride" alone. */
static int is_called (const char *pin, const char *name)
{
    const char *dot = strrchr (pin, '.');

    return !strcmp (pin, name) || (dot && !strcmp (dot + 1, name));
}

/* The pin in a solution, which --site lets through: 1 if it is there. */
static int find (const struct dt_ctl *c, const struct dt_solution *s, struct story *ret)
{
    const char *site = dt_ctl_value (c, "site");

    if (site && !dt_site_is_called (s->family, s->site, site))
        return 0;
    for (size_t i = 0; i < s->n_pins; i++)
        if (is_called (s->pin[i].name, c->arg[0])) {
            *ret = (struct story){ .s = s, .pin = &s->pin[i], .index = i };
            return 1;
        }
    return 0;
}

static int none (const struct dt_ctl *c, const struct dt_solved *v, struct dt_err *reterr)
{
    struct dt_buf b = { 0 };
    int r;

    for (size_t i = 0; i < v->n_sites; i++)
        for (size_t k = 0; k < v->site[i].solution->n_pins; k++)
            dt_buf_printf (&b, "%s%s", b.len ? ", " : "", v->site[i].solution->pin[k].name);
    r = dt_err_set (reterr, -DT_ENOTFOUND, "deployment %s has no pin '%s'%s%s; its pins: %s",
                    v->deployment, c->arg[0], dt_ctl_flag (c, "site") ? " at site " : "",
                    dt_ctl_flag (c, "site") ? dt_ctl_value (c, "site") : "",
                    b.len && dt_buf_str (&b) ? dt_buf_str (&b) : "none");
    dt_buf_done (&b);
    return r;
}

/* Line n of the file that "FILE:LINE:COLUMN" names, without its indentation. */
static char *line_at (const struct dt_collected *k, const char *where)
{
    size_t len = strcspn (where, ":");
    unsigned long n = where[len] ? strtoul (where + len + 1, NULL, 10) : 0;

    for (size_t i = 0; i < k->n_files; i++) {
        const char *s = (const char *)k->file[i].data.data, *end = s + k->file[i].data.len, *eol;

        if (strlen (k->file[i].name) != len || strncmp (k->file[i].name, where, len))
            continue;
        for (; n > 1 && s < end; n--)
            s = (eol = memchr (s, '\n', (size_t)(end - s))) ? eol + 1 : end;
        while (s < end && (*s == ' ' || *s == '\t'))
            s++;
        eol = s < end ? memchr (s, '\n', (size_t)(end - s)) : NULL;
        return dt_strndup (s, (size_t)((eol ? eol : end) - s));
    }
    return NULL;
}

/* "longest_query, longest_kv (runtime), ..." of those that reach a pin. */
static char *inputs_of (const struct dt_graphs *g, const struct dt_solution_pin *p)
{
    static const char *const classes[] = { "", "", " (unpinnable)", " (own)" };
    uint8_t *cone = dt_calloc (g->simple->n_nodes, 1);
    uint32_t node = dt_graphs_pin (g, p);
    struct dt_buf b = { 0 };
    char *ret = NULL;

    if (cone && node != DT_NODE_NONE) {
        cone[node] = 1;
        dt_reach_cone (g->simple, cone);
        for (uint32_t i = 0; i < g->simple->n_inputs; i++) {
            const struct dt_input *in = &g->simple->input[i];

            if (in->node != DT_NODE_NONE && cone[in->node])
                dt_buf_printf (&b, "%s%s%s", b.len ? ", " : "", in->name, classes[in->klass]);
        }
        ret = dt_buf_str (&b) ? dt_strdup (dt_buf_str (&b)) : NULL;
    }
    dt_buf_done (&b);
    dt_free (cone);
    return ret;
}

static void tell (const struct dt_ctl *c, const struct story *t)
{
    (c->json ? print_json : print_story) (t);
}

/* --- from the daemon, from a file ------------------------------------------------ */

static int ask (const struct dt_ctl *c, const char *deployment, struct dt_err *reterr)
{
    struct story t;
    struct dt_solved v;
    size_t i = 0;
    int r;

    if ((r = dt_solved_ask (c, deployment, &v, reterr)) < 0)
        return r;
    while (i < v.n_sites && !find (c, v.site[i].solution, &t))
        i++;
    if (i < v.n_sites)
        tell (c, &t);
    else
        r = none (c, &v, reterr);
    dt_solved_done (&v);
    return r;
}

/* Tell it of site i if it is there: 1. */
static int tell_site (const struct dt_ctl *c, const struct dt_collected *k, size_t i,
                      struct dt_err *reterr)
{
    const struct dt_site_options how = { .input = dt_schema_check_input };
    struct dt_graphs g;
    struct story t;
    int r;

    if ((r = dt_graphs_make (k, i, &how, &g, reterr)) < 0)
        return r;
    if ((r = find (c, g.solution, &t))) {
        t.line = line_at (k, t.pin->where);
        t.inputs = inputs_of (&g, t.pin);
        tell (c, &t);
        dt_free (t.line);
        dt_free (t.inputs);
    }
    dt_graphs_done (&g);
    return r;
}

static int from_file (const struct dt_ctl *c, const char *path, struct dt_err *reterr)
{
    struct dt_collected k;
    struct dt_solved v;
    int r;

    if ((r = dt_collect (c, path, &k, reterr)) < 0)
        return r;
    for (size_t i = 0; r == 0 && i < k.deployment->n_sites; i++)
        r = tell_site (c, &k, i, reterr);
    if (r == 0 && (r = dt_solved_here (&k, 0, 0, &v, reterr)) == 0) {
        r = none (c, &v, reterr);
        dt_solved_done (&v);
    }
    dt_collected_done (&k);
    return r < 0 ? r : 0;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    const char *file = dt_ctl_value (c, "file"), *deployment;
    int r;

    if ((r = dt_ctl_name (c, "deployment", &deployment, reterr)) < 0)
        return r;
    if (!file == !deployment)
        return dt_err_set (reterr, -DT_EUSAGE, "explain takes --deployment NAME or --file FILE");
    return file ? from_file (c, file, reterr) : ask (c, deployment, reterr);
}

const struct dt_ctl_command dt_cmd_explain = {
    "explain", "PIN", 1, 1, "Tell why a value is a pin and what its values do.", options, run,
};
