/* allreduce/cuda/allreduce.h - a sum over ranks, on GPUs that see each other's memory.
 * Uses: cuda.h.  Used by: kernels/allreduce/cuda, tests/gpu, bench/gpu. */
#ifndef KERNELS_ALLREDUCE_CUDA_H
#define KERNELS_ALLREDUCE_CUDA_H

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AR_MAX_RANKS 16
#define AR_MAX_BLOCKS 128
#define AR_THREADS 512
/* 16-byte vectors that a block moves between two signals, at most. */
#define AR_CHUNK (AR_THREADS * 4u)
/* Chunks of one block that may be on their way.  Rank p signals chunk k before it reads
 * chunk k-1, so its signal k says that k-2 is read; a rank that writes chunk k has seen
 * signal k-2, so k-4 is read everywhere. */
#define AR_SLOTS 4u
/* Words of one block that may be on their way: see words() in reduce.cu. */
#define AR_WORD_SLOTS 2u
/* 16-byte vectors of a block below which words() does not cut a message further. */
#define AR_WORD_LEAST 32u
/* How long a rank waits for another, unless DETENT_CUDA_PEER_MS says otherwise: far
 * beyond any message, and below the deadline of a worker's reply.  All that one `run`
 * launches waits so long together: what follows a launch that gave up ends at once. */
#define AR_TIMEOUT_MS 5000u
/* In `lost`: some rank; NCCL does not say which. */
#define AR_SOME_RANK (AR_MAX_RANKS + 1u)

enum ar_fact { AR_RANKS, AR_BF16, AR_MAX_BYTES, AR_N_FACTS };
enum ar_field { AR_BYTES, AR_CAPTURED, AR_N_FIELDS };
enum ar_param { AR_ORDER, AR_ALGORITHM, AR_BLOCKS, AR_N_PARAMS };
enum ar_order { AR_BY_RANK, AR_NCCL };
enum ar_algorithm { AR_PUSH, AR_PULL, AR_TWO_SHOT, AR_WORDS, AR_N_ALGORITHMS };

/* Where a block of a rank is, in one load. */
struct ar_state {
    uint64_t count; /* chunk that it has reached of those sent as words */
    uint32_t epoch; /* likewise of the others */
    uint32_t lost;  /* 1: a rank did not come, and every launch ends at once */
};

/* A rank's part of the symmetric memory, from its start:
 *   flags  uint32 [AR_MAX_BLOCKS][AR_MAX_RANKS]  chunk that the other rank has reached
 *   state  ar_state [AR_MAX_BLOCKS]              of this rank's blocks
 *   words  [AR_WORD_SLOTS][ranks][slot_blocks][2 * AR_THREADS] of 16 bytes
 *   slots  [AR_SLOTS][ranks][slot_blocks][AR_CHUNK] vectors
 * All but the slots start as zeros. */
#define AR_STATE_AT ((size_t)AR_MAX_BLOCKS * AR_MAX_RANKS * 4)
#define AR_WORDS_AT (AR_STATE_AT + (size_t)AR_MAX_BLOCKS * sizeof (struct ar_state))
static inline size_t ar_slots_at (size_t ranks, size_t slot_blocks)
{
    return AR_WORDS_AT + AR_WORD_SLOTS * ranks * slot_blocks * 2 * AR_THREADS * 16;
}
static inline size_t ar_bank_bytes (size_t ranks, size_t slot_blocks)
{
    return ar_slots_at (ranks, slot_blocks) + AR_SLOTS * ranks * slot_blocks * AR_CHUNK * 16;
}

/* A checked call.  The message is the requests' elements, one after the other, in whole
 * vectors: the last is filled up with zeros.
 *
 * One process per rank (a context that has joined a group): operands and output are this
 * rank's.  Otherwise the ranks are logical: one launch plays all of them on one device.
 *
 * Operands:  start int64 [n_requests + 1] first element of each request
 *            seed  uint64 [n_requests]
 *            x     [ranks here][vectors]
 * Output:    of each request [ranks here][its elements]
 * Workspace (logical ranks alone): raw [ranks][vectors], then a bank of each rank */
struct ar_shape {
    size_t ranks, here, first; /* of the group; in this process; the first of these */
    size_t n_requests, n, vectors;
    int bf16;
    enum ar_order order;
    enum ar_algorithm algorithm;
    size_t blocks, chunk;      /* of one rank; vectors of a chunk */
    int overlap;               /* a launch may overlap the end of the one before */
    size_t start, seed, x, operand_bytes;
    size_t output_bytes;
    size_t bank, bank_bytes, workspace_bytes;
    uint64_t launch[2];
};

