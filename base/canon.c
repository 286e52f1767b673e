/* base/canon.c - the fixed encoding under every digest and signature. */
#include "base/canon.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define HEAD 5 /* tag and u32 count or length */

static uint32_t load_u32 (const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Byte order; a prefix comes first. */
static int key_cmp (const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    size_t n = a_len < b_len ? a_len : b_len;
    int c = n ? memcmp (a, b, n) : 0;

    return c ? c : (a_len > b_len) - (a_len < b_len);
}

/* --- reading --------------------------------------------------------------- */

/* A walk over one value, without recursion: one frame per open list or map. */
struct walk {
    const uint8_t *data;
    size_t len, at;
    int depth;
    struct {
        uint32_t left; /* entries still to come */
        uint8_t is_map, has_key;
        const uint8_t *key; /* the last one, if has_key */
        size_t key_len;
    } open[DT_CANON_DEPTH];
};

/* The next n bytes, or NULL. */
static const uint8_t *take (struct walk *w, size_t n)
{
    const uint8_t *p;

    if (n > w->len - w->at)
        return NULL;
    p = w->data + w->at;
    w->at += n;
    return p;
}

/* u32 length and that many bytes, or NULL. */
static const uint8_t *take_counted (struct walk *w, size_t *ret_n)
{
    const uint8_t *p = take (w, 4);

    if (!p)
        return NULL;
    *ret_n = load_u32 (p);
    return take (w, *ret_n);
}

/* The key in front of a map's next value; what is wrong with it, or NULL. */
static const char *walk_key (struct walk *w)
{
    size_t n = 0, d = (size_t)w->depth - 1;
    const uint8_t *key = take_counted (w, &n);

    if (!key)
        return "truncated key";
    if (n && memchr (key, 0, n))
        return "zero byte in a key";
    if (w->open[d].has_key && key_cmp (w->open[d].key, w->open[d].key_len, key, n) >= 0)
        return "keys not in ascending order";
    w->open[d].has_key = 1;
    w->open[d].key = key;
    w->open[d].key_len = n;
    return NULL;
}

/* Tag, count or content of the next value; opens a list or map. */
static const char *walk_value (struct walk *w)
{
    const uint8_t *tag = take (w, 1), *p;
    size_t n;

    if (!tag)
        return "truncated";
    switch (*tag) {
    case 'i':
        return take (w, 8) ? NULL : "truncated integer";
    case 's':
        return take_counted (w, &n) ? NULL : "truncated string";
    case 'l':
    case 'm':
        if (!(p = take (w, 4)))
            return "truncated count";
        if (w->depth == DT_CANON_DEPTH)
            return "nested too deep";
        w->open[w->depth].left = load_u32 (p);
        w->open[w->depth].is_map = *tag == 'm';
        w->open[w->depth++].has_key = 0;
        return NULL;
    default:
        return "unknown tag";
    }
}

/* Walk the one value at the start of `data`, inside `depth` open ones; how long
 * it is, or what is wrong with it and where. */
static const char *walk_one (const uint8_t *data, size_t n, int depth, size_t *ret_len)
{
    struct walk w = { .data = data, .len = n };
    const char *why = NULL;

    /* Frames below `depth` belong to the caller: they only use up depth. */
    w.depth = depth;
    do {
        *ret_len = w.at;
        if (w.depth > depth) {
            if (w.open[w.depth - 1].left == 0) {
                w.depth--;
                continue;
            }
            w.open[w.depth - 1].left--;
            if (w.open[w.depth - 1].is_map && (why = walk_key (&w)))
                break;
        }
        *ret_len = w.at;
        why = walk_value (&w);
    } while (!why && w.depth > depth);
    if (!why)
        *ret_len = w.at;
    return why;
}

int dt_canon_check (const void *data, size_t n, struct dt_canon_value *ret,
                    struct dt_err *reterr)
{
    size_t len = 0;
    const char *why = walk_one (data, n, 0, &len);

    if (!why && len != n)
        why = "bytes after the value";
    if (why)
        return dt_err_set (reterr, -DT_ECORRUPT, "encoded value: %s at byte %zu", why, len);
    *ret = (struct dt_canon_value){ .at = data, .len = n };
    return 0;
}

char dt_canon_tag (struct dt_canon_value v)
{
    return v.at ? (char)*v.at : 0;
}

uint32_t dt_canon_count (struct dt_canon_value v)
{
    char tag = dt_canon_tag (v);

    return tag == 'l' || tag == 'm' ? load_u32 (v.at + 1) : 0;
}

int dt_canon_next (struct dt_canon_value v, struct dt_canon_iter *it,
                   const char **ret_key, size_t *ret_key_len, struct dt_canon_value *ret)
{
    struct walk w = { .data = v.at, .len = v.len, .at = it->i ? it->at : HEAD };
    const uint8_t *key = NULL;
    size_t key_len = 0, len;

    if (it->i >= dt_canon_count (v))
        return 0;
    if (dt_canon_tag (v) == 'm' && !(key = take_counted (&w, &key_len)))
        return 0;
    if (walk_one (v.at + w.at, v.len - w.at, 0, &len))
        return 0;
    it->at = w.at + len;
    it->i++;
    if (ret_key)
        *ret_key = (const char *)key;
    if (ret_key_len)
        *ret_key_len = key_len;
    *ret = (struct dt_canon_value){ .at = v.at + w.at, .len = len };
    return 1;
}

struct dt_canon_value dt_canon_get (struct dt_canon_value map, const char *key)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value v;
    size_t want = strlen (key), n;
    const char *k;

    if (dt_canon_tag (map) == 'm')
        while (dt_canon_next (map, &it, &k, &n, &v))
            if (n == want && memcmp (k, key, n) == 0)
                return v;
    return (struct dt_canon_value){ 0 };
}

