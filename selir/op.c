/* selir/op.c - what the ops are, and their arithmetic on 64-bit ints: Python's. */
#include "selir/op.h"

#include "selir/op_int.h"

static const struct {
    const char *text, *types;
    uint8_t partial;
} ops[DT_OP_COUNT] = {
#define X(name, text, types, partial) { text, types, partial },
    DT_OPS (X)
#undef X
};

const char *dt_op_text (uint8_t op)
{
    return op < DT_OP_COUNT ? ops[op].text : "?";
}

int dt_op_args (uint8_t op)
{
    return op < DT_OP_COUNT ? (int)strlen (ops[op].types) - 1 : 0;
}

const char *dt_op_types (uint8_t op)
{
    return op < DT_OP_COUNT ? ops[op].types : "";
}

int dt_op_partial (uint8_t op)
{
    return op < DT_OP_COUNT && ops[op].partial;
}

const char *dt_fault_name (enum dt_fault fault)
{
    switch (fault) {
    case DT_FAULT_NONE: return "no fault";
    case DT_FAULT_OVERFLOW: return "OverflowError";
    case DT_FAULT_ZERO_DIVISION: return "ZeroDivisionError";
    case DT_FAULT_VALUE: return "ValueError";
    case DT_FAULT_INDEX: return "IndexError";
    case DT_FAULT_KEY: return "KeyError";
    case DT_FAULT_UNBOUND: return "UnboundLocalError";
    case DT_FAULT_TYPE: return "TypeError";
    case DT_FAULT_NAME: return "NameError";
    }
    return "unknown fault";
}

static enum dt_fault overflow (int over, int64_t v, int64_t *ret)
{
    *ret = over ? 0 : v;
    return over ? DT_FAULT_OVERFLOW : DT_FAULT_NONE;
}

static enum dt_fault floordiv (int64_t a, int64_t b, int64_t *ret)
{
    *ret = 0;
    if (b == 0)
        return DT_FAULT_ZERO_DIVISION;
    if (a == INT64_MIN && b == -1)
        return DT_FAULT_OVERFLOW;
    *ret = a / b - (a % b != 0 && (a < 0) != (b < 0)); /* C truncates, Python floors */
    return DT_FAULT_NONE;
}

static enum dt_fault mod (int64_t a, int64_t b, int64_t *ret)
{
    int64_t m;

    *ret = 0;
    if (b == 0)
        return DT_FAULT_ZERO_DIVISION;
    if (b == -1)
        return DT_FAULT_NONE; /* INT64_MIN % -1 traps in C */
    m = a % b;
    *ret = m != 0 && (m < 0) != (b < 0) ? m + b : m;
    return DT_FAULT_NONE;
}

static enum dt_fault lshift (int64_t a, int64_t n, int64_t *ret)
{
    int64_t v;

    *ret = 0;
    if (n < 0)
        return DT_FAULT_VALUE;
    if (a == 0)
        return DT_FAULT_NONE;
    if (n >= 64)
        return DT_FAULT_OVERFLOW;
    v = (int64_t)((uint64_t)a << n);
    return overflow ((v >> n) != a, v, ret);
}

static enum dt_fault rshift (int64_t a, int64_t n, int64_t *ret)
{
    *ret = n < 0 ? 0 : a >> (n > 63 ? 63 : n);
    return n < 0 ? DT_FAULT_VALUE : DT_FAULT_NONE;
}

/* By squaring; the square after the last bit is not needed and may not fit. */
static enum dt_fault power (int64_t a, int64_t n, int64_t *ret)
{
    int64_t v = 1;
    int over = 0;

    *ret = 0;
    if (n < 0)
        return a == 0 ? DT_FAULT_ZERO_DIVISION : DT_FAULT_VALUE;
    if (a == 0 || a == 1 || a == -1)
        n = n == 0 ? 0 : 2 - (n & 1);
    else if (n > 63) /* even 2 ** 63 does not fit */
        return DT_FAULT_OVERFLOW;
    while (!over && n > 0) {
        if (n & 1)
            over = __builtin_mul_overflow (v, a, &v);
        n >>= 1;
        if (n > 0)
            over |= __builtin_mul_overflow (a, a, &a);
    }
    return overflow (over, v, ret);
}

static int64_t total (uint8_t op, int64_t a, int64_t b, int64_t c)
{
    switch (op) {
    case DT_OP_BITAND: return a & b;
    case DT_OP_BITOR: return a | b;
    case DT_OP_BITXOR: return a ^ b;
    case DT_OP_INVERT: return ~a;
    case DT_OP_MIN: return b < a ? b : a;
    case DT_OP_MAX: return b > a ? b : a;
    case DT_OP_LT: return a < b;
    case DT_OP_LE: return a <= b;
    case DT_OP_EQ: return a == b;
    case DT_OP_NE: return a != b;
    case DT_OP_NOT: return !a;
    case DT_OP_AND: return a && b;
    case DT_OP_OR: return a || b;
    case DT_OP_INT: return a;
    case DT_OP_BOOL: return a != 0;
    case DT_OP_SELECT: return a ? b : c;
    default: return 0;
    }
}

enum dt_fault dt_op_eval (uint8_t op, int64_t a, int64_t b, int64_t c, int64_t *ret)
{
    int64_t v = 0;
    int over;

    switch (op) {
    case DT_OP_ADD: over = __builtin_add_overflow (a, b, &v); return overflow (over, v, ret);
    case DT_OP_SUB: over = __builtin_sub_overflow (a, b, &v); return overflow (over, v, ret);
    case DT_OP_MUL: over = __builtin_mul_overflow (a, b, &v); return overflow (over, v, ret);
    case DT_OP_NEG: over = __builtin_sub_overflow (0, a, &v); return overflow (over, v, ret);
    case DT_OP_ABS:
        over = a < 0 && __builtin_sub_overflow (0, a, &v);
        return overflow (over, a < 0 ? v : a, ret);
    case DT_OP_FLOORDIV: return floordiv (a, b, ret);
    case DT_OP_MOD: return mod (a, b, ret);
    case DT_OP_LSHIFT: return lshift (a, b, ret);
    case DT_OP_RSHIFT: return rshift (a, b, ret);
    case DT_OP_IPOW: return power (a, b, ret);
    case DT_OP_FAIL: *ret = 0; return (enum dt_fault)a;
    default:
        if (op >= DT_OP_IDIV)
            return dt_op_float (op, a, b, ret);
        *ret = total (op, a, b, c); return DT_FAULT_NONE;
    }
}
