#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CLOCK_MONOTONIC for condition variables */
#endif
#include "kernels/host/team.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/host/host.h"

/* Barriers' timeouts that a rank may take to end once another has. */
#define LATE 4

struct member {
    struct host_team *team;
    size_t rank;
    pthread_t thread;
};

struct host_team {
    pthread_mutex_t lock;
    pthread_cond_t wake, done, met;
    uint64_t round;           /* one more for each run */
    size_t ranks;             /* of this run */
    size_t ended;
    uint32_t is_back;         /* ranks that ended, as bits */
    uint32_t is_here;         /* ranks that wait at the barrier */
    uint32_t missed;          /* ranks that a barrier waited for in vain; 0: none */
    uint64_t meeting;         /* one more for each barrier that all came to */
    uint64_t timeout_ns;
    host_rank_f run;
    _Alignas (max_align_t) char arg[HOST_TEAM_ARG];
    int stop, lost, orphaned; /* orphaned: the last thread frees the team */
    size_t n_started, n_alive;
    struct member member[HOST_MAX_RANKS];
};

static void destroy (struct host_team *t)
{
    pthread_cond_destroy (&t->wake);
    pthread_cond_destroy (&t->done);
    pthread_cond_destroy (&t->met);
    pthread_mutex_destroy (&t->lock);
    free (t);
}

static void *member_main (void *arg)
{
    struct member *m = arg;
    struct host_team *t = m->team;
    uint64_t seen = 0;
    int is_last;

    /* The opener's rounding mode or flush-to-zero is inherited; bits must not be. */
    fesetenv (FE_DFL_ENV);
    pthread_mutex_lock (&t->lock);
    for (;;) {
        while (!t->stop && t->round == seen)
            pthread_cond_wait (&t->wake, &t->lock);
        if (t->stop)
            break;
        seen = t->round;
        if (m->rank >= t->ranks)
            continue;
        pthread_mutex_unlock (&t->lock);
        t->run (t->arg, t, m->rank);
        pthread_mutex_lock (&t->lock);
        t->is_back |= 1u << m->rank;
        if (++t->ended == t->ranks)
            pthread_cond_signal (&t->done);
    }
    is_last = --t->n_alive == 0 && t->orphaned;
    pthread_mutex_unlock (&t->lock);
    if (is_last)
        destroy (t);
    return NULL;
}

int host_team_new (struct host_team **ret)
{
    struct host_team *t = calloc (1, sizeof *t);
    pthread_condattr_t attr;
    int r = 0;

    if (!t)
        return -ENOMEM;
    pthread_mutex_init (&t->lock, NULL);
    pthread_condattr_init (&attr);
    pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
    pthread_cond_init (&t->wake, NULL);
    pthread_cond_init (&t->done, &attr);
    pthread_cond_init (&t->met, &attr);
    pthread_condattr_destroy (&attr);
    pthread_mutex_lock (&t->lock);
    for (; r == 0 && t->n_started < HOST_MAX_RANKS; t->n_started += r == 0) {
        struct member *m = &t->member[t->n_started];

        *m = (struct member){ .team = t, .rank = t->n_started };
        r = -pthread_create (&m->thread, NULL, member_main, m);
    }
    t->n_alive = t->n_started;
    pthread_mutex_unlock (&t->lock);
    if (r < 0) {
        host_team_free (t);
        return r;
    }
    *ret = t;
    return 0;
}

struct host_team *host_team_free (struct host_team *t)
{
    int lost, is_last;
    size_t i;

    if (!t)
        return NULL;
    pthread_mutex_lock (&t->lock);
    t->stop = 1;
    lost = t->lost;
    for (i = 0; lost && i < t->n_started; i++)
        pthread_detach (t->member[i].thread);
    t->orphaned = lost;
    is_last = lost && t->n_alive == 0;
    pthread_cond_broadcast (&t->wake);
    pthread_mutex_unlock (&t->lock);
    for (i = 0; !lost && i < t->n_started; i++)
        pthread_join (t->member[i].thread, NULL);
    if (!lost || is_last)
        destroy (t);
    return NULL;
}

static struct timespec deadline_of (uint64_t timeout_ns)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(timeout_ns / 1000000000u);
    t.tv_nsec += (long)(timeout_ns % 1000000000u);
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

int host_team_wait (struct host_team *t, size_t rank)
{
    struct timespec deadline = deadline_of (t->timeout_ns);
    uint32_t all = (1u << t->ranks) - 1;
    uint64_t meeting;
    int r = 0;

    pthread_mutex_lock (&t->lock);
    meeting = t->meeting;
    t->is_here |= 1u << rank;
    if (t->is_here == all && !t->missed) {
        t->is_here = 0;
        t->meeting++;
        pthread_cond_broadcast (&t->met);
    }
    while (t->meeting == meeting && !t->missed && r == 0)
        r = pthread_cond_timedwait (&t->met, &t->lock, &deadline);
    if (t->meeting == meeting && !t->missed) {
        t->missed = all & ~t->is_here;
        pthread_cond_broadcast (&t->met);
    }
    r = t->meeting == meeting ? -DT_BACKEND_EDEVICE : 0;
    pthread_mutex_unlock (&t->lock);
    return r;
}

/* "1, 3" */
static void list_ranks (uint32_t ranks, char *ret, size_t size)
{
    size_t n = 0, i;

    ret[0] = 0;
    for (i = 0; i < HOST_MAX_RANKS; i++)
        if (ranks >> i & 1)
            n += (size_t)snprintf (ret + n, size - n, "%s%zu", n ? ", " : "", i);
}

static int report (const struct host_team *t, uint32_t ranks, const char *what,
                   struct dt_backend_error *err)
{
    char list[4 * HOST_MAX_RANKS];

    list_ranks (ranks, list, sizeof list);
    return host_fail (err, -DT_BACKEND_EDEVICE, "rank %s of %zu %s within %.3f s", list, t->ranks,
                      what, (double)t->timeout_ns * 1e-9);
}

int host_team_run (struct host_team *t, size_t ranks, uint64_t timeout_ns, host_rank_f run,
                   const void *arg, size_t arg_bytes, struct dt_backend_error *err)
{
    struct timespec deadline;
    int r, is_late = 0;

    pthread_mutex_lock (&t->lock);
    if (t->lost) {
        pthread_mutex_unlock (&t->lock);
        return host_fail (err, -DT_BACKEND_EDEVICE, "a rank of this context was lost; open"
                          " another");
    }
    t->run = run;
    memcpy (t->arg, arg, arg_bytes);
    t->ranks = ranks;
    t->timeout_ns = timeout_ns;
    t->ended = 0;
    t->is_back = t->is_here = t->missed = 0;
    t->round++;
    pthread_cond_broadcast (&t->wake);
    deadline = deadline_of (timeout_ns);
    while (t->ended < ranks && !t->lost)
        if (pthread_cond_timedwait (&t->done, &t->lock, &deadline) != 0) {
            /* Time counts once some rank ended or gave up: before that all of them
             * may have much to do, and barriers tell which has not come. */
            t->lost = t->ended < ranks && is_late;
            is_late = t->missed != 0 || t->ended > 0;
            deadline = deadline_of (is_late ? LATE * timeout_ns : timeout_ns);
        }
    if (t->lost)
        r = report (t, ((1u << ranks) - 1) & ~t->is_back, "did not end", err);
    else if (t->missed)
        r = report (t, t->missed, "did not come to a barrier", err);
    else
        r = 0;
    pthread_mutex_unlock (&t->lock);
    return r;
}
