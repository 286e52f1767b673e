/* detentctl/cmd_show.c - one commit or tuple, whole. */
#include <string.h>

#include "base/buf.h"
#include "detentctl/commands.h"
#include "detentctl/commit_view.h"
#include "detentctl/connect.h"
#include "detentctl/print.h"
#include "detentctl/sheet.h"

#define PREFIX_MIN 6 /* hex digits */

static const struct dt_ctl_option options[] = {
    { "deployment", 0, "NAME", "with --workload: their newest commit" },
    { "workload", 0, "NAME", "with --deployment: their newest commit" },
    { 0 },
};

static void print_sites (const Detent__ShowReply *s)
{
    static const struct dt_column columns[] = {
        { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT },  { "PINS", DT_LEFT },
        { "KNOBS", DT_LEFT },  { "SELECTOR", DT_LEFT }, { "STOCK", DT_LEFT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);
    struct dt_buf b = { 0 };

    for (size_t i = 0; i < s->n_site; i++) {
        const Detent__TupleSite *k = s->site[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", k->family);
        dt_sheet_cell (t, "%s", k->site);
        dt_sheet_cell (t, "%s", dt_print_values (k->pin, k->n_pin, &b));
        dt_sheet_cell (t, "%s", dt_print_values (k->knob, k->n_knob, &b));
        dt_sheet_cell (t, "%s", dt_hex_short (k->pinned));
        dt_sheet_cell (t, "%s", dt_hex_short (k->stock));
    }
    dt_sheet_print (t, "Sites");
    dt_buf_done (&b);
}

/* What the operator set by hand, a line each, under the sites. */
static void print_forced (const Detent__ShowReply *s)
{
    for (size_t i = 0; i < s->n_site; i++)
        for (size_t k = 0; k < s->site[i]->n_forced; k++) {
            dt_print (stdout, "  forced: %s/%s: %s", s->site[i]->family, s->site[i]->site,
                      s->site[i]->forced[k]);
            putchar ('\n');
        }
}

static void print_tables (const Detent__ShowReply *s)
{
    static const struct dt_column columns[] = { { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT },
                                                { "FIELD AND VALUES", DT_WRAP }, { 0 } };
    struct dt_sheet *t = dt_sheet_new (columns);

    for (size_t i = 0; i < s->n_site; i++)
        for (size_t k = 0; k < s->site[i]->n_table; k++) {
            dt_sheet_row (t);
            dt_sheet_cell (t, "%s", s->site[i]->family);
            dt_sheet_cell (t, "%s", s->site[i]->site);
            dt_sheet_cell (t, "%s", s->site[i]->table[k]);
        }
    dt_sheet_print (t, "Free tables");
}

/* What the bits digest covers of each site beside its pins and knobs. */
static void print_facts (const Detent__ShowReply *s)
{
    static const struct dt_column columns[] = { { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT },
                                                { "PROGRAM", DT_LEFT }, { "FACTS", DT_WRAP },
                                                { 0 } };
    struct dt_sheet *t = dt_sheet_new (columns);
    struct dt_buf b = { 0 };

    for (size_t i = 0; i < s->n_site; i++) {
        const Detent__TupleSite *k = s->site[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", k->family);
        dt_sheet_cell (t, "%s", k->site);
        dt_sheet_cell (t, "%s", k->has_program ? dt_hex_short (k->program) : "");
        dt_sheet_cell (t, "%s", dt_print_values (k->fact, k->n_fact, &b));
    }
    dt_sheet_print (t, "Programs and facts");
    dt_buf_done (&b);
}

static void print_environment (const Detent__ShowReply *s)
{
    static const struct dt_column columns[] = { { "NAME", DT_LEFT }, { "VALUE", DT_WRAP }, { 0 } };
    struct dt_sheet *t = dt_sheet_new (columns);

    for (size_t i = 0; i < s->n_environment; i++) {
        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", s->environment[i]->name);
        dt_sheet_cell (t, "%s", s->environment[i]->value);
    }
    dt_sheet_print (t, "Environment");
}

static void print_text (const Detent__ShowReply *s)
{
    if (s->commit)
        dt_commit_lines (s->commit);
    else
        printf ("%-11s %s (not committed)\n%-11s %s\n", "tuple", dt_hex (s->tuple), "bits",
                dt_hex (s->bits));
    print_sites (s);
    print_forced (s);
    print_tables (s);
    print_facts (s);
    print_environment (s);
}

/* --- JSON ------------------------------------------------------------------------ */

static void print_json (const Detent__ShowReply *s)
{
    json_t *o = dt_json_object (), *sites = dt_json_array ();

    for (size_t i = 0; i < s->n_site; i++) {
        const Detent__TupleSite *k = s->site[i];
        json_t *site = dt_json_object (), *tables = dt_json_array (), *forced = dt_json_array ();

        dt_json_set (site, "facts", dt_json_values (k->fact, k->n_fact));
        dt_json_set (site, "family", dt_json_text (k->family));
        for (size_t j = 0; j < k->n_forced; j++)
            dt_json_append (forced, dt_json_text (k->forced[j]));
        dt_json_set (site, "forced", forced);
        dt_json_set (site, "knobs", dt_json_values (k->knob, k->n_knob));
        dt_json_set (site, "pinned", dt_json_hex (k->pinned));
        dt_json_set (site, "pins", dt_json_values (k->pin, k->n_pin));
        dt_json_set (site, "program", k->has_program ? dt_json_hex (k->program) : json_null ());
        dt_json_set (site, "site", dt_json_text (k->site));
        dt_json_set (site, "stock", dt_json_hex (k->stock));
        for (size_t j = 0; j < k->n_table; j++)
            dt_json_append (tables, dt_json_text (k->table[j]));
        dt_json_set (site, "tables", tables);
        dt_json_append (sites, site);
    }
    dt_json_set (o, "bits", dt_json_hex (s->bits));
    dt_json_set (o, "commit", s->commit ? dt_commit_json (s->commit) : json_null ());
    dt_json_set (o, "environment", dt_json_values (s->environment, s->n_environment));
    dt_json_set (o, "sites", sites);
    dt_json_set (o, "tuple", dt_json_hex (s->tuple));
    dt_json_print (o);
}

/* --- command --------------------------------------------------------------------- */

static int fill (const struct dt_ctl *c, Detent__ShowRequest *body, struct dt_err *reterr)
{
    const char *deployment, *workload;
    const char *prefix = c->n_args ? c->arg[0] : NULL;
    size_t n = prefix ? strlen (prefix) : 0;
    int r;

    if ((r = dt_ctl_name (c, "deployment", &deployment, reterr)) < 0
        || (r = dt_ctl_name (c, "workload", &workload, reterr)) < 0)
        return r;
    if (prefix ? deployment || workload : !deployment || !workload)
        return dt_err_set (reterr, -DT_EUSAGE,
                           "show takes a PREFIX, or --deployment and --workload (detentctl show "
                           "--help)");
    if (prefix
        && (n < PREFIX_MIN || n > 64 || strspn (prefix, "0123456789abcdefABCDEF") != n))
        return dt_err_set (reterr, -DT_EUSAGE, "'%s' is not %d to 64 hex digits of a digest",
                           prefix, PREFIX_MIN);
    body->prefix = (char *)prefix;
    body->deployment = (char *)deployment;
    body->workload = (char *)workload;
    return 0;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__ShowRequest body = DETENT__SHOW_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    int r;

    if ((r = fill (c, &body, reterr)) < 0)
        return r;
    rq.body_case = DETENT__REQUEST__BODY_SHOW;
    rq.show = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_SHOW, 30, &reply, reterr)) < 0)
        return r;
    (c->json ? print_json : print_text) (reply->show);
    detent__reply__free_unpacked (reply, NULL);
    return 0;
}

const struct dt_ctl_command dt_cmd_show = {
    "show", "[PREFIX]", 0, 1, "Show a commit or a tuple, by its digest's first digits or the newest.",
    options, run,
};
