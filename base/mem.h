/* base/mem.h - allocation, with a failing build for tests.
 * Uses: nothing of ours.  Used by: every folder.
 *
 * All of Detent allocates through these, so that a test can make the n-th
 * allocation fail.  Memory is released with free() of libc through dt_free. */
#ifndef DT_BASE_MEM_H
#define DT_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#define DT_ARRAY_SIZE(a) (sizeof (a) / sizeof ((a)[0]))

/* Zeroed; NULL on failure or if n * size overflows.  n or size 0 gives a
 * pointer that may be freed. */
void *dt_calloc (size_t n, size_t size);
/* As realloc, for n * size with an overflow check; on failure `p` stays valid. */
void *dt_realloc (void *p, size_t n, size_t size);
void *dt_memdup (const void *p, size_t size);
char *dt_strdup (const char *s);
char *dt_strndup (const char *s, size_t n);
/* printf into a fresh string; NULL out of memory. */
char *dt_strf (const char *format, ...) __attribute__ ((format (printf, 1, 2)));
void dt_free (void *p);

/* Make room for one more element of an array that doubles: *items of *room
 * elements of `size` bytes, `n` used.  0 or -ENOMEM. */
int dt_grow (void **items, size_t *room, size_t n, size_t size);

/* Test hook: the allocation after `n` successful ones fails, once; SIZE_MAX
 * turns it off.  Per thread.  dt_mem_fail_hit tells whether it has. */
void dt_mem_fail_after (size_t n);
int dt_mem_fail_hit (void);

#endif
