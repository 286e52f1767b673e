/* detentctl/forced.c - "SITE:NAME=VALUE,..." of an option: pins and knobs of sites. */
#include "detentctl/forced.h"

#include <string.h>

#include "base/mem.h"

static int cut (const char *option, struct dt_forced *f, char *item, struct dt_err *reterr)
{
    char *name = strchr (item, ':'), *value = name ? strchr (name, '=') : NULL;
    Detent__Forced *m = &f->one[f->n];

    if (!value || name == item || value == name + 1 || !value[1])
        return dt_err_set (reterr, -DT_EUSAGE, "--%s: '%s' is not SITE:NAME=VALUE", option, item);
    if (f->n == DT_FORCED_MAX)
        return dt_err_set (reterr, -DT_EUSAGE, "--%s: more than %d values", option, DT_FORCED_MAX);
    *name = *value = '\0';
    detent__forced__init (m);
    m->site = item;
    m->name = name + 1;
    m->value = value + 1;
    f->list[f->n++] = m;
    return 0;
}

int dt_forced_parse (const struct dt_ctl *c, const char *option, struct dt_forced *ret,
                     struct dt_err *reterr)
{
    const char *list = dt_ctl_value (c, option);
    char *at = NULL, *item;
    int r = 0;

    *ret = (struct dt_forced){ .n = 0 };
    if (!list)
        return 0;
    if (!(ret->text = dt_strdup (list)))
        return dt_err_nomem (reterr);
    for (item = strtok_r (ret->text, ",", &at); item && r == 0; item = strtok_r (NULL, ",", &at))
        r = cut (option, ret, item, reterr);
    if (r == 0 && ret->n == 0)
        r = dt_err_set (reterr, -DT_EUSAGE, "--%s: '%s' is not SITE:NAME=VALUE", option, list);
    if (r < 0)
        dt_forced_done (ret);
    return r;
}

void dt_forced_done (struct dt_forced *f)
{
    dt_free (f->text);
    f->text = NULL;
}
