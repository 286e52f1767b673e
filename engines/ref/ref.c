/* engines/ref/ref.c - a small engine, to show how one uses Detent.
 *
 * It replays the calls of a .dtrace on a backend's kernels: the part of an engine
 * that chooses kernels, without the model around it.  Follow main from the top; what
 * an engine of its own needs is marked (1) to (6).  It is built in Detent's tree, which
 * reads the trace; select.c needs no more than what is installed. */
#include <detent/backend.h>
#include <detent/detent.h>

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "trace/dtrace.h"

#define MAX_FACTS 64
#define MAX_PARAMS 32
#define MAX_LIMITS 8

struct engine {
    struct detent *detent;
    struct detent_selector *selector;
    struct detent_recorder *recorder;
    const struct dt_backend *backend;
    struct dt_backend_ctx *ctx;
    const struct dt_backend_family *family;
    const char *family_name, *site;
    int64_t fact[MAX_FACTS];
    size_t field_of[MAX_PARAMS]; /* which field of a selection is parameter i */
    uint64_t kernel_ns;
};

/* An engine that is refused stops: it must not run another kernel instead. */
__attribute__ ((noreturn, format (printf, 1, 2)))
static void stop (const char *format, ...)
{
    va_list ap;

    fputs ("detent-ref: ", stderr);
    va_start (ap, format);
    vfprintf (stderr, format, ap);
    va_end (ap);
    fputc ('\n', stderr);
    exit (1);
}

/* (2) Load the backend that the tuple was tuned on, with as many units. */
static void load_backend (struct engine *e, const char *path)
{
    struct dt_backend_options options = { .units = detent_backend_units (e->detent) };
    const struct dt_backend_identity *id;
    struct dt_backend_error why = { "" };
    struct detent_error err = { "" };
    dt_backend_get_f get;
    void *object;

    if (!(object = dlopen (path, RTLD_NOW | RTLD_LOCAL)))
        stop ("%s", dlerror ());
    *(void **)&get = dlsym (object, DT_BACKEND_SYMBOL);
    if (!get || !(e->backend = get ()) || e->backend->abi != DT_BACKEND_ABI)
        stop ("%s: not a Detent backend of this version", path);
    if (e->backend->open (&options, &e->ctx, &why) < 0)
        stop ("%s: %s", path, why.text);
    id = e->backend->identity (e->ctx);
    if (detent_check_backend (e->detent, id->name, id->build, id->libraries, id->driver,
                              id->device, id->units, &err) < 0)
        stop ("%s", err.text);
    if (detent_why_stock (e->detent))
        fprintf (stderr, "detent-ref: warning: %s\n", detent_why_stock (e->detent));
}

static int64_t fact (const struct engine *e, const char *name)
{
    struct detent_error err = { "" };
    int64_t v;

    if (detent_site_fact (e->detent, e->family_name, e->site, name, &v, &err) < 0)
        stop ("%s", err.text);
    return v;
}

static int64_t backend_fact (const struct engine *e, const struct dt_backend_fact *f)
{
    int64_t v;

    if (f->optional
        && detent_site_fact (e->detent, e->family_name, e->site, f->name, &v, NULL)
           == -DETENT_ENOTFOUND)
        return f->lo;
    return fact (e, f->name);
}

/* The site's facts, in the order in which the backend wants them. */
static void find_facts (struct engine *e)
{
    for (size_t i = 0; i < e->backend->n_families; i++)
        if (!strcmp (e->backend->families[i].name, e->family_name))
            e->family = &e->backend->families[i];
    if (!e->family || e->family->n_facts > MAX_FACTS || e->family->n_params > MAX_PARAMS)
        stop ("the backend has no %s that this engine can call", e->family_name);
    for (size_t i = 0; i < e->family->n_facts; i++)
        e->fact[i] = backend_fact (e, &e->family->facts[i]);
}

static int is (const struct engine *e, const char *family)
{
    return !strcmp (e->family_name, family);
}

/* The limits of the scheduler, as quantities of the family's calls.  Returns how many;
 * *ret_rows: rows of a call. */
