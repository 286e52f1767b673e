/* detentctl/bundle.c - does what was fetched hold together? */
#include "detentctl/bundle.h"

#include <sodium.h>
#include <string.h>

#include "base/canon.h"
#include "detent/tuple.h"

static int same (const struct dt_digest *d, const void *p, size_t n)
{
    return n == DT_DIGEST_BYTES && !memcmp (d->bytes, p, n);
}

static int entry_is (struct dt_canon_value map, const char *key, const struct dt_digest *d)
{
    const uint8_t *p;
    size_t n;

    return dt_canon_as_bytes (dt_canon_get (map, key), &p, &n) == 0 && same (d, p, n);
}

static int check_signature (const Detent__FetchReply *f, const struct dt_digest *commit,
                            struct dt_err *reterr)
{
    if (sodium_init () < 0 || f->signature.len != crypto_sign_BYTES
        || f->signer.len != crypto_sign_PUBLICKEYBYTES
        || crypto_sign_verify_detached (f->signature.data, commit->bytes, DT_DIGEST_BYTES,
                                        f->signer.data))
        return dt_err_set (reterr, -DT_ECORRUPT, "the commit's signature does not hold");
    return 0;
}

static int check_commit (const Detent__FetchReply *f, struct dt_bundle_facts *k,
                         struct dt_err *reterr)
{
    struct dt_canon_value v;
    int r;

    k->commit = dt_digest_of (DETENT_DIGEST_COMMIT, f->commit.data, f->commit.len);
    k->tuple = dt_digest_of (DETENT_DIGEST_TUPLE, f->tuple.data, f->tuple.len);
    if ((r = check_signature (f, &k->commit, reterr)) < 0)
        return r;
    if ((r = dt_canon_check (f->commit.data, f->commit.len, &v, reterr)) < 0)
        return dt_err_prefix (reterr, r, "commit");
    if (!same (&k->commit, f->snapshot.data, f->snapshot.len))
        return dt_err_set (reterr, -DT_ECORRUPT, "the snapshot is not of this commit");
    if (!entry_is (v, "tuple", &k->tuple) || !entry_is (v, "bits", &k->bits))
        return dt_err_set (reterr, -DT_ECORRUPT, "the commit is not of this tuple");
    if (dt_canon_as_int (dt_canon_get (v, "sequence"), &k->sequence) < 0)
        return dt_err_set (reterr, -DT_ECORRUPT, "the commit has no sequence");
    return 0;
}

/* The tuple's row of a selector, absent if it has none. */
static struct dt_canon_value row_of (struct dt_canon_value rows, const Detent__Selector *s)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value row;
    const char *key;
    char text[2][DT_WIRE_MAX_NAME + 1];
    size_t n;

    while (dt_canon_next (rows, &it, &key, &n, &row))
        if (dt_canon_as_str (dt_canon_get (row, "family"), text[0], sizeof text[0]) == 0
            && dt_canon_as_str (dt_canon_get (row, "site"), text[1], sizeof text[1]) == 0
            && !strcmp (text[0], s->family) && !strcmp (text[1], s->site))
            return row;
    return (struct dt_canon_value){ 0 };
}

static int check_selectors (const Detent__FetchReply *f, struct dt_canon_value tuple,
                            struct dt_err *reterr)
{
    struct dt_canon_value rows = dt_canon_get (tuple, "selectors");

    if (dt_canon_count (rows) != f->n_selector)
        return dt_err_set (reterr, -DT_ECORRUPT, "the tuple names %u selectors, %zu came",
                           dt_canon_count (rows), f->n_selector);
    for (size_t i = 0; i < f->n_selector; i++) {
        const Detent__Selector *s = f->selector[i];
        struct dt_canon_value row = row_of (rows, s);
        struct dt_digest pinned
            = dt_digest_of (DETENT_DIGEST_SELECTOR, s->pinned.data, s->pinned.len);
        struct dt_digest stock = dt_digest_of (DETENT_DIGEST_SELECTOR, s->stock.data, s->stock.len);

        if (!entry_is (row, "pinned", &pinned) || !entry_is (row, "stock", &stock))
            return dt_err_set (reterr, -DT_ECORRUPT,
                               "the selectors of %s/%s are not those of the tuple", s->family,
                               s->site);
    }
    return 0;
}

int dt_bundle_check (const Detent__FetchReply *f, struct dt_bundle_facts *ret,
                     struct dt_err *reterr)
{
    struct dt_bundle_facts k;
    struct dt_canon_value tuple, bits;
    int r;

    if ((r = dt_canon_check (f->tuple.data, f->tuple.len, &tuple, reterr)) < 0)
        return dt_err_prefix (reterr, r, "tuple");
    bits = dt_canon_get (tuple, "bits");
    k.bits = dt_digest_of (DETENT_DIGEST_BITS, bits.at ? bits.at : f->tuple.data, bits.len);
    if ((r = check_commit (f, &k, reterr)) < 0 || (r = check_selectors (f, tuple, reterr)) < 0)
        return r;
    *ret = k;
    return 0;
}
