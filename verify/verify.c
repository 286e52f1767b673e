/* verify/verify.c - detent-verify: options, the bundle, the backend, the trace. */
#include "verify/verify.h"

#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "config.h"

#define ERR(e) ((struct detent_error *)(e)) /* one line of one size in both */
_Static_assert (sizeof (struct detent_error) == sizeof (struct dt_err), "one error type");

struct arguments {
    const char *endpoint, *deployment, *workload, *family, *site, *trace, *backend;
    uint64_t rows, seed, units;
    int has_units, json;
};

struct verify {
    const struct arguments *a;
    struct detent *detent[DT_BATTERY_VARIANTS];
    const char *family, *site, *device;
    void *object;
    struct dt_trace *trace;
    struct dt_battery battery;
    struct dt_err *err;
};

/* --- what is verified ----------------------------------------------------------------- */

/* The same commit twice: pinned, and its stock selectors. */
static int open_both (struct verify *v)
{
    struct detent_options o = { .endpoint = v->a->endpoint, .deployment = v->a->deployment,
                                .workload = v->a->workload, .without_tuple = DETENT_REFUSE };
    int r;

    if ((r = detent_open (&o, &v->detent[DT_BATTERY_DETENT], ERR (v->err))) < 0)
        return r;
    o.variant = DETENT_UNPINNED;
    o.snapshot = detent_snapshot (v->detent[DT_BATTERY_DETENT]);
    return detent_open (&o, &v->detent[DT_BATTERY_STOCK], ERR (v->err));
}

/* A name without a slash is that of an installed plugin, if there is one. */
static int load (struct verify *v)
{
    const char *name = v->a->backend;
    char *installed = dt_strf ("%s/%s", DT_BACKEND_DIR, name);
    int known, r = 0;

    if (!installed)
        return dt_err_nomem (v->err);
    known = !strchr (name, '/') && access (installed, F_OK) == 0;
    if (!(v->object = dlopen (known ? installed : name, RTLD_NOW | RTLD_LOCAL)))
        r = dt_err_set (v->err, -ENOENT, "backend: %s%s%s", dlerror (),
                        strchr (name, '/') || known ? "" : "; nor is it in ",
                        strchr (name, '/') || known ? "" : DT_BACKEND_DIR);
    dt_free (installed);
    return r;
}

static int open_backend (struct verify *v)
{
    struct detent *d = v->detent[DT_BATTERY_DETENT];
    struct dt_backend_options options = { .units = v->a->has_units ? (uint32_t)v->a->units
                                                                   : detent_backend_units (d) };
    const struct dt_backend_identity *id;
    struct dt_backend_error err = { "" };
    struct dt_battery *b = &v->battery;
    dt_backend_get_f get;
    int r;

    if ((r = load (v)) < 0)
        return r;
    *(void **)&get = dlsym (v->object, DT_BACKEND_SYMBOL);
    if (!get || get ()->abi != DT_BACKEND_ABI)
        return dt_err_set (v->err, -DT_EVERSION, "backend %s: not a Detent backend of this version",
                           v->a->backend);
    b->backend = get ();
    if ((r = b->backend->open (&options, &b->ctx, &err)) < 0)
        return dt_err_set (v->err, r, "backend %s: %s", v->a->backend, err.text);
    id = b->backend->identity (b->ctx);
    v->device = id->device;
    return detent_check_backend (d, id->name, id->build, id->libraries, id->driver, id->device,
                                 id->units, ERR (v->err));
}

static int read_trace (struct verify *v)
{
    struct dt_buf file;
    int r;

    dt_buf_init (&file);
    if ((r = dt_file_read (v->a->trace, DT_TRACE_MAX_BYTES, &file, v->err)) == 0
        && (r = dt_trace_decode (file.data, file.len, &v->trace, v->err)) < 0)
        dt_err_prefix (v->err, r, "%s", v->a->trace);
    dt_buf_done (&file);
    return r;
}

/* The site asked for, else the tuple's first of which the trace has calls. */
static int choose_site (struct verify *v)
{
    for (size_t i = 0; detent_site (v->detent[DT_BATTERY_DETENT], i, &v->family, &v->site); i++)
        for (size_t k = 0; k < v->trace->n_sites; k++)
            if (!strcmp (v->trace->site[k].family, v->family)
                && !strcmp (v->trace->site[k].site, v->site)
                && (!v->a->site || !strcmp (v->a->site, v->site))
                && (!v->a->family || !strcmp (v->a->family, v->family))) {
                v->battery.calls = &v->trace->site[k];
                return 0;
            }
    return dt_err_set (v->err, -DT_ENOTFOUND, "%s has no call of %s%s%s%s of the tuple", v->a->trace,
                       v->a->family ? "family " : v->a->site ? "site " : "any site",
                       v->a->family ? v->a->family : "",
                       v->a->family && v->a->site ? " site " : "",
                       v->a->site ? v->a->site : "");
}

