/* proto/certificate.c - a certificate and its bytes. */
#include "proto/certificate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "detent/backend.h"
#include "detent/tuple.h"

#define MAX_ENTRIES 4096 /* of one list */

const char *const dt_certificate_kind[DT_CERTIFICATE_KINDS] = {
    [DT_BACKEND_RANDOM] = "random", [DT_BACKEND_CANCEL] = "cancelling",
    [DT_BACKEND_SPREAD] = "spread",
};
_Static_assert (DT_CERTIFICATE_KINDS == DT_BACKEND_DATA_KINDS, "a name for each kind");

void dt_certificate_done (struct dt_certificate *c)
{
    dt_arena_done (&c->arena);
}

static int by_name (const void *a, const void *b)
{
    return strcmp (*(const char *const *)a, *(const char *const *)b);
}
_Static_assert (offsetof (struct dt_named, name) == 0
                && offsetof (struct dt_named_list, name) == 0, "by_name takes both");

void dt_certificate_sort (struct dt_certificate *c)
{
    if (c->n_facts)
        qsort (c->fact, c->n_facts, sizeof *c->fact, by_name);
    if (c->n_binding)
        qsort (c->binding, c->n_binding, sizeof *c->binding, by_name);
    if (c->n_free)
        qsort (c->free, c->n_free, sizeof *c->free, by_name);
    if (c->n_thresholds)
        qsort (c->threshold, c->n_thresholds, sizeof *c->threshold, by_name);
}

/* --- writing ----------------------------------------------------------------------- */

static void put_backend (struct dt_canon *w, const struct dt_certificate_backend *b)
{
    dt_canon_key (w, "backend");
    dt_canon_map (w);
    dt_canon_kstr (w, "build", b->build);
    dt_canon_kstr (w, "device", b->device);
    dt_canon_kstr (w, "driver", b->driver);
    dt_canon_kstr (w, "libraries", b->libraries);
    dt_canon_kstr (w, "name", b->name);
    dt_canon_kint (w, "units", b->units);
    dt_canon_end (w);
}

static void put_named (struct dt_canon *w, const char *key, const struct dt_named *v, size_t n)
{
    dt_canon_key (w, key);
    dt_canon_map (w);
    for (size_t i = 0; i < n; i++)
        dt_canon_kint (w, v[i].name, v[i].value);
    dt_canon_end (w);
}

static void put_lists (struct dt_canon *w, const char *key, const struct dt_named_list *v,
                       size_t n)
{
    dt_canon_key (w, key);
    dt_canon_map (w);
    for (size_t i = 0; i < n; i++) {
        dt_canon_key (w, v[i].name);
        dt_canon_list (w);
        for (size_t k = 0; k < v[i].n; k++)
            dt_canon_int (w, v[i].value[k]);
        dt_canon_end (w);
    }
    dt_canon_end (w);
}

static void put_power (struct dt_canon *w, const struct dt_certificate *c)
{
    static const int by_name[] = { DT_BACKEND_CANCEL, DT_BACKEND_RANDOM, DT_BACKEND_SPREAD };

    dt_canon_key (w, "power");
    dt_canon_map (w);
    for (size_t i = 0; i < DT_ARRAY_SIZE (by_name); i++) {
        dt_canon_key (w, dt_certificate_kind[by_name[i]]);
        dt_canon_map (w);
        dt_canon_kint (w, "changed", (int64_t)c->power[by_name[i]].changed);
        dt_canon_kint (w, "exchange", (int64_t)c->power[by_name[i]].exchange);
        dt_canon_kint (w, "rows", (int64_t)c->power[by_name[i]].rows);
        dt_canon_end (w);
    }
    dt_canon_end (w);
}

static int take_bytes (struct dt_canon *w, struct dt_buf *ret, struct dt_err *reterr)
{
    int r = dt_canon_finish (w);

    if (r == 0) {
        dt_buf_put (ret, w->buf.data, w->buf.len);
        r = ret->failed ? -ENOMEM : 0;
    }
    dt_canon_done (w);
    return r == -ENOMEM ? dt_err_nomem (reterr)
           : r < 0      ? dt_err_set (reterr, r, "certificate: too large")
                        : 0;
}

int dt_certificate_key (const struct dt_certificate *c, struct dt_digest *ret,
                        struct dt_err *reterr)
{
    struct dt_buf bytes = { 0 };
    struct dt_canon w;
    int r;

