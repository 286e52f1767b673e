/* libdetent/verify.c - from a bundle to a handle, believing nothing. */
#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "detent/tuple.h"
#include "libdetent/handle.h"
#include "trace/schema.h"

struct verify {
    const struct detent_options *o;
    Detent__FetchReply *b;
    struct detent *d;
    struct dt_err *err;
};

#define BAD(v, ...) dt_err_set ((v)->err, -DT_ECORRUPT, __VA_ARGS__)

static int get_digest (struct verify *v, struct dt_canon_value map, const char *what,
                       const char *key, struct dt_digest *ret)
{
    const uint8_t *p;
    size_t n;

    if (dt_canon_as_bytes (dt_canon_get (map, key), &p, &n) < 0 || n != DT_DIGEST_BYTES)
        return BAD (v, "%s: %s is not a digest", what, key);
    memcpy (ret->bytes, p, DT_DIGEST_BYTES);
    return 0;
}

static int get_text (struct verify *v, struct dt_canon_value map, const char *what,
                     const char *key, char ret[DT_HANDLE_MAX_TEXT])
{
    if (dt_canon_as_str (dt_canon_get (map, key), ret, DT_HANDLE_MAX_TEXT) < 0)
        return BAD (v, "%s: %s is absent or not a text of at most %d bytes", what, key,
                    DT_HANDLE_MAX_TEXT - 1);
    return 0;
}

static int check_version (struct verify *v, struct dt_canon_value map, const char *what,
                          int64_t want)
{
    int64_t have;

    if (dt_canon_as_int (dt_canon_get (map, "version"), &have) < 0)
        return BAD (v, "%s: no version", what);
    if (have != want)
        return dt_err_set (v->err, -DT_EVERSION,
                           "%s: version %lld; this libdetent reads %lld: upgrade it", what,
                           (long long)have, (long long)want);
    return 0;
}

/* --- the commit -------------------------------------------------------------- */

static int check_signature (struct verify *v, struct dt_canon_value commit)
{
    struct dt_digest signer;
    int r;

    if ((r = get_digest (v, commit, "commit", "signer", &signer)) < 0)
        return r;
    if (v->b->signer.len != DT_DIGEST_BYTES
        || memcmp (v->b->signer.data, signer.bytes, DT_DIGEST_BYTES))
        return BAD (v, "commit: signed with another key than the bundle states");
    if (v->o->signer && memcmp (v->o->signer, signer.bytes, DT_DIGEST_BYTES))
        return BAD (v, "commit: signed with a key that is not the configured one; if the node's "
                       "key was changed, configure the new one");
    if (v->b->signature.len != crypto_sign_BYTES || sodium_init () < 0
        || crypto_sign_verify_detached (v->b->signature.data, v->d->commit.bytes, DT_DIGEST_BYTES,
                                        signer.bytes) != 0)
        return BAD (v, "commit: the signature does not hold");
    return 0;
}

static int check_name (struct verify *v, const char *what, const char *have, const char *want)
{
    if (strcmp (have, want) == 0)
        return 0;
    return BAD (v, "commit: for %s %s, and %s was asked for", what, have, want);
}

static int load_commit (struct verify *v)
{
    struct detent *d = v->d;
    struct dt_canon_value c;
    int r;

    if ((r = dt_canon_check (v->b->commit.data, v->b->commit.len, &c, v->err)) < 0)
        return dt_err_prefix (v->err, r, "commit");
    d->commit = dt_digest_of (DETENT_DIGEST_COMMIT, v->b->commit.data, v->b->commit.len);
    if ((r = check_signature (v, c)) < 0
        || (r = check_version (v, c, "commit", DETENT_COMMIT_VERSION)) < 0
        || (r = get_text (v, c, "commit", "deployment", d->deployment)) < 0
        || (r = get_text (v, c, "commit", "workload", d->workload)) < 0
        || (r = check_name (v, "deployment", d->deployment, v->o->deployment)) < 0
        || (r = check_name (v, "workload", d->workload, v->o->workload)) < 0
        || (r = get_digest (v, c, "commit", "tuple", &d->tuple)) < 0
        || (r = get_digest (v, c, "commit", "bits", &d->bits)) < 0)
        return r;
    if (v->b->snapshot.len != DT_DIGEST_BYTES
        || memcmp (v->b->snapshot.data, d->commit.bytes, DT_DIGEST_BYTES))
        return BAD (v, "bundle: its snapshot is not its commit");
    if (v->o->snapshot && memcmp (v->o->snapshot, d->commit.bytes, DT_DIGEST_BYTES))
        return BAD (v, "bundle: another commit than the snapshot of the other ranks");
    return 0;
}

/* --- the tuple --------------------------------------------------------------- */

