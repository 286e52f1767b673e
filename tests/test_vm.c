/* The selector blob: emit, load, run, against a plain evaluation of the graph. */
#include "tests/graph_random.h"

#include <errno.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/canon.h"
#include "selir/emit.h"
#include "selir/vm.h"
#include "tests/suite.h"

static void emit (const struct dt_graph *g, struct dt_buf *b)
{
    struct dt_emit_options o = { .site = "s", .variant = "judge" };
    struct dt_err err = { "" };
    int r = dt_emit (g, &o, b, &err);

    ck_assert_msg (r == 0, "emit: %d %s", r, err.text);
}

static struct dt_vm *load (const struct dt_buf *b)
{
    struct dt_vm *vm = NULL;
    struct dt_err err = { "" };
    int r = dt_vm_load (b->data, b->len, &vm, &err);

    ck_assert_msg (r == 0, "load: %d %s", r, err.text);
    r = dt_vm_plan (vm, &err);
    ck_assert_msg (r == 0, "plan: %d %s", r, err.text);
    return vm;
}

/* Which values and conditions an Own input reaches: they run in the second part. */
static void own_parts (const struct dt_graph *g, uint8_t *call, uint8_t *own)
{
    uint32_t i, args[3];
    int j, k;

    for (i = 0; i < g->n_nodes; i++) {
        const struct dt_node *n = &g->node[i];

        own[i] = n->op == DT_OP_INPUT && g->input[n->imm].klass == DT_INPUT_OWN;
        k = dt_node_args (n, args);
        for (j = 0; j < k; j++)
            own[i] |= own[args[j]];
        if (n->guard != DT_NODE_NONE)
            own[i] |= own[n->guard];
        call[i] = !own[i];
    }
    for (i = 0; i < g->n_conds; i++) {
        own[g->n_nodes + i] = own[g->cond[i].value]
                              | (g->cond[i].guard != DT_NODE_NONE && own[g->cond[i].guard]);
        call[g->n_nodes + i] = !own[g->n_nodes + i];
    }
}

static int64_t value_of (const struct dt_graph *g, const struct dt_vm_input *in,
                         const struct env *e)
{
    uint32_t i;

    for (i = 0; i < g->n_inputs; i++)
        if (strcmp (g->input[i].name, in->name) == 0)
            return e->input[i];
    for (i = 0; i < g->n_knobs; i++)
        if (strcmp (g->knob[i].name, in->name) == 0)
            return e->knob[i];
    ck_abort_msg ("no input %s", in->name);
    return 0;
}

struct ran {
    int r;
    struct dt_vm_stop stop;
    int64_t out[8], own_out[8];
};

static void run_env (const struct dt_graph *g, const struct dt_vm *vm, const struct env *e,
                     struct ran *ran)
{
    int64_t *regs = dt_calloc (dt_vm_registers (vm), sizeof *regs), in[16], own[4];
    size_t i, n_in = 0, n_own = 0;

    for (i = 0; i < dt_vm_inputs (vm); i++) {
        const struct dt_vm_input *input = dt_vm_input (vm, i);

        if (input->klass == DT_VM_OWN)
            own[n_own++] = value_of (g, input, e);
        else
            in[n_in++] = value_of (g, input, e);
    }
    memset (regs, 0x5a, dt_vm_registers (vm) * sizeof *regs);
    dt_vm_prepare (vm, regs);
    ran->r = dt_vm_run (vm, regs, in, own, 1, ran->out, ran->own_out, &ran->stop);
    dt_free (regs);
}

static void check_env (const struct dt_graph *g, const struct dt_vm *vm, const struct env *e,
                       const uint8_t *call, const uint8_t *own, int64_t *v)
{
    struct first f = eval_graph (g, e, v, call);
    struct ran ran;
    struct dt_err err = { "" };
    char want[80];
    uint32_t i;

    if (f.seq == UINT64_MAX)
        f = eval_graph (g, e, v, own);
    run_env (g, vm, e, &ran);
    if (f.seq == UINT64_MAX) {
        MUST (ran.r == 0, "stopped: %d", ran.r);
        for (i = 0; i < g->n_points; i++)
            MUST ((dt_vm_output (vm, i)->own ? ran.own_out[i] : ran.out[i])
                      == v[g->point[i].node],
                  "output %u differs", i);
        return;
    }
    MUST (ran.r == (f.fault ? -DT_EEVAL : -DT_EREFUSED), "stopped: %d", ran.r);
    MUST (dt_vm_describe (vm, &ran.stop, &err) == ran.r, "described as another");
    if (f.fault)
        snprintf (want, sizeof want, "t.py:%u:1: %s", f.span + 1, dt_fault_name (f.fault));
    else
        snprintf (want, sizeof want, "t.py:%u:1: %s failed: said so", f.span + 1,
                  g->cond[ran.stop.index].kind == DT_COND_ASSUME ? "assume" : "require");
    if (ran.stop.of_request)
        strcat (want, " (request 0)");
    MUST (strcmp (err.text, want) == 0, "%s, not %s", err.text, want);
}

