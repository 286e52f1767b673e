/* solver/export_ops.h - the arithmetic of the ops as C source.
 * Uses: selir/op.h.  Used by: solver/export.c. */
#ifndef DT_SOLVER_EXPORT_OPS_H
#define DT_SOLVER_EXPORT_OPS_H

#include <stdint.h>

/* Functions that several ops share. */
#define DT_EXPORT_NUM 1u     /* detent_num    */
#define DT_EXPORT_BITS 2u    /* detent_bits   */
#define DT_EXPORT_ORDER 4u   /* detent_order  */
#define DT_EXPORT_TO_INT 8u  /* detent_to_int */
#define DT_EXPORT_PARTS 4
const char *dt_export_part (unsigned i); /* of bit 1 << i */

struct dt_export_op {
    const char *value;    /* of a total op: an expression of A, B and C        */
    const char *function; /* of a partial op, called (a[, b], &dst): the fault */
    const char *source;   /* of the function that either of them calls         */
    unsigned parts;
};
/* NULL for ops that are no instruction of their own. */
const struct dt_export_op *dt_export_op (uint16_t op);

#endif