int dt_canon_as_int (struct dt_canon_value v, int64_t *ret)
{
    if (dt_canon_tag (v) != 'i')
        return -DT_EINPUT;
    *ret = (int64_t)(load_u32 (v.at + 1) | (uint64_t)load_u32 (v.at + 5) << 32);
    return 0;
}

int dt_canon_as_bytes (struct dt_canon_value v, const uint8_t **ret, size_t *ret_len)
{
    if (dt_canon_tag (v) != 's')
        return -DT_EINPUT;
    *ret = v.at + HEAD;
    *ret_len = load_u32 (v.at + 1);
    return 0;
}

int dt_canon_as_str (struct dt_canon_value v, char *ret, size_t size)
{
    const uint8_t *p;
    size_t n;
    int r = dt_canon_as_bytes (v, &p, &n);

    if (r < 0)
        return r;
    if (n >= size || (n && memchr (p, 0, n)))
        return -DT_EINPUT;
    memcpy (ret, p, n);
    ret[n] = '\0';
    return 0;
}

/* --- writing --------------------------------------------------------------- */

void dt_canon_init (struct dt_canon *c)
{
    *c = (struct dt_canon){ 0 };
}

void dt_canon_done (struct dt_canon *c)
{
    dt_buf_done (&c->buf);
    dt_canon_init (c);
}

/* A value cannot be written (too long, too deep): no more is. */
static void give_up (struct dt_canon *c)
{
    if (!c->buf.failed)
        c->over_limit = 1;
    c->buf.failed = 1;
}

/* Count the value that comes next in what is open. */
static void value (struct dt_canon *c)
{
    if (c->depth == 0) {
        assert (!c->has_root); /* one value in all */
        c->has_root = 1;
        return;
    }
    assert (!c->open[c->depth - 1].is_map || c->open[c->depth - 1].keyed);
    c->open[c->depth - 1].keyed = 0;
    if (c->open[c->depth - 1].count == UINT32_MAX)
        give_up (c);
    else
        c->open[c->depth - 1].count++;
}

