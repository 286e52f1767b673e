/* detentctl/sheet.h - what print.c and sheet.c share.
 * Uses: nothing.  Used by: print.c, sheet.c. */
#ifndef DT_CTL_SHEET_H
#define DT_CTL_SHEET_H

#include <stdarg.h>

void dt_sheet_init (void);
_Noreturn void dt_print_nomem (void);
/* Owned by the caller; never NULL. */
char *dt_print_escape (const char *text, int keep_lines);
char *dt_print_format (const char *format, va_list ap) __attribute__ ((format (printf, 1, 0)));

#endif
