/* selir/vm.c - run a selector.  Loading has checked every index, so the loop
 * checks none. */
#include "selir/vm.h"

#include <string.h>

#include "selir/vm_int.h"

static int in_domain (const struct dt_vm_input *in, int64_t v)
{
    size_t lo = 0, hi = in->n;

    if (v < in->lo || v > in->hi)
        return 0;
    if (in->step != 0)
        return in->step == 1
               || ((uint64_t)v - (uint64_t)in->lo) % (uint64_t)in->step == 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (in->value[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < in->n && in->value[lo] == v;
}

static int outside (struct dt_vm_stop *stop, size_t input, int64_t v)
{
    *stop = (struct dt_vm_stop){ .what = DT_VM_DOMAIN, .index = (uint32_t)input, .value = v };
    return -DT_EREFUSED;
}

static int of_request (struct dt_vm_stop *stop, size_t request, int r)
{
    stop->of_request = 1;
    stop->request = request;
    return r;
}

/* Inputs of the call into their registers. */
static int take_inputs (const struct dt_vm *vm, int64_t *regs, const int64_t *in,
                        struct dt_vm_stop *stop)
{
    for (size_t i = 0; i < vm->n_inputs; i++) {
        if (vm->input[i].klass == DT_VM_OWN)
            continue;
        if (!in_domain (&vm->input[i], *in))
            return outside (stop, i, *in);
        regs[i] = *in++;
    }
    return 0;
}

/* All requests' inputs against their domains. */
static int check_own (const struct dt_vm *vm, const int64_t *own, size_t n_requests,
                      struct dt_vm_stop *stop)
{
    for (size_t q = 0; vm->n_own > 0 && q < n_requests; q++) {
        for (size_t i = 0; i < vm->n_inputs; i++) {
            if (vm->input[i].klass != DT_VM_OWN)
                continue;
            if (!in_domain (&vm->input[i], *own))
                return of_request (stop, q, outside (stop, i, *own));
            own++;
        }
    }
    return 0;
}

/* The largest of each input that is a request's into its register: 1 if all lie in
 * their domains.  Where the vm goes by_largest, domains have no gaps. */
static int take_largest (const struct dt_vm *vm, int64_t *regs, const int64_t *own,
                         size_t n_requests)
{
    for (size_t i = 0, k = 0; i < vm->n_inputs; i++) {
        int64_t least = INT64_MAX, most = INT64_MIN;

        if (vm->input[i].klass != DT_VM_OWN)
            continue;
        for (const int64_t *v = own + k; v < own + n_requests * vm->n_own; v += vm->n_own) {
            least = *v < least ? *v : least;
            most = *v > most ? *v : most;
        }
        if (n_requests > 0 && (least < vm->input[i].lo || most > vm->input[i].hi))
            return 0;
        regs[i] = most;
        k++;
    }
    return 1;
}

static void take_own (const struct dt_vm *vm, int64_t *regs, const int64_t *own, size_t request)
{
    size_t i, k = request * vm->n_own;

    for (i = 0; i < vm->n_inputs; i++)
        if (vm->input[i].klass == DT_VM_OWN)
            regs[i] = own[k++];
}

/* The two ways an instruction can end the run. */
static int fault (const struct dt_insn *i, const int64_t *r, enum dt_fault what)
{
    return what != DT_FAULT_NONE && i->guard != DT_VM_NEVER
           && (i->guard == DT_VM_ALWAYS || r[i->guard] != 0);
}

static int stopped (struct dt_vm_stop *stop, const struct dt_insn *i, enum dt_fault what)
{
    *stop = (struct dt_vm_stop){ .what = what ? DT_VM_FAULT : DT_VM_CONDITION,
                                 .index = i->aux, .fault = (uint8_t)what };
    return what ? -DT_EEVAL : -DT_EREFUSED;
}

/* a // b for b > 0.  Below 0, floor (a / b) is ~(~a / b).  Division by 32 bits is
 * several times cheaper on most cores, and most operands fit. */
static int64_t floor_by (int64_t a, int64_t b)
{
    uint64_t sign = (uint64_t)(a >> 63), u = (uint64_t)a ^ sign, q;

    if (((u | (uint64_t)b) >> 32) == 0)
        q = (uint32_t)u / (uint32_t)b;
    else
        q = u / (uint64_t)b;
    return (int64_t)(q ^ sign);
}

/* Ops whose value is one expression; partial ones go through dt_op_eval unless
 * the common case is as short. */
static int exec (const struct dt_insn *i, int64_t *r, struct dt_vm_stop *stop)
{
    enum dt_fault f;

    for (;; i++) {
        switch (i->op) {
        case DT_OP_ADD:
            if (__builtin_add_overflow (r[i->a], r[i->b], &r[i->dst]))
                goto partial;
            break;
        case DT_OP_SUB:
            if (__builtin_sub_overflow (r[i->a], r[i->b], &r[i->dst]))
                goto partial;
            break;
        case DT_OP_MUL:
            if (__builtin_mul_overflow (r[i->a], r[i->b], &r[i->dst]))
                goto partial;
            break;
        case DT_OP_NEG:
            if (__builtin_sub_overflow (0, r[i->a], &r[i->dst]))
                goto partial;
            break;
        case DT_OP_FLOORDIV:
            if (r[i->b] <= 0)
                goto partial;
            r[i->dst] = floor_by (r[i->a], r[i->b]);
            break;
        case DT_OP_MOD:
            if (r[i->b] <= 0)
                goto partial;
            r[i->dst] = (int64_t)((uint64_t)r[i->a] /* the product may wrap, not the rest */
                                  - (uint64_t)floor_by (r[i->a], r[i->b]) * (uint64_t)r[i->b]);
            break;
        case DT_OP_FAIL:
            f = (enum dt_fault)i->a;
            r[i->dst] = 0;
            if (fault (i, r, f))
                return stopped (stop, i, f);
            break;
        case DT_OP_MIN: r[i->dst] = r[i->b] < r[i->a] ? r[i->b] : r[i->a]; break;
        case DT_OP_MAX: r[i->dst] = r[i->b] > r[i->a] ? r[i->b] : r[i->a]; break;
        case DT_OP_LT: r[i->dst] = r[i->a] < r[i->b]; break;
        case DT_OP_LE: r[i->dst] = r[i->a] <= r[i->b]; break;
        case DT_OP_EQ: r[i->dst] = r[i->a] == r[i->b]; break;
        case DT_OP_NE: r[i->dst] = r[i->a] != r[i->b]; break;
        case DT_OP_NOT: r[i->dst] = !r[i->a]; break;
        case DT_OP_AND: r[i->dst] = (r[i->a] != 0) & (r[i->b] != 0); break;
        case DT_OP_OR: r[i->dst] = (r[i->a] != 0) | (r[i->b] != 0); break;
        case DT_OP_INT: r[i->dst] = r[i->a]; break;
        case DT_OP_BOOL: r[i->dst] = r[i->a] != 0; break;
        case DT_OP_SELECT: r[i->dst] = r[i->a] ? r[i->b] : r[i->c]; break;
        /* The float ops that are frequent. */
        case DT_OP_FADD:
            r[i->dst] = dt_op_bits (dt_op_double (r[i->a]) + dt_op_double (r[i->b]));
            break;
        case DT_OP_FSUB:
            r[i->dst] = dt_op_bits (dt_op_double (r[i->a]) - dt_op_double (r[i->b]));
            break;
        case DT_OP_FMUL:
            r[i->dst] = dt_op_bits (dt_op_double (r[i->a]) * dt_op_double (r[i->b]));
            break;
        case DT_OP_FDIV:
            if (dt_op_double (r[i->b]) == 0)
                goto partial;
            r[i->dst] = dt_op_bits (dt_op_double (r[i->a]) / dt_op_double (r[i->b]));
            break;
        case DT_OP_FNEG: r[i->dst] = dt_op_bits (-dt_op_double (r[i->a])); break;
        case DT_OP_F32: r[i->dst] = dt_op_bits ((float)dt_op_double (r[i->a])); break;
        case DT_OP_FLT: r[i->dst] = dt_op_double (r[i->a]) < dt_op_double (r[i->b]); break;
        case DT_OP_FLE: r[i->dst] = dt_op_double (r[i->a]) <= dt_op_double (r[i->b]); break;
        case DT_OP_ITOF: r[i->dst] = dt_op_bits ((double)r[i->a]); break;
        case DT_VM_CHECK:
            if (!r[i->a] && (i->guard == DT_VM_ALWAYS || r[i->guard]))
                return stopped (stop, i, DT_FAULT_NONE);
            break;
        case DT_VM_END: return 0;
        default: partial: /* operands are intact: no op writes over its own */
            f = dt_op_eval ((uint8_t)i->op, r[i->a], r[i->b], r[i->c], &r[i->dst]);
            if (fault (i, r, f))
                return stopped (stop, i, f);
            break;
        }
    }
}

/* --- the memo ------------------------------------------------------------------ */

static int64_t *memo_slot (const struct dt_vm *vm, int64_t *regs)
{
    static const uint64_t factor[DT_VM_MEMO_KEYS] /* odd, of no pattern */
        = { 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u };
    const struct dt_vm_memo *m = &vm->memo;
    uint64_t h = 0;

    for (size_t k = 0; k < m->n_keys; k++)
        h += ((uint64_t)regs[m->key[k]] ^ (uint64_t)regs[m->key[k]] >> 32) * factor[k];
    return regs + vm->registers + (h >> (64 - DT_VM_MEMO_BITS)) * m->width;
}

static int memo_has (const struct dt_vm_memo *m, const int64_t *regs, const int64_t *slot)
{
    if (!slot[0])
        return 0;
    for (size_t k = 0; k < m->n_keys; k++)
        if (slot[1 + k] != regs[m->key[k]])
            return 0;
    return 1;
}

static int run_memo (const struct dt_vm *vm, int64_t *regs, struct dt_vm_stop *stop)
{
    const struct dt_vm_memo *m = &vm->memo;
    int64_t *slot = memo_slot (vm, regs), *result = slot + 1 + m->n_keys;
    size_t k;
    int r;

    if (memo_has (m, regs, slot)) {
        for (k = 0; k < m->n_results; k++)
            regs[m->result[k]] = result[k];
        return 0;
    }
    if ((r = exec (vm->step[1], regs, stop)) < 0)
        return r;
    slot[0] = 1;
    for (k = 0; k < m->n_keys; k++)
        slot[1 + k] = regs[m->key[k]];
    for (k = 0; k < m->n_results; k++)
        result[k] = regs[m->result[k]];
    return 0;
}

/* ------------------------------------------------------------------------------------ */

size_t dt_vm_registers (const struct dt_vm *vm)
{
    return vm->registers + (vm->memo.n_keys ? DT_VM_MEMO_SLOTS * vm->memo.width : 0);
}

void dt_vm_prepare (const struct dt_vm *vm, int64_t *regs)
{
    memset (regs, 0, dt_vm_registers (vm) * sizeof *regs);
    if (vm->n_constants > 0)
        memcpy (regs + vm->n_inputs, vm->constant, vm->n_constants * sizeof *regs);
}

static int run_call (const struct dt_vm *vm, int64_t *regs, struct dt_vm_stop *stop)
{
    int r;

    if ((r = exec (vm->step[0], regs, stop)) < 0 || vm->memo.n_keys == 0)
        return r;
    if ((r = run_memo (vm, regs, stop)) < 0)
        return r;
    return exec (vm->step[2], regs, stop);
}

static int run_requests (const struct dt_vm *vm, int64_t *regs, const int64_t *own,
                         size_t n_requests, int64_t *own_out, struct dt_vm_stop *stop)
{
    int r;

    if (!own_out && vm->n_part[1] == 0)
        return 0;
    for (size_t q = 0; q < n_requests; q++) {
        take_own (vm, regs, own, q);
        if ((r = exec (vm->part[1], regs, stop)) < 0)
            return of_request (stop, q, r);
        for (size_t i = 0; own_out && i < vm->n_outputs; i++)
            if (vm->output[i].own)
                own_out[q * vm->n_outputs + i] = regs[vm->output_reg[i]];
    }
    return 0;
}

int dt_vm_run (const struct dt_vm *vm, int64_t *regs, const int64_t *in, const int64_t *own,
               size_t n_requests, int64_t *out, int64_t *own_out, struct dt_vm_stop *stop)
{
    int r, largest;

    if ((r = take_inputs (vm, regs, in, stop)) < 0)
        return r;
    largest = vm->by_largest && take_largest (vm, regs, own, n_requests);
    if (!largest && (r = check_own (vm, own, n_requests, stop)) < 0)
        return r;
    if ((r = run_call (vm, regs, stop)) < 0)
        return r;
    for (size_t i = 0; i < vm->n_outputs; i++)
        if (!vm->output[i].own)
            out[i] = regs[vm->output_reg[i]];
    if (largest && (n_requests == 0 || exec (vm->part[1], regs, stop) == 0))
        return 0;
    return run_requests (vm, regs, own, n_requests, own_out, stop); /* which one it is */
}
