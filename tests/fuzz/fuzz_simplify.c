/* tests/fuzz/fuzz_simplify.c - bytes to a program, and the program to selectors with
 * all passes, with none, and with one pass off: the same values and the same stop on
 * some inputs.  With FUZZ_SHOW set, programs and what became of them are printed. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "selir/emit.h"
#include "selir/program.h"
#include "selir/simplify.h"
#include "selir/vm.h"
#include "tests/fuzz/fuzz_program.h"

#define RUNS 6

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

struct ran {
    int r;
    int64_t out[DT_VM_MAX_OUTPUTS];
    struct dt_err err;
};

static void die (const struct maker *m, const char *why, const char *a, const char *b)
{
    fprintf (stderr, "%s\n%s: %s, then %s\n", m->text, why, a, b);
    abort ();
}

/* NULL if the program has more values or registers than a selector takes. */
static struct dt_vm *selector (const struct maker *m, const struct dt_graph *g, unsigned passes, int faults)
{
    struct dt_emit_options o = { .site = "", .variant = "stock" };
    struct dt_graph *s = NULL;
    struct dt_buf blob = { 0 };
    struct dt_vm *vm = NULL;
    struct dt_err err = { "" };
    int r = dt_simplify (g, passes, NULL, faults, &s, NULL, &err);

    if (r == 0) {
        dt_graph_check (s);
        r = dt_emit (s, &o, &blob, &err);
        if (r == 0)
            r = dt_vm_load (blob.data, blob.len, &vm, &err);
    }
    if (r < 0 && r != -DT_ELIMIT)
        die (m, "no selector", err.text, "");
    dt_buf_done (&blob);
    dt_graph_free (s);
    return vm;
}

/* The same value for an input of the same name, in every selector. */
static int64_t value_of (const struct dt_vm_input *in, uint64_t pick)
{
    pick ^= (uint64_t)(uint8_t)in->name[0] * 0x9e3779b97f4a7c15u;
    pick ^= pick >> 29;
    if (in->step == 0)
        return in->value[pick % in->n];
    return in->lo + (int64_t)(pick % ((uint64_t)(in->hi - in->lo) / (uint64_t)in->step + 1)) * in->step;
}

static void run (const struct dt_vm *vm, uint64_t pick, struct ran *ran)
{
    int64_t *regs = dt_calloc (dt_vm_registers (vm) + 1, sizeof *regs), in[DT_VM_MAX_INPUTS];
    struct dt_vm_stop stop;
    size_t i;

    if (!regs)
        abort ();
    for (i = 0; i < dt_vm_inputs (vm); i++)
        in[i] = value_of (dt_vm_input (vm, i), pick);
    ran->err.text[0] = '\0';
    dt_vm_prepare (vm, regs);
    ran->r = dt_vm_run (vm, regs, in, NULL, 0, ran->out, NULL, &stop);
    if (ran->r < 0)
        dt_vm_describe (vm, &stop, &ran->err);
    dt_free (regs);
}

/* `faults`: the other keeps every fault, so that it stops where the first does. */
static void compare (const struct maker *m, const struct dt_vm *vm, const struct dt_vm *other, int faults,
                     const char *which)
{
    struct ran a, b;
    uint64_t i;

    if (!vm || !other)
        return;
    for (i = 0; i < RUNS; i++) {
        run (vm, (i + 1) * 0xd1342543de82ef95u, &a);
        run (other, (i + 1) * 0xd1342543de82ef95u, &b);
        if (a.r != 0 && !faults)
            continue;
        if (a.r != b.r || strcmp (a.err.text, b.err.text) != 0)
            die (m, which, a.err.text, b.err.text);
        if (a.r == 0 && memcmp (a.out, b.out, dt_vm_outputs (vm) * sizeof *a.out) != 0)
            die (m, which, "one value", "another");
    }
}

static void check (const struct maker *m, const struct dt_graph *g, unsigned off)
{
    static const unsigned all = DT_PASS_ALL;
    struct dt_vm *none = selector (m, g, 0, 1), *some;

    some = selector (m, g, all, 1);
    compare (m, none, some, 1, "with all passes");
    dt_vm_free (some);
    some = selector (m, g, all & ~(1u << off), 1);
    compare (m, none, some, 1, dt_pass_name (off));
    dt_vm_free (some);
    some = selector (m, g, all, 0);
    compare (m, none, some, 0, "with all passes, and no faults kept");
    dt_vm_free (some);
    dt_vm_free (none);
}

static void show (const struct maker *m, const char *what)
{
    if (getenv ("FUZZ_SHOW"))
        fprintf (stderr, "%s\n%s\n", m->text, what);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n)
{
    static struct maker m;
    struct dt_fact fact = { .name = "a", .kind = DT_FACT_INT, .i = 16 };
    struct dt_source source = { .name = "fuzz.py", .text = m.text };
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL;
    struct dt_err err = { "" };

    memset (&m, 0, sizeof m);
    m.data = data;
    m.n = n;
    make_program (&m);
    source.len = m.len;
    if (dt_program_parse (&source, 1, &p, &err) < 0 || dt_program_specialise (p, &fact, 1, &g, &err) < 0) {
        show (&m, err.text);
    } else {
        show (&m, "accepted");
        dt_graph_check (g);
        check (&m, g, choose (&m, DT_PASS_COUNT));
    }
    dt_graph_free (g);
    dt_program_free (p);
    return 0;
}
