/* libdetent/selector.h - one site's selector and its thread's memory.
 * Uses: libdetent/handle.h, libdetent/seen.h, trace/schema.h.  Used by: libdetent. */
#ifndef DT_LIBDETENT_SELECTOR_H
#define DT_LIBDETENT_SELECTOR_H

#include "libdetent/handle.h"
#include "libdetent/seen.h"
#include "trace/schema.h"

/* What was seen is kept in two levels.  Whole calls, by all their rows: `few` and, of
 * calls with more rows, the last `many`, since all layers of a step make the same call.
 * Behind them two direct-mapped tables, so that a call that is a new mix of known
 * requests is known too:
 *
 *   calls     the inputs of the call -> the fields of the call
 *   requests  a seen call and the inputs of one request -> the request's fields
 *
 * A call's stamp is new each time its slot is written, so requests of a call that
 * was overwritten are never found.  Stamp 0 is an empty slot. */
#define DT_SELECTOR_CALLS 256     /* powers of two; 20 to 200 KiB in all */
#define DT_SELECTOR_REQUESTS 2048
#define DT_SELECTOR_FEW_WORDS 7   /* a key and its length are one line of the cache */
#define DT_SELECTOR_FEW_BITS 11   /* 256 KiB of keys, of which only what is used is touched */
#define DT_SELECTOR_MANY_WORDS 1024
#define DT_SELECTOR_MANY_BITS 3
#define DT_SELECTOR_MAX_REQUESTS 65536

struct detent_selector {
    const struct detent *d;
    const struct dt_vm *vm;
    const struct dt_schema *schema;
    size_t max_requests, n_in, n_own, n_out;
    size_t in_quantity[DT_VM_MAX_INPUTS], own_field[DT_VM_MAX_INPUTS];

    /* The call at hand. */
    int64_t quantity[DT_SCHEMA_MAX_QUANTITIES];
    int64_t in[DT_VM_MAX_INPUTS];
    int64_t *regs;
    int64_t *own;      /* [max_requests * n_own] of the requests not seen */
    int64_t *own_out;  /* [max_requests * n_out] */
    size_t *missing;   /* [max_requests] which they are */

    struct dt_seen few, many; /* many.room 0: no call has so many rows */

    /* What was seen: a slot is a stamp, a key and a value. */
    uint64_t stamp;    /* of the last call written */
    int64_t *calls;    /* [DT_SELECTOR_CALLS * (1 + n_in + n_out)] */
    int64_t *requests; /* [DT_SELECTOR_REQUESTS * (1 + n_own + n_out)] */

    /* What is handed out. */
    int64_t value[DT_VM_MAX_OUTPUTS];
    int64_t *each[DT_VM_MAX_OUTPUTS]; /* [max_requests], NULL unless the field is own */

    struct detent_attested attested;
};

#endif
