/* detentctl/cmd_trace_import.c - a public request log becomes a trace. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "detentctl/commands.h"
#include "detentctl/print.h"
#include "detentctl/trace_view.h"
#include "solver/deployment.h"
#include "trace/import.h"

#define LOG_MAX_BYTES (1u << 30)

static const struct dt_ctl_option options[] = {
    { "format", 0, "FORMAT", "of FILE: azure-csv, mooncake-jsonl, or dtrace: a trace again" },
    { "deployment", 0, "FILE", "deployment (YAML) whose limits and sites to use" },
    { "output", 'o', "FILE", "the trace to write (.dtrace)" },
    { "salvage", 0, NULL, "keep what is whole of a damaged FILE, and say what is lost" },
    { "requests", 0, "N", "read the first N requests of the log only" },
    { "steps", 0, "N", "stop after N steps of the engine" },
    { "max-batch", 0, "N", "requests in one step (default: the deployment's limit)" },
    { "max-context", 0, "N", "tokens of one request (default: the deployment's limit)" },
    { "max-query", 0, "N", "tokens of one prefill chunk (default: the deployment's limit)" },
    { "token-budget", 0, "N", "tokens of one step (default: the deployment's limit)" },
    { "step-base", 0, "SECONDS", "time of a step without tokens (default: 0.02)" },
    { "step-token", 0, "SECONDS", "time that a token adds to a step (default: 0.0001)" },
    { "step-kv", 0, "SECONDS", "time for each token of keys and values (default: 0.00000004)" },
    { "prefix-cache-blocks", 0, "N", "blocks of the prefix cache (default: 0, none)" },
    { 0 },
};

struct import {
    const char *format, *path;
    struct dt_deployment *deployment;
    struct dt_buf log;
    int salvage;
    char *lost; /* what was, as text; NULL: nothing */
    struct dt_requests requests;
    struct dt_scheduler scheduler;
    uint64_t limit; /* of requests; 0: all */
    struct dt_trace *trace;
};

static void done (struct import *m)
{
    dt_free (m->lost);
    dt_trace_free (m->trace);
    dt_requests_done (&m->requests);
    dt_buf_done (&m->log);
    dt_deployment_free (m->deployment);
}

/* --- options ------------------------------------------------------------------- */

static int check_format (const char *format, struct dt_err *reterr)
{
    char text[256] = "dtrace";

    if (!strcmp (format, "dtrace"))
        return 0;
    for (const char *const *f = dt_requests_formats (); *f; f++) {
        if (!strcmp (*f, format))
            return 0;
        snprintf (text + strlen (text), sizeof text - strlen (text), ", %s", *f);
    }
    return dt_err_set (reterr, -DT_EUSAGE, "--format '%s' is none of: %s", format, text);
}

/* An option, else the deployment's limit of the same name; at least 1. */
static int limit (const struct dt_ctl *c, const struct dt_deployment *d, const char *option,
                  const char *name, int64_t *ret, struct dt_err *reterr)
{
    uint64_t v = 0;
    int r;

    for (size_t i = 0; i < d->n_limits; i++)
        if (!strcmp (d->limit[i].name, name) && d->limit[i].kind == DT_FACT_INT
            && d->limit[i].i > 0)
            v = (uint64_t)d->limit[i].i;
    if ((r = dt_ctl_u64 (c, option, INT32_MAX, &v, reterr)) < 0)
        return r;
    if (v == 0)
        return dt_err_set (reterr, -DT_EUSAGE,
                           "--%s must be at least 1 (the deployment has no limit %s)", option,
                           name);
    *ret = (int64_t)v;
    return 0;
}

static int read_scheduler (const struct dt_ctl *c, struct import *m, struct dt_err *reterr)
{
    static const char *const limits[][2] = { { "max-batch", "max_batch" },
                                             { "max-context", "max_context" },
                                             { "max-query", "max_query" },
                                             { "token-budget", "token_budget" } };
    struct dt_scheduler *s = &m->scheduler;
    int64_t *to[] = { &s->max_batch, &s->max_context, &s->max_query, &s->token_budget };
    uint64_t blocks = 0, steps = 0;
    int r;

    *s = dt_scheduler_default ();
    for (size_t i = 0; i < DT_ARRAY_SIZE (to); i++)
        if ((r = limit (c, m->deployment, limits[i][0], limits[i][1], to[i], reterr)) < 0)
            return r;
    if ((r = dt_ctl_seconds (c, "step-base", &s->step_base_s, reterr)) < 0
        || (r = dt_ctl_seconds (c, "step-token", &s->step_token_s, reterr)) < 0
        || (r = dt_ctl_seconds (c, "step-kv", &s->step_kv_s, reterr)) < 0
        || (r = dt_ctl_u64 (c, "prefix-cache-blocks", INT32_MAX, &blocks, reterr)) < 0
        || (r = dt_ctl_u64 (c, "steps", INT64_MAX, &steps, reterr)) < 0
        || (r = dt_ctl_u64 (c, "requests", INT64_MAX, &m->limit, reterr)) < 0)
        return r;
    s->prefix_cache_blocks = (int64_t)blocks;
    s->max_steps = steps;
    return 0;
}

