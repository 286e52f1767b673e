/* detentd/resume.h - what a stop left behind: jobs that have failed, and jobs that go on.
 * Uses: detentd/.  Used by: daemon.c, tests. */
#ifndef DT_DETENTD_RESUME_H
#define DT_DETENTD_RESUME_H

#include "detentd/daemon.h"

/* At start: jobs that a stop left queued or running have failed. */
int dt_jobs_recover (struct dt_store *s, struct dt_err *reterr);

/* Make the jobs again that the store has as held, and give each a turn: it runs, or is
 * held again.  One that cannot be made (its trace is gone) has failed, by that reason. */
int dt_resume (struct dt_daemon *d, struct dt_err *reterr);

#endif
