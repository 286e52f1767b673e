/* bench/solver.c - times of a deployment's attention: cold solve and its memory, repin,
 * codec and proof; a hit (solver_hit.c); then selections through libdetent (solver_select.c), and
 * CPython running the same program.
 * usage: bench/solver TOP [ROUNDS [DEPLOYMENT FOLDER]...]
 *   TOP: the source tree.  Without DEPLOYMENT (a name in deployments/) and FOLDER (in
 *   programs/): host-small, and SGLang's two */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "bench/solver_hit.h"
#include "bench/solver_select.h"
#include "bench/sources.h"
#include "solver/check.h"
#include "solver/site.h"

struct bench {
    struct bench_sources files; /* the program first */
    unsigned n_threads;
    struct dt_solution *s;
    struct dt_canon encoded;
    struct dt_buf selector;
    size_t legal; /* an assignment */
};

static void solve (struct bench *b)
{
    struct dt_site_options options = { .n_threads = b->n_threads };
    struct dt_err err = { "" };

    b->s = dt_solution_free (b->s);
    if (dt_site_solve (b->files.d, 0, b->files.source, b->files.n_sources, &options, &b->s, NULL,
                       &err) < 0)
        bench_die (err.text);
}

static void repin (struct bench *b)
{
    struct dt_err err = { "" };

    b->selector.len = 0;
    if (dt_solution_selector (b->s, b->legal, &b->selector, &err) < 0)
        bench_die (err.text);
}

static void encode (struct bench *b)
{
    dt_canon_done (&b->encoded);
    dt_canon_init (&b->encoded);
    dt_solution_encode (b->s, &b->encoded);
    if (dt_canon_finish (&b->encoded) < 0)
        bench_die ("out of memory");
}

static void decode (struct bench *b)
{
    struct dt_canon_value v;
    struct dt_solution *s;
    struct dt_err err = { "" };

    if (dt_canon_check (b->encoded.buf.data, b->encoded.buf.len, &v, &err) < 0
        || dt_solution_decode (v, &s, &err) < 0)
        bench_die (err.text);
    dt_solution_free (s);
}

static void check (struct bench *b)
{
    struct dt_err err = { "" };

    if (dt_check_proof (b->s, &err) < 0)
        bench_die (err.text);
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

/* The most memory that a process with one solve in it has had, all else included. */
static void measure_memory (struct bench *b)
{
    struct rusage used;
    pid_t child;
    int status;

    fflush (stdout);
    if ((child = fork ()) == 0) {
        solve (b);
        _exit (0);
    }
    if (child < 0 || wait4 (child, &status, 0, &used) != child || status != 0)
        bench_die ("the solve for its memory failed");
    printf ("memory   peak %.1f MiB\n", (double)used.ru_maxrss / 1024); /* ru_maxrss: KiB */
}

/* With as many threads as a node's two cores, and what came of each assignment. */
static void measure_judging (struct bench *b, size_t rounds)
{
    size_t n[4] = { 0 }, i;

    b->n_threads = 2;
    measure (b, "2 cores", solve, rounds);
    b->n_threads = 1;
    for (i = 0; i < b->s->n_assignments; i++)
        n[b->s->verdict[i]]++;
    printf ("         %zu assignments: %zu legal by proof, %zu by trying all points, %zu by a sample; "
            "%zu illegal by a counterexample; decided: %.1f%%\n", b->s->n_assignments,
            n[DT_PROVED], n[DT_EXHAUSTED], n[DT_SAMPLED], n[DT_ILLEGAL],
            100.0 * (double)(b->s->n_assignments - n[DT_SAMPLED]) / (double)b->s->n_assignments);
}

/* All that the solver does, in us. */
static void measure_solver (struct bench *b, size_t rounds)
{
    measure_memory (b);
    measure (b, "solve", solve, rounds);
    printf ("         %.0f ns a value of the specialised graph\n",
            last_us * 1e3 / b->s->n_specialised);
    measure_judging (b, rounds);
    for (b->legal = 0; b->s->verdict[b->legal] == DT_ILLEGAL;)
        b->legal++; /* a solution has one */
    measure (b, "encode", encode, rounds);
    measure (b, "decode", decode, rounds);
    measure (b, "repin", repin, rounds);
    measure (b, "check", check, rounds);
    printf ("%" PRIu32 " values, %" PRIu32 " simplified, %" PRIu32 " residual; %zu assignments; "
            "%zu bytes, selector %zu bytes\n", b->s->n_specialised, b->s->n_simplified,
            b->s->n_residual, b->s->n_assignments, b->encoded.buf.len, b->selector.len);
}

static void bench (const char *top, size_t rounds, const char *deployment, const char *folder)
{
    struct bench b = { .n_threads = 1 };
    struct dt_err err = { "" };
    struct dt_buf log = { 0 };
    char path[3][1024];

    snprintf (path[0], sizeof path[0], "%s/deployments/%s.yaml", top, deployment);
    snprintf (path[1], sizeof path[1], "%s/programs/%s", top, folder);
    snprintf (path[2], sizeof path[2], "%s/trace/samples/azure_conv_sample.csv", top);
    bench_sources_read (&b.files, path[0], path[1]);
    if (dt_file_read (path[2], 1 << 26, &log, &err) < 0)
        bench_die (err.text);
    bench_sources_lead (&b.files, b.files.d->site[0].program);
    printf ("\n%s, %s\n", deployment, b.files.d->site[0].program);
    dt_canon_init (&b.encoded);
    measure_solver (&b, rounds);
    bench_hit (&b.files, path[0], 10 * rounds);
    bench_select (top, folder, &b.files.d->site[0], &b.selector, &b.s->stock, &log);
    dt_canon_done (&b.encoded);
    dt_buf_done (&b.selector);
    dt_solution_free (b.s);
    bench_sources_done (&b.files);
    dt_buf_done (&log);
}

int main (int argc, char **argv)
{
    size_t rounds = argc > 2 ? strtoul (argv[2], NULL, 10) : 20;

    if (argc < 2 || rounds == 0 || (argc > 2 && argc % 2 == 0))
        bench_die ("usage: bench/solver TOP [ROUNDS [DEPLOYMENT FOLDER]...]");
    for (int i = 3; i < argc; i += 2)
        bench (argv[1], rounds, argv[i], argv[i + 1]);
    if (argc > 3)
        return EXIT_SUCCESS;
    bench (argv[1], rounds, "host-small", "detent");
    bench (argv[1], rounds, "llama-3.1-70b-tp4-h100-sglang", "sglang");
    bench (argv[1], rounds, "qwen3-30b-a3b-tp4-h100-sglang", "sglang");
    return EXIT_SUCCESS;
}
