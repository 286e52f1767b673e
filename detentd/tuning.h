/* detentd/tuning.h - a tune, on the tuner's thread.
 * Uses: detentd/job.h, tuner/.  Used by: req_tune.c. */
#ifndef DT_DETENTD_TUNING_H
#define DT_DETENTD_TUNING_H

#include "detentd/job.h"

/* The work of a struct dt_job: load, measure, choose, store the tuple. */
void dt_tuning_run (struct dt_work *w, struct dt_store *s);

#endif
