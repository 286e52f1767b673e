/* base/buf.h - a growing byte buffer and a bounded reader, little-endian.
 * Uses: base/mem.h.  Used by: every folder that reads or writes a format. */
#ifndef DT_BASE_BUF_H
#define DT_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialise, or dt_buf_init.  `failed` sticks after an allocation fails:
 * write freely, check once at the end. */
struct dt_buf {
    uint8_t *data;
    size_t len, room;
    int failed;
};

void dt_buf_init (struct dt_buf *b);
void dt_buf_done (struct dt_buf *b);
void dt_buf_put (struct dt_buf *b, const void *p, size_t n);
void dt_buf_u8 (struct dt_buf *b, uint8_t v);
void dt_buf_u16 (struct dt_buf *b, uint16_t v);
void dt_buf_u32 (struct dt_buf *b, uint32_t v);
void dt_buf_u64 (struct dt_buf *b, uint64_t v);
/* LEB128, and zigzag LEB128: always the shortest form. */
void dt_buf_varint (struct dt_buf *b, uint64_t v);
void dt_buf_zigzag (struct dt_buf *b, int64_t v);
/* Append formatted text, without a terminating zero. */
void dt_buf_printf (struct dt_buf *b, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
/* The text so far, terminated (the zero is not counted in len); NULL if failed.
 * Borrowed. */
const char *dt_buf_str (struct dt_buf *b);

/* A reader never reads past its end: it sets `bad`, which sticks, and returns 0s.
 * A varint that is padded or does not fit 64 bits is bad too. */
struct dt_reader {
    const uint8_t *data;
    size_t len, at;
    int bad;
};

void dt_reader_init (struct dt_reader *r, const void *data, size_t len);
size_t dt_reader_left (const struct dt_reader *r);
/* Borrowed pointer to the next n bytes (not NULL for 0), or NULL and bad. */
const uint8_t *dt_reader_take (struct dt_reader *r, size_t n);
uint8_t dt_reader_u8 (struct dt_reader *r);
uint16_t dt_reader_u16 (struct dt_reader *r);
uint32_t dt_reader_u32 (struct dt_reader *r);
uint64_t dt_reader_u64 (struct dt_reader *r);
uint64_t dt_reader_varint (struct dt_reader *r);
int64_t dt_reader_zigzag (struct dt_reader *r);

#endif