/* What one launch is told. */
struct ar_args {
    char *bank[AR_MAX_RANKS]; /* as this process sees them */
    const char *x;            /* [here][vectors] */
    char *out;                /* [here][vectors] */
    uint32_t ranks, first, slot_blocks, chunk;
    uint64_t vectors, slots_at;
    uint32_t *lost;           /* see struct ar_group */
    uint64_t timeout_ns;
#ifdef DT_PLANT
    uint32_t plant;           /* enum ar_plant */
#endif
};

/* Who takes part.  One for each context; `ranks` is 1 before it joins. */
struct ar_group {
    uint32_t rank, ranks;
    char *bank[AR_MAX_RANKS]; /* own memory at `rank`, the others' mapped */
    /* Host memory that the device writes: 0, 1 + the rank that did not come, or
     * AR_SOME_RANK.  The group then has no more sums. */
    volatile uint32_t *lost;
    uint32_t *lost_device;
    uint64_t timeout_ns;
    struct ar_nccl *nccl;     /* NULL: not there or not started; why_nccl says why */
    struct dt_backend_error why_nccl;
    size_t resident;          /* blocks of AR_THREADS that the device runs at once */
    int overlap;              /* see struct ar_shape */
};

/* `g` NULL or of one rank: logical ranks.  Errors as `plan` of the interface. */
int ar_shape_init (struct ar_shape *ret, const struct ar_group *g,
                   const struct dt_backend_call *call, struct dt_backend_error *err);

/* group.c */
void ar_group_library (struct dt_backend_ctx *ctx); /* see cuda_family.library */
int ar_group_open (struct dt_backend_ctx *ctx, struct ar_group **ret, struct dt_backend_error *err);
struct ar_group *ar_group_free (struct ar_group *g); /* NULL ok; returns NULL */
int ar_group_join (struct dt_backend_ctx *ctx, struct ar_group *g, const struct dt_backend_join *join,
                   struct dt_backend_error *err);

/* nccl.c: NCCL, by tree on one channel; its order is its own.  Its group is made by the
 * first launch, so a process that never asks for its order has none. */
int ar_nccl_new (struct ar_nccl **ret, struct dt_backend_error *err);
struct ar_nccl *ar_nccl_free (struct ar_nccl *n); /* NULL ok; returns NULL */
int ar_nccl_version (const struct ar_nccl *n);    /* 22803 */
#define AR_NCCL_ID_BYTES 128
int ar_nccl_id (struct ar_nccl *n, char id[AR_NCCL_ID_BYTES], struct dt_backend_error *err);
void ar_nccl_join (struct ar_nccl *n, const char id[AR_NCCL_ID_BYTES], uint32_t rank, uint32_t ranks,
                   uint64_t timeout_ns);

/* Queue a sum on the context's stream; wait until that is idle.  Each has a patience of its
 * own, as sums may be queued without a wait, and the first sum one more for the group.
 *   -DT_BACKEND_EPEER  a rank is gone, or did not come within `timeout_ns`: NCCL's group is
 *                      given up, and the stream gets idle without a sum
 *   -DT_BACKEND_EDEVICE, -DT_BACKEND_ELOST */
int ar_nccl_launch (struct ar_nccl *n, struct dt_backend_ctx *ctx, const void *x, void *out,
                    size_t elements, int bf16, struct dt_backend_error *err);
int ar_nccl_wait (struct ar_nccl *n, struct dt_backend_ctx *ctx, struct dt_backend_error *err);

/* Kernels; queued on the stream. */
cudaError_t ar_load (size_t *ret_resident, int *ret_overlap); /* before any capture */
cudaError_t ar_launch (cudaStream_t stream, const struct ar_args *a, const struct ar_shape *s);
cudaError_t ar_fill_launch (cudaStream_t stream, const struct ar_shape *s, uint32_t data,
                            uint32_t exchange, void *operands);
/* From [ranks][vectors] to [request][rank][its elements]. */
cudaError_t ar_gather_launch (cudaStream_t stream, const struct ar_shape *s, const void *operands,
                              const void *raw, void *output);

#ifdef __cplusplus
}
#endif
#endif
