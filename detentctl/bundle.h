/* detentctl/bundle.h - does what was fetched hold together?
 * Uses: base/, proto/, libsodium.  Used by: cmd_fetch.c. */
#ifndef DT_CTL_BUNDLE_H
#define DT_CTL_BUNDLE_H

#include "base/digest.h"
#include "proto/wire.h"

struct dt_bundle_facts {
    struct dt_digest commit, tuple, bits;
    int64_t sequence;
};

/* Check the commit's digest and signature, that it is of this tuple, and that the
 * selectors are the tuple's.
 *   -DT_ECORRUPT  naming what does not hold */
int dt_bundle_check (const Detent__FetchReply *f, struct dt_bundle_facts *ret,
                     struct dt_err *reterr);

#endif
