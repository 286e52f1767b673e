/* gpu/sums.h - calls of the CUDA all-reduce, and the bits that they must give.
 * Uses: kernels/allreduce/cuda, rig.h.  Used by: tests/gpu.  One thread, but for calls of
 * contexts of their own; whatever fails ends the process. */
#ifndef TESTS_GPU_SUMS_H
#define TESTS_GPU_SUMS_H

#include <detent/backend.h>

#include "kernels/allreduce/cuda/allreduce.h"

#define SUM_MAX_REQUESTS 4

extern const struct dt_backend *sum_backend;
extern const struct dt_backend_family *sum_family;

/* Before all else. */
void sum_load (const char *plugin);
/* The caller's to close.  Ends the process with status 77 if there is no such device. */
struct dt_backend_ctx *sum_open (uint32_t device, uint32_t timed);

/* One call and its buffers. */
struct sum_job {
    struct dt_backend_ctx *ctx;
    struct dt_backend_call call;
    int64_t fact[AR_N_FACTS], request[SUM_MAX_REQUESTS * AR_N_FIELDS];
    uint64_t seed[SUM_MAX_REQUESTS];
    struct dt_backend_value param[AR_N_PARAMS];
    struct dt_backend_plan plan;
    struct ar_shape shape; /* as one process of logical ranks, or of `group` */
    struct ar_group group;
    void *operands, *output, *workspace;
};

/* A call of logical ranks on the context's device, of no request yet, 32 blocks; and one of
 * this rank, whose context has joined a group. */
void sum_job_init (struct sum_job *j, struct dt_backend_ctx *ctx, int64_t ranks, int bf16);
void sum_job_join (struct sum_job *j, uint32_t rank);
void sum_job_add (struct sum_job *j, int64_t bytes, uint64_t seed);
/* Operands, and buffers for every algorithm and number of blocks. */
void sum_job_fill (struct sum_job *j, uint32_t data);
/* The whole output, poisoned before the run; the caller frees it. */
unsigned char *sum_job_run (struct sum_job *j);
void sum_job_done (struct sum_job *j);

/* `want`: the bits of the sum in rank order, of a filled job of logical ranks; `far`: how many
 * of them are far from the sum in float64. */
struct sum_reference {
    unsigned char *want;
    size_t far;
};

struct sum_reference sum_reference_of (struct sum_job *j);
void sum_reference_done (struct sum_reference *ref);
float sum_value_at (const unsigned char *x, int bf16, size_t i);

/* A check each: every rank's output is as the reference.  `what` begins the line of a failure.
 * By every algorithm and number of blocks; by every algorithm, `times` each. */
void sum_all_ways (struct sum_job *j, const struct sum_reference *ref, const char *what);
void sum_repeat (struct sum_job *j, const struct sum_reference *ref, int times, const char *what);
#endif
