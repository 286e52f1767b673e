/* tests/test_store.c - the store on a real SQLite file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "detentd/job.h"
#include "detentd/resume.h"
#include "detentd/store_sql.h"
#include "tests/suite.h"

static char dir[64], path[96];

static void setup (void)
{
    snprintf (dir, sizeof dir, "/tmp/detent-store-XXXXXX");
    ck_assert (mkdtemp (dir));
    snprintf (path, sizeof path, "%s/detent.db", dir);
}

static void teardown (void)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };

    for (size_t i = 0; i < DT_ARRAY_SIZE (suffixes); i++) {
        char *p = dt_strf ("%s%s", path, suffixes[i]);

        unlink (p);
        dt_free (p);
    }
    rmdir (dir);
}

static struct dt_store *open_store (int write)
{
    struct dt_err err = { "" };
    struct dt_store *s = NULL;
    int r = dt_store_open (path, write, &s, &err);

    ck_assert_msg (r == 0, "%s", err.text);
    return s;
}

static void run_sql (const char *sql)
{
    sqlite3 *db;
    char *text = NULL;

    ck_assert_int_eq (sqlite3_open (path, &db), SQLITE_OK);
    sqlite3_exec (db, sql, NULL, NULL, &text);
    ck_assert_msg (!text, "%s", text);
    sqlite3_close (db);
}

START_TEST (opens_again)
{
    struct dt_store_counts counts;
    struct dt_store *s = open_store (1);
    sqlite3_stmt *st;

    ck_assert_int_eq (sqlite3_prepare_v2 (s->db, "SELECT (SELECT * FROM pragma_user_version),"
                                                 " (SELECT * FROM pragma_application_id),"
                                                 " (SELECT * FROM pragma_journal_mode),"
                                                 " (SELECT * FROM pragma_foreign_keys),"
                                                 " (SELECT * FROM pragma_synchronous)",
                                          -1, &st, NULL), SQLITE_OK);
    ck_assert_int_eq (sqlite3_step (st), SQLITE_ROW);
    ck_assert_int_eq (sqlite3_column_int64 (st, 0), (int64_t)dt_n_migrations);
    ck_assert_int_eq (sqlite3_column_int64 (st, 1), DT_STORE_APPLICATION_ID);
    ck_assert_str_eq (dt_column_text (st, 2), "wal");
    ck_assert_int_eq (sqlite3_column_int (st, 3), 1);
    ck_assert_int_eq (sqlite3_column_int (st, 4), 2);
    sqlite3_finalize (st);
    dt_store_close (s);
    for (int write = 0; write < 2; write++) {
        s = open_store (write);
        ck_assert_int_eq (dt_store_counts (s, &counts, NULL), 0);
        ck_assert_uint_eq (counts.traces + counts.solutions + counts.tuples + counts.commits, 0);
        dt_store_close (s);
    }
}
END_TEST

static const struct {
    const char *what, *sql;
    int code;
} foreign[] = {
    { "another application", "PRAGMA application_id = 7", -DT_ECORRUPT },
};

START_TEST (refuses_others)
{
    struct dt_err err = { "" };
    struct dt_store *s = NULL;

    dt_store_close (open_store (1));
    run_sql (foreign[_i].sql);
    ck_assert_int_eq (dt_store_open (path, 1, &s, &err), foreign[_i].code);
    ck_assert_ptr_null (s);
    ck_assert (strstr (err.text, path));
}
END_TEST

START_TEST (refuses_a_text_file)
{
    struct dt_store *s = NULL;
    FILE *f = fopen (path, "w");

    for (int i = 0; i < 1000; i++)
        fputs ("this is no database\n", f);
    fclose (f);
    ck_assert_int_eq (dt_store_open (path, 1, &s, NULL), -DT_ECORRUPT);
}
END_TEST

/* A page of the file is overwritten: quick_check's row is the verdict. */
START_TEST (sees_damage)
{
    struct dt_err err = { "" };
    struct dt_store *s = open_store (1);
    char junk[4096];
    FILE *f;

    dt_store_close (s);
    memset (junk, 0x5a, sizeof junk);
    ck_assert ((f = fopen (path, "r+")));
    fseek (f, 2 * 4096, SEEK_SET);
    fwrite (junk, sizeof junk, 1, f);
    fclose (f);
    s = NULL;
    ck_assert_int_eq (dt_store_open (path, 1, &s, &err), -DT_ECORRUPT);
    ck_assert_ptr_null (s);
}
END_TEST

