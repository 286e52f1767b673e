/* tests/test_noalloc.c - a selection allocates nothing: malloc and its kin are
 * replaced by ones that count. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/detent_rig.h"

extern void *__libc_malloc (size_t n);
extern void *__libc_calloc (size_t n, size_t size);
extern void *__libc_realloc (void *p, size_t n);
extern void *__libc_memalign (size_t align, size_t n);

static _Thread_local unsigned long allocations;

void *malloc (size_t n)
{
    allocations++;
    return __libc_malloc (n);
}

void *calloc (size_t n, size_t size)
{
    allocations++;
    return __libc_calloc (n, size);
}

void *realloc (void *p, size_t n)
{
    allocations++;
    return __libc_realloc (p, n);
}

void *aligned_alloc (size_t align, size_t n)
{
    allocations++;
    return __libc_memalign (align, n);
}

int posix_memalign (void **ret, size_t align, size_t n)
{
    allocations++;
    *ret = __libc_memalign (align, n);
    return *ret ? 0 : ENOMEM;
}

int main (void)
{
    Detent__FetchReply *b = rig_bundle (RIG_NONE, 1);
    struct detent *d = rig_open (b, DETENT_PINNED);
    struct detent_selector *s = NULL;
    struct detent_error err = { "" };
    unsigned long before;
    int calls = 0, bad = 0;

    before = allocations;
    free (malloc (1));
    if (allocations == before) {
        puts ("the interposer does not count");
        return 1;
    }
    if (detent_selector_new (d, "attention", "decoder", 8, &s, &err) < 0) {
        puts (err.text);
        return 1;
    }
    before = allocations;
    for (int64_t kv = 1; kv <= 6000; kv++) /* new, seen, refused and failing calls */
        for (int again = 0; again < 2; again++) {
            int64_t request[4] = { 1, kv, 1, 5 };
            struct detent_call call = { 2, request };
            struct detent_choice c;

            bad += detent_select (s, &call, &c, &err) < 0;
            calls++;
        }
    printf ("%d selections, %d refused: %lu allocations\n", calls, bad, allocations - before);
    bad = allocations != before || bad != 2 * (6000 - 4096 + 2);
    detent_selector_free (s);
    detent_close (d);
    detent__fetch_reply__free_unpacked (b, NULL);
    return bad;
}
