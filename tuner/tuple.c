/* tuner/tuple.c - the commitment tuple as bytes. */
#include "tuner/tuple.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/canon.h"
#include "base/mem.h"
#include "detent/tuple.h"

/* A map's entry: an int, text, or a float, which is written as its shortest text. */
struct entry {
    const char *name, *text; /* text NULL: value */
    int64_t value;
    int is_float; /* value is its bits */
};

static int by_name (const void *a, const void *b)
{
    return strcmp (((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void put_entry (struct dt_canon *c, const struct entry *e)
{
    char number[DT_FLOAT_TEXT];

    if (e->is_float) {
        dt_op_float_text (e->value, number);
        dt_canon_kstr (c, e->name, number);
    } else if (e->text) {
        dt_canon_kstr (c, e->name, e->text);
    } else {
        dt_canon_kint (c, e->name, e->value);
    }
}

/* Sort the entries and write them as a map. */
static int put_map (struct dt_canon *c, const char *key, struct entry *e, size_t n,
                    struct dt_err *reterr)
{
    qsort (e, n, sizeof *e, by_name);
    for (size_t i = 1; i < n; i++)
        if (strcmp (e[i - 1].name, e[i].name) == 0)
            return dt_err_set (reterr, -DT_EINPUT, "tuple: %s has '%s' twice", key, e[i].name);
    dt_canon_key (c, key);
    dt_canon_map (c);
    for (size_t i = 0; i < n; i++)
        put_entry (c, &e[i]);
    dt_canon_end (c);
    return 0;
}

/* Deployments state fractions as text; their bits would read as an int here. */
static int refuse_float (const struct dt_fact *f, struct dt_err *reterr)
{
    return dt_err_set (reterr, -DT_EINPUT, "tuple: fact %s is a float: state it as text", f->name);
}

static int put_facts (struct dt_canon *c, const char *key, const struct dt_fact *fact, size_t n,
                      struct dt_err *reterr)
{
    struct entry *e = dt_calloc (n, sizeof *e);
    int r;

    if (!e)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++) {
        if (fact[i].kind == DT_FACT_FLOAT) {
            dt_free (e);
            return refuse_float (&fact[i], reterr);
        }
        e[i] = (struct entry){ fact[i].name, fact[i].kind == DT_FACT_STR ? fact[i].s : NULL,
                               fact[i].i, 0 };
    }
    r = put_map (c, key, e, n, reterr);
    dt_free (e);
    return r;
}

/* A pin's or knob's value: enum members and floats as their text. */
static int value_entry (const struct dt_solution *s, const char *name, uint8_t type, int64_t value,
                        struct entry *ret, struct dt_err *reterr)
{
    *ret = (struct entry){ name, NULL, value, type == DT_TYPE_FLOAT };
    if (type != DT_TYPE_ENUM)
        return 0;
    if (value < 0 || value >= s->residual->n_enums)
        return dt_err_set (reterr, -DT_EINPUT, "tuple: '%s' has no enum member %lld", name,
                           (long long)value);
    ret->text = s->residual->enum_text[value];
    return 0;
}

static int put_assignment (struct dt_canon *c, const struct dt_tuple_site *site, int pins,
                           struct dt_err *reterr)
{
    const struct dt_solution *s = site->solution;
    int64_t *pin = dt_calloc (s->n_pins, sizeof *pin), *knob = dt_calloc (s->n_knobs, sizeof *knob);
    size_t n = pins ? s->n_pins : s->n_knobs;
    struct entry *e = dt_calloc (n, sizeof *e);
    int r = 0;

    if (!pin || !knob || !e) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    dt_solution_assignment (s, site->assignment, pin, knob);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = pins ? value_entry (s, s->pin[i].name, s->pin[i].type, pin[i], &e[i], reterr)
                 : value_entry (s, s->knob[i].name, s->knob[i].type, knob[i], &e[i], reterr);
    if (r == 0)
        r = put_map (c, pins ? "pins" : "knobs", e, n, reterr);
fail:
    dt_free (pin);
    dt_free (knob);
    dt_free (e);
    return r;
}

static const struct dt_site *find_site (const struct dt_deployment *d, const struct dt_solution *s)
{
    for (size_t i = 0; i < d->n_sites; i++)
        if (strcmp (d->site[i].family, s->family) == 0 && strcmp (d->site[i].site, s->site) == 0)
            return &d->site[i];
    return NULL;
}

static int put_site (struct dt_canon *c, const struct dt_deployment *d,
                     const struct dt_tuple_site *site, struct dt_err *reterr)
{
    const struct dt_solution *s = site->solution;
    const struct dt_site *of = find_site (d, s);
    int r;

    if (!of)
        return dt_err_set (reterr, -DT_EINPUT, "tuple: the deployment has no site '%s' of %s",
                           s->site, s->family);
    if (site->assignment >= s->n_assignments)
        return dt_err_set (reterr, -DT_EINPUT, "tuple: site '%s' has no assignment %zu", s->site,
                           site->assignment);
    dt_canon_map (c);
    if ((r = put_facts (c, "facts", of->fact, of->n_facts, reterr)) < 0)
        return r;
    dt_canon_kstr (c, "family", s->family);
    if ((r = put_assignment (c, site, 0, reterr)) < 0 ||
        (r = put_assignment (c, site, 1, reterr)) < 0)
        return r;
    dt_canon_kbytes (c, "program", site->program.bytes, DT_DIGEST_BYTES);
    dt_canon_kstr (c, "site", s->site);
    dt_canon_end (c);
    return 0;
}

static void put_backend (struct dt_canon *c, const struct dt_tuple_backend *b)
{
    dt_canon_key (c, "backend");
    dt_canon_map (c);
    dt_canon_kstr (c, "build", b->build);
    dt_canon_kstr (c, "device", b->device);
    dt_canon_kstr (c, "driver", b->driver);
    dt_canon_kstr (c, "libraries", b->libraries);
    dt_canon_kstr (c, "name", b->name);
    dt_canon_kint (c, "units", b->units);
    dt_canon_end (c);
}

/* All that may change output bits. */
static int put_bits (struct dt_canon *c, const struct dt_deployment *d,
                     const struct dt_tuple_backend *backend,
                     const struct dt_tuple_site *const *site, size_t n, struct dt_err *reterr)
{
    int r;

    dt_canon_map (c);
    put_backend (c, backend);
    dt_canon_kstr (c, "deployment", d->name);
    dt_canon_key (c, "engine");
    dt_canon_map (c);
    dt_canon_kstr (c, "build", d->engine_build);
    dt_canon_kstr (c, "name", d->engine);
    dt_canon_end (c);
    dt_canon_kstr (c, "model", d->model);
    if ((r = put_facts (c, "parallelism", d->parallelism, d->n_parallelism, reterr)) < 0)
        return r;
    dt_canon_key (c, "sites");
    dt_canon_list (c);
    for (size_t i = 0; i < n; i++)
        if ((r = put_site (c, d, site[i], reterr)) < 0)
            return r;
    dt_canon_end (c);
    dt_canon_end (c);
    return 0;
}

static void put_selectors (struct dt_canon *c, const struct dt_tuple_site *const *site, size_t n)
{
    dt_canon_key (c, "selectors");
    dt_canon_list (c);
    for (size_t i = 0; i < n; i++) {
        dt_canon_map (c);
        dt_canon_kstr (c, "family", site[i]->solution->family);
        dt_canon_kbytes (c, "pinned", site[i]->pinned.bytes, DT_DIGEST_BYTES);
        dt_canon_kstr (c, "site", site[i]->solution->site);
        dt_canon_kbytes (c, "stock", site[i]->stock.bytes, DT_DIGEST_BYTES);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_cells (struct dt_canon *c, const struct dt_vm_table *t)
{
    dt_canon_key (c, "cells");
    dt_canon_list (c);
    for (size_t k = 0; k < t->n; k++) {
        dt_canon_map (c);
        dt_canon_kint (c, "value", t->cell[k].value);
        dt_canon_key (c, "when");
        dt_canon_list (c);
        for (size_t i = 0; i < t->cell[k].n; i++) {
            dt_canon_map (c);
            dt_canon_kint (c, "hi", t->cell[k].when[i].hi);
            dt_canon_kint (c, "lo", t->cell[k].when[i].lo);
            dt_canon_kstr (c, "quantity", t->cell[k].when[i].quantity);
            dt_canon_end (c);
        }
        dt_canon_end (c);
        dt_canon_end (c);
    }
    dt_canon_end (c);
}

static void put_tables (struct dt_canon *c, const struct dt_tuple_site *const *site, size_t n)
{
    dt_canon_key (c, "tables");
    dt_canon_list (c);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < site[i]->n_tables; k++) {
            dt_canon_map (c);
            put_cells (c, &site[i]->table[k]);
            dt_canon_kstr (c, "family", site[i]->solution->family);
            dt_canon_kstr (c, "field", site[i]->table[k].field);
            dt_canon_kstr (c, "site", site[i]->solution->site);
            dt_canon_end (c);
        }
    dt_canon_end (c);
}

static int finish (struct dt_canon *c, struct dt_err *reterr)
{
    int r = dt_canon_finish (c);

    if (r == -ENOMEM)
        return dt_err_nomem (reterr);
    return r < 0 ? dt_err_set (reterr, r, "tuple: too long to encode") : 0;
}

static int by_site (const void *a, const void *b)
{
    const struct dt_tuple_site *const *x = a, *const *y = b;
    int c = strcmp ((*x)->solution->family, (*y)->solution->family);

    return c ? c : strcmp ((*x)->solution->site, (*y)->solution->site);
}

/* The sites in order, each once. */
static int sort_sites (const struct dt_tuple_site *site, size_t n,
                       const struct dt_tuple_site ***ret, struct dt_err *reterr)
{
    const struct dt_tuple_site **sorted = dt_calloc (n, sizeof (void *));

    if (!sorted)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &site[i];
    qsort (sorted, n, sizeof (void *), by_site);
    for (size_t i = 1; i < n; i++)
        if (by_site (&sorted[i - 1], &sorted[i]) == 0) {
            dt_err_set (reterr, -DT_EINPUT, "tuple: site '%s' of %s is there twice",
                        sorted[i]->solution->site, sorted[i]->solution->family);
            dt_free (sorted);
            return -DT_EINPUT;
        }
    *ret = sorted;
    return 0;
}

int dt_tuple_encode (const struct dt_deployment *d, const struct dt_tuple_backend *backend,
                     const struct dt_tuple_site *site, size_t n_sites, struct dt_buf *ret,
                     struct dt_digest *ret_bits, struct dt_digest *ret_full,
                     struct dt_err *reterr)
{
    const struct dt_tuple_site **sorted = NULL;
    struct dt_canon bits, all;
    int r;

    dt_canon_init (&bits);
    dt_canon_init (&all);
    if ((r = sort_sites (site, n_sites, &sorted, reterr)) < 0 ||
        (r = put_bits (&bits, d, backend, sorted, n_sites, reterr)) < 0 ||
        (r = finish (&bits, reterr)) < 0)
        goto fail;
    dt_canon_map (&all);
    dt_canon_key (&all, "bits");
    dt_canon_raw (&all, bits.buf.data, bits.buf.len);
    put_selectors (&all, sorted, n_sites);
    put_tables (&all, sorted, n_sites);
    dt_canon_kint (&all, "version", DETENT_TUPLE_VERSION);
    dt_canon_end (&all);
    if ((r = finish (&all, reterr)) < 0)
        goto fail;
    dt_buf_put (ret, all.buf.data, all.buf.len);
    if (ret->failed) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    *ret_bits = dt_digest_of (DETENT_DIGEST_BITS, bits.buf.data, bits.buf.len);
    *ret_full = dt_digest_of (DETENT_DIGEST_TUPLE, all.buf.data, all.buf.len);
fail:
    dt_free (sorted);
    dt_canon_done (&bits);
    dt_canon_done (&all);
    return r;
}

/* --- the way back ----------------------------------------------------------------- */

static int is_text (struct dt_canon_value v, const char *text)
{
    const uint8_t *p;
    size_t n;

    return dt_canon_as_bytes (v, &p, &n) == 0 && n == strlen (text) && memcmp (p, text, n) == 0;
}

/* Does the entry of that name have this value?  As put_entry wrote it. */
static int is_value (const struct dt_solution *s, struct dt_canon_value map, const char *name,
                     uint8_t type, int64_t value)
{
    struct dt_canon_value v = dt_canon_get (map, name);
    char number[DT_FLOAT_TEXT];
    int64_t i;

    if (type == DT_TYPE_ENUM)
        return value >= 0 && value < s->residual->n_enums
               && is_text (v, s->residual->enum_text[value]);
    if (type == DT_TYPE_FLOAT) {
        dt_op_float_text (value, number);
        return is_text (v, number);
    }
    return dt_canon_as_int (v, &i) == 0 && i == value;
}

static int is_assignment (const struct dt_solution *s, struct dt_canon_value pins,
                          struct dt_canon_value knobs, const int64_t *pin, const int64_t *knob)
{
    for (size_t k = 0; k < s->n_pins; k++)
        if (!is_value (s, pins, s->pin[k].name, s->pin[k].type, pin[k]))
            return 0;
    for (size_t k = 0; k < s->n_knobs; k++)
        if (!is_value (s, knobs, s->knob[k].name, s->knob[k].type, knob[k]))
            return 0;
    return 1;
}

static int find_assignment (const struct dt_solution *s, struct dt_canon_value site, size_t *ret,
                            struct dt_err *reterr)
{
    struct dt_canon_value pins = dt_canon_get (site, "pins"), knobs = dt_canon_get (site, "knobs");
    int64_t *value = dt_calloc (s->n_pins + s->n_knobs, sizeof *value);
    int r = -DT_ENOTFOUND;

    if (!value)
        return dt_err_nomem (reterr);
    if (dt_canon_count (pins) == s->n_pins && dt_canon_count (knobs) == s->n_knobs)
        for (size_t i = 0; r < 0 && i < s->n_assignments; i++) {
            if (s->verdict[i] == DT_ILLEGAL)
                continue;
            dt_solution_assignment (s, i, value, value + s->n_pins);
            if (is_assignment (s, pins, knobs, value, value + s->n_pins)) {
                *ret = i;
                r = 0;
            }
        }
    dt_free (value);
    return r == 0 ? 0 : dt_err_set (reterr, r, "%s/%s: the tuple's assignment is not among the "
                                    "legal ones", s->family, s->site);
}

int dt_tuple_assignment (const struct dt_buf *tuple, const struct dt_solution *s, size_t *ret,
                         struct dt_err *reterr)
{
    struct dt_canon_value v, site, sites;
    struct dt_canon_iter it = { 0 };
    const char *key;
    size_t len;
    int r;

    if ((r = dt_canon_check (tuple->data, tuple->len, &v, reterr)) < 0)
        return r;
    sites = dt_canon_get (dt_canon_get (v, "bits"), "sites");
    while (dt_canon_next (sites, &it, &key, &len, &site))
        if (is_text (dt_canon_get (site, "family"), s->family)
            && is_text (dt_canon_get (site, "site"), s->site))
            return find_assignment (s, site, ret, reterr);
    return dt_err_set (reterr, -DT_ENOTFOUND, "the tuple has no site %s/%s", s->family, s->site);
}
