/* detentctl/hold_view.h - devices that are held, for people and as JSON.
 * Uses: proto/.  Used by: cmd_status.c, cmd_jobs_release.c. */
#ifndef DT_CTL_HOLD_VIEW_H
#define DT_CTL_HOLD_VIEW_H

#include <jansson.h>

#include "proto/detent.pb-c.h"

/* "held  cuda:0 since TIME: WHY", a line for each. */
void dt_holds_print (Detent__Hold *const *hold, size_t n, const char *what);
json_t *dt_holds_json (Detent__Hold *const *hold, size_t n);

#endif
