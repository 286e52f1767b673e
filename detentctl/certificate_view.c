/* detentctl/certificate_view.c - certificates, for people and as JSON. */
#include "detentctl/certificate_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/time.h"
#include "detentctl/print.h"
#include "detentctl/sheet.h"
#include "proto/certificate.h"

/* --- texts ------------------------------------------------------------------------- */

static const char *named (const struct dt_named *v, size_t n, struct dt_buf *b)
{
    b->len = 0;
    for (size_t i = 0; i < n; i++)
        dt_buf_printf (b, "%s%s=%" PRId64, i ? ", " : "", v[i].name, v[i].value);
    if (!dt_buf_str (b))
        dt_print_nomem ();
    return (const char *)b->data;
}

/* "tile_m {1, 4, 16}; workers {1, 2}" */
static const char *lists (const struct dt_named_list *v, size_t n, struct dt_buf *b)
{
    b->len = 0;
    for (size_t i = 0; i < n; i++) {
        dt_buf_printf (b, "%s%s {", i ? "; " : "", v[i].name);
        for (size_t k = 0; k < v[i].n; k++)
            dt_buf_printf (b, "%s%" PRId64, k ? ", " : "", v[i].value[k]);
        dt_buf_printf (b, "}");
    }
    if (!dt_buf_str (b))
        dt_print_nomem ();
    return (const char *)b->data;
}

/* The kinds of data with the least exchange of two terms that showed. */
static const char *power (const struct dt_certificate *c, struct dt_buf *b)
{
    b->len = 0;
    for (size_t k = 0; k < DT_CERTIFICATE_KINDS; k++)
        if (c->power[k].exchange)
            dt_buf_printf (b, "%s%s %" PRIu64 " (%" PRIu64 "/%" PRIu64 ")", b->len ? ", " : "",
                           dt_certificate_kind[k], c->power[k].exchange, c->power[k].changed,
                           c->power[k].rows);
        else
            dt_buf_printf (b, "%s%s none (0/%" PRIu64 ")", b->len ? ", " : "",
                           dt_certificate_kind[k], c->power[k].rows);
    if (!dt_buf_str (b))
        dt_print_nomem ();
    return (const char *)b->data;
}

/* --- tables -------------------------------------------------------------------------- */

static void state (struct dt_sheet *t, const Detent__CertificateInfo *m)
{
    if (m->has_revoked_ns)
        dt_sheet_bad (t, "revoked");
    else
        dt_sheet_good (t, "holds");
}

static void add_row (struct dt_sheet *t, const Detent__CertificateInfo *m,
                     const struct dt_certificate *c, struct dt_buf *b)
{
    char time[DT_TIME_TEXT];

    dt_sheet_row (t);
    dt_sheet_cell (t, "%s", dt_hex_short (m->digest));
    dt_sheet_cell (t, "%s", c->family);
    dt_sheet_cell (t, "%s", c->site);
    dt_sheet_cell (t, "%s", named (c->binding, c->n_binding, b));
    state (t, m);
    dt_sheet_cell (t, "%" PRIu64, c->rows);
    dt_sheet_cell (t, "%s %.12s", c->backend.name, c->backend.build);
    dt_sheet_cell (t, "%s", dt_time_text (m->time_ns, time));
}

static void print_whole (const Detent__CertificateInfo *m, const struct dt_certificate *c)
{
    struct dt_buf b = { 0 };

    printf ("certificate %s\n", dt_hex (m->digest));
    dt_print (stdout, "  of          %s/%s: %s", c->family, c->site,
              named (c->binding, c->n_binding, &b));
    putchar ('\n');
    dt_print (stdout, "  facts       %s", named (c->fact, c->n_facts, &b));
    putchar ('\n');
    dt_print (stdout, "  backend     %s %s, libraries '%s', driver '%s', %s, %" PRIu32 " units",
              c->backend.name, c->backend.build, c->backend.libraries, c->backend.driver,
              c->backend.device, c->backend.units);
    putchar ('\n');
    dt_print (stdout, "  free        %s: %" PRIu64 " of %" PRIu64 " combinations ran, %" PRIu64
              " have no kernel", lists (c->free, c->n_free, &b), c->tried, c->of, c->refused);
    putchar ('\n');
    dt_print (stdout, "  thresholds  %s", c->n_thresholds
              ? lists (c->threshold, c->n_thresholds, &b) : "none was found");
    putchar ('\n');
    printf ("  tried       %" PRIu64 " batches of at most %" PRIu64 " requests, %" PRIu64
            " runs (each %" PRIu64 " times, beside %" PRIu64 " rivals), seed %" PRIu64 "\n",
            c->batches, c->requests, c->runs, c->repeats, c->rivals, c->seed);
    printf ("  compared    %" PRIu64 " rows, all bits, none differed\n", c->rows);
    dt_print (stdout, "  power       least exchange of two terms that showed: %s", power (c, &b));
    putchar ('\n');
    if (m->has_revoked_ns) {
        dt_print (stdout, "  revoked     %s", m->why);
        putchar ('\n');
    }
    dt_buf_done (&b);
}

