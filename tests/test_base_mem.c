/* base/mem, base/arena, base/table: memory, and what it does when there is none. */
#include "base/arena.h"
#include "base/mem.h"
#include "base/table.h"
#include "tests/suite.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Larger than any object, and unknown to the compiler, which would warn. */
static volatile size_t huge = SIZE_MAX / 2 + 2;

START_TEST (overflow)
{
    char *p = dt_strdup ("kept");
    void *items = NULL;
    size_t room = huge;

    ck_assert_ptr_null (dt_calloc (huge, 2));
    ck_assert_ptr_null (dt_realloc (p, huge, 2));
    ck_assert_str_eq (p, "kept");
    ck_assert_int_eq (dt_grow (&items, &room, room, 1), -ENOMEM);
    ck_assert_ptr_null (items);
    dt_free (p);
}
END_TEST

START_TEST (sizes_of_zero)
{
    char *p = dt_calloc (0, 8), *q = dt_realloc (NULL, 8, 0), *m = dt_memdup (NULL, 0);

    ck_assert_ptr_nonnull (p);
    ck_assert_ptr_nonnull (q);
    ck_assert_ptr_nonnull (m);
    ck_assert_ptr_nonnull (p = dt_realloc (p, 0, 0)); /* does not free */
    dt_free (p);
    dt_free (q);
    dt_free (m);
    dt_free (NULL);
}
END_TEST

START_TEST (strings)
{
    char *a = dt_strndup ("selection", 3), *b = dt_strndup ("pin", 99), *c;

    ck_assert_str_eq (a, "sel");
    ck_assert_str_eq (b, "pin");
    c = dt_strf ("%s-%s-%05d", a, b, 42);
    ck_assert_str_eq (c, "sel-pin-00042");
    dt_free (a);
    dt_free (b);
    dt_free (c);
}
END_TEST

START_TEST (grow)
{
    uint32_t *items = NULL;
    size_t room = 0;

    for (uint32_t n = 0; n < 1000; n++) {
        ck_assert_int_eq (dt_grow ((void **)&items, &room, n, sizeof *items), 0);
        ck_assert_uint_gt (room, n);
        items[n] = n;
    }
    for (uint32_t n = 0; n < 1000; n++)
        ck_assert_uint_eq (items[n], n);
    ck_assert_uint_lt (room, 2048);
    dt_free (items);
}
END_TEST

static void *allocate (void *ret)
{
    void *p = dt_calloc (1, 1);

    *(int *)ret = p != NULL;
    dt_free (p);
    return NULL;
}

START_TEST (fail_hook)
{
    pthread_t thread;
    void *a, *b, *c;
    int worked = 0;

    dt_mem_fail_after (1);
    ck_assert_int_eq (pthread_create (&thread, NULL, allocate, &worked), 0);
    pthread_join (thread, NULL);
    ck_assert_int_eq (worked, 1); /* per thread */
    a = dt_calloc (1, 1);
    ck_assert_int_eq (dt_mem_fail_hit (), 0);
    b = dt_strdup ("b");
    ck_assert_int_eq (dt_mem_fail_hit (), 1);
    c = dt_strf ("c"); /* once */
    ck_assert_ptr_nonnull (a);
    ck_assert_ptr_null (b);
    ck_assert_ptr_nonnull (c);
    dt_mem_fail_after (SIZE_MAX);
    ck_assert_int_eq (dt_mem_fail_hit (), 0);
    dt_free (a);
    dt_free (c);
}
END_TEST

/* 0, or -ENOMEM at the first that did not fit. */
static int fill_arena (struct dt_arena *a)
{
    static const size_t sizes[] = { 1, 3, 16, 100, 4000, 70, 9000, 3 << 20, 5, 0 };

    for (int round = 0; round < 20; round++)
        for (size_t i = 0; i < DT_ARRAY_SIZE (sizes); i++) {
            unsigned char *p = dt_arena_alloc (a, sizes[i]);

            if (!p)
                return -ENOMEM;
            ck_assert_uint_eq ((uintptr_t)p % _Alignof (max_align_t), 0);
            for (size_t k = 0; k < sizes[i]; k += sizes[i] / 97 + 1)
                ck_assert_uint_eq (p[k], 0);
            memset (p, 0xee, sizes[i]); /* an overlap shows in a later one */
        }
    return 0;
}

