/* base/table.h - a hash table from bytes to a 32-bit index (XXH3).
 * Uses: base/mem.h.  Used by: selir, solver, tuner, trace, detentd. */
#ifndef DT_BASE_TABLE_H
#define DT_BASE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define DT_TABLE_NONE UINT32_MAX

/* Open addressing; the caller keeps the keys' bytes and hands in how to reach
 * them.  Zero-initialise. */
struct dt_table {
    uint32_t *slot; /* index or DT_TABLE_NONE */
    uint64_t *hash;
    size_t room, n;
};

/* Borrowed bytes of the key of item `index`. */
typedef const void *(*dt_table_key_f) (const void *ctx, uint32_t index, size_t *ret_len);

/* The index stored under the key, or DT_TABLE_NONE. */
uint32_t dt_table_get (const struct dt_table *t, const void *key, size_t len,
                       dt_table_key_f key_of, const void *ctx);
/* Store `index` (not DT_TABLE_NONE) under a key that is not there yet; 0 or -ENOMEM. */
int dt_table_put (struct dt_table *t, const void *key, size_t len, uint32_t index);
void dt_table_done (struct dt_table *t);

#endif