static size_t find_limits (const struct engine *e, struct detent_limit *ret, int64_t *ret_rows)
{
    int64_t batch = fact (e, "max_batch"), budget;
    size_t n = 0;

    *ret_rows = batch;
    if (is (e, "attention")) {
        int64_t context = fact (e, "max_context"), query = fact (e, "max_query");

        ret[n++] = (struct detent_limit){ "requests", 1, batch };
        ret[n++] = (struct detent_limit){ "longest_query", 1, query };
        ret[n++] = (struct detent_limit){ "query_length", 1, query };
        ret[n++] = (struct detent_limit){ "longest_kv", 1, context };
        ret[n++] = (struct detent_limit){ "kv_length", 1, context };
        ret[n++] = (struct detent_limit){ "total_query", 1, batch * query };
        ret[n++] = (struct detent_limit){ "total_kv", 1, batch * context };
        return n;
    }
    budget = fact (e, "token_budget");
    if (is (e, "allreduce")) {
        int64_t row = fact (e, "row_bytes");

        ret[n++] = (struct detent_limit){ "bytes", row, row * budget, .step = row };
        ret[n++] = (struct detent_limit){ "captured", 0, 0 }; /* this engine has no graphs */
    } else
        ret[n++] = (struct detent_limit){ "tokens", 1, budget };
    if (is (e, "moe")) { /* its experts are rows of a call, too */
        *ret_rows += fact (e, "experts");
        ret[n++] = (struct detent_limit){ "experts", 1, fact (e, "experts") };
        ret[n++] = (struct detent_limit){ "longest_load", 1, budget };
    }
    return n;
}

/* (3) One selector a thread.  State the limits of the scheduler once, so that a
 * refusal later can only be a bug. */
static void make_selector (struct engine *e)
{
    struct detent_limit limits[MAX_LIMITS];
    int64_t rows;
    size_t n_limits = find_limits (e, limits, &rows);
    struct detent_error err = { "" };

    if (detent_selector_new (e->detent, e->family_name, e->site, (size_t)rows, &e->selector, &err)
            < 0
        || detent_selector_check_limits (e->selector, limits, n_limits, &err) < 0)
        stop ("%s", err.text);
    for (size_t i = 0; i < e->family->n_params; i++) {
        size_t k = 0, n = detent_selector_fields (e->selector);

        while (k < n && strcmp (detent_selector_field (e->selector, k), e->family->params[i].name))
            k++;
        if (k == n)
            stop ("the selection does not give %s", e->family->params[i].name);
        e->field_of[i] = k;
    }
}

static void *buffer (const struct engine *e, size_t bytes)
{
    struct dt_backend_error err = { "" };
    void *p = NULL;

    if (bytes && e->backend->alloc (e->ctx, bytes, &p, &err) < 0)
        stop ("%s", err.text);
    return p;
}

/* Run one call's kernels.  A real engine has its operands already, and keeps its
 * buffers from call to call. */
static void run_kernels (struct engine *e, const struct dt_backend_call *call)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    void *operands, *output, *workspace;

    if (e->backend->plan (e->ctx, call, &plan, &err) < 0)
        stop ("%s", err.text);
    operands = buffer (e, plan.operand_bytes);
    output = buffer (e, plan.output_bytes);
    workspace = buffer (e, plan.workspace_bytes);
    if (e->backend->fill (e->ctx, call, 0, operands, &err) < 0
        || e->backend->run (e->ctx, call, operands, output, workspace, &err) < 0)
        stop ("%s", err.text);
    e->kernel_ns += e->backend->elapsed_ns (e->ctx);
    e->backend->free (e->ctx, operands);
    e->backend->free (e->ctx, output);
    e->backend->free (e->ctx, workspace);
}

/* (4) Select, run with exactly what was selected, (5) record. */
static void serve (struct engine *e, const struct dt_call *c, const uint64_t *seed)
{
    struct detent_call call = { c->n_requests, c->request };
    struct dt_backend_value param[MAX_PARAMS];
    struct detent_error err = { "" };
    struct detent_choice choice;

    if (detent_select (e->selector, &call, &choice, &err) < 0)
        stop ("%s", err.text);
    for (size_t i = 0; i < e->family->n_params; i++)
        param[i] = (struct dt_backend_value){ .one = choice.value[e->field_of[i]],
                                              .each = choice.each[e->field_of[i]] };
    run_kernels (e, &(struct dt_backend_call){ .family = e->family, .fact = e->fact,
                                               .n_requests = c->n_requests,
                                               .request = c->request, .seed = seed,
                                               .param = param });
    if (e->recorder && detent_record (e->recorder, e->family_name, e->site, &call, &err) < 0)
        stop ("%s", err.text);
}

static struct dt_trace *read_trace (const char *path)
{
    struct dt_err err = { "" };
    struct dt_trace *t = NULL;
    struct dt_buf file;

    dt_buf_init (&file);
    if (dt_file_read (path, DT_TRACE_MAX_BYTES, &file, &err) < 0
        || dt_trace_decode (file.data, file.len, &t, &err) < 0)
        stop ("%s: %s", path, err.text);
    dt_buf_done (&file);
    return t;
}

