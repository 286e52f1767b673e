/* detentd/daemon.h - what all of the daemon shares.
 * Uses: detentd/.  Used by: detentd's files. */
#ifndef DT_DETENTD_DAEMON_H
#define DT_DETENTD_DAEMON_H

#include <stdatomic.h>

#include "base/log.h"
#include "detentd/families.h"
#include "detentd/holds.h"
#include "detentd/jobs.h"
#include "detentd/key.h"
#include "detentd/options.h"
#include "detentd/pool.h"
#include "detentd/store.h"
#include "detentd/who.h"

/* Belongs to the loop's thread, but for what says otherwise. */
struct dt_daemon {
    const struct dt_options *options; /* immutable: any thread */
    char *store_path, *events_endpoint;
    void *zmq, *router, *events, *finished; /* ROUTER, PUB, PULL from the pools */
    int signal_fd, lock_fd;
    struct dt_store *reader;
    struct dt_pool *writer, *crew, *tuner;  /* any thread */
    struct dt_families *families;           /* any thread */
    struct dt_who *who;                     /* any thread */
    struct dt_holds *holds;                 /* any thread */
    struct dt_key key;                      /* immutable: any thread */
    struct dt_jobs jobs;
    uint64_t started_ns; /* CLOCK_MONOTONIC */
    _Atomic uint64_t cache_hits, cache_misses; /* any thread */
    int stopping;
};

/* Take the state directory, migrate the store, bind, start threads.  On failure
 * nothing is left behind. */
int dt_daemon_open (const struct dt_options *options, struct dt_daemon **ret,
                    struct dt_err *reterr);
/* Serve until a signal; 0, or a code if the loop itself failed. */
int dt_daemon_run (struct dt_daemon *d, struct dt_err *reterr);
/* Cancel jobs, end threads, close.  If a solve does not end in time, the process
 * exits here, as if it were killed: nothing acknowledged is lost. */
struct dt_daemon *dt_daemon_close (struct dt_daemon *d);

#endif
