/* solver/export.c - a selector as C source. */
#include "solver/export.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "selir/vm_int.h"
#include "solver/export_ops.h"

/* Text with PREFIX written in place of each '$'. */
static void put (struct dt_buf *b, const char *text, const char *prefix)
{
    for (; *text; text++)
        if (*text == '$')
            dt_buf_printf (b, "%s", prefix);
        else
            dt_buf_put (b, text, 1);
}

/* A string literal.  '?' is escaped because of trigraphs. */
static void put_literal (struct dt_buf *b, const char *text)
{
    dt_buf_printf (b, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\' || c == '?')
            dt_buf_printf (b, "\\%c", c);
        else if (c < 32 || c > 126)
            dt_buf_printf (b, "\\%03o", c);
        else
            dt_buf_put (b, text, 1);
    }
    dt_buf_printf (b, "\"");
}

/* The least int64 has no literal of its own. */
static void put_int (struct dt_buf *b, int64_t v)
{
    if (v == INT64_MIN)
        dt_buf_printf (b, "INT64_MIN");
    else
        dt_buf_printf (b, "INT64_C (%" PRId64 ")", v);
}

/* --- tables ----------------------------------------------------------------------- */

static void put_values (const struct dt_vm *vm, struct dt_buf *b)
{
    size_t i, k;

    for (i = 0; i < vm->n_inputs; i++) {
        if (vm->input[i].step != 0)
            continue;
        dt_buf_printf (b, "static const int64_t detent_values_%zu[] = {", i);
        for (k = 0; k < vm->input[i].n; k++) {
            dt_buf_printf (b, "%s", k ? ", " : " ");
            put_int (b, vm->input[i].value[k]);
        }
        dt_buf_printf (b, " };\n");
    }
}

/* A row of zeros ends each table. */
static void put_tables (const struct dt_vm *vm, struct dt_buf *b)
{
    size_t i;

    put_values (vm, b);
    dt_buf_printf (b, "static const struct {\n"
                      "    const char *name;\n"
                      "    int own;\n"
                      "    int64_t lo, hi, step;\n"
                      "    const int64_t *value;\n"
                      "    size_t n;\n"
                      "} detent_inputs[] = {\n");
    for (i = 0; i < vm->n_inputs; i++) {
        const struct dt_vm_input *in = &vm->input[i];

        dt_buf_printf (b, "    { ");
        put_literal (b, in->name);
        dt_buf_printf (b, ", %d, ", in->klass == DT_VM_OWN);
        put_int (b, in->lo);
        dt_buf_printf (b, ", ");
        put_int (b, in->hi);
        dt_buf_printf (b, ", ");
        put_int (b, in->step);
        if (in->step == 0)
            dt_buf_printf (b, ", detent_values_%zu, %zu },\n", i, in->n);
        else
            dt_buf_printf (b, ", NULL, 0 },\n");
    }
    dt_buf_printf (b, "    { 0 }\n};\n\n"
                      "static const struct {\n"
                      "    const char *field;\n"
                      "    int own;\n"
                      "    size_t r;\n"
                      "} detent_outputs[] = {\n");
    for (i = 0; i < vm->n_outputs; i++) {
        dt_buf_printf (b, "    { ");
        put_literal (b, vm->output[i].field);
        dt_buf_printf (b, ", %d, %u },\n", vm->output[i].own, vm->output_reg[i]);
    }
    dt_buf_printf (b, "    { 0 }\n};\n\n");
}

/* --- code ------------------------------------------------------------------------- */

/* What the code uses: ops, and their shared parts. */
struct used {
    uint8_t op[DT_OP_COUNT];
    unsigned parts;
    int faults;
};

