/* selir/op.h - the kinds of value, and the one definition of their arithmetic.
 * Uses: nothing of ours.  Used by: graph.h, the vm. */
#ifndef DT_SELIR_OP_H
#define DT_SELIR_OP_H

#include <stdint.h>
#include <string.h>

/* Kinds of value.  Columns: name, text in dumps, types, partial.
 *
 * types: the operands' and, last, the result's: i int, b bool, f float, * any type
 * (all * of one op alike), = any type but float (likewise). */
#define DT_OPS(X) \
    X (CONST, "const", "*", 0)      /* imm: the value's bits                        */ \
    X (INPUT, "input", "*", 0)      /* imm: index into graph.input                  */ \
    X (KNOB, "knob", "*", 0)        /* imm: index into graph.knob                   */ \
    X (PIN, "pin", "*", 0)          /* imm: index into graph.pin; residual graphs   */ \
    X (ADD, "+", "iii", 1) \
    X (SUB, "-", "iii", 1) \
    X (MUL, "*", "iii", 1) \
    X (FLOORDIV, "//", "iii", 1) \
    X (MOD, "%", "iii", 1) \
    X (LSHIFT, "<<", "iii", 1) \
    X (RSHIFT, ">>", "iii", 1) \
    X (NEG, "neg", "ii", 1) \
    X (ABS, "abs", "ii", 1) \
    X (BITAND, "&", "iii", 0) \
    X (BITOR, "|", "iii", 0) \
    X (BITXOR, "^", "iii", 0) \
    X (INVERT, "~", "ii", 0) \
    X (MIN, "min", "iii", 0) \
    X (MAX, "max", "iii", 0) \
    X (LT, "<", "iib", 0) \
    X (LE, "<=", "iib", 0) \
    X (EQ, "==", "==b", 0)          /* two ints, two bools or two enums             */ \
    X (NE, "!=", "==b", 0) \
    X (NOT, "not", "bb", 0) \
    X (AND, "and", "bbb", 0) \
    X (OR, "or", "bbb", 0) \
    X (INT, "int", "bi", 0)         /* bool to int                                  */ \
    X (BOOL, "bool", "ib", 0)       /* int to bool: operand != 0                    */ \
    X (SELECT, "select", "b***", 0) /* a ? b : c                                    */ \
    X (FAIL, "fail", "*", 1)        /* a fault whenever the guard is true (a raise, \
                                       an unset local); imm: enum dt_fault          */ \
    X (IPOW, "**", "iii", 1)        /* negative exponent: ValueError (of 0:         \
                                       ZeroDivisionError, as under CPython)         */ \
    X (IDIV, "/", "iif", 1)         /* int / int, correctly rounded                 */ \
    X (FADD, "+", "fff", 0) \
    X (FSUB, "-", "fff", 0) \
    X (FMUL, "*", "fff", 0) \
    X (FDIV, "/", "fff", 1) \
    X (FFLOORDIV, "//", "fff", 1) \
    X (FMOD, "%", "fff", 1) \
    X (FNEG, "neg", "ff", 0) \
    X (FABS, "abs", "ff", 0) \
    X (FMIN, "min", "fff", 0)       /* b if b < a, else a: so of NaN and of zeros   */ \
    X (FMAX, "max", "fff", 0)       /* b if b > a, else a                           */ \
    X (FLT, "<", "ffb", 0) \
    X (FLE, "<=", "ffb", 0) \
    X (FEQ, "==", "ffb", 0) \
    X (FNE, "!=", "ffb", 0) \
    X (ILTF, "<", "ifb", 0)         /* int with float: exact, nothing is rounded    */ \
    X (ILEF, "<=", "ifb", 0) \
    X (FLTI, "<", "fib", 0) \
    X (FLEI, "<=", "fib", 0) \
    X (IEQF, "==", "ifb", 0) \
    X (ITOF, "float", "if", 0)      /* nearest, ties to even                        */ \
    X (FTOI, "int", "fi", 1)        /* truncates; NaN: ValueError, else OverflowError */ \
    X (FROUND, "round", "fi", 1)    /* nearest, ties to even; faults as FTOI        */ \
    X (F32, "f32", "ff", 0)         /* to single precision and back                 */ \
    X (FBOOL, "bool", "fb", 0)      /* operand != 0.0: NaN is true                  */

enum dt_op {
#define X(name, text, types, partial) DT_OP_##name,
    DT_OPS (X)
#undef X
    DT_OP_COUNT
};
const char *dt_op_text (uint8_t op); /* as in dumps */
int dt_op_args (uint8_t op);         /* how many operands; 0 for an unknown op */
int dt_op_partial (uint8_t op);
const char *dt_op_types (uint8_t op); /* as above; "" for an unknown op */

/* Types of values.  A float's value is the bits of its double. */
enum dt_type { DT_TYPE_INT = 1, DT_TYPE_BOOL = 2, DT_TYPE_FLOAT = 3, DT_TYPE_ENUM = 4 };

/* Python's class of a run-time error. */
enum dt_fault {
    DT_FAULT_NONE = 0,
    DT_FAULT_OVERFLOW = 1,      /* OverflowError: an int left 64 bits           */
    DT_FAULT_ZERO_DIVISION = 2, /* ZeroDivisionError                            */
    DT_FAULT_VALUE = 3,         /* ValueError: negative shift, min of nothing   */
    DT_FAULT_INDEX = 4,         /* IndexError                                   */
    DT_FAULT_KEY = 5,           /* KeyError                                     */
    DT_FAULT_UNBOUND = 6,       /* UnboundLocalError                            */
    DT_FAULT_TYPE = 7,          /* TypeError                                    */
    DT_FAULT_NAME = 8,          /* NameError: unset, and read in a comprehension */
};
const char *dt_fault_name (enum dt_fault fault); /* "ZeroDivisionError"; never NULL */

static inline double dt_op_double (int64_t bits)
{
    double v;

    memcpy (&v, &bits, sizeof v);
    return v;
}

/* There is one NaN, whatever the machine's own sign and payload. */
static inline int64_t dt_op_bits (double v)
{
    int64_t bits = 0x7ff8000000000000;

    if (v == v)
        memcpy (&bits, &v, sizeof bits);
    return bits;
}

/* A float as Python's repr writes it: the fewest digits that read back the same. */
#define DT_FLOAT_TEXT 32
void dt_op_float_text (int64_t bits, char text[DT_FLOAT_TEXT]);

/* The value of `op` on constants: the one definition of the arithmetic, used by
 * folding and by the vm.  Returns the fault; *ret is the (total) value, 0 with a
 * fault.  FAIL takes its fault from `a`; ops without a value here give 0. */
enum dt_fault dt_op_eval (uint8_t op, int64_t a, int64_t b, int64_t c, int64_t *ret);

#endif