static int load_backend (struct verify *v, struct dt_canon_value map)
{
    struct dt_handle_backend *b = &v->d->backend;
    int r;

    if ((r = get_text (v, map, "tuple: backend", "name", b->name)) < 0
        || (r = get_text (v, map, "tuple: backend", "build", b->build)) < 0
        || (r = get_text (v, map, "tuple: backend", "libraries", b->libraries)) < 0
        || (r = get_text (v, map, "tuple: backend", "driver", b->driver)) < 0
        || (r = get_text (v, map, "tuple: backend", "device", b->device)) < 0)
        return r;
    if (dt_canon_as_int (dt_canon_get (map, "units"), &b->units) < 0 || b->units < 0
        || b->units > UINT32_MAX)
        return BAD (v, "tuple: backend: no units");
    return 0;
}

static int load_sites (struct verify *v, struct dt_canon_value list)
{
    struct detent *d = v->d;
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value site;
    uint32_t n = dt_canon_count (list);
    int r;

    if (dt_canon_tag (list) != 'l' || n == 0 || n > DT_HANDLE_MAX_SITES)
        return BAD (v, "tuple: sites: not a list of 1 to %d", DT_HANDLE_MAX_SITES);
    if (!(d->site = dt_calloc (n, sizeof *d->site)))
        return dt_err_nomem (v->err);
    while (dt_canon_next (list, &it, NULL, NULL, &site)) {
        struct dt_handle_site *s = &d->site[d->n_sites];

        if ((r = get_text (v, site, "tuple: site", "family", s->family)) < 0
            || (r = get_text (v, site, "tuple: site", "site", s->site)) < 0)
            return r;
        s->facts = dt_canon_get (site, "facts");
        s->pins = dt_canon_get (site, "pins");
        if (dt_canon_tag (s->facts) != 'm')
            return BAD (v, "tuple: site %s/%s: no facts", s->family, s->site);
        if (dt_handle_site_find (d, s->family, s->site))
            return BAD (v, "tuple: site %s/%s: twice", s->family, s->site);
        d->n_sites++;
    }
    return 0;
}

static int load_bits (struct verify *v, struct dt_canon_value bits)
{
    struct detent *d = v->d;
    struct dt_digest have;
    char deployment[DT_HANDLE_MAX_TEXT];
    int r;

    if (dt_canon_tag (bits) != 'm')
        return BAD (v, "tuple: no bits");
    have = dt_digest_of (DETENT_DIGEST_BITS, bits.at, bits.len);
    if (!dt_digest_equal (&have, &d->bits))
        return BAD (v, "tuple: its bits digest is not the commit's");
    if ((r = get_text (v, bits, "tuple", "deployment", deployment)) < 0
        || (r = get_text (v, bits, "tuple", "model", d->model)) < 0
        || (r = get_text (v, dt_canon_get (bits, "engine"), "tuple: engine", "name", d->engine))
               < 0
        || (r = load_backend (v, dt_canon_get (bits, "backend"))) < 0)
        return r;
    if (strcmp (deployment, d->deployment))
        return BAD (v, "tuple: for deployment %s, its commit for %s", deployment, d->deployment);
    return load_sites (v, dt_canon_get (bits, "sites"));
}

/* --- the selectors ------------------------------------------------------------ */

static const Detent__Selector *find_selector (const Detent__FetchReply *b, const char *family,
                                              const char *site)
{
    for (size_t i = 0; i < b->n_selector; i++)
        if (!strcmp (b->selector[i]->family, family) && !strcmp (b->selector[i]->site, site))
            return b->selector[i];
    return NULL;
}

/* Every input is a quantity of the family's calls, as the selector takes it. */
static int check_inputs (struct verify *v, const struct dt_vm *vm)
{
    const struct dt_schema *schema = dt_schema_find (dt_vm_family (vm));

    if (!schema)
        return dt_err_set (v->err, -DT_EVERSION, "family %s: unknown to this libdetent",
                           dt_vm_family (vm));
    for (size_t i = 0; i < dt_vm_inputs (vm); i++) {
        const struct dt_vm_input *in = dt_vm_input (vm, i);
        int q = dt_schema_quantity (schema, in->name);

        if (in->klass > DT_VM_OWN)
            return BAD (v, "%s is left open", in->name);
        if (in->type == DT_VM_TYPE_FLOAT)
            return BAD (v, "input %s is a float, and a call gives ints", in->name);
        if (q < 0 || schema->quantity[q].own != (in->klass == DT_VM_OWN))
            return BAD (v, "input %s is no quantity of family %s", in->name, schema->family);
    }
    for (size_t i = 0; i < dt_vm_tables (vm); i++)
        for (size_t k = 0; k < dt_vm_table (vm, i)->n; k++)
            for (size_t j = 0; j < dt_vm_table (vm, i)->cell[k].n; j++) {
                int q = dt_schema_quantity (schema, dt_vm_table (vm, i)->cell[k].when[j].quantity);

                if (q < 0 || schema->quantity[q].own)
                    return BAD (v, "a table of %s is over what is no quantity of a call",
                                dt_vm_table (vm, i)->field);
            }
    return 0;
}

