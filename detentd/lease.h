/* detentd/lease.h - the right to run kernels on some devices, of one job at a time.
 * Uses: detentd/worker.h, detentd/options.h.  Used by: measure.h, holds.c.
 *
 * A lock (flock) on one file a device, in a folder that all detentds of the machine share
 * (--lock-dir).  The job's worker holds it too, so that it lasts as long as kernels may
 * run, and ends with the processes however they end. */
#ifndef DT_DETENTD_LEASE_H
#define DT_DETENTD_LEASE_H

#include "detentd/options.h"
#include "detentd/worker.h"

/* Zero-initialise. */
struct dt_lease {
    int fd[DT_WORKER_MAX_KEPT];
    size_t n;
    uint32_t devices; /* that are used: ranks that are threads share one */
};

/* Lock `ranks` of the plugin's devices, from the ordinal `first` on; a short-lived worker
 * says which they are.
 *   -EAGAIN    somebody else has one: the text says which
 *   -DT_EINPUT no file can have the device's name
 *   -DT_EWORKER, -DT_ELOST, or what else dt_worker_call returns */
int dt_lease_take (struct dt_lease *l, const struct dt_options *o, const char *plugin,
                   uint32_t first, uint32_t ranks, struct dt_err *reterr);
void dt_lease_drop (struct dt_lease *l);

#endif