static json_t *named_json (const struct dt_named *v, size_t n)
{
    json_t *o = dt_json_object ();

    for (size_t i = 0; i < n; i++)
        dt_json_set (o, v[i].name, json_integer (v[i].value));
    return o;
}

static json_t *lists_json (const struct dt_named_list *v, size_t n)
{
    json_t *o = dt_json_object ();

    for (size_t i = 0; i < n; i++) {
        json_t *a = dt_json_array ();

        for (size_t k = 0; k < v[i].n; k++)
            dt_json_append (a, json_integer (v[i].value[k]));
        dt_json_set (o, v[i].name, a);
    }
    return o;
}

static json_t *backend_json (const struct dt_certificate_backend *b)
{
    json_t *o = dt_json_object ();

    dt_json_set (o, "build", dt_json_text (b->build));
    dt_json_set (o, "device", dt_json_text (b->device));
    dt_json_set (o, "driver", dt_json_text (b->driver));
    dt_json_set (o, "libraries", dt_json_text (b->libraries));
    dt_json_set (o, "name", dt_json_text (b->name));
    dt_json_set (o, "units", dt_json_u64 (b->units));
    return o;
}

static json_t *power_json (const struct dt_certificate *c)
{
    json_t *o = dt_json_object ();

    for (size_t k = 0; k < DT_CERTIFICATE_KINDS; k++) {
        json_t *p = dt_json_object ();

        dt_json_set (p, "changed", dt_json_u64 (c->power[k].changed));
        dt_json_set (p, "exchange", c->power[k].exchange ? dt_json_u64 (c->power[k].exchange)
                                                         : json_null ());
        dt_json_set (p, "rows", dt_json_u64 (c->power[k].rows));
        dt_json_set (o, dt_certificate_kind[k], p);
    }
    return o;
}

static json_t *certificate_json (const Detent__CertificateInfo *m, const struct dt_certificate *c)
{
    json_t *o = dt_json_object ();

    dt_json_set (o, "backend", backend_json (&c->backend));
    dt_json_set (o, "batches", dt_json_u64 (c->batches));
    dt_json_set (o, "binding", named_json (c->binding, c->n_binding));
    dt_json_set (o, "combinations", dt_json_u64 (c->of));
    dt_json_set (o, "combinations_refused", dt_json_u64 (c->refused));
    dt_json_set (o, "combinations_tried", dt_json_u64 (c->tried));
    dt_json_set (o, "deployment", dt_json_text (m->deployment));
    dt_json_set (o, "digest", dt_json_hex (m->digest));
    dt_json_set (o, "facts", named_json (c->fact, c->n_facts));
    dt_json_set (o, "family", dt_json_text (c->family));
    dt_json_set (o, "free", lists_json (c->free, c->n_free));
    dt_json_set (o, "power", power_json (c));
    dt_json_set (o, "repeats", dt_json_u64 (c->repeats));
    dt_json_set (o, "requests", dt_json_u64 (c->requests));
    dt_json_set (o, "revoked", m->has_revoked_ns ? dt_json_time (m->revoked_ns) : json_null ());
    dt_json_set (o, "rivals", dt_json_u64 (c->rivals));
    dt_json_set (o, "rows", dt_json_u64 (c->rows));
    dt_json_set (o, "runs", dt_json_u64 (c->runs));
    dt_json_set (o, "seed", dt_json_u64 (c->seed));
    dt_json_set (o, "site", dt_json_text (c->site));
    dt_json_set (o, "thresholds", lists_json (c->threshold, c->n_thresholds));
    dt_json_set (o, "time", dt_json_time (m->time_ns));
    dt_json_set (o, "why", m->why ? dt_json_text (m->why) : json_null ());
    return o;
}

/* Show one in the form that is asked for: a row, the whole, or JSON. */
static int show_one (const struct dt_ctl *ctl, const Detent__CertificateInfo *m, int whole,
                     struct dt_sheet *t, json_t *a, struct dt_err *reterr)
{
    struct dt_certificate c;
    struct dt_buf b = { 0 };
    int r = dt_certificate_decode (m->certificate.data, m->certificate.len, &c, reterr);

