/* host/pool.h - a fixed set of threads that share the tasks of one call.
 * Uses: pthread.  Used by: kernels/host/backend.c, kernels/<family>/host. */
#ifndef KERNELS_HOST_POOL_H
#define KERNELS_HOST_POOL_H

#include <stddef.h>
#include <stdint.h>

struct host_pool; /* owned; one call of host_pool_run at a time */

/* Run one task.  'thread' is below the pool's units and names scratch memory
 * that no other running task uses. */
typedef void (*host_task_f) (void *arg, size_t thread, size_t task);

/* Start 'units' - 1 threads; the caller of host_pool_run is the last one.
 *   -ENOMEM, -EAGAIN  as pthread_create */
int host_pool_new (uint32_t units, struct host_pool **ret);
struct host_pool *host_pool_free (struct host_pool *pool); /* NULL ok; returns NULL */
uint32_t host_pool_units (const struct host_pool *pool);

/* Run tasks 0 .. n - 1, in any order and on any thread, and return when all are
 * done.  The pool's threads have the default floating-point environment; the
 * caller sees to its own. */
void host_pool_run (struct host_pool *pool, host_task_f run, void *arg, size_t n);
#endif
