/* bench/solver.c - times of a deployment's first site: cold solve, hit, repin, codec
 * and proof; then selections through libdetent (solver_select.c), and CPython running
 * the same program.
 * usage: bench/solver TOP [ROUNDS]   TOP: the source tree (deployments/host-small) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "bench/solver_select.h"
#include "solver/check.h"
#include "solver/site.h"

struct bench {
    struct dt_deployment *d;
    struct dt_source source;
    struct dt_solution *s;
    struct dt_canon encoded;
    struct dt_buf selector;
    struct dt_digest stored; /* of what is encoded */
    size_t legal; /* an assignment */
};

static int die (const struct dt_err *err)
{
    fprintf (stderr, "bench/solver: %s\n", err->text);
    exit (EXIT_FAILURE);
}

static void solve (struct bench *b)
{
    static const struct dt_site_options options;
    struct dt_err err = { "" };

    b->s = dt_solution_free (b->s);
    if (dt_site_solve (b->d, 0, &b->source, 1, &options, &b->s, NULL, &err) < 0)
        die (&err);
}

static void repin (struct bench *b)
{
    struct dt_err err = { "" };

    b->selector.len = 0;
    if (dt_solution_selector (b->s, b->legal, &b->selector, &err) < 0)
        die (&err);
}

static void encode (struct bench *b)
{
    struct dt_err err = { "" };

    dt_canon_done (&b->encoded);
    dt_canon_init (&b->encoded);
    dt_solution_encode (b->s, &b->encoded);
    if (dt_canon_finish (&b->encoded) < 0) {
        dt_err_nomem (&err);
        die (&err);
    }
}

static void decode (struct bench *b)
{
    struct dt_canon_value v;
    struct dt_solution *s;
    struct dt_err err = { "" };

    if (dt_canon_check (b->encoded.buf.data, b->encoded.buf.len, &v, &err) < 0
        || dt_solution_decode (v, &s, &err) < 0)
        die (&err);
    dt_solution_free (s);
}

/* What a request that was solved before costs: its key, the stored bytes' digest, and
 * the solution. */
static void hit (struct bench *b)
{
    static const struct dt_site_options options;
    struct dt_digest key, is;
    struct dt_err err = { "" };

    if (dt_site_key (b->d, 0, &b->source, 1, &options, &key, &err) < 0)
        die (&err);
    is = dt_digest_of ("solution", b->encoded.buf.data, b->encoded.buf.len);
    if (!dt_digest_equal (&is, &b->stored))
        exit (EXIT_FAILURE);
    decode (b);
}

static void check (struct bench *b)
{
    struct dt_err err = { "" };

    if (dt_check_proof (b->s, &err) < 0)
        die (&err);
}

static int by_time (const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double last_us; /* the last median */

static void measure (struct bench *b, const char *what, void (*f) (struct bench *), size_t rounds)
{
    uint64_t *ns = dt_calloc (rounds, sizeof *ns);
    size_t i;

    for (i = 0; ns && i < rounds; i++) {
        uint64_t start = dt_time_raw_ns ();

        f (b);
        ns[i] = dt_time_raw_ns () - start;
    }
    if (ns) {
        qsort (ns, rounds, sizeof *ns, by_time);
        printf ("%-8s median %9.1f us, best %9.1f us, worst %9.1f us\n", what,
                (double)ns[rounds / 2] / 1e3, (double)ns[0] / 1e3,
                (double)ns[rounds - 1] / 1e3);
        last_us = (double)ns[rounds / 2] / 1e3;
    }
    dt_free (ns);
}

static void read_file (const char *top, const char *name, struct dt_buf *ret)
{
    struct dt_err err = { "" };
    char path[1024];

    snprintf (path, sizeof path, "%s/%s", top, name);
    if (dt_file_read (path, 1 << 26, ret, &err) < 0)
        die (&err);
}

/* All that the solver does, in us. */
static void measure_solver (struct bench *b, size_t rounds)
{
    measure (b, "solve", solve, rounds);
    printf ("         %.0f ns a value of the specialised graph\n",
            last_us * 1e3 / b->s->n_specialised);
    for (b->legal = 0; b->s->verdict[b->legal] == DT_ILLEGAL;)
        b->legal++; /* a solution has one */
    measure (b, "encode", encode, rounds);
    b->stored = dt_digest_of ("solution", b->encoded.buf.data, b->encoded.buf.len);
    measure (b, "hit", hit, rounds);
    measure (b, "decode", decode, rounds);
    measure (b, "repin", repin, rounds);
    measure (b, "check", check, rounds);
    printf ("%" PRIu32 " values, %" PRIu32 " simplified, %" PRIu32 " residual; %zu assignments; "
            "%zu bytes, selector %zu bytes\n", b->s->n_specialised, b->s->n_simplified,
            b->s->n_residual, b->s->n_assignments, b->encoded.buf.len, b->selector.len);
}

int main (int argc, char **argv)
{
    size_t rounds = argc > 2 ? strtoul (argv[2], NULL, 10) : 50;
    struct bench b = { .d = NULL };
    struct dt_buf yaml = { 0 }, program = { 0 }, log = { 0 };
    struct dt_err err = { "" };

    if (argc < 2 || rounds == 0) {
        fprintf (stderr, "usage: bench/solver TOP [ROUNDS]\n");
        return 2;
    }
    read_file (argv[1], "deployments/host-small.yaml", &yaml);
    read_file (argv[1], "programs/detent/attention.py", &program);
    read_file (argv[1], "trace/samples/azure_conv_sample.csv", &log);
    if (dt_deployment_parse ("host-small.yaml", yaml.data, yaml.len, &b.d, &err) < 0)
        die (&err);
    b.source = (struct dt_source){ "attention.py", (const char *)program.data, program.len };
    dt_canon_init (&b.encoded);
    measure_solver (&b, rounds);
    bench_select (argv[1], &b.d->site[0], &b.selector, &b.s->stock, &log);
    dt_canon_done (&b.encoded);
    dt_buf_done (&b.selector);
    dt_solution_free (b.s);
    dt_deployment_free (b.d);
    dt_buf_done (&yaml);
    dt_buf_done (&program);
    dt_buf_done (&log);
    return EXIT_SUCCESS;
}
