/* detentd/commit.h - commits: their bytes, and what replies say of them.
 * Uses: detentd/ask.h.  Used by: req_commit.c, req_fetch.c, tests. */
#ifndef DT_DETENTD_COMMIT_H
#define DT_DETENTD_COMMIT_H

#include "detentd/ask.h"

struct dt_commit_ask {
    const char *deployment, *workload, *message, *author;
    const struct dt_digest *tuple;  /* NULL: of the newest finished tune */
    int accept_sampled;
    const struct dt_digest *expected_parent; /* NULL: any ...                     */
    int expect_first;                        /* ... or there must be no commit yet */
};
/* Within a transaction: check the tuple, append to the chain, sign.
 *   -DT_ENOTFOUND, -DT_EREFUSED (another deployment's tuple; uncovered field),
 *   -DT_EUNPROVED, -DT_ECONFLICT */
int dt_commit_append (struct dt_store *s, const struct dt_key *key,
                      const struct dt_commit_ask *ask, struct dt_digest *ret,
                      struct dt_err *reterr);

/* What a row says, in the ask's arena.  -DT_ECORRUPT, -ENOMEM */
int dt_commit_info (struct dt_ask *a, const struct dt_commit_row *row,
                    Detent__CommitInfo **ret, struct dt_err *reterr);
/* The chain's newest commit.  -DT_ENOTFOUND */
int dt_commit_head (struct dt_ask *a, struct dt_store *s, const char *deployment,
                    const char *workload, Detent__CommitInfo **ret, struct dt_err *reterr);
int dt_commit_by_digest (struct dt_ask *a, struct dt_store *s, const struct dt_digest *digest,
                         Detent__CommitInfo **ret, struct dt_err *reterr);

#endif
