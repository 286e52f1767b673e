/* detentctl/print.c - escaped text, errors and JSON. */
#include "detentctl/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/time.h"
#include "detentctl/sheet.h"

void dt_print_nomem (void)
{
    fputs ("detentctl: out of memory\n", stderr);
    exit (dt_err_exit (dt_err_nomem (NULL)));
}

static void *json_memory (size_t n)
{
    void *p = dt_calloc (1, n);

    if (!p)
        dt_print_nomem ();
    return p;
}

void dt_print_init (void)
{
    json_set_alloc_funcs (json_memory, dt_free);
    dt_sheet_init ();
}

/* --- escaping ------------------------------------------------------------------ */

/* Bytes of the character at s, 0 if it is not valid UTF-8 or is a control
 * character (C0, DEL, C1) or one that reorders text (U+202A-E, U+2066-9). */
static size_t plain (const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t c;

    if (n == 0 || s[0] > 0xf4)
        return 0;
    if (n == 1)
        return s[0] >= 0x20 && s[0] != 0x7f;
    c = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if ((n == 3 && c < 0x800) || (n == 4 && c < 0x10000) || c > 0x10ffff)
        return 0;
    if (c < 0xa0 || (c >= 0xd800 && c < 0xe000) || (c >= 0x202a && c <= 0x202e)
        || (c >= 0x2066 && c <= 0x2069))
        return 0;
    return n;
}

char *dt_print_escape (const char *text, int keep_lines)
{
    const unsigned char *s = (const unsigned char *)text;
    struct dt_buf b = { 0 };
    size_t n;

    for (; *s; s += n) {
        n = plain (s);
        if (n)
            dt_buf_put (&b, s, n);
        else if (keep_lines && *s == '\n')
            dt_buf_put (&b, s, n = 1);
        else
            dt_buf_printf (&b, "\\x%02x", (unsigned)*s), n = 1;
    }
    if (!dt_buf_str (&b))
        dt_print_nomem ();
    return (char *)b.data;
}

static void print_escaped (FILE *out, const char *text, int keep_lines)
{
    char *s = dt_print_escape (text, keep_lines);

    fputs (s, out);
    dt_free (s);
}

char *dt_print_format (const char *format, va_list ap)
{
    va_list again;
    char *s;
    int n;

    va_copy (again, ap);
    n = vsnprintf (NULL, 0, format, again);
    va_end (again);
    if (n < 0 || !(s = dt_calloc ((size_t)n + 1, 1)))
        dt_print_nomem ();
    vsnprintf (s, (size_t)n + 1, format, ap);
    return s;
}

void dt_print (FILE *out, const char *format, ...)
{
    va_list ap;
    char *s;

    va_start (ap, format);
    s = dt_print_format (format, ap);
    va_end (ap);
    print_escaped (out, s, 0);
    dt_free (s);
}

void dt_print_lines (FILE *out, const char *text)
{
    print_escaped (out, text, 1);
}

/* Whose text shows lines of a program or a path through it; in the others a line end
 * came in with a name. */
static int has_lines (int code, const char *text)
{
    return code == -DT_ESYNTAX || code == -DT_EEVAL || code == -DT_ELIMIT || code == -DT_EUNCUT
           || code == -DT_EILLEGAL
           || ((code == -DT_EINPUT || code == -DT_EREFUSED) && strstr (text, "\n    "));
}

void dt_print_error (const struct dt_ctl *c, int code, const struct dt_err *err)
{
    const char *text = err->text[0] ? err->text : strerror (-code);
    json_t *e, *o;

    fflush (stdout);
    fputs ("detentctl: ", stderr);
    if (c->command && code != -DT_EUSAGE && code != -DT_ESYNTAX)
        fprintf (stderr, "%s: ", c->command->name);
    print_escaped (stderr, text, has_lines (code, text));
    fputc ('\n', stderr);
    if (!c->json)
        return;
    e = dt_json_object ();
    dt_json_set (e, "code", dt_json_u64 ((uint64_t)-(int64_t)code));
    dt_json_set (e, "exit", dt_json_u64 ((uint64_t)dt_err_exit (code)));
    dt_json_set (e, "name", dt_json_text (dt_err_name (code)));
    dt_json_set (e, "text", dt_json_text (text));
    o = dt_json_object ();
    dt_json_set (o, "error", e);
    dt_json_print (o);
}

/* --- digests ------------------------------------------------------------------- */

static const char *hex (ProtobufCBinaryData d, size_t digits)
{
    static char ring[8][DT_DIGEST_HEX];
    static unsigned at;
    char *s = ring[at++ % 8];
    size_t n = d.len < DT_DIGEST_BYTES ? d.len : DT_DIGEST_BYTES;

    s[0] = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf (s + 2 * i, 3, "%02x", d.data[i]);
    if (2 * n > digits)
        s[digits] = '\0';
    return s;
}

const char *dt_hex_short (ProtobufCBinaryData d)
{
    return hex (d, DT_CTL_SHORT_HEX);
}

const char *dt_hex (ProtobufCBinaryData d)
{
    return hex (d, 2 * DT_DIGEST_BYTES);
}

const char *dt_print_values (Detent__NameValue *const *v, size_t n, struct dt_buf *b)
{
    b->len = 0;
    for (size_t i = 0; i < n; i++)
        dt_buf_printf (b, "%s%s=%s", i ? ", " : "", v[i]->name, v[i]->value);
    if (!dt_buf_str (b))
        dt_print_nomem ();
    return (const char *)b->data;
}

/* --- JSON ---------------------------------------------------------------------- */

/* Jansson escapes control characters itself; broken UTF-8 it refuses. */
json_t *dt_json_text (const char *s)
{
    json_t *v = json_string (s);
    char *escaped;

    if (v)
        return v;
    escaped = dt_print_escape (s, 1);
    v = json_string (escaped);
    dt_free (escaped);
    return v ? v : json_null ();
}

json_t *dt_json_hex (ProtobufCBinaryData d)
{
    return json_string (dt_hex (d));
}

json_t *dt_json_u64 (uint64_t v)
{
    return json_integer (v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

json_t *dt_json_real (double v)
{
    return isfinite (v) ? json_real (v) : json_null ();
}

json_t *dt_json_time (int64_t wall_ns)
{
    char text[DT_TIME_TEXT];

    return json_string (dt_time_text (wall_ns, text));
}

json_t *dt_json_object (void)
{
    return json_object ();
}

json_t *dt_json_values (Detent__NameValue *const *v, size_t n)
{
    json_t *o = dt_json_object ();

    for (size_t i = 0; i < n; i++)
        dt_json_set (o, v[i]->name, dt_json_text (v[i]->value));
    return o;
}

json_t *dt_json_array (void)
{
    return json_array ();
}

void dt_json_set (json_t *object, const char *key, json_t *v)
{
    if (json_object_set_new (object, key, v) < 0)
        dt_print_nomem ();
}

void dt_json_append (json_t *array, json_t *v)
{
    if (json_array_append_new (array, v) < 0)
        dt_print_nomem ();
}

void dt_json_print (json_t *object)
{
    dt_json_set (object, "version", json_integer (DT_CTL_JSON_VERSION));
    json_dumpf (object, stdout, JSON_SORT_KEYS | JSON_INDENT (2));
    putchar ('\n');
    json_decref (object);
}
