#include "profiler/device.h"

#include <errno.h>

#include "base/mem.h"

int dt_device_names (const Detent__WorkerDevices *m, struct dt_device_reply *ret,
                     struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_plugin p;
    int r;

    if (m->count < 1 || m->count > DT_DEVICES_MAX)
        return dt_err_set (reterr, -DT_EINPUT, "%u devices; 1 to %d are possible", m->count,
                           DT_DEVICES_MAX);
    if ((r = dt_plugin_load (&p, m->backend, reterr)) < 0)
        return r;
    ret->names.has_devices = 1;
    ret->names.devices = p.backend->join ? m->count : 1;
    for (uint32_t i = 0; r == 0 && p.backend->device_name && i < ret->names.devices; i++) {
        if ((r = p.backend->device_name (m->first + i, ret->text[i], DT_DEVICE_NAME, &err)) < 0)
            r = dt_err_set (reterr, r == -DT_BACKEND_ELOST ? r : -DT_EDEVICE, "backend %s: %s",
                            m->backend, err.text);
        ret->name[i] = ret->text[i];
        ret->names.n_name = i + 1;
    }
    ret->names.name = ret->name;
    dt_plugin_close (&p);
    return r;
}

void dt_device_tell (const struct dt_plugin *p, Detent__WorkerIdentity *ret)
{
    const struct dt_backend_identity *id = p->backend->identity (p->ctx);

    ret->name = (char *)id->name;
    ret->build = (char *)id->build;
    ret->libraries = (char *)id->libraries;
    ret->driver = (char *)id->driver;
    ret->device = (char *)id->device;
    ret->units = id->units;
    ret->clock = (char *)p->backend->clock;
    ret->caches = (char *)p->backend->caches;
}

int dt_device_identify (const Detent__WorkerIdentify *m, struct dt_device_reply *ret,
                        struct dt_err *reterr)
{
    struct dt_backend_options options = { .units = m->units, .device = m->device, .identify = 1 };
    int r = dt_plugin_open (&ret->plugin, m->backend, &options, reterr);

    if (r == 0)
        dt_device_tell (&ret->plugin, &ret->who);
    return r;
}

void dt_device_done (struct dt_device_reply *d)
{
    dt_plugin_close (&d->plugin);
}

/* Write, read and compare, in a buffer of the device and one of the host. */
static int try_memory (const struct dt_plugin *p, void *device, uint8_t *host,
                       struct dt_err *reterr)
{
    const struct dt_backend *b = p->backend;
    struct dt_backend_error err = { "" };
    size_t i = 0;
    int r;

    if ((r = b->set (p->ctx, device, 0x5a, DT_DEVICE_PROBE_BYTES, &err)) < 0
        || (r = b->read (p->ctx, device, 0, DT_DEVICE_PROBE_BYTES, host, &err)) < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    while (i < DT_DEVICE_PROBE_BYTES && host[i] == 0x5a)
        i++;
    return i == DT_DEVICE_PROBE_BYTES
               ? 0
               : dt_err_set (reterr, -DT_EDEVICE, "the device's memory does not hold what is "
                             "written to it (byte %zu of %u)", i, DT_DEVICE_PROBE_BYTES);
}

int dt_device_probe (const Detent__WorkerProbe *m, Detent__WorkerState *ret,
                     struct dt_err *reterr)
{
    struct dt_backend_options options = { .units = 1, .device = m->device,
                                          .others = m->shared ? DT_BACKEND_OTHERS_TAKEN
                                                              : DT_BACKEND_OTHERS_REFUSED };
    uint8_t *host = NULL;
    struct dt_plugin p;
    void *device = NULL;
    int r;

    if ((r = dt_plugin_open (&p, m->backend, &options, reterr)) < 0)
        return r;
    if ((r = dt_plugin_buffer (p.backend, p.ctx, DT_DEVICE_PROBE_BYTES, &device, reterr)) == 0)
        r = (host = dt_calloc (DT_DEVICE_PROBE_BYTES, 1)) ? 0 : dt_err_nomem (reterr);
    if (r == 0 && (r = try_memory (&p, device, host, reterr)) == 0)
        r = dt_device_state (&p, 1, ret, reterr);
    if (device)
        p.backend->free (p.ctx, device);
    dt_free (host);
    dt_plugin_close (&p);
    return r;
}

int dt_device_state (const struct dt_plugin *p, int now, Detent__WorkerState *ret,
                     struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_state s = { 0 };
    int r;

    if (!p->backend->state)
        return 0;
    if ((r = p->backend->state (p->ctx, now, &s, &err)) < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    ret->has_clock_mhz = s.clock_mhz != 0;
    ret->clock_mhz = s.clock_mhz;
    ret->has_memory_mhz = s.memory_mhz != 0;
    ret->memory_mhz = s.memory_mhz;
    ret->has_reasons = !!(s.known & DT_BACKEND_KNOWS_REASONS); /* a mask of 0 says something too */
    ret->reasons = s.reasons;
    ret->has_others = !!(s.known & DT_BACKEND_KNOWS_OTHERS);
    ret->others = s.others;
    return 0;
}
