/* detentctl/site.h - what a solve found, for people and as JSON.
 * Uses: print.h, solved.h, solver/.  Used by: cmd_{solve,pins,explain}.c. */
#ifndef DT_CTL_SITE_H
#define DT_CTL_SITE_H

#include <jansson.h>

#include "base/buf.h"
#include "detentctl/options.h"
#include "detentctl/solved.h"

enum dt_site_show {
    DT_SITE_ALL,     /* with the first few counterexamples            */
    DT_SITE_ILLEGAL, /* with a counterexample of each illegal one     */
    DT_SITE_PINS     /* tables without points and counts; JSON has all */
};
void dt_site_print (const struct dt_ctl *c, const struct dt_solved *v, enum dt_site_show show);

/* "a, b, ... (n)" of values of a solution; owned by the buffer. */
const char *dt_site_values (const struct dt_solution *s, uint8_t type, const int64_t *value,
                            size_t n, size_t shown, struct dt_buf *b);
/* One, as a number, a bool or a text. */
json_t *dt_site_value_json (const struct dt_solution *s, uint8_t type, int64_t v);

#endif
