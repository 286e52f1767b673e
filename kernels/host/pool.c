#include "kernels/host/pool.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct worker {
    struct host_pool *pool;
    size_t index;
    pthread_t thread;
};

struct host_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake, idle;
    uint64_t round;      /* one more for each run; under 'lock' */
    size_t wanted;       /* threads that may still join this round */
    size_t busy;         /* threads that joined and are not done */
    int stop;
    host_task_f run;
    void *arg;
    size_t n_tasks;
    atomic_size_t next;  /* the first task that nobody has taken */
    uint32_t units;
    size_t n_started;
    struct worker *worker; /* [units - 1] */
};

static void take_tasks (struct host_pool *p, size_t thread)
{
    size_t task;

    while ((task = atomic_fetch_add_explicit (&p->next, 1, memory_order_relaxed)) < p->n_tasks)
        p->run (p->arg, thread, task);
}

static void *worker_main (void *arg)
{
    struct worker *w = arg;
    struct host_pool *p = w->pool;
    uint64_t seen = 0;

    /* The opener's rounding mode or flush-to-zero is inherited; bits must not be. */
    fesetenv (FE_DFL_ENV);
    pthread_mutex_lock (&p->lock);
    for (;;) {
        while (!p->stop && p->round == seen)
            pthread_cond_wait (&p->wake, &p->lock);
        if (p->stop)
            break;
        seen = p->round;
        if (w->index >= p->wanted)
            continue;
        p->busy++;
        pthread_mutex_unlock (&p->lock);
        take_tasks (p, w->index);
        pthread_mutex_lock (&p->lock);
        if (--p->busy == 0)
            pthread_cond_signal (&p->idle);
    }
    pthread_mutex_unlock (&p->lock);
    return NULL;
}

int host_pool_new (uint32_t units, struct host_pool **ret)
{
    struct host_pool *p;
    int r;

    if (!(p = calloc (1, sizeof *p)))
        return -ENOMEM;
    pthread_mutex_init (&p->lock, NULL);
    pthread_cond_init (&p->wake, NULL);
    pthread_cond_init (&p->idle, NULL);
    p->units = units;
    if (!(p->worker = calloc (units, sizeof *p->worker))) {
        r = -ENOMEM;
        goto fail;
    }
    for (; p->n_started + 1 < units; p->n_started++) {
        struct worker *w = &p->worker[p->n_started];

        w->pool = p;
        w->index = p->n_started + 1; /* the caller is 0 */
        if ((r = -pthread_create (&w->thread, NULL, worker_main, w)) < 0)
            goto fail;
    }
    *ret = p;
    return 0;
fail:
    host_pool_free (p);
    return r;
}

struct host_pool *host_pool_free (struct host_pool *pool)
{
    size_t i;

    if (!pool)
        return NULL;
    pthread_mutex_lock (&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast (&pool->wake);
    pthread_mutex_unlock (&pool->lock);
    for (i = 0; i < pool->n_started; i++)
        pthread_join (pool->worker[i].thread, NULL);
    pthread_cond_destroy (&pool->wake);
    pthread_cond_destroy (&pool->idle);
    pthread_mutex_destroy (&pool->lock);
    free (pool->worker);
    free (pool);
    return NULL;
}

uint32_t host_pool_units (const struct host_pool *pool)
{
    return pool->units;
}

void host_pool_run (struct host_pool *pool, host_task_f run, void *arg, size_t n)
{
    size_t wanted = n < pool->units ? n : pool->units;

    if (n == 0)
        return;
    pthread_mutex_lock (&pool->lock);
    pool->run = run;
    pool->arg = arg;
    pool->n_tasks = n;
    pool->wanted = wanted;
    atomic_store_explicit (&pool->next, 0, memory_order_relaxed);
    if (wanted > 1) {
        pool->round++;
        pthread_cond_broadcast (&pool->wake);
    }
    pthread_mutex_unlock (&pool->lock);
    take_tasks (pool, 0);
    pthread_mutex_lock (&pool->lock);
    pool->wanted = 0; /* every task is taken: who wakes now has nothing to do */
    while (pool->busy > 0)
        pthread_cond_wait (&pool->idle, &pool->lock);
    pthread_mutex_unlock (&pool->lock);
}