static void find_used (const struct dt_vm *vm, struct used *u)
{
    size_t p, i;

    memset (u, 0, sizeof *u);
    for (p = 0; p < 2; p++)
        for (i = 0; i < vm->n_part[p]; i++) {
            const struct dt_insn *x = &vm->part[p][i];
            const struct dt_export_op *op = dt_export_op (x->op);

            if (op) {
                u->op[x->op] = 1;
                u->parts |= op->parts;
            }
            u->faults |= x->op != DT_VM_CHECK && x->guard != DT_VM_NEVER
                         && (x->op == DT_OP_FAIL || (op && op->function));
        }
}

static void put_functions (const struct used *u, struct dt_buf *b)
{
    uint16_t i;

    for (i = 0; i < DT_EXPORT_PARTS; i++)
        if (u->parts >> i & 1)
            dt_buf_printf (b, "%s", dt_export_part (i));
    for (i = 0; i < DT_OP_COUNT; i++)
        if (u->op[i] && dt_export_op (i)->source)
            dt_buf_printf (b, "%s", dt_export_op (i)->source);
    if (!u->faults)
        return;
    dt_buf_printf (b, "static const char *detent_fault (int fault)\n"
                      "{\n"
                      "    switch (fault) {\n");
    for (i = DT_FAULT_OVERFLOW; i <= DT_FAULT_NAME; i++)
        dt_buf_printf (b, "    case %d: return \"%s\";\n", i, dt_fault_name (i));
    dt_buf_printf (b, "    default: return \"?\";\n    }\n}\n\n");
}

/* A total op's expression, its operands' registers written in. */
static void put_value (const char *value, const struct dt_insn *x, struct dt_buf *b)
{
    for (; *value; value++)
        if ((*value == 'A' || *value == 'B' || *value == 'C') && !isalnum ((unsigned char)value[1]))
            dt_buf_printf (b, "r[%u]", *value == 'A' ? x->a : *value == 'B' ? x->b : x->c);
        else
            dt_buf_put (b, value, 1);
}

/* "return detent_stop (stop, WHAT, AUX, FAULT, request, 0, " */
static void put_return (const struct dt_insn *x, int what, const char *fault, struct dt_buf *b)
{
    dt_buf_printf (b, "        return detent_stop (stop, %d, %" PRIu32 ", %s, request, 0, ", what,
                   x->aux, fault);
}

static void put_check (const struct dt_vm *vm, const struct dt_insn *x, struct dt_buf *b)
{
    dt_buf_printf (b, "    if (!r[%u]", x->a);
    if (x->guard != DT_VM_ALWAYS)
        dt_buf_printf (b, " && r[%u]", x->guard);
    dt_buf_printf (b, ")\n");
    put_return (x, DT_VM_CONDITION, "0", b);
    put_literal (b, vm->cond[x->aux].message);
    dt_buf_printf (b, ", ");
    put_literal (b, vm->cond[x->aux].where);
    dt_buf_printf (b, ");\n");
}

/* The call of a partial op, or FAIL's fault. */
static void put_call (const struct dt_insn *x, const struct dt_export_op *op, struct dt_buf *b)
{
    if (!op)
        dt_buf_printf (b, "%u", x->a);
    else if (dt_op_args ((uint8_t)x->op) == 1)
        dt_buf_printf (b, "%s (r[%u], &r[%u])", op->function, x->a, x->dst);
    else
        dt_buf_printf (b, "%s (r[%u], r[%u], &r[%u])", op->function, x->a, x->b, x->dst);
}

static void put_partial (const struct dt_vm *vm, const struct dt_insn *x,
                         const struct dt_export_op *op, struct dt_buf *b)
{
    if (!op)
        dt_buf_printf (b, "    r[%u] = 0;\n", x->dst);
    if (x->guard == DT_VM_NEVER) {
        dt_buf_printf (b, "    (void)");
        put_call (x, op, b);
        dt_buf_printf (b, ";\n");
        return;
    }
    dt_buf_printf (b, "    if ((f = ");
    put_call (x, op, b);
    dt_buf_printf (b, ") != 0");
    if (x->guard != DT_VM_ALWAYS)
        dt_buf_printf (b, " && r[%u]", x->guard);
    dt_buf_printf (b, ")\n");
    put_return (x, DT_VM_FAULT, "f", b);
    dt_buf_printf (b, "detent_fault (f), ");
    put_literal (b, vm->where[x->aux]);
    dt_buf_printf (b, ");\n");
}

