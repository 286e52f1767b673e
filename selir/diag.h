/* selir/diag.h - errors with a place in a program.
 * Uses: base/err.h, selir/graph.h, selir/program.h.  Used by: lex, parse, check, specialise. */
#ifndef DT_SELIR_DIAG_H
#define DT_SELIR_DIAG_H

#include "selir/program.h"

/* Write "FILE:LINE:COLUMN: text", the line, the caret and the advice (NULL: none)
 * into reterr; returns code.  `src` is the file that `at` lies in. */
int dt_diag (struct dt_err *reterr, int code, const struct dt_source *src, struct dt_span at,
             const char *advice, const char *format, ...)
    __attribute__ ((format (printf, 6, 7)));

#endif
