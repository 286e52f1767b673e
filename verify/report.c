/* verify/report.c - the result as a table, and as JSON (version 1). */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/digest.h"
#include "verify/verify.h"

static const char *const variants[DT_BATTERY_VARIANTS] = { "stock", "Detent" };

/* Detent's time over stock's, on the same batches. */
static double ratio (const struct dt_battery_result *r)
{
    return (double)r->variant[DT_BATTERY_DETENT].ns / (double)r->variant[DT_BATTERY_STOCK].ns;
}

static void put_params (const struct dt_verify_report *p, const int64_t *param, FILE *out)
{
    for (size_t i = 0; i < p->battery->family->n_params; i++)
        fprintf (out, " %s=%" PRId64, p->battery->family->params[i].name, param[i]);
}

static void put_change (const struct dt_verify_report *p, const struct dt_battery_change *c,
                        const char *who, FILE *out)
{
    const struct dt_schema *s = p->battery->calls->schema;

    fprintf (out, "\nThe first row that %s changed: request %" PRIu64 " (", who, c->id);
    for (size_t i = 0; i < s->n_fields; i++)
        fprintf (out, "%s=%" PRId64 ", ", s->field[i], c->field[i]);
    fprintf (out, "seed %016" PRIx64 ")\n", c->seed);
    for (int k = 0; k < 2; k++) {
        fprintf (out, "  among %3zu request%s:", c->n_requests[k],
                 c->n_requests[k] == 1 ? " " : "s");
        put_params (p, c->param[k], out);
        fputc ('\n', out);
    }
    fprintf (out, "  %zu of %zu values differ; value %zu: %.9g and %.9g\n", c->n_different,
             c->n_elements, c->element, c->value[0], c->value[1]);
}

void dt_verify_table (const struct dt_verify_report *p, FILE *out)
{
    const struct dt_battery_result *r = p->result;

    fprintf (out, "%s/%s of %s, workload %s, on %s: %" PRIu64 " batches, each run with both "
             "selections\n\n", p->family, p->site, p->deployment, p->workload, p->device,
             r->batches);
    fprintf (out, "%-10s %14s %14s %14s\n", "selection", "rows compared", "rows changed",
             "time / stock");
    for (int v = 0; v < DT_BATTERY_VARIANTS; v++)
        fprintf (out, "%-10s %14" PRIu64 " %14" PRIu64 " %14.3f\n", variants[v],
                 r->variant[v].compared, r->variant[v].changed,
                 v == DT_BATTERY_DETENT ? ratio (r) : 1.0);
    if (r->refused)
        fprintf (out, "%" PRIu64 " mixed batches are outside the program's domain and were left "
                 "out\n", r->refused);
    for (int v = 0; v < DT_BATTERY_VARIANTS; v++)
        if (r->variant[v].nan)
            fprintf (out, "%" PRIu64 " rows of %s hold a value that is not a number\n",
                     r->variant[v].nan, variants[v]);
    for (int v = 0; v < DT_BATTERY_VARIANTS; v++)
        if (r->variant[v].first.is)
            put_change (p, &r->variant[v].first, variants[v], out);
    if (r->variant[DT_BATTERY_DETENT].compared == 0)
        fputs ("\nNothing was compared.\n", out);
    else if (r->variant[DT_BATTERY_DETENT].changed)
        fputs ("\nA request's bits depend on its batch: this tuple must not serve.\n", out);
    else
        fputs ("\nNo request's bits depend on its batch under the committed tuple.\n", out);
}

/* Finite, or null: JSON has no other numbers. */
static void json_number (double v, FILE *out)
{
    if (isfinite (v))
        fprintf (out, "%.9g", v);
    else
        fputs ("null", out);
}

static void json_change (const struct dt_verify_report *p, const struct dt_battery_change *c,
                         FILE *out)
{
    const struct dt_backend_family *f = p->battery->family;

    fprintf (out, "{\"request\":%" PRIu64 ",\"seed\":\"%016" PRIx64 "\"", c->id, c->seed);
    for (size_t i = 0; i < p->battery->calls->schema->n_fields; i++)
        fprintf (out, ",\"%s\":%" PRId64, p->battery->calls->schema->field[i], c->field[i]);
    fputs (",\"runs\":[", out);
    for (int k = 0; k < 2; k++) {
        fprintf (out, "%s{\"requests\":%zu,\"value\":", k ? "," : "", c->n_requests[k]);
        json_number (c->value[k], out);
        fputs (",\"parameters\":{", out);
        for (size_t i = 0; i < f->n_params; i++)
            fprintf (out, "%s\"%s\":%" PRId64, i ? "," : "", f->params[i].name, c->param[k][i]);
        fputs ("}}", out);
    }
    fprintf (out, "],\"element\":%zu,\"elements\":%zu,\"different\":%zu}", c->element,
             c->n_elements, c->n_different);
}

static void json_hex (const char *key, const uint8_t *digest, FILE *out)
{
    char hex[DT_DIGEST_HEX];
    struct dt_digest d;

    memcpy (d.bytes, digest, sizeof d.bytes);
    fprintf (out, ",\"%s\":\"%s\"", key, dt_digest_hex (&d, hex));
}

/* Names are [a-z0-9._-] and identifiers: none needs an escape. */
void dt_verify_json (const struct dt_verify_report *p, FILE *out)
{
    const struct dt_battery_result *r = p->result;

    fprintf (out, "{\"version\":1,\"deployment\":\"%s\",\"workload\":\"%s\",\"family\":\"%s\","
             "\"site\":\"%s\"", p->deployment, p->workload, p->family, p->site);
    json_hex ("tuple", p->tuple, out);
    json_hex ("bits", p->bits, out);
    fprintf (out, ",\"batches\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"time_ratio\":", r->batches,
             r->refused);
    json_number (ratio (r), out);
    for (int v = 0; v < DT_BATTERY_VARIANTS; v++) {
        fprintf (out, ",\"%s\":{\"compared\":%" PRIu64 ",\"changed\":%" PRIu64 ",\"nan\":%" PRIu64
                 ",\"ns\":%" PRIu64 ",\"first\":", v == DT_BATTERY_STOCK ? "stock" : "detent", r->variant[v].compared,
                 r->variant[v].changed, r->variant[v].nan, r->variant[v].ns);
        if (r->variant[v].first.is)
            json_change (p, &r->variant[v].first, out);
        else
            fputs ("null", out);
        fputc ('}', out);
    }
    fputs ("}\n", out);
}