static void put_code (const struct dt_vm *vm, size_t part, const char *prefix, struct dt_buf *b)
{
    size_t i;

    dt_buf_printf (b, "static int detent_%s (int64_t *r, size_t request, struct %s_stop *stop)\n"
                      "{\n    int f = 0;\n\n    (void)r;\n    (void)f;\n    (void)request;\n"
                      "    (void)stop;\n", part ? "request" : "call", prefix);
    for (i = 0; part == 0 && i < vm->n_constants; i++) {
        dt_buf_printf (b, "    r[%zu] = ", vm->n_inputs + i);
        put_int (b, vm->constant[i]);
        dt_buf_printf (b, ";\n");
    }
    for (i = 0; i < vm->n_part[part]; i++) {
        const struct dt_insn *x = &vm->part[part][i];
        const struct dt_export_op *op = dt_export_op (x->op);

        if (x->op == DT_VM_CHECK)
            put_check (vm, x, b);
        else if (op && op->value) {
            dt_buf_printf (b, "    r[%u] = ", x->dst);
            put_value (op->value, x, b);
            dt_buf_printf (b, ";\n");
        } else
            put_partial (vm, x, op, b);
    }
    dt_buf_printf (b, "    return 0;\n}\n\n");
}

/* --- the rest, which is the same for all ------------------------------------------- */

static const char head[] =
    "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n"
    "/* A fused multiply and add would round once where the selector rounds twice. */\n"
    "#if defined __clang__\n#pragma STDC FP_CONTRACT OFF\n"
    "#elif defined __GNUC__\n#pragma GCC optimize (\"fp-contract=off\")\n#endif\n\n"
    "struct $_stop {\n"
    "    uint32_t index;    /* of the input, condition or place              */\n"
    "    int fault;         /* Python's class of error as a number, or 0     */\n"
    "    size_t request;    /* which request; SIZE_MAX: the call             */\n"
    "    int64_t value;     /* of an input that is outside its domain        */\n"
    "    const char *text;  /* the input, the condition's message, the error */\n"
    "    const char *where; /* \"file:line:column\"                            */\n"
    "};\n\n"
    "/* 0; or with *stop: 1 an input is outside its domain, 2 a condition fails, 3 the\n"
    " * program raises an error.  in: inputs that are not own; own: [n_requests] rows of\n"
    " * own inputs; out: [outputs] those that are not own; own_out: [n_requests] rows of\n"
    " * [outputs], those that are own (may be NULL). */\n"
    "int $_select (const int64_t *in, const int64_t *own, size_t n_requests, int64_t *out,\n"
    "              int64_t *own_out, struct $_stop *stop);\n\n"
    "static int detent_stop (struct $_stop *stop, int what, uint32_t index, int fault,\n"
    "                        size_t request, int64_t value, const char *text,\n"
    "                        const char *where)\n"
    "{\n"
    "    stop->index = index;\n"
    "    stop->fault = fault;\n"
    "    stop->request = request;\n"
    "    stop->value = value;\n"
    "    stop->text = text;\n"
    "    stop->where = where;\n"
    "    return what;\n"
    "}\n\n";

