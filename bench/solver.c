/* bench/solver.c - times of a deployment's first site: cold solve, repin, and the
 * codec.  usage: bench/solver DEPLOYMENT.yaml PROGRAM.py [ROUNDS] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "solver/site.h"

struct bench {
    struct dt_deployment *d;
    struct dt_source source;
    struct dt_solution *s;
    struct dt_canon encoded;
    struct dt_buf selector;
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

static int by_time (const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

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
    }
    dt_free (ns);
}

int main (int argc, char **argv)
{
    size_t rounds = argc > 3 ? strtoul (argv[3], NULL, 10) : 50;
    struct bench b = { .d = NULL };
    struct dt_buf yaml = { 0 }, program = { 0 };
    struct dt_err err = { "" };
    const char *slash;

    if (argc < 3 || rounds == 0) {
        fprintf (stderr, "usage: bench/solver DEPLOYMENT.yaml PROGRAM.py [ROUNDS]\n");
        return 2;
    }
    if (dt_file_read (argv[1], 1 << 20, &yaml, &err) < 0
        || dt_file_read (argv[2], DT_SOURCE_MAX_BYTES, &program, &err) < 0
        || dt_deployment_parse (argv[1], yaml.data, yaml.len, &b.d, &err) < 0)
        die (&err);
    slash = strrchr (argv[2], '/');
    b.source = (struct dt_source){ slash ? slash + 1 : argv[2], (const char *)program.data,
                                   program.len };
    dt_canon_init (&b.encoded);
    measure (&b, "solve", solve, rounds);
    for (b.legal = 0; b.s->verdict[b.legal] == DT_ILLEGAL;)
        b.legal++; /* a solution has one */
    measure (&b, "repin", repin, rounds);
    measure (&b, "encode", encode, rounds);
    measure (&b, "decode", decode, rounds);
    printf ("%" PRIu32 " values, %" PRIu32 " simplified, %" PRIu32 " residual; %zu assignments; "
            "%zu bytes, selector %zu bytes\n", b.s->n_specialised, b.s->n_simplified,
            b.s->n_residual, b.s->n_assignments, b.encoded.buf.len, b.selector.len);
    dt_canon_done (&b.encoded);
    dt_buf_done (&b.selector);
    dt_solution_free (b.s);
    dt_deployment_free (b.d);
    dt_buf_done (&yaml);
    dt_buf_done (&program);
    return EXIT_SUCCESS;
}
