/* detentd/resume.h - held jobs after a restart.
 * Uses: detentd/.  Used by: daemon.c. */
#ifndef DT_DETENTD_RESUME_H
#define DT_DETENTD_RESUME_H

#include "detentd/daemon.h"

/* Make the jobs again that the store has as held, and give each a turn: it runs, or is
 * held again.  One that cannot be made (its trace is gone) has failed, by that reason. */
int dt_resume (struct dt_daemon *d, struct dt_err *reterr);

#endif
