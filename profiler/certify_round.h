/* profiler/certify_round.h - a round of certification, as its parts share it.
 * Uses: profiler/certify.h, profiler/lane.h, base/.  Used by: profiler/certify*.c. */
#ifndef DT_PROFILER_CERTIFY_ROUND_H
#define DT_PROFILER_CERTIFY_ROUND_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/digest.h"
#include "base/table.h"
#include "profiler/certify.h"
#include "profiler/lane.h"

/* A free parameter. */
struct dt_certify_field {
    size_t param; /* index in the family */
    const int64_t *value;
    size_t n;
    int64_t *given; /* owned copy of the values asked for, or NULL: the family's own */
    uint8_t *ran;   /* [n] */
};

/* A request's bits when it was alone. */
struct dt_certify_reference {
    struct dt_digest key; /* of its fields, seed and kind of data */
    uint8_t *bits;
    size_t n;
};

struct dt_certify_rival {
    struct dt_certify *round;
    struct dt_lane lane;
    struct dt_backend_ctx *ctx;
    struct dt_backend_call call;
    struct dt_backend_value *param; /* [n_params] */
    pthread_t thread;
    int started, r;
    struct dt_err err;
};

/* Of a combination of free values. */
enum { DT_CERTIFY_UNSEEN, DT_CERTIFY_REFUSED, DT_CERTIFY_RAN };

struct dt_certify {
    const struct dt_backend *b;
    const struct dt_backend_family *family;
    int64_t *fact;
    struct dt_backend_value *param; /* [n_params] */
    int64_t **each;                 /* [n_params] rooms for mixed values */
    size_t room_each;
    struct dt_certify_field *field; /* [n_fields] the free ones */
    size_t n_fields;
    uint8_t *state; /* [n_combos] */
    uint64_t n_combos, n_tried, n_refused, cursor, stride;
    uint64_t random;
    struct dt_lane lane;
    struct dt_certify_reference *ref;
    size_t n_refs, room_refs, ref_bytes;
    struct dt_table ref_of;
    struct dt_certify_rival *rival;
    size_t n_rivals;
    _Atomic int stop;
    char difference[1024];
    Detent__WorkerFree *told; /* [n_fields] */
    Detent__WorkerFree **told_of;
    int64_t *told_value;
};

/* What lies where nobody wrote: a NaN in fp32 and bf16, zeros, and large and small
 * numbers. */
#define DT_CERTIFY_POISONS 4
extern const int dt_certify_poison[DT_CERTIFY_POISONS];

/* --- certify_values.c: free values ------------------------------------------------- */

uint64_t dt_certify_next (struct dt_certify *c); /* seeded */
/* All combinations of free values.  -DT_ELIMIT, -ENOMEM */
int dt_certify_count (struct dt_certify *c, struct dt_err *reterr);
/* Combination `i`, for all requests alike. */
void dt_certify_set (struct dt_certify *c, uint64_t i);
/* The first combination that has a kernel for the call.  1, or 0: none has. */
int dt_certify_choose (struct dt_certify *c, const struct dt_backend_call *call,
                       struct dt_err *reterr);
/* Values that are drawn for each request by itself, where the family can have that.
 * 0: it cannot.  dt_certify_room first. */
int dt_certify_mix (struct dt_certify *c, size_t n_requests);
int dt_certify_room (struct dt_certify *c, size_t n, struct dt_err *reterr);
/* Combination `i` ran, or was refused. */
void dt_certify_note (struct dt_certify *c, uint64_t i, int state);

/* --- certify_alone.c: requests alone ------------------------------------------------- */

/* One request of a batch as a call of its own. */
struct dt_backend_call dt_certify_one (const struct dt_certify *c,
                                       const struct dt_backend_call *call, size_t i);
/* Run a request alone; its bits are then in the lane.  1, or 0: there is no kernel. */
int dt_certify_run_one (struct dt_certify *c, const struct dt_backend_call *one,
                        struct dt_err *reterr);
/* The reference of each request of the batch.  1, or 0: one has no kernel. */
int dt_certify_references (struct dt_certify *c, const struct dt_backend_call *call,
                           uint32_t *ret, struct dt_err *reterr);
/* Compare all rows of what the lane has read; `how` describes the run. */
void dt_certify_compare (struct dt_certify *c, const struct dt_lane *l,
                         const struct dt_backend_call *call, const uint32_t *ref,
                         const char *how, Detent__WorkerCertified *ret);

/* --- certify_rival.c: contention ------------------------------------------------------- */

/* -DT_ELIMIT, -ENOMEM, or what the backend's `open` returns */
int dt_certify_open_rivals (struct dt_certify *c, const struct dt_plugin *plugin, uint32_t n,
                            struct dt_err *reterr);
void dt_certify_close_rivals (struct dt_certify *c);
/* The rivals run the same batch, each in a context and buffers of its own. */
int dt_certify_start_rivals (struct dt_certify *c, const struct dt_backend_call *call,
                             struct dt_err *reterr);
/* Also if the start failed.  The outputs of their last runs are compared too. */
int dt_certify_stop_rivals (struct dt_certify *c, const uint32_t *ref,
                            Detent__WorkerCertified *ret, struct dt_err *reterr);

#endif