struct one_blob {
    struct dt_digest digest;
    int fail;
};

static int put_blob (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct one_blob *b = ctx;
    int r = dt_store_blob_put (s, "source", "abc", 3, &b->digest, reterr);

    return r < 0 ? r : b->fail;
}

START_TEST (commits_and_rolls_back)
{
    struct one_blob b = { .fail = -EIO };
    struct dt_store *s = open_store (1), *reader = open_store (0);
    struct dt_buf out = { 0 };

    ck_assert_int_eq (dt_store_transact (s, put_blob, &b, NULL), -EIO);
    ck_assert_int_eq (dt_store_blob_get (reader, "source", &b.digest, &out, NULL), -DT_ENOTFOUND);
    b.fail = 0;
    ck_assert_int_eq (dt_store_transact (s, put_blob, &b, NULL), 0);
    ck_assert_int_eq (dt_store_transact (s, put_blob, &b, NULL), 0); /* again: nothing happens */
    ck_assert_int_eq (dt_store_blob_get (reader, "source", &b.digest, &out, NULL), 0);
    ck_assert_uint_eq (out.len, 3);
    ck_assert_int_eq (dt_store_blob_get (reader, "trace", &b.digest, &out, NULL), -DT_ENOTFOUND);
    ck_assert_int_eq (dt_store_blob_put (reader, "source", "x", 1, &b.digest, NULL), -DT_ESTORE);
    dt_buf_done (&out);
    dt_store_close (reader);
    dt_store_close (s);
}
END_TEST

static int put_solution (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    return dt_store_solution_put (s, ctx, "solution", 8, 42, reterr);
}

START_TEST (a_damaged_solution_is_a_miss)
{
    struct dt_digest key = dt_digest_of ("solve", "k", 1);
    struct dt_store *s = open_store (1);
    struct dt_buf out = { 0 };
    uint64_t us = 0;

    ck_assert_int_eq (dt_store_solution_get (s, &key, &out, &us, NULL), -DT_ENOTFOUND);
    ck_assert_int_eq (dt_store_transact (s, put_solution, &key, NULL), 0);
    ck_assert_int_eq (dt_store_solution_get (s, &key, &out, &us, NULL), 0);
    ck_assert_uint_eq (us, 42);
    run_sql ("UPDATE solution SET data = x'00'");
    ck_assert_int_eq (dt_store_solution_get (s, &key, &out, &us, NULL), -DT_ECORRUPT);
    ck_assert_int_eq (dt_store_transact (s, put_solution, &key, NULL), 0);
    out.len = 0;
    ck_assert_int_eq (dt_store_solution_get (s, &key, &out, &us, NULL), 0);
    ck_assert_uint_eq (out.len, 8);
    dt_buf_done (&out);
    dt_store_close (s);
}
END_TEST

