/* selir/value.h - what a program's expressions are while it is specialised.
 * Uses: selir/check.h.  Used by: specialise.
 *
 * A value is static (known now) or a node of the graph.  Collections and records
 * are static in shape and never change; they lie in the specialiser's arena. */
#ifndef DT_SELIR_VALUE_H
#define DT_SELIR_VALUE_H

#include "selir/check.h"

enum dt_value_kind {
    DT_VALUE_UNSET,    /* a local without a value                                */
    DT_VALUE_NOTHING,  /* on a path that is never taken; merges into any other   */
    DT_VALUE_NONE,
    DT_VALUE_BOOL,     /* i                                                      */
    DT_VALUE_INT,      /* i                                                      */
    DT_VALUE_FLOAT,    /* i: the bits of the double                              */
    DT_VALUE_STR,      /* s                                                      */
    DT_VALUE_TUPLE,    /* seq                                                    */
    DT_VALUE_LIST,     /* seq                                                    */
    DT_VALUE_ITER,     /* seq: enumerate and zip, which can be walked once       */
    DT_VALUE_ZIPPED,   /* zipped: the same, over a range whose bounds depend on inputs */
    DT_VALUE_DICT,     /* seq: key, value, key, value, ...                       */
    DT_VALUE_RECORD,   /* seq, seq->class                                        */
    DT_VALUE_RANGE,    /* range                                                  */
    DT_VALUE_BOUNDED,  /* bounded: a range whose bounds depend on inputs         */
    DT_VALUE_FUNC,     /* func                                                   */
    DT_VALUE_CLASS,    /* class                                                  */
    DT_VALUE_BUILTIN,  /* i: enum dt_builtin                                     */
    DT_VALUE_MODULE,   /* module                                                 */
    DT_VALUE_SELIR,    /* the module selir                                       */
    DT_VALUE_NODE,     /* node, type                                             */
    DT_VALUE_MAYBE,    /* maybe: set on some paths only                          */
    DT_VALUE_CONFLICT, /* conflict: of two types that do not merge               */
};

struct dt_value {
    uint8_t kind, type;
    uint32_t node;
    union {
        int64_t i;
        const char *s;
        const struct dt_seq *seq;
        const struct dt_steps *range;
        const struct dt_bounded *bounded;
        const struct dt_zipped *zipped;
        const struct dt_closure *func;
        const struct dt_class *class;
        const struct dt_module *module;
        const struct dt_maybe *maybe;
        const struct dt_conflict *conflict;
    };
};

struct dt_seq {
    uint32_t n;
    const struct dt_class *class; /* of a record */
    struct dt_value item[];
};
struct dt_steps {
    int64_t start, step;
    uint64_t n;
};
/* range (start, stop, step): at most `most` turns, proven by the ranges of values. */
struct dt_bounded {
    struct dt_value start, stop; /* ints, at least one a node */
    int64_t step, surely; /* stop is never below (step > 0) or above `surely` */
    uint64_t most;
};
/* enumerate and zip, walked as far as the shortest part goes: at most `most` turns. */
struct dt_zipped {
    uint64_t most;
    uint32_t n;
    struct dt_value part[];
};
struct dt_closure {
    const struct dt_func *func;
    const struct dt_value *initial; /* [n_params] defaults; UNSET: none */
};
struct dt_maybe {
    struct dt_value bound; /* a bool: where it is set */
    struct dt_value value;
};
struct dt_conflict {
    const char *a, *b; /* names of the two types */
};

#define DT_V_NONE ((struct dt_value){ .kind = DT_VALUE_NONE })
#define DT_V_NOTHING ((struct dt_value){ .kind = DT_VALUE_NOTHING })
#define DT_V_BOOL(v) ((struct dt_value){ .kind = DT_VALUE_BOOL, .i = (v) })
#define DT_V_INT(v) ((struct dt_value){ .kind = DT_VALUE_INT, .i = (v) })
#define DT_V_FLOAT(bits) ((struct dt_value){ .kind = DT_VALUE_FLOAT, .i = (bits) })
#define DT_V_STR(v) ((struct dt_value){ .kind = DT_VALUE_STR, .s = (v) })
#define DT_V_NODE(n, t) ((struct dt_value){ .kind = DT_VALUE_NODE, .type = (t), .node = (n) })

/* "int", "str", "Choice", ...: for errors. */
const char *dt_value_type (struct dt_value v);
int dt_value_same (struct dt_value a, struct dt_value b); /* the very same, without comparing contents deeply */
int dt_value_is_int (struct dt_value v);  /* int, static or not  */
int dt_value_is_bool (struct dt_value v); /* bool, static or not */
int dt_value_is_float (struct dt_value v);
int dt_value_is_number (struct dt_value v); /* int, bool or float                */
int dt_value_is_static_number (struct dt_value v);
int dt_value_is_enum (struct dt_value v); /* str, None or an enum node */
int dt_value_is_iter (struct dt_value v); /* what enumerate and zip give */

struct dt_seq *dt_seq_new (struct dt_arena *a, uint32_t n);
/* Elements in the order of iteration: tuple, list, dict (keys), range, iter. */
int dt_value_iterable (struct dt_value v);
uint64_t dt_value_count (struct dt_value v);
struct dt_value dt_value_at (struct dt_value v, uint64_t i);

#endif