static int find_family (struct verify *v)
{
    struct dt_battery *b = &v->battery;
    int r;

    for (size_t i = 0; i < b->backend->n_families; i++)
        if (!strcmp (b->backend->families[i].name, v->family))
            b->family = &b->backend->families[i];
    if (!b->family || b->family->n_facts > DT_BATTERY_MAX_FACTS
        || b->family->n_params > DT_BATTERY_MAX_PARAMS
        || b->family->n_request_fields != b->calls->schema->n_fields)
        return dt_err_set (v->err, -DT_EUNSUPPORTED, "the backend has no family %s that fits",
                           v->family);
    for (size_t i = 0; i < b->family->n_facts; i++) {
        const struct dt_backend_fact *f = &b->family->facts[i];

        r = detent_site_fact (v->detent[DT_BATTERY_DETENT], v->family, v->site, f->name,
                              &b->fact[i], ERR (v->err));
        if (r == -DETENT_ENOTFOUND && f->optional)
            b->fact[i] = f->lo;
        else if (r < 0)
            return r;
    }
    return 0;
}

static int find_field (struct verify *v, size_t param)
{
    const struct dt_battery *b = &v->battery;
    const char *name = b->family->params[param].name;

    for (int k = 0; k < DT_BATTERY_VARIANTS; k++) {
        size_t i = 0, n = detent_selector_fields (b->selector[k]);

        while (i < n && strcmp (detent_selector_field (b->selector[k], i), name))
            i++;
        if (i == n || (k > 0 && v->battery.field_of[param] != i))
            return dt_err_set (v->err, -DT_EUNSUPPORTED, "the selection does not give %s", name);
        v->battery.field_of[param] = i;
    }
    return 0;
}

/* Rows that a call may have: its requests and, where there are any, its experts. */
static int find_max_requests (struct verify *v)
{
    struct detent *d = v->detent[DT_BATTERY_DETENT];
    struct dt_battery *b = &v->battery;
    int64_t batch = 0;
    int r;

    if ((r = detent_site_fact (d, v->family, v->site, "max_batch", &batch, ERR (v->err))) < 0)
        return r;
    b->max_requests = batch > 0 ? (size_t)batch : 0;
    for (size_t i = 0; i < b->family->n_facts; i++)
        if (!strcmp (b->family->facts[i].name, "experts") && b->fact[i] > 0)
            b->max_requests += (size_t)b->fact[i];
    return 0;
}

static int make_selectors (struct verify *v)
{
    struct dt_battery *b = &v->battery;
    int r;

    if ((r = find_max_requests (v)) < 0)
        return r;
    for (int k = 0; k < DT_BATTERY_VARIANTS; k++)
        if ((r = detent_selector_new (v->detent[k], v->family, v->site, b->max_requests,
                                      &b->selector[k], ERR (v->err))) < 0)
            return r;
    for (size_t i = 0; i < b->family->n_params; i++)
        if ((r = find_field (v, i)) < 0)
            return r;
    return 0;
}

static void report (const struct verify *v, const struct dt_battery_result *result)
{
    const struct detent *d = v->detent[DT_BATTERY_DETENT];
    struct dt_verify_report p = {
        .deployment = v->a->deployment, .workload = v->a->workload, .family = v->family,
        .site = v->site, .device = v->device, .tuple = detent_tuple_digest (d),
        .bits = detent_bits_digest (d), .battery = &v->battery, .result = result,
    };

    (v->a->json ? dt_verify_json : dt_verify_table) (&p, stdout);
}

static int verify (struct verify *v, struct dt_battery_result *result)
{
    int r;

    if ((r = open_both (v)) < 0 || (r = open_backend (v)) < 0 || (r = read_trace (v)) < 0
        || (r = choose_site (v)) < 0 || (r = find_family (v)) < 0
        || (r = make_selectors (v)) < 0)
        return r;
    return dt_battery_run (&v->battery, result, v->err);
}

static void close_all (struct verify *v)
{
    for (int k = 0; k < DT_BATTERY_VARIANTS; k++)
        detent_selector_free (v->battery.selector[k]);
    dt_trace_free (v->trace);
    if (v->battery.ctx)
        v->battery.backend->close (v->battery.ctx);
    if (v->object)
        dlclose (v->object);
    for (int k = 0; k < DT_BATTERY_VARIANTS; k++)
        detent_close (v->detent[k]);
}

/* --- options ---------------------------------------------------------------------------- */

static const char usage[] =
    "usage: detent-verify --deployment NAME --workload NAME --trace FILE --backend PLUGIN\n"
    "\n"
    "Run calls of a .dtrace with many different co-batches, once with the stock\n"
    "selection and once with the committed tuple, and compare each request's output\n"
    "bit by bit.\n"
    "\n"
    "  --deployment NAME   of the tuple\n"
    "  --workload NAME     of the tuple\n"
    "  --trace FILE        whose calls are run\n"
    "  --backend PLUGIN    detent-backend-NAME.so: its file, or the name of an installed one\n"
    "  --family NAME, --site NAME\n"
    "                      of the tuple; default: the first that the trace has calls of\n"
    "  --endpoint URL      of detentd\n"
    "  --rows N            compare at least so many rows; default 2500\n"
    "  --seed N            choose other calls, batches and data\n"
    "  --units N           worker threads of the backend; default: as the tuple says\n"
    "  --json              the result as one JSON object\n"
    "  --help, --version   this text; the version\n"
    "\n"
    "Exit status: 0 Detent changed no row; 1 it changed some; 2 usage or content;\n"
    "3 detentd does not answer; 4 not found; 5 refused; 8 nothing to compare;\n"
    "9 another backend than the tuple's; 10 a kernel or the system failed.\n";

