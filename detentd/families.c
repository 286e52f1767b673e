/* detentd/families.c - what backends say of their families. */
#include "detentd/families.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/time.h"
#include "detentd/options.h"
#include "detentd/worker.h"
#include "proto/wire.h"

struct dt_schema_of {
    _Atomic unsigned refs;
    Detent__WorkerReply *reply;
    struct dt_arena arena;
    struct dt_family *family; /* borrow from the reply and the arena */
    size_t n_families;
};

/* A file as it was when it was described. */
struct entry {
    struct entry *next;
    char *backend;
    struct stat st;
    uint64_t tried_ns;
    struct dt_schema_of *schema; /* NULL: it could not be */
};

struct dt_families {
    pthread_mutex_t lock; /* held while a worker is asked: one start, not one a thread */
    struct entry *head;
};

int dt_families_new (struct dt_families **ret, struct dt_err *reterr)
{
    struct dt_families *t = dt_calloc (1, sizeof *t);

    if (!t)
        return dt_err_nomem (reterr);
    pthread_mutex_init (&t->lock, NULL);
    *ret = t;
    return 0;
}

struct dt_families *dt_families_free (struct dt_families *t)
{
    struct entry *e;

    if (!t)
        return NULL;
    while ((e = t->head)) {
        t->head = e->next;
        dt_schema_unref (e->schema);
        dt_free (e->backend);
        dt_free (e);
    }
    pthread_mutex_destroy (&t->lock);
    dt_free (t);
    return NULL;
}

struct dt_schema_of *dt_schema_unref (struct dt_schema_of *s)
{
    if (!s || atomic_fetch_sub (&s->refs, 1) > 1)
        return NULL;
    if (s->reply)
        detent__worker_reply__free_unpacked (s->reply, NULL);
    dt_arena_done (&s->arena);
    dt_free (s);
    return NULL;
}

const struct dt_family *dt_schema_family (const struct dt_schema_of *s, const char *name)
{
    for (size_t i = 0; s && i < s->n_families; i++)
        if (strcmp (s->family[i].name, name) == 0)
            return &s->family[i];
    return NULL;
}

static int take_family (struct dt_arena *a, const Detent__WorkerFamily *m, struct dt_family *ret)
{
    struct dt_family_fact *fact = dt_arena_array (a, m->n_fact, sizeof *fact);
    struct dt_family_param *param = dt_arena_array (a, m->n_param, sizeof *param);

    if (!fact || !param)
        return -ENOMEM;
    for (size_t i = 0; i < m->n_fact; i++)
        fact[i] = (struct dt_family_fact){ m->fact[i]->name, m->fact[i]->unit, m->fact[i]->lo,
                                           m->fact[i]->hi, m->fact[i]->may_lack };
    for (size_t i = 0; i < m->n_param; i++)
        param[i] = (struct dt_family_param){
            .name = m->param[i]->name, .unit = m->param[i]->unit,
            .binding = m->param[i]->binding, .per_request = m->param[i]->per_request,
            .value = m->param[i]->value, .n_values = m->param[i]->n_value };
    *ret = (struct dt_family){
        .name = m->name, .fact = fact, .n_facts = m->n_fact, .param = param,
        .n_params = m->n_param, .request_field = (const char *const *)m->request_field,
        .n_request_fields = m->n_request_field };
    return 0;
}