static void replay (struct engine *e, const char *path, size_t most)
{
    struct dt_trace *t = read_trace (path);
    size_t done = 0;

    for (size_t i = 0; i < t->n_sites; i++) {
        const struct dt_trace_site *s = &t->site[i];

        if (strcmp (s->family, e->family_name) || strcmp (s->site, e->site))
            continue;
        for (size_t k = 0; k < s->n_calls && done < most; k++, done++) {
            struct dt_call c = dt_trace_call_get (s, k);

            serve (e, &c, &s->id[s->call[k].at]);
        }
    }
    dt_trace_free (t);
    if (done == 0)
        stop ("%s: no call of %s/%s", path, e->family_name, e->site);
    printf ("%zu calls, %.3f ms in kernels, %s selection\n", done, (double)e->kernel_ns / 1e6,
            detent_is_stock (e->detent) ? "stock" : "pinned");
}

/* Decimal digits only. */
static int parse_count (const char *s, size_t *ret)
{
    char *end;
    unsigned long n;

    errno = 0;
    n = strtoul (s, &end, 10);
    if (errno || *end || *s < '0' || *s > '9')
        return -1;
    *ret = n;
    return 0;
}

static const char usage[] =
    "usage: detent-ref --deployment NAME --workload NAME --trace FILE --backend PLUGIN\n"
    "  [--endpoint URL] [--family NAME] [--site NAME] [--record FILE] [--calls N]\n"
    "  [--bundle FILE] [--without-tuple refuse|stock]\n"
    "Replay the calls of one site of a .dtrace with the committed tuple; attention/decoder\n"
    "if none is named.  Exit 1 if it must stop.\n";

int main (int argc, char **argv)
{
    enum { DEPLOYMENT, WORKLOAD, TRACE, BACKEND, ENDPOINT, FAMILY, SITE, RECORD, CALLS, BUNDLE,
           WITHOUT, OPTIONS };
    static const char *const name[OPTIONS] = { "deployment", "workload", "trace", "backend",
        "endpoint", "family", "site", "record", "calls", "bundle", "without-tuple" };
    const char *value[OPTIONS] = { [FAMILY] = "attention", [SITE] = "decoder",
                                   [WITHOUT] = "refuse" };
    struct option options[OPTIONS + 2] = { { "help", no_argument, NULL, 'h' } };
    struct detent_options o = { 0 };
    struct detent_error err = { "" };
    struct engine e = { 0 };
    size_t calls = SIZE_MAX;
    int c;

    for (int i = 0; i < OPTIONS; i++)
        options[i + 1] = (struct option){ name[i], required_argument, NULL, 1000 + i };
    while ((c = getopt_long (argc, argv, "h", options, NULL)) != -1) {
        if (c < 1000) {
            fputs (usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? 0 : 2;
        }
        value[c - 1000] = optarg;
    }
    if (optind != argc || !value[DEPLOYMENT] || !value[WORKLOAD] || !value[TRACE] || !value[BACKEND]
        || (value[CALLS] && parse_count (value[CALLS], &calls) < 0)
        || (strcmp (value[WITHOUT], "refuse") && strcmp (value[WITHOUT], "stock"))) {
        fputs (usage, stderr);
        return 2;
    }

    /* (1) Fetch the tuple and verify it.  What to do without one is the engine's
     * own setting, and has no default. */
    o.endpoint = value[ENDPOINT];
    o.deployment = value[DEPLOYMENT];
    o.workload = value[WORKLOAD];
    o.bundle_path = value[BUNDLE];
    o.without_tuple = strcmp (value[WITHOUT], "stock") ? DETENT_REFUSE : DETENT_STOCK;
    if (detent_open (&o, &e.detent, &err) < 0)
        stop ("%s", err.text);
    e.family_name = value[FAMILY];
    e.site = value[SITE];
    load_backend (&e, value[BACKEND]);
    find_facts (&e);
    make_selector (&e);
    if (value[RECORD] && detent_recorder_new (e.detent, &e.recorder, &err) < 0)
        stop ("%s", err.text);

    replay (&e, value[TRACE], calls);

    /* (6) What was recorded is what the next tuple is tuned on. */
    if (value[RECORD] && detent_recorder_write (e.recorder, value[RECORD], &err) < 0)
        stop ("%s", err.text);
    detent_recorder_free (e.recorder);
    detent_selector_free (e.selector);
    e.backend->close (e.ctx);
    detent_close (e.detent);
    return 0;
}
