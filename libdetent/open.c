/* libdetent/open.c - fetch or find a bundle, and say what it is. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "libdetent/handle.h"
#include "proto/wire.h"

static int check_options (const struct detent_options *o, struct dt_err *reterr)
{
    if (!dt_wire_name_ok (o->deployment) || !dt_wire_name_ok (o->workload))
        return dt_err_set (reterr, -DT_EINPUT, "%s '%s' is not a name ([a-z0-9._-])",
                           dt_wire_name_ok (o->deployment) ? "workload" : "deployment",
                           dt_wire_name_ok (o->deployment) ? (o->workload ? o->workload : "")
                           : o->deployment                 ? o->deployment
                                                           : "");
    if (o->without_tuple != DETENT_REFUSE && o->without_tuple != DETENT_STOCK)
        return dt_err_set (reterr, -DT_EINPUT,
                           "without_tuple must be DETENT_REFUSE or DETENT_STOCK");
    if (o->variant != DETENT_PINNED && o->variant != DETENT_UNPINNED)
        return dt_err_set (reterr, -DT_EINPUT,
                           "variant must be DETENT_PINNED or DETENT_UNPINNED");
    if (o->timeout_ms < 0)
        return dt_err_set (reterr, -DT_EINPUT, "timeout_ms is %d; 0 is the default",
                           o->timeout_ms);
    return 0;
}

static void run_stock (struct detent *d, const char *why)
{
    d->stock = 1;
    dt_err_set (&d->why, 0, "running the stock selection: %s", why);
}

/* A verified bundle that is not the required one. */
static int check_required (struct detent *d, const struct detent_options *o,
                           struct dt_err *reterr)
{
    char have[DT_DIGEST_HEX], want[DT_DIGEST_HEX];
    struct dt_digest w;

    if (!o->required_bits)
        return 0;
    memcpy (w.bytes, o->required_bits, DT_DIGEST_BYTES);
    if (dt_digest_equal (&w, &d->bits))
        return 0;
    return dt_err_set (reterr, -DT_EREFUSED,
                       "the tuple of %s/%s has bits digest %.12s, required is %.12s: roll back, or "
                       "configure the new one",
                       d->deployment, d->workload, dt_digest_hex (&d->bits, have),
                       dt_digest_hex (&w, want));
}

static int verified (const struct detent_options *o, Detent__FetchReply *bundle,
                     struct detent **ret, struct dt_err *reterr)
{
    int r = dt_handle_verify (o, bundle, ret, reterr);

    if (r < 0)
        detent__fetch_reply__free_unpacked (bundle, NULL);
    return r;
}

static int fetch (const struct detent_options *o, struct detent **ret, struct dt_err *reterr)
{
    Detent__FetchReply *bundle = NULL;
    int r;

    if ((r = dt_handle_fetch (o, &bundle, reterr)) < 0)
        return r;
    return verified (o, bundle, ret, reterr);
}

/* What was fetched is good: is it what is required?  Then it is the last good one. */
static int judge (const struct detent_options *o, struct detent *d, struct dt_err *reterr)
{
    int r = check_required (d, o, reterr);

    if (r < 0 && o->without_tuple == DETENT_STOCK) {
        run_stock (d, reterr->text);
        return 0;
    }
    if (r < 0 || !o->bundle_path)
        return r;
    return dt_handle_keep (o->bundle_path, d->bundle, reterr);
}

/* No bundle could be fetched, for the reason in `why`: the one on disk, pinned if
 * detentd is down and this very tuple is required, else stock if the engine says
 * so.  Otherwise `code` and `why` are the answer. */
static int open_kept (const struct detent_options *o, int code, struct dt_err *why,
                      struct detent **ret)
{
    Detent__FetchReply *bundle = NULL;
    struct detent *d = NULL;
    struct dt_err other = { "" };
    int down = code == -DT_EUNREACH, pinned = down && o->required_bits;

    if (!o->bundle_path)
        return code;
    if (!pinned && o->without_tuple != DETENT_STOCK)
        return down ? dt_err_set (why, code, "%s; the bundle %s is only for an engine that says "
                                  "which bits digest it must run (required_bits)", why->text,
                                  o->bundle_path)
                    : code;
    if (dt_handle_kept (o->bundle_path, &bundle, &other) < 0
        || verified (o, bundle, &d, &other) < 0)
        return dt_err_set (why, code, "%s; nor is there a bundle to start from: %s", why->text,
                           other.text);
    if (pinned && check_required (d, o, &other) < 0) {
        dt_err_set (why, code, "%s; nor will the bundle %s do: %s", why->text, o->bundle_path,
                    other.text);
        if (o->without_tuple != DETENT_STOCK) {
            detent_close (d);
            return code;
        }
        pinned = 0;
    }
    if (!pinned)
        run_stock (d, why->text);
    *ret = d;
    return 0;
}

int detent_open (const struct detent_options *options, struct detent **ret,
                 struct detent_error *err)
{
    struct dt_err e = { "" };
    struct detent *d = NULL;
    int r;

