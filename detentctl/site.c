/* detentctl/site.c - what a solve found. */
#include "detentctl/site.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "detentctl/families.h"
#include "detentctl/print.h"
#include "detentctl/sheet.h"
#include "solver/explain.h"

#define CANDIDATES_SHOWN 8 /* in a table's cell; JSON has all         */
#define ILLEGAL_SHOWN 4    /* counterexamples without --why-illegal */

/* --- tables ---------------------------------------------------------------------- */

static const char *text_of (struct dt_buf *b)
{
    if (!dt_buf_str (b))
        dt_print_nomem ();
    return (const char *)b->data;
}

const char *dt_site_values (const struct dt_solution *s, uint8_t type, const int64_t *value,
                            size_t n, size_t shown, struct dt_buf *b)
{
    b->len = 0;
    for (size_t i = 0; i < n && i < shown; i++) {
        dt_buf_printf (b, "%s", i ? ", " : "");
        dt_explain_value (s->residual, type, value[i], b);
    }
    if (n > shown)
        dt_buf_printf (b, ", ... (%zu)", n);
    return text_of (b);
}

/* Value k of the pins and then the knobs of an assignment: its name, NULL if it is
 * a knob that nothing reads. */
static const char *part (const struct dt_solution *s, size_t k, uint8_t *ret_type)
{
    const struct dt_solution_knob *knob = k < s->n_pins ? NULL : &s->knob[k - s->n_pins];

    *ret_type = knob ? knob->type : s->pin[k].type;
    return !knob ? s->pin[k].name : knob->live ? knob->name : NULL;
}

/* The values of an assignment; dt_free. */
static int64_t *assignment (const struct dt_solution *s, size_t i)
{
    int64_t *v = dt_calloc (s->n_pins + s->n_knobs, sizeof *v);

    if (!v)
        dt_print_nomem ();
    dt_solution_assignment (s, i, v, v + s->n_pins);
    return v;
}

/* "choose.block_n=64 waves=2" */
static const char *assignment_text (const struct dt_solution *s, size_t i, struct dt_buf *b)
{
    int64_t *v = assignment (s, i);
    uint8_t type;

    b->len = 0;
    for (size_t k = 0; k < s->n_pins + s->n_knobs; k++) {
        const char *name = part (s, k, &type);

        if (!name)
            continue;
        dt_buf_printf (b, "%s%s=", b->len ? " " : "", name);
        dt_explain_value (s->residual, type, v[k], b);
    }
    dt_free (v);
    return text_of (b);
}

static void count_verdicts (const struct dt_solution *s, uint64_t count[4])
{
    memset (count, 0, 4 * sizeof *count);
    for (size_t i = 0; i < s->n_assignments; i++)
        count[s->verdict[i]]++;
}

static uint64_t count_legal (const struct dt_solution *s)
{
    uint64_t n[4];

    count_verdicts (s, n);
    return s->n_assignments - n[DT_ILLEGAL];
}

/* As tables and JSON say it. */
static const struct {
    const char *text, *word;
} roles[] = {
    [DT_BY_BINDING] = { "binding", "binding" },
    [DT_BY_CERTIFICATE] = { "free by certificate", "certificate" },
    [DT_BY_CLAIM] = { "free by claim", "claim" },
    [DT_BY_NOTHING] = { "free (no certificate yet)", "nothing" },
};

static enum dt_standing_by standing (const struct dt_solved_site *m, size_t point)
{
    return dt_solution_standing (&m->solution->point[point], m->certified[point],
                                 count_legal (m->solution));
}

static void print_role (struct dt_sheet *t, const struct dt_solved_site *m, size_t point)
{
    uint64_t n = m->certified[point], legal = count_legal (m->solution);
    const char *text = roles[standing (m, point)].text;

    if (n && n < legal)
        dt_sheet_cell (t, "%s (%" PRIu64 " of %" PRIu64 " assignments%s)", text, n, legal,
                       m->solution->point[point].by_claim ? " have certificates" : "");
    else
        dt_sheet_cell (t, "%s", text);
}

