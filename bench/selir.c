/* bench/selir.c - what SelIR costs: simplifying, and running a selector.
 * usage: bench/selir PROGRAM.py FACT=VALUE...   each pass off, and a selection
 *        bench/selir scale                      one program at 1x, 10x and 100x its size */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/time.h"
#include "selir/emit.h"
#include "selir/program.h"
#include "selir/simplify.h"
#include "selir/vm.h"

#define ROUNDS 5
#define RUNS 200000
#define MAX_FACTS 64

static int fail (const char *what, const struct dt_err *err)
{
    fprintf (stderr, "%s: %s\n", what, err->text);
    return EXIT_FAILURE;
}

/* name=3, name=true, name=text */
static struct dt_fact fact_of (char *arg)
{
    struct dt_fact f = { .name = arg };
    char *v = strchr (arg, '='), *end;

    if (!v)
        return f;
    *v++ = '\0';
    f.kind = DT_FACT_INT;
    f.i = strtoll (v, &end, 10);
    if (*end == '\0' && end != v)
        return f;
    f.i = strcmp (v, "true") == 0;
    f.kind = f.i || strcmp (v, "false") == 0 ? DT_FACT_BOOL : DT_FACT_STR;
    f.s = v;
    return f;
}

/* The best of some rounds: the machine's noise only adds. */
static uint64_t time_simplify (const struct dt_graph *g, unsigned passes, struct dt_graph **ret)
{
    uint64_t best = UINT64_MAX, t;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        *ret = dt_graph_free (*ret);
        t = dt_time_raw_ns ();
        if (dt_simplify (g, passes, NULL, 0, ret, NULL, NULL) < 0)
            exit (EXIT_FAILURE);
        t = dt_time_raw_ns () - t;
        best = t < best ? t : best;
    }
    return best;
}

static void print_passes (const struct dt_graph *g)
{
    unsigned bit;

    printf ("%-22s %10s %12s %10s\n", "passes", "values", "us", "ns/value");
    for (bit = 0; bit <= DT_PASS_COUNT + 1; bit++) {
        unsigned passes = bit > DT_PASS_COUNT ? 0
                          : DT_PASS_ALL & ~(bit < DT_PASS_COUNT ? 1u << bit : 0);
        struct dt_graph *n = NULL;
        uint64_t ns = time_simplify (g, passes, &n);

        printf ("%-8s%-14s %10u %12.1f %10.1f\n", bit < DT_PASS_COUNT ? "without" : "",
                bit < DT_PASS_COUNT ? dt_pass_name (bit) : passes ? "all" : "none", n->n_nodes, (double)ns / 1e3, (double)ns / g->n_nodes);
        dt_graph_free (n);
    }
}

static void print_run (const struct dt_vm *vm)
{
    int64_t *regs = dt_calloc (dt_vm_registers (vm), sizeof *regs);
    int64_t in[DT_VM_MAX_INPUTS], own[DT_VM_MAX_INPUTS], out[DT_VM_MAX_OUTPUTS],
        own_out[DT_VM_MAX_OUTPUTS];
    size_t i, n_in = 0, n_own = 0, call, request;
    struct dt_vm_stop stop;
    uint64_t t;
    int r = 0;

    if (!regs)
        return;
    dt_vm_prepare (vm, regs);
    for (i = 0; i < dt_vm_inputs (vm); i++) {
        const struct dt_vm_input *input = dt_vm_input (vm, i);

        if (input->klass == DT_VM_OWN)
            own[n_own++] = input->lo;
        else
            in[n_in++] = input->lo;
    }
    call = dt_vm_code (vm, &request);
    t = dt_time_raw_ns ();
    for (i = 0; i < RUNS; i++)
        r |= dt_vm_run (vm, regs, in, own, 1, out, own_out, &stop);
    t = dt_time_raw_ns () - t;
    printf ("\n%zu instructions a call, %zu a request, %zu registers\n", call, request,
            dt_vm_registers (vm));
    printf ("%.1f ns a selection (one request), %.2f ns an instruction%s\n", (double)t / RUNS,
            (double)t / RUNS / (double)(call + request + !(call + request)),
            r ? " (stopped: these inputs are refused)" : "");
    dt_free (regs);
}

