/* selir/vm_load.c - check and load a selector blob.  Nothing in the blob is
 * trusted: what running relies on is checked here, once. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/canon.h"
#include "base/mem.h"
#include "selir/vm_int.h"

_Static_assert ((int)DT_VM_TYPE_FLOAT == (int)DT_TYPE_FLOAT && (int)DT_VM_TYPE_ENUM == (int)DT_TYPE_ENUM,
                "one numbering");

#define KEYS 14     /* of the blob's map */
#define INSN_BYTES 16

struct load {
    struct dt_vm *vm;
    struct dt_canon_value root;
    int64_t request, registers;
    uint8_t *written; /* [registers] 0 never, 1 by the call, 2 by the request */
    struct dt_err *err;
};

#define BAD(l, ...) dt_err_set ((l)->err, -DT_ECORRUPT, "selector: " __VA_ARGS__)

static int get_int (struct load *l, struct dt_canon_value map, const char *key, int64_t lo,
                    int64_t hi, int64_t *ret)
{
    int64_t v;

    if (dt_canon_as_int (dt_canon_get (map, key), &v) < 0 || v < lo || v > hi)
        return BAD (l, "%s is missing or out of range", key);
    *ret = v;
    return 0;
}

static int to_str (struct load *l, struct dt_canon_value v, const char *what, const char **ret)
{
    const uint8_t *p;
    size_t n;

    if (dt_canon_as_bytes (v, &p, &n) < 0 || (n && memchr (p, 0, n)))
        return BAD (l, "%s is not a text", what);
    if (!(*ret = dt_arena_strn (&l->vm->arena, (const char *)p, n)))
        return dt_err_nomem (l->err);
    return 0;
}

static int get_str (struct load *l, struct dt_canon_value map, const char *key,
                    const char **ret)
{
    return to_str (l, dt_canon_get (map, key), key, ret);
}

/* Packed little-endian int64s. */
static int get_words (struct load *l, struct dt_canon_value map, const char *key,
                      const int64_t **ret, size_t *ret_n)
{
    struct dt_reader rd;
    const uint8_t *p;
    size_t n, i;
    int64_t *v;

    if (dt_canon_as_bytes (dt_canon_get (map, key), &p, &n) < 0 || n % 8 != 0)
        return BAD (l, "%s are not whole words", key);
    if (!(v = dt_arena_array (&l->vm->arena, n / 8, sizeof *v)))
        return dt_err_nomem (l->err);
    dt_reader_init (&rd, p, n);
    for (i = 0; i < n / 8; i++)
        v[i] = (int64_t)dt_reader_u64 (&rd);
    *ret = v;
    *ret_n = n / 8;
    return 0;
}

/* A list under `key` of at most `most` items: zeroed room for them. */
static int get_list (struct load *l, struct dt_canon_value map, const char *key, size_t most,
                     size_t size, struct dt_canon_value *ret, void *ret_items)
{
    struct dt_canon_value v = dt_canon_get (map, key);
    void *p;

    if (dt_canon_tag (v) != 'l' || dt_canon_count (v) > most)
        return BAD (l, "%s is missing or too long", key);
    if (!(p = dt_arena_array (&l->vm->arena, dt_canon_count (v), size)))
        return dt_err_nomem (l->err);
    memcpy (ret_items, &p, sizeof p);
    *ret = v;
    return 0;
}

static int load_texts (struct load *l, const char *key, const char ***ret, size_t *ret_n)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value list, v;
    const char **text;
    size_t n = 0;
    int r;

    if ((r = get_list (l, l->root, key, DT_VM_MAX_BYTES, sizeof *text, &list, &text)) < 0)
        return r;
    while (dt_canon_next (list, &it, NULL, NULL, &v))
        if ((r = to_str (l, v, key, &text[n++])) < 0)
            return r;
    *ret = text;
    *ret_n = n;
    return 0;
}