/* --- the trace ----------------------------------------------------------------- */

static int set_texts (struct import *m, struct dt_err *reterr)
{
    const char *slash = strrchr (m->path, '/');
    struct dt_trace *t = m->trace;
    int r;

    if ((r = dt_trace_text (&t->deployment, m->deployment->name, reterr)) < 0
        || (r = dt_trace_text (&t->engine, m->deployment->engine, reterr)) < 0
        || (r = dt_trace_text (&t->model, m->deployment->model, reterr)) < 0
        || (r = dt_trace_text (&t->importer, m->format, reterr)) < 0)
        return r;
    return dt_trace_text (&t->source, slash ? slash + 1 : m->path, reterr);
}

/* The deployment's other limits; the scheduler's own are dt_schedule's to say. */
static int set_limits (struct import *m, struct dt_err *reterr)
{
    const struct dt_deployment *d = m->deployment;
    int r;

    for (size_t i = 0; i < d->n_limits; i++)
        if (d->limit[i].kind == DT_FACT_INT
            && (r = dt_trace_add_limit (m->trace, d->limit[i].name, d->limit[i].i, reterr)) < 0)
            return r;
    return 0;
}

/* A fact or limit that is a positive whole number, else 0. */
static int64_t positive (const struct dt_fact *f)
{
    return f && (f->kind == DT_FACT_INT || f->kind == DT_FACT_BOOL) && f->i > 0 ? f->i : 0;
}

/* Bytes of an element: element_bytes, else 4 where bf16 is stated to be false. */
static int64_t element_bytes (const struct dt_site *s)
{
    const struct dt_fact *bf16 = dt_site_fact (s, "bf16");
    int64_t stated = positive (dt_site_fact (s, "element_bytes"));

    return stated ? stated : bf16 && bf16->kind == DT_FACT_BOOL && !bf16->i ? 4 : 2;
}

static struct dt_step_facts step_facts (const struct dt_site *s)
{
    struct dt_step_facts f = { .row_bytes = positive (dt_site_fact (s, "row_bytes")),
                               .experts = positive (dt_site_fact (s, "experts")),
                               .top_k = positive (dt_site_fact (s, "top_k")),
                               .graph_max_batch = positive (dt_site_fact (s, "graph_max_batch")) };
    int64_t hidden = positive (dt_site_fact (s, "hidden"));

    if (!f.row_bytes && hidden <= DT_LOG_MAX_TOKENS)
        f.row_bytes = hidden * element_bytes (s);
    return f;
}

static int add_sites (struct import *m, struct dt_step_facts *facts, struct dt_err *reterr)
{
    for (size_t i = 0; i < m->deployment->n_sites; i++) {
        const struct dt_site *s = &m->deployment->site[i];
        int at = dt_trace_add_site (m->trace, s->family, s->site, s->calls_per_step, reterr);

        if (at < 0)
            return at;
        facts[at] = step_facts (s);
    }
    return 0;
}

/* dt_schedule adds its own options behind this. */
static int fill (struct import *m, struct dt_err *reterr)
{
    struct dt_step_facts *facts = dt_calloc (m->deployment->n_sites, sizeof *facts);
    char text[512];
    int r;

    m->trace->source_digest = dt_digest_of ("log", m->log.data, m->log.len);
    snprintf (text, sizeof text, "requests=%zu%s%s", m->requests.n, m->lost ? " " : "",
              m->lost ? m->lost : "");
    if (!facts)
        r = dt_err_nomem (reterr);
    else if ((r = set_texts (m, reterr)) == 0 && (r = set_limits (m, reterr)) == 0
             && (r = add_sites (m, facts, reterr)) == 0
             && (r = dt_trace_text (&m->trace->options, text, reterr)) == 0)
        r = dt_schedule (&m->requests, &m->scheduler, m->trace, facts, reterr);
    dt_free (facts);
    return r;
}

static int read_deployment (const char *path, struct dt_deployment **ret, struct dt_err *reterr)
{
    struct dt_buf b = { 0 };
    int r;

    if ((r = dt_file_read (path, 1u << 20, &b, reterr)) == 0)
        r = dt_deployment_parse (path, b.data, b.len, ret, reterr);
    dt_buf_done (&b);
    return r;
}

