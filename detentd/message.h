/* detentd/message.h - a call of the tuner as a request to the worker.
 * Uses: proto/, solver/deployment.h, tuner/tune.h.  Used by: measure.c, bench/. */
#ifndef DT_DETENTD_MESSAGE_H
#define DT_DETENTD_MESSAGE_H

#include "proto/detent.pb-c.h"
#include "solver/deployment.h"
#include "tuner/tune.h"

#define DT_MESSAGE_FACTS 64
#define DT_MESSAGE_PARAMS 64

/* Nothing is owned: it points into itself and into what it was built from. */
struct dt_message {
    Detent__WorkerRequest rq;
    Detent__WorkerCall call;
    Detent__WorkerParam fact[DT_MESSAGE_FACTS], param[DT_MESSAGE_PARAMS];
    Detent__WorkerParam *facts[DT_MESSAGE_FACTS], *params[DT_MESSAGE_PARAMS];
    char doing[512]; /* for errors */
};

/* To plan the call, or to measure it.
 *   -DT_EINPUT  unknown family      -DT_ELIMIT  too many facts or parameters */
int dt_message_build (const struct dt_site *site, const struct dt_tune_call *c, int measure,
                      struct dt_message *q, struct dt_err *reterr);

#endif