    dt_canon_init (&w);
    dt_canon_map (&w);
    put_backend (&w, &c->backend);
    put_named (&w, "binding", c->binding, c->n_binding);
    put_named (&w, "facts", c->fact, c->n_facts);
    dt_canon_kstr (&w, "family", c->family);
    dt_canon_kstr (&w, "site", c->site);
    dt_canon_end (&w);
    if ((r = take_bytes (&w, &bytes, reterr)) == 0)
        *ret = dt_digest_of ("certified", bytes.data, bytes.len);
    dt_buf_done (&bytes);
    return r;
}

int dt_certificate_encode (const struct dt_certificate *c, struct dt_buf *ret,
                           struct dt_err *reterr)
{
    struct dt_canon w;

    dt_canon_init (&w);
    dt_canon_map (&w);
    put_backend (&w, &c->backend);
    dt_canon_kint (&w, "batches", (int64_t)c->batches);
    put_named (&w, "binding", c->binding, c->n_binding);
    put_named (&w, "facts", c->fact, c->n_facts);
    dt_canon_kstr (&w, "family", c->family);
    put_lists (&w, "free", c->free, c->n_free);
    dt_canon_kint (&w, "of", (int64_t)c->of);
    put_power (&w, c);
    dt_canon_kint (&w, "refused", (int64_t)c->refused);
    dt_canon_kint (&w, "repeats", (int64_t)c->repeats);
    dt_canon_kint (&w, "requests", (int64_t)c->requests);
    dt_canon_kint (&w, "rivals", (int64_t)c->rivals);
    dt_canon_kint (&w, "rows", (int64_t)c->rows);
    dt_canon_kint (&w, "runs", (int64_t)c->runs);
    dt_canon_kint (&w, "seed", (int64_t)c->seed);
    dt_canon_kstr (&w, "site", c->site);
    put_lists (&w, "thresholds", c->threshold, c->n_thresholds);
    dt_canon_kint (&w, "tried", (int64_t)c->tried);
    dt_canon_kint (&w, "version", DETENT_CERTIFICATE_VERSION);
    dt_canon_end (&w);
    return take_bytes (&w, ret, reterr);
}

/* --- reading ------------------------------------------------------------------------ */

/* Reads stick at the first failure, as dt_reader's do. */
struct reading {
    struct dt_certificate *c;
    int r;
};

static const char *text_of (struct reading *x, struct dt_canon_value map, const char *key)
{
    const uint8_t *p;
    size_t n;
    char *s;

    if (x->r < 0)
        return "";
    if (dt_canon_as_bytes (dt_canon_get (map, key), &p, &n) < 0 || memchr (p, 0, n)) {
        x->r = -DT_ECORRUPT;
        return "";
    }
    if (!(s = dt_arena_strn (&x->c->arena, (const char *)p, n)))
        x->r = -ENOMEM;
    return s ? s : "";
}

static uint64_t count_of (struct reading *x, struct dt_canon_value map, const char *key)
{
    int64_t v = 0;

    if (x->r == 0 && dt_canon_as_int (dt_canon_get (map, key), &v) < 0)
        x->r = -DT_ECORRUPT;
    return (uint64_t)v;
}

/* The next entry of a map, with its name in the arena. */
static int next_entry (struct reading *x, struct dt_canon_value map, struct dt_canon_iter *it,
                       const char **ret_name, struct dt_canon_value *ret)
{
    const char *key;
    size_t n;

    if (x->r < 0 || !dt_canon_next (map, it, &key, &n, ret))
        return 0;
    if (!(*ret_name = dt_arena_strn (&x->c->arena, key, n)))
        x->r = -ENOMEM;
    return x->r == 0;
}

/* Entries of a map, checked for their number. */
static size_t entries_of (struct reading *x, struct dt_canon_value v, char tag)
{
    if (x->r == 0 && (dt_canon_tag (v) != tag || dt_canon_count (v) > MAX_ENTRIES))
        x->r = -DT_ECORRUPT;
    return x->r == 0 ? dt_canon_count (v) : 0;
}

static struct dt_named *named_of (struct reading *x, struct dt_canon_value map, const char *key,
                                  size_t *ret_n)
{
    struct dt_canon_value v = dt_canon_get (map, key), one;
    struct dt_canon_iter it = { 0 };
    size_t n = entries_of (x, v, 'm'), i = 0;
    struct dt_named *list = dt_arena_array (&x->c->arena, n, sizeof *list);

    if (!list)
        x->r = -ENOMEM;
    while (next_entry (x, v, &it, &list[i].name, &one))
        if (dt_canon_as_int (one, &list[i++].value) < 0)
            x->r = -DT_ECORRUPT;
    *ret_n = i;
    return list;
}

