/* detentd/round_parts.h - what the parts of a round share.
 * Uses: detentd/round.h, detentd/probe.h, proto/.  Used by: detentd/round.c, round_ask.c,
 * round_binding.c. */
#ifndef DT_DETENTD_ROUND_PARTS_H
#define DT_DETENTD_ROUND_PARTS_H

#include "detentd/round.h"

/* --- round_binding.c: the assignment ------------------------------------------ */

/* What draws batches for the round's selector.
 *   -DT_EINPUT  there is no such family */
int dt_round_probe (const struct dt_round *o, struct dt_probe **ret, struct dt_err *reterr);
/* dt_round_binding with that probe, which goes on. */
int dt_round_bind (const struct dt_round *o, struct dt_probe *p, struct dt_arena *a,
                   struct dt_named **ret, size_t *ret_n, struct dt_err *reterr);

/* --- round_ask.c: the worker -------------------------------------------------- */

/* The batches that follow are of this assignment; `clear`: with fp32 outputs. */
int dt_round_begin (const struct dt_round *o, const struct dt_named *binding, size_t n_binding,
                    int clear, struct dt_arena *a, struct dt_err *reterr);

struct dt_round_outcome {
    uint64_t runs, rows, changed, tried, refused, of, least_ns;
};
/* Run a batch; `exchange`: with so many terms planted in another order, or 0.  The reply
 * is the caller's to free. */
int dt_round_send (const struct dt_round *o, const struct dt_probe_batch *b, uint32_t data,
                   uint32_t exchange, uint32_t combinations, struct dt_round_outcome *ret,
                   Detent__WorkerReply **ret_reply, struct dt_err *reterr);

#endif