START_TEST (random_programs)
{
    struct dt_graph *g = random_graph ((uint64_t)_i, 10 + (uint32_t)_i % 60);
    uint8_t *call = dt_calloc (g->n_nodes + g->n_conds, 1);
    uint8_t *own = dt_calloc (g->n_nodes + g->n_conds, 1);
    int64_t *v = dt_calloc (g->n_nodes, sizeof *v);
    struct dt_buf b = { 0 }, text = { 0 };
    struct dt_vm *vm;
    struct env e;
    uint64_t at;

    emit (g, &b);
    vm = load (&b);
    own_parts (g, call, own);
    for (at = 0; env_at (g, at, &e); at++)
        check_env (g, vm, &e, call, own, v);
    ck_assert_uint_gt (at, 1000);
    dt_vm_disassemble (vm, &text);
    ck_assert_ptr_nonnull (dt_buf_str (&text));
    dt_buf_done (&text);
    dt_buf_done (&b);
    dt_vm_free (vm);
    dt_free (v);
    dt_free (own);
    dt_free (call);
    dt_graph_free (g);
}
END_TEST

/* --- a hand-made selector ------------------------------------------------------ */

static const struct dt_vm_range when[] = { { "tokens", 1, 64 }, { "requests", 2, 8 } };
static const struct dt_vm_cell cells[] = { { 4, when, 2 }, { 9, NULL, 0 } };
static const struct dt_vm_table tables[] = { { "workers", 0, cells, 2 } };
static const struct dt_emit_field fields[] = { { 1, 0, "" }, { 0, 1, "blocks" } };
static const struct dt_emit_options options = { .site = "site", .variant = "pinned",
                                                .field = fields, .table = tables,
                                                .n_tables = 1 };

/* per = n // q (q own), workers = n + p; require n != 3. */
static struct dt_graph *small (void)
{
    struct dt_graph *g = dt_graph_new ();
    struct dt_pin pin = { .name = "choose.p", .type = DT_TYPE_INT };
    struct dt_cond c = { .kind = DT_COND_REQUIRE, .message = "three is too many", .span = 4,
                         .guard = DT_NODE_NONE };
    struct dt_point per = { .field = "per", .type = DT_TYPE_INT };
    struct dt_point workers = { .field = "workers", .type = DT_TYPE_INT, .is_free = 1 };
    uint32_t n, q, p, three;

    random_rows (g);
    g->family = dt_graph_str (g, "attention");
    dt_graph_add_pin (g, &pin);
    n = random_add (g, (struct dt_node){ .op = DT_OP_INPUT, .type = DT_TYPE_INT, .imm = 0 });
    q = random_add (g, (struct dt_node){ .op = DT_OP_INPUT, .type = DT_TYPE_INT, .imm = 2 });
    p = random_add (g, (struct dt_node){ .op = DT_OP_PIN, .type = DT_TYPE_INT, .imm = 0 });
    dt_graph_const (g, DT_TYPE_INT, 3, &three, NULL);
    c.value = random_add (g, (struct dt_node){ .op = DT_OP_NE, .type = DT_TYPE_BOOL, .a = n,
                                               .b = three });
    dt_graph_add_cond (g, &c);
    per.node = random_add (g, (struct dt_node){ .op = DT_OP_FLOORDIV, .type = DT_TYPE_INT,
                                                .a = n, .b = q, .guard = DT_NODE_NONE });
    workers.node = random_add (g, (struct dt_node){ .op = DT_OP_ADD, .type = DT_TYPE_INT,
                                                    .a = n, .b = p, .guard = DT_NODE_NONE });
    dt_graph_add_point (g, &per);
    dt_graph_add_point (g, &workers);
    return g;
}

static struct dt_vm *small_vm (struct dt_buf *b)
{
    struct dt_graph *g = small ();
    struct dt_vm *vm;

    ck_assert_int_eq (dt_emit (g, &options, b, NULL), 0);
    vm = load (b);
    dt_graph_free (g);
    return vm;
}

