/* base/arena.c - memory that is released all at once. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Blocks double from the first size to the last: a small program costs one page,
 * a large graph few calls. */
#define FIRST_BLOCK ((size_t)4 << 10)
#define LAST_BLOCK ((size_t)1 << 20)

struct dt_arena_block {
    struct dt_arena_block *next;
    size_t size, used; /* of data */
    _Alignas (max_align_t) unsigned char data[];
};

/* A block for `size` bytes; the head, unless the old head has more left. */
static struct dt_arena_block *add_block (struct dt_arena *a, size_t size)
{
    struct dt_arena_block *b, *head = a->head;
    size_t room = head ? head->size * 2 : FIRST_BLOCK;

    if (room > LAST_BLOCK)
        room = LAST_BLOCK;
    if (room < size)
        room = size;
    if (room > SIZE_MAX - sizeof *b || !(b = dt_calloc (1, sizeof *b + room)))
        return NULL;
    b->size = room;
    if (head && head->size - head->used > room - size) {
        b->next = head->next;
        head->next = b;
    } else {
        b->next = head;
        a->head = b;
    }
    return b;
}

void *dt_arena_alloc (struct dt_arena *a, size_t size)
{
    const size_t align = _Alignof (max_align_t);
    struct dt_arena_block *b = a->head;
    void *p;

    if (size == 0)
        size = 1; /* distinct pointers */
    if (size > SIZE_MAX - align)
        return NULL;
    size = (size + align - 1) / align * align;
    if ((!b || size > b->size - b->used) && !(b = add_block (a, size)))
        return NULL;
    p = b->data + b->used;
    b->used += size;
    return p;
}

void *dt_arena_array (struct dt_arena *a, size_t n, size_t size)
{
    size_t total;

    return __builtin_mul_overflow (n, size, &total) ? NULL : dt_arena_alloc (a, total);
}

char *dt_arena_strn (struct dt_arena *a, const char *s, size_t n)
{
    char *copy = n < SIZE_MAX ? dt_arena_alloc (a, n + 1) : NULL;

    if (copy && n)
        memcpy (copy, s, n);
    return copy;
}

char *dt_arena_strf (struct dt_arena *a, const char *format, ...)
{
    va_list ap, again;
    char *s = NULL;
    int n;

    va_start (ap, format);
    va_copy (again, ap);
    n = vsnprintf (NULL, 0, format, ap);
    if (n >= 0 && (s = dt_arena_alloc (a, (size_t)n + 1)))
        vsnprintf (s, (size_t)n + 1, format, again);
    va_end (again);
    va_end (ap);
    return s;
}

void dt_arena_done (struct dt_arena *a)
{
    struct dt_arena_block *b = a->head, *next;

    for (; b; b = next) {
        next = b->next;
        dt_free (b);
    }
    a->head = NULL;
}
