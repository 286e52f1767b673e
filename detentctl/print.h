/* detentctl/print.h - tables, JSON and errors on the terminal.
 * Uses: base/, proto/, Jansson, libsmartcols.  Used by: the commands.
 *
 * Text from outside (files, the daemon) is never printed raw: control characters
 * and broken UTF-8 become \xNN.  When memory ends while printing, the process
 * ends with that message: there is nothing left to undo. */
#ifndef DT_CTL_PRINT_H
#define DT_CTL_PRINT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "detentctl/options.h"
#include "proto/wire.h"

#define DT_CTL_JSON_VERSION 1
#define DT_CTL_SHORT_HEX 12 /* digits of a digest in tables */

/* Call first: Jansson's memory, and colours for a terminal without NO_COLOR. */
void dt_print_init (void);

/* 'detentctl: WHAT: text' on stderr; with --json an error object on stdout too. */
void dt_print_error (const struct dt_ctl *c, int code, const struct dt_err *err);

/* printf whose result is escaped, newlines too. */
void dt_print (FILE *out, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
/* Escaped, but newlines stay: a graph has a value a line. */
void dt_print_lines (FILE *out, const char *text);

/* The first digits of a digest; all of them. Owned by a static ring of 8. */
const char *dt_hex_short (ProtobufCBinaryData d);
const char *dt_hex (ProtobufCBinaryData d);

/* "a=1, b=2", in `b`, whose bytes it replaces. */
const char *dt_print_values (Detent__NameValue *const *v, size_t n, struct dt_buf *b);

/* A table: columns, then rows cell by cell from the left. */
struct dt_sheet;
struct dt_column {
    const char *name; /* NULL ends the list */
    enum { DT_LEFT, DT_RIGHT, DT_WRAP, DT_CUT } how; /* WRAP, CUT: gives way first when
                                                        the terminal is narrow   */
};
struct dt_sheet *dt_sheet_new (const struct dt_column *columns);
void dt_sheet_row (struct dt_sheet *s);
void dt_sheet_cell (struct dt_sheet *s, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
/* As dt_sheet_cell, and told apart by colour where there is any. */
void dt_sheet_good (struct dt_sheet *s, const char *text);
void dt_sheet_bad (struct dt_sheet *s, const char *text);
/* Print, with a title line if it is not NULL, and free.  Nothing for no rows. */
void dt_sheet_print (struct dt_sheet *s, const char *title);

/* JSON values; never NULL.  set takes over `v`. */
json_t *dt_json_text (const char *s);
json_t *dt_json_hex (ProtobufCBinaryData d);
json_t *dt_json_u64 (uint64_t v);
json_t *dt_json_real (double v); /* null if it is not finite */
json_t *dt_json_time (int64_t wall_ns);
json_t *dt_json_values (Detent__NameValue *const *v, size_t n); /* {"a": "1", "b": "2"} */
json_t *dt_json_object (void);
json_t *dt_json_array (void);
void dt_json_set (json_t *object, const char *key, json_t *v);
void dt_json_append (json_t *array, json_t *v);
/* Print with its version and free. */
void dt_json_print (json_t *object);

#endif