START_TEST (schema)
{
    struct dt_buf b = { 0 };
    struct dt_vm *vm = small_vm (&b);
    size_t request;

    ck_assert_str_eq (dt_vm_family (vm), "attention");
    ck_assert_str_eq (dt_vm_site (vm), "site");
    ck_assert_str_eq (dt_vm_variant (vm), "pinned");
    ck_assert_uint_eq (dt_vm_inputs (vm), RANDOM_INPUTS + 1); /* the knobs are not needed */
    ck_assert_int_eq (dt_vm_input (vm, RANDOM_INPUTS)->klass, DT_VM_PIN);
    ck_assert_str_eq (dt_vm_input (vm, RANDOM_INPUTS)->name, "choose.p");
    ck_assert_str_eq (dt_vm_enum (vm, 1), "b");
    ck_assert_ptr_null (dt_vm_enum (vm, 2));
    ck_assert_ptr_null (dt_vm_enum (vm, -1));
    ck_assert (dt_vm_output (vm, 0)->own && dt_vm_output (vm, 0)->binding);
    ck_assert (!dt_vm_output (vm, 1)->own && dt_vm_output (vm, 1)->claim);
    ck_assert_str_eq (dt_vm_output (vm, 1)->unit, "blocks");
    ck_assert_uint_eq (dt_vm_code (vm, &request), 3);
    ck_assert_uint_eq (request, 1);
    ck_assert_uint_eq (dt_vm_tables (vm), 1);
    ck_assert_uint_eq (dt_vm_table (vm, 0)->output, 1);
    ck_assert_uint_eq (dt_vm_table (vm, 0)->n, 2);
    ck_assert_str_eq (dt_vm_table (vm, 0)->cell[0].when[1].quantity, "requests");
    ck_assert_int_eq (dt_vm_table (vm, 0)->cell[0].when[1].hi, 8);
    ck_assert_int_eq (dt_vm_table (vm, 0)->cell[1].value, 9);
    dt_vm_free (vm);
    dt_buf_done (&b);
}
END_TEST

/*           n  m  flag kind p   */
#define CALL(n) { (n), 2, 0, 1, 10 }

static const struct {
    int64_t in[5], own[3];
    size_t requests;
    const char *want; /* NULL: runs */
    int64_t workers, per[3];
} runs[] = {
    { CALL (4), { 3, 6, 3 }, 3, NULL, 14, { 1, 0, 1 } },
    { CALL (4), { 0 }, 0, NULL, 14, { 0 } },
    { CALL (5), { 3 }, 1, "n = 5 is outside its domain -2..4", 0, { 0 } },
    { { 4, 1, 0, 1, 0 }, { 3 }, 1, "m = 1 is outside its domain -7, -1, 0, 2, 5", 0, { 0 } },
    { { 4, 2, 2, 1, 0 }, { 3 }, 1, "flag = 2 is outside its domain False..True", 0, { 0 } },
    { { 4, 2, 0, 7, 0 }, { 3 }, 1, "kind = 7 is outside its domain \"a\"..\"b\"", 0, { 0 } },
    { CALL (3), { 6, 4 }, 2, "q = 4 is outside its domain 0..6 step 3 (request 1)", 0, { 0 } },
    { CALL (3), { 0, 3 }, 2, "t.py:5:1: require failed: three is too many", 0, { 0 } },
    { CALL (2), { 3, 0, 6 }, 3, "t.py:5:1: ZeroDivisionError (request 1)", 0, { 0 } },
};

START_TEST (run_case)
{
    struct dt_buf b = { 0 };
    struct dt_vm *vm = small_vm (&b);
    struct dt_vm_stop stop;
    struct dt_err err = { "" };
    int64_t regs[64], out[2] = { -1, -1 }, own_out[6];
    size_t i;
    int r;

    dt_vm_prepare (vm, regs);
    r = dt_vm_run (vm, regs, runs[_i].in, runs[_i].own, runs[_i].requests, out, own_out, &stop);
    if (runs[_i].want) {
        ck_assert_int_lt (r, 0);
        ck_assert_int_eq (dt_vm_describe (vm, &stop, &err), r);
        ck_assert_str_eq (err.text, runs[_i].want);
    } else {
        ck_assert_int_eq (r, 0);
        ck_assert_int_eq (out[1], runs[_i].workers);
        ck_assert_int_eq (out[0], -1); /* own outputs are not the call's */
        for (i = 0; i < runs[_i].requests; i++)
            ck_assert_int_eq (own_out[2 * i], runs[_i].per[i]);
    }
    dt_vm_free (vm);
    dt_buf_done (&b);
}
END_TEST

