/* tests/test_handle.c - libdetent from inside: each allocation fails once, and a
 * bundle's bytes are changed at random. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "libdetent/handle.h"
#include "proto/wire.h"
#include "tests/detent_rig.h"
#include "tests/suite.h"

static const struct detent_options options = { .deployment = "host-small", .workload = "chat",
                                               .without_tuple = DETENT_REFUSE };

static void check_use (struct detent *d)
{
    static const int64_t request[] = { 1, 100 };
    struct detent_call call = { 1, request };
    struct detent_selector *s = NULL;
    struct detent_recorder *rec = NULL;
    struct detent_choice c;
    int r = -ENOMEM;

    ck_assert_int_eq (detent_check_backend (d, RIG_BACKEND, RIG_UNITS, NULL), 0);
    for (size_t n = 0; r < 0; n++) {
        dt_mem_fail_after (n);
        r = detent_selector_new (d, "attention", "decoder", 8, &s, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (r == 0 || (r == -ENOMEM && !s));
    }
    ck_assert_int_eq (detent_select (s, &call, &c, NULL), 0);
    detent_selector_free (s);
    r = -ENOMEM;
    for (size_t n = 0; r < 0; n++) {
        dt_mem_fail_after (n);
        r = detent_recorder_new (d, &rec, NULL);
        if (r == 0)
            r = detent_record (rec, "attention", "decoder", &call, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (r == 0 || r == -ENOMEM);
        detent_recorder_free (rec);
        rec = NULL;
    }
}

START_TEST (no_memory)
{
    Detent__FetchReply *b = rig_bundle (RIG_NONE, 1);
    struct detent *d = NULL;
    size_t n = 0;
    int r = -ENOMEM;

    for (; r < 0; n++) {
        dt_mem_fail_after (n);
        r = dt_handle_verify (&options, b, &d, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert_msg (r == 0 || (r == -ENOMEM && !d), "allocation %zu: %d", n, r);
    }
    ck_assert_uint_gt (n, 5);
    check_use (d);
    detent_close (d); /* releases the bundle too */
}
END_TEST

START_TEST (no_memory_on_disk)
{
    Detent__FetchReply *b = rig_bundle (RIG_NONE, 0), *again = NULL;
    struct rig_folder f;
    int r = -ENOMEM;

    rig_folder_make (&f);
    for (size_t n = 0; r < 0; n++) {
        dt_mem_fail_after (n);
        r = dt_handle_keep (f.bundle, b, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (r == 0 || r == -ENOMEM);
    }
    /* Unpacking tells no memory from malformed, and refuses both. */
    for (r = -1; r < 0;) {
        static size_t n;

        dt_mem_fail_after (n++);
        r = dt_handle_kept (f.bundle, &again, NULL);
        dt_mem_fail_after (SIZE_MAX);
        ck_assert (r == 0 || ((r == -ENOMEM || r == -DT_ECORRUPT) && !again));
    }
    detent__fetch_reply__free_unpacked (again, NULL);
    detent__fetch_reply__free_unpacked (b, NULL);
    rig_folder_remove (&f);
}
END_TEST

/* A packed bundle, cut or with a few bits changed, is never accepted. */
START_TEST (random_bytes)
{
    Detent__FetchReply *b = rig_bundle (RIG_NONE, 1);
    size_t n = detent__fetch_reply__get_packed_size (b), accepted = 0;
    uint8_t *good = dt_calloc (n, 1), *bad = dt_calloc (n, 1);
    uint64_t x = (uint64_t)_i + 1;

    detent__fetch_reply__pack (b, good);
    for (int k = 0; k < 3000; k++) {
        size_t len = n;
        Detent__FetchReply *m;
        struct detent *d = NULL;

        memcpy (bad, good, n);
        for (int c = 0; c < 1 + k % 3; c++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            bad[(x >> 33) % n] ^= (uint8_t)(1u << (x >> 30 & 7));
        }
        if (k % 5 == 0)
            len = (x >> 20) % n;
        if ((len == n && !memcmp (bad, good, n)) /* changes may cancel out */
            || !(m = detent__fetch_reply__unpack (NULL, len, bad)))
            continue;
        if (dt_handle_verify (&options, m, &d, NULL) == 0) {
            accepted++;
            detent_close (d);
        } else
            detent__fetch_reply__free_unpacked (m, NULL);
    }
    ck_assert_msg (accepted == 0, "%zu accepted", accepted);
    dt_free (good);
    dt_free (bad);
    detent__fetch_reply__free_unpacked (b, NULL);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("libdetent/handle");
    TCase *tc = tcase_create ("handle");

    tcase_set_timeout (tc, 60);
    tcase_add_test (tc, no_memory);
    tcase_add_test (tc, no_memory_on_disk);
    tcase_add_loop_test (tc, random_bytes, 0, 3);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
