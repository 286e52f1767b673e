/* libdetent/certified.c - do the bundle's certificates cover what is free? */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "libdetent/handle.h"
#include "proto/certificate.h"

/* The first field of the backend that differs; NULL if none does. */
static const char *other_backend (const struct dt_handle_backend *is,
                                  const struct dt_certificate_backend *was)
{
    return strcmp (is->name, was->name)             ? "name"
           : strcmp (is->build, was->build)         ? "build"
           : strcmp (is->libraries, was->libraries) ? "libraries"
           : strcmp (is->driver, was->driver)       ? "driver"
           : strcmp (is->device, was->device)       ? "device"
           : is->units != was->units                ? "units"
                                                    : NULL;
}

/* Facts that are numbers, one by one. */
static int same_facts (const struct dt_handle_site *s, const struct dt_certificate *c)
{
    int64_t v;

    for (size_t i = 0; i < c->n_facts; i++)
        if (dt_canon_as_int (dt_canon_get (s->facts, c->fact[i].name), &v) < 0
            || v != c->fact[i].value)
            return 0;
    return 1;
}

/* A pin is named after the field that it fixes, behind a dot: where it is, the values
 * are one. */
static int same_pins (const struct dt_handle_site *s, const struct dt_certificate *c)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value value;
    const char *key;
    int64_t v;
    size_t n;

    while (dt_canon_next (s->pins, &it, &key, &n, &value))
        for (size_t i = 0; i < c->n_binding; i++) {
            size_t name = strlen (c->binding[i].name);

            if (n > name && key[n - name - 1] == '.'
                && memcmp (key + n - name, c->binding[i].name, name) == 0
                && dt_canon_as_int (value, &v) == 0 && v != c->binding[i].value)
                return 0;
        }
    return 1;
}

static int check (const struct detent *d, const struct dt_certificate *c, struct dt_err *reterr)
{
    const struct dt_handle_site *s = dt_handle_site_find (d, c->family, c->site);
    const char *other = other_backend (&d->backend, &c->backend);

    if (!s)
        return dt_err_set (reterr, -DT_ECORRUPT, "a certificate of %s/%s, which the tuple has not",
                           c->family, c->site);
    if (other)
        return dt_err_set (reterr, -DT_EENVIRONMENT, "the certificate of %s/%s is of another "
                           "backend than the tuple: its %s differs", c->family, c->site, other);
    if (!same_facts (s, c) || !same_pins (s, c))
        return dt_err_set (reterr, -DT_ECORRUPT, "the certificate of %s/%s is of other facts or "
                           "pins than the tuple's", c->family, c->site);
    return 0;
}

/* Fields of a site that need a certificate and have none yet. */
struct needs {
    uint8_t *field; /* [outputs of the pinned selector] */
};

static void cover (const struct dt_handle_site *s, const struct dt_certificate *c,
                   struct needs *n)
{
    for (size_t i = 0; i < dt_vm_outputs (s->vm[DETENT_PINNED]); i++)
        for (size_t k = 0; k < c->n_free; k++)
            if (strcmp (dt_vm_output (s->vm[DETENT_PINNED], i)->field, c->free[k].name) == 0)
                n->field[i] = 0;
}

static int take (const struct detent *d, const ProtobufCBinaryData *bytes, struct needs *n,
                 struct dt_err *reterr)
{
    struct dt_certificate c;
    int r;

    if ((r = dt_certificate_decode (bytes->data, bytes->len, &c, reterr)) < 0)
        return r;
    if ((r = check (d, &c, reterr)) == 0) {
        const struct dt_handle_site *s = dt_handle_site_find (d, c.family, c.site);

        cover (s, &c, &n[s - d->site]);
    }
    dt_certificate_done (&c);
    return r;
}

static int find_needs (const struct detent *d, struct needs *n, struct dt_err *reterr)
{
    for (size_t i = 0; i < d->n_sites; i++) {
        const struct dt_vm *vm = d->site[i].vm[DETENT_PINNED];

        if (!(n[i].field = dt_calloc (dt_vm_outputs (vm), 1)))
            return dt_err_nomem (reterr);
        for (size_t k = 0; k < dt_vm_outputs (vm); k++)
            n[i].field[k] = !dt_vm_output (vm, k)->binding && !dt_vm_output (vm, k)->claim;
    }
    return 0;
}

static int all_covered (const struct detent *d, const struct needs *n, struct dt_err *reterr)
{
    for (size_t i = 0; i < d->n_sites; i++)
        for (size_t k = 0; k < dt_vm_outputs (d->site[i].vm[DETENT_PINNED]); k++)
            if (n[i].field[k])
                return dt_err_set (reterr, -DT_EREFUSED, "%s/%s: free field %s has neither "
                                   "certificate nor claim", d->site[i].family, d->site[i].site,
                                   dt_vm_output (d->site[i].vm[DETENT_PINNED], k)->field);
    return 0;
}

int dt_handle_certified (const struct detent *d, const Detent__FetchReply *bundle,
                         struct dt_err *reterr)
{
    struct needs *n = dt_calloc (d->n_sites, sizeof *n);
    int r = n ? find_needs (d, n, reterr) : dt_err_nomem (reterr);

    for (size_t i = 0; r == 0 && i < bundle->n_certificate; i++)
        r = take (d, &bundle->certificate[i], n, reterr);
    if (r == 0)
        r = all_covered (d, n, reterr);
    for (size_t i = 0; n && i < d->n_sites; i++)
        dt_free (n[i].field);
    dt_free (n);
    return r;
}