/* Two blobs whose digests share no prefix; one that is short. */
START_TEST (finds_by_prefix)
{
    struct dt_digest a, found;
    char hex[DT_DIGEST_HEX];
    struct dt_err err = { "" };
    struct dt_store *s = open_store (1);
    int is_commit;

    ck_assert_int_eq (dt_store_blob_put (s, "tuple", "t", 1, &a, NULL), 0);
    dt_digest_hex (&a, hex);
    hex[7] = '\0'; /* an odd number of digits */
    ck_assert_int_eq (dt_store_find (s, hex, &found, &is_commit, &err), 0);
    ck_assert_int_eq (is_commit, 0);
    ck_assert (dt_digest_equal (&a, &found));
    ck_assert_int_eq (dt_store_find (s, "abcde", &found, &is_commit, &err), -DT_EINPUT);
    ck_assert_int_eq (dt_store_find (s, "abcdeg", &found, &is_commit, &err), -DT_EINPUT);
    ck_assert_int_eq (dt_store_find (s, "000000", &found, &is_commit, &err), -DT_ENOTFOUND);
    run_sql ("INSERT INTO blob SELECT CAST (substr (digest, 1, 31) || x'00' AS BLOB), 'commit', data, 0"
             " FROM blob WHERE kind = 'tuple'");
    ck_assert_int_eq (dt_store_find (s, hex, &found, &is_commit, &err), -DT_EINPUT);
    dt_store_close (s);
}
END_TEST

static int check_left (void *ctx, const struct dt_job_row *row)
{
    int *n = ctx;

    ck_assert_str_eq (row->state, "failed");
    ck_assert_str_eq (row->what, "detentd stopped while it ran");
    ck_assert_int_ge (row->ended_ns, row->started_ns);
    ck_assert_ptr_nonnull (row->result);
    ++*n;
    return 0;
}

static int check_held (void *ctx, const struct dt_job_row *row)
{
    (void)ctx;
    ck_assert_str_eq (row->state, "held");
    ck_assert_str_eq (row->what, "device cuda:0: lost");
    ck_assert_int_eq (row->device, 3);
    ck_assert_uint_eq (row->n_request, 1);
    ck_assert_int_eq (row->ended_ns, 0);
    return 0;
}

/* Whatever the limit says. */
static int check_waiting (void *ctx, const struct dt_job_row *row)
{
    ck_assert_str_eq (row->state, "queued");
    ++*(int *)ctx;
    return 0;
}

/* What a job tells of its length does not follow a clock that is set. */
START_TEST (a_job_lasts_as_long_as_it_took)
{
    struct dt_job *j = dt_job_new ("tune", "d", "w", NULL);
    Detent__JobReply reply = DETENT__JOB_REPLY__INIT;
    char what[DT_JOB_WHAT];

    ck_assert_ptr_nonnull (j);
    for (int i = 0; i < 4; i++) {
        j->started_ns += i % 2 ? 2000000000000000000 : -1000000000000000000;
        j->began_ns = i < 2 ? j->began_ns : 0;
        dt_job_describe_end (j, DT_JOB_DONE, 0, "", &reply, what);
        ck_assert_int_ge (reply.ended_ns, reply.started_ns);
        if (i < 2)
            ck_assert_int_lt (reply.ended_ns - reply.started_ns, 1000000000000000);
    }
    dt_job_free (j);
}
END_TEST