static int load_type (struct load *l, struct dt_canon_value map, uint8_t *ret)
{
    int64_t type = 0;
    int r = get_int (l, map, "type", DT_TYPE_INT, DT_TYPE_ENUM, &type);

    if (r < 0)
        return r;
    *ret = (uint8_t)type;
    return 0;
}

static int load_domain (struct load *l, struct dt_canon_value d, struct dt_vm_input *in)
{
    size_t i;
    int r;

    if (dt_canon_count (d) == 1) {
        if ((r = get_words (l, d, "values", &in->value, &in->n)) < 0)
            return r;
        for (i = 1; i < in->n; i++)
            if (in->value[i - 1] >= in->value[i])
                return BAD (l, "input %s: values do not ascend", in->name);
        if (in->n == 0)
            return BAD (l, "input %s: empty domain", in->name);
        in->lo = in->value[0];
        in->hi = in->value[in->n - 1];
        return 0;
    }
    if (dt_canon_count (d) != 3)
        return BAD (l, "input %s: no domain", in->name);
    if ((r = get_int (l, d, "lo", INT64_MIN, INT64_MAX, &in->lo)) < 0
        || (r = get_int (l, d, "hi", in->lo, INT64_MAX, &in->hi)) < 0)
        return r;
    return get_int (l, d, "step", 1, INT64_MAX, &in->step);
}

static int load_input (struct load *l, struct dt_canon_value map, struct dt_vm_input *in)
{
    static const char *const classes[] = { "", "runtime", "unpinnable", "own", "pin", "knob" };
    struct dt_canon_value domain = dt_canon_get (map, "domain");
    const char *klass = NULL;
    uint8_t i;
    size_t k;
    int r;

    if (dt_canon_count (map) != 4 || dt_canon_tag (domain) != 'm')
        return BAD (l, "malformed input");
    if ((r = get_str (l, map, "name", &in->name)) < 0
        || (r = get_str (l, map, "class", &klass)) < 0
        || (r = load_type (l, map, &in->type)) < 0
        || (r = load_domain (l, domain, in)) < 0)
        return r;
    for (i = 1; i < DT_ARRAY_SIZE (classes); i++)
        if (strcmp (klass, classes[i]) == 0)
            in->klass = i;
    if (in->klass == 0)
        return BAD (l, "input %s: unknown class", in->name);
    if ((in->type == DT_TYPE_BOOL && (in->lo < 0 || in->hi > 1))
        || (in->type == DT_TYPE_ENUM && (in->lo < 0 || in->hi >= (int64_t)l->vm->n_enums)))
        return BAD (l, "input %s: domain does not fit its type", in->name);
    for (k = 0; in->type == DT_TYPE_FLOAT && in->klass != DT_VM_PIN && (in->step != 0 || k < in->n); k++)
        if (in->step != 0 || !isfinite (dt_op_double (in->value[k])))
            return BAD (l, "input %s: not a set of finite floats", in->name);
    l->vm->n_own += in->klass == DT_VM_OWN;
    return 0;
}

static int load_inputs (struct load *l)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value list, v;
    struct dt_vm *vm = l->vm;
    int r;

    if ((r = get_list (l, l->root, "inputs", DT_VM_MAX_INPUTS, sizeof *vm->input, &list,
                       &vm->input)) < 0)
        return r;
    while (dt_canon_next (list, &it, NULL, NULL, &v))
        if ((r = load_input (l, v, &vm->input[vm->n_inputs++])) < 0)
            return r;
    return 0;
}

static int load_conds (struct load *l)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value list, v;
    struct dt_vm *vm = l->vm;
    int r;

    if ((r = get_list (l, l->root, "conditions", DT_VM_MAX_BYTES, sizeof *vm->cond, &list,
                       &vm->cond)) < 0)
        return r;
    while (dt_canon_next (list, &it, NULL, NULL, &v)) {
        struct dt_vm_cond *c = &vm->cond[vm->n_conds++];
        const char *kind = NULL;

        if (dt_canon_count (v) != 3)
            return BAD (l, "malformed condition");
        if ((r = get_str (l, v, "kind", &kind)) < 0
            || (r = get_str (l, v, "message", &c->message)) < 0
            || (r = get_str (l, v, "where", &c->where)) < 0)
            return r;
        c->is_assume = strcmp (kind, "assume") == 0;
        if (!c->is_assume && strcmp (kind, "require") != 0)
            return BAD (l, "unknown kind of condition");
    }
    return 0;
}

