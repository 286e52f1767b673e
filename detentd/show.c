/* detentd/show.c - a tuple, for people.
 *
 * All but what was forced is read from the tuple's bytes (include/detent/tuple.h), which
 * are checked against their digest, not from the store's rows.  A tuple is content: that a
 * value was forced is what the tune that found it says. */
#include "detentd/show.h"

#include <errno.h>
#include <string.h>

#include "detent/tuple.h"
#include "proto/wire.h"

/* An int or a string as text: 0, -DT_ECORRUPT if it is neither, -ENOMEM. */
static int text_of (struct dt_ask *a, struct dt_canon_value v, char **ret)
{
    const uint8_t *p;
    size_t n;
    int64_t i;

    if (dt_canon_as_int (v, &i) == 0)
        *ret = dt_arena_strf (&a->arena, "%lld", (long long)i);
    else if (dt_canon_as_bytes (v, &p, &n) == 0)
        *ret = dt_arena_strn (&a->arena, (const char *)p, n);
    else
        return -DT_ECORRUPT;
    return *ret ? 0 : -ENOMEM;
}

/* Append {prefix + name, value}. */
static int push (struct dt_ask *a, const char *prefix, const char *name, size_t n_name,
                 struct dt_canon_value v, void ***items, size_t *n)
{
    Detent__NameValue *nv = dt_arena_alloc (&a->arena, sizeof *nv);
    int r;

    if (!nv)
        return -ENOMEM;
    detent__name_value__init (nv);
    if (!(nv->name = dt_arena_strf (&a->arena, "%s%.*s", prefix, (int)n_name, name)))
        return -ENOMEM;
    if ((r = text_of (a, v, &nv->value)) < 0)
        return r;
    return dt_ask_push (a, items, n, nv);
}

/* All entries of a map. */
static int push_map (struct dt_ask *a, const char *prefix, struct dt_canon_value map,
                     void ***items, size_t *n)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value v;
    const char *key;
    size_t len;
    int r;

    while (dt_canon_next (map, &it, &key, &len, &v))
        if ((r = push (a, prefix, key, len, v, items, n)) < 0)
            return r;
    return 0;
}

static int environment (struct dt_ask *a, struct dt_canon_value bits, Detent__ShowReply *reply)
{
    static const struct {
        const char *key, *prefix; /* prefix NULL: one value */
    } parts[] = { { "deployment", NULL }, { "model", NULL }, { "engine", "engine." },
                  { "backend", "backend." }, { "parallelism", "parallelism." },
                  { "sampler", NULL } };
    void **items = NULL;
    size_t n = 0;
    int r;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct dt_canon_value v = dt_canon_get (bits, parts[i].key);

        if (dt_canon_tag (v) == 0)
            continue; /* absent is allowed: a deployment without a sampler */
        r = parts[i].prefix ? push_map (a, parts[i].prefix, v, &items, &n)
                            : push (a, "", parts[i].key, strlen (parts[i].key), v, &items, &n);
        if (r < 0)
            return r;
    }
    reply->environment = (Detent__NameValue **)items;
    reply->n_environment = n;
    return 0;
}

static int digest_of (struct dt_ask *a, struct dt_canon_value v, ProtobufCBinaryData *ret)
{
    const uint8_t *p;
    size_t n;

    if (dt_canon_as_bytes (v, &p, &n) < 0 || n != DT_DIGEST_BYTES)
        return -DT_ECORRUPT;
    *ret = dt_ask_bytes (a, p, n);
    return ret->data ? 0 : -ENOMEM;
}

static int one_site (struct dt_ask *a, struct dt_canon_value site, struct dt_canon_value selector,
                     Detent__TupleSite *s)
{
    void **pins = NULL, **knobs = NULL, **facts = NULL;
    int r;

    detent__tuple_site__init (s);
    if ((r = text_of (a, dt_canon_get (site, "family"), &s->family)) < 0
        || (r = text_of (a, dt_canon_get (site, "site"), &s->site)) < 0
        || (r = push_map (a, "", dt_canon_get (site, "pins"), &pins, &s->n_pin)) < 0
        || (r = push_map (a, "", dt_canon_get (site, "knobs"), &knobs, &s->n_knob)) < 0
        || (r = push_map (a, "", dt_canon_get (site, "facts"), &facts, &s->n_fact)) < 0
        || (r = digest_of (a, dt_canon_get (site, "program"), &s->program)) < 0
        || (r = digest_of (a, dt_canon_get (selector, "pinned"), &s->pinned)) < 0
        || (r = digest_of (a, dt_canon_get (selector, "stock"), &s->stock)) < 0)
        return r;
    s->pin = (Detent__NameValue **)pins;
    s->knob = (Detent__NameValue **)knobs;
    s->fact = (Detent__NameValue **)facts;
    s->has_program = 1;
    return 0;
}

