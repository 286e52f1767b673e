/* detentd/describe.h - what a tune chose, as replies tell it.
 * Uses: solver/, tuner/, proto/.  Used by: tuning.c, forced.c. */
#ifndef DT_DETENTD_DESCRIBE_H
#define DT_DETENTD_DESCRIBE_H

#include "base/arena.h"
#include "proto/detent.pb-c.h"
#include "solver/solve.h"
#include "tuner/tables.h"
#include "tuner/tune.h"

/* All is made in the arena or borrowed from the solution; NULL: out of memory. */
Detent__SiteResult *dt_describe_result (struct dt_arena *a, const struct dt_solution *s,
                                        const struct dt_tune_result *result,
                                        const struct dt_tables_result *tables);

/* 1 if the value of pin or knob `at` (pins first) reads as `text`, 0 if not; -ENOMEM. */
int dt_describe_is_value (const struct dt_solution *s, size_t at, int64_t value,
                          const char *text);

#endif
