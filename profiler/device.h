/* profiler/device.h - devices of a backend: their names, whether they answer, their state.
 * Uses: base/, proto/, profiler/backend.h.  Used by: profiler/worker.c. */
#ifndef DT_PROFILER_DEVICE_H
#define DT_PROFILER_DEVICE_H

#include "profiler/backend.h"

#define DT_DEVICES_MAX 64
#define DT_DEVICE_NAME 64
/* What a probe writes and reads: enough that the copy is the device's own work. */
#define DT_DEVICE_PROBE_BYTES (1u << 20)

struct dt_device_reply {
    Detent__WorkerDeviceNames names;
    Detent__WorkerState state;
    char *name[DT_DEVICES_MAX], text[DT_DEVICES_MAX][DT_DEVICE_NAME];
};
#define DT_DEVICE_REPLY_INIT                                                                  \
    { .names = DETENT__WORKER_DEVICE_NAMES__INIT, .state = DETENT__WORKER_STATE__INIT }

/* Names of the first `count` devices.
 *   -DT_EINPUT  count is 0 or above DT_DEVICES_MAX
 *   -DT_EDEVICE, -DT_ELOST, or what dt_plugin_load returns */
int dt_device_names (const Detent__WorkerDevices *m, struct dt_device_reply *ret,
                     struct dt_err *reterr);
/* Open the device, write some memory of it, read it and close.  What dt_plugin_open
 * returns, or:
 *   -DT_EDEVICE  no memory, or it does not hold what was written */
int dt_device_probe (const Detent__WorkerProbe *m, Detent__WorkerState *ret,
                     struct dt_err *reterr);
/* See `state` of include/detent/backend.h; nothing is written where nothing is reported. */
int dt_device_state (const struct dt_plugin *p, int now, Detent__WorkerState *ret,
                     struct dt_err *reterr);

#endif
