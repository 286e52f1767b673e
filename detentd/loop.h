/* detentd/loop.h - the event loop.
 * Uses: detentd/daemon.h.  Used by: daemon.c. */
#ifndef DT_DETENTD_LOOP_H
#define DT_DETENTD_LOOP_H

#include "detentd/daemon.h"

int dt_loop_run (struct dt_daemon *d, struct dt_err *reterr);
/* Hand what the pools have finished to its owners; without waiting. */
void dt_loop_finish_work (struct dt_daemon *d);

#endif