/* The vm's own short cuts against the one definition, at the edges of 32 and 64 bits. */
START_TEST (edges)
{
    static const int64_t edge[] = { INT64_MIN, INT64_MIN + 1, -(1LL << 32) - 1, -(1LL << 32),
                                    -(1LL << 31), -7, -1, 0, 1, 2, 7, (1LL << 31) - 1,
                                    (1LL << 32) - 1, 1LL << 32, INT64_MAX - 1, INT64_MAX };
    const size_t n_edges = DT_ARRAY_SIZE (edge);
    struct dt_graph *g = dt_graph_new ();
    struct dt_input in = { .name = "x", .klass = DT_INPUT_RUNTIME, .type = DT_TYPE_INT,
                           .domain = { .value = edge, .n = n_edges } };
    struct dt_node n = { .op = (uint8_t)(DT_OP_ADD + _i), .type = DT_TYPE_INT, .a = 0, .b = 1,
                         .guard = DT_NODE_NONE };
    struct dt_point p = { .field = "y", .type = DT_TYPE_INT };
    struct dt_vm_stop stop;
    struct dt_buf b = { 0 };
    struct dt_vm *vm;
    size_t i;

    dt_graph_add_input (g, &in);
    dt_graph_add_input (g, &in);
    random_add (g, (struct dt_node){ .op = DT_OP_INPUT, .type = DT_TYPE_INT, .imm = 0 });
    random_add (g, (struct dt_node){ .op = DT_OP_INPUT, .type = DT_TYPE_INT, .imm = 1 });
    p.node = random_add (g, n);
    dt_graph_add_point (g, &p);
    emit (g, &b);
    vm = load (&b);
    for (i = 0; i < n_edges * n_edges; i++) {
        int64_t x[2] = { edge[i % n_edges], edge[i / n_edges] }, regs[8], out = 0, want;
        enum dt_fault f = dt_op_eval (n.op, x[0], x[1], 0, &want);
        int r;

        dt_vm_prepare (vm, regs);
        r = dt_vm_run (vm, regs, x, NULL, 0, &out, NULL, &stop);

        MUST (f ? r == -DT_EEVAL && stop.fault == f : r == 0 && out == want,
              "%s (%lld, %lld) is %lld", dt_op_text (n.op), (long long)x[0], (long long)x[1],
              (long long)out);
    }
    dt_vm_free (vm);
    dt_buf_done (&b);
    dt_graph_free (g);
}
END_TEST

/* --- hostile blobs --------------------------------------------------------------- */

/* Load it; if that works, run it on inputs of its domains and outside them. */
static int try_blob (const uint8_t *data, size_t len)
{
    struct dt_vm *vm = NULL;
    struct dt_vm_stop stop;
    struct dt_err err;
    struct dt_buf text = { 0 };
    int64_t *regs, in[DT_VM_MAX_INPUTS], out[DT_VM_MAX_OUTPUTS];
    int64_t own[2 * DT_VM_MAX_INPUTS], own_out[2 * DT_VM_MAX_OUTPUTS];
    size_t i, n_in = 0, n_own = 0;

    if (dt_vm_load (data, len, &vm, &err) < 0)
        return 0;
    MUST (dt_vm_plan (vm, &err) == 0, "%s", err.text);
    for (i = 0; i < dt_vm_inputs (vm); i++) {
        const struct dt_vm_input *input = dt_vm_input (vm, i);

        if (input->klass == DT_VM_OWN)
            own[n_own++] = input->hi;
        else
            in[n_in++] = input->lo;
    }
    memcpy (own + n_own, own, n_own * sizeof *own);
    regs = dt_calloc (dt_vm_registers (vm) + 1, sizeof *regs);
    dt_vm_prepare (vm, regs);
    if (dt_vm_run (vm, regs, in, own, 2, out, own_out, &stop) < 0)
        MUST (dt_vm_describe (vm, &stop, &err) < 0, "described as no stop");
    dt_vm_disassemble (vm, &text);
    dt_buf_done (&text);
    dt_free (regs);
    dt_vm_free (vm);
    return 1;
}

START_TEST (truncations)
{
    struct dt_buf b = { 0 };
    uint8_t *copy;
    size_t n;

    dt_vm_free (small_vm (&b));
    for (n = 0; n < b.len; n++) {
        copy = dt_memdup (b.data, n); /* so that a sanitizer sees the end */
        ck_assert_int_eq (try_blob (copy, n), 0);
        dt_free (copy);
    }
    ck_assert_int_eq (try_blob (b.data, n), 1);
    dt_buf_done (&b);
}
END_TEST

