/* detentctl/settings.c - "name=value,name=value" of an option. */
#include "detentctl/settings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"

void dt_settings_done (struct dt_settings *s)
{
    dt_free (s->text);
    dt_free (s->setting);
    memset (s, 0, sizeof *s);
}

const char *dt_settings_get (const struct dt_settings *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp (s->setting[i].name, name))
            return s->setting[i].value;
    return NULL;
}

/* Cut the text at its commas. */
static int split (const char *option, struct dt_settings *s, struct dt_err *reterr)
{
    char *item, *rest = s->text, *equals;

    while ((item = strsep (&rest, ","))) {
        if (!(equals = strchr (item, '=')) || equals == item)
            return dt_err_set (reterr, -DT_EUSAGE, "--%s: '%s' is not NAME=VALUE", option, item);
        *equals = '\0';
        if (dt_settings_get (s, item))
            return dt_err_set (reterr, -DT_EUSAGE, "--%s gives %s twice", option, item);
        s->setting[s->n++] = (struct dt_setting){ item, equals + 1 };
    }
    return 0;
}

int dt_settings_parse (const struct dt_ctl *c, const char *option, struct dt_settings *ret,
                       struct dt_err *reterr)
{
    const char *text = dt_ctl_value (c, option);
    struct dt_settings s = { 0 };
    size_t n = 1;
    int r;

    memset (ret, 0, sizeof *ret);
    if (!text || !*text)
        return 0;
    for (const char *p = text; *p; p++)
        n += *p == ',';
    s.text = dt_strdup (text);
    s.setting = dt_calloc (n, sizeof *s.setting);
    r = s.text && s.setting ? split (option, &s, reterr) : dt_err_nomem (reterr);
    if (r < 0)
        dt_settings_done (&s);
    else
        *ret = s;
    return r;
}

int dt_settings_known (const struct dt_settings *s, const char *what, const char *const *name,
                       size_t n, struct dt_err *reterr)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *near;
        size_t k;

        for (k = 0; k < n && strcmp (name[k], s->setting[i].name); k++)
            ;
        if (k < n)
            continue;
        near = dt_suggest (s->setting[i].name, name, n);
        return dt_err_set (reterr, -DT_EINPUT, "the program has no %s '%s'%s%s%s", what,
                           s->setting[i].name, near ? "; did you mean '" : "", near ? near : "",
                           near ? "'?" : "");
    }
    return 0;
}

int dt_setting_int (const char *value, int64_t *ret)
{
    const char *digits = value + (*value == '-');
    char *end;
    long long v;

    if (!*digits || strspn (digits, "0123456789") != strlen (digits))
        return 0;
    errno = 0;
    v = strtoll (value, &end, 10);
    if (errno)
        return 0;
    *ret = v;
    return 1;
}

int dt_setting_bool (const char *value, int64_t *ret)
{
    int yes = !strcmp (value, "True") || !strcmp (value, "true");

    if (!yes && strcmp (value, "False") && strcmp (value, "false"))
        return 0;
    *ret = yes;
    return 1;
}

int dt_setting_float (const char *value, double *ret)
{
    size_t n = strlen (value);
    char *end;
    double v;

    if (n == 0 || strspn (value, "+-.0123456789eE") != n || !strpbrk (value, ".eE"))
        return 0;
    v = strtod (value, &end);
    if (*end || !isfinite (v))
        return 0;
    *ret = v;
    return 1;
}
