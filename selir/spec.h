/* selir/spec.h - the specialiser's parts to each other.
 * Uses: selir/value.h.  Used by: specialise.c and spec_*.c only.
 *
 * The specialiser runs the program once, as CPython would, on values that may be
 * nodes of the graph.  `path` is the condition under which the current statement
 * runs.  Where a condition is a node, both arms run, each under its path, and
 * what they leave behind is merged with SELECT.
 *
 * Functions here return 0, a negative code, or DT_RAISED: the expression raises
 * on every path that reaches it (a FAIL value was added), so nothing after it on
 * this path matters. */
#ifndef DT_SELIR_SPEC_H
#define DT_SELIR_SPEC_H

#include "selir/range.h"
#include "selir/value.h"

#define DT_RAISED 1

#define DT_SPEC_MAX_CALLS 64           /* calls inside calls                       */
#define DT_SPEC_MAX_DEPTH 1500         /* expressions and blocks inside each other */
#define DT_SPEC_MAX_UNROLLED (1u << 18) /* turns of loops; elements of a collection */
#define DT_SPEC_MAX_STRING 4096u       /* bytes of a string                        */
#define DT_SPEC_MAX_STEPS (1u << 23)   /* expressions evaluated, values copied     */

struct dt_frame {
    const struct dt_func *func;
    struct dt_value *local; /* [func->n_locals] */
    struct dt_frame *outer;
};

struct dt_spec {
    const struct dt_program *p;
    struct dt_graph *g;
    struct dt_arena arena;
    struct dt_err *err;
    struct dt_value path; /* a bool */
    struct dt_frame *frame;
    struct dt_value **global;       /* [file][global]        */
    struct dt_value facts;          /* the Facts record      */
    uint32_t *span_of;              /* [n_exprs] index into the graph's spans, 0: none yet */
    struct dt_ranges *ranges;       /* of the graph so far; NULL: none asked yet */
    uint32_t calls, depth, unrolled, steps;
    uint32_t conditions;            /* whose expressions are being evaluated */
};

/* --- spec_build.c: errors, nodes, logic ------------------------------------------ */
int dt_spec_error (struct dt_spec *s, int code, struct dt_span at, const char *advice,
                   const char *format, ...) __attribute__ ((format (printf, 5, 6)));
int dt_spec_step (struct dt_spec *s, uint32_t n, struct dt_span at);
/* One level deeper, and a step; the caller takes one from s->depth when it is done. */
int dt_spec_enter (struct dt_spec *s, const struct dt_expr *e);
int dt_spec_string (struct dt_spec *s, const struct dt_expr *e, const char *text); /* its length */
int dt_spec_static (struct dt_spec *s, const struct dt_expr *e, struct dt_value v); /* 1: no node is inside; 0 */
int dt_spec_unroll (struct dt_spec *s, uint64_t n, struct dt_span at);
/* A static run-time error: of the whole program if nothing decides whether this
 * is reached, else a FAIL value on this path. */
int dt_spec_fault (struct dt_spec *s, const struct dt_expr *e, enum dt_fault fault, const char *why);
/* A run-time error where `where` (a bool) holds on this path; evaluation goes on. */
int dt_spec_fault_if (struct dt_spec *s, const struct dt_expr *e, enum dt_fault fault, struct dt_value where,
                      const char *why);
int dt_spec_span (struct dt_spec *s, const struct dt_expr *e, uint32_t *ret);
int dt_spec_node (struct dt_spec *s, const struct dt_expr *e, uint8_t op, uint8_t type, const struct dt_value *arg,
                  int n, struct dt_value *ret);
int dt_spec_id (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, uint32_t *ret); /* of a scalar */
int dt_spec_enum (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, int64_t *ret);
int dt_spec_guard (struct dt_spec *s, const struct dt_expr *e, struct dt_value path, uint32_t *ret);

int dt_spec_not (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value *ret);
int dt_spec_and (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret);
int dt_spec_or (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret);
/* cond ? a : b, field by field; what does not merge becomes a CONFLICT. */
int dt_spec_merge (struct dt_spec *s, const struct dt_expr *e, struct dt_value cond, struct dt_value a,
                   struct dt_value b, struct dt_value *ret);
int dt_spec_usable (struct dt_spec *s, const struct dt_expr *e, struct dt_value v); /* refuses a CONFLICT */
/* Name a node after its first binding. */
int dt_spec_name (struct dt_spec *s, struct dt_value v, const char *local);