static void print_points (const struct dt_solved_site *m)
{
    static const struct dt_column columns[] = {
        { "FIELD", DT_LEFT }, { "ROLE", DT_LEFT }, { "BATCH", DT_LEFT },
        { "OWN", DT_LEFT },   { "WHERE", DT_CUT }, { 0 },
    };
    const struct dt_solution *s = m->solution;
    struct dt_sheet *t = dt_sheet_new (columns);

    for (size_t i = 0; i < s->n_points; i++) {
        const struct dt_solution_point *p = &s->point[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", p->field);
        print_role (t, m, i);
        dt_sheet_cell (t, "%s", p->batch ? "depends" : "-");
        dt_sheet_cell (t, "%s", p->own ? "per request" : "-");
        dt_sheet_cell (t, "%s", p->where);
    }
    dt_sheet_print (t, "Selection points");
    if (m->unjudged) {
        dt_print (stdout, "  Whether certificates hold is not known here: %s", m->unjudged);
        putchar ('\n');
    }
}

static void print_pins (const struct dt_solution *s)
{
    static const struct dt_column columns[] = {
        { "PIN", DT_LEFT }, { "CANDIDATES", DT_LEFT }, { "EXACT", DT_LEFT },
        { "WHERE", DT_CUT }, { "EXPRESSION", DT_CUT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);
    struct dt_buf b = { 0 };

    for (size_t i = 0; i < s->n_pins; i++) {
        const struct dt_solution_pin *p = &s->pin[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", p->name);
        dt_sheet_cell (t, "%s", dt_site_values (s, p->type, p->candidate, p->n_candidates, CANDIDATES_SHOWN, &b));
        dt_sheet_cell (t, "%s", p->exact ? "yes" : "superset");
        dt_sheet_cell (t, "%s", p->where);
        dt_sheet_cell (t, "%s", p->expression);
    }
    dt_sheet_print (t, s->n_pins ? "Pins" : NULL);
    if (!s->n_pins)
        puts ("\nNo pins: no batch-dependent input reaches a binding selection point.");
    for (size_t i = 0; i < s->n_pins; i++)
        if (*s->pin[i].path)
            dt_print (stdout, "  %s cuts %s", s->pin[i].name, s->pin[i].path), putchar ('\n');
    dt_buf_done (&b);
}

static void print_knobs (const struct dt_solution *s)
{
    static const struct dt_column columns[] = {
        { "KNOB", DT_LEFT }, { "VALUES", DT_LEFT }, { "DEFAULT", DT_LEFT }, { "LIVE", DT_LEFT },
        { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);
    struct dt_buf b = { 0 };

    for (size_t i = 0; i < s->n_knobs; i++) {
        const struct dt_solution_knob *k = &s->knob[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", k->name);
        dt_sheet_cell (t, "%s", dt_site_values (s, k->type, k->value, k->n_values, CANDIDATES_SHOWN, &b));
        dt_sheet_cell (t, "%s", dt_site_values (s, k->type, &k->value[k->initial], 1, 1, &b));
        dt_sheet_cell (t, "%s", k->live ? "yes" : "no");
    }
    dt_sheet_print (t, "Knobs");
    dt_buf_done (&b);
}

static void print_illegal (const struct dt_solution *s, uint64_t n_illegal, int all)
{
    struct dt_buf b = { 0 };
    uint64_t n = 0, shown = all ? n_illegal : ILLEGAL_SHOWN;

    for (size_t i = 0; i < s->n_assignments && n < shown; i++) {
        if (s->verdict[i] != DT_ILLEGAL)
            continue;
        dt_print (stdout, "  illegal: %s: %s", assignment_text (s, i, &b),
                  s->why[i] ? s->why[i] : "no counterexample is kept");
        putchar ('\n');
        n++;
    }
    if (n_illegal > n)
        printf ("  and %" PRIu64 " more: --why-illegal shows each\n", n_illegal - n);
    dt_buf_done (&b);
}

static void print_assignments (const struct dt_solution *s, int why_illegal)
{
    uint64_t n[4];

    count_verdicts (s, n);
    printf ("\nAssignments: %zu; legal %" PRIu64 " (proved %" PRIu64 ", exhausted %" PRIu64
            ", sampled %" PRIu64 "), illegal %" PRIu64 "\n",
            s->n_assignments, n[DT_PROVED] + n[DT_EXHAUSTED] + n[DT_SAMPLED], n[DT_PROVED],
            n[DT_EXHAUSTED], n[DT_SAMPLED], n[DT_ILLEGAL]);
    print_illegal (s, n[DT_ILLEGAL], why_illegal);
    if (n[DT_SAMPLED])
        puts ("  Sampled ones are committed with --accept-sampled only.");
    if (*s->excluded) {
        dt_print (stdout, "Outside the domain: %s", s->excluded);
        putchar ('\n');
    }
}

static void print_site (const struct dt_solved_site *m, enum dt_site_show show)
{
    const struct dt_solution *s = m->solution;

    dt_print (stdout, "%s/%s", s->family, s->site);
    if (show == DT_SITE_PINS) {
        putchar ('\n');
    } else {
        printf (": %" PRIu32 " values specialised, %" PRIu32 " simplified, %" PRIu32 " residual; ",
                s->n_specialised, s->n_simplified, s->n_residual);
        if (m->cached)
            puts ("cached");
        else
            printf ("solved in %.1f ms\n", (double)m->solve_us / 1000);
    }
    print_points (m);
    print_pins (s);
    print_knobs (s);
    if (show != DT_SITE_PINS)
        print_assignments (s, show == DT_SITE_ILLEGAL);
}

/* --- JSON ------------------------------------------------------------------------ */

json_t *dt_site_value_json (const struct dt_solution *s, uint8_t type, int64_t v)
{
    if (type == DT_TYPE_INT)
        return json_integer (v);
    if (type == DT_TYPE_BOOL)
        return json_boolean (v);
    if (type == DT_TYPE_FLOAT)
        return dt_json_real (dt_op_double (v));
    return dt_json_text (v >= 0 && v < (int64_t)s->residual->n_enums ? s->residual->enum_text[v]
                                                                     : "?");
}

static json_t *values_json (const struct dt_solution *s, uint8_t type, const int64_t *value,
                            size_t n)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < n; i++)
        dt_json_append (a, dt_site_value_json (s, type, value[i]));
    return a;
}

static json_t *points_json (const struct dt_solved_site *m)
{
    const struct dt_solution *s = m->solution;
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < s->n_points; i++) {
        const struct dt_solution_point *p = &s->point[i];
        json_t *o = dt_json_object ();

        dt_json_set (o, "batch", json_boolean (p->batch));
        dt_json_set (o, "by_claim", json_boolean (p->by_claim));
        dt_json_set (o, "certified", dt_json_u64 (m->certified[i]));
        dt_json_set (o, "field", dt_json_text (p->field));
        dt_json_set (o, "free", json_boolean (p->is_free));
        dt_json_set (o, "own", json_boolean (p->own));
        dt_json_set (o, "standing", dt_json_text (roles[standing (m, i)].word));
        dt_json_set (o, "where", dt_json_text (p->where));
        dt_json_append (a, o);
    }
    return a;
}

static json_t *pins_json (const struct dt_solution *s)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < s->n_pins; i++) {
        const struct dt_solution_pin *p = &s->pin[i];
        json_t *o = dt_json_object ();

        dt_json_set (o, "candidates", values_json (s, p->type, p->candidate, p->n_candidates));
        dt_json_set (o, "exact", json_boolean (p->exact));
        dt_json_set (o, "expression", dt_json_text (p->expression));
        dt_json_set (o, "name", dt_json_text (p->name));
        dt_json_set (o, "path", dt_json_text (p->path));
        dt_json_set (o, "where", dt_json_text (p->where));
        dt_json_append (a, o);
    }
    return a;
}

