/* detentd/req_status.c - status. */
#include <config.h>

#include <unistd.h>

#include "base/time.h"
#include "detentd/dispatch.h"

int dt_req_status (struct dt_ask *a, struct dt_err *reterr)
{
    Detent__StatusReply *s = dt_arena_alloc (&a->arena, sizeof *s);
    struct dt_daemon *d = a->d;
    struct dt_store_counts counts;
    int r;

    if (!s)
        return dt_err_nomem (reterr);
    if ((r = dt_store_counts (d->reader, &counts, reterr)) < 0)
        return r;
    detent__status_reply__init (s);
    s->version = (char *)PACKAGE_VERSION;
    s->pid = (uint64_t)getpid ();
    s->uptime_s = (dt_time_mono_ns () - d->started_ns) / 1000000000;
    s->traces = counts.traces;
    s->solutions = counts.solutions;
    s->tuples = counts.tuples;
    s->commits = counts.commits;
    s->jobs_running = d->jobs.n;
    s->cache_hits = atomic_load (&d->cache_hits);
    s->cache_misses = atomic_load (&d->cache_misses);
    s->store_bytes = counts.bytes;
    s->signer.data = d->key.public_key;
    s->signer.len = sizeof d->key.public_key;
    s->store = d->store_path;
    if ((r = dt_hold_list (a, NULL, &s->hold, &s->n_hold, reterr)) < 0)
        return r;
    a->reply.body_case = DETENT__REPLY__BODY_STATUS;
    a->reply.status = s;
    return 0;
}
