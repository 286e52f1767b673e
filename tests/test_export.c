/* tests/test_export.c - solver/export: exported C compiles without a warning and
 * does what the vm does. */
#include "tests/graph_random.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "selir/emit.h"
#include "selir/vm_int.h"
#include "solver/export.h"
#include "tests/suite.h"

#define GRAPHS 24
#define FOLDER_MAX 64

/* As exported. */
struct stop {
    uint32_t index;
    int fault;
    size_t request;
    int64_t value;
    const char *text, *where;
};
typedef int select_f (const int64_t *in, const int64_t *own, size_t n_requests, int64_t *out,
                      int64_t *own_out, struct stop *stop);

static char folder[FOLDER_MAX];
static void *library;

static void export (const struct dt_vm *vm, const char *prefix)
{
    struct dt_buf b = { 0 };
    struct dt_err err = { "" };
    char path[FOLDER_MAX + 40];
    FILE *f;

    MUST (dt_export_c (vm, prefix, &b, &err) == 0, "%s: %s", prefix, err.text);
    snprintf (path, sizeof path, "%s/%s.c", folder, prefix);
    MUST ((f = fopen (path, "w")) != NULL, "cannot write %s", path);
    MUST (fwrite (b.data, 1, b.len, f) == b.len && fclose (f) == 0, "cannot write %s", path);
    dt_buf_done (&b);
}

static void folder_make (void)
{
    const char *tmp = getenv ("TMPDIR");

    snprintf (folder, sizeof folder, "%s/detent-export-XXXXXX", tmp && strlen (tmp) < 30 ? tmp : "/tmp");
    MUST (mkdtemp (folder) != NULL, "no folder");
}

/* Compile all that was exported, and load it. */
static void compile (void)
{
    char command[3 * FOLDER_MAX + 160];

    snprintf (command, sizeof command,
              "${CC:-cc} -std=c11 -O1 -Wall -Wextra -Werror -shared -fPIC -o %s/all.so %s/*.c -lm",
              folder, folder);
    MUST (system (command) == 0, "the exported C does not compile: %s", command);
    snprintf (command, sizeof command, "%s/all.so", folder);
    MUST ((library = dlopen (command, RTLD_NOW)) != NULL, "%s", dlerror ());
}

static void folder_remove (void)
{
    char command[FOLDER_MAX + 10];

    if (library)
        dlclose (library);
    library = NULL;
    snprintf (command, sizeof command, "rm -r %s", folder);
    MUST (system (command) == 0, "%s", command);
}

static select_f *function (const char *prefix)
{
    char name[40];
    void *p;
    select_f *f;

    snprintf (name, sizeof name, "%s_select", prefix);
    MUST ((p = dlsym (library, name)) != NULL, "no %s", name);
    memcpy (&f, &p, sizeof f);
    return f;
}

/* Run both and compare all that they say. */
static void check (const struct dt_vm *vm, select_f *f, const int64_t *in, const int64_t *own,
                   size_t n_requests)
{
    static const int code[] = { 0, -DT_EREFUSED, -DT_EREFUSED, -DT_EEVAL };
    int64_t out[2][64] = { { 0 } }, own_out[2][192] = { { 0 } }, *regs;
    struct stop stop = { .index = 0 };
    struct dt_vm_stop want = { .what = 0 };
    int r, x;

    regs = dt_calloc (dt_vm_registers (vm) + 1, sizeof *regs);
    dt_vm_prepare (vm, regs);
    r = dt_vm_run (vm, regs, in, own, n_requests, out[0], own_out[0], &want);
    x = f (in, own, n_requests, out[1], own_out[1], &stop);
    dt_free (regs);
    MUST (x >= 0 && x <= 3 && code[x] == r && (r == 0 || x == (int)want.what), "%d, not %d", x, r);
    if (r < 0) {
        MUST (stop.index == want.index && stop.fault == want.fault
                  && stop.request == (want.of_request ? want.request : SIZE_MAX),
              "stops at another place");
        MUST (x != 1 || (stop.value == want.value
                         && strcmp (stop.text, dt_vm_input (vm, want.index)->name) == 0),
              "another input");
        MUST (x != 2 || (strcmp (stop.text, vm->cond[want.index].message) == 0
                         && strcmp (stop.where, vm->cond[want.index].where) == 0),
              "another condition");
        MUST (x != 3 || (strcmp (stop.text, dt_fault_name (want.fault)) == 0
                         && strcmp (stop.where, vm->where[want.index]) == 0),
              "another fault");
        return;
    }
    MUST (memcmp (out[0], out[1], sizeof out[0]) == 0
              && memcmp (own_out[0], own_out[1], sizeof own_out[0]) == 0,
          "another value");
}

