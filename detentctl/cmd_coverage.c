/* detentctl/cmd_coverage.c - the truth about a deployment. */
#include <inttypes.h>
#include <string.h>

#include "detentctl/commands.h"
#include "detentctl/connect.h"
#include "detentctl/print.h"

static void print_fields (const Detent__CoverageReply *m)
{
    static const struct dt_column columns[] = {
        { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT }, { "FIELD", DT_LEFT },
        { "BY", DT_LEFT },     { "WHY", DT_CUT },   { 0 },
    };
    static const struct {
        const char *by, *text;
    } words[] = {
        { "pinned", "pinned" }, { "certificate", "free by certificate" },
        { "claim", "free by claim" }, { "invariant", "proven invariant" },
    };
    struct dt_sheet *t = dt_sheet_new (columns);

    for (size_t i = 0; i < m->n_field; i++) {
        const Detent__CoveredField *f = m->field[i];
        const char *text = NULL;

        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (!strcmp (f->by, words[k].by))
                text = words[k].text;
        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", f->family);
        dt_sheet_cell (t, "%s", f->site);
        dt_sheet_cell (t, "%s", f->field);
        if (text)
            dt_sheet_cell (t, "%s", text);
        else
            dt_sheet_bad (t, "free, uncovered");
        dt_sheet_cell (t, "%s", f->why);
    }
    dt_sheet_print (t, "Fields");
}

static void print_outside (const Detent__CoverageReply *m)
{
    static const struct dt_column columns[] = {
        { "WHAT", DT_LEFT }, { "STATE", DT_LEFT }, { "WHY", DT_CUT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);

    for (size_t i = 0; i < m->n_outside; i++) {
        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", m->outside[i]->what);
        dt_sheet_cell (t, "%s", !strcmp (m->outside[i]->state, "outside") ? "outside selection"
                                                                         : m->outside[i]->state);
        dt_sheet_cell (t, "%s", m->outside[i]->why);
    }
    dt_sheet_print (t, "Not selected by Detent");
}

static void print_untried (const Detent__CoverageReply *m)
{
    static const struct dt_column columns[] = {
        { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT },    { "WHAT", DT_LEFT },
        { "SEEN", DT_LEFT },   { "NEVER SEEN", DT_CUT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);
    char title[64];

    for (size_t i = 0; i < m->n_untried; i++) {
        const Detent__Untried *u = m->untried[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", u->family);
        dt_sheet_cell (t, "%s", u->site);
        dt_sheet_cell (t, "%s", u->what);
        dt_sheet_cell (t, "%s", *u->seen ? u->seen : "-");
        dt_sheet_cell (t, "%s", u->missing);
    }
    snprintf (title, sizeof title, "Traffic that no trace exercised (of %" PRIu64 ")", m->traces);
    dt_sheet_print (t, title);
}

static json_t *fields_json (const Detent__CoverageReply *m)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < m->n_field; i++) {
        json_t *o = dt_json_object ();

        dt_json_set (o, "by", dt_json_text (m->field[i]->by));
        dt_json_set (o, "family", dt_json_text (m->field[i]->family));
        dt_json_set (o, "field", dt_json_text (m->field[i]->field));
        dt_json_set (o, "site", dt_json_text (m->field[i]->site));
        dt_json_set (o, "why", dt_json_text (m->field[i]->why));
        dt_json_append (a, o);
    }
    return a;
}

static json_t *untried_json (const Detent__CoverageReply *m)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < m->n_untried; i++) {
        json_t *o = dt_json_object ();

        dt_json_set (o, "family", dt_json_text (m->untried[i]->family));
        dt_json_set (o, "missing", dt_json_text (m->untried[i]->missing));
        dt_json_set (o, "seen", dt_json_text (m->untried[i]->seen));
        dt_json_set (o, "site", dt_json_text (m->untried[i]->site));
        dt_json_set (o, "what", dt_json_text (m->untried[i]->what));
        dt_json_append (a, o);
    }
    return a;
}

static void print_json (const Detent__CoverageReply *m)
{
    json_t *o = dt_json_object (), *outside = dt_json_array ();

    for (size_t i = 0; i < m->n_outside; i++) {
        json_t *p = dt_json_object ();

        dt_json_set (p, "state", dt_json_text (m->outside[i]->state));
        dt_json_set (p, "what", dt_json_text (m->outside[i]->what));
        dt_json_set (p, "why", dt_json_text (m->outside[i]->why));
        dt_json_append (outside, p);
    }
    dt_json_set (o, "deployment", dt_json_text (m->deployment));
    dt_json_set (o, "fields", fields_json (m));
    dt_json_set (o, "outside", outside);
    dt_json_set (o, "traces", dt_json_u64 (m->traces));
    dt_json_set (o, "unknown", m->unknown ? dt_json_text (m->unknown) : json_null ());
    dt_json_set (o, "untried", untried_json (m));
    dt_json_print (o);
}

static void print_text (const Detent__CoverageReply *m)
{
    print_fields (m);
    if (m->unknown) {
        dt_print (stdout, "certificates could not be judged here: %s", m->unknown);
        putchar ('\n');
    }
    print_outside (m);
    print_untried (m);
}

/* 1: a field is free, and nothing stands behind that. */
static int answer (const Detent__CoverageReply *m)
{
    for (size_t i = 0; i < m->n_field; i++)
        if (!strcmp (m->field[i]->by, "nothing"))
            return 1;
    return 0;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    Detent__Request rq = DETENT__REQUEST__INIT;
    Detent__CoverageRequest body = DETENT__COVERAGE_REQUEST__INIT;
    Detent__Reply *reply = NULL;
    int r;

    body.deployment = c->arg[0];
    rq.body_case = DETENT__REQUEST__BODY_COVERAGE;
    rq.coverage = &body;
    if ((r = dt_ctl_call (c, &rq, DETENT__REPLY__BODY_COVERAGE, 60, &reply, reterr)) < 0)
        return r;
    (c->json ? print_json : print_text) (reply->coverage);
    r = answer (reply->coverage);
    detent__reply__free_unpacked (reply, NULL);
    return r;
}

const struct dt_ctl_command dt_cmd_coverage = {
    "coverage", "DEPLOYMENT", 1, 1,
    "Tell what stands behind each field of a deployment, and what no trace exercised.", NULL, run,
};
