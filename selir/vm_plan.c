/* selir/vm_plan.c - what makes runs short: a memo for the part of the code that few
 * values decide, and whether the largest of the requests can speak for all.  Neither
 * changes what a run gives, nor which stop it names. */
#include <string.h>

#include "base/mem.h"
#include "selir/vm_int.h"

/* Below this, running is as short as looking up. */
#define MIN_SAVED 48
#define KEY_COST 8   /* instructions that another key must save */
#define CANDIDATES 6 /* registers that are tried as keys: the most read */

struct plan {
    struct dt_vm *vm;
    const struct dt_insn *code;
    size_t n;
    uint32_t *reads;   /* [registers] how often each is read                        */
    uint32_t *writer;  /* [registers] the instruction that does, n for none         */
    uint8_t *known;    /* [registers] by constants and keys alone                   */
    uint8_t *is_bool;  /* [registers] for plan_requests                             */
    uint8_t *region;   /* [n] instruction is in the memo                            */
    uint8_t *early;    /* [n] instruction is before the memo                        */
    uint16_t candidate[CANDIDATES];
    size_t n_candidates;
};

/* Registers that an instruction reads: operands and guard. */
static int reads_of (const struct dt_insn *i, uint16_t read[4])
{
    int n = 0, args = i->op == DT_VM_CHECK ? 1 : dt_op_args ((uint8_t)i->op);

    if (i->op == DT_OP_FAIL)
        args = 0; /* `a` is the fault */
    if (args > 0)
        read[n++] = i->a;
    if (args > 1)
        read[n++] = i->b;
    if (args > 2)
        read[n++] = i->c;
    if (i->guard != DT_VM_ALWAYS && i->guard != DT_VM_NEVER)
        read[n++] = i->guard;
    return n;
}

static int is_partial (const struct dt_insn *i)
{
    return i->op != DT_VM_CHECK && dt_op_partial ((uint8_t)i->op);
}

/* Can it end the run? */
static int is_event (const struct dt_insn *i)
{
    return i->op == DT_VM_CHECK || (is_partial (i) && i->guard != DT_VM_NEVER);
}

static void count_reads (struct plan *p)
{
    uint16_t read[4];

    for (size_t r = 0; r < p->vm->registers; r++)
        p->writer[r] = (uint32_t)p->n;
    for (size_t k = 0; k < p->n; k++) {
        for (int j = reads_of (&p->code[k], read); j-- > 0;)
            p->reads[read[j]]++;
        if (p->code[k].op != DT_VM_CHECK)
            p->writer[p->code[k].dst] = (uint32_t)k;
    }
}

static int is_constant (const struct dt_vm *vm, size_t r)
{
    return r >= vm->n_inputs && r < vm->n_inputs + vm->n_constants;
}

/* The most read registers that are no constants, the most first. */
static void find_candidates (struct plan *p)
{
    for (size_t r = 0; r < p->vm->registers; r++) {
        size_t k = p->n_candidates;

        if (is_constant (p->vm, r) || p->reads[r] < 2)
            continue;
        if (k == CANDIDATES && p->reads[p->candidate[--k]] >= p->reads[r])
            continue;
        for (; k > 0 && p->reads[p->candidate[k - 1]] < p->reads[r]; k--)
            p->candidate[k] = p->candidate[k - 1];
        p->candidate[k] = (uint16_t)r;
        p->n_candidates += p->n_candidates < CANDIDATES;
    }
}

/* Mark as early what the keys are computed from. */
static void mark_needed (struct plan *p, const uint16_t *key, size_t n_keys)
{
    uint16_t read[4];

    memset (p->early, 0, p->n);
    for (size_t i = 0; i < n_keys; i++)
        if (p->writer[key[i]] < p->n)
            p->early[p->writer[key[i]]] = 1;
    for (size_t k = p->n; k-- > 0;)
        for (int j = p->early[k] ? reads_of (&p->code[k], read) : 0; j-- > 0;)
            if (p->writer[read[j]] < p->n)
                p->early[p->writer[read[j]]] = 1;
}

