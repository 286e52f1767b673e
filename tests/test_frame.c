/* tests/test_frame.c - frames over a socket pair. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "proto/frame.h"
#include "tests/suite.h"

static int pair[2];

static void setup (void)
{
    ck_assert_int_eq (socketpair (AF_UNIX, SOCK_STREAM, 0, pair), 0);
}

static void teardown (void)
{
    close (pair[0]);
    close (pair[1]);
}

static const size_t sizes[] = { 0, 1, 5, 16383, 16384, 16385, 3000000 };

struct writer {
    const uint8_t *data;
    size_t n;
    int r;
};

static void *write_one (void *arg)
{
    struct writer *w = arg;

    w->r = dt_frame_write (pair[0], w->data, w->n, 5000, NULL);
    return NULL;
}

START_TEST (round_trip)
{
    size_t n = sizes[_i];
    uint8_t *data = dt_calloc (n, 1);
    struct writer w = { data, n, 1 };
    struct dt_buf got;
    pthread_t t;

    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)(i * 31 + i / 251);
    dt_buf_init (&got);
    dt_buf_put (&got, "x", 1); /* frames are appended */
    ck_assert_int_eq (pthread_create (&t, NULL, write_one, &w), 0);
    ck_assert_int_eq (dt_frame_read (pair[1], 5000, &got, NULL), 0);
    pthread_join (t, NULL);
    ck_assert_int_eq (w.r, 0);
    ck_assert_uint_eq (got.len, n + 1);
    ck_assert (n == 0 || !memcmp (got.data + 1, data, n));
    dt_buf_done (&got);
    dt_free (data);
}
END_TEST

START_TEST (two_in_a_row)
{
    struct dt_buf got;

    dt_buf_init (&got);
    ck_assert_int_eq (dt_frame_write (pair[0], "ab", 2, 5000, NULL), 0);
    ck_assert_int_eq (dt_frame_write (pair[0], "cde", 3, 5000, NULL), 0);
    ck_assert_int_eq (dt_frame_read (pair[1], 5000, &got, NULL), 0);
    ck_assert_uint_eq (got.len, 2);
    ck_assert_int_eq (dt_frame_read (pair[1], 5000, &got, NULL), 0);
    ck_assert_mem_eq (got.data, "abcde", 5);
    dt_buf_done (&got);
}
END_TEST

/* What the peer wrote before it closed, and what reading it gives. */
static const struct {
    const char *what;
    size_t n;
    uint8_t bytes[8];
    int closes;
    int want;
} bad[] = {
    { "nothing, then closed", 0, { 0 }, 1, -DT_EWORKER },
    { "half a length", 2, { 5, 0 }, 1, -DT_EWORKER },
    { "half a frame", 6, { 5, 0, 0, 0, 1, 2 }, 1, -DT_EWORKER },
    { "nothing", 0, { 0 }, 0, -ETIMEDOUT },
    { "half a frame, then silence", 6, { 5, 0, 0, 0, 1, 2 }, 0, -ETIMEDOUT },
    { "a length over the limit", 4, { 1, 0, 0, 4 }, 0, -DT_ELIMIT },
    { "the largest length, then closed", 4, { 0, 0, 0, 4 }, 1, -DT_EWORKER },
};

START_TEST (bad_peer)
{
    struct dt_err err = { "" };
    struct dt_buf got;
    int r;

    dt_buf_init (&got);
    dt_buf_put (&got, "kept", 4);
    ck_assert_int_eq (write (pair[0], bad[_i].bytes, bad[_i].n), (ssize_t)bad[_i].n);
    if (bad[_i].closes)
        shutdown (pair[0], SHUT_WR);
    r = dt_frame_read (pair[1], 30, &got, &err);
    ck_assert_msg (r == bad[_i].want, "%s: %d %s", bad[_i].what, r, err.text);
    ck_assert_str_ne (err.text, "");
    ck_assert_uint_eq (got.len, 4);
    dt_buf_done (&got);
}
END_TEST

START_TEST (write_to_a_closed_peer) /* an error, not SIGPIPE */
{
    close (pair[1]);
    pair[1] = -1;
    ck_assert_int_eq (dt_frame_write (pair[0], "ab", 2, 5000, NULL), -DT_EWORKER);
}
END_TEST

START_TEST (write_too_long)
{
    ck_assert_int_eq (dt_frame_write (pair[0], "", DT_FRAME_MAX + 1, 5000, NULL), -DT_ELIMIT);
}
END_TEST

START_TEST (write_to_a_hung_peer) /* a frame larger than the socket's buffer */
{
    uint8_t *data = dt_calloc (3000000, 1);
    struct dt_err err = { "" };

    ck_assert_int_eq (dt_frame_write (pair[0], data, 3000000, 50, &err), -ETIMEDOUT);
    ck_assert_str_ne (err.text, "");
    dt_free (data);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("proto/frame");
    TCase *tc = tcase_create ("frame");

    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_add_loop_test (tc, round_trip, 0, (int)DT_ARRAY_SIZE (sizes));
    tcase_add_test (tc, two_in_a_row);
    tcase_add_loop_test (tc, bad_peer, 0, (int)DT_ARRAY_SIZE (bad));
    tcase_add_test (tc, write_to_a_closed_peer);
    tcase_add_test (tc, write_too_long);
    tcase_add_test (tc, write_to_a_hung_peer);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
