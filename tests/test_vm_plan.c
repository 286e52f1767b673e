/* A vm that was planned gives what a plain one gives: values, and which stop. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "selir/emit.h"
#include "selir/program.h"
#include "selir/simplify.h"
#include "selir/vm.h"
#include "tests/suite.h"

/* The split heuristic in small: 60 quotients of x, those that y allows, the first that is
 * near the best. */
#define HEAD \
    "from selir import Batch, Facts, Own, Record, Runtime, assume, require, selection\n" \
    "class Model(Facts):\n    most: int\n" \
    "class Call(Batch):\n" \
    "    x: Runtime[range(0, 40)]\n" \
    "    y: Runtime[range(0, 40)]\n" \
    "    z: Runtime[range(0, 40)]\n" \
    "    kv: Own[range(1, 100)]\n" \
    "class Choice(Record):\n" \
    "    out: int\n" \
    "    cap: int\n" \
    "@selection(family='f')\n" \
    "def choose(facts: Model, call: Call) -> Choice:\n"
#define SCAN(divisor) \
    "    most = min(call.y, facts.most)\n" \
    "    best = 0\n" \
    "    out = 1\n" \
    "    if call.y > 3:\n" \
    "        fill = [call.x * i * 1000 // " divisor " for i in range(1, 61)]\n" \
    "        for i in range(60):\n" \
    "            if i < most:\n" \
    "                best = max(best, fill[i] % 997)\n" \
    "        for i in range(60):\n" \
    "            if i < most and fill[i] % 997 >= best - 9:\n" \
    "                out = out + i\n"
#define TAIL "    return Choice(out=out, cap=call.z)\n"

static const struct {
    const char *what, *text;
    int has_memo, by_largest;
} cases[] = {
    { "a memo, and limits on the largest request",
      HEAD SCAN ("(i + 3)") "    require(call.kv <= 99 - call.z, 'z')\n"
                            "    require(out == 1 or out * 9 + 5 - call.kv >= call.z, 'out')\n" TAIL,
      1, 1 },
    { "what faults is not kept, and conditions before it come first",
      HEAD "    require(call.z < 33, 'first')\n" SCAN ("(call.x % 7 + 0 * i)")
           "    require(out + call.z != 40, 'last')\n    require(call.kv < 90, 'kv')\n" TAIL,
      1, 1 },
    { "conditions in between keep their place",
      HEAD SCAN ("(i + 3)") "    require(out != 1 or call.z < 20, 'one')\n"
                            "    require(100 // (call.z % 5 - 3) < 40, 'z')\n"
                            "    require(best + call.z != 500, 'best')\n" TAIL,
      1, 1 },
    { "a condition that the smallest request breaks",
      HEAD SCAN ("(i + 3)") "    require(call.kv >= call.z, 'z')\n" TAIL, 1, 0 },
    { "one that any request may break",
      HEAD SCAN ("(i + 3)") "    require(call.kv % 8 != call.z, 'z')\n" TAIL, 1, 0 },
    { "a request's fault", HEAD SCAN ("(i + 3)") "    require(9 // (call.kv - call.z) < 9, 'z')\n" TAIL,
      1, 0 },
    { "too short for a memo",
      HEAD "    out = 100 // (call.x + 1)\n    require(call.kv + out < 110, 'kv')\n" TAIL, 0, 1 },
};

static struct dt_vm *load (const struct dt_buf *blob)
{
    struct dt_vm *vm = NULL;

    ck_assert_int_eq (dt_vm_load (blob->data, blob->len, &vm, NULL), 0);
    return vm;
}

static void compile (const char *text, struct dt_buf *blob)
{
    const struct dt_source source = { "p.py", text, strlen (text) };
    const struct dt_fact fact = { .name = "most", .kind = DT_FACT_INT, .i = 30 };
    const struct dt_emit_options options = { .site = "s", .variant = "stock" };
    struct dt_program *p = NULL;
    struct dt_graph *g = NULL, *simple = NULL;
    struct dt_err err = { "" };
    uint32_t *map = NULL;

    ck_assert_msg (dt_program_parse (&source, 1, &p, &err) == 0, "%s", err.text);
    ck_assert_msg (dt_program_specialise (p, &fact, 1, &g, &err) == 0, "%s", err.text);
    ck_assert_msg (dt_simplify (g, DT_PASS_ALL, NULL, 1, &simple, &map, &err) == 0, "%s", err.text);
    ck_assert_msg (dt_emit (simple, &options, blob, &err) == 0, "%s", err.text);
    dt_free (map);
    dt_graph_free (simple);
    dt_graph_free (g);
    dt_program_free (p);
}