static void counted (struct dt_canon *c, const void *p, size_t n)
{
    if (n > UINT32_MAX)
        give_up (c);
    dt_buf_u32 (&c->buf, (uint32_t)n);
    dt_buf_put (&c->buf, p, n);
}

static void open_one (struct dt_canon *c, char tag)
{
    value (c);
    assert (c->depth < DT_CANON_DEPTH);
    dt_buf_u8 (&c->buf, (uint8_t)tag);
    c->open[c->depth].count_at = c->buf.len;
    c->open[c->depth].count = 0;
    c->open[c->depth].is_map = tag == 'm';
    c->open[c->depth].keyed = c->open[c->depth].has_key = 0;
    c->depth++;
    dt_buf_u32 (&c->buf, 0);
}

void dt_canon_map (struct dt_canon *c)
{
    open_one (c, 'm');
}

void dt_canon_list (struct dt_canon *c)
{
    open_one (c, 'l');
}

void dt_canon_end (struct dt_canon *c)
{
    uint32_t count;

    assert (c->depth > 0);
    c->depth--;
    assert (!c->open[c->depth].keyed); /* a key without its value */
    count = c->open[c->depth].count;
    if (c->buf.failed)
        return; /* the count may not have been written */
    for (size_t i = 0; i < 4; i++)
        c->buf.data[c->open[c->depth].count_at + i] = (uint8_t)(count >> 8 * i);
}

void dt_canon_key (struct dt_canon *c, const char *key)
{
    size_t d = (size_t)c->depth - 1, n = strlen (key);

    assert (c->depth > 0 && c->open[d].is_map && !c->open[d].keyed);
    if (!c->buf.failed && c->open[d].has_key)
        assert (key_cmp (c->buf.data + c->open[d].key_at, c->open[d].key_len,
                         (const uint8_t *)key, n) < 0);
    counted (c, key, n);
    c->open[d].keyed = c->open[d].has_key = 1;
    c->open[d].key_at = c->buf.len - n; /* not read once failed */
    c->open[d].key_len = n;
}

void dt_canon_int (struct dt_canon *c, int64_t v)
{
    value (c);
    dt_buf_u8 (&c->buf, 'i');
    dt_buf_u64 (&c->buf, (uint64_t)v);
}

void dt_canon_str (struct dt_canon *c, const char *s)
{
    dt_canon_bytes (c, s, strlen (s));
}

void dt_canon_bytes (struct dt_canon *c, const void *p, size_t n)
{
    value (c);
    dt_buf_u8 (&c->buf, 's');
    counted (c, p, n);
}

void dt_canon_raw (struct dt_canon *c, const void *p, size_t n)
{
    size_t len;

    value (c);
    if (walk_one (p, n, c->depth, &len) || len != n)
        give_up (c);
    dt_buf_put (&c->buf, p, n);
}

int dt_canon_finish (const struct dt_canon *c)
{
    assert (c->depth == 0 && c->has_root);
    if (c->over_limit)
        return -DT_ELIMIT;
    return c->buf.failed ? -ENOMEM : 0;
}

void dt_canon_kint (struct dt_canon *c, const char *key, int64_t v)
{
    dt_canon_key (c, key);
    dt_canon_int (c, v);
}

void dt_canon_kstr (struct dt_canon *c, const char *key, const char *s)
{
    dt_canon_key (c, key);
    dt_canon_str (c, s);
}

void dt_canon_kbytes (struct dt_canon *c, const char *key, const void *p, size_t n)
{
    dt_canon_key (c, key);
    dt_canon_bytes (c, p, n);
}

void dt_canon_kwords (struct dt_canon *c, const char *key, const int64_t *v, size_t n)
{
    struct dt_buf b = { 0 };
    size_t i;

    for (i = 0; i < n; i++)
        dt_buf_u64 (&b, (uint64_t)v[i]);
    c->buf.failed |= b.failed;
    dt_canon_kbytes (c, key, b.data, b.failed ? 0 : b.len);
    dt_buf_done (&b);
}
