/* tests/moe_rig.h - where a moe call's operands lie, as kernels/moe/host/moe.h states.
 * Uses: tests/family_rig.h.  Used by: tests/test_moe.c, tests/test_moe_invariance.c. */
#ifndef TESTS_MOE_RIG_H
#define TESTS_MOE_RIG_H

#include <stdlib.h>

#include "tests/family_rig.h"

enum { EXPERTS, TOP_K, HIDDEN, INTERMEDIATE, BF16, OUTPUT_BF16, FACTS };
enum { K_STEP, COMBINE, BLOCK_M, TILE_N, ORDER, PARAMS };

struct moe_layout {
    size_t m;
    int32_t *id;
    float *weight;
    const void *x, *gate, *up, *down;
};

static inline void *moe_place (const struct fam_job *job, size_t *at, size_t bytes)
{
    void *start = job->operands + (*at = (*at + 255) / 256 * 256);

    *at += bytes;
    return start;
}

static inline struct moe_layout moe_layout (const struct fam_job *job)
{
    const int64_t *f = job->call.fact;
    size_t elem = f[BF16] ? 2 : 4, at = 0, i, m = 0, top_k = (size_t)f[TOP_K];
    size_t hidden = (size_t)f[HIDDEN], inter = (size_t)f[INTERMEDIATE];
    size_t up = (size_t)f[EXPERTS] * ((inter + 15) / 16 * 16) * hidden;
    size_t down = (size_t)f[EXPERTS] * ((hidden + 15) / 16 * 16) * inter;
    struct moe_layout l;

    for (i = 0; i < job->call.n_requests; i++)
        m += (size_t)job->call.request[2 * i];
    l.m = m;
    moe_place (job, &at, (job->call.n_requests + 1) * 8);
    l.id = moe_place (job, &at, m * top_k * 4);
    l.weight = moe_place (job, &at, m * top_k * 4);
    l.x = moe_place (job, &at, m * hidden * elem);
    l.gate = moe_place (job, &at, up * elem);
    l.up = moe_place (job, &at, up * elem);
    l.down = moe_place (job, &at, down * elem);
    if (at != job->plan.operand_bytes)
        abort (); /* the layout is not as stated */
    return l;
}
#endif
