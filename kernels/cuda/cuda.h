/* cuda/cuda.h - what the parts of the CUDA backend share.
 * Uses: include/detent/backend.h, the CUDA runtime.
 * Used by: kernels/cuda, kernels/<family>/cuda. */
#ifndef KERNELS_CUDA_H
#define KERNELS_CUDA_H

#include <cuda_runtime_api.h>
#include <detent/backend.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Alignment of every buffer and of every array inside one. */
#define CUDA_ALIGN 256u
/* Launches that a context remembers to have loaded. */
#define CUDA_WARM 4096
/* Families that one context can keep a state of. */
#define CUDA_MAX_FAMILIES 8

struct cuda_nvml;  /* nvml.h  */
struct cuda_clock; /* clock.h */

struct dt_backend_ctx {
    struct dt_backend_identity identity;
    char name[256], driver[80], libraries[256];
    int device;
    size_t l2_bytes;
    cudaStream_t stream;           /* every launch of the context goes here */
    void *state[CUDA_MAX_FAMILIES]; /* each family's own, see cuda_family.open */
    struct cuda_nvml *nvml;        /* NULL: not loaded */
    int joined;                    /* one rank of a group */
    int timed;                     /* runs are timed: by `clock`, or by events if NULL */
    int alone;                     /* other processes that compute on the device are refused */
    struct cuda_clock *clock;
    cudaEvent_t begin, end;
    uint64_t elapsed_ns;           /* of the last timed run */
    uint64_t warm[CUDA_WARM][2];   /* launches seen; only they are timed */
    uint64_t looked_ns;            /* when the device's state was read last: */
    uint32_t others, own;          /*   who else computed at the start, and whether that
                                    *   counts this process, whose number NVML may not know */
    struct dt_backend_state seen;  /*   what it was like */
    uint32_t least_mhz;            /* of the SM clock; below it no time is kept */
    void *sweep;                   /* of a timed context: what is read to empty the L2 cache */
    size_t sweep_bytes;
    char dead[256];                /* the error after which the device gives no more answers */
};

/* One family's entries; each is called with a call that names this family, and
 * with the context's device current.
 *   library NULL: uses none.  Appends what decides bits to ctx->libraries, if it is there;
 *           takes nothing of the device
 *   open    NULL: no state.  Sets ctx->state[slot]; a library that is missing is no error
 *           of the context: keep the text, and let `plan` return it.  One that is there and does
 *           not start is an error: what it would have run is not unsupported
 *   launch  queue the call on ctx->stream; never synchronise, never allocate: it
 *           may be captured into a graph
 *   join    NULL: knows no ranks
 *   wait    NULL: until the stream is idle.  Otherwise also whether the launch did what it
 *           should, and until when that may take
 *   peers   1: once joined, other ranks take part in a run, so it may not be started
 *           again alone
 *   cold    1: the L2 cache is swept before each timed run: an engine comes to these
 *           operands after reading others */
struct cuda_family {
    const struct dt_backend_family *family;
    void (*library) (struct dt_backend_ctx *ctx);
    int (*open) (struct dt_backend_ctx *ctx, size_t slot, struct dt_backend_error *err);
    void (*close) (struct dt_backend_ctx *ctx, size_t slot);
    int (*join) (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_join *join,
                 struct dt_backend_error *err);
    int (*plan) (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 struct dt_backend_plan *ret, struct dt_backend_error *err);
    int (*fill) (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 uint64_t scatter, void *operands, struct dt_backend_error *err);
    int (*launch) (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                   const void *operands, void *output, void *workspace,
                   struct dt_backend_error *err);
    int (*wait) (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 struct dt_backend_error *err);
    int (*rows) (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 struct dt_backend_row *ret, struct dt_backend_error *err);
    int peers, cold;
};

extern const struct cuda_family cuda_allreduce, cuda_gemm;

/* Write one line to 'err' (may be NULL) and return 'code'. */
int cuda_fail (struct dt_backend_error *err, int code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* The same, with the call's facts, size and parameters behind the message. */
int cuda_refuse (const struct dt_backend_call *call, struct dt_backend_error *err, int code,
                 const char *format, ...) __attribute__ ((format (printf, 4, 5)));

/* 1: every later call of the process on this device fails too. */
int cuda_is_fatal (cudaError_t e);

/* 0, or -DT_BACKEND_EDEVICE with 'what' and the error's name.  An error that ends
 * the device's context is -DT_BACKEND_ELOST, and kept in ctx->dead.  'ctx' may be NULL: nothing
 * is then kept. */
int cuda_check (struct dt_backend_ctx *ctx, cudaError_t e, const char *what,
                struct dt_backend_error *err);

/* Behind a failure that may name no CUDA error, since a library met it: 'code' and its text
 * in 'err', or, if an error ended the device's context, -DT_BACKEND_ELOST with that error's
 * name before the text.  Not while the stream is captured. */
int cuda_cause (struct dt_backend_ctx *ctx, int code, struct dt_backend_error *err);

/* Watch the device through NVML, if it is there; before the context uses it, and once it does.
 *   -EBUSY             another process computes on it, which ctx->alone refuses
 *   -DT_BACKEND_ELOST  it is lost */
int cuda_watch (struct dt_backend_ctx *ctx, struct dt_backend_error *err);
int cuda_watch_started (struct dt_backend_ctx *ctx, struct dt_backend_error *err);

/* Read the device's state into ctx->seen, if NVML is there.
 *   -EBUSY             another process came to compute on it, which ctx->alone refuses
 *   -DT_BACKEND_ELOST  it is lost */
int cuda_state (struct dt_backend_ctx *ctx, struct dt_backend_error *err);

/* Every fact and parameter against the family's schema, and per-request values
 * where there may be none.
 *   -EINVAL */
int cuda_check_call (const struct dt_backend_call *call, struct dt_backend_error *err);

/* The host's clock, which nobody sets. */
static inline uint64_t cuda_host_ns (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Mix one word into a digest of two.  Not cryptographic: it tells launches of one
 * call apart. */
void cuda_mix (uint64_t digest[2], uint64_t word);

/* Sizes that stick at SIZE_MAX once they pass it. */
static inline size_t cuda_add (size_t a, size_t b)
{
    size_t sum;

    return __builtin_add_overflow (a, b, &sum) ? (size_t)-1 : sum;
}

static inline size_t cuda_mul (size_t a, size_t b)
{
    size_t product;

    return __builtin_mul_overflow (a, b, &product) ? (size_t)-1 : product;
}

/* 'at' moved up to CUDA_ALIGN. */
static inline size_t cuda_align (size_t at)
{
    return at > (size_t)-1 - CUDA_ALIGN ? (size_t)-1
                                        : (at + CUDA_ALIGN - 1) / CUDA_ALIGN * CUDA_ALIGN;
}

#ifdef __cplusplus
}
#endif
#endif