static int write_trace (const struct dt_ctl *c, const struct import *m, struct dt_err *reterr)
{
    const char *path = dt_ctl_value (c, "output");
    struct dt_buf b = { 0 };
    int r;

    if ((r = dt_trace_encode (m->trace, &b, reterr)) == 0
        && (r = dt_file_replace (path, b.data, b.len, 0644, reterr)) == 0)
        dt_trace_print (c, m->trace, b.data, b.len);
    dt_buf_done (&b);
    return r;
}

/* --- logs and traces ------------------------------------------------------------ */

static int note_lost (struct import *m, char *text, struct dt_err *reterr)
{
    return (m->lost = text) ? 0 : dt_err_nomem (reterr);
}

static int read_requests (struct import *m, struct dt_err *reterr)
{
    struct dt_requests_lost lost;
    int r;

    if (!m->salvage)
        return dt_requests_parse (m->format, m->log.data, m->log.len, m->limit, &m->requests,
                                  reterr);
    if ((r = dt_requests_salvage (m->format, m->log.data, m->log.len, m->limit, &m->requests,
                                  &lost, reterr)) < 0
        || lost.lines == 0)
        return r;
    return note_lost (m, dt_strf ("salvaged: %" PRIu64 " lines left out, the first: %s", lost.lines,
                                  lost.first), reterr);
}

static int import_log (const struct dt_ctl *c, struct import *m, struct dt_err *reterr)
{
    static const char *const needed[] = { "deployment", NULL };
    int r;

    if ((r = dt_ctl_need (c, needed, reterr)) < 0
        || (r = read_deployment (dt_ctl_value (c, "deployment"), &m->deployment, reterr)) < 0
        || (r = read_scheduler (c, m, reterr)) < 0
        || (r = dt_file_read (m->path, LOG_MAX_BYTES, &m->log, reterr)) < 0)
        return r;
    if ((r = read_requests (m, reterr)) < 0)
        return dt_err_prefix (reterr, r, "%s", m->path);
    if (!(m->trace = dt_trace_new ()))
        return dt_err_nomem (reterr);
    return fill (m, reterr);
}

static int describe_lost (struct import *m, const struct dt_trace_lost *l, struct dt_err *reterr)
{
    char end[96] = "how much more there was is not known";

    if (l->has_end)
        snprintf (end, sizeof end, "%" PRIu64 " calls of %" PRIu64 " requests are lost",
                  l->lost_calls, l->lost_requests);
    return note_lost (m, dt_strf ("salvaged: %" PRIu64 " calls of %" PRIu64 " requests in %zu whole "
                                  "blocks kept; %" PRIu64 " bytes in %zu gaps left out; %s; the "
                                  "first fault: %s", l->calls, l->requests, l->blocks, l->bytes,
                                  l->gaps, end, l->first), reterr);
}

/* A trace again: what is whole of it, said in its provenance. */
static int import_trace (struct import *m, struct dt_err *reterr)
{
    struct dt_trace_lost lost;
    char *text;
    int r;

    if ((r = dt_file_read (m->path, DT_TRACE_MAX_BYTES, &m->log, reterr)) < 0)
        return r;
    r = m->salvage ? dt_trace_salvage (m->log.data, m->log.len, &m->trace, &lost, reterr)
                   : dt_trace_decode (m->log.data, m->log.len, &m->trace, reterr);
    if (r < 0)
        return dt_err_prefix (reterr, r, "%s", m->path);
    if (!m->salvage || !*lost.first)
        return 0;
    if ((r = describe_lost (m, &lost, reterr)) < 0)
        return r;
    if (!(text = dt_strf ("%s%s%s", m->trace->options, *m->trace->options ? " " : "", m->lost)))
        return dt_err_nomem (reterr);
    r = dt_trace_text (&m->trace->options, text, reterr);
    dt_free (text);
    return r;
}

static int import (const struct dt_ctl *c, struct import *m, struct dt_err *reterr)
{
    int r;

    if ((r = check_format (m->format, reterr)) < 0)
        return r;
    r = strcmp (m->format, "dtrace") ? import_log (c, m, reterr) : import_trace (m, reterr);
    if (r < 0 || (r = write_trace (c, m, reterr)) < 0)
        return r;
    if (m->lost) {
        dt_print (stderr, "detentctl: trace import: %s", m->lost);
        fputc ('\n', stderr);
    }
    return 0;
}

static int run (const struct dt_ctl *c, struct dt_err *reterr)
{
    static const char *const needed[] = { "format", "output", NULL };
    struct import m = { 0 };
    int r;

    if ((r = dt_ctl_need (c, needed, reterr)) < 0)
        return r;
    m.format = dt_ctl_value (c, "format");
    m.path = c->arg[0];
    m.salvage = dt_ctl_flag (c, "salvage");
    r = import (c, &m, reterr);
    done (&m);
    return r;
}

const struct dt_ctl_command dt_cmd_trace_import = {
    "trace import", "FILE", 1, 1,
    "Turn a public request log into a trace, through the scheduler model.",
    options, run,
};
