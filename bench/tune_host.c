/* bench/tune_host.c - what the tuner's short cuts lose and save, on a real backend in
 * this process.
 *
 * usage: tune_host compare PLUGIN DEPLOYMENT PROGRAM SITE TRACE CALLS
 *        tune_host estimate PLUGIN DEPLOYMENT PROGRAM SITE TRACE CALLS
 * PROGRAM: FILE[,DATA], where the program reads a table of its folder
 *
 * compare: tunes the site, then again with every assignment on every sampled call, and
 * times the two winners against each other: CPU seconds of both, and the interval (95%)
 * of the ratio.  estimate: for ten random legal assignments, the sampled estimate of the
 * trace's cost and its stated error against the sum over all calls. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/mem.h"
#include "detentd/message.h"
#include "profiler/backend.h"
#include "solver/site.h"
#include "trace/dtrace.h"
#include "tuner/calls.h"
#include "tuner/cover.h"
#include "tuner/stats.h"
#include "tuner/tune.h"

#define ROUNDS 160     /* of the two winners */
#define ASSIGNMENTS 10 /* that are estimated */

static struct bench {
    struct dt_plugin plugin;
    const char *path;
    struct dt_deployment *deployment;
    const struct dt_site *site;
    struct dt_solution *solution;
    struct dt_trace *trace;
    const struct dt_trace_site *calls;
    void *buffer[3]; /* operands, output, workspace */
    size_t bytes[3];
    const int64_t *filled; /* the requests whose operands are there */
} b;

static void die (const char *what)
{
    fprintf (stderr, "tune_host: %s\n", what);
    exit (EXIT_FAILURE);
}

static void check (int r, const struct dt_err *err)
{
    if (r < 0)
        die (err->text);
}

