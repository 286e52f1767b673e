/* base/buf.c - a growing byte buffer and a bounded reader. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_ROOM 64

void dt_buf_init (struct dt_buf *b)
{
    *b = (struct dt_buf){ 0 };
}

void dt_buf_done (struct dt_buf *b)
{
    dt_free (b->data);
    dt_buf_init (b);
}

/* Room for n more bytes; where they go, or NULL and failed. */
static uint8_t *reserve (struct dt_buf *b, size_t n)
{
    size_t need, room = b->room ? b->room : FIRST_ROOM;
    uint8_t *p;

    if (b->failed)
        return NULL;
    if (b->data && n <= b->room - b->len)
        return b->data + b->len;
    if (__builtin_add_overflow (b->len, n, &need))
        goto fail;
    while (room < need)
        if (__builtin_mul_overflow (room, (size_t)2, &room))
            room = need;
    if (!(p = dt_realloc (b->data, room, 1)))
        goto fail;
    b->data = p;
    b->room = room;
    return b->data + b->len;
fail:
    b->failed = 1;
    return NULL;
}

void dt_buf_put (struct dt_buf *b, const void *p, size_t n)
{
    uint8_t *to = n ? reserve (b, n) : NULL;

    if (!to)
        return;
    memcpy (to, p, n);
    b->len += n;
}

static void put_le (struct dt_buf *b, uint64_t v, size_t n)
{
    uint8_t *to = reserve (b, n);

    if (!to)
        return;
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)(v >> 8 * i);
    b->len += n;
}

void dt_buf_u8 (struct dt_buf *b, uint8_t v)
{
    put_le (b, v, 1);
}

void dt_buf_u16 (struct dt_buf *b, uint16_t v)
{
    put_le (b, v, 2);
}

void dt_buf_u32 (struct dt_buf *b, uint32_t v)
{
    put_le (b, v, 4);
}

void dt_buf_u64 (struct dt_buf *b, uint64_t v)
{
    put_le (b, v, 8);
}

void dt_buf_varint (struct dt_buf *b, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    dt_buf_put (b, bytes, n);
}

void dt_buf_zigzag (struct dt_buf *b, int64_t v)
{
    dt_buf_varint (b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

void dt_buf_printf (struct dt_buf *b, const char *format, ...)
{
    va_list ap, again;
    uint8_t *to;
    int n;

    va_start (ap, format);
    va_copy (again, ap);
    n = vsnprintf (NULL, 0, format, ap);
    if (n < 0)
        b->failed = 1;
    else if ((to = reserve (b, (size_t)n + 1))) {
        vsnprintf ((char *)to, (size_t)n + 1, format, again);
        b->len += (size_t)n;
    }
    va_end (again);
    va_end (ap);
}

const char *dt_buf_str (struct dt_buf *b)
{
    uint8_t *end = reserve (b, 1);

    if (!end)
        return NULL;
    *end = '\0';
    return (const char *)b->data;
}

void dt_reader_init (struct dt_reader *r, const void *data, size_t len)
{
    *r = (struct dt_reader){ .data = data, .len = len };
}

size_t dt_reader_left (const struct dt_reader *r)
{
    return r->bad ? 0 : r->len - r->at;
}

const uint8_t *dt_reader_take (struct dt_reader *r, size_t n)
{
    static const uint8_t nothing;
    const uint8_t *p;

    if (r->bad || n > r->len - r->at) {
        r->bad = 1;
        return NULL;
    }
    if (n == 0) /* of an empty reader too, whose data may be NULL */
        return r->data ? r->data + r->at : &nothing;
    p = r->data + r->at;
    r->at += n;
    return p;
}

static uint64_t get_le (struct dt_reader *r, size_t n)
{
    const uint8_t *p = dt_reader_take (r, n);
    uint64_t v = 0;

    for (size_t i = 0; p && i < n; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

uint8_t dt_reader_u8 (struct dt_reader *r)
{
    return (uint8_t)get_le (r, 1);
}

uint16_t dt_reader_u16 (struct dt_reader *r)
{
    return (uint16_t)get_le (r, 2);
}

uint32_t dt_reader_u32 (struct dt_reader *r)
{
    return (uint32_t)get_le (r, 4);
}

uint64_t dt_reader_u64 (struct dt_reader *r)
{
    return get_le (r, 8);
}

uint64_t dt_reader_varint (struct dt_reader *r)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *p = dt_reader_take (r, 1);

        if (!p)
            return 0;
        if (shift == 63 && *p > 1)
            break; /* beyond 64 bits */
        v |= (uint64_t)(*p & 0x7f) << shift;
        if (*p & 0x80)
            continue;
        if (*p == 0 && shift > 0)
            break; /* padded: the writer gives the shortest form */
        return v;
    }
    r->bad = 1;
    return 0;
}

int64_t dt_reader_zigzag (struct dt_reader *r)
{
    uint64_t v = dt_reader_varint (r);

    return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}
