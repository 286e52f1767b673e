/* detentd/who.c - who computes here: a backend's identity. */
#include "detentd/who.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/time.h"
#include "detentd/options.h"
#include "detentd/worker.h"
#include "proto/wire.h"

/* What a plugin's file said when it was asked. */
struct entry {
    struct entry *next;
    char *plugin;
    uint32_t units;
    struct stat st;
    uint64_t asked_ns;
    Detent__WorkerReply *reply; /* NULL: it did not say */
    struct dt_err why;
};

struct dt_who {
    pthread_mutex_t lock; /* held while a worker is asked: one start, not one a thread */
    struct entry *head;
};

int dt_who_new (struct dt_who **ret, struct dt_err *reterr)
{
    struct dt_who *t = dt_calloc (1, sizeof *t);

    if (!t)
        return dt_err_nomem (reterr);
    pthread_mutex_init (&t->lock, NULL);
    *ret = t;
    return 0;
}

static void forget (struct entry *e)
{
    if (e->reply)
        detent__worker_reply__free_unpacked (e->reply, NULL);
    e->reply = NULL;
}

struct dt_who *dt_who_free (struct dt_who *t)
{
    struct entry *e;

    if (!t)
        return NULL;
    while ((e = t->head)) {
        t->head = e->next;
        forget (e);
        dt_free (e->plugin);
        dt_free (e);
    }
    pthread_mutex_destroy (&t->lock);
    dt_free (t);
    return NULL;
}

static int entry_of (struct dt_who *t, const char *plugin, uint32_t units, struct entry **ret,
                     struct dt_err *reterr)
{
    struct entry *e;

    for (e = t->head; e && (e->units != units || strcmp (e->plugin, plugin) != 0); e = e->next)
        ;
    if (!e) {
        if (!(e = dt_calloc (1, sizeof *e)) || !(e->plugin = dt_strdup (plugin))) {
            dt_free (e);
            return dt_err_nomem (reterr);
        }
        e->units = units;
        e->next = t->head;
        t->head = e;
    }
    *ret = e;
    return 0;
}

/* In a worker that ends with this call. */
static int ask (const struct dt_options *o, struct entry *e)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerIdentify m = DETENT__WORKER_IDENTIFY__INIT;
    struct dt_worker *w = NULL;
    int r;

    m.backend = e->plugin;
    m.units = e->units;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_IDENTIFY;
    rq.identify = &m;
    if ((r = dt_worker_new (o->profiler, NULL, 0, &w, &e->why)) == 0)
        r = dt_worker_call (w, &rq, e->plugin, &e->reply, &e->why);
    dt_worker_free (w);
    if (r == 0 && e->reply->body_case != DETENT__WORKER_REPLY__BODY_IDENTITY) {
        forget (e);
        r = dt_err_set (&e->why, -DT_EWORKER, "the worker did not say who computes");
    }
    return r;
}

static int is_current (const struct entry *e, const struct stat *st, uint64_t now_ns)
{
    return e->asked_ns && now_ns - e->asked_ns < DT_WHO_KEEP_NS && e->st.st_dev == st->st_dev
           && e->st.st_ino == st->st_ino && e->st.st_size == st->st_size
           && e->st.st_mtim.tv_sec == st->st_mtim.tv_sec
           && e->st.st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

/* Under the lock. */
static int refresh (struct entry *e, const struct dt_options *o, int fresh, struct dt_err *reterr)
{
    struct stat st = { 0 }; /* of no file */
    uint64_t now_ns = dt_time_mono_ns ();

    if (stat (e->plugin, &st) == 0 && !fresh && is_current (e, &st, now_ns))
        return 0;
    forget (e);
    e->asked_ns = 0;
    e->why.text[0] = 0;
    if (ask (o, e) == -ENOMEM)
        return dt_err_nomem (reterr);
    e->st = st;
    e->asked_ns = now_ns;
    return 0;
}

static Detent__WorkerIdentity *copy (const Detent__WorkerIdentity *who, struct dt_arena *a)
{
    Detent__WorkerIdentity *m = dt_arena_alloc (a, sizeof *m);

    if (!m)
        return NULL;
    *m = *who;
    m->name = dt_arena_strf (a, "%s", who->name);
    m->build = dt_arena_strf (a, "%s", who->build);
    m->libraries = dt_arena_strf (a, "%s", who->libraries);
    m->driver = dt_arena_strf (a, "%s", who->driver);
    m->device = dt_arena_strf (a, "%s", who->device);
    m->clock = dt_arena_strf (a, "%s", who->clock);
    m->caches = dt_arena_strf (a, "%s", who->caches);
    return m->name && m->build && m->libraries && m->driver && m->device && m->clock && m->caches
               ? m : NULL;
}

int dt_who_get (struct dt_who *t, const struct dt_options *o, const char *backend, uint32_t units,
                int fresh, struct dt_arena *a, const Detent__WorkerIdentity **ret,
                const char **ret_why, struct dt_err *reterr)
{
    const char *plugin = dt_arena_strf (a, "%s/detent-backend-%s.so", o->backend_dir, backend);
    const Detent__WorkerIdentity *who = NULL;
    const char *why = NULL;
    struct entry *e = NULL;
    int r;

    if (!plugin)
        return dt_err_nomem (reterr);
    if (!dt_wire_name_ok (backend)) {
        *ret = NULL;
        *ret_why = "the deployment's backend has no name that a plugin could have";
        return 0;
    }
    pthread_mutex_lock (&t->lock);
    if ((r = entry_of (t, plugin, units, &e, reterr)) == 0
        && (r = refresh (e, o, fresh, reterr)) == 0) {
        if (e->reply)
            who = copy (e->reply->identity, a);
        else
            why = dt_arena_strf (a, "%s", e->why.text);
        if (!who && !why)
            r = dt_err_nomem (reterr);
    }
    pthread_mutex_unlock (&t->lock);
    if (r < 0)
        return r;
    *ret = who;
    *ret_why = why;
    return 0;
}
