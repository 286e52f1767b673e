/* base/canon: one encoding per value, and a reader that takes no other. */
#include "base/canon.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/suite.h"

/* A value with every kind of thing in it. */
static void write_sample (struct dt_canon *c)
{
    dt_canon_map (c);
    dt_canon_kstr (c, "", "empty key");
    dt_canon_kint (c, "a", -1);
    dt_canon_kbytes (c, "ab", "\0\xff", 2);
    dt_canon_key (c, "b");
    dt_canon_list (c);
    dt_canon_int (c, INT64_MIN);
    dt_canon_int (c, INT64_MAX);
    dt_canon_map (c);
    dt_canon_end (c);
    dt_canon_list (c);
    dt_canon_str (c, "");
    dt_canon_end (c);
    dt_canon_end (c);
    dt_canon_kstr (c, "\xc3\xa9", "after every ASCII key");
    dt_canon_end (c);
}

static void build (struct dt_canon *c)
{
    dt_canon_init (c);
    write_sample (c);
    ck_assert_int_eq (dt_canon_finish (c), 0);
}

/* Write `v` again by what the reader says it is.  Depth is the reader's. */
static void copy (struct dt_canon *c, struct dt_canon_value v)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value item;
    const char *key;
    const uint8_t *p;
    size_t n;
    int64_t i;

    if (dt_canon_as_int (v, &i) == 0) {
        dt_canon_int (c, i);
        return;
    }
    if (dt_canon_as_bytes (v, &p, &n) == 0) {
        dt_canon_bytes (c, p, n);
        return;
    }
    if (dt_canon_tag (v) == 'm')
        dt_canon_map (c);
    else
        dt_canon_list (c);
    while (dt_canon_next (v, &it, &key, &n, &item)) {
        if (dt_canon_tag (v) == 'm') {
            char *k = dt_strndup (key, n);

            dt_canon_key (c, k);
            dt_free (k);
        }
        copy (c, item);
    }
    ck_assert_uint_eq (it.i, dt_canon_count (v));
    dt_canon_end (c);
}

/* If `data` is accepted, writing it again must give the same bytes. */
static int accepted (const uint8_t *data, size_t n)
{
    struct dt_canon_value v = { 0 };
    struct dt_err err = { "" };
    struct dt_canon c;
    int r = dt_canon_check (data, n, &v, &err);

    if (r < 0) {
        ck_assert_int_eq (r, -DT_ECORRUPT);
        ck_assert_ptr_null (v.at); /* untouched */
        ck_assert_ptr_nonnull (strstr (err.text, "at byte "));
        return 0;
    }
    dt_canon_init (&c);
    copy (&c, v);
    ck_assert_int_eq (dt_canon_finish (&c), 0);
    ck_assert_uint_eq (c.buf.len, n);
    ck_assert_mem_eq (c.buf.data, data, n);
    dt_canon_done (&c);
    return 1;
}

/* The bytes are under signatures: they may never change. */
START_TEST (bytes_are_fixed)
{
    static const uint8_t want[] = "m\2\0\0\0" "\1\0\0\0a" "i\xfe\xff\xff\xff\xff\xff\xff\xff"
                                  "\1\0\0\0b" "l\1\0\0\0" "s\2\0\0\0hi";
    struct dt_canon c;

    dt_canon_init (&c);
    dt_canon_map (&c);
    dt_canon_kint (&c, "a", -2);
    dt_canon_key (&c, "b");
    dt_canon_list (&c);
    dt_canon_str (&c, "hi");
    dt_canon_end (&c);
    dt_canon_end (&c);
    ck_assert_int_eq (dt_canon_finish (&c), 0);
    ck_assert_uint_eq (c.buf.len, sizeof want - 1);
    ck_assert_mem_eq (c.buf.data, want, sizeof want - 1);
    dt_canon_done (&c);
}
END_TEST

