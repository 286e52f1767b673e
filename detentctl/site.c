/* detentctl/site.c - what a solve found. */
#include "detentctl/site.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "detentctl/print.h"
#include "detentctl/sheet.h"

#define CANDIDATES_SHOWN 8 /* in a table's cell; JSON has all */

/* --- tables ---------------------------------------------------------------------- */

/* "a, b, ... (n)" of texts; owned by the caller's buffer. */
static const char *joined (char *const *text, size_t n, size_t shown, struct dt_buf *b)
{
    b->len = 0;
    for (size_t i = 0; i < n && i < shown; i++)
        dt_buf_printf (b, "%s%s", i ? ", " : "", text[i]);
    if (n > shown)
        dt_buf_printf (b, ", ... (%zu)", n);
    if (!dt_buf_str (b))
        dt_print_nomem ();
    return (const char *)b->data;
}

static const char *role (const Detent__Point *p)
{
    if (!p->free)
        return "binding";
    return p->by_claim ? "free by claim" : "free provisional";
}

static void print_points (const Detent__SiteSolution *s)
{
    static const struct dt_column columns[] = {
        { "FIELD", DT_LEFT }, { "ROLE", DT_LEFT }, { "BATCH", DT_LEFT },
        { "OWN", DT_LEFT },   { "WHERE", DT_CUT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);

    for (size_t i = 0; i < s->n_point; i++) {
        const Detent__Point *p = s->point[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", p->field);
        dt_sheet_cell (t, "%s", role (p));
        dt_sheet_cell (t, "%s", p->batch ? "depends" : "-");
        dt_sheet_cell (t, "%s", p->own ? "per request" : "-");
        dt_sheet_cell (t, "%s", p->where);
    }
    dt_sheet_print (t, "Selection points");
}

static void print_pins (const Detent__SiteSolution *s)
{
    static const struct dt_column columns[] = {
        { "PIN", DT_LEFT }, { "CANDIDATES", DT_LEFT }, { "EXACT", DT_LEFT },
        { "WHERE", DT_CUT }, { "EXPRESSION", DT_CUT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);
    struct dt_buf b = { 0 };

    for (size_t i = 0; i < s->n_pin; i++) {
        const Detent__Pin *p = s->pin[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", p->name);
        dt_sheet_cell (t, "%s", joined (p->candidate, p->n_candidate, CANDIDATES_SHOWN, &b));
        dt_sheet_cell (t, "%s", p->exact ? "yes" : "superset");
        dt_sheet_cell (t, "%s", p->where);
        dt_sheet_cell (t, "%s", p->expression);
    }
    dt_sheet_print (t, s->n_pin ? "Pins" : NULL);
    if (!s->n_pin)
        puts ("\nNo pins: no batch-dependent input reaches a binding selection point.");
    for (size_t i = 0; i < s->n_pin; i++)
        if (*s->pin[i]->path)
            dt_print (stdout, "  %s cuts %s", s->pin[i]->name, s->pin[i]->path), putchar ('\n');
    dt_buf_done (&b);
}

static void print_knobs (const Detent__SiteSolution *s)
{
    static const struct dt_column columns[] = {
        { "KNOB", DT_LEFT }, { "VALUES", DT_LEFT }, { "DEFAULT", DT_LEFT }, { "LIVE", DT_LEFT },
        { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);
    struct dt_buf b = { 0 };

    for (size_t i = 0; i < s->n_knob; i++) {
        const Detent__Knob *k = s->knob[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", k->name);
        dt_sheet_cell (t, "%s", joined (k->value, k->n_value, CANDIDATES_SHOWN, &b));
        dt_sheet_cell (t, "%s", k->initial);
        dt_sheet_cell (t, "%s", k->live ? "yes" : "no");
    }
    dt_sheet_print (t, "Knobs");
    dt_buf_done (&b);
}

static void print_assignments (const Detent__SiteSolution *s)
{
    printf ("\nAssignments: %" PRIu64 "; legal %" PRIu64 " (proved %" PRIu64 ", exhausted %" PRIu64
            ", sampled %" PRIu64 "), illegal %" PRIu64 "\n",
            s->assignments, s->proved + s->exhausted + s->sampled, s->proved, s->exhausted,
            s->sampled, s->illegal);
    for (size_t i = 0; i < s->n_why_illegal; i++) {
        dt_print (stdout, "  illegal: %s", s->why_illegal[i]);
        putchar ('\n');
    }
    if (s->sampled)
        puts ("  Sampled ones are committed with --accept-sampled only.");
    if (*s->excluded) {
        dt_print (stdout, "Outside the domain: %s", s->excluded);
        putchar ('\n');
    }
}

static void print_site (const Detent__SiteSolution *s, int pins_only)
{
    dt_print (stdout, "%s/%s", s->family, s->site);
    if (pins_only) {
        putchar ('\n');
    } else {
        printf (": %" PRIu64 " values specialised, %" PRIu64 " simplified, %" PRIu64 " residual; ",
                s->specialised, s->simplified, s->residual);
        if (s->cached)
            puts ("cached");
        else
            printf ("solved in %.1f ms\n", (double)s->solve_us / 1000);
        print_points (s);
    }
    print_pins (s);
    print_knobs (s);
    if (!pins_only)
        print_assignments (s);
}

/* --- JSON ------------------------------------------------------------------------ */

static json_t *texts (char *const *text, size_t n)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < n; i++)
        dt_json_append (a, dt_json_text (text[i]));
    return a;
}

static json_t *points_json (const Detent__SiteSolution *s)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < s->n_point; i++) {
        const Detent__Point *p = s->point[i];
        json_t *o = dt_json_object ();

        dt_json_set (o, "batch", json_boolean (p->batch));
        dt_json_set (o, "by_claim", json_boolean (p->by_claim));
        dt_json_set (o, "field", dt_json_text (p->field));
        dt_json_set (o, "free", json_boolean (p->free));
        dt_json_set (o, "own", json_boolean (p->own));
        dt_json_set (o, "where", dt_json_text (p->where));
        dt_json_append (a, o);
    }
    return a;
}

static json_t *pins_json (const Detent__SiteSolution *s)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < s->n_pin; i++) {
        const Detent__Pin *p = s->pin[i];
        json_t *o = dt_json_object ();

        dt_json_set (o, "candidates", texts (p->candidate, p->n_candidate));
        dt_json_set (o, "exact", json_boolean (p->exact));
        dt_json_set (o, "expression", dt_json_text (p->expression));
        dt_json_set (o, "name", dt_json_text (p->name));
        dt_json_set (o, "path", dt_json_text (p->path));
        dt_json_set (o, "where", dt_json_text (p->where));
        dt_json_append (a, o);
    }
    return a;
}