enum { ENDPOINT = 1000, DEPLOYMENT, WORKLOAD, FAMILY, SITE, TRACE, BACKEND, ROWS, SEED, UNITS, JSON, HELP,
       RELEASE };
static const struct option options[] = {
    { "endpoint", required_argument, NULL, ENDPOINT },
    { "deployment", required_argument, NULL, DEPLOYMENT },
    { "workload", required_argument, NULL, WORKLOAD },
    { "family", required_argument, NULL, FAMILY },
    { "site", required_argument, NULL, SITE },
    { "trace", required_argument, NULL, TRACE },
    { "backend", required_argument, NULL, BACKEND },
    { "rows", required_argument, NULL, ROWS },
    { "seed", required_argument, NULL, SEED },
    { "units", required_argument, NULL, UNITS },
    { "json", no_argument, NULL, JSON },
    { "help", no_argument, NULL, HELP },
    { "version", no_argument, NULL, RELEASE },
    { NULL, 0, NULL, 0 },
};

__attribute__ ((format (printf, 1, 2)))
static int usage_error (const char *format, ...)
{
    va_list ap;

    fputs ("detent-verify: ", stderr);
    va_start (ap, format);
    vfprintf (stderr, format, ap);
    va_end (ap);
    fputs ("; see detent-verify --help\n", stderr);
    return 2;
}

/* 0, or 2: usage. */
static int number (const char *option, uint64_t least, uint64_t most, uint64_t *ret)
{
    char *end;

    errno = 0;
    *ret = strtoull (optarg, &end, 10);
    return errno || end == optarg || *end || *optarg < '0' || *optarg > '9' || *ret < least
                   || *ret > most
               ? usage_error ("--%s: '%s' is no number that it takes", option, optarg)
               : 0;
}

static const char *missing (const struct arguments *a)
{
    return !a->deployment ? "deployment"
           : !a->workload ? "workload"
           : !a->trace    ? "trace"
           : !a->backend  ? "backend"
                          : NULL;
}

/* 0, 1: help was printed, or 2: usage. */
static int parse (int argc, char **argv, struct arguments *a)
{
    int c, r = 0;

    while (r == 0 && (c = getopt_long (argc, argv, "", options, NULL)) != -1)
        switch (c) {
        case ENDPOINT: a->endpoint = optarg; break;
        case DEPLOYMENT: a->deployment = optarg; break;
        case WORKLOAD: a->workload = optarg; break;
        case FAMILY: a->family = optarg; break;
        case SITE: a->site = optarg; break;
        case TRACE: a->trace = optarg; break;
        case BACKEND: a->backend = optarg; break;
        case ROWS: r = number ("rows", 1, 1u << 30, &a->rows); break;
        case SEED: r = number ("seed", 0, UINT64_MAX, &a->seed); break;
        case UNITS: r = number ("units", 0, UINT32_MAX, &a->units); a->has_units = 1; break;
        case JSON: a->json = 1; break;
        case HELP: fputs (usage, stdout); return 1;
        case RELEASE: puts ("detent-verify " PACKAGE_VERSION); return 1;
        default: r = 2; break; /* getopt said why */
        }
    if (r == 0 && optind < argc)
        r = usage_error ("unexpected argument '%s'", argv[optind]);
    if (r == 0 && missing (a))
        r = usage_error ("--%s is missing", missing (a));
    return r;
}

/* A result that did not arrive is none: `status`, or 10. */
static int flushed (int status)
{
    if (fflush (stdout) == 0 && !ferror (stdout))
        return status;
    fprintf (stderr, "detent-verify: standard output: %s\n", strerror (errno));
    return 10;
}

int dt_verify_main (int argc, char **argv,
                    void (*tweak) (const struct dt_backend_family *family, uint64_t run,
                                   struct dt_backend_value *param))
{
    struct arguments a = { .rows = 2500, .seed = 1 };
    struct dt_battery_result result = { .batches = 0 };
    struct dt_err err = { "" };
    struct verify v = { .a = &a, .err = &err };
    int r;

    if ((r = parse (argc, argv, &a)) > 0)
        return r == 1 ? flushed (0) : 2;
    v.battery.rows = a.rows;
    v.battery.seed = a.seed;
    v.battery.tweak = tweak;
    if ((r = verify (&v, &result)) == 0)
        report (&v, &result);
    else
        fprintf (stderr, "detent-verify: %s\n", err.text);
    close_all (&v);
    if (r < 0)
        return dt_err_exit (r);
    return flushed (result.variant[DT_BATTERY_DETENT].compared == 0 ? 8
                    : result.variant[DT_BATTERY_DETENT].changed     ? 1
                                                                    : 0);
}