static const char tail[] =
    "static int detent_in_domain (size_t i, int64_t v)\n"
    "{\n"
    "    size_t k;\n\n"
    "    if (v < detent_inputs[i].lo || v > detent_inputs[i].hi)\n"
    "        return 0;\n"
    "    if (detent_inputs[i].step != 0)\n"
    "        return ((uint64_t)v - (uint64_t)detent_inputs[i].lo)\n"
    "                   % (uint64_t)detent_inputs[i].step == 0;\n"
    "    for (k = 0; k < detent_inputs[i].n && detent_inputs[i].value[k] != v; k++)\n"
    "        ;\n"
    "    return k < detent_inputs[i].n;\n"
    "}\n\n"
    "/* Inputs of the call, or of one request, into their registers. */\n"
    "static int detent_take (int64_t *r, const int64_t *from, int own, size_t request,\n"
    "                        struct $_stop *stop)\n"
    "{\n"
    "    size_t i;\n\n"
    "    for (i = 0; detent_inputs[i].name; i++) {\n"
    "        if (detent_inputs[i].own != own)\n"
    "            continue;\n"
    "        if (!detent_in_domain (i, *from))\n"
    "            return detent_stop (stop, 1, (uint32_t)i, 0, request, *from,\n"
    "                                detent_inputs[i].name, \"\");\n"
    "        r[i] = *from++;\n"
    "    }\n"
    "    return 0;\n"
    "}\n\n"
    "int $_select (const int64_t *in, const int64_t *own, size_t n_requests, int64_t *out,\n"
    "              int64_t *own_out, struct $_stop *stop)\n"
    "{\n"
    "    int64_t r[DETENT_REGISTERS];\n"
    "    size_t i, q, n_own = 0, n_out = 0;\n"
    "    int x;\n\n"
    "    if ((x = detent_take (r, in, 0, SIZE_MAX, stop)) != 0)\n"
    "        return x;\n"
    "    for (i = 0; detent_inputs[i].name; i++)\n"
    "        n_own += detent_inputs[i].own ? 1 : 0;\n"
    "    for (q = 0; n_own > 0 && q < n_requests; q++)\n"
    "        if ((x = detent_take (r, own + q * n_own, 1, q, stop)) != 0)\n"
    "            return x;\n"
    "    if ((x = detent_call (r, SIZE_MAX, stop)) != 0)\n"
    "        return x;\n"
    "    for (; detent_outputs[n_out].field; n_out++)\n"
    "        if (!detent_outputs[n_out].own)\n"
    "            out[n_out] = r[detent_outputs[n_out].r];\n"
    "    for (q = 0; q < n_requests; q++) {\n"
    "        if (n_own > 0)\n"
    "            detent_take (r, own + q * n_own, 1, q, stop);\n"
    "        if ((x = detent_request (r, q, stop)) != 0)\n"
    "            return x;\n"
    "        for (i = 0; own_out && i < n_out; i++)\n"
    "            if (detent_outputs[i].own)\n"
    "                own_out[q * n_out + i] = r[detent_outputs[i].r];\n"
    "    }\n"
    "    return 0;\n"
    "}\n";

static int is_identifier (const char *s)
{
    if (!isalpha ((unsigned char)*s) && *s != '_')
        return 0;
    while (isalnum ((unsigned char)*s) || *s == '_')
        s++;
    return *s == 0;
}

int dt_export_c (const struct dt_vm *vm, const char *prefix, struct dt_buf *ret,
                 struct dt_err *reterr)
{
    char digest[DT_DIGEST_HEX];
    struct used u;

    if (!is_identifier (prefix))
        return dt_err_set (reterr, -DT_EINPUT, "\"%s\" cannot start the name of a C function",
                           prefix);
    if (vm->n_tables > 0)
        return dt_err_set (reterr, -DT_EINPUT, "field %s has a free table, which C code cannot "
                           "look up: the quantities are the call's", vm->table[0].field);
    find_used (vm, &u);
    dt_digest_hex (&vm->digest, digest);
    dt_buf_printf (ret, "/* Detent's selector %s. */\n", digest);
    put (ret, head, prefix);
    put_tables (vm, ret);
    put_functions (&u, ret);
    dt_buf_printf (ret, "enum { DETENT_REGISTERS = %zu };\n\n", vm->registers ? vm->registers : 1);
    put_code (vm, 0, prefix, ret);
    put_code (vm, 1, prefix, ret);
    put (ret, tail, prefix);
    return ret->failed ? dt_err_nomem (reterr) : 0;
}
