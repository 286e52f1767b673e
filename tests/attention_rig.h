/* tests/attention_rig.h - run attention calls through a backend plugin.
 * Uses: include/detent/backend.h.  Used by: tests/test_attention.c, bench/. */
#ifndef TESTS_ATTENTION_RIG_H
#define TESTS_ATTENTION_RIG_H

#include <detent/backend.h>

#define RIG_MAX_UNITS 4
#define RIG_N_FACTS 10
#define RIG_N_PARAMS 4

struct rig {
    void *object;
    const struct dt_backend *b;
    struct dt_backend_ctx *ctx[RIG_MAX_UNITS + 1]; /* by units; opened when first used */
};

struct rig_site {
    int64_t head_dim, q_heads, kv_heads, page_size, bf16, output_bf16;
    int64_t max_context, max_batch, max_query, window;
};

struct rig_request {
    int64_t query_len, kv_len;
    uint64_t seed;
};

struct rig_params {
    int64_t block_n, split_stride, tile_m, workers_per_request;
};

struct rig_call {
    const struct rig_site *site;
    struct rig_params params;
    size_t n;
    const struct rig_request *request;
    uint64_t scatter;
    int units;
};

/* A call's buffers, ready to run as often as wanted. */
struct rig_job {
    struct rig *rig;
    struct dt_backend_ctx *ctx;
    struct dt_backend_call call;
    struct dt_backend_plan plan;
    struct dt_backend_row *row;   /* [n] */
    unsigned char *operands, *output, *workspace;
    int64_t *fields;
    uint64_t *seeds;
    int64_t facts[RIG_N_FACTS];
    struct dt_backend_value params[RIG_N_PARAMS];
};

/* Load 'name' (relative to the build directory).  Ends the process if it cannot:
 * there is nothing to test. */
void rig_open (struct rig *rig, const char *name);
void rig_close (struct rig *rig);

/* Plan, allocate, poison with all bits set, and fill.  Ends the process on any
 * error, with the backend's message. */
void rig_job_init (struct rig_job *job, struct rig *rig, const struct rig_call *call);
void rig_job_run (struct rig_job *job); /* poisons output and workspace first */
void rig_job_done (struct rig_job *job);

/* The call as the backend takes it, without buffers; see rig_call_done. */
void rig_call_init (struct rig_job *job, struct rig *rig, const struct rig_call *call);
void rig_call_done (struct rig_job *job);

/* Where the operands lie, as kernels/attention/host/attention.h states. */
struct rig_layout {
    const int64_t *q_start, *kv_start;
    int32_t *table;
    void *q, *k, *v;
    size_t n_physical;
};

void rig_layout (const struct rig_job *job, struct rig_layout *ret);
/* Element i of an array of the operands or the output. */
float rig_value (const void *array, size_t i, int bf16);
#endif
