/* detentctl/gpu.h - facts of GPU models, from gpus.yaml.
 * Uses: solver/yaml.h, base/suggest.h.  Used by: cmd_deployment_new.c. */
#ifndef DT_CTL_GPU_H
#define DT_CTL_GPU_H

#include "base/arena.h"
#include "solver/yaml.h"

struct dt_gpu {
    const char *name, *device_name;
    int64_t arch, sms, shared_bytes, multicast;
};

/* Find a GPU by its name; texts are in `arena`.
 *   -errno      the file cannot be read
 *   -DT_EINPUT  it is no list of GPUs, or has none of this name (with a suggestion) */
int dt_gpu_find (const char *path, const char *name, struct dt_arena *arena, struct dt_gpu *ret,
                 struct dt_err *reterr);

#endif
