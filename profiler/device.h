/* profiler/device.h - devices of a backend: names, who computes, whether they answer, state.
 * Uses: base/, proto/, profiler/backend.h.  Used by: profiler/worker.c. */
#ifndef DT_PROFILER_DEVICE_H
#define DT_PROFILER_DEVICE_H

#include "profiler/backend.h"

#define DT_DEVICES_MAX 64
#define DT_DEVICE_NAME 64
/* What a probe writes and reads: enough that the copy is the device's own work. */
#define DT_DEVICE_PROBE_BYTES (1u << 20)

/* Zero-initialise the plugin; dt_device_done whatever happened. */
struct dt_device_reply {
    Detent__WorkerDeviceNames names;
    Detent__WorkerState state;
    Detent__WorkerIdentity who; /* borrows from the plugin, which is loaded until done */
    struct dt_plugin plugin;
    char *name[DT_DEVICES_MAX], text[DT_DEVICES_MAX][DT_DEVICE_NAME];
};
#define DT_DEVICE_REPLY_INIT                                                                  \
    { .names = DETENT__WORKER_DEVICE_NAMES__INIT, .state = DETENT__WORKER_STATE__INIT,         \
      .who = DETENT__WORKER_IDENTITY__INIT }

/* Names of `count` devices, or of the first if the backend's ranks need no others.
 *   -DT_EINPUT  count is 0 or above DT_DEVICES_MAX
 *   -DT_EDEVICE, -DT_ELOST, or what dt_plugin_load returns */
int dt_device_names (const Detent__WorkerDevices *m, struct dt_device_reply *ret,
                     struct dt_err *reterr);
/* Who computes, without a context.  What dt_plugin_open returns. */
int dt_device_identify (const Detent__WorkerIdentify *m, struct dt_device_reply *ret,
                        struct dt_err *reterr);
void dt_device_done (struct dt_device_reply *d);
/* The same of a plugin that is open, from which the message borrows. */
void dt_device_tell (const struct dt_plugin *p, Detent__WorkerIdentity *ret);
/* Open the device, write some memory of it, read it and close.  What dt_plugin_open
 * returns, or:
 *   -EBUSY       another process works on it, and that is not to be
 *   -DT_EDEVICE  no memory, or it does not hold what was written */
int dt_device_probe (const Detent__WorkerProbe *m, Detent__WorkerState *ret,
                     struct dt_err *reterr);
/* See `state` of include/detent/backend.h; nothing is written where nothing is reported. */
int dt_device_state (const struct dt_plugin *p, int now, Detent__WorkerState *ret,
                     struct dt_err *reterr);

#endif
