/* detentctl/forced.h - "SITE:NAME=VALUE,..." of an option: pins and knobs of sites.
 * Uses: options.h, proto/.  Used by: cmd_tune.c, cmd_certify.c. */
#ifndef DT_CTL_FORCED_H
#define DT_CTL_FORCED_H

#include "detentctl/options.h"
#include "proto/detent.pb-c.h"

#define DT_FORCED_MAX 64

struct dt_forced {
    char *text; /* owns the names and values */
    Detent__Forced one[DT_FORCED_MAX], *list[DT_FORCED_MAX];
    size_t n;
};

/* None if the option was not given.
 *   -DT_EUSAGE  another form, or too many */
int dt_forced_parse (const struct dt_ctl *c, const char *option, struct dt_forced *ret,
                     struct dt_err *reterr);
void dt_forced_done (struct dt_forced *f);

#endif
