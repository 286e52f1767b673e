/* selir/parse.h - from tokens to a syntax tree, by CPython's grammar.
 * Uses: selir/ast.h.  Used by: program. */
#ifndef DT_SELIR_PARSE_H
#define DT_SELIR_PARSE_H

#include "selir/ast.h"

#define DT_PARSE_MAX_NESTING 60 /* of expressions and blocks while parsing */
#define DT_PARSE_MAX_DEPTH 200  /* of a syntax tree: a + b + c + ... */

/* Parse one file into `body`, allocated in `arena`.  *next_id numbers expressions
 * over all files of a program. */
int dt_parse (const struct dt_source *src, uint32_t file, struct dt_arena *arena,
              uint32_t *next_id, struct dt_block *body, struct dt_err *reterr);

/* --- shared by parse*.c --------------------------- */
struct dt_parser {
    const struct dt_source *src;
    struct dt_arena *arena;
    struct dt_err *err;
    const struct dt_token *token; /* the current one */
    uint32_t *next_id;
    int nesting;
    int in_function, in_loop;
};

int dt_parser_is (const struct dt_parser *p, uint8_t kind);
int dt_parser_accept (struct dt_parser *p, uint8_t kind); /* 1 and a step, or 0 */
int dt_parser_expect (struct dt_parser *p, uint8_t kind);
int dt_parser_unexpected (struct dt_parser *p); /* the error about the current token */
int dt_parser_enter (struct dt_parser *p);      /* one level deeper */
void dt_parser_leave (struct dt_parser *p);
int dt_parser_name (struct dt_parser *p, const char **ret);
int dt_parser_block (struct dt_parser *p, struct dt_block *ret);

/* A new expression over `arg` (NULL: none), or over one or two with an operator. */
int dt_parser_make (struct dt_parser *p, uint8_t kind, struct dt_span at, struct dt_ptrs *arg, struct dt_expr **ret);
int dt_parser_make1 (struct dt_parser *p, uint8_t kind, uint8_t op, struct dt_span at, struct dt_expr *a,
                     struct dt_expr **ret);
int dt_parser_make2 (struct dt_parser *p, uint8_t kind, uint8_t op, struct dt_span at, struct dt_expr *a,
                     struct dt_expr *b, struct dt_expr **ret);
int dt_parser_push (struct dt_parser *p, struct dt_ptrs *v, struct dt_expr *e);

int dt_parse_primary (struct dt_parser *p, struct dt_expr **ret);     /* parse_atom.c */
int dt_parse_disjunction (struct dt_parser *p, struct dt_expr **ret); /* without a conditional */
int dt_parse_expr (struct dt_parser *p, struct dt_expr **ret);      /* one expression */
int dt_parse_exprs (struct dt_parser *p, struct dt_expr **ret);     /* or a tuple without brackets */
int dt_parse_target (struct dt_parser *p, struct dt_expr **ret);    /* of for */
int dt_parse_check_target (struct dt_parser *p, const struct dt_expr *e);
int dt_parse_def (struct dt_parser *p, struct dt_stmt *s, struct dt_ptrs *decorators);
int dt_parse_class (struct dt_parser *p, struct dt_stmt *s);
int dt_parse_import (struct dt_parser *p, struct dt_stmt *s);

#endif