static json_t *knobs_json (const struct dt_solution *s)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < s->n_knobs; i++) {
        const struct dt_solution_knob *k = &s->knob[i];
        json_t *o = dt_json_object ();

        dt_json_set (o, "default", dt_site_value_json (s, k->type, k->value[k->initial]));
        dt_json_set (o, "live", json_boolean (k->live));
        dt_json_set (o, "name", dt_json_text (k->name));
        dt_json_set (o, "values", values_json (s, k->type, k->value, k->n_values));
        dt_json_append (a, o);
    }
    return a;
}

/* An illegal assignment and its counterexample. */
static json_t *illegal_json (const struct dt_solution *s, size_t i)
{
    json_t *o = dt_json_object (), *values = dt_json_object ();
    int64_t *v = assignment (s, i);
    uint8_t type;

    for (size_t k = 0; k < s->n_pins + s->n_knobs; k++) {
        const char *name = part (s, k, &type);

        if (name)
            dt_json_set (values, name, dt_site_value_json (s, type, v[k]));
    }
    dt_free (v);
    dt_json_set (o, "assignment", values);
    dt_json_set (o, "why", s->why[i] ? dt_json_text (s->why[i]) : json_null ());
    return o;
}

static json_t *counts_json (const struct dt_solution *s, int why_illegal)
{
    json_t *o = dt_json_object (), *a = dt_json_array ();
    uint64_t n[4];

    count_verdicts (s, n);
    for (size_t i = 0; i < s->n_assignments; i++)
        if (s->verdict[i] == DT_ILLEGAL && (why_illegal || json_array_size (a) < ILLEGAL_SHOWN))
            dt_json_append (a, illegal_json (s, i));
    dt_json_set (o, "exhausted", dt_json_u64 (n[DT_EXHAUSTED]));
    dt_json_set (o, "illegal", dt_json_u64 (n[DT_ILLEGAL]));
    dt_json_set (o, "proved", dt_json_u64 (n[DT_PROVED]));
    dt_json_set (o, "sampled", dt_json_u64 (n[DT_SAMPLED]));
    dt_json_set (o, "total", dt_json_u64 (s->n_assignments));
    dt_json_set (o, "why_illegal", a);
    return o;
}

