/* verify/verify.h - the program detent-verify, but for its main.
 * Uses: verify/battery.h.  Used by: verify/main.c, tests/verify_varying.c. */
#ifndef DT_VERIFY_VERIFY_H
#define DT_VERIFY_VERIFY_H

#include <stdio.h>

#include "verify/battery.h"

/* Returns the exit status: 0 Detent changed no row, 1 it changed some, 8 there was
 * nothing to compare, else what the help text lists.  tweak: see struct dt_battery; NULL. */
int dt_verify_main (int argc, char **argv,
                    void (*tweak) (const struct dt_backend_family *family, uint64_t run,
                                   struct dt_backend_value *param));

/* What is reported beside the result.  Borrowed. */
struct dt_verify_report {
    const char *deployment, *workload, *family, *site, *device;
    const uint8_t *tuple, *bits; /* 32 bytes */
    const struct dt_battery *battery;
    const struct dt_battery_result *result;
};
void dt_verify_table (const struct dt_verify_report *p, FILE *out);
void dt_verify_json (const struct dt_verify_report *p, FILE *out);

#endif
