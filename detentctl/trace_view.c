/* detentctl/trace_view.c - what a .dtrace holds. */
#include "detentctl/trace_view.h"

#include <inttypes.h>

#include "base/file.h"
#include "detentctl/print.h"

int dt_trace_read (const char *path, size_t max_bytes, struct dt_buf *ret_data,
                   struct dt_trace **ret, struct dt_err *reterr)
{
    int r;

    if ((r = dt_file_read (path, max_bytes, ret_data, reterr)) < 0)
        return r;
    if ((r = dt_trace_decode (ret_data->data, ret_data->len, ret, reterr)) < 0)
        return dt_err_prefix (reterr, r, "%s", path);
    return 0;
}

/* Over the calls of one site, weighted by their counts; saturating. */
struct summary {
    uint64_t calls, requests;
    uint32_t most_requests;
    int64_t longest[DT_SCHEMA_MAX_FIELDS];
    uint64_t synthetic;
};

static uint64_t add_up (uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void summarise (const struct dt_trace_site *s, struct summary *ret)
{
    *ret = (struct summary){ 0 };
    for (size_t i = 0; i < s->n_calls; i++) {
        const struct dt_trace_call *k = &s->call[i];
        uint64_t all;

        if (__builtin_mul_overflow (k->count, (uint64_t)k->n_requests, &all))
            all = UINT64_MAX;
        ret->calls = add_up (ret->calls, k->count);
        ret->requests = add_up (ret->requests, all);
        ret->synthetic = add_up (ret->synthetic, k->synthetic ? k->count : 0);
        if (k->n_requests > ret->most_requests)
            ret->most_requests = k->n_requests;
    }
    for (size_t i = 0; i < s->n_requests; i++)
        for (size_t f = 0; f < s->schema->n_fields; f++)
            if (s->field[i * s->schema->n_fields + f] > ret->longest[f])
                ret->longest[f] = s->field[i * s->schema->n_fields + f];
}

static json_t *site_json (const struct dt_trace_site *s)
{
    json_t *o = dt_json_object (), *longest = dt_json_object ();
    struct summary m;

    summarise (s, &m);
    for (size_t f = 0; f < s->schema->n_fields; f++)
        dt_json_set (longest, s->schema->field[f], dt_json_u64 ((uint64_t)m.longest[f]));
    dt_json_set (o, "calls", dt_json_u64 (m.calls));
    dt_json_set (o, "calls_per_step", dt_json_u64 ((uint64_t)s->calls_per_step));
    dt_json_set (o, "distinct", dt_json_u64 (s->n_calls));
    dt_json_set (o, "family", dt_json_text (s->family));
    dt_json_set (o, "max", longest);
    dt_json_set (o, "max_requests", dt_json_u64 (m.most_requests));
    dt_json_set (o, "requests", dt_json_u64 (m.requests));
    dt_json_set (o, "site", dt_json_text (s->site));
    dt_json_set (o, "synthetic_calls", dt_json_u64 (m.synthetic));
    return o;
}

static ProtobufCBinaryData bytes_of (const struct dt_digest *d)
{
    return (ProtobufCBinaryData){ DT_DIGEST_BYTES, (uint8_t *)d->bytes };
}

static const char *or_empty (const char *s)
{
    return s ? s : "";
}

static void print_json (const struct dt_trace *t, const struct dt_digest *digest, size_t bytes)
{
    json_t *o = dt_json_object (), *r = dt_json_object (), *limits = dt_json_object ();
    json_t *sites = dt_json_array ();

    for (size_t i = 0; i < t->n_limits; i++)
        dt_json_set (limits, t->limit[i].name, json_integer (t->limit[i].value));
    for (size_t i = 0; i < t->n_sites; i++)
        dt_json_append (sites, site_json (&t->site[i]));
    dt_json_set (o, "bytes", dt_json_u64 (bytes));
    dt_json_set (o, "deployment", dt_json_text (or_empty (t->deployment)));
    dt_json_set (o, "digest", dt_json_hex (bytes_of (digest)));
    dt_json_set (o, "engine", dt_json_text (or_empty (t->engine)));
    dt_json_set (o, "importer", dt_json_text (or_empty (t->importer)));
    dt_json_set (o, "limits", limits);
    dt_json_set (o, "model", dt_json_text (or_empty (t->model)));
    dt_json_set (o, "options", dt_json_text (or_empty (t->options)));
    dt_json_set (o, "sites", sites);
    dt_json_set (o, "source", dt_json_text (or_empty (t->source)));
    dt_json_set (o, "source_digest", dt_json_hex (bytes_of (&t->source_digest)));
    dt_json_set (o, "tuple", t->has_tuple ? dt_json_hex (bytes_of (&t->tuple)) : json_null ());
    dt_json_set (r, "trace", o);
    dt_json_print (r);
}

static void print_sites (const struct dt_trace *t)
{
    static const struct dt_column columns[] = {
        { "FAMILY", DT_LEFT },   { "SITE", DT_LEFT },         { "CALLS", DT_RIGHT },
        { "DISTINCT", DT_RIGHT }, { "REQUESTS", DT_RIGHT },    { "MAX REQUESTS", DT_RIGHT },
        { "LONGEST", DT_CUT },   { 0 },
    };
    struct dt_sheet *sheet = dt_sheet_new (columns);

    for (size_t i = 0; i < t->n_sites; i++) {
        const struct dt_trace_site *s = &t->site[i];
        char longest[256] = "";
        struct summary m;
        size_t n = 0;

        summarise (s, &m);
        for (size_t f = 0; f < s->schema->n_fields; f++)
            n += (size_t)snprintf (longest + n, sizeof longest - n, "%s%s %" PRId64,
                                   f ? ", " : "", s->schema->field[f], m.longest[f]);
        dt_sheet_row (sheet);
        dt_sheet_cell (sheet, "%s", s->family);
        dt_sheet_cell (sheet, "%s", s->site);
        dt_sheet_cell (sheet, "%" PRIu64, m.calls);
        dt_sheet_cell (sheet, "%zu", s->n_calls);
        dt_sheet_cell (sheet, "%" PRIu64, m.requests);
        dt_sheet_cell (sheet, "%" PRIu32, m.most_requests);
        dt_sheet_cell (sheet, "%s", longest);
    }
    dt_sheet_print (sheet, "Sites");
}

static void line (const char *name, const char *value)
{
    dt_print (stdout, "%-11s %s", name, value);
    putchar ('\n');
}

void dt_trace_print (const struct dt_ctl *c, const struct dt_trace *t, const void *data, size_t n)
{
    struct dt_digest digest = dt_trace_digest (data, n);

    if (c->json) {
        print_json (t, &digest, n);
        return;
    }
    line ("trace", dt_hex (bytes_of (&digest)));
    printf ("%-11s %zu\n", "bytes", n);
    line ("deployment", or_empty (t->deployment));
    line ("source", or_empty (t->source));
    line ("importer", or_empty (t->importer));
    line ("options", or_empty (t->options));
    if (t->has_tuple)
        line ("tuple", dt_hex (bytes_of (&t->tuple)));
    print_sites (t);
}