struct machine {
    struct dt_vm *vm;
    int64_t *regs, out[2];
    struct dt_vm_stop stop;
    int r;
};

static void machine_init (struct machine *m, const struct dt_buf *blob, int plan)
{
    memset (m, 0, sizeof *m);
    m->vm = load (blob);
    if (plan)
        ck_assert_int_eq (dt_vm_plan (m->vm, NULL), 0);
    m->regs = dt_calloc (dt_vm_registers (m->vm), sizeof *m->regs);
    memset (m->regs, 0x5a, dt_vm_registers (m->vm) * sizeof *m->regs);
    dt_vm_prepare (m->vm, m->regs);
}

static void run (struct machine *m, const int64_t *in, const int64_t *own, size_t n)
{
    memset (m->out, 0, sizeof m->out);
    memset (&m->stop, 0, sizeof m->stop);
    m->r = dt_vm_run (m->vm, m->regs, in, own, n, m->out, NULL, &m->stop);
}

static void machine_done (struct machine *m)
{
    dt_free (m->regs);
    dt_vm_free (m->vm);
}

/* One that stops tells of the call's values nothing. */
static void same (const struct machine *a, const struct machine *b, const char *what,
                  const int64_t *in)
{
    ck_assert_msg (a->r == b->r && (a->r < 0 || !memcmp (a->out, b->out, sizeof a->out))
                       && a->stop.what == b->stop.what && a->stop.index == b->stop.index
                       && a->stop.fault == b->stop.fault && a->stop.value == b->stop.value
                       && a->stop.of_request == b->stop.of_request
                       && a->stop.request == b->stop.request,
                   "%s: x=%d y=%d z=%d: %d and %d", what, (int)in[0], (int)in[1], (int)in[2],
                   a->r, b->r);
}

START_TEST (planned)
{
    struct dt_buf blob = { 0 };
    struct machine plain, quick;
    uint64_t rng = 88172645463325252u + (uint64_t)_i;
    int stops = 0;

    compile (cases[_i].text, &blob);
    machine_init (&plain, &blob, 0);
    machine_init (&quick, &blob, 1);
    ck_assert_int_eq (dt_vm_registers (quick.vm) > dt_vm_registers (plain.vm), cases[_i].has_memo);
    ck_assert_int_eq (dt_vm_by_largest (quick.vm), cases[_i].by_largest);
    for (int k = 0; k < 60000; k++) {
        int64_t in[3], own[3];

        for (int j = 0; j < 6; j++) {
            rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17; /* xorshift64 */
            if (j < 3) /* now and then outside the domain */
                in[j] = (int64_t)((rng >> 20) % 40) + (rng >> 50 == 0);
            else
                own[j - 3] = 1 + (int64_t)((rng >> 20) % 99) + (rng >> 50 == 0);
        }
        run (&plain, in, own, (size_t)(rng % 4));
        run (&quick, in, own, (size_t)(rng % 4));
        same (&plain, &quick, cases[_i].what, in);
        stops += plain.r < 0;
    }
    ck_assert_int_gt (stops, 1000);
    ck_assert_int_lt (stops, 59000);
    machine_done (&plain);
    machine_done (&quick);
    dt_buf_done (&blob);
}
END_TEST

START_TEST (out_of_memory)
{
    struct dt_buf blob = { 0 };
    struct dt_vm *vm;
    size_t i;
    int r = -1;

    compile (cases[0].text, &blob);
    for (i = 0; r < 0; i++) {
        vm = load (&blob);
        dt_mem_fail_after (i);
        r = dt_vm_plan (vm, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (r == 0 || r == -ENOMEM);
        dt_vm_free (vm);
    }
    ck_assert_uint_gt (i, 5);
    dt_buf_done (&blob);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("selir/vm_plan");
    TCase *tc = tcase_create ("vm_plan");

    tcase_set_timeout (tc, 120);
    tcase_add_loop_test (tc, planned, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test (tc, out_of_memory);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
