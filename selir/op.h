/* selir/op.h - the kinds of value, and the one definition of their arithmetic.
 * Uses: nothing of ours.  Used by: graph.h, the vm. */
#ifndef DT_SELIR_OP_H
#define DT_SELIR_OP_H

#include <stdint.h>

/* Kinds of value.  Columns: name, text in dumps, operands, partial. */
#define DT_OPS(X) \
    X (CONST, "const", 0, 0)    /* imm: the value's bits                        */ \
    X (INPUT, "input", 0, 0)    /* imm: index into graph.input                  */ \
    X (KNOB, "knob", 0, 0)      /* imm: index into graph.knob                   */ \
    X (PIN, "pin", 0, 0)        /* imm: index into graph.pin; residual graphs   */ \
    X (ADD, "+", 2, 1) \
    X (SUB, "-", 2, 1) \
    X (MUL, "*", 2, 1) \
    X (FLOORDIV, "//", 2, 1) \
    X (MOD, "%", 2, 1) \
    X (LSHIFT, "<<", 2, 1) \
    X (RSHIFT, ">>", 2, 1) \
    X (NEG, "neg", 1, 1) \
    X (ABS, "abs", 1, 1) \
    X (BITAND, "&", 2, 0) \
    X (BITOR, "|", 2, 0) \
    X (BITXOR, "^", 2, 0) \
    X (INVERT, "~", 1, 0) \
    X (MIN, "min", 2, 0) \
    X (MAX, "max", 2, 0) \
    X (LT, "<", 2, 0)           /* comparisons: int operands, bool result       */ \
    X (LE, "<=", 2, 0) \
    X (EQ, "==", 2, 0)          /* two ints, two bools or two enums             */ \
    X (NE, "!=", 2, 0) \
    X (NOT, "not", 1, 0)        /* bools */ \
    X (AND, "and", 2, 0) \
    X (OR, "or", 2, 0) \
    X (INT, "int", 1, 0)        /* bool to int                                  */ \
    X (BOOL, "bool", 1, 0)      /* int to bool: operand != 0                    */ \
    X (SELECT, "select", 3, 0)  /* a ? b : c; b and c of the result's type      */ \
    X (FAIL, "fail", 0, 1)      /* a fault whenever the guard is true (a raise,
                                   an unset local); imm: enum dt_fault          */

enum dt_op {
#define X(name, text, args, partial) DT_OP_##name,
    DT_OPS (X)
#undef X
    DT_OP_COUNT
};
const char *dt_op_text (uint8_t op); /* as in dumps */
int dt_op_args (uint8_t op);         /* how many operands; 0 for an unknown op */
int dt_op_partial (uint8_t op);

/* Types of values.  Floats have a number now so that no format changes later. */
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

/* The value of `op` on constants: the one definition of the arithmetic, used by
 * folding and by the vm.  Returns the fault; *ret is the (total) value, 0 with a
 * fault.  FAIL takes its fault from `a`; ops without a value here give 0. */
enum dt_fault dt_op_eval (uint8_t op, int64_t a, int64_t b, int64_t c, int64_t *ret);

#endif