/* --- spec_number.c: one operation of the graph on numbers ---------------------------- */
/* Folded where the operands are static; a fault then is the program's. */
int dt_spec_arith (struct dt_spec *s, const struct dt_expr *e, uint8_t op, uint8_t type, const struct dt_value *arg,
                   int n, struct dt_value *ret);
int dt_spec_float (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, const char *what, struct dt_value *ret);
int dt_spec_round (struct dt_spec *s, const struct dt_expr *e, uint8_t op, struct dt_value v, const char *what,
                   struct dt_value *ret); /* FTOI or FROUND; ints stay */
int dt_spec_convert (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, struct dt_value v,
                     struct dt_value *ret); /* int, float, f32, round */
/* a < b (`strict`) or a <= b of numbers; a == b of numbers. */
int dt_spec_less (struct dt_spec *s, const struct dt_expr *e, int strict, struct dt_value a, struct dt_value b,
                  struct dt_value *ret);
int dt_spec_equal_numbers (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b,
                           struct dt_value *ret);
int dt_spec_power (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret);
int dt_spec_never_nan (const struct dt_spec *s, struct dt_value v); /* 0: it may be */
/* The range of an int that may depend on inputs. */
int dt_spec_limits (struct dt_spec *s, struct dt_value v, int64_t *ret_lo, int64_t *ret_hi);

/* --- spec_walk.c: what loops walk over ------------------------------------------------ */
int dt_spec_range (struct dt_spec *s, const struct dt_expr *e, struct dt_value *v, uint32_t n, struct dt_value *ret);
int dt_spec_walkable (struct dt_value v);  /* a collection, a BOUNDED range, or ZIPPED */
/* The length of a BOUNDED range, and whether it is more than 0. */
int dt_spec_range_len (struct dt_spec *s, const struct dt_expr *e, const struct dt_bounded *b, struct dt_value *ret);
int dt_spec_range_truth (struct dt_spec *s, const struct dt_expr *e, const struct dt_bounded *b, struct dt_value *ret);
/* ZIPPED of n parts, at least one of them BOUNDED or ZIPPED. */
int dt_spec_zipped (struct dt_spec *s, const struct dt_value *part, uint32_t n, struct dt_value *ret);
uint64_t dt_spec_turns (struct dt_value v); /* at most */
/* Element k, and where (a bool) there is one. */
int dt_spec_turn (struct dt_spec *s, const struct dt_expr *e, struct dt_value over, uint64_t k, struct dt_value *ret,
                  struct dt_value *ret_where);

/* --- spec_op.c: operators ---------------------------------------------------------- */
int dt_spec_int (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, const char *what, struct dt_value *ret);
int dt_spec_truth (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, struct dt_value *ret);
int dt_spec_unary (struct dt_spec *s, const struct dt_expr *e, uint8_t op, struct dt_value a, struct dt_value *ret);
int dt_spec_binary (struct dt_spec *s, const struct dt_expr *e, uint8_t op, struct dt_value a, struct dt_value b,
                    struct dt_value *ret);
/* --- spec_compare.c ---------------------------------------------------------------- */
int dt_spec_equal (struct dt_spec *s, const struct dt_expr *e, struct dt_value a, struct dt_value b, struct dt_value *ret);
int dt_spec_compare (struct dt_spec *s, const struct dt_expr *e, uint8_t op, struct dt_value a, struct dt_value b,
                     struct dt_value *ret);
int dt_spec_order (struct dt_spec *s, const struct dt_expr *e, int strict, struct dt_value a, struct dt_value b,
                   struct dt_value *ret); /* a < b or a <= b */
int dt_spec_index (struct dt_spec *s, const struct dt_expr *e, struct dt_value base, struct dt_value index,
                   struct dt_value *ret);

/* --- spec_expr.c: expressions ------------------------------------------------------ */
int dt_spec_eval (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret);
/* The truth of an expression, where its value does not show. */
int dt_spec_cond (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret);
int dt_spec_assign (struct dt_spec *s, const struct dt_expr *target, struct dt_value v);
int dt_spec_global (struct dt_spec *s, const struct dt_module *m, uint32_t i, struct dt_value *ret);