START_TEST (unfinished_jobs_have_failed)
{
    struct dt_store *s = open_store (1);
    struct dt_job_row row = { .kind = "tune", .deployment = "d", .workload = "w",
                              .started_ns = 1, .request = "r", .n_request = 1, .device = 3 };
    uint64_t id, held;
    int n = 0;

    ck_assert_int_eq (dt_store_job_new (s, &row, &id, NULL), 0);
    ck_assert_int_eq (dt_store_job_start (s, id, NULL), 0);
    ck_assert_int_eq (dt_store_job_start (s, id, NULL), -DT_ENOTFOUND);
    ck_assert_int_eq (dt_store_job_hold (s, id, "it runs", NULL), -DT_ENOTFOUND);
    ck_assert_int_eq (dt_store_job_new (s, &row, &id, NULL), 0);
    row.started_ns = INT64_MAX / 2; /* before the clock was set back */
    ck_assert_int_eq (dt_jobs_recover (s, NULL), 0);
    ck_assert_int_eq (dt_store_job_new (s, &row, &held, NULL), 0);
    ck_assert_int_eq (dt_store_job_hold (s, held, "device cuda:0: lost", NULL), 0);
    ck_assert_int_eq (dt_jobs_recover (s, NULL), 0); /* it waits on */
    ck_assert_int_eq (dt_store_jobs (s, held, 0, check_held, NULL, NULL), 0);
    ck_assert_int_eq (dt_store_job_start (s, held, NULL), 0);
    ck_assert_int_eq (dt_jobs_recover (s, NULL), 0);
    ck_assert_int_eq (dt_store_jobs (s, 0, 3, check_left, &n, NULL), 0);
    ck_assert_int_eq (n, 3);
    ck_assert_int_eq (dt_store_jobs (s, 0, 1, check_left, &n, NULL), 0);
    ck_assert_int_eq (n, 4);
    ck_assert_int_eq (dt_store_job_new (s, &row, &id, NULL), 0);
    ck_assert_int_eq (dt_store_jobs (s, 0, 0, check_waiting, &n, NULL), 0);
    ck_assert_int_eq (n, 5);
    ck_assert_int_eq (dt_store_jobs (s, 77, 0, check_left, &n, NULL), -DT_ENOTFOUND);
    dt_store_close (s);
}
END_TEST

/* A store of version 3, with a tuple: which workload it is of is then what its job says. */
START_TEST (migrates_tuples)
{
    struct dt_digest digest = dt_digest_of ("tuple", "t", 1);
    struct dt_buf text = { 0 };
    struct dt_tuple_row row;
    struct dt_store *s;
    char hex[DT_DIGEST_HEX], *sql;
    int tuned[2];

    for (size_t i = 0; i < 3; i++)
        run_sql (dt_migrations[i].sql);
    dt_digest_hex (&digest, hex);
    sql = dt_strf ("PRAGMA application_id = %d; PRAGMA user_version = 3;"
                   "INSERT INTO blob VALUES (x'%s', 'tuple', x'74', 1);"
                   "INSERT INTO tuple VALUES (x'%s', x'%s', 'dep', 'chat', 1, 'f', 1);"
                   "INSERT INTO tuple_free VALUES (x'%s', 'a', 'b', 'c', x'%s');"
                   "INSERT INTO job VALUES (1, 'tune', 'done', 'dep', 'chat', '', NULL, NULL, x'%s',"
                   " 1, 2)", DT_STORE_APPLICATION_ID, hex, hex, hex, hex, hex, hex);
    run_sql (sql);
    dt_free (sql);
    s = open_store (1);
    ck_assert_int_eq (dt_store_tuple_get (s, &digest, &row, &text, NULL), 0);
    ck_assert_str_eq (row.deployment, "dep");
    ck_assert_str_eq (row.uncovered, "f");
    ck_assert_int_eq (row.sampled, 1);
    ck_assert_int_eq (dt_store_tuple_tuned (s, &digest, "dep", "chat", &tuned[0], NULL), 0);
    ck_assert_int_eq (dt_store_tuple_tuned (s, &digest, "dep", "code", &tuned[1], NULL), 0);
    ck_assert (tuned[0] == 1 && tuned[1] == 0);
    dt_buf_done (&text);
    dt_store_close (s);
}
END_TEST

static int check_old_job (void *ctx, const struct dt_job_row *row)
{
    ck_assert_int_eq (row->device, -1);
    ++*(int *)ctx;
    return 0;
}

static int check_old_time (void *ctx, const struct dt_measurement *m)
{
    ck_assert_uint_eq (m->elapsed_ns, 7);
    ck_assert_int_eq (m->others, -1);
    ++*(int *)ctx;
    return 0;
}