START_TEST (round_trip)
{
    struct dt_canon_value v, list, absent;
    struct dt_canon c;
    const uint8_t *p;
    char text[16];
    size_t n;
    int64_t i = 7;

    build (&c);
    ck_assert (accepted (c.buf.data, c.buf.len));
    ck_assert_int_eq (dt_canon_check (c.buf.data, c.buf.len, &v, NULL), 0);
    ck_assert_uint_eq (dt_canon_count (v), 5);
    ck_assert_int_eq (dt_canon_as_int (dt_canon_get (v, "a"), &i), 0);
    ck_assert_int_eq (i, -1);
    ck_assert_int_eq (dt_canon_as_bytes (dt_canon_get (v, "ab"), &p, &n), 0);
    ck_assert_uint_eq (n, 2);
    ck_assert_int_eq (dt_canon_as_str (dt_canon_get (v, "ab"), text, sizeof text), -DT_EINPUT);
    ck_assert_int_eq (dt_canon_as_str (dt_canon_get (v, ""), text, 10), 0);
    ck_assert_str_eq (text, "empty key");
    ck_assert_int_eq (dt_canon_as_str (dt_canon_get (v, ""), text, 9), -DT_EINPUT);
    list = dt_canon_get (v, "b");
    ck_assert_uint_eq (dt_canon_count (list), 4);
    ck_assert_int_eq (dt_canon_tag (dt_canon_get (list, "a")), 0);
    absent = dt_canon_get (v, "abc");
    ck_assert_int_eq (dt_canon_tag (absent), 0);
    ck_assert_uint_eq (dt_canon_count (absent), 0);
    ck_assert_int_eq (dt_canon_as_int (absent, &i), -DT_EINPUT);
    ck_assert_int_eq (dt_canon_as_bytes (absent, &p, &n), -DT_EINPUT);
    ck_assert_int_eq (dt_canon_as_int (list, &i), -DT_EINPUT);
    ck_assert_int_eq (i, -1);
    dt_canon_done (&c);
}
END_TEST

static const struct {
    const char *what, *bytes;
    size_t n;
    const char *why; /* in the error's text; NULL: accepted */
} forms[] = {
#define B(s) s, sizeof s - 1
    { "nothing", B (""), "truncated at byte 0" },
    { "an unknown tag", B ("x"), "unknown tag at byte 0" },
    { "a zero byte", B ("\0"), "unknown tag" },
    { "an empty map", B ("m\0\0\0\0"), NULL },
    { "an empty list", B ("l\0\0\0\0"), NULL },
    { "an empty string", B ("s\0\0\0\0"), NULL },
    { "two values", B ("l\0\0\0\0l\0\0\0\0"), "bytes after the value at byte 5" },
    { "a short integer", B ("i1234567"), "truncated integer at byte 0" },
    { "a string longer than its bytes", B ("s\3\0\0\0ab"), "truncated string" },
    { "the longest string of none", B ("s\xff\xff\xff\xff"), "truncated string" },
    { "the longest list of none", B ("l\xff\xff\xff\xff"), "truncated at byte 5" },
    { "the largest map of none", B ("m\xff\xff\xff\xff"), "truncated key at byte 5" },
    { "a key without a value", B ("m\1\0\0\0\1\0\0\0a"), "truncated at byte 10" },
    { "a list that lost an item", B ("l\2\0\0\0s\0\0\0\0"), "truncated at byte 10" },
    { "keys in order", B ("m\2\0\0\0\1\0\0\0as\0\0\0\0\2\0\0\0aas\0\0\0\0"), NULL },
    { "a repeated key", B ("m\2\0\0\0\1\0\0\0as\0\0\0\0\1\0\0\0as\0\0\0\0"),
      "ascending order at byte 15" },
    { "unsorted keys", B ("m\2\0\0\0\1\0\0\0bs\0\0\0\0\1\0\0\0as\0\0\0\0"), "ascending order" },
    { "a prefix behind its longer key",
      B ("m\2\0\0\0\2\0\0\0aas\0\0\0\0\1\0\0\0as\0\0\0\0"), "ascending order" },
    { "keys compared as signed bytes",
      B ("m\2\0\0\0\1\0\0\0\xc3s\0\0\0\0\1\0\0\0as\0\0\0\0"), "ascending order" },
    { "a repeated empty key", B ("m\2\0\0\0\0\0\0\0s\0\0\0\0\0\0\0\0s\0\0\0\0"),
      "ascending order" },
    { "a zero byte in a key", B ("m\1\0\0\0\1\0\0\0\0s\0\0\0\0"), "zero byte in a key" },
    { "inner maps start over",
      B ("m\1\0\0\0\1\0\0\0bm\1\0\0\0\1\0\0\0as\0\0\0\0"), NULL },
    { "an unsorted map in a list",
      B ("l\1\0\0\0m\2\0\0\0\1\0\0\0bs\0\0\0\0\1\0\0\0as\0\0\0\0"), "ascending order" },
};

