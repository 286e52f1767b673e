/* selir/range_int.h - interval arithmetic of the ops.
 * Uses: selir/range.h.  Used by: range*.c. */
#ifndef DT_SELIR_RANGE_INT_H
#define DT_SELIR_RANGE_INT_H

#include "selir/range.h"

/* The values of an op on intervals; `fault`: some operands raise, so that the
 * interval has 0. */
struct dt_interval {
    int64_t lo, hi;
    int fault;
};
struct dt_interval dt_interval_op (uint8_t op, const struct dt_range *a,
                                   const struct dt_range *b);
/* Of the ops that take or give floats (interval_float.c). */
struct dt_interval dt_interval_float (uint8_t op, const struct dt_range *a,
                                      const struct dt_range *b);

#endif
