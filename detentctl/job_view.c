/* detentctl/job_view.c - a job and its result, for people and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/time.h"
#include "detentctl/certificate_view.h"
#include "detentctl/job.h"
#include "detentctl/print.h"
#include "detentctl/sheet.h"

static const char *kept (const Detent__SiteResult *s)
{
    return s->incumbent ? s->incumbent : "default"; /* an older job knew no other */
}

static void print_choices (const Detent__JobReply *j)
{
    static const struct dt_column columns[] = {
        { "FAMILY", DT_LEFT }, { "SITE", DT_LEFT },    { "PINS", DT_LEFT },
        { "KNOBS", DT_LEFT },  { "VERDICT", DT_LEFT }, { "TIE", DT_LEFT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);
    struct dt_buf b = { 0 };

    for (size_t i = 0; i < j->n_site; i++) {
        const Detent__SiteResult *s = j->site[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", s->family);
        dt_sheet_cell (t, "%s", s->site);
        dt_sheet_cell (t, "%s", dt_print_values (s->pin, s->n_pin, &b));
        dt_sheet_cell (t, "%s", dt_print_values (s->knob, s->n_knob, &b));
        dt_sheet_cell (t, "%s", s->verdict);
        dt_sheet_cell (t, "%s%s", s->tie ? "yes: kept " : "no", !s->tie ? "" : kept (s));
    }
    dt_sheet_print (t, "Chosen");
    dt_buf_done (&b);
}

static void print_costs (const Detent__JobReply *j)
{
    static const struct dt_column columns[] = {
        { "FAMILY", DT_LEFT },     { "SITE", DT_LEFT },        { "OVER INCUMBENT", DT_RIGHT },
        { "INTERVAL", DT_LEFT },   { "WORST/BEST", DT_RIGHT }, { "TRACE", DT_RIGHT },
        { "CALLS", DT_RIGHT },     { "LEGAL", DT_RIGHT },      { "MERGED", DT_RIGHT },
        { "MEASURED", DT_RIGHT }, { 0 },
    };
    struct dt_sheet *t = dt_sheet_new (columns);

    for (size_t i = 0; i < j->n_site; i++) {
        const Detent__SiteResult *s = j->site[i];

        dt_sheet_row (t);
        dt_sheet_cell (t, "%s", s->family);
        dt_sheet_cell (t, "%s", s->site);
        dt_sheet_cell (t, "%.3f", s->ratio);
        if (isfinite (s->ratio_hi))
            dt_sheet_cell (t, "%.3f-%.3f", s->ratio_lo, s->ratio_hi);
        else
            dt_sheet_cell (t, "unbounded"); /* too few measurements to say */
        dt_sheet_cell (t, "%.2f", s->worst_ratio);
        dt_sheet_cell (t, "%.3f s +-%.1f%%", s->trace_ns / 1e9, s->sample_error * 100);
        dt_sheet_cell (t, "%" PRIu64 "/%" PRIu64, s->sampled, s->calls);
        dt_sheet_cell (t, "%" PRIu64, s->legal);
        dt_sheet_cell (t, "%" PRIu64, s->merged);
        dt_sheet_cell (t, "%" PRIu64, s->measured);
    }
    dt_sheet_print (t, "Measured");
}

/* A line of its own; escaped, so the line's end is not part of the format. */
#define note(...) (dt_print (stdout, "  " __VA_ARGS__), putchar ('\n'))

/* What a table of all sites has no room for. */
static void print_notes (const Detent__JobReply *j)
{
    for (size_t i = 0; i < j->n_site; i++) {
        const Detent__SiteResult *s = j->site[i];

        if (s->n_forced || s->n_table || s->has_again || (s->has_recalled && s->recalled))
            putchar ('\n');
        for (size_t k = 0; k < s->n_forced; k++)
            note ("forced: %s/%s: %s", s->family, s->site, s->forced[k]);
        if (s->confirm && s->has_again)
            note ("%s/%s: %s in a fresh process: %.3f (%.3f-%.3f)", s->family, s->site, s->confirm,
                  s->again, s->again_lo, s->again_hi);
        if (s->has_recalled && s->recalled)
            note ("%s/%s: %" PRIu64 " of %" PRIu64 " measurements are an earlier tune's", s->family,
                  s->site, s->recalled, s->measurements);
        for (size_t k = 0; k < s->n_table; k++)
            note ("free table: %s/%s: %s", s->family, s->site, s->table[k]);
        if (s->n_table)
            note ("%s/%s: with free tables %.3f (%.3f-%.3f), by %" PRIu64 " measurements",
                  s->family, s->site, s->table_ratio, s->table_lo, s->table_hi,
                  s->table_measurements);
    }
}

static void print_refusals (const Detent__JobReply *j)
{
    struct dt_buf b = { 0 };

    for (size_t i = 0; i < j->n_site; i++) {
        const Detent__SiteResult *s = j->site[i];

        for (size_t k = 0; k < s->n_refusal; k++) {
            if (k == 0)
                putchar ('\n');
            dt_print (stdout, "  refused: %s: %s",
                      dt_print_values (s->refusal[k]->value, s->refusal[k]->n_value, &b),
                      s->refusal[k]->why);
            putchar ('\n');
        }
        if (s->has_refused && s->refused > s->n_refusal)
            printf ("  and %" PRIu64 " more of %s/%s\n", s->refused - s->n_refusal, s->family,
                    s->site);
    }
    dt_buf_done (&b);
}

const char *dt_job_devices (const Detent__JobReply *j, char text[DT_JOB_DEVICES])
{
    if (!j->has_device)
        snprintf (text, DT_JOB_DEVICES, "-");
    else if (j->has_devices && j->devices > 1)
        snprintf (text, DT_JOB_DEVICES, "%" PRIu32 "-%" PRIu32, j->device,
                  j->device + j->devices - 1);
    else
        snprintf (text, DT_JOB_DEVICES, "%" PRIu32, j->device);
    return text;
}

/* Where it ran, and what the device was like. */
static void print_conditions (const Detent__JobReply *j)
{
    char devices[DT_JOB_DEVICES];

    if (j->has_device)
        note ("on device %s%s%s%s%s", j->backend ? j->backend : "", j->backend ? ":" : "",
              dt_job_devices (j, devices), j->device_model ? ", " : "",
              j->device_model ? j->device_model : "");
    if (j->has_clock_mhz)
        note ("clock %" PRIu32 " MHz (least %" PRIu32 "), memory %" PRIu32 " MHz (least %" PRIu32
              "), event reasons 0x%" PRIx64, j->clock_mhz, j->clock_mhz_least, j->memory_mhz,
              j->memory_mhz_least, j->clock_reasons);
    if (j->contended)
        note ("contended: %" PRIu32 " other processes worked on the device", j->contended);
    else if (j->shared && j->device_model && !j->has_contended)
        note ("contended: not known; nothing tells who else worked on the device");
}

static void print_text (const Detent__JobReply *j)
{
    int certifies = !strcmp (j->kind, "certify");

    dt_print (stdout, "job %" PRIu64 ": %s of %s%s%s, %s", j->job, j->kind, j->deployment,
              *j->workload ? " for " : "", j->workload, j->state);
    if (j->has_ended_ns && j->ended_ns >= j->started_ns) /* else the clock was set */
        printf (" after %.1f s", (double)(j->ended_ns - j->started_ns) / 1e9);
    if (!certifies)
        printf (", %" PRIu64 " measurements", j->measurements);
    if (j->clock && j->caches)
        dt_print (stdout, " by %s, caches %s", j->clock, j->caches);
    putchar ('\n');
    print_conditions (j);
    if (!j->has_ended_ns && *j->what) {
        dt_print (stdout, "%3.0f%%: %s", j->fraction * 100, j->what);
        putchar ('\n');
    }
    if (certifies && j->has_ended_ns)
        dt_certified_print (j);
    print_choices (j);
    print_costs (j);
    print_notes (j);
    print_refusals (j);
    if (j->has_additive_d)
        printf ("\nIn turn, calls of all sites take what each takes alone within %.1f%%, on %" PRIu64
                " tuples: the choice is within %.3f of the best\n", 100 * j->additive_d,
                j->additive_tuples, j->additive_factor);
    if (j->has_tuple)
        printf ("\ntuple %s\nbits  %s\n", dt_hex (j->tuple), j->has_bits ? dt_hex (j->bits) : "-");
}

/* --- JSON ------------------------------------------------------------------------ */

static json_t *refusals_json (const Detent__SiteResult *s)
{
    json_t *a = dt_json_array ();

    for (size_t i = 0; i < s->n_refusal; i++) {
        json_t *o = dt_json_object ();

        dt_json_set (o, "assignment", dt_json_values (s->refusal[i]->value, s->refusal[i]->n_value));
        dt_json_set (o, "why", dt_json_text (s->refusal[i]->why));
        dt_json_append (a, o);
    }
    return a;
}

static json_t *site_json (const Detent__SiteResult *s)
{
    json_t *o = dt_json_object ();

    json_t *forced = dt_json_array (), *tables = dt_json_array ();

    for (size_t i = 0; i < s->n_forced; i++)
        dt_json_append (forced, dt_json_text (s->forced[i]));
    dt_json_set (o, "calls", dt_json_u64 (s->calls));
    dt_json_set (o, "calls_sampled", dt_json_u64 (s->sampled));
    dt_json_set (o, "confirm", s->confirm ? dt_json_text (s->confirm) : json_null ());
    dt_json_set (o, "confirm_hi", s->has_again ? dt_json_real (s->again_hi) : json_null ());
    dt_json_set (o, "confirm_lo", s->has_again ? dt_json_real (s->again_lo) : json_null ());
    dt_json_set (o, "confirm_ratio", s->has_again ? dt_json_real (s->again) : json_null ());
    dt_json_set (o, "family", dt_json_text (s->family));
    dt_json_set (o, "forced", forced);
    dt_json_set (o, "incumbent", dt_json_text (kept (s)));
    dt_json_set (o, "knobs", dt_json_values (s->knob, s->n_knob));
    dt_json_set (o, "legal", dt_json_u64 (s->legal));
    dt_json_set (o, "measured", dt_json_u64 (s->measured));
    dt_json_set (o, "measurements", dt_json_u64 (s->measurements));
    dt_json_set (o, "merged", dt_json_u64 (s->merged));
    dt_json_set (o, "pins", dt_json_values (s->pin, s->n_pin));
    dt_json_set (o, "ratio", dt_json_real (s->ratio));
    dt_json_set (o, "ratio_hi", dt_json_real (s->ratio_hi));
    dt_json_set (o, "ratio_lo", dt_json_real (s->ratio_lo));
    dt_json_set (o, "recalled", dt_json_u64 (s->has_recalled ? s->recalled : 0));
    dt_json_set (o, "refused", dt_json_u64 (s->has_refused ? s->refused : 0));
    dt_json_set (o, "refusals", refusals_json (s));
    dt_json_set (o, "sample_error", dt_json_real (s->sample_error));
    dt_json_set (o, "site", dt_json_text (s->site));
    for (size_t i = 0; i < s->n_table; i++)
        dt_json_append (tables, dt_json_text (s->table[i]));
    dt_json_set (o, "table_hi", s->n_table ? dt_json_real (s->table_hi) : json_null ());
    dt_json_set (o, "table_lo", s->n_table ? dt_json_real (s->table_lo) : json_null ());
    dt_json_set (o, "table_measurements", dt_json_u64 (s->table_measurements));
    dt_json_set (o, "table_ratio", s->n_table ? dt_json_real (s->table_ratio) : json_null ());
    dt_json_set (o, "tables", tables);
    dt_json_set (o, "tie", json_boolean (s->tie));
    dt_json_set (o, "trace_ns", dt_json_real (s->trace_ns));
    dt_json_set (o, "verdict", dt_json_text (s->verdict));
    dt_json_set (o, "worst_ratio", dt_json_real (s->worst_ratio));
    return o;
}

json_t *dt_job_json (const Detent__JobReply *j)
{
    json_t *o = dt_json_object (), *sites = dt_json_array ();

    for (size_t i = 0; i < j->n_site; i++)
        dt_json_append (sites, site_json (j->site[i]));
    dt_json_set (o, "additive_d", j->has_additive_d ? dt_json_real (j->additive_d) : json_null ());
    dt_json_set (o, "additive_factor",
                 j->has_additive_factor ? dt_json_real (j->additive_factor) : json_null ());
    dt_json_set (o, "additive_tuples",
                 j->has_additive_tuples ? dt_json_u64 (j->additive_tuples) : json_null ());
    dt_json_set (o, "bits", j->has_bits ? dt_json_hex (j->bits) : json_null ());
    dt_json_set (o, "caches", j->caches ? dt_json_text (j->caches) : json_null ());
    dt_json_set (o, "certified", dt_certified_json (j));
    dt_json_set (o, "clock_mhz", j->has_clock_mhz ? dt_json_u64 (j->clock_mhz) : json_null ());
    dt_json_set (o, "clock_mhz_least",
                 j->has_clock_mhz_least ? dt_json_u64 (j->clock_mhz_least) : json_null ());
    dt_json_set (o, "clock_reasons",
                 j->has_clock_reasons ? dt_json_u64 (j->clock_reasons) : json_null ());
    dt_json_set (o, "contended", j->has_contended ? dt_json_u64 (j->contended) : json_null ());
    dt_json_set (o, "memory_mhz", j->has_memory_mhz ? dt_json_u64 (j->memory_mhz) : json_null ());
    dt_json_set (o, "memory_mhz_least",
                 j->has_memory_mhz_least ? dt_json_u64 (j->memory_mhz_least) : json_null ());
    dt_json_set (o, "clock", j->clock ? dt_json_text (j->clock) : json_null ());
    dt_json_set (o, "code", j->has_code ? json_integer (j->code) : json_null ());
    dt_json_set (o, "backend", j->backend ? dt_json_text (j->backend) : json_null ());
    dt_json_set (o, "device", j->has_device ? dt_json_u64 (j->device) : json_null ());
    dt_json_set (o, "device_model",
                 j->device_model ? dt_json_text (j->device_model) : json_null ());
    dt_json_set (o, "devices", j->has_devices ? dt_json_u64 (j->devices) : json_null ());
    dt_json_set (o, "deployment", dt_json_text (j->deployment));
    dt_json_set (o, "ended", j->has_ended_ns ? dt_json_time (j->ended_ns) : json_null ());
    dt_json_set (o, "fraction", dt_json_real (j->fraction));
    dt_json_set (o, "job", dt_json_u64 (j->job));
    dt_json_set (o, "kind", dt_json_text (j->kind));
    dt_json_set (o, "left_s", j->has_left_s ? dt_json_real (j->left_s) : json_null ());
    dt_json_set (o, "measurements", dt_json_u64 (j->measurements));
    dt_json_set (o, "sites", sites);
    dt_json_set (o, "started", dt_json_time (j->started_ns));
    dt_json_set (o, "state", dt_json_text (j->state));
    dt_json_set (o, "tuple", j->has_tuple ? dt_json_hex (j->tuple) : json_null ());
    dt_json_set (o, "what", dt_json_text (j->what));
    dt_json_set (o, "workload", dt_json_text (j->workload));
    return o;
}

void dt_job_print (const struct dt_ctl *c, const Detent__JobReply *j)
{
    json_t *o;

    if (!c->json) {
        print_text (j);
        return;
    }
    o = dt_json_object ();
    dt_json_set (o, "job", dt_job_json (j));
    dt_json_print (o);
}
