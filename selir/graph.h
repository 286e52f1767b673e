/* selir/graph.h - the dependence graph that a program is lowered to.
 * Uses: base/.  Used by: specialise, range, simplify, emit; solver/.
 *
 * A graph is a list of hash-consed values in an order in which operands come
 * first.  Control dependence is an edge like any other: a branch that depends on
 * inputs has become SELECT values.
 *
 * Every value is total.  A partial operation (overflow, zero divisor, bad shift)
 * yields 0 where Python raises, and carries `guard`, the condition of its path:
 * it is a fault only if the guard is true.  So a value never depends on its
 * guard; only errors do.  Faults and conditions are raised in order of `seq`,
 * which is program order.
 *
 * Ids are uint32_t indices.  A graph belongs to one thread while it is built and
 * may be read from any number afterwards. */
#ifndef DT_SELIR_GRAPH_H
#define DT_SELIR_GRAPH_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/table.h"

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
};
const char *dt_fault_name (enum dt_fault fault); /* "ZeroDivisionError"; never NULL */

#define DT_NODE_NONE UINT32_MAX

struct dt_span {
    uint32_t file; /* index into graph.file */
    uint32_t line, column; /* from 1; column counts bytes */
};

struct dt_node {
    uint8_t op, type;
    uint8_t safe;     /* partial, and proven never to fault: guard is not read  */
    uint32_t a, b, c; /* operands, DT_NODE_NONE where the op has fewer          */
    uint32_t guard;   /* bool; DT_NODE_NONE: always on the path; partial ops    */
    int64_t imm;
    uint32_t span;    /* index into graph.span: where the program computes it   */
    const char *name; /* "function.local" of its first binding, or NULL         */
    uint64_t seq;     /* program order                                          */
};

/* A static collection of ints, bools or enum members: ascending `value[n]`, or,
 * if value is NULL, lo, lo+step, ..., at most hi.  Never empty. */
struct dt_domain {
    int64_t lo, hi, step;
    const int64_t *value;
    size_t n;
};
int dt_domain_has (const struct dt_domain *d, int64_t v);
uint64_t dt_domain_size (const struct dt_domain *d);
int64_t dt_domain_at (const struct dt_domain *d, uint64_t i); /* the i-th, ascending */

enum dt_input_class { DT_INPUT_RUNTIME = 1, DT_INPUT_UNPINNABLE = 2, DT_INPUT_OWN = 3 };

struct dt_input {
    const char *name; /* field of the Batch record */
    uint8_t klass, type;
    struct dt_domain domain;
    uint32_t node, span;
};

struct dt_knob {
    const char *name;
    uint8_t type;
    const int64_t *value; /* [n_values] in the program's order */
    size_t n_values;
    uint32_t initial; /* index of the default */
    uint32_t node, span;
};

/* An opaque symbol in place of a pinned value (residual graphs only). */
struct dt_pin {
    const char *name;
    uint8_t type;
    uint32_t node;
    uint32_t span;
};

enum dt_cond_kind { DT_COND_REQUIRE = 1, DT_COND_ASSUME = 2 };
struct dt_cond {
    uint8_t kind;
    uint32_t value;      /* bool: must be true ...                    */
    uint32_t guard;      /* ... where this is; DT_NODE_NONE: always    */
    const char *message;
    uint32_t span;
    uint64_t seq;
};

/* A selection point: one field of the returned record. */
struct dt_point {
    const char *field;
    uint8_t type;
    uint8_t is_free;     /* Free[...] in the program                  */
    uint32_t node;
    uint32_t span;
};

struct dt_graph {
    struct dt_arena arena; /* owns names, messages, domains            */
    struct dt_node *node;
    uint32_t n_nodes;
    struct dt_span *span;
    uint32_t n_spans;
    const char **file;
    uint32_t n_files;
    struct dt_input *input;
    uint32_t n_inputs;
    struct dt_knob *knob;
    uint32_t n_knobs;
    struct dt_pin *pin;
    uint32_t n_pins;
    struct dt_cond *cond;
    uint32_t n_conds;
    struct dt_point *point;
    uint32_t n_points;
    const char **enum_text; /* [n_enums] text of enum member i; all enums share it */
    uint32_t n_enums;
    const char *family;
    uint64_t next_seq;
    struct dt_table index;  /* hash-consing */
    size_t room_nodes, room_spans, room_files, room_inputs, room_knobs, room_pins,
        room_conds, room_points, room_enums;
};

#define DT_GRAPH_MAX_NODES (1u << 20) /* "values": the limit's name in errors */

struct dt_graph *dt_graph_new (void);
struct dt_graph *dt_graph_free (struct dt_graph *g); /* NULL ok; returns NULL */

/* Add a value, or find the equal one that is there (op, type, operands, guard,
 * imm).  No folding.  The first one's span, name and seq stay.  On success
 * *ret is its id.
 *   -ENOMEM, -DT_ELIMIT more than DT_GRAPH_MAX_NODES values */
int dt_graph_add (struct dt_graph *g, struct dt_node n, uint32_t *ret, struct dt_err *reterr);
int dt_graph_const (struct dt_graph *g, uint8_t type, int64_t v, uint32_t *ret,
                    struct dt_err *reterr);

/* The rest append; strings and domains are copied.  Each returns an index or a
 * negative code. */
int64_t dt_graph_add_file (struct dt_graph *g, const char *path);
int64_t dt_graph_add_span (struct dt_graph *g, struct dt_span span);
int64_t dt_graph_add_enum (struct dt_graph *g, const char *text); /* finds equal ones */
int64_t dt_graph_add_input (struct dt_graph *g, const struct dt_input *in);
int64_t dt_graph_add_knob (struct dt_graph *g, const struct dt_knob *knob);
int64_t dt_graph_add_pin (struct dt_graph *g, const struct dt_pin *pin);
int64_t dt_graph_add_cond (struct dt_graph *g, const struct dt_cond *cond);
int64_t dt_graph_add_point (struct dt_graph *g, const struct dt_point *point);

/* A fresh graph with the same files, spans, enums, inputs, knobs and pins (their
 * node fields are DT_NODE_NONE until added), no values, conditions, points. */
int dt_graph_like (const struct dt_graph *g, struct dt_graph **ret, struct dt_err *reterr);

/* The value of `op` on constants: the one definition of the arithmetic, used by
 * folding and by the vm's tests.  Returns the fault, and the (total) value. */
enum dt_fault dt_op_eval (uint8_t op, int64_t a, int64_t b, int64_t c, int64_t *ret);

/* Operands of a node, in order; returns how many. */
int dt_node_args (const struct dt_node *n, uint32_t args[3]);

/* Assert, in debug builds, that operands precede, types fit, and ids are in range. */
void dt_graph_check (const struct dt_graph *g);

/* Readable text, one value a line, appended to `out`. */
struct dt_buf;
void dt_graph_dump (const struct dt_graph *g, struct dt_buf *out);

#endif
