/* solver/read.c - reading canonical values into an arena, checking as it goes. */
#include "solver/read.h"

#include <errno.h>
#include <string.h>

void dt_read_map (struct dt_read *r, struct dt_canon_value map, uint32_t count)
{
    r->bad |= dt_canon_tag (map) != 'm' || dt_canon_count (map) != count;
}

int64_t dt_read_int (struct dt_read *r, struct dt_canon_value map, const char *key, int64_t lo,
                     int64_t hi)
{
    int64_t v = 0;

    if (dt_canon_as_int (dt_canon_get (map, key), &v) < 0 || v < lo || v > hi) {
        r->bad = 1;
        return 0;
    }
    return v;
}

const char *dt_read_text (struct dt_read *r, struct dt_canon_value v)
{
    const uint8_t *p;
    size_t n;
    char *copy;

    if (dt_canon_as_bytes (v, &p, &n) < 0 || memchr (p, 0, n)) {
        r->bad = 1;
        return "";
    }
    if (!(copy = dt_arena_strn (r->arena, (const char *)p, n))) {
        r->nomem = 1;
        return "";
    }
    return copy;
}

const char *dt_read_str (struct dt_read *r, struct dt_canon_value map, const char *key)
{
    return dt_read_text (r, dt_canon_get (map, key));
}

const uint8_t *dt_read_bytes (struct dt_read *r, struct dt_canon_value map, const char *key,
                              size_t *ret_len)
{
    const uint8_t *p;

    if (dt_canon_as_bytes (dt_canon_get (map, key), &p, ret_len) < 0) {
        r->bad = 1;
        *ret_len = 0;
        return (const uint8_t *)"";
    }
    return p;
}

int64_t *dt_read_ints (struct dt_read *r, struct dt_canon_value map, const char *key,
                       size_t least, size_t *ret_n)
{
    struct dt_reader in;
    size_t i, len;
    const uint8_t *p = dt_read_bytes (r, map, key, &len);
    int64_t *v;

    r->bad |= len % 8 != 0 || len / 8 < least;
    *ret_n = r->bad ? 0 : len / 8;
    if (!(v = dt_arena_array (r->arena, *ret_n, sizeof *v))) {
        r->nomem = 1;
        *ret_n = 0;
        return NULL;
    }
    dt_reader_init (&in, p, len);
    for (i = 0; i < *ret_n; i++)
        v[i] = (int64_t)dt_reader_u64 (&in);
    return v;
}

struct dt_canon_value dt_read_list (struct dt_read *r, struct dt_canon_value map,
                                    const char *key)
{
    struct dt_canon_value v = dt_canon_get (map, key);

    r->bad |= dt_canon_tag (v) != 'l';
    return v;
}

int dt_read_done (const struct dt_read *r, const char *what, struct dt_err *reterr)
{
    if (r->nomem)
        return dt_err_nomem (reterr);
    return r->bad ? dt_err_set (reterr, -DT_ECORRUPT, "%s is malformed", what) : 0;
}