/* Mark the instructions that the keys decide, but those that they need: how many. */
static size_t mark_region (struct plan *p, const uint16_t *key, size_t n_keys)
{
    const struct dt_vm *vm = p->vm;
    size_t count = 0;
    uint16_t read[4];

    mark_needed (p, key, n_keys);
    memset (p->known, 0, vm->registers);
    memset (p->known + vm->n_inputs, 1, vm->n_constants);
    for (size_t i = 0; i < n_keys; i++)
        p->known[key[i]] = 1;
    for (size_t k = 0; k < p->n; k++) {
        const struct dt_insn *i = &p->code[k];
        uint8_t known = i->op != DT_VM_CHECK && i->op != DT_OP_FAIL;

        for (int j = reads_of (i, read); known && j-- > 0;)
            known = p->known[read[j]];
        if (known)
            p->known[i->dst] = 1;
        p->region[k] = known && !p->early[k];
        count += p->region[k];
    }
    return count;
}

/* Registers of the region that are read elsewhere: how many, the first few in `out`. */
static size_t find_results (const struct plan *p, uint16_t *out)
{
    const struct dt_vm *vm = p->vm;
    size_t n = 0;
    uint16_t read[4];

    memset (p->known, 0, vm->registers); /* now: is read outside */
    for (size_t k = 0; k < p->n; k++)
        if (!p->region[k])
            for (int j = reads_of (&p->code[k], read); j-- > 0;)
                p->known[read[j]] = 1;
    for (size_t k = 0; k < vm->n_part[1]; k++)
        for (int j = reads_of (&vm->part[1][k], read); j-- > 0;)
            p->known[read[j]] = 1;
    for (size_t i = 0; i < vm->n_outputs; i++)
        p->known[vm->output_reg[i]] = 1;
    for (size_t k = 0; k < p->n; k++) {
        uint16_t dst = p->code[k].dst;

        if (!p->region[k] || !p->known[dst])
            continue;
        if (n < DT_VM_MEMO_RESULTS)
            out[n] = dst;
        n++;
    }
    return n;
}

static int reads_region (const struct plan *p, const struct dt_insn *i)
{
    uint16_t read[4];

    for (int j = reads_of (i, read); j-- > 0;)
        if (p->writer[read[j]] < p->n && p->region[p->writer[read[j]]])
            return 1;
    return 0;
}

/* Where the memo goes: after its last event, or before the first instruction that is not
 * of it and reads what it gives. */
static size_t place_of (const struct plan *p)
{
    size_t at = p->n, last = p->n;

    for (size_t k = p->n; k-- > 0;) {
        if (!p->region[k] && reads_region (p, &p->code[k]))
            at = k;
        if (p->region[k] && last == p->n && is_event (&p->code[k]))
            last = k + 1;
    }
    return last < at ? last : at;
}

/* What goes before the memo: all that stood before `at` and all that the keys need.
 * 0 if an event would have to move. */
static int mark_early (struct plan *p, size_t at)
{
    for (size_t k = at; k < p->n; k++)
        if (p->early[k] && is_event (&p->code[k]))
            return 0;
    for (size_t k = 0; k < at; k++)
        p->early[k] = !p->region[k];
    return 1;
}

/* Would the memo's events change places with others? */
static int keeps_order (const struct plan *p, size_t at)
{
    size_t lo = at, hi = at;

    for (size_t k = 0; k < p->n; k++)
        if (p->region[k] && is_event (&p->code[k])) {
            lo = k < lo ? k : lo;
            hi = k > hi ? k : hi;
        }
    for (size_t k = lo; k < hi; k++)
        if (!p->region[k] && is_event (&p->code[k]))
            return 0;
    return 1;
}

/* Mark what comes before the memo; 0 if an event would change places with another. */
static int can_place (struct plan *p)
{
    size_t at = place_of (p);

    return mark_early (p, at) && keeps_order (p, at);
}