/* --- code ------------------------------------------------------------------ */

/* May `part` (0 call, 1 request) read the register now? */
static int readable (const struct load *l, uint16_t reg, int part)
{
    return reg < l->registers && l->written[reg] != 0 && l->written[reg] <= part + 1;
}

static int check_guard (const struct load *l, uint16_t guard, int part, int never)
{
    return guard == DT_VM_ALWAYS || (never && guard == DT_VM_NEVER)
           || readable (l, guard, part);
}

static int check_check (const struct load *l, const struct dt_insn *i, int part)
{
    return readable (l, i->a, part) && i->b == 0 && i->c == 0 && i->dst == 0
           && check_guard (l, i->guard, part, 0) && i->aux < l->vm->n_conds;
}

static int check_operands (const struct load *l, const struct dt_insn *i, int part)
{
    uint16_t arg[3] = { i->a, i->b, i->c };
    int k, n = dt_op_args ((uint8_t)i->op);

    if (i->op == DT_OP_FAIL)
        return i->a >= DT_FAULT_OVERFLOW && i->a <= DT_FAULT_NAME && i->b == 0 && i->c == 0;
    for (k = 0; k < 3; k++)
        if (k < n ? !readable (l, arg[k], part) : arg[k] != 0)
            return 0;
    return 1;
}

static int check_insn (struct load *l, const struct dt_insn *i, int part)
{
    if (i->op == DT_VM_CHECK)
        return check_check (l, i, part);
    if (i->op < DT_OP_ADD || i->op >= DT_OP_COUNT || !check_operands (l, i, part))
        return 0;
    if (dt_op_partial ((uint8_t)i->op)
            ? !check_guard (l, i->guard, part, 1) || i->aux >= l->vm->n_where
            : i->guard != DT_VM_ALWAYS || i->aux != 0)
        return 0;
    if (i->dst >= l->registers || l->written[i->dst] != 0)
        return 0;
    l->written[i->dst] = (uint8_t)(part + 1);
    return 1;
}

static struct dt_insn read_insn (struct dt_reader *rd)
{
    struct dt_insn i;

    i.op = dt_reader_u16 (rd);
    i.dst = dt_reader_u16 (rd);
    i.a = dt_reader_u16 (rd);
    i.b = dt_reader_u16 (rd);
    i.c = dt_reader_u16 (rd);
    i.guard = dt_reader_u16 (rd);
    i.aux = dt_reader_u32 (rd);
    return i;
}

static int load_part (struct load *l, struct dt_reader *rd, int part, size_t n)
{
    struct dt_insn *code = dt_arena_array (&l->vm->arena, n + 1, sizeof *code);
    size_t i;

    if (!code)
        return dt_err_nomem (l->err);
    for (i = 0; i < n; i++) {
        code[i] = read_insn (rd);
        if (!check_insn (l, &code[i], part))
            return BAD (l, "%s instruction %zu is malformed",
                        part ? "request" : "call", i);
    }
    code[n].op = DT_VM_END;
    l->vm->part[part] = code;
    l->vm->n_part[part] = n;
    return 0;
}

