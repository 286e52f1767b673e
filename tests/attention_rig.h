/* tests/attention_rig.h - run attention calls through a backend plugin.
 * Uses: tests/family_rig.h.  Used by: tests/test_attention*.c, bench/. */
#ifndef TESTS_ATTENTION_RIG_H
#define TESTS_ATTENTION_RIG_H

#include "tests/family_rig.h"

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

/* fam_job_init and fam_call_init of an attention call; fam_job_done frees what either
 * keeps of it. */
void rig_job_init (struct fam_job *job, struct fam *f, const struct rig_call *call);
void rig_call_init (struct fam_job *job, struct fam *f, const struct rig_call *call);

/* Where the operands lie, as kernels/attention/host/attention.h states. */
struct rig_layout {
    const int64_t *q_start, *kv_start;
    int32_t *table;
    void *q, *k, *v;
    size_t n_physical;
};

void rig_layout (const struct fam_job *job, struct rig_layout *ret);
#endif