static struct dt_named_list *lists_of (struct reading *x, struct dt_canon_value map,
                                       const char *key, size_t *ret_n)
{
    struct dt_canon_value v = dt_canon_get (map, key), one, item;
    struct dt_canon_iter it = { 0 };
    size_t n = entries_of (x, v, 'm'), i = 0;
    struct dt_named_list *list = dt_arena_array (&x->c->arena, n, sizeof *list);

    if (!list)
        x->r = -ENOMEM;
    for (; next_entry (x, v, &it, &list[i].name, &one); i++) {
        struct dt_canon_iter each = { 0 };
        size_t room = entries_of (x, one, 'l');

        if (!(list[i].value = dt_arena_array (&x->c->arena, room, sizeof *list[i].value)))
            x->r = -ENOMEM;
        while (x->r == 0 && dt_canon_next (one, &each, NULL, NULL, &item))
            if (dt_canon_as_int (item, &list[i].value[list[i].n++]) < 0)
                x->r = -DT_ECORRUPT;
    }
    *ret_n = i;
    return list;
}

static void read_backend (struct reading *x, struct dt_canon_value v)
{
    struct dt_certificate_backend *b = &x->c->backend;

    b->build = text_of (x, v, "build");
    b->device = text_of (x, v, "device");
    b->driver = text_of (x, v, "driver");
    b->libraries = text_of (x, v, "libraries");
    b->name = text_of (x, v, "name");
    b->units = (uint32_t)count_of (x, v, "units");
}

static void read_all (struct reading *x, struct dt_canon_value v)
{
    struct dt_certificate *c = x->c;

    read_backend (x, dt_canon_get (v, "backend"));
    c->family = text_of (x, v, "family");
    c->site = text_of (x, v, "site");
    c->binding = named_of (x, v, "binding", &c->n_binding);
    c->fact = named_of (x, v, "facts", &c->n_facts);
    c->free = lists_of (x, v, "free", &c->n_free);
    c->threshold = lists_of (x, v, "thresholds", &c->n_thresholds);
    c->batches = count_of (x, v, "batches");
    c->of = count_of (x, v, "of");
    c->refused = count_of (x, v, "refused");
    c->repeats = count_of (x, v, "repeats");
    c->requests = count_of (x, v, "requests");
    c->rivals = count_of (x, v, "rivals");
    c->rows = count_of (x, v, "rows");
    c->runs = count_of (x, v, "runs");
    c->seed = count_of (x, v, "seed");
    c->tried = count_of (x, v, "tried");
    for (size_t k = 0; k < DT_CERTIFICATE_KINDS; k++) {
        struct dt_canon_value p = dt_canon_get (dt_canon_get (v, "power"),
                                                dt_certificate_kind[k]);

        c->power[k].changed = count_of (x, p, "changed");
        c->power[k].exchange = count_of (x, p, "exchange");
        c->power[k].rows = count_of (x, p, "rows");
    }
}

int dt_certificate_decode (const void *data, size_t n, struct dt_certificate *ret,
                           struct dt_err *reterr)
{
    struct dt_certificate c = { .family = NULL };
    struct reading x = { .c = &c };
    struct dt_canon_value v;
    int64_t version;
    int r;

    if ((r = dt_canon_check (data, n, &v, reterr)) < 0)
        return dt_err_prefix (reterr, r, "certificate");
    if (dt_canon_as_int (dt_canon_get (v, "version"), &version) < 0)
        return dt_err_set (reterr, -DT_ECORRUPT, "certificate: no version");
    if (version != DETENT_CERTIFICATE_VERSION)
        return dt_err_set (reterr, -DT_EVERSION, "certificate: version %lld; this program reads "
                           "%d", (long long)version, DETENT_CERTIFICATE_VERSION);
    read_all (&x, v);
    if (x.r < 0) {
        dt_certificate_done (&c);
        return x.r == -ENOMEM ? dt_err_nomem (reterr)
                              : dt_err_set (reterr, x.r, "certificate: an entry is absent or of "
                                            "another kind");
    }
    *ret = c;
    return 0;
}
