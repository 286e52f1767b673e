/* base/canon.h - the fixed encoding under every digest and signature.
 * Uses: base/buf.h, base/err.h.  Used by: selir, solver, tuner, proto users.
 *
 * A value is one of
 *
 *     i  int64     'i' then 8 bytes, little-endian
 *     s  string    's' then u32 length, then the bytes (text or binary)
 *     l  list      'l' then u32 count, then that many values
 *     m  map       'm' then u32 count, then that many entries: u32 length and
 *                  bytes of the key, then a value; keys strictly ascending by
 *                  byte order (a prefix comes first)
 *
 * There is one encoding of each value, so equal values have equal bytes, and the
 * reader refuses all others (unsorted or repeated keys, keys with a zero byte,
 * trailing bytes).
 * At most DT_CANON_DEPTH lists and maps are open at once.  0 and absent differ: an absent entry is not
 * in the map. */
#ifndef DT_BASE_CANON_H
#define DT_BASE_CANON_H

#include "base/buf.h"
#include "base/err.h"

#define DT_CANON_DEPTH 16

/* --- writing ---------------------------------------------------------------
 * Values are appended in order; inside a map each value follows its key.  Keys
 * must be given in ascending order: a wrong order, a missing key or unbalanced
 * ends are programming errors (assert).  Counts are filled in at the end. */
struct dt_canon {
    struct dt_buf buf;
    struct {
        size_t count_at;  /* offset of the u32 count in buf */
        uint32_t count;
        size_t key_at, key_len; /* last key, to check the order */
        uint8_t is_map;
        uint8_t has_key; /* a key came before */
        uint8_t keyed;   /* a key waits for its value */
    } open[DT_CANON_DEPTH];
    int depth;
    uint8_t has_root;
    uint8_t over_limit; /* a length, count or raw value that cannot be encoded */
};

void dt_canon_init (struct dt_canon *c);
void dt_canon_done (struct dt_canon *c);
void dt_canon_map (struct dt_canon *c);
void dt_canon_list (struct dt_canon *c);
void dt_canon_end (struct dt_canon *c); /* closes the innermost map or list */
void dt_canon_key (struct dt_canon *c, const char *key);
void dt_canon_int (struct dt_canon *c, int64_t v);
void dt_canon_str (struct dt_canon *c, const char *s);
void dt_canon_bytes (struct dt_canon *c, const void *p, size_t n);
/* An already encoded value, as it is.  If it is not one canonical value or nests
 * too deep here, nothing more is written: dt_canon_finish gives -DT_ELIMIT. */
void dt_canon_raw (struct dt_canon *c, const void *p, size_t n);
/* The whole value is in c->buf (data, len): 0, -ENOMEM, or -DT_ELIMIT.  Asserts
 * that one value was written and everything was closed.  (buf.failed is set too
 * in both cases.) */
int dt_canon_finish (const struct dt_canon *c);
/* Shorthands for map entries. */
void dt_canon_kint (struct dt_canon *c, const char *key, int64_t v);
void dt_canon_kstr (struct dt_canon *c, const char *key, const char *s);
void dt_canon_kbytes (struct dt_canon *c, const char *key, const void *p, size_t n);
/* As bytes, eight of each, the least significant first. */
void dt_canon_kwords (struct dt_canon *c, const char *key, const int64_t *v, size_t n);

/* --- reading ---------------------------------------------------------------
 * dt_canon_check walks the whole of `data` once and refuses anything that the
 * writer cannot have written; after it succeeds the accessors below are safe on
 * every value reached from the root.  A value borrows the bytes. */
struct dt_canon_value {
    const uint8_t *at; /* the tag byte */
    size_t len;        /* bytes of the whole value */
};

/*   -DT_ECORRUPT  not one canonical value; the text gives the byte offset */
int dt_canon_check (const void *data, size_t n, struct dt_canon_value *ret,
                    struct dt_err *reterr);

/* 'i', 's', 'l', 'm', or 0 for an absent value. */
char dt_canon_tag (struct dt_canon_value v);
/* Entry of a map, item of a list; absent (tag 0) if there is none or v is of
 * another kind. */
struct dt_canon_value dt_canon_get (struct dt_canon_value map, const char *key);
uint32_t dt_canon_count (struct dt_canon_value v); /* of a list or map, else 0 */
/* Iterate: start with *it zeroed; returns 1 and the next item (and, for a map,
 * its key, borrowed, not terminated), 0 at the end. */
struct dt_canon_iter {
    size_t at;
    uint32_t i;
};
int dt_canon_next (struct dt_canon_value v, struct dt_canon_iter *it,
                   const char **ret_key, size_t *ret_key_len, struct dt_canon_value *ret);
/* 0 and the value, or -DT_EINPUT if `v` is absent or of another kind. */
int dt_canon_as_int (struct dt_canon_value v, int64_t *ret);
int dt_canon_as_bytes (struct dt_canon_value v, const uint8_t **ret, size_t *ret_len);
/* A string without a zero byte inside, copied and terminated: -DT_EINPUT if it
 * does not fit. */
int dt_canon_as_str (struct dt_canon_value v, char *ret, size_t size);

#endif
