/* detentd/key.c - the node's Ed25519 key, which signs commits.
 *
 * The file holds the 32 bytes of the seed. */
#include "detentd/key.h"

#include <errno.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

_Static_assert (crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_SECRETKEYBYTES == 64
                    && crypto_sign_SEEDBYTES == 32 && crypto_sign_BYTES == 64,
                "sizes of Ed25519 in the header");

static int make (const char *path, uint8_t *ret_seed, struct dt_err *reterr)
{
    randombytes_buf (ret_seed, crypto_sign_SEEDBYTES);
    return dt_file_replace (path, ret_seed, crypto_sign_SEEDBYTES, 0600, reterr);
}

static int read_seed (const char *path, const struct stat *st, uint8_t *ret_seed,
                      struct dt_err *reterr)
{
    struct dt_buf buf = { 0 };
    int r;

    if (st->st_uid != geteuid () || (st->st_mode & 077))
        return dt_err_set (reterr, -EPERM, "%s: the signing key must belong to this user and "
                           "have mode 0600", path);
    if ((r = dt_file_read (path, crypto_sign_SEEDBYTES, &buf, reterr)) == 0) {
        if (buf.len != crypto_sign_SEEDBYTES)
            r = dt_err_set (reterr, -DT_ECORRUPT, "%s: not a signing key (%zu bytes, not %u)",
                            path, buf.len, crypto_sign_SEEDBYTES);
        else
            for (size_t i = 0; i < buf.len; i++)
                ret_seed[i] = buf.data[i];
        sodium_memzero (buf.data, buf.len);
    }
    dt_buf_done (&buf);
    return r;
}

int dt_key_load (const char *path, struct dt_key *ret, struct dt_err *reterr)
{
    uint8_t seed[crypto_sign_SEEDBYTES];
    struct stat st;
    int is_new, r;

    if (sodium_init () < 0)
        return dt_err_set (reterr, -EIO, "libsodium has no source of random numbers");
    is_new = lstat (path, &st) < 0;
    if (!is_new)
        r = read_seed (path, &st, seed, reterr);
    else if (errno == ENOENT)
        r = make (path, seed, reterr);
    else
        r = dt_err_set (reterr, -errno, "stat %s: %m", path);
    if (r == 0) {
        crypto_sign_seed_keypair (ret->public_key, ret->secret, seed);
        ret->is_new = is_new;
    }
    sodium_memzero (seed, sizeof seed);
    return r;
}

void dt_key_sign (const struct dt_key *k, const struct dt_digest *digest, uint8_t ret[64])
{
    crypto_sign_detached (ret, NULL, digest->bytes, sizeof digest->bytes, k->secret);
}

void dt_key_done (struct dt_key *k)
{
    sodium_memzero (k, sizeof *k);
}
