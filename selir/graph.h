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
#include "selir/op.h"

#define DT_NODE_NONE UINT32_MAX

struct dt_span {
    uint32_t file; /* index into graph.file */
    uint32_t line, column; /* from 1; column counts bytes */
};

/* What a condition computes for itself: a pin of an equal value outside does not replace
 * it.  An input that it reads is DT_COPY_INPUT, a select of that input in both arms, which
 * simplifying replaces by the input, whatever is pinned. */
enum dt_copy { DT_COPY_NONE, DT_COPY_VALUE, DT_COPY_INPUT };

/* The fields up to `copy` are what hash-consing compares (no padding there). */
struct dt_node {
    int64_t imm;
    uint32_t a, b, c; /* operands, DT_NODE_NONE where the op has fewer          */
    uint32_t guard;   /* bool; DT_NODE_NONE: always on the path; partial ops    */
    uint8_t op, type;
    uint8_t safe;     /* partial, and proven never to fault: no guard           */
    uint8_t copy;     /* enum dt_copy; specialised graphs only                  */
    uint32_t span;    /* index into graph.span: where the program computes it   */
    const char *name; /* "function.local" of its first binding, or NULL         */
    uint64_t seq;     /* program order; builders take graph.next_seq++          */
};

/* A static collection of ints, bools, enum members or finite floats (by their bits):
 * ascending `value[n]`, or, if value is NULL, lo, lo+step, ..., at most hi (no floats).
 * Never empty. */
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
    const int64_t *value; /* [n_values] ascending: all that it may be; NULL: anything */
    size_t n_values;
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

/* A FAIL has no user: it is raised while `value` is computed (DT_NODE_NONE: of no one
 * value), and nobody raises it who is given that.  A FAIL that several places share has
 * several rows.  Specialised graphs, and the solver's candidates. */
struct dt_raise {
    uint32_t fail, value;
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
    struct dt_raise *raise;
    uint32_t n_raises;
    const char **enum_text; /* [n_enums] text of enum member i; all enums share it */
    uint32_t n_enums;
    const char *family;
    uint64_t next_seq;
    struct dt_table index;  /* hash-consing */
    size_t room_nodes, room_spans, room_files, room_inputs, room_knobs, room_pins,
        room_conds, room_points, room_raises, room_enums;
};

#define DT_GRAPH_MAX_NODES (1u << 20) /* "values": the limit's name in errors */

struct dt_graph *dt_graph_new (void);
struct dt_graph *dt_graph_free (struct dt_graph *g); /* NULL ok; returns NULL */

/* Add a value, or find the equal one that is there (op, type, operands, guard,
 * imm, safe, copy).  No folding.  The first one's span, name and seq stay; fields that
 * the op does not use are ignored.  `name` is borrowed: it lives as long as the
 * graph (dt_graph_str).  A new INPUT, KNOB or PIN value is entered in its row's
 * `node`.  On success *ret is its id.
 *   -ENOMEM, -DT_ELIMIT more than DT_GRAPH_MAX_NODES values */
int dt_graph_add (struct dt_graph *g, struct dt_node n, uint32_t *ret, struct dt_err *reterr);
int dt_graph_const (struct dt_graph *g, uint8_t type, int64_t v, uint32_t *ret,
                    struct dt_err *reterr);

/* A copy of `s` that lives as long as the graph; NULL if s is, or out of memory. */
const char *dt_graph_str (struct dt_graph *g, const char *s);

/* The rest append; strings and domains are copied, `node` of an input, knob or
 * pin is ignored (see dt_graph_add).  Each returns an index or a negative code. */
int64_t dt_graph_add_file (struct dt_graph *g, const char *path);
int64_t dt_graph_add_span (struct dt_graph *g, struct dt_span span);
int64_t dt_graph_add_enum (struct dt_graph *g, const char *text); /* finds equal ones */
int64_t dt_graph_add_input (struct dt_graph *g, const struct dt_input *in);
int64_t dt_graph_add_knob (struct dt_graph *g, const struct dt_knob *knob);
int64_t dt_graph_add_pin (struct dt_graph *g, const struct dt_pin *pin);
int64_t dt_graph_add_cond (struct dt_graph *g, const struct dt_cond *cond);
int64_t dt_graph_add_point (struct dt_graph *g, const struct dt_point *point);
int64_t dt_graph_add_raise (struct dt_graph *g, struct dt_raise raise);

/* A fresh graph with the same files, spans, enums, inputs, knobs and pins (their
 * node fields are DT_NODE_NONE until added), no values, conditions, points. */
int dt_graph_like (const struct dt_graph *g, struct dt_graph **ret, struct dt_err *reterr);

/* Operands of a node, in order; returns how many. */
int dt_node_args (const struct dt_node *n, uint32_t args[3]);

/* 1 if operands precede, types fit, and ids are in range: what every reader of a
 * graph relies on.  Builders assert it with dt_graph_check. */
int dt_graph_valid (const struct dt_graph *g);
void dt_graph_check (const struct dt_graph *g);

/* 1 if the value raises where its guard is true: partial and not safe. */
int dt_node_faults (const struct dt_node *n);

/* Readable text, one value a line, appended to `out`. */
struct dt_buf;
void dt_graph_dump (const struct dt_graph *g, struct dt_buf *out);

#endif
