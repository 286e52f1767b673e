/* profiler/backend.h - a loaded backend plugin and one call of it.
 * Uses: base/, proto/, include/detent/backend.h.  Used by: profiler/worker.c. */
#ifndef DT_PROFILER_BACKEND_H
#define DT_PROFILER_BACKEND_H

#include "base/err.h"
#include "detent/backend.h"
#include "proto/detent.pb-c.h"

struct dt_plugin {
    void *handle;
    const struct dt_backend *backend;
    struct dt_backend_ctx *ctx;
    uint32_t device; /* that it is open on */
};

/* Load the plugin at an absolute path: its families can be read, and there is no
 * context, for which dt_plugin_open asks for a device.
 *   -ENOENT       cannot be loaded       -DT_EVERSION  another ABI
 *   -DT_EDEVICE   no device, or it could not be opened
 *   -DT_ELOST     it is there, and does not answer
 *   -EBUSY        another process works on it */
int dt_plugin_load (struct dt_plugin *p, const char *path, struct dt_err *reterr);
int dt_plugin_open (struct dt_plugin *p, const char *path,
                    const struct dt_backend_options *options, struct dt_err *reterr);
/* Make the context one rank of a group.  -DT_EDEVICE, -DT_ELOST, -DT_EPEER, -EBUSY */
int dt_plugin_join (struct dt_plugin *p, const struct dt_backend_join *join, struct dt_err *reterr);
void dt_plugin_close (struct dt_plugin *p);
/* A buffer of the context, in which `free` of the backend may be used.
 *   -DT_EDEVICE  also if there is no memory      -DT_ELOST */
int dt_plugin_buffer (const struct dt_backend *b, struct dt_backend_ctx *ctx, size_t bytes, void **ret,
                      struct dt_err *reterr);

/* A call as the backend takes it, with the arrays it borrows. */
struct dt_plugin_call {
    struct dt_backend_call call;
    int64_t *fact;
    struct dt_backend_value *param;
};

/* Translate; arrays of `m` are borrowed.  Facts and parameters are matched by
 * name: every one that the family has must be given; other facts are left out,
 * other parameters refused.
 *   -DT_EINPUT  names what is missing, unknown or of the wrong length */
int dt_plugin_call_init (struct dt_plugin_call *c, const struct dt_backend *b,
                         const Detent__WorkerCall *m, struct dt_err *reterr);
void dt_plugin_call_done (struct dt_plugin_call *c);

/* Put "gemm requests=1 n=2560 k=8192 tokens=5 config=3" before the text of `reterr`: facts,
 * the request's fields if it is one, parameters.  Returns `code`. */
int dt_plugin_named (const struct dt_backend_call *call, int code, struct dt_err *reterr);

#endif
