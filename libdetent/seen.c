/* libdetent/seen.c - the table of whole calls. */
#include "libdetent/seen.h"

#include "base/mem.h"

/* each[i] of every slot, once: slots do not move. */
static void point_rows (struct dt_seen *t, size_t slots, const uint8_t *is_own)
{
    for (size_t s = 0; s < slots; s++) {
        int64_t *row = t->own + s * t->own_stride;

        for (size_t i = 0; i < t->n_out; i++)
            if (is_own[i]) {
                t->each[s * t->n_out + i] = row;
                row += t->rows;
            }
    }
}

int dt_seen_init (struct dt_seen *t, size_t room, unsigned bits, size_t n_fields, size_t n_out,
                  const uint8_t *is_own)
{
    size_t slots = DT_SEEN_WAYS * ((size_t)1 << bits), n_own = 0;

    for (size_t i = 0; i < n_out; i++)
        n_own += is_own[i];
    *t = (struct dt_seen){ .room = room, .shift = 64 - bits, .n_out = n_out };
    t->rows = room / n_fields;
    t->own_stride = n_own * t->rows;
    t->stride = (1 + room + DT_SEEN_LINE - 1) / DT_SEEN_LINE * DT_SEEN_LINE;
    t->memory = dt_calloc (slots * t->stride + DT_SEEN_LINE, sizeof *t->key);
    t->value = dt_calloc (slots * n_out + 1, sizeof *t->value);
    t->own = dt_calloc (slots * t->own_stride + 1, sizeof *t->own);
    t->each = dt_calloc ((n_own ? slots : 1) * n_out + 1, sizeof *t->each);
    if (!t->memory || !t->value || !t->own || !t->each)
        return -1;
    t->key = (int64_t *)(((uintptr_t)t->memory + 63) / 64 * 64);
    if (n_own)
        point_rows (t, slots, is_own);
    return 0;
}

void dt_seen_done (struct dt_seen *t)
{
    dt_free (t->memory);
    dt_free (t->value);
    dt_free (t->own);
    dt_free ((void *)t->each);
    *t = (struct dt_seen){ .room = 0 };
}

void dt_seen_put (struct dt_seen *t, const int64_t *word, size_t n, size_t n_requests,
                  const int64_t *value, int64_t *const *each)
{
    size_t slot = dt_seen_set (t, word, n) * DT_SEEN_WAYS;
    int64_t *key, *row;

    if (t->key[slot * t->stride] != 0) { /* else the first is free, and so is the second */
        slot += t->turn;
        t->turn = (t->turn + 1) % DT_SEEN_WAYS;
    }
    key = t->key + slot * t->stride;
    row = t->own + slot * t->own_stride;
    key[0] = (int64_t)n;
    memcpy (key + 1, word, n * sizeof *word);
    memcpy (t->value + slot * t->n_out, value, t->n_out * sizeof *value);
    for (size_t i = 0; i < t->n_out; i++)
        if (each[i]) {
            memcpy (row, each[i], n_requests * sizeof *row);
            row += t->rows;
        }
}