static json_t *knobs_json (const Detent__SiteSolution *s)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < s->n_knob; i++) {
        const Detent__Knob *k = s->knob[i];
        json_t *o = dt_json_object ();

        dt_json_set (o, "default", dt_json_text (k->initial));
        dt_json_set (o, "live", json_boolean (k->live));
        dt_json_set (o, "name", dt_json_text (k->name));
        dt_json_set (o, "values", texts (k->value, k->n_value));
        dt_json_append (a, o);
    }
    return a;
}

static json_t *counts_json (const Detent__SiteSolution *s)
{
    json_t *o = dt_json_object ();

    dt_json_set (o, "exhausted", dt_json_u64 (s->exhausted));
    dt_json_set (o, "illegal", dt_json_u64 (s->illegal));
    dt_json_set (o, "proved", dt_json_u64 (s->proved));
    dt_json_set (o, "sampled", dt_json_u64 (s->sampled));
    dt_json_set (o, "total", dt_json_u64 (s->assignments));
    dt_json_set (o, "why_illegal", texts (s->why_illegal, s->n_why_illegal));
    return o;
}

static json_t *site_json (const Detent__SiteSolution *s)
{
    json_t *o = dt_json_object ();

    dt_json_set (o, "assignments", counts_json (s));
    dt_json_set (o, "cached", json_boolean (s->cached));
    dt_json_set (o, "excluded", dt_json_text (s->excluded));
    dt_json_set (o, "family", dt_json_text (s->family));
    dt_json_set (o, "key", dt_json_hex (s->key));
    dt_json_set (o, "knobs", knobs_json (s));
    dt_json_set (o, "pins", pins_json (s));
    dt_json_set (o, "points", points_json (s));
    dt_json_set (o, "residual", dt_json_u64 (s->residual));
    dt_json_set (o, "simplified", dt_json_u64 (s->simplified));
    dt_json_set (o, "site", dt_json_text (s->site));
    dt_json_set (o, "solve_us", dt_json_u64 (s->solve_us));
    dt_json_set (o, "specialised", dt_json_u64 (s->specialised));
    return o;
}

void dt_site_print (const struct dt_ctl *c, const char *deployment,
                    Detent__SiteSolution *const *site, size_t n, int pins_only)
{
    json_t *o, *a;

    if (!c->json) {
        for (size_t i = 0; i < n; i++) {
            if (i)
                putchar ('\n');
            print_site (site[i], pins_only);
        }
        return;
    }
    a = dt_json_array ();
    for (size_t i = 0; i < n; i++)
        dt_json_append (a, site_json (site[i]));
    o = dt_json_object ();
    dt_json_set (o, "deployment", dt_json_text (deployment));
    dt_json_set (o, "sites", a);
    dt_json_print (o);
}