static double cpu_s (void)
{
    struct rusage u;

    getrusage (RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec)
           + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* --- the backend as the tuner's hooks ------------------------------------------ */

/* The call as the daemon would send it, and as the plugin then has it. */
static int prepare (const struct dt_tune_call *c, struct dt_message *m, struct dt_plugin_call *ret,
                    struct dt_err *reterr)
{
    int r = dt_message_build (b.site, c, 1, m, reterr);

    return r < 0 ? r : dt_plugin_call_init (ret, b.plugin.backend, &m->call, reterr);
}

static int plan (void *ctx, const struct dt_tune_call *c, uint64_t ret_launch[2],
                 int *ret_unsupported, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan p;
    struct dt_plugin_call call;
    struct dt_message m;
    int r;

    (void)ctx;
    if ((r = prepare (c, &m, &call, reterr)) < 0)
        return r;
    r = b.plugin.backend->plan (b.plugin.ctx, &call.call, &p, &err);
    dt_plugin_call_done (&call);
    *ret_unsupported = r < 0;
    if (r < 0)
        dt_err_set (reterr, r, "%s", err.text);
    else
        memcpy (ret_launch, p.launch, sizeof p.launch);
    return 0;
}

static void *buffer (int i, size_t bytes)
{
    if (b.bytes[i] < bytes) {
        struct dt_backend_error err = { "" };

        b.plugin.backend->free (b.plugin.ctx, b.buffer[i]);
        if (b.plugin.backend->alloc (b.plugin.ctx, bytes, &b.buffer[i], &err) < 0)
            die (err.text);
        b.bytes[i] = bytes;
    }
    return b.buffer[i];
}

/* Operands follow from the call alone: assignments that are timed on one in turn share them. */
static int fill (const struct dt_backend_call *call, size_t bytes, struct dt_backend_error *err)
{
    if (b.filled == call->request)
        return 0;
    b.filled = call->request;
    return b.plugin.backend->fill (b.plugin.ctx, call, 0, buffer (0, bytes), err);
}

static int measure (void *ctx, const struct dt_tune_call *c, uint64_t *ret_ns,
                    struct dt_err *reterr)
{
    const struct dt_backend *be = b.plugin.backend;
    struct dt_backend_error err = { "" };
    struct dt_backend_plan p;
    struct dt_plugin_call call;
    struct dt_message m;
    int r;

    (void)ctx;
    if ((r = prepare (c, &m, &call, reterr)) < 0)
        return r;
    if ((r = be->plan (b.plugin.ctx, &call.call, &p, &err)) == 0
        && (r = fill (&call.call, p.operand_bytes, &err)) == 0)
        r = be->run (b.plugin.ctx, &call.call, b.buffer[0], buffer (1, p.output_bytes),
                     buffer (2, p.workspace_bytes), &err);
    dt_plugin_call_done (&call);
    if (r < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    *ret_ns = be->elapsed_ns (b.plugin.ctx);
    return 0;
}

/* --- compare --------------------------------------------------------------------- */

static struct dt_tune_result tune (size_t max_calls, int exhaustive, double *ret_cpu_s)
{
    struct dt_tune_hooks hooks = { .plan = plan, .measure = measure };
    struct dt_tune_options o = { .max_calls = max_calls, .budget_s = 3600,
                                 .exhaustive = exhaustive };
    struct dt_tune_result r;
    struct dt_err err = { "" };
    double start = cpu_s ();
    size_t incumbent = 0;

    while (b.solution->verdict[incumbent] == DT_ILLEGAL)
        incumbent++;
    check (dt_tune_site (b.solution, &b.calls, 1, incumbent, &o, &hooks, &r, &err), &err);
    *ret_cpu_s = cpu_s () - start;
    printf ("%s: assignment %zu%s, %zu legal, %zu merged, %zu measured, %" PRIu64 " measurements, "
            "%.1f CPU s\n", exhaustive ? "exhaustive" : "tuner", r.chosen, r.tie ? " (tie)" : "",
            r.n_legal, r.n_merged, r.n_measured, r.n_measurements, *ret_cpu_s);
    return r;
}

/* The weighted sum of an assignment's times over the sample, once. */
static double sum_once (struct dt_cover *c)
{
    struct dt_err err = { "" };
    double sum = 0;
    uint64_t ns;

    for (size_t at = 0; at < c->n_at; at++) {
        struct dt_tune_call call = dt_cover_call (c, c->arm[0].variant[at]);

        check (measure (NULL, &call, &ns, &err), &err);
        sum += c->at[at].weight * (double)ns;
    }
    return sum;
}

static void cover (struct dt_cover *c, const struct dt_calls *calls, size_t assignment)
{
    static const struct dt_tune_hooks hooks = { .plan = plan, .measure = measure };
    struct dt_err err = { "" };

    check (dt_cover_one (c, b.solution, calls->at, calls->n, assignment, &hooks, &err), &err);
}

static void compare (size_t max_calls)
{
    double cpu[2], ratio[ROUNDS];
    struct dt_tune_result r = tune (max_calls, 0, &cpu[0]), e = tune (max_calls, 1, &cpu[1]);
    struct dt_cover winner[2];
    struct dt_calls calls;
    struct dt_stats s;
    struct dt_err err = { "" };
    double half;

    check (dt_calls_draw (&b.calls, 1, max_calls, 99, &calls, &err), &err);
    cover (&winner[0], &calls, r.chosen);
    cover (&winner[1], &calls, e.chosen);
    for (int i = 0; i < ROUNDS; i++) {
        double first = sum_once (&winner[i & 1]), second = sum_once (&winner[!(i & 1)]);

        ratio[i] = i & 1 ? log (second / first) : log (first / second);
    }
    s = dt_stats_trimmed (ratio, ROUNDS);
    half = s.error * dt_stats_t (0.025, s.df);
    printf ("tuner's winner over the exhaustive one's, another sample, %d rounds: %+.2f%% "
            "(%+.2f%% to %+.2f%%)\nCPU: %.1f%% of the exhaustive run's\n", ROUNDS,
            100 * (exp (s.mean) - 1), 100 * (exp (s.mean - half) - 1),
            100 * (exp (s.mean + half) - 1), 100 * cpu[0] / cpu[1]);
    dt_cover_done (&winner[0]);
    dt_cover_done (&winner[1]);
    dt_calls_done (&calls);
}

/* --- estimate -------------------------------------------------------------------- */

/* Median of three timings. */
static double time_call (struct dt_cover *c, size_t at)
{
    struct dt_tune_call call = dt_cover_call (c, c->arm[0].variant[at]);
    struct dt_err err = { "" };
    uint64_t a, b3, m;

    check (measure (NULL, &call, &a, &err), &err);
    check (measure (NULL, &call, &b3, &err), &err);
    check (measure (NULL, &call, &m, &err), &err);
    return (double)(a < b3 ? (m < a ? a : m < b3 ? m : b3) : (m < b3 ? b3 : m < a ? m : a));
}

/* All calls are timed once (median of three), the sampled ones among them: so the
 * difference is the sample's, and not the machine's from one minute to the next. */
static void estimate_one (size_t assignment, size_t max_calls)
{
    struct dt_calls some, all = { .n_traces = 1 };
    size_t n = b.calls->n_calls;
    double *every = dt_calloc (n, sizeof *every), *time, sum = 0, full = 0, half;
    struct dt_cover c;
    struct dt_err err = { "" };

    check (dt_calls_draw (&b.calls, 1, max_calls, assignment, &some, &err), &err);
    if (!every || !(time = dt_calloc (some.n, sizeof *time))
        || !(all.at = dt_calloc (n, sizeof *all.at)))
        die ("out of memory");
    for (all.n = 0; all.n < n; all.n++)
        all.at[all.n] = (struct dt_cover_at){ b.calls, 0, all.n, (double)b.calls->call[all.n].count };
    cover (&c, &all, assignment);
    for (size_t at = 0; at < n; at++)
        full += all.at[at].weight * (every[at] = time_call (&c, at));
    for (size_t at = 0; at < some.n; at++)
        sum += some.weight[at] * (time[at] = every[some.at[at].call]);
    half = dt_sample_half (&some.sample[0], time);
    printf ("assignment %5zu: %.4f s estimated from %zu calls, +-%.1f%%; %.4f s over all %zu: "
            "%+.1f%%%s\n", assignment, sum / 1e9, some.n, 100 * half, full / 1e9, n,
            100 * (sum / full - 1), fabs (sum / full - 1) <= half ? "" : " OUTSIDE");
    dt_cover_done (&c);
    dt_calls_done (&some);
    dt_calls_done (&all);
    dt_free (time);
    dt_free (every);
}

static void estimate (size_t max_calls)
{
    struct dt_random random = { 1 };

    for (int i = 0; i < ASSIGNMENTS;) {
        size_t a = dt_random_below (&random, b.solution->n_assignments);

        if (b.solution->verdict[a] == DT_ILLEGAL)
            continue;
        estimate_one (a, max_calls);
        i++;
    }
}

/* --- set up ------------------------------------------------------------------------ */

static struct dt_buf read_file (const char *path)
{
    struct dt_buf data = { 0 };
    struct dt_err err = { "" };

    check (dt_file_read (path, DT_TRACE_MAX_BYTES, &data, &err), &err);
    return data;
}

/* A source by the name that it has in its folder. */
static struct dt_source source_of (const char *path, const struct dt_buf *text)
{
    const char *slash = strrchr (path, '/');

    return (struct dt_source){ slash ? slash + 1 : path, (const char *)text->data, text->len };
}

static void load (char **arg)
{
    char *table = strchr (arg[2], ',');
    struct dt_buf yaml = read_file (arg[1]), trace = read_file (arg[4]), program, data = { 0 };
    struct dt_source source[2];
    struct dt_site_options options = { .n_threads = 2 };
    struct dt_backend_options how;
    const struct dt_fact *units;
    struct dt_err err = { "" };
    size_t at = 0;

    if (table)
        *table++ = '\0';
    program = read_file (arg[2]);
    source[0] = source_of (arg[2], &program);
    if (table) {
        data = read_file (table);
        source[1] = source_of (table, &data);
    }
    check (dt_deployment_parse (arg[1], yaml.data, yaml.len, &b.deployment, &err), &err);
    while (at < b.deployment->n_sites && strcmp (b.deployment->site[at].site, arg[3]) != 0)
        at++;
    if (at == b.deployment->n_sites)
        die ("the deployment has no such site");
    b.site = &b.deployment->site[at];
    check (dt_site_solve (b.deployment, at, source, table ? 2 : 1, &options, &b.solution, NULL,
                          &err), &err);
    for (size_t i = 0; i < b.solution->n_pins; i++)
        printf ("pin %s: %zu candidates\n", b.solution->pin[i].name,
                b.solution->pin[i].n_candidates);
    check (dt_trace_decode (trace.data, trace.len, &b.trace, &err), &err);
    for (size_t i = 0; i < b.trace->n_sites; i++)
        if (!strcmp (b.trace->site[i].site, arg[3]))
            b.calls = &b.trace->site[i];
    if (!b.calls)
        die ("the trace has no such site");
    units = dt_site_fact (b.site, "units");
    how = (struct dt_backend_options){ .units = units ? (uint32_t)units->i : 0, .timed = 1 };
    check (dt_plugin_open (&b.plugin, arg[0], &how, &err), &err);
    dt_buf_done (&yaml);
    dt_buf_done (&program);
    dt_buf_done (&data);
    dt_buf_done (&trace);
}

int main (int argc, char **argv)
{
    if (argc != 8 || (strcmp (argv[1], "compare") && strcmp (argv[1], "estimate")))
        die ("usage: tune_host compare|estimate PLUGIN DEPLOYMENT PROGRAM SITE TRACE CALLS");
    load (argv + 2);
    if (!strcmp (argv[1], "compare"))
        compare (strtoul (argv[7], NULL, 10));
    else
        estimate (strtoul (argv[7], NULL, 10));
    for (int i = 0; i < 3; i++)
        b.plugin.backend->free (b.plugin.ctx, b.buffer[i]);
    dt_plugin_close (&b.plugin);
    dt_solution_free (b.solution);
    dt_trace_free (b.trace);
    dt_deployment_free (b.deployment);
    return 0;
}