struct choice {
    uint16_t key[DT_VM_MEMO_KEYS];
    size_t n_keys;
    int64_t saves;
};

static void consider (struct plan *p, const uint16_t *key, size_t n_keys, struct choice *best)
{
    uint16_t result[DT_VM_MEMO_RESULTS];
    int64_t saves = (int64_t)mark_region (p, key, n_keys) - KEY_COST * (int64_t)n_keys;

    if (saves <= best->saves || !can_place (p) || find_results (p, result) > DT_VM_MEMO_RESULTS)
        return;
    memcpy (best->key, key, n_keys * sizeof *key);
    best->n_keys = n_keys;
    best->saves = saves;
}

/* One, two or three keys. */
static void choose_keys (struct plan *p, struct choice *best)
{
    for (size_t a = 0; a < p->n_candidates; a++) {
        uint16_t key[DT_VM_MEMO_KEYS] = { p->candidate[a] };

        consider (p, key, 1, best);
        for (size_t b = a + 1; b < p->n_candidates; b++) {
            key[1] = p->candidate[b];
            consider (p, key, 2, best);
            for (size_t c = b + 1; c < p->n_candidates; c++) {
                key[2] = p->candidate[c];
                consider (p, key, 3, best);
            }
        }
    }
}

/* The code in its new order: before, region, after, each with an END. */
static int lay_out (const struct plan *p)
{
    struct dt_insn *to = dt_arena_array (&p->vm->arena, p->n + 3, sizeof *to);

    if (!to)
        return -1;
    for (int part = 0; part < 3; part++) {
        p->vm->step[part] = to;
        for (size_t k = 0; k < p->n; k++)
            if (part == (p->region[k] ? 1 : p->early[k] ? 0 : 2))
                *to++ = p->code[k];
        *to++ = (struct dt_insn){ .op = DT_VM_END };
    }
    return 0;
}

static int plan_memo (struct plan *p)
{
    struct choice best = { .n_keys = 0 };
    struct dt_vm_memo *m = &p->vm->memo;

    count_reads (p);
    find_candidates (p);
    choose_keys (p, &best);
    if (best.saves < MIN_SAVED)
        return 0;
    mark_region (p, best.key, best.n_keys);
    can_place (p); /* it can */
    m->n_results = find_results (p, m->result);
    memcpy (m->key, best.key, sizeof m->key);
    m->n_keys = best.n_keys;
    m->width = 1 + m->n_keys + m->n_results;
    return lay_out (p);
}

/* --- requests ------------------------------------------------------------------ */

/* How a register of the request's part changes where the input grows. */
enum { FIXED = 0, UP = 1, DOWN = -1, UNKNOWN = 2 };

static int flip (int d)
{
    return d == UNKNOWN ? d : -d;
}

static int both (int a, int b)
{
    return a == FIXED || a == b ? b : b == FIXED ? a : UNKNOWN;
}

static int64_t constant_of (const struct dt_vm *vm, uint16_t r)
{
    return is_constant (vm, r) ? vm->constant[r - vm->n_inputs] : -1;
}

static int direction (const struct dt_vm *vm, const struct dt_insn *i, const int8_t *d)
{
    int a = d[i->a], b = d[i->b], c = d[i->c];

    switch (i->op) {
    case DT_OP_NEG: return flip (a);
    case DT_OP_ADD: return both (a, b);
    case DT_OP_SUB: return both (a, flip (b));
    case DT_OP_MUL: return constant_of (vm, i->b) >= 0 ? a : constant_of (vm, i->a) >= 0 ? b : UNKNOWN;
    case DT_OP_FLOORDIV: return constant_of (vm, i->b) > 0 ? a : UNKNOWN;
    case DT_OP_MIN:
    case DT_OP_MAX: return both (a, b);
    case DT_OP_LT:
    case DT_OP_LE: return both (flip (a), b);
    /* Operands are bools of 0 and 1: the emitter has no other. */
    case DT_OP_NOT: return flip (a);
    case DT_OP_AND:
    case DT_OP_OR: return both (a, b);
    case DT_OP_SELECT: return a == FIXED ? both (b, c) : UNKNOWN;
    default: return UNKNOWN;
    }
}