/* What reads a request's values is no part of the call. */
START_TEST (parts)
{
    struct dt_buf b = { 0 };
    struct dt_canon_value root, v;
    const uint8_t *code;
    size_t n;

    dt_vm_free (small_vm (&b));
    ck_assert_int_eq (dt_canon_check (b.data, b.len, &root, NULL), 0);
    ck_assert_int_eq (dt_canon_as_bytes (dt_canon_get (root, "code"), &code, &n), 0);
    v = dt_canon_get (root, "request"); /* the call's instructions: 'i', 8 bytes */
    ck_assert_uint_eq (v.len, 9);
    ck_assert_uint_lt (v.at[1], n / 16);
    b.data[v.at + 1 - b.data] = (uint8_t)(n / 16);
    ck_assert_int_eq (try_blob (b.data, b.len), 0);
    dt_buf_done (&b);
}
END_TEST

START_TEST (mutations)
{
    static const uint8_t nasty[] = { 0, 1, 2, 0x7f, 0x80, 0xfe, 0xff };
    struct dt_buf b = { 0 };
    struct dt_graph *g = random_graph (77, 60);
    int i, k, loaded = 0;
    uint8_t *copy;

    emit (g, &b);
    rng_seed (5);
    for (i = 0; i < 20000; i++) {
        copy = dt_memdup (b.data, b.len);
        for (k = 1 + (int)rng (3); k > 0; k--)
            copy[rng ((uint32_t)b.len)] = rng (2) ? (uint8_t)rng (256) : nasty[rng (7)];
        loaded += try_blob (copy, b.len);
        dt_free (copy);
    }
    ck_assert_int_gt (loaded, 100); /* some get past the loader, and run */
    dt_graph_free (g);
    dt_buf_done (&b);
}
END_TEST

START_TEST (out_of_memory)
{
    struct dt_graph *g = small ();
    struct dt_buf b = { 0 };
    struct dt_vm *vm = NULL;
    size_t i;
    int r = -1;

    for (i = 0; r < 0; i++) {
        dt_mem_fail_after (i);
        r = dt_emit (g, &options, &b, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (r == 0 || (r == -ENOMEM && b.len == 0));
        if (r < 0)
            dt_buf_done (&b);
    }
    ck_assert_uint_gt (i, 10);
    for (i = 0, r = -1; r < 0; i++) {
        dt_mem_fail_after (i);
        r = dt_vm_load (b.data, b.len, &vm, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (r == 0 || (r == -ENOMEM && !vm));
    }
    ck_assert_uint_gt (i, 1);
    dt_vm_free (vm);
    dt_buf_done (&b);
    dt_graph_free (g);
}
END_TEST

START_TEST (versions)
{
    struct dt_buf b = { 0 };
    struct dt_vm *vm = NULL;
    size_t i;

    dt_vm_free (small_vm (&b));
    for (i = 0; i + 12 < b.len; i++)
        if (memcmp (b.data + i, "\2\0\0\0vmi\1", 8) == 0)
            b.data[i + 7] = 2;
    ck_assert_int_eq (dt_vm_load (b.data, b.len, &vm, NULL), -DT_EVERSION);
    ck_assert_ptr_null (vm);
    dt_buf_done (&b);
}
END_TEST

START_TEST (binding_tables)
{
    static const struct dt_vm_table bad[] = { { "per", 0, cells, 2 } };
    struct dt_emit_options o = options;
    struct dt_graph *g = small ();
    struct dt_buf b = { 0 };
    struct dt_vm *vm = NULL;

    o.table = bad; /* it would change bits */
    ck_assert_int_eq (dt_emit (g, &o, &b, NULL), 0);
    ck_assert_int_eq (dt_vm_load (b.data, b.len, &vm, NULL), -DT_ECORRUPT);
    dt_buf_done (&b);
    dt_graph_free (g);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/vm");
    TCase *tc = tcase_create ("vm");

    tcase_set_timeout (tc, 120);
    tcase_add_loop_test (tc, random_programs, 0, 60);
    tcase_add_test (tc, schema);
    tcase_add_loop_test (tc, run_case, 0, (int)DT_ARRAY_SIZE (runs));
    tcase_add_loop_test (tc, edges, 0, DT_OP_MAX - DT_OP_ADD + 1);
    tcase_add_test (tc, truncations);
    tcase_add_test (tc, parts);
    tcase_add_test (tc, mutations);
    tcase_add_test (tc, out_of_memory);
    tcase_add_test (tc, versions);
    tcase_add_test (tc, binding_tables);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
