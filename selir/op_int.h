/* selir/op_int.h - the part of the arithmetic that has floats in it.
 * Uses: selir/op.h.  Used by: op*.c. */
#ifndef DT_SELIR_OP_INT_H
#define DT_SELIR_OP_INT_H

#include "selir/op.h"

/* dt_op_eval of the ops from IDIV on. */
enum dt_fault dt_op_float (uint8_t op, int64_t a, int64_t b, int64_t *ret);

#endif