/* --- random programs ---------------------------------------------------------------- */

static struct dt_vm *vm_of (const struct dt_graph *g)
{
    struct dt_emit_options o = { .site = "s", .variant = "stock" };
    struct dt_buf b = { 0 };
    struct dt_err err = { "" };
    struct dt_vm *vm;

    MUST (dt_emit (g, &o, &b, &err) == 0 && dt_vm_load (b.data, b.len, &vm, &err) == 0, "%s",
          err.text);
    dt_buf_done (&b);
    return vm;
}

/* Values of the inputs by class; what is `off` by one may be outside the domain. */
static void inputs_of (const struct dt_vm *vm, uint64_t *at, int64_t *in, int64_t *own)
{
    size_t i;

    for (i = 0; i < dt_vm_inputs (vm); i++) {
        const struct dt_vm_input *x = dt_vm_input (vm, i);
        uint64_t n = x->step ? ((uint64_t)x->hi - (uint64_t)x->lo) / (uint64_t)x->step + 1 : x->n;
        int64_t v = x->step ? x->lo + (int64_t)(*at % n) * x->step : x->value[*at % n];

        v += rng (200) == 0;
        *at /= n;
        *(x->klass == DT_VM_OWN ? own++ : in++) = v;
    }
}

START_TEST (export_random)
{
    struct dt_graph *g[GRAPHS];
    struct dt_vm *vm[GRAPHS];
    char prefix[16];
    int i;

    folder_make ();
    for (i = 0; i < GRAPHS; i++) {
        g[i] = random_graph ((uint64_t)i + 1, 6 + 3 * (uint32_t)i);
        vm[i] = vm_of (g[i]);
        snprintf (prefix, sizeof prefix, "p%d", i);
        export (vm[i], prefix);
    }
    compile ();
    for (i = 0; i < GRAPHS; i++) {
        select_f *f;
        int round;

        snprintf (prefix, sizeof prefix, "p%d", i);
        f = function (prefix);
        for (round = 0; round < 2000; round++) {
            uint64_t first = (uint64_t)round * 7919, next = first;
            int64_t in[16], own[8] = { 0 }, other[16];

            inputs_of (vm[i], &first, in, own);
            next = next / 3 + 1;
            inputs_of (vm[i], &next, other, own + vm[i]->n_own);
            check (vm[i], f, in, own, (size_t)round % 3);
        }
        dt_vm_free (vm[i]);
        dt_graph_free (g[i]);
    }
    folder_remove ();
}
END_TEST

/* --- every op ----------------------------------------------------------------------- */

#define ALL INT64_MIN, INT64_MAX, 1, NULL, 0

/* A machine made by hand, whose inputs are any bits: a, b, c, then results. */
struct by_hand {
    struct dt_vm vm;
    struct dt_vm_input input[3];
    struct dt_vm_output output[64];
    uint16_t reg[64];
    struct dt_insn insn[2][65];
    const char *where[1];
    int64_t none[1]; /* constants: there are none */
};

static void by_hand_init (struct by_hand *h)
{
    static const char *const name[] = { "a", "b", "c" };
    int i;

    memset (h, 0, sizeof *h);
    for (i = 0; i < 3; i++)
        h->input[i] = (struct dt_vm_input){ name[i], DT_VM_RUNTIME, DT_TYPE_INT, ALL };
    h->where[0] = "f.py:7:3";
    h->vm = (struct dt_vm){ .family = "f", .site = "s", .variant = "stock", .input = h->input,
                            .n_inputs = 3, .part = { h->insn[0], h->insn[1] },
                            .step = { h->insn[0] },
                            .output = h->output, .output_reg = h->reg, .where = h->where,
                            .n_where = 1, .registers = 3, .constant = h->none };
    h->insn[1][0].op = DT_VM_END;
}

/* One more op on (a, b, c), and an output of its value. */
static void by_hand_add (struct by_hand *h, uint16_t op, uint16_t guard)
{
    uint16_t k = (uint16_t)h->vm.n_outputs, dst = (uint16_t)h->vm.registers;

    h->insn[0][k] = (struct dt_insn){ .op = op, .dst = dst, .a = op == DT_OP_FAIL ? 5 : 0, .b = 1,
                                      .c = 2, .guard = guard };
    h->output[k] = (struct dt_vm_output){ .field = dt_op_text ((uint8_t)op), .type = DT_TYPE_INT,
                                          .binding = 1 };
    h->reg[k] = dst;
    h->insn[0][k + 1] = (struct dt_insn){ .op = DT_VM_END };
    h->vm.n_outputs = h->vm.n_part[0] = k + 1u;
    h->vm.registers++;
}