static int load_code (struct load *l)
{
    struct dt_vm *vm = l->vm;
    struct dt_reader rd;
    const uint8_t *p;
    size_t n, i;
    int r;

    if (dt_canon_as_bytes (dt_canon_get (l->root, "code"), &p, &n) < 0 || n % INSN_BYTES != 0)
        return BAD (l, "code is not whole instructions");
    n /= INSN_BYTES;
    if ((r = get_int (l, l->root, "request", 0, (int64_t)n, &l->request)) < 0
        || (r = get_int (l, l->root, "registers", 0, DT_VM_MAX_REGISTERS, &l->registers)) < 0)
        return r;
    vm->registers = (size_t)l->registers;
    if (vm->n_inputs + vm->n_constants > vm->registers)
        return BAD (l, "fewer registers than inputs and constants");
    if (!(l->written = dt_arena_alloc (&vm->arena, vm->registers)))
        return dt_err_nomem (l->err);
    for (i = 0; i < vm->n_inputs + vm->n_constants; i++)
        l->written[i] = i < vm->n_inputs && vm->input[i].klass == DT_VM_OWN ? 2 : 1;
    dt_reader_init (&rd, p, n * INSN_BYTES);
    if ((r = load_part (l, &rd, 0, (size_t)l->request)) < 0)
        return r;
    return load_part (l, &rd, 1, n - (size_t)l->request);
}

/* --- outputs and tables ------------------------------------------------------ */

static int load_output (struct load *l, struct dt_canon_value map, size_t i)
{
    struct dt_vm_output *o = &l->vm->output[i];
    int64_t binding = 0, claim = 0, own = 0, reg = 0;
    int r;

    if (dt_canon_count (map) != 7)
        return BAD (l, "malformed output");
    if ((r = get_str (l, map, "field", &o->field)) < 0
        || (r = get_str (l, map, "unit", &o->unit)) < 0
        || (r = load_type (l, map, &o->type)) < 0
        || (r = get_int (l, map, "binding", 0, 1, &binding)) < 0
        || (r = get_int (l, map, "claim", 0, 1, &claim)) < 0
        || (r = get_int (l, map, "own", 0, 1, &own)) < 0
        || (r = get_int (l, map, "register", 0, DT_VM_MAX_REGISTERS, &reg)) < 0)
        return r;
    if (!readable (l, (uint16_t)reg, (int)own))
        return BAD (l, "output %s is not computed", o->field);
    if (binding && claim)
        return BAD (l, "output %s is binding and free by claim", o->field);
    o->binding = (uint8_t)binding;
    o->claim = (uint8_t)claim;
    o->own = (uint8_t)own;
    l->vm->output_reg[i] = (uint16_t)reg;
    return 0;
}

static int load_outputs (struct load *l)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value list, v;
    struct dt_vm *vm = l->vm;
    int r;

    if ((r = get_list (l, l->root, "outputs", DT_VM_MAX_OUTPUTS, sizeof *vm->output, &list,
                       &vm->output)) < 0)
        return r;
    if (!(vm->output_reg = dt_arena_array (&vm->arena, dt_canon_count (list),
                                           sizeof *vm->output_reg)))
        return dt_err_nomem (l->err);
    while (dt_canon_next (list, &it, NULL, NULL, &v))
        if ((r = load_output (l, v, vm->n_outputs++)) < 0)
            return r;
    return 0;
}

static int load_cell (struct load *l, struct dt_canon_value map, struct dt_vm_cell *cell)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value list, v;
    struct dt_vm_range *when;
    int r;

    if (dt_canon_count (map) != 2)
        return BAD (l, "malformed cell");
    if ((r = get_int (l, map, "value", INT64_MIN, INT64_MAX, &cell->value)) < 0
        || (r = get_list (l, map, "when", DT_VM_MAX_INPUTS, sizeof *when, &list, &when)) < 0)
        return r;
    cell->when = when;
    while (dt_canon_next (list, &it, NULL, NULL, &v)) {
        struct dt_vm_range *w = &when[cell->n++];

        if (dt_canon_count (v) != 3)
            return BAD (l, "malformed range of a cell");
        if ((r = get_str (l, v, "quantity", &w->quantity)) < 0
            || (r = get_int (l, v, "lo", INT64_MIN, INT64_MAX, &w->lo)) < 0
            || (r = get_int (l, v, "hi", w->lo, INT64_MAX, &w->hi)) < 0)
            return r;
    }
    return 0;
}

