/* selir/diag.c - errors with a place in a program. */
#include "selir/diag.h"

#include <stdio.h>
#include <string.h>

#define LINE_SHOWN 100 /* bytes of the line around the caret; keeps the text within dt_err */

static int is_end (char c)
{
    return c == '\n' || c == '\r' || c == 0;
}

/* The bytes of line `line` (from 1); an empty one past the end. */
static const char *find_line (const struct dt_source *src, uint32_t line, size_t *ret_len)
{
    size_t i = 0, start;

    if (src->len >= 3 && memcmp (src->text, "\xef\xbb\xbf", 3) == 0)
        i = 3;
    while (line > 1 && i < src->len) {
        if (src->text[i] == '\n' || (src->text[i] == '\r' && !(i + 1 < src->len && src->text[i + 1] == '\n')))
            line--;
        i++;
    }
    start = i;
    while (i < src->len && !is_end (src->text[i]))
        i++;
    *ret_len = i - start;
    return src->text + start;
}

/* The line, cut to a window around the caret, and the caret under it.  Control
 * characters become spaces so that a terminal shows what is meant. */
static void show_line (const struct dt_source *src, struct dt_span at, char *out, size_t size)
{
    size_t len, from = 0, caret = at.column ? at.column - 1 : 0, n = 0, i;
    const char *line = find_line (src, at.line, &len);

    if (caret > len)
        caret = len;
    if (caret > LINE_SHOWN - 20)
        from = caret - (LINE_SHOWN - 20);
    while (from > 0 && from < len && ((unsigned char)line[from] & 0xc0) == 0x80)
        from--;
    for (i = from; i < len && i < from + LINE_SHOWN && n + 1 < size; i++)
        out[n++] = (unsigned char)line[i] < 0x20 || line[i] == 0x7f ? ' ' : line[i];
    while (n > 0 && i < len && ((unsigned char)line[i] & 0xc0) == 0x80 && (unsigned char)out[n - 1] >= 0x80)
        n--, i--;
    n += (size_t)snprintf (out + n, size - n, "\n    ");
    for (i = from; i < caret && n + 2 < size; i++)
        if (((unsigned char)line[i] & 0xc0) != 0x80)
            out[n++] = ' ';
    out[n++] = '^';
    out[n] = 0;
}

int dt_diag (struct dt_err *reterr, int code, const struct dt_source *src, struct dt_span at,
             const char *advice, const char *format, ...)
{
    char text[320], line[3 * LINE_SHOWN];
    va_list ap;

    va_start (ap, format);
    vsnprintf (text, sizeof text, format, ap);
    va_end (ap);
    show_line (src, at, line, sizeof line);
    return dt_err_set (reterr, code, "%s:%u:%u: %s\n    %s%s%s", src->name, at.line, at.column, text, line,
                       advice ? "\nadvice: " : "", advice ? advice : "");
}
