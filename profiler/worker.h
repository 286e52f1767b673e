/* profiler/worker.h - runs kernels of one backend on request.
 * Uses: base/, proto/, include/detent/backend.h.  Used by: profiler/main.c, tests. */
#ifndef DT_PROFILER_WORKER_H
#define DT_PROFILER_WORKER_H

#include "base/err.h"

/* Bytes of operands that a worker keeps filled between calls, so that a call that
 * comes again with other parameters is not filled again.  Filling a call takes
 * about as long as running it; beyond the bound the oldest set is dropped. */
#define DT_WORKER_OPERAND_BYTES (1024u << 20)
#define DT_WORKER_OPERAND_SETS 64
#define DT_WORKER_MAX_REPEATS 10000

/* Answer WorkerRequest frames on `fd` with one WorkerReply each, until the peer
 * closes.  A request that cannot be served is answered with an Error and the
 * worker goes on.  0 at the end of input, else the failure of the socket. */
int dt_worker_serve (int fd, struct dt_err *reterr);

#endif
