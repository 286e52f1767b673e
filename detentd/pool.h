/* detentd/pool.h - threads that take work from a bounded queue.
 * Uses: base/, libzmq, detentd/store.h.  Used by: detentd.
 *
 * Three of them: `writer` (one thread, the only connection that writes), `crew`
 * (parsing and solving) and `tuner` (one thread: one tune at a time).  Work that
 * is finished goes back to the loop as a pointer over an inproc socket. */
#ifndef DT_DETENTD_POOL_H
#define DT_DETENTD_POOL_H

#include "detentd/store.h"

#define DT_POOL_FINISHED "inproc://finished" /* the loop binds a PULL there */
#define DT_POOL_MAX_THREADS 8
/* Work that waits, per pool.  A request holds at most one frame (64 MiB) and
 * usually a few KiB; beyond this clients are told that the daemon is busy. */
#define DT_POOL_MAX_QUEUE 64

struct dt_daemon;

/* Embedded in what the work is about.  `run` is called on a thread of the pool
 * with its connection, `done` later on the loop; if the pool stops first, `done`
 * alone is called. */
struct dt_work {
    void (*run) (struct dt_work *w, struct dt_store *s);
    void (*done) (struct dt_work *w, struct dt_daemon *d);
    struct dt_work *next;
    int waited, finished; /* dt_pool_transact's */
};

struct dt_pool;

/* `store` is opened once for each thread: for writing or reading. */
int dt_pool_new (void *zmq, const char *store, int write, size_t n_threads,
                 struct dt_pool **ret, struct dt_err *reterr);
/*   -EBUSY  the queue is full      -DT_ECANCELLED  the pool is stopping */
int dt_pool_post (struct dt_pool *p, struct dt_work *w, struct dt_err *reterr);
/* Take work that no thread has begun out of the queue: 1, or 0 if it is not there. */
int dt_pool_remove (struct dt_pool *p, struct dt_work *w);
/* Run `fn` in a transaction on the writer's thread and wait for it.  Not for the
 * loop.  -DT_ECANCELLED: the pool is stopping, nothing was written. */
int dt_pool_transact (struct dt_pool *writer, dt_store_f fn, void *ctx, struct dt_err *reterr);
/* Take no more work, and wait for the threads until `deadline` (of
 * dt_time_mono_ns; UINT64_MAX: none).  0, or -ETIMEDOUT: a thread is still at work. */
int dt_pool_stop (struct dt_pool *p, uint64_t deadline);
/* After a stop that succeeded: hand work that never ran to its `done`, release. */
struct dt_pool *dt_pool_free (struct dt_pool *p, struct dt_daemon *d);

#endif
