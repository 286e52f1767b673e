/* base/err, base/time, base/file, base/log: what touches the system. */
#include <config.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/suite.h"

static char folder[] = "/tmp/dt-test-XXXXXX";
static char path[64];

/* Each test runs in a folder of its own. */
static void set_up (void)
{
    strcpy (folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull (mkdtemp (folder));
    snprintf (path, sizeof path, "%s/file", folder);
}

/* Nothing but `path` may be left behind. */
static void tear_down (void)
{
    unlink (path);
    rmdir (path);
    ck_assert_int_eq (rmdir (folder), 0);
}

static const struct {
    int code, exit;
    const char *name;
} codes[] = {
    { 0, 0, "ok" },
    { EINVAL, 2, "invalid" },
    { ENOENT, 4, "no-entry" },
    { EPERM, 5, "not-permitted" },
    { EACCES, 5, "no-access" },
    { ENOSPC, 10, "no-space" },
    { ENOMEM, 10, "no-memory" },
    { EXDEV, 10, "system" },
    { DT_EINPUT, 2, "input" },
    { DT_EUNCUT, 1, "uncut" },
    { DT_EUNREACH, 3, "unreachable" },
    { DT_ENOTFOUND, 4, "not-found" },
    { DT_EILLEGAL, 5, "illegal" },
    { DT_ECONFLICT, 6, "conflict" },
    { DT_EUNTRUSTED, 7, "untrusted" },
    { DT_ELOST, 10, "lost" },
    { DT_EPEER, 10, "peer" },
    { DT_EENVIRONMENT, 9, "environment" },
    { DT_EWORKER, 10, "worker" },
    { DT_ECANCELLED, 130, "cancelled" },
    { 999999, 10, "system" },
};

START_TEST (code)
{
    ck_assert_str_eq (dt_err_name (codes[_i].code), codes[_i].name);
    ck_assert_str_eq (dt_err_name (-codes[_i].code), codes[_i].name);
    ck_assert_int_eq (dt_err_exit (-codes[_i].code), codes[_i].exit);
    ck_assert_int_eq (dt_err_exit (codes[_i].code), codes[_i].exit);
}
END_TEST

/* Each of our codes has a word of its own. */
START_TEST (words_differ)
{
    for (int a = DT_ESYNTAX; a <= DT_EPEER; a++) {
        ck_assert_str_ne (dt_err_name (a), "system");
        for (int b = DT_ESYNTAX; b < a; b++)
            ck_assert_str_ne (dt_err_name (a), dt_err_name (b));
    }
}
END_TEST

START_TEST (err_text)
{
    struct dt_err err = { "" };
    char longer[2000];

    ck_assert_int_eq (dt_err_set (NULL, -EINVAL, "%d", 1), -EINVAL);
    ck_assert_int_eq (dt_err_prefix (NULL, -EINVAL, "x"), -EINVAL);
    ck_assert_int_eq (dt_err_set (&err, -DT_EINPUT, "line %d\n", 3), -DT_EINPUT);
    ck_assert_str_eq (err.text, "line 3");
    ck_assert_int_eq (dt_err_prefix (&err, -EIO, "site %s", "qkv"), -EIO);
    ck_assert_str_eq (err.text, "site qkv: line 3");
    dt_err_set (&err, -EIO, "again: %s", err.text); /* its own text */
    ck_assert_str_eq (err.text, "again: site qkv: line 3");
    ck_assert_int_eq (dt_err_nomem (&err), -ENOMEM);
    ck_assert_str_eq (err.text, "out of memory");
    memset (longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    memcpy (longer + sizeof err.text - 2, "\xe2\x82\xac", 3); /* cut inside a character */
    dt_err_set (&err, -EIO, "%s", longer);
    ck_assert_uint_eq (strlen (err.text), sizeof err.text - 2);
    memcpy (longer + sizeof err.text - 4, "\xe2\x82\xac", 3); /* fits exactly */
    dt_err_set (&err, -EIO, "%s", longer);
    ck_assert_uint_eq (strlen (err.text), sizeof err.text - 1);
}
END_TEST

static const struct {
    int64_t ns;
    const char *text;
} moments[] = {
    { 0, "1970-01-01T00:00:00Z" },
    { -1, "1969-12-31T23:59:59Z" },
    { -1000000000, "1969-12-31T23:59:59Z" },
    { 1769860800999999999, "2026-01-31T12:00:00Z" },
    { 1709164800000000000, "2024-02-29T00:00:00Z" },
    { INT64_MAX, "2262-04-11T23:47:16Z" },
    { INT64_MIN, "1677-09-21T00:12:43Z" },
};

START_TEST (moment)
{
    char text[DT_TIME_TEXT];

    ck_assert_str_eq (dt_time_text (moments[_i].ns, text), moments[_i].text);
}
END_TEST

START_TEST (clocks_advance)
{
    uint64_t raw = dt_time_raw_ns (), mono = dt_time_mono_ns ();

    usleep (2000);
    ck_assert_uint_ge (dt_time_raw_ns () - raw, 1000000);
    ck_assert_uint_ge (dt_time_mono_ns () - mono, 1000000);
    ck_assert_int_eq (dt_time_left_ms (UINT64_MAX), -1);
    ck_assert_int_eq (dt_time_left_ms (UINT64_MAX - 1), INT_MAX);
    ck_assert_int_eq (dt_time_left_ms (mono), 0);
    ck_assert_int_gt (dt_time_wall_ns (), 1700000000000000000);
}
END_TEST

START_TEST (replace_and_read)
{
    struct dt_buf b = { 0 };
    struct dt_err err = { "" };
    char big[40000];
    struct stat st;

    memset (big, 'b', sizeof big);
    dt_buf_put (&b, ">", 1);
    ck_assert_int_eq (dt_file_replace (path, "old", 3, 0600, &err), 0);
    ck_assert_int_eq (dt_file_replace (path, big, sizeof big, 0644, &err), 0);
    ck_assert_int_eq (stat (path, &st), 0);
    ck_assert_uint_eq (st.st_mode & 0777, 0644);
    ck_assert_int_eq (dt_file_read (path, sizeof big - 1, &b, &err), -DT_ELIMIT);
    ck_assert_uint_eq (b.len, 1); /* as before */
    ck_assert_int_eq (dt_file_read (path, sizeof big, &b, &err), 0);
    ck_assert_uint_eq (b.len, 1 + sizeof big);
    ck_assert_mem_eq (b.data + 1, big, sizeof big);
    ck_assert_int_eq (dt_file_replace (path, NULL, 0, 0600, &err), 0);
    ck_assert_int_eq (dt_file_read (path, 0, &b, &err), 0);
    ck_assert_uint_eq (b.len, 1 + sizeof big);
    dt_buf_done (&b);
}
END_TEST

START_TEST (read_refuses)
{
    struct dt_buf b = { 0 };
    struct dt_err err = { "" };

    ck_assert_int_eq (dt_file_read (path, 9, &b, &err), -ENOENT);
    ck_assert_ptr_nonnull (strstr (err.text, path));
    ck_assert_int_eq (dt_file_read (folder, 9, &b, &err), -DT_EINPUT);
    ck_assert_int_eq (mkfifo (path, 0600), 0);
    ck_assert_int_eq (dt_file_read (path, 9, &b, &err), -DT_EINPUT); /* and does not hang */
    dt_buf_done (&b);
}
END_TEST

/* A replace that fails leaves no temporary file (tear_down checks). */
START_TEST (replace_fails)
{
    struct dt_err err = { "" };
    char inner[80];

    ck_assert_int_eq (mkdir (path, 0700), 0);
    ck_assert_int_eq (dt_file_replace (path, "x", 1, 0600, &err), -EISDIR);
    snprintf (inner, sizeof inner, "%s/none/file", folder);
    ck_assert_int_eq (dt_file_replace (inner, "x", 1, 0600, &err), -ENOENT);
    ck_assert_ptr_nonnull (strstr (err.text, "none/file"));
    ck_assert_int_eq (dt_file_replace ("", "x", 1, 0600, &err), -DT_EINPUT);
}
END_TEST

START_TEST (replace_leaves_what_is_no_file) /* by its name, and through a link */
{
    struct dt_err err = { "" };
    char other[80];
    struct stat st;

    ck_assert_int_eq (mkfifo (path, 0600), 0);
    ck_assert_int_eq (dt_file_replace (path, "x", 1, 0600, &err), -DT_EINPUT);
    ck_assert_ptr_nonnull (strstr (err.text, path));
    ck_assert_int_eq (stat (path, &st), 0);
    ck_assert (S_ISFIFO (st.st_mode));
    snprintf (other, sizeof other, "%s/other", folder);
    ck_assert_int_eq (symlink (path, other), 0);
    ck_assert_int_eq (dt_file_replace (other, "x", 1, 0600, &err), -DT_EINPUT);
    ck_assert_int_eq (lstat (other, &st), 0);
    ck_assert (S_ISLNK (st.st_mode));
    unlink (other);
}
END_TEST

START_TEST (an_empty_file_is_a_string)
{
    struct dt_buf b = { 0 };

    ck_assert_int_eq (dt_file_replace (path, NULL, 0, 0600, NULL), 0);
    ck_assert_int_eq (dt_file_read (path, 9, &b, NULL), 0);
    ck_assert_uint_eq (b.len, 0);
    ck_assert_str_eq ((char *)b.data, "");
    dt_buf_done (&b);
}
END_TEST

START_TEST (failing_allocations)
{
    struct dt_buf b = { 0 };
    size_t n;
    int r = -ENOMEM;

    for (n = 0; r < 0; n++) {
        dt_mem_fail_after (n);
        r = dt_file_replace (path, "new", 3, 0600, NULL);
        ck_assert_int_eq (r, dt_mem_fail_hit () ? -ENOMEM : 0);
    }
    ck_assert_uint_gt (n, 1);
    dt_mem_fail_after (0);
    ck_assert_int_eq (dt_file_read (path, 99, &b, NULL), -ENOMEM);
    dt_mem_fail_after (SIZE_MAX);
    dt_buf_done (&b);
}
END_TEST

START_TEST (private_dir)
{
    struct dt_err err = { "" };

    ck_assert_int_eq (dt_file_private_dir (path, &err), 0);
    ck_assert_int_eq (dt_file_private_dir (path, &err), 0);
    ck_assert_int_eq (chmod (path, 0750), 0);
    ck_assert_int_eq (dt_file_private_dir (path, &err), -EPERM);
    ck_assert_ptr_nonnull (strstr (err.text, "750"));
    ck_assert_int_eq (rmdir (path), 0);
    ck_assert_int_eq (dt_file_replace (path, "", 0, 0600, &err), 0);
    ck_assert_int_eq (dt_file_private_dir (path, &err), -ENOTDIR);
    if (geteuid () != 0) /* root's folder is somebody else's */
        ck_assert_int_eq (dt_file_private_dir ("/", &err), -EPERM);
}
END_TEST

/* A packet pipe keeps each write apart: one read is one write. */
START_TEST (log_lines)
{
    static const char *const want[] = {
        "solver: cut 3\n",
        "<4>solver: a\\x0ab\\x1b[0m\\x7f\xc3\xa9\n",
    };
    char line[8192], longer[3000];
    int ends[2], saved = dup (STDERR_FILENO);
    ssize_t n;

    ck_assert_int_eq (pipe2 (ends, O_DIRECT | O_NONBLOCK), 0);
    dup2 (ends[1], STDERR_FILENO);
    dt_log_init (DT_LOG_WARNING, 0);
    dt_log (DT_LOG_INFO, "solver", "dropped");
    errno = EXDEV;
    dt_log (DT_LOG_ERROR, "solver", "cut %d", 3);
    ck_assert_int_eq (errno, EXDEV);
    dt_log_init (DT_LOG_DEBUG, 1);
    dt_log (DT_LOG_WARNING, "solver", "a\nb\x1b[0m\x7f\xc3\xa9");
    memset (longer, '\n', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    dt_log (DT_LOG_DEBUG, "solver", "%s", longer);
    dup2 (saved, STDERR_FILENO);
    for (size_t i = 0; i < DT_ARRAY_SIZE (want); i++) {
        n = read (ends[0], line, sizeof line - 1);
        ck_assert_int_gt (n, 0);
        line[n] = '\0';
        ck_assert_str_eq (line, want[i]);
    }
    n = read (ends[0], line, sizeof line);
    ck_assert_int_eq (n, 3 + 8 + 4 * 959 + 1);
    ck_assert_int_eq (read (ends[0], line, sizeof line), -1); /* no more */
    close (ends[0]);
    close (ends[1]);
    close (saved);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("base/sys");
    TCase *er = tcase_create ("err"), *ti = tcase_create ("time");
    TCase *fi = tcase_create ("file"), *lo = tcase_create ("log");

    tcase_add_loop_test (er, code, 0, (int)DT_ARRAY_SIZE (codes));
    tcase_add_test (er, words_differ);
    tcase_add_test (er, err_text);
    suite_add_tcase (s, er);
    tcase_add_loop_test (ti, moment, 0, (int)DT_ARRAY_SIZE (moments));
    tcase_add_test (ti, clocks_advance);
    suite_add_tcase (s, ti);
    tcase_add_checked_fixture (fi, set_up, tear_down);
    tcase_add_test (fi, replace_and_read);
    tcase_add_test (fi, read_refuses);
    tcase_add_test (fi, replace_fails);
    tcase_add_test (fi, replace_leaves_what_is_no_file);
    tcase_add_test (fi, an_empty_file_is_a_string);
    tcase_add_test (fi, failing_allocations);
    tcase_add_test (fi, private_dir);
    suite_add_tcase (s, fi);
    tcase_add_test (lo, log_lines);
    suite_add_tcase (s, lo);
    return suite_run (s);
}
