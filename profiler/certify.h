/* profiler/certify.h - do free values, neighbours, rows or contention show in bits?
 * Uses: profiler/backend.h.  Used by: profiler/worker.c.
 *
 * A round holds one family at one site with its binding values.  The first run of a
 * request, alone, is its reference; every later row of it must have the same bits. */
#ifndef DT_PROFILER_CERTIFY_H
#define DT_PROFILER_CERTIFY_H

#include "profiler/backend.h"

/* Rows are kept as they are, to say which byte differs.  A request of 128 queries
 * with 8 heads of 64 in fp32 has 256 KiB, one of 8,192 tokens of a wide product 235 MB;
 * beyond the bound a round fails. */
#define DT_CERTIFY_REFERENCE_BYTES ((size_t)8 << 30)
#define DT_CERTIFY_MAX_COMBINATIONS (1u << 20)
#define DT_CERTIFY_MAX_RIVALS 16
#define DT_CERTIFY_MAX_RUNS 100000 /* of one batch */

struct dt_certify;

/* The plugin is borrowed until dt_certify_free, and idle between calls.
 *   -DT_EUNSUPPORTED  no such family
 *   -DT_EINPUT        a fact or parameter is missing, given twice or unknown
 *   -DT_ELIMIT        more combinations or rivals than are possible
 *   -DT_EDEVICE       a context for a rival cannot be opened */
int dt_certify_new (const struct dt_plugin *plugin, const Detent__WorkerCertify *m,
                    struct dt_certify **ret, struct dt_err *reterr);
struct dt_certify *dt_certify_free (struct dt_certify *c); /* NULL ok; returns NULL */

/* Fill in `ret`; what it points to belongs to the round and lives until its next batch.
 *   -DT_EINPUT        malformed batch
 *   -DT_ELIMIT        too many bytes of references
 *   -DT_EUNSUPPORTED  the family has no such exchange
 *   -DT_EDEVICE       a kernel failed */
int dt_certify_batch (struct dt_certify *c, const Detent__WorkerBatch *m,
                      Detent__WorkerCertified *ret, struct dt_err *reterr);
/* What was tried so far. */
void dt_certify_tell (struct dt_certify *c, Detent__WorkerCertified *ret);

#endif
