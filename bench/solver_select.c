/* bench/solver_select.c - times of selections through libdetent. */
#include "bench/solver_select.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "tests/detent_rig.h"
#include "trace/import.h"

#define KEYS 1000
#define ROUNDS 9
#define THREADS 4
#define MAX_REQUESTS 512 /* at most, in the deployments */

static void die (const char *what)
{
    fprintf (stderr, "bench/solver: %s\n", what);
    exit (EXIT_FAILURE);
}

static int by_value (const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct detent_selector *selector (const struct detent *d)
{
    struct detent_selector *s = NULL;
    struct detent_error err = { "" };

    if (detent_selector_new (d, "attention", "decoder", MAX_REQUESTS, &s, &err) < 0)
        die (err.text);
    return s;
}

static void select_one (struct detent_selector *s, const struct detent_call *call)
{
    struct detent_choice c;
    struct detent_error err; /* not cleared: that costs as much as a selection */

    if (detent_select (s, call, &c, &err) < 0)
        die (err.text);
}

/* --- keys that were seen ------------------------------------------------------------ */

struct rotation {
    const struct detent *d;
    pthread_t thread;
    double ns; /* of one selection, median of the rounds */
};

/* 1,000 calls of one decoding request each, over and over. */
static void *rotate (void *arg)
{
    struct rotation *r = arg;
    struct detent_selector *s = selector (r->d);
    static _Thread_local int64_t row[KEYS][2];
    double ns[ROUNDS];
    int i, k, round;

    for (i = 0; i < KEYS; i++) {
        row[i][0] = 1;
        row[i][1] = 100 + 7 * i;
    }
    for (round = -1; round < ROUNDS; round++) {
        uint64_t start = dt_time_raw_ns ();

        for (k = 0; k < 200; k++)
            for (i = 0; i < KEYS; i++)
                select_one (s, &(struct detent_call){ 1, row[i] });
        if (round >= 0)
            ns[round] = (double)(dt_time_raw_ns () - start) / (200.0 * KEYS);
    }
    qsort (ns, ROUNDS, sizeof *ns, by_value);
    r->ns = ns[ROUNDS / 2];
    detent_selector_free (s);
    return NULL;
}

static void rotate_on (const struct detent *d, int threads)
{
    struct rotation r[THREADS] = { { .d = d } };
    double most = 0;
    int i;

    for (i = 0; i < threads; i++) {
        r[i].d = d;
        if (pthread_create (&r[i].thread, NULL, rotate, &r[i]))
            die ("no thread");
    }
    for (i = 0; i < threads; i++) {
        pthread_join (r[i].thread, NULL);
        most = r[i].ns > most ? r[i].ns : most;
    }
    printf ("pinned, %d keys seen, %d thread%s: %.1f ns a selection%s\n", KEYS, threads,
            threads > 1 ? "s" : "", most, threads > 1 ? " (the slowest)" : "");
}

/* --- the trace ---------------------------------------------------------------------- */

static int64_t limit_of (const struct dt_site *site, const char *name)
{
    const struct dt_fact *f = dt_site_fact (site, name);

    return f ? f->i : 0;
}

static struct dt_trace *trace_of (const struct dt_site *site, const struct dt_buf *log)
{
    struct dt_scheduler s = dt_scheduler_default ();
    struct dt_requests requests = { .n = 0 };
    struct dt_trace *t = dt_trace_new ();
    struct dt_err err = { "" };

    s.max_batch = limit_of (site, "max_batch");
    s.max_context = limit_of (site, "max_context");
    s.max_query = s.token_budget = limit_of (site, "max_query");
    if (!t || dt_requests_parse ("azure-csv", log->data, log->len, 0, &requests, &err) < 0
        || dt_trace_add_site (t, "attention", "decoder", 1, &err) < 0
        || dt_schedule (&requests, &s, t, NULL, &err) < 0)
        die (err.text);
    dt_requests_done (&requests);
    return t;
}

/* Each distinct call once, by a selector that has not seen it, then once more by one
 * that has; the clock's own time is taken off. */
static void replay (const char *what, const struct detent *d, const struct dt_trace_site *t,
                    double clock_ns)
{
    struct detent_selector *s = selector (d);
    double *ns = dt_calloc (t->n_calls, 2 * sizeof *ns);
    uint64_t start, requests = 0;
    size_t i, again;

    if (!ns)
        die ("out of memory");
    for (i = 0; i < t->n_calls; i++) {
        struct dt_call call = dt_trace_call_get (t, i);
        struct detent_call c = { call.n_requests, call.request };

        requests += call.n_requests;
        for (again = 0; again < 2; again++) {
            start = dt_time_raw_ns ();
            select_one (s, &c);
            ns[again * t->n_calls + i] = (double)(dt_time_raw_ns () - start) - clock_ns;
        }
    }
    printf ("%s, the trace's %zu distinct calls of %.1f requests each:", what, t->n_calls,
            (double)requests / (double)t->n_calls);
    for (again = 0; again < 2; again++) {
        double *of = ns + again * t->n_calls;

        qsort (of, t->n_calls, sizeof *of, by_value);
        printf ("%s median %.0f ns, p99 %.0f ns", again ? "; at once again" : "",
                of[t->n_calls / 2], of[t->n_calls * 99 / 100]);
    }
    printf ("\n");
    dt_free (ns);
    detent_selector_free (s);
}

/* Distinct calls of one request, never seen before: what one run of the program costs. */
static void fresh (const char *what, const struct detent *d, const struct dt_trace_site *t)
{
    double ns[ROUNDS];
    int round;
    size_t i;

    for (round = 0; round < ROUNDS; round++) {
        struct detent_selector *s = selector (d);
        uint64_t start = dt_time_raw_ns ();

        for (i = 0; i < t->n_requests; i++)
            select_one (s, &(struct detent_call){ 1, &t->field[i * t->schema->n_fields] });
        ns[round] = (double)(dt_time_raw_ns () - start) / (double)t->n_requests;
        detent_selector_free (s);
    }
    qsort (ns, ROUNDS, sizeof *ns, by_value);
    printf ("%s, the trace's %zu requests as calls of one: %.0f ns a selection\n", what,
            t->n_requests, ns[ROUNDS / 2]);
}

/* What recording costs an engine: the trace's calls, each new at first, then again. */
static void record (const struct detent *d, const struct dt_trace_site *t)
{
    static const char *const what[] = { "each call new", "each call seen before" };
    struct detent_recorder *rec = NULL;
    struct detent_error err = { "" };
    uint64_t start;
    int pass;
    size_t i;

    if (detent_recorder_new (d, &rec, &err) < 0)
        die (err.text);
    for (pass = 0; pass < 2; pass++) {
        start = dt_time_raw_ns ();
        for (i = 0; i < t->n_calls; i++) {
            struct dt_call c = dt_trace_call_get (t, i);

            if (detent_record (rec, "attention", "decoder",
                               &(struct detent_call){ c.n_requests, c.request }, &err) < 0)
                die (err.text);
        }
        printf ("recording, %zu calls of %.1f requests, %s: %.0f ns a call\n", t->n_calls,
                (double)t->n_requests / (double)t->n_calls, what[pass],
                (double)(dt_time_raw_ns () - start) / (double)t->n_calls);
    }
    detent_recorder_free (rec);
}

static double clock_ns (void)
{
    uint64_t start = dt_time_raw_ns ();
    int i;

    for (i = 0; i < 100000; i++)
        dt_time_raw_ns ();
    return (double)(dt_time_raw_ns () - start) / 1e5;
}

static size_t put_facts (char *command, size_t room, size_t n, const struct dt_site *site)
{
    for (size_t i = 0; i < site->n_facts && n < room; i++) {
        const struct dt_fact *f = &site->fact[i];

        if (f->kind == DT_FACT_STR)
            n += (size_t)snprintf (command + n, room - n, " '%s=%s'", f->name, f->s);
        else
            n += (size_t)snprintf (command + n, room - n, " %s=%" PRId64, f->name, f->i);
    }
    return n;
}

/* The quantities of a call of one request. */
static void put_row (FILE *f, const struct dt_schema *schema, const int64_t *row)
{
    const struct dt_call call = { 1, row };
    int64_t q[DT_SCHEMA_MAX_QUANTITIES];
    struct dt_err err = { "" };

    if (dt_schema_derive (schema, &call, q, &err) < 0)
        die (err.text);
    for (size_t i = 0; i < schema->n_quantities; i++)
        fprintf (f, "%" PRId64 " ", schema->quantity[i].own ? dt_schema_own (schema, i, row) : q[i]);
    fprintf (f, "\n");
}

#define PYTHON_ROWS 2000

static void run_python (const char *top, const char *folder, const struct dt_site *site,
                        const struct dt_trace_site *t)
{
    char command[4096];
    size_t i, n;
    FILE *f;

    n = (size_t)snprintf (command, sizeof command,
                          "python3 '%s/bench/solver.py' '%s/programs/%s/%s'", top, top, folder,
                          site->program);
    n = put_facts (command, sizeof command, n, site);
    fflush (stdout);
    if (n >= sizeof command || !(f = popen (command, "w")))
        die ("python3 cannot be started");
    for (i = 0; i < t->schema->n_quantities; i++)
        fprintf (f, "%s ", t->schema->quantity[i].name);
    fprintf (f, "\n");
    for (i = 0; i < t->n_requests && i < PYTHON_ROWS; i++)
        put_row (f, t->schema, &t->field[i * t->schema->n_fields]);
    if (pclose (f))
        die ("python3 failed");
}

void bench_select (const char *top, const char *folder, const struct dt_site *site,
                   const struct dt_buf *pinned, const struct dt_buf *stock,
                   const struct dt_buf *log)
{
    struct dt_trace *t = trace_of (site, log);
    Detent__FetchReply *bundle = rig_blobs (pinned, stock);
    struct detent *d = rig_open (bundle, DETENT_PINNED), *u = rig_open (bundle, DETENT_UNPINNED);
    double clock = clock_ns ();

    rotate_on (d, 1);
    rotate_on (d, THREADS);
    fresh ("unpinned", u, &t->site[0]);
    fresh ("pinned", d, &t->site[0]);
    replay ("pinned", d, &t->site[0], clock);
    replay ("unpinned", u, &t->site[0], clock);
    record (d, &t->site[0]);
    run_python (top, folder, site, &t->site[0]);
    detent_close (d);
    detent_close (u);
    detent__fetch_reply__free_unpacked (bundle, NULL);
    dt_trace_free (t);
}
