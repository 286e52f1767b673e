/* solver/yaml.c - a strict reading of one YAML document, from libyaml's events. */
#include "solver/yaml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/mem.h"

struct reader {
    yaml_parser_t parser;
    const char *file;
    struct dt_arena *arena;
    struct dt_yaml *open[DT_YAML_MAX_DEPTH]; /* lists and maps around the next node */
    int depth;
    struct dt_yaml *key;  /* a key that waits for its value */
    struct dt_yaml *root;
    int done;
    struct dt_err *err;
};

static int refuse (struct reader *r, yaml_mark_t at, const char *what)
{
    return dt_err_set (r->err, -DT_EINPUT, "%s:%zu:%zu: %s", r->file, at.line + 1,
                       at.column + 1, what);
}

/* libyaml's own complaint. */
static int malformed (struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    int lost = p->error == YAML_READER_ERROR; /* bytes: there is no line yet */

    if (p->error == YAML_MEMORY_ERROR)
        return dt_err_nomem (r->err);
    if (lost)
        return dt_err_set (r->err, -DT_EINPUT, "%s: byte %zu: %s", r->file, p->problem_offset,
                           p->problem ? p->problem : "not UTF-8");
    return refuse (r, p->problem_mark, p->problem ? p->problem : "not YAML");
}

/* A plain decimal integer: no sign but minus, no leading zero, within 64 bits. */
static int decimal (const char *s, int64_t *ret)
{
    const char *p = s + (*s == '-');
    char *end;

    if (*p < '0' || *p > '9' || (*p == '0' && p[1]) || strspn (p, "0123456789") != strlen (p))
        return 0;
    errno = 0;
    *ret = strtoll (s, &end, 10);
    return errno == 0;
}

static void classify (struct dt_yaml *y, int plain)
{
    y->kind = DT_YAML_TEXT;
    if (!plain)
        return;
    if (strcmp (y->text, "true") == 0 || strcmp (y->text, "false") == 0) {
        y->kind = DT_YAML_BOOL;
        y->i = *y->text == 't';
    } else if (decimal (y->text, &y->i))
        y->kind = DT_YAML_INT;
}

static int add_key (struct reader *r, struct dt_yaml *map, struct dt_yaml *y)
{
    struct dt_yaml *old;

    for (old = map->first; old; old = old->next)
        if (strcmp (old->key, y->text) == 0)
            return dt_err_set (r->err, -DT_EINPUT,
                               "%s:%zu:%zu: key \"%.64s\" is here twice: lines %zu and %zu",
                               r->file, y->line, y->column, y->text, old->key_line, y->line);
    r->key = y;
    return 0;
}

/* Give a node its place under the innermost open one. */
static int attach (struct reader *r, struct dt_yaml *y)
{
    struct dt_yaml *up = r->depth > 0 ? r->open[r->depth - 1] : NULL;

    if (!up) {
        r->root = y;
        return 0;
    }
    if (up->kind == DT_YAML_MAP) {
        if (!r->key && (y->kind == DT_YAML_LIST || y->kind == DT_YAML_MAP))
            return dt_err_set (r->err, -DT_EINPUT, "%s:%zu:%zu: a key must be text", r->file,
                               y->line, y->column);
        if (!r->key)
            return add_key (r, up, y);
        y->key = r->key->text;
        y->key_line = r->key->line;
        y->key_column = r->key->column;
        r->key = NULL;
    }
    if (up->n == DT_YAML_MAX_ENTRIES)
        return dt_err_set (r->err, -DT_ELIMIT, "%s:%zu:%zu: more than %d entries in one list "
                           "or map", r->file, y->line, y->column, DT_YAML_MAX_ENTRIES);
    if (up->last)
        up->last->next = y;
    else
        up->first = y;
    up->last = y;
    up->n++;
    return 0;
}

static struct dt_yaml *node (struct reader *r, yaml_mark_t at, uint8_t kind)
{
    struct dt_yaml *y = dt_arena_alloc (r->arena, sizeof *y);

    if (y) {
        y->kind = kind;
        y->line = at.line + 1;
        y->column = at.column + 1;
    }
    return y;
}

