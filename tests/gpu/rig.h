/* gpu/rig.h - a loaded CUDA backend and calls of its gemm, for checks and benches.
 * Uses: include/detent/backend.h, verdict.h.  Used by: tests/gpu, bench. */
#ifndef TESTS_GPU_RIG_H
#define TESTS_GPU_RIG_H

#include <detent/backend.h>

#include "tests/gpu/verdict.h"

#define GPU_MAX_REQUESTS 64

struct gpu_rig {
    const struct dt_backend *b;
    struct dt_backend_ctx *ctx;
    const struct dt_backend_family *gemm;
};

/* One call with what it borrows, and its buffers. */
struct gpu_job {
    struct dt_backend_call call;
    int64_t fact[8], tokens[GPU_MAX_REQUESTS];
    uint64_t seed[GPU_MAX_REQUESTS];
    struct dt_backend_value param[8];
    struct dt_backend_plan plan; /* of the largest parameters asked for so far */
    void *operands, *output, *workspace;
};

/* Load the plugin at 'path', and find its family; ends the process, saying why, if that fails. */
const struct dt_backend *gpu_load (const char *path, const char *family,
                                   const struct dt_backend_family **ret_family);

/* Load the plugin at 'path' and open device 0; ends the process, saying why, if that
 * fails: with status 77 if there is no device. */
void gpu_open (struct gpu_rig *rig, const char *path, int timed);
void gpu_close (struct gpu_rig *rig);

/* A call of gemm with one chain, config 0, no padding; no buffers yet. */
void gpu_job_init (struct gpu_job *job, const struct gpu_rig *rig, int64_t n, int64_t k,
                   int output_bf16, const int64_t *tokens, size_t n_requests);
/* Set the parameter or end the process if the backend has no such one. */
void gpu_job_set (struct gpu_job *job, const char *param, int64_t value);
int64_t gpu_values (const struct gpu_rig *rig, const char *param, const int64_t **ret);
/* Plan, make buffers, fill.  0, or the plan's negative code with its text in 'err'. */
int gpu_job_fill (struct gpu_job *job, const struct gpu_rig *rig, struct dt_backend_error *err);
/* As a worker does: again, where a run gives no time. */
int gpu_job_run (struct gpu_job *job, const struct gpu_rig *rig, struct dt_backend_error *err);
void gpu_job_done (struct gpu_job *job, const struct gpu_rig *rig);
#endif