    if (r < 0)
        return dt_err_prefix (reterr, r, "%s", dt_hex_short (m->digest));
    if (ctl->json)
        dt_json_append (a, certificate_json (m, &c));
    else if (whole)
        print_whole (m, &c);
    else
        add_row (t, m, &c, &b);
    dt_buf_done (&b);
    dt_certificate_done (&c);
    return 0;
}

int dt_certificates_print (const struct dt_ctl *ctl, const Detent__CertificateListReply *list,
                           int whole, struct dt_err *reterr)
{
    static const struct dt_column columns[] = {
        { "CERTIFICATE", DT_LEFT }, { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT },
        { "BINDING", DT_LEFT },     { "STATE", DT_LEFT },  { "ROWS", DT_RIGHT },
        { "BACKEND", DT_CUT },      { "MADE", DT_LEFT },   { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);
    json_t *o, *a = dt_json_array ();
    int r = 0;

    for (size_t i = 0; r == 0 && i < list->n_certificate; i++)
        r = show_one (ctl, list->certificate[i], whole, t, a, reterr);
    if (ctl->json && r == 0) {
        o = dt_json_object ();
        dt_json_set (o, "certificates", a);
        dt_json_print (o);
    } else
        json_decref (a);
    dt_sheet_print (t, NULL);
    if (r == 0 && !ctl->json && list->n_certificate == 0)
        puts ("No certificates.");
    return r;
}

/* --- of a job ---------------------------------------------------------------------------- */

static int holds (const Detent__Certified *m)
{
    return !strcmp (m->state, "certified") || !strcmp (m->state, "known");
}

int dt_certified_all (const Detent__JobReply *j)
{
    for (size_t i = 0; i < j->n_certified; i++)
        if (!holds (j->certified[i]))
            return 0;
    return 1;
}

void dt_certified_print (const Detent__JobReply *j)
{
    static const struct dt_column columns[] = {
        { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT },  { "BINDING", DT_LEFT },
        { "STATE", DT_LEFT },  { "RUNS", DT_RIGHT }, { "ROWS", DT_RIGHT },
        { "LEAST EXCHANGE SEEN", DT_CUT }, { "CERTIFICATE", DT_LEFT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);
    struct dt_buf b = { 0 };

    for (size_t i = 0; i < j->n_certified; i++) {
        const Detent__Certified *m = j->certified[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", m->family);
        dt_sheet_cell (t, "%s", m->site);
        dt_sheet_cell (t, "%s", dt_print_values (m->binding, m->n_binding, &b));
        (holds (m) ? dt_sheet_good : dt_sheet_bad) (t, m->state);
        dt_sheet_cell (t, "%" PRIu64, m->runs);
        dt_sheet_cell (t, "%" PRIu64, m->rows);
        dt_sheet_cell (t, "%s", m->power);
        dt_sheet_cell (t, "%s", m->has_digest ? dt_hex_short (m->digest) : "-");
    }
    dt_sheet_print (t, NULL);
    for (size_t i = 0; i < j->n_certified; i++)
        if (j->certified[i]->why) {
            const Detent__Certified *m = j->certified[i];

            dt_print (stdout, "%s/%s %s: %s: %s", m->family, m->site,
                      dt_print_values (m->binding, m->n_binding, &b), m->state, m->why);
            putchar ('\n');
        }
    if (j->n_certified == 0)
        puts ("Nothing is free: there is nothing to certify.");
    dt_buf_done (&b);
}

json_t *dt_certified_json (const Detent__JobReply *j)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < j->n_certified; i++) {
        const Detent__Certified *m = j->certified[i];
        json_t *o = dt_json_object (), *binding = dt_json_object ();

        for (size_t k = 0; k < m->n_binding; k++)
            dt_json_set (binding, m->binding[k]->name, dt_json_text (m->binding[k]->value));
        dt_json_set (o, "batches", dt_json_u64 (m->batches));
        dt_json_set (o, "binding", binding);
        dt_json_set (o, "digest", m->has_digest ? dt_json_hex (m->digest) : json_null ());
        dt_json_set (o, "family", dt_json_text (m->family));
        dt_json_set (o, "power", dt_json_text (m->power));
        dt_json_set (o, "rows", dt_json_u64 (m->rows));
        dt_json_set (o, "runs", dt_json_u64 (m->runs));
        dt_json_set (o, "site", dt_json_text (m->site));
        dt_json_set (o, "state", dt_json_text (m->state));
        dt_json_set (o, "why", m->why ? dt_json_text (m->why) : json_null ());
        dt_json_append (a, o);
    }
    return a;
}