/* Take over a worker's answer. */
static int take (Detent__WorkerReply *reply, struct dt_schema_of **ret, struct dt_err *reterr)
{
    struct dt_schema_of *s = dt_calloc (1, sizeof *s);
    int r = 0;

    if (!s) {
        detent__worker_reply__free_unpacked (reply, NULL);
        return dt_err_nomem (reterr);
    }
    atomic_init (&s->refs, 1);
    s->reply = reply;
    if (reply->body_case != DETENT__WORKER_REPLY__BODY_SCHEMA) {
        dt_schema_unref (s);
        return dt_err_set (reterr, -DT_EWORKER, "the worker did not describe the backend");
    }
    s->n_families = reply->schema->n_family;
    s->family = dt_arena_array (&s->arena, s->n_families, sizeof *s->family);
    for (size_t i = 0; s->family && r == 0 && i < s->n_families; i++)
        r = take_family (&s->arena, reply->schema->family[i], &s->family[i]);
    if (!s->family || r < 0) {
        dt_schema_unref (s);
        return dt_err_nomem (reterr);
    }
    *ret = s;
    return 0;
}

static int describe (const struct dt_options *o, char *plugin, struct dt_schema_of **ret,
                     struct dt_err *reterr)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerDescribe m = DETENT__WORKER_DESCRIBE__INIT;
    Detent__WorkerReply *reply;
    struct dt_worker *w = NULL;
    int r;

    m.backend = plugin;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_DESCRIBE;
    rq.describe = &m;
    if ((r = dt_worker_new (o->profiler, NULL, 0, &w, reterr)) == 0
        && (r = dt_worker_call (w, &rq, plugin, &reply, reterr)) == 0)
        r = take (reply, ret, reterr);
    dt_worker_free (w);
    return r;
}

static struct entry *find (struct dt_families *t, const char *backend)
{
    struct entry *e;

    for (e = t->head; e && strcmp (e->backend, backend) != 0; e = e->next)
        ;
    return e;
}

/* The backend's entry, with a state that no file has if it is new. */
static int entry_of (struct dt_families *t, const char *backend, struct entry **ret,
                     struct dt_err *reterr)
{
    struct entry *e = find (t, backend);

    if (!e) {
        if (!(e = dt_calloc (1, sizeof *e)) || !(e->backend = dt_strdup (backend))) {
            dt_free (e);
            return dt_err_nomem (reterr);
        }
        e->next = t->head;
        t->head = e;
    }
    *ret = e;
    return 0;
}

static int is_same_file (const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size
           && a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Under the lock. */
static int refresh (struct entry *e, const struct dt_options *o, char *plugin,
                    const struct stat *st, struct dt_err *why, struct dt_err *reterr)
{
    uint64_t now = dt_time_mono_ns ();
    struct dt_err err = { "" };
    int r;

    if (is_same_file (&e->st, st) && (e->schema || now - e->tried_ns < DT_FAMILIES_RETRY_NS))
        return 0;
    e->schema = dt_schema_unref (e->schema);
    e->st = (struct stat){ 0 };
    if ((r = describe (o, plugin, &e->schema, &err)) == -ENOMEM)
        return dt_err_nomem (reterr);
    if (r < 0)
        dt_err_set (why, r, "backend %s is not known, so solves do not check against it: %s",
                    e->backend, err.text);
    e->st = *st;
    e->tried_ns = now;
    return 0;
}

int dt_families_get (struct dt_families *t, const struct dt_options *o, const char *backend,
                     struct dt_schema_of **ret, struct dt_err *why, struct dt_err *reterr)
{
    char *plugin = NULL;
    struct entry *e = NULL;
    struct stat st;
    int r;

    if (dt_wire_name_ok (backend)
        && !(plugin = dt_strf ("%s/detent-backend-%s.so", o->backend_dir, backend)))
        return dt_err_nomem (reterr);
    if (!plugin || stat (plugin, &st) < 0) {
        dt_free (plugin);
        *ret = NULL;
        return 0;
    }
    pthread_mutex_lock (&t->lock);
    if ((r = entry_of (t, backend, &e, reterr)) == 0
        && (r = refresh (e, o, plugin, &st, why, reterr)) == 0) {
        if (e->schema)
            atomic_fetch_add (&e->schema->refs, 1);
        *ret = e->schema;
    }
    pthread_mutex_unlock (&t->lock);
    dt_free (plugin);
    return r;
}
