/* selir/check.h - what names mean, and what a program must have.
 * Uses: selir/ast.h.  Used by: program, specialise. */
#ifndef DT_SELIR_CHECK_H
#define DT_SELIR_CHECK_H

#include "selir/ast.h"

#define DT_CHECK_MAX_LOCALS 1024  /* of one function  */
#define DT_CHECK_MAX_GLOBALS 1024 /* of one file      */
#define DT_CHECK_MAX_FIELDS 64    /* of one class     */

/* Python's built-in functions that the language has, and selir's own names.
 * Columns: name in C, name in programs, 1 if it must be imported from selir. */
#define DT_BUILTINS(X) \
    X (MIN, "min", 0) X (MAX, "max", 0) X (SUM, "sum", 0) X (ANY, "any", 0) X (ALL, "all", 0) \
    X (SORTED, "sorted", 0) X (LEN, "len", 0) X (ABS, "abs", 0) X (RANGE, "range", 0) \
    X (ENUMERATE, "enumerate", 0) X (ZIP, "zip", 0) X (INT, "int", 0) X (BOOL, "bool", 0) \
    X (FLOAT, "float", 0) X (ROUND, "round", 0) X (STR, "str", 0) \
    X (F32, "f32", 1) X (TABLE, "table", 1) \
    X (KNOB, "knob", 1) X (REQUIRE, "require", 1) X (ASSUME, "assume", 1) \
    X (SELECTION, "selection", 1) X (FACTS, "Facts", 1) X (BATCH, "Batch", 1) \
    X (RECORD, "Record", 1) X (RUNTIME, "Runtime", 1) X (UNPINNABLE, "Unpinnable", 1) \
    X (OWN, "Own", 1) X (FREE, "Free", 1)

enum dt_builtin {
#define X(name, text, selir) DT_BUILTIN_##name,
    DT_BUILTINS (X)
#undef X
    DT_BUILTIN_COUNT
};
const char *dt_builtin_name (uint32_t builtin);
/* The builtin of that name (from selir, or Python's), or -1. */
int dt_builtin_find (const char *name, int selir);

struct dt_program {
    struct dt_arena arena;
    struct dt_module **module; /* [n_modules] in the order in which they run; the main one last */
    uint32_t n_modules;
    struct dt_module **file; /* [n_files] by the file of a span */
    uint32_t n_files;
    struct dt_source *data; /* [n_data] files that table () reads */
    uint32_t n_data;
    struct dt_module *main;
    uint32_t n_exprs;
    struct dt_func *selection;
    struct dt_class *facts, *batch, *choice;
    uint32_t facts_param, batch_param;
};

/* The module among `all` that `import NAME` finds, or NULL. */
typedef struct dt_module *(*dt_find_module_f) (void *ctx, const char *name);

/* Resolve the names of one module whose imports have been checked.  `find` gives
 * those modules. */
int dt_check_module (struct dt_program *p, struct dt_module *m, dt_find_module_f find, void *ctx,
                     struct dt_err *reterr);
/* Then: the one selection, its Facts, Batch and Record. */
int dt_check_program (struct dt_program *p, struct dt_err *reterr);

/* --- shared by check.c and check_class.c --------------------------------------- */

/* A global with `from x import y` followed to where it is defined. */
const struct dt_global *dt_global_origin (const struct dt_module *m, uint32_t i);
/* What an expression names, without evaluating it; -1 and NULL if something else. */
int dt_static_builtin (const struct dt_module *m, const struct dt_expr *e);
struct dt_class *dt_static_class (const struct dt_module *m, const struct dt_expr *e);
int dt_check_class (struct dt_module *m, struct dt_class *c, struct dt_err *reterr);

#endif
