/* detentctl/settings.h - "name=value,name=value" of an option.
 * Uses: options.h.  Used by: selir.c, cmd_selir_run.c. */
#ifndef DT_CTL_SETTINGS_H
#define DT_CTL_SETTINGS_H

#include "detentctl/options.h"

struct dt_setting {
    const char *name, *value;
};
struct dt_settings {
    char *text; /* owns the names and values */
    struct dt_setting *setting;
    size_t n;
};

/* Those of an option; none if it was not given.
 *   -DT_EUSAGE  no '=' in one, an empty name, or a name twice */
int dt_settings_parse (const struct dt_ctl *c, const char *option, struct dt_settings *ret,
                       struct dt_err *reterr);
void dt_settings_done (struct dt_settings *s);
/* The value of a name, NULL if it was not given. */
const char *dt_settings_get (const struct dt_settings *s, const char *name);
/* Refuse names that are none of `name`.
 *   -DT_EINPUT  with a suggestion */
int dt_settings_known (const struct dt_settings *s, const char *what, const char *const *name,
                       size_t n, struct dt_err *reterr);

/* Plain decimal digits with at most one sign; 1 if it is a number of 64 bits. */
int dt_setting_int (const char *value, int64_t *ret);
/* True and False, as Python writes them, or as YAML does; 1 if it is one. */
int dt_setting_bool (const char *value, int64_t *ret);
/* A decimal number with a point or an exponent; 1 if it is one and finite. */
int dt_setting_float (const char *value, double *ret);

#endif
