/* selir/vm_text.c - what a loaded selector is, and why it stopped, for people. */
#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "selir/vm_int.h"

size_t dt_vm_inputs (const struct dt_vm *vm) { return vm->n_inputs; }
size_t dt_vm_outputs (const struct dt_vm *vm) { return vm->n_outputs; }
int dt_vm_by_largest (const struct dt_vm *vm) { return vm->by_largest; }
size_t dt_vm_tables (const struct dt_vm *vm) { return vm->n_tables; }
const char *dt_vm_family (const struct dt_vm *vm) { return vm->family; }
const char *dt_vm_site (const struct dt_vm *vm) { return vm->site; }
const char *dt_vm_variant (const struct dt_vm *vm) { return vm->variant; }
struct dt_digest dt_vm_digest (const struct dt_vm *vm) { return vm->digest; }

const struct dt_vm_input *dt_vm_input (const struct dt_vm *vm, size_t i)
{
    return &vm->input[i];
}

const struct dt_vm_output *dt_vm_output (const struct dt_vm *vm, size_t i)
{
    return &vm->output[i];
}

const struct dt_vm_table *dt_vm_table (const struct dt_vm *vm, size_t i)
{
    return &vm->table[i];
}

const char *dt_vm_enum (const struct dt_vm *vm, int64_t member)
{
    return member >= 0 && (uint64_t)member < vm->n_enums ? vm->enum_text[member] : NULL;
}

size_t dt_vm_code (const struct dt_vm *vm, size_t *ret_request)
{
    if (ret_request)
        *ret_request = vm->n_part[1];
    return vm->n_part[0];
}

static void put_value (const struct dt_vm *vm, uint8_t type, int64_t v, struct dt_buf *out)
{
    const char *text = type == DT_TYPE_ENUM ? dt_vm_enum (vm, v) : NULL;
    char number[DT_FLOAT_TEXT];

    if (type == DT_TYPE_FLOAT) {
        dt_op_float_text (v, number);
        dt_buf_printf (out, "%s", number);
    } else if (text)
        dt_buf_printf (out, "\"%s\"", text);
    else if (type == DT_TYPE_BOOL && (v == 0 || v == 1))
        dt_buf_printf (out, v ? "True" : "False");
    else
        dt_buf_printf (out, "%" PRId64, v);
}

/* "1..8192", "0..64 step 16", "1, 2, 4, ... 64": a long set is cut short. */
static void put_domain (const struct dt_vm *vm, const struct dt_vm_input *in,
                        struct dt_buf *out)
{
    size_t i, shown = in->n > 8 ? 6 : in->n;

    if (in->step != 0) {
        put_value (vm, in->type, in->lo, out);
        dt_buf_printf (out, "..");
        put_value (vm, in->type, in->hi, out);
        if (in->step > 1)
            dt_buf_printf (out, " step %" PRId64, in->step);
        return;
    }
    for (i = 0; i < shown; i++) {
        dt_buf_printf (out, i ? ", " : "");
        put_value (vm, in->type, in->value[i], out);
    }
    if (shown < in->n) {
        dt_buf_printf (out, ", ... ");
        put_value (vm, in->type, in->hi, out);
    }
}

static void put_outside (const struct dt_vm *vm, const struct dt_vm_stop *stop,
                         struct dt_buf *out)
{
    const struct dt_vm_input *in = &vm->input[stop->index];

    dt_buf_printf (out, "%s = ", in->name);
    put_value (vm, in->type, stop->value, out);
    dt_buf_printf (out, " is outside its domain ");
    put_domain (vm, in, out);
}

static int put_stop (const struct dt_vm *vm, const struct dt_vm_stop *stop, struct dt_buf *out)
{
    if (stop->what == DT_VM_DOMAIN && stop->index < vm->n_inputs) {
        put_outside (vm, stop, out);
        return -DT_EREFUSED;
    }
    if (stop->what == DT_VM_CONDITION && stop->index < vm->n_conds) {
        const struct dt_vm_cond *c = &vm->cond[stop->index];

        dt_buf_printf (out, "%s: %s failed: %s", c->where,
                       c->is_assume ? "assume" : "require", c->message);
        return -DT_EREFUSED;
    }
    dt_buf_printf (out, "%s: %s", stop->index < vm->n_where ? vm->where[stop->index] : "?",
                   dt_fault_name ((enum dt_fault)stop->fault));
    return -DT_EEVAL;
}

