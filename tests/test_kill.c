/* tests/test_kill.c - what was acknowledged survives; a fetch gives a whole tuple.
 *
 * $DETENT_KILL_ROUNDS is the number of random moments (default 5);
 * tests/kill-rounds.sh runs many. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/time.h"
#include "tests/daemon_rig.h"
#include "tests/suite.h"

#define PROGRAM "tests/detentd_kill"
#define ROUNDS 15

static struct rig rig;
static struct dt_digest tuple[2];

static void setup (void)
{
    rig_init (&rig);
    tuple[0] = rig_seed (&rig, "dep", "chat", 1, 0, "", 40000);
    tuple[1] = rig_seed (&rig, "dep", "chat", 2, 0, "", 40000);
}

static void teardown (void)
{
    rig_done (&rig);
}

/* The head's sequence by a fetch whose bundle is whole; 0 if nothing is committed. */
static int64_t head (void)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int64_t sequence;
    int r = rig_fetch (&rig, "dep", "chat", NULL, &reply, &err);

    if (r == -DT_ENOTFOUND)
        return 0;
    ck_assert_msg (r == 0, "%s", err.text);
    sequence = rig_check_bundle (reply->fetch);
    /* the tuple is the one that this sequence committed */
    ck_assert_mem_eq (dt_digest_of ("tuple", reply->fetch->tuple.data,
                                    reply->fetch->tuple.len).bytes,
                      tuple[sequence % 2].bytes, DT_DIGEST_BYTES);
    rig_reply_free (reply);
    return sequence;
}

/* Commit sequence n + 1; 0, or the code of the failure. */
static int commit_next (int64_t n)
{
    struct dt_err err = { "" };
    Detent__Reply *reply;
    int r = rig_commit (&rig, "dep", "chat", &tuple[(n + 1) % 2], 0, NULL, &reply, &err);

    if (r == 0) {
        ck_assert_int_eq ((int64_t)reply->commit->commit->sequence, n + 1);
        rig_reply_free (reply);
    }
    return r;
}

/* Stopped at a point of the transaction of a commit: before and inside leave the
 * old tuple, after has the new one although nobody was told. */
START_TEST (killed_at_a_point)
{
    static const char *const points[] = { "1", "2", "3" };
    int64_t acknowledged = 0, now;

    for (int round = 0; round < ROUNDS; round++) {
        setenv ("DETENTD_KILL_POINT", points[_i], 1);
        setenv ("DETENTD_KILL_HIT", round % 2 ? "2" : "1", 1);
        rig_start (&rig, PROGRAM, NULL);
        if (round % 2) {
            ck_assert_int_eq (commit_next (acknowledged), 0);
            acknowledged++;
        }
        ck_assert_int_lt (commit_next (acknowledged), 0); /* the connection broke */
        ck_assert_int_eq (WTERMSIG (rig_wait (&rig)), SIGKILL);
        unsetenv ("DETENTD_KILL_POINT");
        rig_start (&rig, PROGRAM, NULL);
        now = head ();
        ck_assert_int_eq (now, acknowledged + (_i == 2));
        acknowledged = now;
        ck_assert_int_eq (rig_stop (&rig), 0);
    }
}
END_TEST

/* SIGKILL while commits come one after the other. */
START_TEST (killed_at_random_moments)
{
    const char *given = getenv ("DETENT_KILL_ROUNDS");
    int rounds = given ? atoi (given) : 5;
    int64_t acknowledged = 0, now;
    unsigned random = (unsigned)dt_time_mono_ns ();

    for (int round = 0; round < rounds; round++) {
        pid_t killer;

        rig_start (&rig, PROGRAM, NULL);
        random = random * 1103515245u + 12345u;
        if ((killer = fork ()) == 0) {
            struct timespec t = { .tv_nsec = 1000 * (long)(random >> 12 & 0x3ffff) }; /* < 262 ms */

            nanosleep (&t, NULL);
            kill (rig.pid, SIGKILL);
            _exit (0);
        }
        while (commit_next (acknowledged) == 0)
            acknowledged++;
        waitpid (killer, NULL, 0);
        rig_wait (&rig);
        rig_start (&rig, PROGRAM, NULL);
        now = head ();
        /* one more than what was acknowledged may have been on its way */
        ck_assert_msg (now == acknowledged || now == acknowledged + 1, "round %d: %lld of %lld",
                       round, (long long)now, (long long)acknowledged);
        acknowledged = now;
        ck_assert_int_eq (rig_stop (&rig), 0);
    }
}
END_TEST

/* A full disk: the commit fails by name, the old tuple is served, and it goes on
 * when there is room. */
START_TEST (a_full_disk)
{
    char *full = dt_strf ("%s/full", rig.dir);
    int64_t acknowledged = 0;
    int r, fd;

    setenv ("DETENTD_FULL", full, 1);
    rig_start (&rig, PROGRAM, NULL);
    ck_assert_int_eq (commit_next (acknowledged++), 0);
    ck_assert_int_ge (fd = open (full, O_CREAT | O_WRONLY, 0600), 0);
    close (fd);
    for (int i = 0; (r = commit_next (acknowledged)) == 0; i++, acknowledged++)
        ck_assert_int_lt (i, 100); /* free space inside pages is soon used */
    ck_assert_int_eq (r, -ENOSPC);
    ck_assert_int_eq (head (), acknowledged);
    ck_assert_int_eq (commit_next (acknowledged), -ENOSPC);
    unlink (full);
    ck_assert_int_eq (commit_next (acknowledged++), 0);
    ck_assert_int_eq (head (), acknowledged);
    ck_assert_int_eq (rig_stop (&rig), 0);
    unsetenv ("DETENTD_FULL");
    dt_free (full);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("detentd/kill");
    TCase *tc = tcase_create ("kill");

    tcase_set_timeout (tc, 600);
    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_add_loop_test (tc, killed_at_a_point, 0, 3);
    tcase_add_test (tc, killed_at_random_moments);
    tcase_add_test (tc, a_full_disk);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