START_TEST (arena)
{
    struct dt_arena a = { 0 };
    char *s, *f;

    s = dt_arena_strn (&a, "a\0b-", 3);
    ck_assert_mem_eq (s, "a\0b", 4);
    f = dt_arena_strf (&a, "%d of %s", 3, "pins");
    ck_assert_int_eq (fill_arena (&a), 0);
    ck_assert_str_eq (f, "3 of pins");
    ck_assert_mem_eq (s, "a\0b", 4);
    ck_assert_ptr_null (dt_arena_array (&a, huge, 2));
    ck_assert_ptr_null (dt_arena_alloc (&a, SIZE_MAX));
    ck_assert_ptr_null (dt_arena_alloc (&a, SIZE_MAX - 64));
    ck_assert_ptr_null (dt_arena_strn (&a, "", SIZE_MAX));
    dt_arena_done (&a);
    dt_arena_done (&a);
}
END_TEST

START_TEST (arena_failing)
{
    size_t n;
    int r = -ENOMEM;

    for (n = 0; r < 0; n++) {
        struct dt_arena a = { 0 };

        dt_mem_fail_after (n);
        r = fill_arena (&a);
        ck_assert_int_eq (r, dt_mem_fail_hit () ? -ENOMEM : 0);
        dt_arena_done (&a);
    }
    dt_mem_fail_after (SIZE_MAX);
    ck_assert_uint_gt (n, 5);
}
END_TEST

#define KEYS 5000

/* Keys are the decimal digits of the index, so some share a prefix. */
static char keys[KEYS][8];

static const void *key_of (const void *ctx, uint32_t index, size_t *ret_len)
{
    const char (*k)[8] = ctx;

    *ret_len = strlen (k[index]);
    return k[index];
}

static int fill_table (struct dt_table *t)
{
    int r;

    for (uint32_t i = 0; i < KEYS; i++) {
        snprintf (keys[i], sizeof keys[i], "%u", i);
        if ((r = dt_table_put (t, keys[i], strlen (keys[i]), i)) < 0)
            return r;
        ck_assert_uint_eq (t->n, i + 1);
    }
    return 0;
}

START_TEST (table)
{
    struct dt_table t = { 0 };

    ck_assert_uint_eq (dt_table_get (&t, "0", 1, key_of, keys), DT_TABLE_NONE);
    ck_assert_int_eq (fill_table (&t), 0);
    for (uint32_t i = 0; i < KEYS; i++)
        ck_assert_uint_eq (dt_table_get (&t, keys[i], strlen (keys[i]), key_of, keys), i);
    ck_assert_uint_eq (dt_table_get (&t, "5000", 4, key_of, keys), DT_TABLE_NONE);
    ck_assert_uint_eq (dt_table_get (&t, "12\0", 3, key_of, keys), DT_TABLE_NONE);
    ck_assert_uint_eq (dt_table_get (&t, NULL, 0, key_of, keys), DT_TABLE_NONE);
    dt_table_done (&t);
    ck_assert_uint_eq (dt_table_get (&t, "1", 1, key_of, keys), DT_TABLE_NONE);
}
END_TEST

START_TEST (table_failing)
{
    size_t n;
    int r = -ENOMEM;

    for (n = 0; r < 0; n++) {
        struct dt_table t = { 0 };

        dt_mem_fail_after (n);
        r = fill_table (&t);
        ck_assert_int_eq (r, dt_mem_fail_hit () ? -ENOMEM : 0);
        for (uint32_t i = 0; i < t.n; i++) /* what is in stays in */
            ck_assert_uint_eq (dt_table_get (&t, keys[i], strlen (keys[i]), key_of, keys), i);
        dt_table_done (&t);
    }
    dt_mem_fail_after (SIZE_MAX);
    ck_assert_uint_gt (n, 5);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("base/mem");
    TCase *tc = tcase_create ("mem"), *ar = tcase_create ("arena"), *tb = tcase_create ("table");

    tcase_add_test (tc, overflow);
    tcase_add_test (tc, sizes_of_zero);
    tcase_add_test (tc, strings);
    tcase_add_test (tc, grow);
    tcase_add_test (tc, fail_hook);
    suite_add_tcase (s, tc);
    tcase_add_test (ar, arena);
    tcase_add_test (ar, arena_failing);
    suite_add_tcase (s, ar);
    tcase_add_test (tb, table);
    tcase_add_test (tb, table_failing);
    suite_add_tcase (s, tb);
    return suite_run (s);
}