static int64_t any_bits (void)
{
    static const double number[] = { 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25,
                                     0x1p63, -0x1p63, 0x1p62, 1e308, -1e308, 5e-324, 1e-310,
                                     0x1.fffffffffffffp52, 16777217.0, 0x1p-150, 1e39 };
    static const int64_t edge[] = { INT64_MIN, INT64_MAX, INT64_MIN + 1, 0, 1, -1, 2, 3, 63, 64,
                                    0x7ff0000000000000, (int64_t)0xfff0000000000000,
                                    0x7ff8000000000000, (int64_t)0xfff8000000000001,
                                    1LL << 53, (1LL << 53) + 1, -(1LL << 53) - 1, 3037000500 };
    int64_t v = (int64_t)((uint64_t)rng (UINT32_MAX) << 32 ^ rng (UINT32_MAX));

    switch (rng (6)) {
    case 0: memcpy (&v, &number[rng (DT_ARRAY_SIZE (number))], sizeof v); return v;
    case 1: return edge[rng (DT_ARRAY_SIZE (edge))];
    case 2: return (int64_t)rng (200) - 100;
    case 3: v = dt_op_bits (((double)rng (4000) - 2000) / (double)(1 + rng (16))); return v;
    case 4: return v >> rng (64);
    default: return v;
    }
}

START_TEST (export_ops)
{
    static struct by_hand all, one[DT_OP_COUNT];
    char prefix[16];
    uint16_t op;
    int round;

    rng_seed (11);
    folder_make ();
    by_hand_init (&all);
    for (op = DT_OP_ADD; op < DT_OP_COUNT; op++) {
        by_hand_add (&all, op, DT_VM_NEVER);
        by_hand_init (&one[op]);
        by_hand_add (&one[op], op, op % 2 ? DT_VM_ALWAYS : 2);
        snprintf (prefix, sizeof prefix, "op%d", op);
        export (&one[op].vm, prefix);
    }
    export (&all.vm, "all");
    compile ();
    for (round = 0; round < 30000; round++) {
        int64_t in[3] = { any_bits (), any_bits (), any_bits () };

        check (&all.vm, function ("all"), in, NULL, 0);
    }
    for (op = DT_OP_ADD; op < DT_OP_COUNT; op++) {
        select_f *f;

        snprintf (prefix, sizeof prefix, "op%d", op);
        f = function (prefix);
        for (round = 0; round < 3000; round++) {
            int64_t in[3] = { any_bits (), any_bits (), rng (2) };

            check (&one[op].vm, f, in, NULL, 0);
        }
    }
    folder_remove ();
}
END_TEST

/* --- refusals and the same bytes ---------------------------------------------------- */

START_TEST (export_refusals)
{
    static const char *const bad[] = { "", "1a", "a b", "a-b", "a*/" };
    struct by_hand h;
    struct dt_vm_table table = { .field = "tile" };
    struct dt_buf b[2] = { 0 };
    struct dt_err err = { "" };
    size_t i;

    by_hand_init (&h);
    by_hand_add (&h, DT_OP_ADD, DT_VM_ALWAYS);
    for (i = 0; i < DT_ARRAY_SIZE (bad); i++)
        ck_assert_int_eq (dt_export_c (&h.vm, bad[i], &b[0], &err), -DT_EINPUT);
    ck_assert_str_eq (err.text, "\"a*/\" cannot start the name of a C function");
    ck_assert_uint_eq (b[0].len, 0);
    for (i = 0; i < 2; i++)
        ck_assert_int_eq (dt_export_c (&h.vm, "ok_1", &b[i], &err), 0);
    ck_assert_uint_eq (b[0].len, b[1].len);
    ck_assert_mem_eq (b[0].data, b[1].data, b[0].len);
    h.vm.table = &table;
    h.vm.n_tables = 1;
    ck_assert_int_eq (dt_export_c (&h.vm, "ok", &b[0], &err), -DT_EINPUT);
    dt_buf_done (&b[0]);
    dt_buf_done (&b[1]);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("solver/export");
    TCase *tc = tcase_create ("export");

    tcase_set_timeout (tc, 300);
    tcase_add_test (tc, export_random);
    tcase_add_test (tc, export_ops);
    tcase_add_test (tc, export_refusals);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