/* "bytes 0-65536: 8" */
static int cell_text (struct dt_canon_value cell, struct dt_buf *b)
{
    struct dt_canon_value range;
    struct dt_canon_iter i = { 0 };
    int64_t value, lo, hi;
    const uint8_t *name;
    size_t n;

    while (dt_canon_next (dt_canon_get (cell, "when"), &i, NULL, NULL, &range)) {
        if (dt_canon_as_bytes (dt_canon_get (range, "quantity"), &name, &n) < 0
            || dt_canon_as_int (dt_canon_get (range, "lo"), &lo) < 0
            || dt_canon_as_int (dt_canon_get (range, "hi"), &hi) < 0)
            return -DT_ECORRUPT;
        dt_buf_printf (b, "%.*s %lld-", (int)n, (const char *)name, (long long)lo);
        if (hi < INT64_MAX)
            dt_buf_printf (b, "%lld", (long long)hi);
        dt_buf_printf (b, ": ");
    }
    if (dt_canon_as_int (dt_canon_get (cell, "value"), &value) < 0)
        return -DT_ECORRUPT;
    dt_buf_printf (b, "%lld", (long long)value);
    return 0;
}

static int table_text (struct dt_ask *a, struct dt_canon_value table, char **ret)
{
    struct dt_canon_iter i = { 0 };
    struct dt_canon_value cell;
    struct dt_buf b = { 0 };
    const uint8_t *field;
    const char *between = "";
    size_t n;
    int r;

    if ((r = dt_canon_as_bytes (dt_canon_get (table, "field"), &field, &n)) < 0)
        return r;
    dt_buf_printf (&b, "%.*s: ", (int)n, (const char *)field);
    while (dt_canon_next (dt_canon_get (table, "cells"), &i, NULL, NULL, &cell)) {
        dt_buf_printf (&b, "%s", between);
        if ((r = cell_text (cell, &b)) < 0)
            goto fail;
        between = "; ";
    }
    *ret = b.failed ? NULL : dt_arena_strn (&a->arena, (const char *)b.data, b.len);
    r = *ret ? 0 : -ENOMEM;
fail:
    dt_buf_done (&b);
    return r;
}

static int is_text (struct dt_canon_value v, const char *text)
{
    const uint8_t *p;
    size_t n;

    return dt_canon_as_bytes (v, &p, &n) == 0 && n == strlen (text) && memcmp (p, text, n) == 0;
}

/* The site's of all free tables. */
static int tables (struct dt_ask *a, struct dt_canon_value list, Detent__TupleSite *s)
{
    struct dt_canon_iter i = { 0 };
    struct dt_canon_value table;
    void **items = NULL;
    char *text;
    int r;

    while (dt_canon_next (list, &i, NULL, NULL, &table))
        if (is_text (dt_canon_get (table, "family"), s->family)
            && is_text (dt_canon_get (table, "site"), s->site)
            && ((r = table_text (a, table, &text)) < 0
                || (r = dt_ask_push (a, &items, &s->n_table, text)) < 0))
            return r;
    s->table = (char **)items;
    return 0;
}

