/* rowwise/host/rowwise.h - the sizes, layout and kernels of one rowwise call.
 * Uses: kernels/host/host.h.  Used by: kernels/rowwise/host, its tests. */
#ifndef KERNELS_ROWWISE_H
#define KERNELS_ROWWISE_H

#include "kernels/host/host.h"

/* Elements after each row of x that belong to nobody: NaN, and never read. */
#define ROW_PAD 8
/* Most lanes of a sum: the largest value of `block`. */
#define ROW_MAX_BLOCK 1024
#define ROW_MAX_SHARDS 8
/* Added to the mean of squares: 2^-20. */
#define ROW_EPSILON 0x1p-20f

enum row_fact { ROW_OP, ROW_COLUMNS, ROW_SHARDS, ROW_BF16, ROW_OUTPUT_BF16, ROW_TOKEN_BUDGET,
                ROW_N_FACTS };
enum row_op { ROW_NORM, ROW_LOG_SOFTMAX, ROW_SAMPLE };
enum row_field { ROW_TOKENS, ROW_N_FIELDS };
enum row_param { ROW_BLOCK, ROW_ROWS, ROW_WORKERS, ROW_N_PARAMS };

/* A sampled token, as it stands in the output. */
struct row_sample {
    int32_t token;      /* -1 if no logit is above -inf */
    float log_prob;
};

/* A checked call.  Offsets are in bytes from the start of the buffer.
 *
 * Operands:
 *   start     int64 [n_requests + 1]   first row of each request
 *   seed      uint64 [n_rows]          sampling: key of the generator ...
 *   position  uint64 [n_rows]          ... and its counter
 *   weight    [columns]                norm
 *   x         [shards][n_rows][width + ROW_PAD]
 * Output:     [n_rows][columns], or struct row_sample [n_rows]
 * Workspace, only if several threads share a row:
 *   best      struct row_best [n_rows][workers]
 *   max       float [n_rows][shards][workers]
 *   sum       float [n_rows][shards][block] */
struct row_shape {
    enum row_op op;
    size_t columns, shards, width; /* width: columns of one shard */
    int bf16, output_bf16;
    size_t block, group, workers;  /* group: rows that a task takes */
    size_t n_requests, n_rows;
    size_t start, seed, position, weight, x;
    size_t best, max, sum;
    struct host_size size;
};

/* Check a call and find its sizes.  Errors as `plan` of the interface. */
int row_shape_init (struct row_shape *ret, const struct dt_backend_call *call,
                    struct dt_backend_error *err);
int row_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call, uint64_t scatter,
              void *operands, struct dt_backend_error *err);
int row_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
             const void *operands, void *output, void *workspace,
             struct dt_backend_error *err);

/* The largest key so far of a sampled row, and its column. */
struct row_best {
    float key;
    int32_t token;
};

/* Some lanes of one row of one shard: lane l of a sum takes columns l, l + block, ...
 * Lanes [lane, end_lane), both multiples of 8. */
struct row_part {
    const struct row_shape *shape;
    const void *x;           /* the shard's row */
    size_t first;            /* its first column among all */
    size_t lane, end_lane;
};

/* Compiled once per instruction set from row.inc.  The bits are the same.
 *   max      of the part's columns; -inf if it has none
 *   choose   the part's best column of a sampled row, against *best
 *   squares  of the part's columns into sum [block], lane by lane
 *   powers   exp (x - max), likewise
 *   tree     sum [block] to one number; sum is spoilt
 *   norm     the part's outputs, at out [columns]
 *   logs     likewise: x - max - log_sum
 *   log_sum  ln of the shards' sums, relative to the largest max[shards] */
struct row_kernels {
    float (*max) (const struct row_part *p);
    void (*choose) (const struct row_part *p, uint64_t key, struct row_best *best);
    void (*squares) (const struct row_part *p, float *sum);
    void (*powers) (const struct row_part *p, float max, float *sum);
    float (*tree) (float *sum, size_t block);
    void (*norm) (const struct row_part *p, const void *weight, float scale, void *out);
    void (*logs) (const struct row_part *p, float max, float log_sum, void *out);
    float (*log_sum) (size_t shards, const float *max, const float *sum, float *ret_max);
};

extern const struct row_kernels row_kernels_base;
#ifdef __x86_64__
extern const struct row_kernels row_kernels_avx2;
#endif

/* The key of a sampled row's generator; the README states it. */
uint64_t row_key (uint64_t seed, uint64_t position);
#endif
