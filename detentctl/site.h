/* detentctl/site.h - what a solve found, for people and as JSON.
 * Uses: print.h.  Used by: cmd_solve.c, cmd_pins.c. */
#ifndef DT_CTL_SITE_H
#define DT_CTL_SITE_H

#include "detentctl/options.h"
#include "proto/wire.h"

/* All of it; `pins_only` leaves points and counts out of the tables (JSON has all). */
void dt_site_print (const struct dt_ctl *c, const char *deployment,
                    Detent__SiteSolution *const *site, size_t n, int pins_only);

#endif
