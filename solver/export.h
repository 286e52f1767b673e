/* solver/export.h - a selector as C source.
 * Uses: selir/vm.h.  Used by: detentctl.
 *
 * The source needs gcc or clang (C11), the math library, and nothing
 * of Detent's.  It defines
 *
 *   struct PREFIX_stop {
 *       uint32_t index;     of the input, condition or place, as in dt_vm_stop
 *       int fault;          enum dt_fault, 0 unless 3 is returned
 *       size_t request;     which request, SIZE_MAX if the call's part
 *       int64_t value;      of the input, if 1 is returned
 *       const char *text;   the input's name, the condition's message, or Python's
 *                           class of error
 *       const char *where;  "file:line:column", "" for an input
 *   };
 *   int PREFIX_select (const int64_t *in, const int64_t *own, size_t n_requests,
 *                      int64_t *out, int64_t *own_out, struct PREFIX_stop *stop);
 *
 * which takes and gives what dt_vm_run does, and returns 0, or 1 (an input outside
 * its domain), 2 (a condition) or 3 (a fault) with *stop written.  A free table is
 * not exported: its quantities are the call's (see vm.h). */
#ifndef DT_SOLVER_EXPORT_H
#define DT_SOLVER_EXPORT_H

#include "base/buf.h"
#include "selir/vm.h"

/* Append the source.  Equal selectors and prefixes give equal bytes.
 *   -DT_EINPUT  the prefix is no C identifier, or the selector has a free table
 *   -ENOMEM */
int dt_export_c (const struct dt_vm *vm, const char *prefix, struct dt_buf *ret,
                 struct dt_err *reterr);

#endif