static int on_scalar (struct reader *r, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    size_t len = e->data.scalar.length;
    struct dt_yaml *y;

    if (e->data.scalar.anchor)
        return refuse (r, e->start_mark, "anchors (&name) are not read");
    if (e->data.scalar.tag)
        return refuse (r, e->start_mark, "tags (!name) are not read");
    if (memchr (text, 0, len))
        return refuse (r, e->start_mark, "a zero byte in text");
    if (!(y = node (r, e->start_mark, DT_YAML_TEXT))
        || !(y->text = dt_arena_strn (r->arena, text, len)))
        return dt_err_nomem (r->err);
    classify (y, e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE);
    return attach (r, y);
}

static int on_open (struct reader *r, const yaml_event_t *e, uint8_t kind,
                    const yaml_char_t *anchor, const yaml_char_t *tag)
{
    struct dt_yaml *y;
    int ret;

    if (anchor)
        return refuse (r, e->start_mark, "anchors (&name) are not read");
    if (tag)
        return refuse (r, e->start_mark, "tags (!name) are not read");
    if (r->depth == DT_YAML_MAX_DEPTH)
        return dt_err_set (r->err, -DT_ELIMIT, "%s:%zu:%zu: more than %d lists and maps inside "
                           "one another", r->file, e->start_mark.line + 1,
                           e->start_mark.column + 1, DT_YAML_MAX_DEPTH);
    if (!(y = node (r, e->start_mark, kind)))
        return dt_err_nomem (r->err);
    if ((ret = attach (r, y)) < 0)
        return ret;
    r->open[r->depth++] = y;
    return 0;
}

static int on_event (struct reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return r->root ? refuse (r, e->start_mark, "a second document; one is read") : 0;
    case YAML_ALIAS_EVENT:
        return refuse (r, e->start_mark, "aliases (*name) are not read");
    case YAML_SCALAR_EVENT:
        return on_scalar (r, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_open (r, e, DT_YAML_LIST, e->data.sequence_start.anchor,
                        e->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return on_open (r, e, DT_YAML_MAP, e->data.mapping_start.anchor,
                        e->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        r->depth--;
        return 0;
    case YAML_STREAM_END_EVENT:
        r->done = 1;
        return r->root ? 0 : dt_err_set (r->err, -DT_EINPUT, "%s:1:1: the file is empty", r->file);
    default:
        return 0;
    }
}

int dt_yaml_parse (const char *file, const void *data, size_t n, struct dt_arena *arena,
                   struct dt_yaml **ret, struct dt_err *reterr)
{
    struct reader rd = { .file = file, .arena = arena, .err = reterr };
    yaml_event_t e;
    int r;

    if (n > DT_YAML_MAX_BYTES)
        return dt_err_set (reterr, -DT_ELIMIT, "%s: %zu bytes; at most %zu are read", file, n,
                           DT_YAML_MAX_BYTES);
    if (!yaml_parser_initialize (&rd.parser))
        return dt_err_nomem (reterr);
    yaml_parser_set_encoding (&rd.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string (&rd.parser, n ? data : (const void *)"", n); /* not NULL */
    do {
        if (!yaml_parser_parse (&rd.parser, &e)) {
            r = malformed (&rd);
            break;
        }
        r = on_event (&rd, &e);
        yaml_event_delete (&e);
    } while (r == 0 && !rd.done);
    yaml_parser_delete (&rd.parser);
    if (r == 0)
        *ret = rd.root;
    return r;
}

const char *dt_yaml_describe (const struct dt_yaml *y, char ret[64])
{
    switch (y->kind) {
    case DT_YAML_INT: snprintf (ret, 64, "the integer %" PRId64, y->i); break;
    case DT_YAML_BOOL: snprintf (ret, 64, "the bool %s", y->i ? "true" : "false"); break;
    case DT_YAML_LIST: snprintf (ret, 64, "a list"); break;
    case DT_YAML_MAP: snprintf (ret, 64, "a map"); break;
    default:
        if (*y->text)
            snprintf (ret, 64, "the text \"%.32s\"", y->text);
        else
            snprintf (ret, 64, "nothing");
    }
    return ret;
}
