/* detentctl/job.h - a job of detentd: follow it, and show it.
 * Uses: connect.h, print.h, progress.h.  Used by: cmd_{tune,attach,jobs,cancel}.c. */
#ifndef DT_CTL_JOB_H
#define DT_CTL_JOB_H

#include <jansson.h>

#include "detentctl/options.h"
#include "proto/wire.h"

/* Send a request whose replies are a job's, show progress until it ends, and
 * print what came out.  An interrupt detaches: the job goes on, which is said.
 *   -DT_ECANCELLED  interrupted, or the job was cancelled
 *   the job's own code if it failed; 1: it certified not everything */
int dt_job_follow (const struct dt_ctl *c, Detent__Request *rq, struct dt_err *reterr);

/* One job, whatever its state. */
void dt_job_print (const struct dt_ctl *c, const Detent__JobReply *j);
/* Ordinals of its devices: "1", "0-3"; "-": an older detentd did not say. */
#define DT_JOB_DEVICES 24
const char *dt_job_devices (const Detent__JobReply *j, char text[DT_JOB_DEVICES]);
json_t *dt_job_json (const Detent__JobReply *j);

#endif
