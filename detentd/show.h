/* detentd/show.h - a tuple, for people.
 * Uses: detentd/ask.h.  Used by: req_commit.c. */
#ifndef DT_DETENTD_SHOW_H
#define DT_DETENTD_SHOW_H

#include "detentd/ask.h"

/* Set the ask's ShowReply from the tuple's bytes.
 *   -DT_ENOTFOUND, -DT_ECORRUPT, -ENOMEM */
int dt_show_tuple (struct dt_ask *a, struct dt_store *s, const struct dt_digest *digest,
                   Detent__CommitInfo *commit, struct dt_err *reterr);

#endif
