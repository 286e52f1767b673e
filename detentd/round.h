/* detentd/round.h - a round of certification: one site under one assignment.
 * Uses: proto/certificate.h, detentd/probe.h, proto/.  Used by: certifying.c,
 * covering.h, tests.
 *
 * The batches are chosen here, and run by the worker (profiler/certify.h).  What a round
 * sees does not depend on how fast kernels run: each batch has a request that is long
 * enough for every order to show, and rounding to bf16 hides nothing, for a site with
 * such outputs is tried with fp32 ones too. */
#ifndef DT_DETENTD_ROUND_H
#define DT_DETENTD_ROUND_H

#include "proto/certificate.h"
#include "detentd/probe.h"
#include "proto/detent.pb-c.h"

struct dt_round {
    const char *family, *site;
    const struct dt_vm *vm; /* the pinned selector of the assignment */
    const struct dt_named *fact; /* [n_facts] */
    size_t n_facts;
    const struct dt_certificate_backend *backend;
    uint64_t seed;
    uint32_t rivals, repeats; /* repeats: of each run, at least 1 */
    /* One request to the worker that has the backend open; `doing` is for errors. */
    int (*call) (void *ctx, const Detent__WorkerRequest *rq, const char *doing,
                 Detent__WorkerReply **ret, struct dt_err *reterr);
    /* 0, or another value to end with -DT_ECANCELLED.  May be NULL. */
    int (*progress) (void *ctx, double fraction, const char *what);
    void *ctx;
};

/* Binding values that the assignment gives, sorted, of the arena.
 *   -DT_EUNSUPPORTED  one follows each request's own length */
int dt_round_binding (const struct dt_round *r, struct dt_arena *a, struct dt_named **ret,
                      size_t *ret_n, struct dt_err *reterr);

/* Fill in a certificate (zeroed; dt_certificate_done whatever happens; it borrows from
 * `r`).  It may be issued if `difference` is "": a text says which row had other bits,
 * or why nothing would have been seen.
 *   -DT_EUNSUPPORTED  no kernel takes the assignment, or the family has no exchange
 *   -DT_ECANCELLED, or what `call` returned */
int dt_round_run (const struct dt_round *r, struct dt_certificate *ret, struct dt_err *difference,
                  struct dt_err *reterr);

#endif