    if ((r = check_options (options, &e)) == 0) {
        if ((r = fetch (options, &d, &e)) == 0)
            r = judge (options, d, &e);
        else if (r != -DT_EINPUT && r != -ENOMEM) /* the engine's own faults */
            r = open_kept (options, r, &e, &d);
    }
    if (r < 0) {
        detent_close (d);
        return dt_err_set (dt_handle_err (err), r, "%s", e.text);
    }
    d->stock |= options->variant == DETENT_UNPINNED;
    *ret = d;
    return 0;
}

void detent_close (struct detent *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->n_sites; i++)
        for (int k = 0; k < 2; k++)
            dt_vm_free (d->site[i].vm[k]);
    dt_free (d->site);
    if (d->bundle)
        detent__fetch_reply__free_unpacked (d->bundle, NULL);
    dt_free (d);
}

/* --- what it is ----------------------------------------------------------------- */

const uint8_t *detent_bits_digest (const struct detent *d)
{
    return d->bits.bytes;
}

const uint8_t *detent_tuple_digest (const struct detent *d)
{
    return d->tuple.bytes;
}

const uint8_t *detent_snapshot (const struct detent *d)
{
    return d->commit.bytes;
}

int detent_is_stock (const struct detent *d)
{
    return d->stock;
}

const char *detent_why_stock (const struct detent *d)
{
    return d->why.text[0] ? d->why.text : NULL;
}

int detent_site (const struct detent *d, size_t i, const char **ret_family, const char **ret_site)
{
    if (i >= d->n_sites)
        return 0;
    *ret_family = d->site[i].family;
    *ret_site = d->site[i].site;
    return 1;
}

const struct dt_handle_site *dt_handle_site_find (const struct detent *d, const char *family,
                                                  const char *site)
{
    for (size_t i = 0; i < d->n_sites; i++)
        if (!strcmp (d->site[i].family, family) && !strcmp (d->site[i].site, site))
            return &d->site[i];
    return NULL;
}

int detent_site_fact (const struct detent *d, const char *family, const char *site,
                      const char *fact, int64_t *ret, struct detent_error *err)
{
    const struct dt_handle_site *s = dt_handle_site_find (d, family, site);

    if (!s)
        return dt_err_set (dt_handle_err (err), -DT_ENOTFOUND, "the tuple has no site %s/%s",
                           family, site);
    if (dt_canon_as_int (dt_canon_get (s->facts, fact), ret) < 0)
        return dt_err_set (dt_handle_err (err), -DT_ENOTFOUND,
                           "site %s/%s: no number '%s' among its facts", family, site, fact);
    return 0;
}

/* --- the backend ------------------------------------------------------------------ */

const char *detent_backend_field (const struct detent *d, const char *field)
{
    const struct dt_handle_backend *b = &d->backend;
    const struct { const char *name, *value; } fields[] = {
        { "name", b->name },     { "build", b->build },   { "libraries", b->libraries },
        { "driver", b->driver }, { "device", b->device },
    };

    for (size_t i = 0; i < DT_ARRAY_SIZE (fields); i++)
        if (!strcmp (fields[i].name, field))
            return fields[i].value;
    return NULL;
}

uint32_t detent_backend_units (const struct detent *d)
{
    return (uint32_t)d->backend.units;
}

/* 1, or 0 and the first difference as text. */
static int same_backend (const struct detent *d, const char *const value[5], uint32_t units,
                         struct dt_err *ret)
{
    static const char *const field[] = { "name", "build", "libraries", "driver", "device" };

    for (size_t i = 0; i < DT_ARRAY_SIZE (field); i++) {
        const char *want = detent_backend_field (d, field[i]);

        if (strcmp (want, value[i])) {
            dt_err_set (ret, 0,
                        "the tuple of %s/%s is stale here: %s '%s' -> '%s': tune and commit "
                        "again, or load the backend that it was tuned on",
                        d->deployment, d->workload, field[i], want, value[i]);
            return 0;
        }
    }
    if (d->backend.units != (int64_t)units)
        dt_err_set (ret, 0,
                    "the tuple of %s/%s is stale here: %" PRId64 " units -> %" PRIu32
                    ": open the backend with as many, or tune and commit again",
                    d->deployment, d->workload, d->backend.units, units);
    return d->backend.units == (int64_t)units;
}

int detent_check_backend (struct detent *d, const char *name, const char *build,
                          const char *libraries, const char *driver, const char *device,
                          uint32_t units, struct detent_error *err)
{
    const char *const value[5] = { name, build, libraries, driver, device };
    struct dt_err e = { "" };

    if (same_backend (d, value, units, &e)) {
        d->backend_ok = 1;
        return 0;
    }
    if (d->stock)
        return 0; /* stock runs anywhere */
    if (d->without == DETENT_REFUSE)
        return dt_err_set (dt_handle_err (err), -DT_EENVIRONMENT, "%s", e.text);
    run_stock (d, e.text);
    return 0;
}