/* --- spec_comp.c: comprehensions --------------------------------------------------- */
/* Called for each element; `where` is the filter's condition (a bool).  0 to go on. */
typedef int (*dt_each_f) (struct dt_spec *s, const struct dt_expr *e, struct dt_value where, void *ctx);
int dt_spec_each (struct dt_spec *s, const struct dt_expr *comp, dt_each_f each, void *ctx);
int dt_spec_comprehension (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret);
/* A new dict of n pairs of which later ones replace earlier ones. */
int dt_spec_dict (struct dt_spec *s, const struct dt_expr *e, const struct dt_value *pair, uint32_t n, struct dt_value *ret);

/* What a lambda gives for v. */
int dt_spec_apply (struct dt_spec *s, const struct dt_expr *lambda, struct dt_value v, struct dt_value *ret);

/* --- spec_call.c: calls ------------------------------------------------------------ */
int dt_spec_call (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret);
int dt_spec_run (struct dt_spec *s, const struct dt_expr *e, const struct dt_closure *f, struct dt_value *arg,
                 struct dt_value *ret);
/* --- builtins.c, spec_fold.c ------------------------------------------------------- */
int dt_spec_builtin (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, struct dt_value *ret);
int dt_spec_fold (struct dt_spec *s, const struct dt_expr *e, uint32_t builtin, struct dt_value *ret); /* min max sum any all */
/* Whether an argument is there by keyword (-1: none), else its index in e->arg. */
int dt_spec_keyword (const struct dt_expr *e, const char *key);
int dt_spec_sorted (struct dt_spec *s, const struct dt_expr *e, struct dt_value v, struct dt_value *ret); /* spec_sort.c */
int dt_spec_key (struct dt_spec *s, const struct dt_expr *e, const struct dt_expr **ret); /* key=lambda..., or NULL */
/* --- spec_table.c: data files ------------------------------------------------------- */
int dt_spec_table (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret);
/* --- spec_selir.c: knob, require, assume, domains ---------------------------------- */
int dt_spec_knob (struct dt_spec *s, const struct dt_expr *e, struct dt_value *ret);
int dt_spec_condition (struct dt_spec *s, const struct dt_expr *e, uint8_t kind);
int dt_spec_inputs (struct dt_spec *s, struct dt_value *ret);

/* --- spec_stmt.c, outcome.c -------------------------------------------------------- */
/* How a block ends on each path.  NULL: it falls through on all. */
enum { DT_OUT_RETURN, DT_OUT_BREAK, DT_OUT_CONTINUE, DT_OUT_RAISE, DT_OUT_BRANCH, DT_OUT_SEQ,
       DT_OUT_JOIN };
struct dt_outcome {
    int kind;
    struct dt_value value;         /* RETURN; BRANCH: the condition   */
    struct dt_value *env;          /* BREAK, CONTINUE: the locals     */
    const struct dt_expr *at;      /* BRANCH: the condition's place   */
    struct dt_outcome *a, *b;      /* BRANCH; JOIN: a                 */
    int joined;                    /* JOIN: leaves of this kind in `a` fall through it */
    struct dt_outcome **item;      /* SEQ: where one falls through the next goes on */
    uint32_t n;
};
int dt_outcome_falls (const struct dt_outcome *o); /* on some path */
const struct dt_expr *dt_outcome_place (const struct dt_outcome *o); /* of one that falls through */
int dt_outcome_has (const struct dt_outcome *o, int kind);
int dt_outcome_branch (struct dt_spec *s, const struct dt_expr *at, struct dt_value cond, struct dt_outcome *a,
                       struct dt_outcome *b, struct dt_outcome **ret);
int dt_outcome_seq (struct dt_spec *s, struct dt_ptrs *items, struct dt_outcome **ret);
/* Where it falls through, as a bool. */
int dt_outcome_live (struct dt_spec *s, const struct dt_outcome *o, struct dt_value *ret);
/* The returned value; `fall` where it falls through. */
int dt_outcome_value (struct dt_spec *s, const struct dt_outcome *o, struct dt_value fall, struct dt_value *ret);
/* Let leaves of `kind` fall through: their locals are merged into the frame's. */
int dt_outcome_join (struct dt_spec *s, struct dt_outcome *o, int kind, struct dt_outcome **ret);

int dt_spec_block (struct dt_spec *s, const struct dt_block *b, struct dt_outcome **ret);

#endif
