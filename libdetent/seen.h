/* libdetent/seen.h - whole calls that were selected for, by their rows.
 * Uses: base/.  Used by: libdetent/selector.h.
 *
 * A key is all that the engine passed, word by word; a hash only says where to look.
 * Two ways to a set; nothing is shared between threads, and nothing grows. */
#ifndef DT_LIBDETENT_SEEN_H
#define DT_LIBDETENT_SEEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DT_SEEN_WAYS 2
#define DT_SEEN_LINE 8 /* words of a cache line */

struct dt_seen {
    size_t room;     /* words of the longest key                                     */
    size_t stride;   /* words from key to key, whole lines                           */
    unsigned shift;  /* 64 - log2 of the sets                                        */
    size_t n_out, own_stride; /* fields; words of a slot's rows                      */
    size_t rows;     /* of the longest call                                          */
    unsigned turn;   /* the way that is written next                                 */
    int64_t *key;    /* [slots * stride], at a line's start: {words, word..}; 0: empty */
    int64_t *value;  /* [slots * n_out]                                              */
    int64_t *own;    /* [slots * own_stride] rows of the fields that have one        */
    const int64_t **each; /* [slots * n_out], or [n_out] NULLs if no field has rows  */
    void *memory;    /* what `key` lies in                                           */
};

/* bits: log2 of the sets.  is_own [n_out]: the field has a value for each request.
 * -1 without memory; dt_seen_done in any case. */
int dt_seen_init (struct dt_seen *t, size_t room, unsigned bits, size_t n_fields, size_t n_out,
                  const uint8_t *is_own);
void dt_seen_done (struct dt_seen *t);

/* Remember a call of 1..room words: its fields and, where each[i] is not NULL, rows. */
void dt_seen_put (struct dt_seen *t, const int64_t *word, size_t n, size_t n_requests,
                  const int64_t *value, int64_t *const *each);

/* Every word of a short key counts, a few of a long one: enough to tell steps apart. */
static inline size_t dt_seen_set (const struct dt_seen *t, const int64_t *word, size_t n)
{
    static const uint64_t odd[DT_SEEN_LINE]
        = { 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u, 0x27d4eb2f165667c5u,
            0xd6e8feb86659fd93u, 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu, 0x8ebc6af09c88c6e3u };
    uint64_t h = n * odd[7];

    if (n < DT_SEEN_LINE)
        for (size_t i = 0; i < n; i++)
            h += (uint64_t)word[i] * odd[i];
    else
        for (size_t i = 0; i < DT_SEEN_LINE; i++)
            h += (uint64_t)word[i * (n - 1) / (DT_SEEN_LINE - 1)] * odd[i];
    return (size_t)(h >> t->shift);
}

static inline int dt_seen_is (const int64_t *key, const int64_t *word, size_t n)
{
    if ((size_t)key[0] != n)
        return 0;
    if (n >= DT_SEEN_LINE)
        return memcmp (key + 1, word, n * sizeof *word) == 0;
    for (size_t i = 0; i < n; i++)
        if (key[1 + i] != word[i])
            return 0;
    return 1;
}

/* The slot of a call of 1..room words, or -1. */
static inline ptrdiff_t dt_seen_find (const struct dt_seen *t, const int64_t *word, size_t n)
{
    size_t slot = dt_seen_set (t, word, n) * DT_SEEN_WAYS;

    for (size_t way = 0; way < DT_SEEN_WAYS; way++)
        if (dt_seen_is (t->key + (slot + way) * t->stride, word, n))
            return (ptrdiff_t)(slot + way);
    return -1;
}

static inline const int64_t *dt_seen_value (const struct dt_seen *t, ptrdiff_t slot)
{
    return t->value + (size_t)slot * t->n_out;
}

static inline const int64_t *const *dt_seen_each (const struct dt_seen *t, ptrdiff_t slot)
{
    return t->own_stride ? t->each + (size_t)slot * t->n_out : t->each;
}

#endif
