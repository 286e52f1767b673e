/* base/digest.h - BLAKE2b-256 digests (libsodium).
 * Uses: nothing of ours.  Used by: every folder that names content. */
#ifndef DT_BASE_DIGEST_H
#define DT_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DT_DIGEST_BYTES 32
#define DT_DIGEST_HEX (2 * DT_DIGEST_BYTES + 1) /* with its terminating zero */

struct dt_digest {
    uint8_t bytes[DT_DIGEST_BYTES];
};

/* Digest of n bytes.  `domain` (at most 16 characters, "tuple", "trace", ...)
 * separates kinds: equal bytes of two kinds have different digests.  It is the
 * personalisation of BLAKE2b. */
struct dt_digest dt_digest_of (const char *domain, const void *data, size_t n);

/* The same in pieces. */
struct dt_digest_state {
    _Alignas (64) uint8_t opaque[384];
};
void dt_digest_begin (struct dt_digest_state *s, const char *domain);
void dt_digest_add (struct dt_digest_state *s, const void *data, size_t n);
struct dt_digest dt_digest_end (struct dt_digest_state *s);

int dt_digest_equal (const struct dt_digest *a, const struct dt_digest *b);
/* Lower-case hex, terminated; returns `hex`. */
char *dt_digest_hex (const struct dt_digest *d, char hex[DT_DIGEST_HEX]);
/* Parse 64 hex digits of either case and nothing else; 0 or -EINVAL. */
int dt_digest_parse (const char *hex, struct dt_digest *ret);

#endif
