/* base/digest.c - BLAKE2b-256 digests (libsodium). */
#include "base/digest.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

typedef crypto_generichash_blake2b_state sodium_state;

_Static_assert (sizeof (sodium_state) <= sizeof (struct dt_digest_state),
                "dt_digest_state holds libsodium's state");
_Static_assert (_Alignof (sodium_state) <= _Alignof (struct dt_digest_state),
                "dt_digest_state is aligned as libsodium's state");

/* sodium_init picks the fastest code for this machine; it must run before the
 * first digest, whichever thread asks for it. */
static void start (void)
{
    if (sodium_init () < 0)
        abort (); /* no entropy source: nothing can be signed or digested */
}

void dt_digest_begin (struct dt_digest_state *s, const char *domain)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned char personal[crypto_generichash_blake2b_PERSONALBYTES] = { 0 };
    size_t n = strlen (domain);

    assert (n <= sizeof personal);
    memcpy (personal, domain, n);
    pthread_once (&once, start);
    crypto_generichash_blake2b_init_salt_personal ((sodium_state *)s->opaque, NULL, 0,
                                                   DT_DIGEST_BYTES, NULL, personal);
}

void dt_digest_add (struct dt_digest_state *s, const void *data, size_t n)
{
    if (n)
        crypto_generichash_blake2b_update ((sodium_state *)s->opaque, data, n);
}

struct dt_digest dt_digest_end (struct dt_digest_state *s)
{
    struct dt_digest d;

    crypto_generichash_blake2b_final ((sodium_state *)s->opaque, d.bytes, sizeof d.bytes);
    return d;
}

struct dt_digest dt_digest_of (const char *domain, const void *data, size_t n)
{
    struct dt_digest_state s;

    dt_digest_begin (&s, domain);
    dt_digest_add (&s, data, n);
    return dt_digest_end (&s);
}

int dt_digest_equal (const struct dt_digest *a, const struct dt_digest *b)
{
    return memcmp (a->bytes, b->bytes, sizeof a->bytes) == 0;
}

char *dt_digest_hex (const struct dt_digest *d, char hex[DT_DIGEST_HEX])
{
    return sodium_bin2hex (hex, DT_DIGEST_HEX, d->bytes, sizeof d->bytes);
}

/* Value of a hex digit, or -1. */
static int digit (char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int dt_digest_parse (const char *hex, struct dt_digest *ret)
{
    struct dt_digest d;

    if (strnlen (hex, DT_DIGEST_HEX) != DT_DIGEST_HEX - 1)
        return -EINVAL;
    for (size_t i = 0; i < DT_DIGEST_BYTES; i++) {
        int high = digit (hex[2 * i]), low = digit (hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return -EINVAL;
        d.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret = d;
    return 0;
}
