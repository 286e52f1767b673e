/* base/arena.h - memory that is released all at once.
 * Uses: base/mem.h.  Used by: selir, solver, tuner. */
#ifndef DT_BASE_ARENA_H
#define DT_BASE_ARENA_H

#include <stddef.h>

struct dt_arena_block;
/* Zero-initialise.  Pointers stay valid until dt_arena_done. */
struct dt_arena {
    struct dt_arena_block *head;
};

/* Zeroed, aligned for any type (max_align_t); NULL out of memory.  Size 0 gives a
 * pointer of its own. */
void *dt_arena_alloc (struct dt_arena *a, size_t size);
void *dt_arena_array (struct dt_arena *a, size_t n, size_t size);
/* Copies, terminated; strn takes exactly n bytes. */
char *dt_arena_strn (struct dt_arena *a, const char *s, size_t n);
char *dt_arena_strf (struct dt_arena *a, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
void dt_arena_done (struct dt_arena *a);

#endif