/* Both lists are ordered by (family, site). */
static int sites (struct dt_ask *a, struct dt_canon_value tuple, Detent__ShowReply *reply)
{
    struct dt_canon_value list = dt_canon_get (dt_canon_get (tuple, "bits"), "sites");
    struct dt_canon_value selectors = dt_canon_get (tuple, "selectors"), site, selector;
    struct dt_canon_iter i = { 0 }, k = { 0 };
    void **items = NULL;
    size_t n = 0;
    int r;

    while (dt_canon_next (list, &i, NULL, NULL, &site)) {
        Detent__TupleSite *s = dt_arena_alloc (&a->arena, sizeof *s);

        if (!s)
            return -ENOMEM;
        if (!dt_canon_next (selectors, &k, NULL, NULL, &selector))
            return -DT_ECORRUPT;
        if ((r = one_site (a, site, selector, s)) < 0
            || (r = tables (a, dt_canon_get (tuple, "tables"), s)) < 0
            || (r = dt_ask_push (a, &items, &n, s)) < 0)
            return r;
    }
    reply->site = (Detent__TupleSite **)items;
    reply->n_site = n;
    return 0;
}

static int add_forced (struct dt_ask *a, const Detent__SiteResult *from, Detent__TupleSite *to)
{
    void **items = NULL;
    int r;

    for (size_t i = 0; i < from->n_forced; i++) {
        char *text = dt_arena_strn (&a->arena, from->forced[i], strlen (from->forced[i]));

        if (!text)
            return -ENOMEM;
        if ((r = dt_ask_push (a, &items, &to->n_forced, text)) < 0)
            return r;
    }
    to->forced = (char **)items;
    return 0;
}

/* What the operator set in the tune that found the tuple. */
static int forced (struct dt_ask *a, struct dt_store *s, const struct dt_digest *digest,
                   const Detent__CommitInfo *commit, Detent__ShowReply *reply,
                   struct dt_err *reterr)
{
    Detent__JobReply *job = NULL;
    struct dt_buf result = { 0 };
    int r = dt_store_tuple_result (s, digest, commit ? commit->deployment : NULL,
                                   commit ? commit->workload : NULL,
                                   commit ? commit->time_ns : INT64_MAX, &result, reterr);

    if (r == 0 && result.len) { /* else no tune of this store found it */
        job = detent__job_reply__unpack (&dt_wire_allocator, result.len, result.data);
        if (!job) /* it does not say which */
            r = dt_err_set (reterr, -DT_ECORRUPT, "the result of the tune that found the tuple is "
                            "damaged, or too large for the memory");
    }
    for (size_t i = 0; r == 0 && job && i < job->n_site; i++)
        for (size_t k = 0; r == 0 && k < reply->n_site; k++)
            if (!strcmp (job->site[i]->family, reply->site[k]->family)
                && !strcmp (job->site[i]->site, reply->site[k]->site)
                && (r = add_forced (a, job->site[i], reply->site[k])) < 0)
                dt_err_nomem (reterr);
    if (job)
        detent__job_reply__free_unpacked (job, &dt_wire_allocator);
    dt_buf_done (&result);
    return r;
}

int dt_show_tuple (struct dt_ask *a, struct dt_store *s, const struct dt_digest *digest,
                   Detent__CommitInfo *commit, struct dt_err *reterr)
{
    Detent__ShowReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    struct dt_buf data = { 0 };
    struct dt_canon_value v, bits;
    struct dt_digest bits_digest;
    char hex[DT_DIGEST_HEX];
    int r;

    if (!reply)
        return dt_err_nomem (reterr);
    detent__show_reply__init (reply);
    if ((r = dt_store_blob_get (s, "tuple", digest, &data, reterr)) < 0
        || (r = dt_canon_check (data.data, data.len, &v, reterr)) < 0)
        goto fail;
    bits = dt_canon_get (v, "bits");
    bits_digest = dt_digest_of (DETENT_DIGEST_BITS, bits.at, bits.len);
    reply->commit = commit;
    reply->tuple = dt_ask_digest (a, digest);
    reply->bits = dt_ask_digest (a, &bits_digest);
    if ((r = environment (a, bits, reply)) < 0
        || (r = sites (a, v, reply)) < 0
        || (r = reply->tuple.data && reply->bits.data ? 0 : -ENOMEM) < 0) {
        r = r == -ENOMEM ? dt_err_nomem (reterr)
                         : dt_err_set (reterr, r, "tuple %s is damaged",
                                       dt_digest_hex (digest, hex));
        goto fail;
    }
    if ((r = forced (a, s, digest, commit, reply, reterr)) < 0)
        goto fail;
    a->reply.body_case = DETENT__REPLY__BODY_SHOW;
    a->reply.show = reply;
fail:
    dt_buf_done (&data);
    return r;
}
