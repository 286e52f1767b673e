/* gemm/cuda/lt.h - cuBLASLt with every attribute of the algorithm set by hand.
 * Uses: cublasLt's header, gemm.h.  Used by: kernels/gemm/cuda. */
#ifndef KERNELS_GEMM_CUDA_LT_H
#define KERNELS_GEMM_CUDA_LT_H

#include <cublasLt.h>

#include "kernels/gemm/cuda/configs.inc"
#include "kernels/gemm/cuda/gemm.h"

/* One configuration, in cuBLASLt's numbers: every attribute of the algorithm. */
struct gemm_config {
    uint16_t algo, tile, stages, cluster, custom, inner, swizzle;
};

/* The catalogue, in the order of the parameter `config`, from value 1.  It is that of
 * cuBLASLt GEMM_CONFIGS_VERSION; under another it is refused. */
#define GEMM_CONFIG_ONE(...) +1
enum { GEMM_N_CONFIGS = 0 GEMM_CONFIGS (GEMM_CONFIG_ONE) };
extern const struct gemm_config gemm_configs[GEMM_N_CONFIGS];
extern const int64_t gemm_config_values[GEMM_N_CONFIGS + 1]; /* 0 first */

struct gemm_lt; /* owned: the library and a handle */

/* Load cuBLASLt for the current device.
 *   -ENOENT              not there
 *   -DT_BACKEND_EDEVICE  it does not start */
int gemm_lt_new (struct gemm_lt **ret, struct dt_backend_error *err);
struct gemm_lt *gemm_lt_free (struct gemm_lt *lt); /* NULL ok; returns NULL */
size_t gemm_lt_version (const struct gemm_lt *lt); /* 130100 */
size_t gemm_lt_found (void); /* the same, of no handle and no device; 0: not there */

/* A product that is ready to be queued. */
struct gemm_lt_call {
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t w, x, y;
    cudaDataType_t output;
    cublasLtMatmulAlgo_t algo;
    size_t workspace_bytes; /* that the algorithm asks for */
};

/* Descriptors for the shape's rows.  `done` also after a failure. */
int gemm_lt_call_init (struct gemm_lt_call *c, const struct gemm_lt *lt,
                       const struct gemm_shape *s, struct dt_backend_error *err);
void gemm_lt_call_done (struct gemm_lt_call *c, const struct gemm_lt *lt);

/* Choose a configuration with K in 'splits' parts (1: one chain).
 *   -DT_BACKEND_EUNSUPPORTED  the library refuses it for this shape */
int gemm_lt_choose (struct gemm_lt_call *c, const struct gemm_lt *lt,
                    const struct gemm_config *config, int splits, struct dt_backend_error *err);
/* Choose what the library's heuristic puts first, any split allowed. */
int gemm_lt_choose_first (struct gemm_lt_call *c, const struct gemm_lt *lt,
                          struct dt_backend_error *err);
/* The chosen algorithm's attributes. */
void gemm_lt_describe (const struct gemm_lt_call *c, const struct gemm_lt *lt,
                       struct gemm_config *ret, int *ret_splits);

int gemm_lt_launch (const struct gemm_lt_call *c, const struct gemm_lt *lt, cudaStream_t stream,
                    const void *x, const void *w, void *y, void *workspace,
                    struct dt_backend_error *err);

/* Call 'each' for every configuration without split-K that the library takes for the
 * call: all algorithms, tiles and stages that they list, clusters of up to 4 blocks,
 * both swizzles, custom options up to 'max_custom', inner shape 0.  Custom options
 * come last, so that a caller that stops early has seen the plain ones.  'each' is also
 * called with NULL before each tile, since most tiles are refused.  Stops at the first
 * negative result. */
int gemm_lt_each (struct gemm_lt_call *c, const struct gemm_lt *lt, uint32_t max_custom,
                  int (*each) (void *arg, const struct gemm_config *config), void *arg);

/* What an algorithm lists, for the scan's report.
 *   ids [256]  returns how many */
int gemm_lt_algos (const struct gemm_lt_call *c, const struct gemm_lt *lt, int ids[256]);
struct gemm_lt_caps {
    uint32_t tiles, stages[64], n_stages, customs, swizzles;
};
int gemm_lt_caps (const struct gemm_lt_call *c, const struct gemm_lt *lt, int id,
                  struct gemm_lt_caps *ret);
#endif
