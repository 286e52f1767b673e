/* detentctl/template.c - a text with ${names}, and lines for some cases only. */
#include "detentctl/template.h"

#include <string.h>

struct filling {
    const char *file;
    size_t line;
    const struct dt_template_value *value;
    size_t n_values;
    int inside, skip; /* of a %if; and its lines are left out */
    struct dt_buf *out;
    struct dt_err *err;
};

static int refuse (const struct filling *f, const char *what, const char *word, size_t n)
{
    return dt_err_set (f->err, -DT_EINPUT, "%s:%zu: %s %.*s", f->file, f->line, what, (int)n, word);
}

static const char *find (const struct filling *f, const char *name, size_t n)
{
    for (size_t i = 0; i < f->n_values; i++)
        if (strlen (f->value[i].name) == n && memcmp (f->value[i].name, name, n) == 0)
            return f->value[i].text;
    return NULL;
}

/* A line that begins with '%'. */
static int marker (struct filling *f, const char *s, size_t n)
{
    const char *text;

    if (n == 4 && memcmp (s, "%end", 4) == 0 && f->inside) {
        f->inside = f->skip = 0;
        return 0;
    }
    if (n <= 4 || memcmp (s, "%if ", 4) != 0 || f->inside)
        return refuse (f, "this marker does not fit here:", s, n);
    if (!(text = find (f, s + 4, n - 4)))
        return refuse (f, "there is no value of this name:", s + 4, n - 4);
    f->inside = 1;
    f->skip = !*text || strcmp (text, "false") == 0;
    return 0;
}

static int line (struct filling *f, const char *s, size_t n)
{
    const char *end = s + n, *open, *close, *text;

    while ((open = memchr (s, '$', (size_t)(end - s)))) {
        if (open + 1 == end || open[1] != '{'
            || !(close = memchr (open, '}', (size_t)(end - open))))
            return refuse (f, "a '$' without ${NAME}:", open, (size_t)(end - open));
        if (!(text = find (f, open + 2, (size_t)(close - open) - 2)))
            return refuse (f, "there is no value of this name:", open + 2,
                           (size_t)(close - open) - 2);
        dt_buf_put (f->out, s, (size_t)(open - s));
        dt_buf_put (f->out, text, strlen (text));
        s = close + 1;
    }
    dt_buf_put (f->out, s, (size_t)(end - s));
    dt_buf_put (f->out, "\n", 1);
    return 0;
}

int dt_template_fill (const char *file, const void *data, size_t n,
                      const struct dt_template_value *value, size_t n_values,
                      struct dt_buf *ret, struct dt_err *reterr)
{
    struct filling f = { .file = file, .value = value, .n_values = n_values, .out = ret,
                         .err = reterr };
    const char *s = data, *end = s + n, *eol;
    int r = 0;

    for (; r == 0 && s < end; s = eol + (eol < end)) {
        if (!(eol = memchr (s, '\n', (size_t)(end - s))))
            eol = end;
        f.line++;
        if (*s == '%')
            r = marker (&f, s, (size_t)(eol - s));
        else if (!f.skip)
            r = line (&f, s, (size_t)(eol - s));
    }
    if (r == 0 && f.inside)
        return refuse (&f, "an %if has no", "%end", 4);
    return r;
}
