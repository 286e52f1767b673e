/* profiler/describe.h - what a plugin says of its families, as a message.
 * Uses: base/, proto/, profiler/backend.h.  Used by: profiler/worker.c. */
#ifndef DT_PROFILER_DESCRIBE_H
#define DT_PROFILER_DESCRIBE_H

#include "base/arena.h"
#include "profiler/backend.h"

/* A message that borrows from the plugin, which stays loaded until done. */
struct dt_description {
    struct dt_plugin plugin;
    struct dt_arena arena;
    Detent__WorkerSchema schema; /* DETENT__WORKER_SCHEMA__INIT */
};

/* Load the plugin, and make its families the reply's body.  dt_describe_done whatever
 * happened.  Errors are those of dt_plugin_load. */
int dt_describe_plugin (const char *path, struct dt_description *d, Detent__WorkerReply *ret,
                        struct dt_err *reterr);
void dt_describe_done (struct dt_description *d);

#endif
