/* selir/ast.h - the syntax tree.
 * Uses: selir/lex.h.  Used by: parse, check, specialise.
 *
 * All of it lies in the program's arena; it is written by parse, completed by
 * check (names become slots) and read only from then on. */
#ifndef DT_SELIR_AST_H
#define DT_SELIR_AST_H

#include "selir/lex.h"

enum dt_expr_kind {
    DT_EXPR_INT,     /* i                                                       */
    DT_EXPR_BOOL,    /* i                                                       */
    DT_EXPR_NONE,
    DT_EXPR_FLOAT,   /* i: the bits of the double                               */
    DT_EXPR_STR,     /* s                                                       */
    DT_EXPR_NAME,    /* s; check adds scope, i, and op: 1 for a local of the
                        function that is read inside a comprehension           */
    DT_EXPR_TUPLE,   /* arg[n]                                                  */
    DT_EXPR_LIST,    /* arg[n]                                                  */
    DT_EXPR_DICT,    /* arg[n]: key, value, key, value, ...                     */
    DT_EXPR_ATTR,    /* arg[0] . s                                              */
    DT_EXPR_INDEX,   /* arg[0] [arg[1]]                                         */
    DT_EXPR_CALL,    /* arg[0] (arg[1], ...); key[i] names arg[i], NULL: by place */
    DT_EXPR_IF,      /* arg[1] if arg[0] else arg[2]                            */
    DT_EXPR_AND,     /* arg[n]                                                  */
    DT_EXPR_OR,      /* arg[n]                                                  */
    DT_EXPR_NOT,     /* arg[0]                                                  */
    DT_EXPR_COMPARE, /* arg[0] cmp[0] arg[1] cmp[1] arg[2] ...                  */
    DT_EXPR_UNARY,   /* op arg[0]                                               */
    DT_EXPR_BINARY,  /* arg[0] op arg[1]                                        */
    DT_EXPR_LISTCOMP, /* arg[0], clause[n_clauses]                              */
    DT_EXPR_GENEXP,   /* the same                                               */
    DT_EXPR_DICTCOMP, /* arg[0]: key, arg[1]: value                             */
    DT_EXPR_LAMBDA,   /* arg[0]; its parameter is the target of clause[0], which
                         has no iter                                            */
};

/* Comparison operators that are two tokens; the others are enum dt_tok. */
enum { DT_CMP_NOT_IN = 250, DT_CMP_IS_NOT = 251 };

enum dt_scope { DT_SCOPE_NONE, DT_SCOPE_LOCAL, DT_SCOPE_GLOBAL, DT_SCOPE_BUILTIN, DT_SCOPE_FACTS };

struct dt_clause {
    struct dt_expr *target, *iter;
    struct dt_expr **filter;
    uint32_t n_filters;
};

struct dt_expr {
    uint8_t kind, op, scope;
    uint16_t depth; /* 1 + the deepest operand's */
    uint32_t id;    /* unique in the program */
    struct dt_span at;
    int64_t i; /* value; or the slot, global or builtin of a name */
    const char *s;
    struct dt_expr **arg;
    uint32_t n;
    const char **key;
    uint8_t *cmp;
    struct dt_clause *clause;
    uint32_t n_clauses;
};

enum dt_stmt_kind {
    DT_STMT_PASS,
    DT_STMT_EXPR,     /* value                                        */
    DT_STMT_ASSIGN,   /* target[n] = value                            */
    DT_STMT_AUGMENT,  /* target[0] op= value                          */
    DT_STMT_ANNOTATE, /* target[0]: annotation = value (may be NULL)  */
    DT_STMT_IF,       /* arm[n_arms]: cond (NULL: else), body         */
    DT_STMT_FOR,      /* for target[0] in value: arm[0].body          */
    DT_STMT_RETURN,   /* value (may be NULL)                          */
    DT_STMT_BREAK,
    DT_STMT_CONTINUE,
    DT_STMT_IMPORT,   /* import                                       */
    DT_STMT_DEF,      /* func                                         */
    DT_STMT_CLASS,    /* class                                        */
};

struct dt_block {
    struct dt_stmt **stmt;
    uint32_t n;
};

struct dt_arm {
    struct dt_expr *cond;
    struct dt_block body;
};

struct dt_stmt {
    uint8_t kind, op;
    struct dt_span at;
    struct dt_expr **target;
    uint32_t n;
    struct dt_expr *value, *annotation;
    struct dt_arm *arm;
    uint32_t n_arms;
    struct dt_import *import;
    struct dt_func *func;
    struct dt_class *class;
};

/* `import module as name`, or `from module import item as name`. */
struct dt_import {
    const char *module, *item, *name; /* item NULL: the module itself */
    struct dt_span at;
    struct dt_import *next; /* of the same statement */
};

struct dt_param {
    const char *name;
    struct dt_span at;
    struct dt_expr *annotation, *initial; /* NULL: none */
};

struct dt_func {
    const char *name;
    struct dt_span at;
    struct dt_module *module;
    struct dt_param *param; /* param i is local slot i */
    uint32_t n_params;
    struct dt_expr **decorator;
    uint32_t n_decorators;
    struct dt_expr *returns; /* annotation, or NULL */
    struct dt_block body;
    const char **local; /* [n_locals] names, by check; the comprehensions' too */
    uint32_t n_locals;
    const char *family; /* of @selection, by check; else NULL */
};

enum dt_class_base { DT_BASE_FACTS = 1, DT_BASE_BATCH, DT_BASE_RECORD };
enum dt_marker { DT_MARK_NONE, DT_MARK_RUNTIME, DT_MARK_UNPINNABLE, DT_MARK_OWN, DT_MARK_FREE };

struct dt_field {
    const char *name;
    struct dt_span at;
    struct dt_expr *annotation;
    /* by check: */
    uint8_t marker;
    uint8_t type;           /* enum dt_type (ENUM for str), 0: any            */
    struct dt_expr *domain; /* inside Runtime, Unpinnable, Own                */
};

struct dt_class {
    const char *name;
    struct dt_span at;
    struct dt_module *module;
    struct dt_expr **base;
    uint32_t n_bases;
    struct dt_field *field;
    uint32_t n_fields;
    uint8_t kind; /* enum dt_class_base, by check */
};

/* What a module-level name is bound to. */
struct dt_global {
    const char *name;
    struct dt_span at;
    enum { DT_GLOBAL_VALUE, DT_GLOBAL_FUNC, DT_GLOBAL_CLASS, DT_GLOBAL_MODULE, DT_GLOBAL_ITEM,
           DT_GLOBAL_BUILTIN, DT_GLOBAL_SELIR } kind;
    struct dt_func *func;
    struct dt_class *class;
    struct dt_module *module; /* MODULE, ITEM */
    uint32_t item;            /* ITEM: index of its global; BUILTIN: the builtin */
};

struct dt_module {
    struct dt_source source; /* copies in the program's arena; source.name ends in .py */
    const char *name;        /* without .py */
    uint32_t file;
    struct dt_block body;
    struct dt_func *top;     /* the module body as a function: comprehensions' locals */
    struct dt_global *global;
    uint32_t n_globals;
    uint8_t state; /* while imports are followed: 0 new, 1 open, 2 done */
};

/* A growing array of pointers in an arena. */
struct dt_ptrs {
    void **item;
    uint32_t n, room;
};
int dt_ptrs_push (struct dt_arena *a, struct dt_ptrs *v, void *p); /* 0 or -ENOMEM */

#endif
