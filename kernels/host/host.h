/* host/host.h - what the parts of the host backend share.
 * Uses: include/detent/backend.h.  Used by: kernels/host, kernels/<family>/host. */
#ifndef KERNELS_HOST_H
#define KERNELS_HOST_H

#include <detent/backend.h>
#include "kernels/host/pool.h"
#include "kernels/host/team.h"

/* Most worker threads that one context opens. */
#define HOST_MAX_UNITS 1024u
/* Alignment of every buffer, as the interface promises. */
#define HOST_ALIGN 256u

struct dt_backend_ctx {
    struct host_pool *pool;
    struct host_team *team; /* ranks of collectives; NULL until the first */
    struct dt_backend_identity identity;
    char device[128];
    int wide;  /* the processor has AVX2; chooses instructions, never bits */
    int fused; /* ... and fused multiply-adds */
    uint64_t elapsed_ns;
};

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

/* A family's schema, from its file's facts, fields and params. */
#define HOST_FAMILY(title) \
    { \
        .name = title, .facts = facts, .n_facts = ARRAY_SIZE (facts), \
        .request_fields = fields, .n_request_fields = ARRAY_SIZE (fields), \
        .params = params, .n_params = ARRAY_SIZE (params), \
    }

/* What a checked call needs and starts.  row_bytes: of the output, for each one of a
 * request's first field, in the requests' order. */
struct host_size {
    size_t operand_bytes, output_bytes, workspace_bytes, row_bytes;
    uint64_t launch[2];
};

/* One family's entries; each is called with a call that names this family. */
struct host_family {
    const struct dt_backend_family *family;
    int (*plan) (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct host_size *ret, struct dt_backend_error *err);
    int (*fill) (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 uint64_t scatter, void *operands, struct dt_backend_error *err);
    int (*run) (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                const void *operands, void *output, void *workspace,
                struct dt_backend_error *err);
};

extern const struct host_family host_allreduce, host_attention, host_gemm, host_moe, host_rowwise;

/* Write one line to 'err' (may be NULL) and return 'code'. */
int host_fail (struct dt_backend_error *err, int code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* CLOCK_MONOTONIC_RAW. */
uint64_t host_now_ns (void);

/* Mix one word into a digest of two.  Not cryptographic: it tells launches of
 * one call apart. */
void host_mix (uint64_t digest[2], uint64_t word);

static inline size_t host_min (size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t host_div_up (size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* Sizes that stick at SIZE_MAX once they pass it. */
static inline size_t host_add (size_t a, size_t b)
{
    size_t sum;

    return __builtin_add_overflow (a, b, &sum) ? SIZE_MAX : sum;
}

static inline size_t host_mul (size_t a, size_t b)
{
    size_t product;

    return __builtin_mul_overflow (a, b, &product) ? SIZE_MAX : product;
}

/* 'at' moved up to HOST_ALIGN. */
static inline size_t host_align (size_t at)
{
    return at > SIZE_MAX - HOST_ALIGN ? SIZE_MAX : (at + HOST_ALIGN - 1) / HOST_ALIGN * HOST_ALIGN;
}

/* Move '*at' past an array of n elements of 'size' bytes, and return its start. */
static inline size_t host_place (size_t *at, size_t n, size_t size)
{
    size_t start = host_align (*at);

    *at = host_add (start, host_mul (n, size));
    return start;
}
#endif