START_TEST (form)
{
    struct dt_err err = { "" };
    struct dt_canon_value v;
    uint8_t *exact = malloc (forms[_i].n + 1); /* a sanitizer sees a read beyond it */

    memcpy (exact + 1, forms[_i].bytes, forms[_i].n);
    if (!forms[_i].why) {
        ck_assert_msg (accepted (exact + 1, forms[_i].n), "%s", forms[_i].what);
    } else {
        ck_assert_int_eq (dt_canon_check (exact + 1, forms[_i].n, &v, &err), -DT_ECORRUPT);
        ck_assert_msg (strstr (err.text, forms[_i].why), "%s: %s", forms[_i].what, err.text);
    }
    free (exact);
}
END_TEST

START_TEST (truncations)
{
    struct dt_canon c;

    build (&c);
    for (size_t n = 0; n < c.buf.len; n++) {
        uint8_t *cut = malloc (n ? n : 1);

        memcpy (cut, c.buf.data, n);
        ck_assert_msg (!accepted (cut, n), "accepted %zu of %zu bytes", n, c.buf.len);
        free (cut);
    }
    dt_canon_done (&c);
}
END_TEST

/* A flip may give another value, but then that value's one encoding. */
START_TEST (bit_flips)
{
    struct dt_canon c;
    size_t taken = 0;

    build (&c);
    for (size_t bit = 0; bit < 8 * c.buf.len; bit++) {
        c.buf.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        taken += (size_t)accepted (c.buf.data, c.buf.len);
        c.buf.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert_uint_gt (taken, 0);
    ck_assert_uint_lt (taken, 8 * c.buf.len);
    dt_canon_done (&c);
}
END_TEST

/* Accessors on bytes that nobody checked end, and stay inside. */
START_TEST (unchecked_bytes)
{
    uint32_t x = 1;

    for (int round = 0; round < 20000; round++) {
        static const uint8_t likely[] = { 'm', 'l', 's', 'i', 0, 0, 0, 1, 2 };
        uint8_t bytes[40];
        struct dt_canon_value v, got;

        for (size_t i = 0; i < sizeof bytes; i++) {
            x = x * 1664525 + 1013904223;
            bytes[i] = likely[(x >> 16) % sizeof likely];
        }
        if (accepted (bytes, sizeof bytes))
            continue;
        v = (struct dt_canon_value){ .at = bytes, .len = sizeof bytes };
        got = dt_canon_get (v, "\1");
        ck_assert (!got.at || (got.at > bytes && got.at + got.len <= bytes + sizeof bytes));
    }
}
END_TEST

static void nested (struct dt_canon *c, int depth)
{
    dt_canon_init (c);
    for (int i = 0; i < depth; i++)
        dt_canon_list (c);
    for (int i = 0; i < depth; i++)
        dt_canon_end (c);
    ck_assert_int_eq (dt_canon_finish (c), 0);
}

START_TEST (depth_limit)
{
    uint8_t deeper[5 * (DT_CANON_DEPTH + 1)];
    struct dt_canon_value v;
    struct dt_err err;
    struct dt_canon c;

    nested (&c, DT_CANON_DEPTH);
    ck_assert (accepted (c.buf.data, c.buf.len));
    memcpy (deeper, "l\1\0\0\0", 5);
    memcpy (deeper + 5, c.buf.data, c.buf.len);
    ck_assert_int_eq (dt_canon_check (deeper, sizeof deeper, &v, &err), -DT_ECORRUPT);
    ck_assert_ptr_nonnull (strstr (err.text, "nested too deep at byte 80"));
    dt_canon_done (&c);
}
END_TEST

START_TEST (raw_values)
{
    struct dt_canon inner, c;

    nested (&inner, DT_CANON_DEPTH - 1);
    for (int extra = 0; extra < 2; extra++) {
        dt_canon_init (&c);
        for (int i = 0; i <= extra; i++)
            dt_canon_list (&c);
        dt_canon_raw (&c, inner.buf.data, inner.buf.len);
        for (int i = 0; i <= extra; i++)
            dt_canon_end (&c);
        ck_assert_int_eq (dt_canon_finish (&c), extra ? -DT_ELIMIT : 0);
        ck_assert (extra || accepted (c.buf.data, c.buf.len));
        dt_canon_done (&c);
    }
    dt_canon_init (&c);
    dt_canon_raw (&c, inner.buf.data, inner.buf.len - 1);
    ck_assert_int_eq (dt_canon_finish (&c), -DT_ELIMIT);
    dt_canon_done (&c);
    dt_canon_done (&inner);
}
END_TEST

/* Large enough that the buffer grows several times. */
START_TEST (failing_allocations)
{
    struct dt_canon c;
    int r = -ENOMEM;
    size_t n;

    for (n = 0; r < 0; n++) {
        dt_mem_fail_after (n);
        dt_canon_init (&c);
        dt_canon_list (&c);
        for (int i = 0; i < 40; i++)
            write_sample (&c);
        dt_canon_end (&c);
        r = dt_canon_finish (&c);
        ck_assert_int_eq (r, dt_mem_fail_hit () ? -ENOMEM : 0);
        dt_mem_fail_after (SIZE_MAX); /* accepted () allocates too */
        ck_assert (r < 0 || accepted (c.buf.data, c.buf.len));
        dt_canon_done (&c);
    }
    ck_assert_uint_gt (n, 3);
}
END_TEST

/* Misuses that must end the process: a wrong digest is worse. */
START_TEST (misuse)
{
    struct dt_canon c;

    dt_canon_init (&c);
    if (_i == 0) { /* keys out of order */
        dt_canon_map (&c);
        dt_canon_kint (&c, "b", 1);
        dt_canon_kint (&c, "a", 1);
    } else if (_i == 1) { /* a repeated key */
        dt_canon_map (&c);
        dt_canon_kint (&c, "a", 1);
        dt_canon_kint (&c, "a", 1);
    } else if (_i == 2) { /* a value without a key */
        dt_canon_map (&c);
        dt_canon_int (&c, 1);
    } else if (_i == 3) { /* a key without a value */
        dt_canon_map (&c);
        dt_canon_key (&c, "a");
        dt_canon_end (&c);
    } else if (_i == 4) { /* a key in a list */
        dt_canon_list (&c);
        dt_canon_key (&c, "a");
    } else if (_i == 5) { /* an end too many */
        dt_canon_end (&c);
    } else if (_i == 6) { /* an end too few */
        dt_canon_map (&c);
        dt_canon_finish (&c);
    } else if (_i == 7) { /* two values */
        dt_canon_int (&c, 1);
        dt_canon_int (&c, 1);
    } else { /* too deep */
        nested (&c, DT_CANON_DEPTH + 1);
    }
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("base/canon");
    TCase *tc = tcase_create ("canon");

    tcase_add_test (tc, bytes_are_fixed);
    tcase_add_test (tc, round_trip);
    tcase_add_loop_test (tc, form, 0, (int)DT_ARRAY_SIZE (forms));
    tcase_add_test (tc, truncations);
    tcase_add_test (tc, bit_flips);
    tcase_add_test (tc, unchecked_bytes);
    tcase_add_test (tc, depth_limit);
    tcase_add_test (tc, raw_values);
    tcase_add_test (tc, failing_allocations);
    tcase_add_loop_test_raise_signal (tc, misuse, SIGABRT, 0, 9);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
