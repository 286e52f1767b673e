/* detentd/pool.c - threads that take work from a bounded queue. */
#include <config.h> /* pthread_clockjoin_np */

#include "detentd/pool.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <zmq.h>

#include "base/mem.h"

struct seat { /* one thread and what only it uses */
    struct dt_pool *pool;
    pthread_t thread;
    int started, joined;
    struct dt_store *store;
    void *push;
};
struct dt_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake, finished;
    struct dt_work *head, **tail;
    size_t n;
    int stop;
    struct seat seat[DT_POOL_MAX_THREADS];
    size_t n_seats;
};

static struct dt_work *take (struct dt_pool *p)
{
    struct dt_work *w = NULL;

    pthread_mutex_lock (&p->lock);
    while (!p->stop && !p->head)
        pthread_cond_wait (&p->wake, &p->lock);
    if (!p->stop) {
        w = p->head;
        if (!(p->head = w->next))
            p->tail = &p->head;
        p->n--;
    }
    pthread_mutex_unlock (&p->lock);
    return w;
}

static void *serve (void *arg)
{
    struct seat *seat = arg;
    struct dt_pool *p = seat->pool;
    struct dt_work *w;

    while ((w = take (p))) {
        w->run (w, seat->store);
        if (w->waited) {
            pthread_mutex_lock (&p->lock);
            w->finished = 1;
            pthread_cond_broadcast (&p->finished);
            pthread_mutex_unlock (&p->lock);
        } else
            while (zmq_send (seat->push, &w, sizeof w, 0) < 0 && errno == EINTR)
                ;
    }
    return NULL;
}

static int seat_init (struct dt_pool *p, void *zmq, const char *store, int write,
                      struct dt_err *reterr)
{
    struct seat *seat = &p->seat[p->n_seats++];
    int unlimited = 0, no_linger = 0; /* the queue's limit bounds what is on the way */
    int r;

    seat->pool = p;
    if ((r = dt_store_open (store, write, &seat->store, reterr)) < 0)
        return r;
    if (!(seat->push = zmq_socket (zmq, ZMQ_PUSH))
        || zmq_setsockopt (seat->push, ZMQ_SNDHWM, &unlimited, sizeof unlimited) < 0
        || zmq_setsockopt (seat->push, ZMQ_LINGER, &no_linger, sizeof no_linger) < 0
        || zmq_connect (seat->push, DT_POOL_FINISHED) < 0)
        return dt_err_set (reterr, -errno, "worker threads: %s", zmq_strerror (errno));
    if ((r = pthread_create (&seat->thread, NULL, serve, seat)) != 0)
        return dt_err_set (reterr, -r, "start a thread: %s", strerror (r));
    seat->started = 1;
    return 0;
}

int dt_pool_new (void *zmq, const char *store, int write, size_t n_threads,
                 struct dt_pool **ret, struct dt_err *reterr)
{
    struct dt_pool *p = dt_calloc (1, sizeof *p);
    int r = 0;

    if (!p)
        return dt_err_nomem (reterr);
    pthread_mutex_init (&p->lock, NULL);
    pthread_cond_init (&p->wake, NULL);
    pthread_cond_init (&p->finished, NULL);
    p->tail = &p->head;
    while (r == 0 && p->n_seats < n_threads)
        r = seat_init (p, zmq, store, write, reterr);
    if (r < 0) {
        dt_pool_stop (p, UINT64_MAX); /* idle threads end at once */
        dt_pool_free (p, NULL);
        return r;
    }
    *ret = p;
    return 0;
}

int dt_pool_post (struct dt_pool *p, struct dt_work *w, struct dt_err *reterr)
{
    int r;

    pthread_mutex_lock (&p->lock);
    if (p->stop)
        r = dt_err_set (reterr, -DT_ECANCELLED, "detentd is stopping");
    else if (p->n >= DT_POOL_MAX_QUEUE && !w->waited)
        r = dt_err_set (reterr, -EBUSY, "detentd is busy: %zu requests wait", p->n);
    else {
        w->next = NULL;
        *p->tail = w;
        p->tail = &w->next;
        p->n++;
        pthread_cond_signal (&p->wake);
        r = 0;
    }
    pthread_mutex_unlock (&p->lock);
    return r;
}

int dt_pool_remove (struct dt_pool *p, struct dt_work *w)
{
    struct dt_work **at;
    int found;

    pthread_mutex_lock (&p->lock);
    for (at = &p->head; *at && *at != w; at = &(*at)->next)
        ;
    if ((found = *at != NULL)) {
        *at = w->next;
        if (!*at)
            p->tail = at;
        p->n--;
    }
    pthread_mutex_unlock (&p->lock);
    return found;
}

struct transaction {
    struct dt_work work; /* first */
    dt_store_f fn;
    void *ctx;
    int r;
    struct dt_err *err;
};

static void transact (struct dt_work *w, struct dt_store *s)
{
    struct transaction *t = (struct transaction *)w;

    t->r = dt_store_transact (s, t->fn, t->ctx, t->err);
}

int dt_pool_transact (struct dt_pool *writer, dt_store_f fn, void *ctx, struct dt_err *reterr)
{
    struct transaction t = { .work = { .run = transact, .waited = 1 },
                             .fn = fn, .ctx = ctx, .err = reterr };
    int r;

    if ((r = dt_pool_post (writer, &t.work, reterr)) < 0)
        return r;
    pthread_mutex_lock (&writer->lock);
    while (!t.work.finished)
        pthread_cond_wait (&writer->finished, &writer->lock);
    pthread_mutex_unlock (&writer->lock);
    return t.r;
}

int dt_pool_stop (struct dt_pool *p, uint64_t deadline)
{
    struct timespec until = { .tv_sec = (time_t)(deadline / 1000000000u),
                              .tv_nsec = (long)(deadline % 1000000000u) };

    pthread_mutex_lock (&p->lock);
    p->stop = 1;
    pthread_cond_broadcast (&p->wake);
    pthread_mutex_unlock (&p->lock);
    for (size_t i = 0; i < p->n_seats; i++) {
        struct seat *seat = &p->seat[i];

        /* GCC 12's thread sanitizer does not see this join, and reports leaks and races. */
        if (seat->started && !seat->joined
            && pthread_clockjoin_np (seat->thread, NULL, CLOCK_MONOTONIC, &until) != 0)
            return -ETIMEDOUT;
        seat->joined = 1;
    }
    return 0;
}

struct dt_pool *dt_pool_free (struct dt_pool *p, struct dt_daemon *d)
{
    struct dt_work *w;

    if (!p)
        return NULL;
    while ((w = p->head)) {
        p->head = w->next;
        w->done (w, d);
    }
    for (size_t i = 0; i < p->n_seats; i++) {
        if (p->seat[i].push)
            zmq_close (p->seat[i].push);
        dt_store_close (p->seat[i].store);
    }
    pthread_mutex_destroy (&p->lock);
    pthread_cond_destroy (&p->wake);
    pthread_cond_destroy (&p->finished);
    dt_free (p);
    return NULL;
}