int dt_vm_describe (const struct dt_vm *vm, const struct dt_vm_stop *stop, struct dt_err *ret)
{
    struct dt_buf b = { 0 };
    const char *text;
    int r = put_stop (vm, stop, &b);

    if (stop->of_request)
        dt_buf_printf (&b, " (request %zu)", stop->request);
    if ((text = dt_buf_str (&b)))
        dt_err_set (ret, r, "%s", text);
    else
        r = dt_err_nomem (ret);
    dt_buf_done (&b);
    return r;
}

static void put_guard (const struct dt_insn *i, struct dt_buf *out)
{
    if (i->guard == DT_VM_NEVER)
        dt_buf_printf (out, " safe");
    else if (i->guard != DT_VM_ALWAYS)
        dt_buf_printf (out, " if r%u", i->guard);
}

static void put_insn (const struct dt_vm *vm, const struct dt_insn *i, struct dt_buf *out)
{
    int k, n = dt_op_args ((uint8_t)i->op);
    uint16_t arg[3] = { i->a, i->b, i->c };

    if (i->op == DT_VM_CHECK) {
        dt_buf_printf (out, "    check r%u", i->a);
        put_guard (i, out);
        dt_buf_printf (out, "  # %s: %s\n", vm->cond[i->aux].where, vm->cond[i->aux].message);
        return;
    }
    dt_buf_printf (out, "    r%u = %s", i->dst, dt_op_text ((uint8_t)i->op));
    if (i->op == DT_OP_FAIL)
        dt_buf_printf (out, " %s", dt_fault_name ((enum dt_fault)i->a));
    for (k = 0; k < n; k++)
        dt_buf_printf (out, " r%u", arg[k]);
    put_guard (i, out);
    if (dt_op_partial ((uint8_t)i->op))
        dt_buf_printf (out, "  # %s", vm->where[i->aux]);
    dt_buf_printf (out, "\n");
}

/* Which registers hold floats: what an op says, and through selects.  Each is written
 * before it is read, so one walk backwards sees every reader first. */
static void find_floats (const struct dt_vm *vm, uint8_t *is_float)
{
    size_t i;
    int part, k;

    for (i = 0; i < vm->n_outputs; i++)
        is_float[vm->output_reg[i]] = vm->output[i].type == DT_TYPE_FLOAT;
    for (part = 1; part >= 0; part--) {
        for (i = vm->n_part[part]; i-- > 0;) {
            const struct dt_insn *n = &vm->part[part][i];
            const char *types = dt_op_types ((uint8_t)n->op);
            uint16_t arg[3] = { n->a, n->b, n->c };

            for (k = 0; k < dt_op_args ((uint8_t)n->op); k++)
                is_float[arg[k]] |= types[k] == 'f' || (types[k] == '*' && is_float[n->dst]);
        }
    }
}

static void put_constants (const struct dt_vm *vm, struct dt_buf *out)
{
    uint8_t *is_float = dt_calloc (vm->registers, 1);
    size_t i;

    if (!is_float) {
        out->failed = 1;
        return;
    }
    find_floats (vm, is_float);
    for (i = 0; i < vm->n_constants; i++) {
        dt_buf_printf (out, "    r%zu = ", vm->n_inputs + i);
        put_value (vm, is_float[vm->n_inputs + i] ? DT_TYPE_FLOAT : DT_TYPE_INT,
                   vm->constant[i], out);
        dt_buf_printf (out, "\n");
    }
    dt_free (is_float);
}

void dt_vm_disassemble (const struct dt_vm *vm, struct dt_buf *out)
{
    size_t i;
    int part;

    for (i = 0; i < vm->n_inputs; i++) {
        dt_buf_printf (out, "    r%zu = %s in ", i, vm->input[i].name);
        put_domain (vm, &vm->input[i], out);
        dt_buf_printf (out, "\n");
    }
    put_constants (vm, out);
    for (part = 0; part < 2; part++) {
        dt_buf_printf (out, part ? "request:\n" : "call:\n");
        for (i = 0; i < vm->n_part[part]; i++)
            put_insn (vm, &vm->part[part][i], out);
    }
    for (i = 0; i < vm->n_outputs; i++)
        dt_buf_printf (out, "    %s = r%u\n", vm->output[i].field, vm->output_reg[i]);
}
