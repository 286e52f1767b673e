/* base/table.c - a hash table from bytes to a 32-bit index. */
#include "base/table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Keys are short (a value of a graph, a name): the inlined hash is worth it. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"

#define FIRST_ROOM 16 /* room is a power of two, and at least a quarter is free */

uint32_t dt_table_get (const struct dt_table *t, const void *key, size_t len,
                       dt_table_key_f key_of, const void *ctx)
{
    uint64_t hash;

    if (t->n == 0)
        return DT_TABLE_NONE;
    hash = XXH3_64bits (key, len);
    for (size_t i = hash & (t->room - 1); t->slot[i] != DT_TABLE_NONE;
         i = (i + 1) & (t->room - 1)) {
        const void *other;
        size_t n;

        if (t->hash[i] != hash)
            continue;
        other = key_of (ctx, t->slot[i], &n);
        if (n == len && (n == 0 || memcmp (other, key, n) == 0))
            return t->slot[i];
    }
    return DT_TABLE_NONE;
}

static void insert (struct dt_table *t, uint64_t hash, uint32_t index)
{
    size_t i = hash & (t->room - 1);

    while (t->slot[i] != DT_TABLE_NONE)
        i = (i + 1) & (t->room - 1);
    t->slot[i] = index;
    t->hash[i] = hash;
    t->n++;
}

/* Twice the room; the old table stays as it is on failure. */
static int enlarge (struct dt_table *t)
{
    struct dt_table to = { .room = t->room ? t->room * 2 : FIRST_ROOM };

    if (to.room < t->room)
        return -ENOMEM;
    to.slot = dt_realloc (NULL, to.room, sizeof *to.slot);
    to.hash = dt_realloc (NULL, to.room, sizeof *to.hash);
    if (!to.slot || !to.hash) {
        dt_table_done (&to);
        return -ENOMEM;
    }
    for (size_t i = 0; i < to.room; i++)
        to.slot[i] = DT_TABLE_NONE;
    for (size_t i = 0; i < t->room; i++)
        if (t->slot[i] != DT_TABLE_NONE)
            insert (&to, t->hash[i], t->slot[i]);
    dt_table_done (t);
    *t = to;
    return 0;
}

int dt_table_put (struct dt_table *t, const void *key, size_t len, uint32_t index)
{
    int r;

    assert (index != DT_TABLE_NONE);
    if (t->n >= t->room - t->room / 4 && (r = enlarge (t)) < 0)
        return r;
    insert (t, XXH3_64bits (key, len), index);
    return 0;
}

void dt_table_done (struct dt_table *t)
{
    dt_free (t->slot);
    dt_free (t->hash);
    *t = (struct dt_table){ 0 };
}