static int bench (const struct dt_graph *g)
{
    struct dt_emit_options o = { .site = "", .variant = "stock" };
    struct dt_graph *n = NULL;
    struct dt_vm *vm = NULL;
    struct dt_buf blob = { 0 };
    struct dt_err err = { "" };

    printf ("%u values specialised\n\n", g->n_nodes);
    print_passes (g);
    if (dt_simplify (g, DT_PASS_ALL, NULL, 0, &n, NULL, &err) < 0
        || dt_emit (n, &o, &blob, &err) < 0 || dt_vm_load (blob.data, blob.len, &vm, &err) < 0
        || dt_vm_plan (vm, &err) < 0)
        return fail ("selector", &err);
    print_run (vm);
    dt_vm_free (vm);
    dt_buf_done (&blob);
    dt_graph_free (n);
    return EXIT_SUCCESS;
}

/* --- one program at many sizes --------------------------------------------------- */

#define TURNS ((1 << 18) / 3) /* at 100x: three values a turn, 2^18 in all */

static const char *const scaled =
    "from __future__ import annotations\n"
    "from selir import Batch, Facts, Record, Runtime, selection\n"
    "class Model(Facts):\n    turns: int\n"
    "class Call(Batch):\n    n: Runtime[range(1, 4097)]\n    m: Runtime[range(1, 4097)]\n"
    "class Choice(Record):\n    x: int\n"
    "@selection(family='bench')\n"
    "def choose(facts: Model, call: Call) -> Choice:\n"
    "    x = call.n\n"
    "    for i in range(facts.turns):\n"
    "        x = (x + i) % call.m\n"
    "    return Choice(x=x)\n";

/* Of this process alone, whatever else the machine does. */
static uint64_t cpu_ns (void)
{
    struct timespec t;

    clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int scale_one (int64_t turns)
{
    struct dt_source source = { "scaled.py", scaled, strlen (scaled) };
    struct dt_fact fact = { .name = "turns", .kind = DT_FACT_INT, .i = turns };
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL, *n = NULL;
    struct dt_err err = { "" };
    uint64_t t0 = cpu_ns (), t1, t2;

    if (dt_program_parse (&source, 1, &p, &err) < 0
        || dt_program_specialise (p, &fact, 1, &g, &err) < 0)
        return fail ("scale", &err);
    t1 = cpu_ns ();
    if (dt_simplify (g, DT_PASS_ALL, NULL, 0, &n, NULL, &err) < 0)
        return fail ("scale", &err);
    t2 = cpu_ns ();
    printf ("%8lld %10u %10u %12.1f %9.0f %12.1f %9.0f", (long long)turns, g->n_nodes, n->n_nodes,
            (double)(t1 - t0) / 1e6, (double)(t1 - t0) / g->n_nodes, (double)(t2 - t1) / 1e6,
            (double)(t2 - t1) / g->n_nodes);
    fflush (stdout);
    dt_graph_free (n);
    dt_graph_free (g);
    dt_program_free (p);
    return EXIT_SUCCESS;
}

/* Each size in a process of its own, for its peak of memory. */
static int scale (void)
{
    int status = 0, k;
    struct rusage u;
    pid_t child;

    printf ("%8s %10s %10s %12s %9s %12s %9s %9s %8s\n", "turns", "values", "left", "specialise ms",
            "ns/value", "simplify ms", "ns/value", "peak MB", "B/turn");
    for (k = 100; k > 0; k /= 10) {
        fflush (stdout);
        if ((child = fork ()) == 0)
            _exit (scale_one (TURNS / k));
        if (child < 0 || wait4 (child, &status, 0, &u) < 0 || status != 0)
            return EXIT_FAILURE;
        printf (" %9.1f %8.0f\n", (double)u.ru_maxrss / 1024,
                (double)u.ru_maxrss * 1024 / (TURNS / k));
    }
    return EXIT_SUCCESS;
}

int main (int argc, char **argv)
{
    struct dt_fact fact[MAX_FACTS];
    struct dt_source source = { .name = "program.py" };
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };
    struct dt_buf text = { 0 };
    size_t n = 0;
    int i;

    if (argc == 2 && strcmp (argv[1], "scale") == 0)
        return scale ();
    if (argc < 2 || argc - 2 > MAX_FACTS) {
        fprintf (stderr, "usage: %s PROGRAM.py FACT=VALUE... | scale\n", argv[0]);
        return 2;
    }
    for (i = 2; i < argc; i++)
        fact[n++] = fact_of (argv[i]);
    if (dt_file_read (argv[1], DT_SOURCE_MAX_BYTES, &text, &err) < 0)
        return fail (argv[1], &err);
    source.text = (const char *)text.data;
    source.len = text.len;
    if (dt_program_parse (&source, 1, &p, &err) < 0
        || dt_program_specialise (p, fact, n, &g, &err) < 0)
        return fail (argv[1], &err);
    i = bench (g);
    dt_graph_free (g);
    dt_program_free (p);
    dt_buf_done (&text);
    return i;
}