static json_t *site_json (const struct dt_solved_site *m, enum dt_site_show show)
{
    const struct dt_solution *s = m->solution;
    json_t *o = dt_json_object ();

    dt_json_set (o, "assignments", counts_json (s, show == DT_SITE_ILLEGAL));
    dt_json_set (o, "cached", json_boolean (m->cached));
    dt_json_set (o, "excluded", dt_json_text (s->excluded));
    dt_json_set (o, "family", dt_json_text (s->family));
    dt_json_set (o, "key", dt_json_hex ((ProtobufCBinaryData){ DT_DIGEST_BYTES,
                                                               (uint8_t *)m->key.bytes }));
    dt_json_set (o, "knobs", knobs_json (s));
    dt_json_set (o, "pins", pins_json (s));
    dt_json_set (o, "points", points_json (m));
    dt_json_set (o, "question", dt_json_hex ((ProtobufCBinaryData){
                                    DT_DIGEST_BYTES, (uint8_t *)m->question.bytes }));
    dt_json_set (o, "residual", dt_json_u64 (s->n_residual));
    dt_json_set (o, "simplified", dt_json_u64 (s->n_simplified));
    dt_json_set (o, "site", dt_json_text (s->site));
    dt_json_set (o, "solve_us", dt_json_u64 (m->solve_us));
    dt_json_set (o, "specialised", dt_json_u64 (s->n_specialised));
    dt_json_set (o, "unjudged", m->unjudged ? dt_json_text (m->unjudged) : json_null ());
    return o;
}

void dt_site_print (const struct dt_ctl *c, const struct dt_solved *v, enum dt_site_show show)
{
    json_t *o, *a;

    if (!c->json) {
        for (size_t i = 0; i < v->n_sites; i++) {
            if (i)
                putchar ('\n');
            print_site (&v->site[i], show);
        }
        return;
    }
    a = dt_json_array ();
    for (size_t i = 0; i < v->n_sites; i++)
        dt_json_append (a, site_json (&v->site[i], show));
    o = dt_json_object ();
    dt_json_set (o, "deployment", dt_json_text (v->deployment));
    dt_json_set (o, "families", dt_families_json (v));
    dt_json_set (o, "sites", a);
    dt_json_print (o);
}
