/* detentctl/template.h - a text with ${names}, and lines for some cases only.
 * Uses: base/.  Used by: cmd_deployment_new.c.
 *
 * ${NAME} becomes the value of NAME.  Lines between "%if NAME" and "%end", each a line
 * of its own, stay where NAME has a value other than "" and "false"; these do not
 * lie inside each other. */
#ifndef DT_CTL_TEMPLATE_H
#define DT_CTL_TEMPLATE_H

#include "base/buf.h"
#include "base/err.h"

struct dt_template_value {
    const char *name, *text;
};

/* Append the filled text to `ret`.
 *   -DT_EINPUT  "FILE:LINE: ...": an unknown name, or markers that do not fit */
int dt_template_fill (const char *file, const void *data, size_t n,
                      const struct dt_template_value *value, size_t n_values,
                      struct dt_buf *ret, struct dt_err *reterr);

#endif
