/* detentctl/job.c - follow a job until it ends. */
#include "detentctl/job.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "detentctl/certificate_view.h"
#include "detentctl/connect.h"
#include "detentctl/print.h"
#include "detentctl/progress.h"

/* The first SIGINT detaches, the second ends the process.  A signal that comes
 * just before the wait for a reply would not end that wait: the alarm, which only
 * interrupts, does. */
static volatile sig_atomic_t interrupted;

static void on_interrupt (int signal)
{
    (void)signal;
    interrupted = 1;
    alarm (1);
}

static void on_alarm (int signal)
{
    (void)signal;
    alarm (1);
}

static void catch_interrupts (void)
{
    struct sigaction sa = { .sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND };

    sigemptyset (&sa.sa_mask);
    sigaction (SIGINT, &sa, NULL);
    sa.sa_handler = on_alarm;
    sa.sa_flags = 0;
    sigaction (SIGALRM, &sa, NULL);
}

static int detached (uint64_t job, struct dt_err *reterr)
{
    if (job == 0)
        return dt_err_set (reterr, -DT_ECANCELLED,
                           "interrupted before detentd answered; see detentctl jobs");
    return dt_err_set (reterr, -DT_ECANCELLED,
                       "interrupted; job %" PRIu64 " goes on in detentd (detentctl attach %" PRIu64
                       ", detentctl cancel %" PRIu64 ")",
                       job, job, job);
}

static int body_is_job (const Detent__Reply *reply, struct dt_err *reterr)
{
    if (reply->body_case == DETENT__REPLY__BODY_JOB)
        return 0;
    return dt_err_set (reterr, -DT_EVERSION,
                       "detentd answers another question; are client and daemon of one version?");
}

/* Said once each time, also where there is no progress: it may last. */
static void tell_held (const Detent__JobReply *j, int *held)
{
    int is = !strcmp (j->state, "held");

    if (is && !*held) {
        dt_progress_done ();
        dt_print (stderr, "detentctl: job %" PRIu64 " is held: %s; it goes on by itself once the "
                  "device is there", j->job, j->what);
        fputc ('\n', stderr);
    }
    *held = is;
}

/* The final reply.  Only the first must come in time: then detentd is there, and
 * a connection that breaks is noticed. */
static int wait_for_end (struct dt_client *client, int timeout_ms, Detent__Reply **ret,
                         struct dt_err *reterr)
{
    Detent__Reply *reply = NULL;
    uint64_t job = 0;
    int held = 0, r;

    for (;;) {
        if (interrupted)
            return detached (job, reterr);
        r = dt_client_recv (client, job ? -1 : timeout_ms, &reply, reterr);
        if (r == -EINTR)
            continue;
        if (r < 0 || (r = body_is_job (reply, reterr)) < 0)
            break;
        if (reply->final) {
            *ret = reply;
            return 0;
        }
        job = reply->job->job;
        tell_held (reply->job, &held);
        dt_progress (reply->job->fraction, reply->job->has_left_s ? reply->job->left_s : -1,
                     reply->job->what);
        detent__reply__free_unpacked (reply, NULL);
        reply = NULL;
    }
    if (reply)
        detent__reply__free_unpacked (reply, NULL);
    return job ? dt_err_prefix (reterr, r, "job %" PRIu64, job) : r;
}

/* A job that did not end well ends the command with its code; one that was
 * detached from is still under way. */
static int judge (const Detent__JobReply *j, struct dt_err *reterr)
{
    int code = j->has_code && j->code > 0 && j->code < 65536 ? j->code : DT_EWORKER;

    if (!strcmp (j->state, "failed"))
        return dt_err_set (reterr, -code, "job %" PRIu64 " failed: %s", j->job, j->what);
    if (!strcmp (j->state, "cancelled"))
        return !strcmp (j->kind, "certify")
                   ? dt_err_set (reterr, -DT_ECANCELLED,
                                 "job %" PRIu64 " was cancelled; its certificates are kept",
                                 j->job)
                   : dt_err_set (reterr, -DT_ECANCELLED,
                           "job %" PRIu64 " was cancelled; its %" PRIu64 " measurements are kept",
                           j->job, j->measurements);
    return 0;
}

int dt_job_follow (const struct dt_ctl *c, Detent__Request *rq, struct dt_err *reterr)
{
    struct dt_client *client = NULL;
    Detent__Reply *reply = NULL;
    int timeout_ms, r;

    if ((r = dt_ctl_timeout (c, 30, &timeout_ms, reterr)) < 0
        || (r = dt_ctl_connect (c, &client, reterr)) < 0)
        return r;
    catch_interrupts ();
    if ((r = dt_client_send (client, rq, timeout_ms, reterr)) == -EINTR)
        r = dt_err_set (reterr, -DT_ECANCELLED, "interrupted; nothing was asked of detentd");
    if (r == 0)
        r = wait_for_end (client, timeout_ms, &reply, reterr);
    dt_progress_done ();
    dt_client_close (client);
    if (r < 0)
        return r;
    if ((r = judge (reply->job, reterr)) == 0) {
        dt_job_print (c, reply->job);
        r = !dt_certified_all (reply->job);
    }
    detent__reply__free_unpacked (reply, NULL);
    return r;
}
