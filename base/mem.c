/* base/mem.c - allocation, with a failing build for tests. */
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local size_t fail_left = SIZE_MAX;
static _Thread_local int fail_hit;

/* One comparison per allocation when the hook is off. */
static int must_fail (void)
{
    if (__builtin_expect (fail_left == SIZE_MAX, 1))
        return 0;
    if (fail_left-- > 0)
        return 0;
    fail_left = SIZE_MAX;
    fail_hit = 1;
    errno = ENOMEM;
    return 1;
}

void dt_mem_fail_after (size_t n)
{
    fail_left = n;
    fail_hit = 0;
}

int dt_mem_fail_hit (void)
{
    return fail_hit;
}

/* n * size, at least 1 (realloc (p, 0) would free p); 0 if no object can be that
 * large.  Sanitizers' allocators end the process where libc's return NULL. */
static size_t product (size_t n, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow (n, size, &total) || total > PTRDIFF_MAX) {
        errno = ENOMEM;
        return 0;
    }
    return total ? total : 1;
}

void *dt_calloc (size_t n, size_t size)
{
    size_t total = product (n, size);

    return total && !must_fail () ? calloc (1, total) : NULL;
}

void *dt_realloc (void *p, size_t n, size_t size)
{
    size_t total = product (n, size);

    return total && !must_fail () ? realloc (p, total) : NULL;
}

void *dt_memdup (const void *p, size_t size)
{
    void *copy = dt_realloc (NULL, size, 1);

    if (copy && size)
        memcpy (copy, p, size);
    return copy;
}

char *dt_strdup (const char *s)
{
    return dt_memdup (s, strlen (s) + 1);
}

char *dt_strndup (const char *s, size_t n)
{
    size_t len = strnlen (s, n);
    char *copy = dt_realloc (NULL, len + 1, 1); /* len < SIZE_MAX: s is an object */

    if (copy) {
        memcpy (copy, s, len);
        copy[len] = '\0';
    }
    return copy;
}

char *dt_strf (const char *format, ...)
{
    va_list ap, again;
    char *s = NULL;
    int n;

    va_start (ap, format);
    va_copy (again, ap);
    n = vsnprintf (NULL, 0, format, ap);
    if (n >= 0 && (s = dt_realloc (NULL, (size_t)n + 1, 1)))
        vsnprintf (s, (size_t)n + 1, format, again);
    va_end (again);
    va_end (ap);
    return s;
}

void dt_free (void *p)
{
    free (p);
}

int dt_grow (void **items, size_t *room, size_t n, size_t size)
{
    size_t want = *room ? *room * 2 : 8;
    void *p;

    if (n < *room)
        return 0;
    if (want < *room || !(p = dt_realloc (*items, want, size)))
        return -ENOMEM;
    *items = p;
    *room = want;
    return 0;
}