static int load_vm (struct verify *v, struct dt_handle_site *s, const ProtobufCBinaryData *blob,
                    struct dt_canon_value entry, enum detent_variant variant)
{
    static const char *const names[] = { [DETENT_PINNED] = "pinned", [DETENT_UNPINNED] = "stock" };
    const char *name = names[variant];
    struct dt_digest want = { { 0 } }, have;
    struct dt_vm *vm;
    int r;

    if ((r = get_digest (v, entry, "tuple: selector", name, &want)) < 0)
        return r;
    have = dt_digest_of (DETENT_DIGEST_SELECTOR, blob->data, blob->len);
    if (!dt_digest_equal (&have, &want))
        return BAD (v, "its bytes are not those of the tuple's digest");
    if ((r = dt_vm_load (blob->data, blob->len, &s->vm[variant], v->err)) < 0
        || (r = dt_vm_plan (s->vm[variant], v->err)) < 0)
        return r;
    vm = s->vm[variant];
    if (strcmp (dt_vm_family (vm), s->family) || strcmp (dt_vm_site (vm), s->site)
        || strcmp (dt_vm_variant (vm), name))
        return BAD (v, "it is the %s selector of %s/%s", dt_vm_variant (vm), dt_vm_family (vm),
                    dt_vm_site (vm));
    return check_inputs (v, vm);
}

static int load_selector (struct verify *v, struct dt_canon_value entry, size_t *n_found)
{
    char family[DT_HANDLE_MAX_TEXT], site[DT_HANDLE_MAX_TEXT];
    const Detent__Selector *p;
    struct dt_handle_site *s;
    int r;

    if ((r = get_text (v, entry, "tuple: selector", "family", family)) < 0
        || (r = get_text (v, entry, "tuple: selector", "site", site)) < 0)
        return r;
    s = (struct dt_handle_site *)dt_handle_site_find (v->d, family, site);
    if (!s || s->vm[0] || !(p = find_selector (v->b, family, site)))
        return BAD (v, "selector of %s/%s: %s", family, site,
                    !s ? "the tuple has no such site" : s->vm[0] ? "twice" : "not in the bundle");
    if ((r = load_vm (v, s, &p->pinned, entry, DETENT_PINNED)) < 0)
        return dt_err_prefix (v->err, r, "pinned selector of %s/%s", family, site);
    if ((r = load_vm (v, s, &p->stock, entry, DETENT_UNPINNED)) < 0)
        return dt_err_prefix (v->err, r, "stock selector of %s/%s", family, site);
    ++*n_found;
    return 0;
}

static int load_selectors (struct verify *v, struct dt_canon_value list)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value entry;
    size_t n = 0;
    int r;

    if (dt_canon_tag (list) != 'l')
        return BAD (v, "tuple: no selectors");
    while (dt_canon_next (list, &it, NULL, NULL, &entry))
        if ((r = load_selector (v, entry, &n)) < 0)
            return r;
    if (n != v->d->n_sites || n != v->b->n_selector)
        return BAD (v, "bundle: %zu sites, %zu selectors in the tuple, %zu in the bundle",
                    v->d->n_sites, n, v->b->n_selector);
    return 0;
}

static int load_tuple (struct verify *v)
{
    struct dt_canon_value t;
    struct dt_digest have;
    int r;

    have = dt_digest_of (DETENT_DIGEST_TUPLE, v->b->tuple.data, v->b->tuple.len);
    if (!dt_digest_equal (&have, &v->d->tuple))
        return BAD (v, "tuple: its digest is not the commit's");
    if ((r = dt_canon_check (v->b->tuple.data, v->b->tuple.len, &t, v->err)) < 0)
        return dt_err_prefix (v->err, r, "tuple");
    if ((r = check_version (v, t, "tuple", DETENT_TUPLE_VERSION)) < 0
        || (r = load_bits (v, dt_canon_get (t, "bits"))) < 0)
        return r;
    return load_selectors (v, dt_canon_get (t, "selectors"));
}

int dt_handle_verify (const struct detent_options *o, Detent__FetchReply *bundle,
                      struct detent **ret, struct dt_err *reterr)
{
    struct verify v = { .o = o, .b = bundle, .err = reterr };
    int r;

    if (!(v.d = dt_calloc (1, sizeof *v.d)))
        return dt_err_nomem (reterr);
    v.d->without = o->without_tuple;
    if ((r = load_commit (&v)) < 0 || (r = load_tuple (&v)) < 0
        || (r = dt_handle_certified (v.d, bundle, reterr)) < 0) {
        detent_close (v.d);
        return r;
    }
    v.d->bundle = bundle;
    *ret = v.d;
    return 0;
}
