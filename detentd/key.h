/* detentd/key.h - the node's Ed25519 key, which signs commits.
 * Uses: base/, libsodium.  Used by: daemon.c, req_commit.c. */
#ifndef DT_DETENTD_KEY_H
#define DT_DETENTD_KEY_H

#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

struct dt_key {
    uint8_t public_key[32];
    uint8_t secret[64];
    int is_new; /* made by this dt_key_load */
};

/* Read the key from `path`, or make one there (mode 0600).
 *   -EPERM        others may read it, or it belongs to somebody else
 *   -DT_ECORRUPT  not a key; it is left as it is */
int dt_key_load (const char *path, struct dt_key *ret, struct dt_err *reterr);
void dt_key_sign (const struct dt_key *k, const struct dt_digest *digest, uint8_t ret[64]);
void dt_key_done (struct dt_key *k); /* wipes it */

#endif