/* A blob may give an int where a bool is meant; its sign would then count. */
static int takes_bools (const struct dt_insn *i)
{
    return i->op == DT_VM_CHECK || i->op == DT_OP_NOT || i->op == DT_OP_AND || i->op == DT_OP_OR;
}

static int gives_bool (const struct dt_insn *i)
{
    return takes_bools (i) || i->op == DT_OP_LT || i->op == DT_OP_LE;
}

/* 1 if what holds for the largest of the input holds for all. */
static int largest_speaks (const struct dt_vm *vm, size_t input, int8_t *d, uint8_t *is_bool)
{
    uint16_t read[4];

    memset (d, FIXED, vm->registers);
    memset (is_bool, 0, vm->registers);
    d[input] = UP;
    for (size_t k = 0; k < vm->n_part[1]; k++) {
        const struct dt_insn *i = &vm->part[1][k];
        int moves = 0, bools = 1;

        for (int j = reads_of (i, read); j-- > 0;)
            if (d[read[j]] != FIXED) {
                moves = 1;
                bools &= is_bool[read[j]];
            }
        if (!moves) {
            if (i->op != DT_VM_CHECK)
                is_bool[i->dst] = (uint8_t)gives_bool (i);
            continue;
        }
        if ((takes_bools (i) && !bools) || (is_partial (i) && i->guard != DT_VM_NEVER))
            return 0;
        if (i->op == DT_VM_CHECK) {
            if (d[i->a] == UP || (i->guard != DT_VM_ALWAYS && d[i->guard] != FIXED))
                return 0;
            continue;
        }
        if ((d[i->dst] = (int8_t)direction (vm, i, d)) == UNKNOWN)
            return 0;
        is_bool[i->dst] = (uint8_t)gives_bool (i);
    }
    return 1;
}

static void plan_requests (struct dt_vm *vm, int8_t *d, uint8_t *is_bool)
{
    size_t reads[DT_VM_MAX_INPUTS] = { 0 }, own = 0, n = 0;
    uint16_t read[4];

    for (size_t i = 0; i < vm->n_outputs; i++)
        if (vm->output[i].own)
            return;
    for (size_t k = 0; k < vm->n_part[1]; k++)
        for (int j = reads_of (&vm->part[1][k], read); j-- > 0;)
            if (read[j] < vm->n_inputs)
                reads[read[j]]++;
    for (size_t i = 0; i < vm->n_inputs; i++)
        if (vm->input[i].klass == DT_VM_OWN) {
            if (vm->input[i].step != 1)
                return; /* domains are checked by their ends */
            if (reads[i] > 0) {
                own = i;
                n++;
            }
        }
    vm->by_largest = n == 0 || (n == 1 && largest_speaks (vm, own, d, is_bool));
}

/* --------------------------------------------------------------------------------- */

int dt_vm_plan (struct dt_vm *vm, struct dt_err *reterr)
{
    struct plan p = { .vm = vm, .code = vm->part[0], .n = vm->n_part[0] };
    int r = -1;

    p.reads = dt_calloc (vm->registers + 1, sizeof *p.reads);
    p.writer = dt_calloc (vm->registers + 1, sizeof *p.writer);
    p.known = dt_calloc (vm->registers + 1, 1);
    p.is_bool = dt_calloc (vm->registers + 1, 1);
    p.region = dt_calloc (p.n + 1, 1);
    p.early = dt_calloc (p.n + 1, 1);
    if (p.reads && p.writer && p.known && p.is_bool && p.region && p.early) {
        r = plan_memo (&p);
        plan_requests (vm, (int8_t *)p.known, p.is_bool);
    }
    dt_free (p.reads);
    dt_free (p.writer);
    dt_free (p.known);
    dt_free (p.is_bool);
    dt_free (p.region);
    dt_free (p.early);
    return r < 0 ? dt_err_nomem (reterr) : 0;
}
