/* detentd/holds.h - devices that answer no more, and whether they do again.
 * Uses: detentd/store.h, detentd/pool.h.  Used by: measure.c, jobs.c, req_hold.c.
 *
 * A device is named by its backend and ordinal, "cuda:0".  Jobs for one that is held
 * wait.  It is tried again by a worker that lives for that alone, on the tuner's thread,
 * so that no measurement is disturbed, with the device's lease (lease.h) and only if no
 * other process works on it, unless a job that waits for it takes that: after a second,
 * then twice as long each time, also when a device answers a trial and is lost again before
 * a job is done on it.  One that cannot be tried at all is held no more. */
#ifndef DT_DETENTD_HOLDS_H
#define DT_DETENTD_HOLDS_H

#include "detentd/pool.h"

#define DT_HOLD_DEVICE 80 /* bytes of its name */
#define DT_HOLD_FIRST_NS 1000000000ull
#define DT_HOLD_MOST_NS 60000000000ull

struct dt_daemon;
struct dt_holds;

int dt_holds_new (struct dt_holds **ret, struct dt_err *reterr);
struct dt_holds *dt_holds_free (struct dt_holds *h); /* NULL ok; returns NULL */
/* Those of the store, at start. */
int dt_holds_load (struct dt_holds *h, struct dt_store *s, struct dt_err *reterr);

/* Any thread. */
int dt_holds_any (struct dt_holds *h);
/* In what follows, `devices` of the backend's, from the ordinal `first` on. */
/* 0, or -EAGAIN: one is held; the text says which and why. */
int dt_holds_check (struct dt_holds *h, const char *backend, uint32_t first, uint32_t devices,
                    struct dt_err *reterr);
/* What is known of each; strings are borrowed for the call, which must not come back here.
 * next_ns: of CLOCK_MONOTONIC, 0 while it is tried; tried: what the last trial said, "" if
 * there was none. */
struct dt_hold {
    const char *device, *why, *tried;
    int64_t since_ns;
    uint64_t next_ns;
};
int dt_holds_walk (struct dt_holds *h, int (*fn) (void *ctx, const struct dt_hold *one), void *ctx);
/* Held no more, in the table alone; how often it was tried is kept. */
void dt_holds_release (struct dt_holds *h, const char *device);
/* A job is done on them: they are as good as any. */
void dt_holds_forget (struct dt_holds *h, const char *backend, uint32_t first, uint32_t devices);

/* On the tuner's thread: hold them, in the store too.  A store that does not take it costs
 * only that a restart does not know. */
void dt_holds_put (struct dt_daemon *d, const char *backend, uint32_t first, uint32_t devices,
                   const char *why);

/* On the loop: try those that are due. */
void dt_holds_tick (struct dt_daemon *d);

#endif