/* A store of version 7: on which device, and beside whom, is not known. */
START_TEST (migrates_measurements)
{
    struct dt_digest digest = dt_digest_of ("plan", "p", 1);
    char hex[DT_DIGEST_HEX], *sql;
    int jobs = 0, times = 0;
    struct dt_store *s;

    for (size_t i = 0; i < 7; i++)
        run_sql (dt_migrations[i].sql);
    dt_digest_hex (&digest, hex);
    sql = dt_strf ("PRAGMA application_id = %d; PRAGMA user_version = 7;"
                   "INSERT INTO job (id, kind, state, deployment, workload, what, started_ns,"
                   " ended_ns) VALUES (1, 'tune', 'done', 'dep', 'chat', '', 1, 2);"
                   "INSERT INTO backend (id, name, build, libraries, driver, device, units, clock,"
                   " caches) VALUES (1, 'host', '', '', '', '', 1, '', '');"
                   "INSERT INTO blob VALUES (x'%s', 'trace', x'74', 1);"
                   "INSERT INTO solution (key, data, check_digest, solve_us, time_ns)"
                   " VALUES (x'%s', x'73', x'%s', 1, 1);"
                   "INSERT INTO measurement (job, backend, solution, assignment, trace, call,"
                   " elapsed_ns, plan) VALUES (1, 1, x'%s', 0, x'%s', 0, 7, x'%s')",
                   DT_STORE_APPLICATION_ID, hex, hex, hex, hex, hex, hex);
    run_sql (sql);
    dt_free (sql);
    s = open_store (1);
    ck_assert_int_eq (dt_store_jobs (s, 0, 9, check_old_job, &jobs, NULL), 0);
    ck_assert_int_eq (dt_store_measurements (s, 1, &digest, check_old_time, &times, NULL), 0);
    ck_assert (jobs == 1 && times == 1);
    dt_store_close (s);
}
END_TEST

static int put_large (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_digest digest;

    return dt_store_blob_put (s, "trace", ctx, 1 << 20, &digest, reterr);
}

START_TEST (a_full_disk_changes_nothing)
{
    char *data = dt_calloc (1 << 20, 1);
    struct dt_store *s = open_store (1);
    struct dt_err err = { "" };

    sqlite3_exec (s->db, "PRAGMA max_page_count = 1", NULL, NULL, NULL);
    ck_assert_int_eq (dt_store_transact (s, put_large, data, &err), -ENOSPC);
    ck_assert_str_eq (dt_err_name (-ENOSPC), "no-space");
    sqlite3_exec (s->db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL);
    ck_assert_int_eq (dt_store_transact (s, put_large, data, &err), 0);
    dt_store_close (s);
    dt_free (data);
}
END_TEST

/* Each allocation of ours fails in turn: no leak, and it opens afterwards. */
START_TEST (survives_out_of_memory)
{
    struct dt_store *s = NULL;
    int r = -ENOMEM;

    for (size_t n = 0; r < 0; n++) {
        dt_mem_fail_after (n);
        r = dt_store_open (path, 1, &s, NULL);
        ck_assert (r == 0 || r == -ENOMEM);
        ck_assert_uint_lt (n, 1000);
    }
    dt_mem_fail_after (SIZE_MAX);
    dt_store_close (s);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("detentd/store");
    TCase *tc = tcase_create ("store");

    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_add_test (tc, opens_again);
    tcase_add_loop_test (tc, refuses_others, 0, DT_ARRAY_SIZE (foreign));
    tcase_add_test (tc, refuses_a_text_file);
    tcase_add_test (tc, sees_damage);
    tcase_add_test (tc, commits_and_rolls_back);
    tcase_add_test (tc, a_damaged_solution_is_a_miss);
    tcase_add_test (tc, finds_by_prefix);
    tcase_add_test (tc, a_job_lasts_as_long_as_it_took);
    tcase_add_test (tc, unfinished_jobs_have_failed);
    tcase_add_test (tc, migrates_tuples);
    tcase_add_test (tc, migrates_measurements);
    tcase_add_test (tc, a_full_disk_changes_nothing);
    tcase_add_test (tc, survives_out_of_memory);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