static int find_output (struct load *l, struct dt_vm_table *t)
{
    for (t->output = 0; t->output < l->vm->n_outputs; t->output++)
        if (strcmp (l->vm->output[t->output].field, t->field) == 0)
            return l->vm->output[t->output].binding
                       ? BAD (l, "a table for the binding field %s", t->field)
                       : 0;
    return BAD (l, "a table for %s, which is no field", t->field);
}

static int load_table (struct load *l, struct dt_canon_value map, struct dt_vm_table *t)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value list, v;
    struct dt_vm_cell *cell;
    int r;

    if (dt_canon_count (map) != 2)
        return BAD (l, "malformed table");
    if ((r = get_str (l, map, "field", &t->field)) < 0 || (r = find_output (l, t)) < 0
        || (r = get_list (l, map, "cells", DT_VM_MAX_BYTES, sizeof *cell, &list, &cell)) < 0)
        return r;
    t->cell = cell;
    while (dt_canon_next (list, &it, NULL, NULL, &v))
        if ((r = load_cell (l, v, &cell[t->n++])) < 0)
            return r;
    return 0;
}

static int load_tables (struct load *l)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value list, v;
    struct dt_vm *vm = l->vm;
    int r;

    if ((r = get_list (l, l->root, "tables", DT_VM_MAX_OUTPUTS, sizeof *vm->table, &list,
                       &vm->table)) < 0)
        return r;
    while (dt_canon_next (list, &it, NULL, NULL, &v))
        if ((r = load_table (l, v, &vm->table[vm->n_tables++])) < 0)
            return r;
    return 0;
}

static int check_version (struct load *l)
{
    int64_t version = 0;
    int r = get_int (l, l->root, "vm", INT64_MIN, INT64_MAX, &version);

    if (r < 0)
        return r;
    if (version != DT_VM_VERSION)
        return dt_err_set (l->err, -DT_EVERSION,
                           "selector: vm version %lld; this one runs version %d",
                           (long long)version, DT_VM_VERSION);
    return dt_canon_count (l->root) == KEYS ? 0 : BAD (l, "unknown or missing entries");
}

static int load_all (struct load *l)
{
    struct dt_vm *vm = l->vm;
    const int64_t *constant = NULL;
    int r;

    if ((r = check_version (l)) < 0 || (r = get_str (l, l->root, "family", &vm->family)) < 0
        || (r = get_str (l, l->root, "site", &vm->site)) < 0
        || (r = get_str (l, l->root, "variant", &vm->variant)) < 0
        || (r = load_texts (l, "enums", &vm->enum_text, &vm->n_enums)) < 0
        || (r = load_texts (l, "where", &vm->where, &vm->n_where)) < 0
        || (r = load_inputs (l)) < 0 || (r = load_conds (l)) < 0
        || (r = get_words (l, l->root, "constants", &constant, &vm->n_constants)) < 0)
        return r;
    vm->constant = constant;
    if ((r = load_code (l)) < 0 || (r = load_outputs (l)) < 0)
        return r;
    vm->step[0] = vm->part[0];
    return load_tables (l);
}

int dt_vm_load (const void *blob, size_t len, struct dt_vm **ret, struct dt_err *reterr)
{
    struct load l = { .err = reterr };
    int r;

    if (len > DT_VM_MAX_BYTES)
        return dt_err_set (reterr, -DT_ECORRUPT, "selector: longer than %u bytes",
                           DT_VM_MAX_BYTES);
    if (!(l.vm = dt_calloc (1, sizeof *l.vm)))
        return dt_err_nomem (reterr);
    if ((r = dt_canon_check (blob, len, &l.root, reterr)) < 0) {
        dt_err_prefix (reterr, r, "selector");
        goto fail;
    }
    if ((r = load_all (&l)) < 0)
        goto fail;
    l.vm->digest = dt_digest_of ("selector", blob, len);
    *ret = l.vm;
    return 0;
fail:
    dt_vm_free (l.vm);
    return r;
}

struct dt_vm *dt_vm_free (struct dt_vm *vm)
{
    if (vm)
        dt_arena_done (&vm->arena);
    dt_free (vm);
    return NULL;
}
