#include "kernels/gemm/cuda/lt.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "kernels/cuda/library.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))
#define MAX_ALGOS 256
#define MAX_IDS 1024

struct gemm_lt {
    size_t (*version) (void);
    cublasStatus_t (*create) (cublasLtHandle_t *handle);
    cublasStatus_t (*destroy) (cublasLtHandle_t handle);
    const char *(*status_name) (cublasStatus_t status);
    cublasStatus_t (*op_create) (cublasLtMatmulDesc_t *, cublasComputeType_t, cudaDataType_t);
    cublasStatus_t (*op_destroy) (cublasLtMatmulDesc_t);
    cublasStatus_t (*op_set) (cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void *,
                              size_t);
    cublasStatus_t (*layout_create) (cublasLtMatrixLayout_t *, cudaDataType, uint64_t, uint64_t,
                                     int64_t);
    cublasStatus_t (*layout_destroy) (cublasLtMatrixLayout_t);
    cublasStatus_t (*pref_create) (cublasLtMatmulPreference_t *);
    cublasStatus_t (*pref_destroy) (cublasLtMatmulPreference_t);
    cublasStatus_t (*pref_set) (cublasLtMatmulPreference_t,
                                cublasLtMatmulPreferenceAttributes_t, const void *, size_t);
    cublasStatus_t (*heuristic) (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                 cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                 cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                                 cublasLtMatmulHeuristicResult_t *, int *);
    cublasStatus_t (*get_ids) (cublasLtHandle_t, cublasComputeType_t, cudaDataType_t,
                               cudaDataType_t, cudaDataType_t, cudaDataType_t, cudaDataType_t, int,
                               int *, int *);
    cublasStatus_t (*init) (cublasLtHandle_t, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                            cudaDataType_t, cudaDataType_t, cudaDataType_t, int,
                            cublasLtMatmulAlgo_t *);
    cublasStatus_t (*check) (cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                             cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                             cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *,
                             cublasLtMatmulHeuristicResult_t *);
    cublasStatus_t (*cap) (const cublasLtMatmulAlgo_t *, cublasLtMatmulAlgoCapAttributes_t, void *,
                           size_t, size_t *);
    cublasStatus_t (*config_set) (cublasLtMatmulAlgo_t *, cublasLtMatmulAlgoConfigAttributes_t,
                                  const void *, size_t);
    cublasStatus_t (*config_get) (const cublasLtMatmulAlgo_t *,
                                  cublasLtMatmulAlgoConfigAttributes_t, void *, size_t, size_t *);
    cublasStatus_t (*matmul) (cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *,
                              cublasLtMatrixLayout_t, const void *, cublasLtMatrixLayout_t,
                              const void *, const void *, cublasLtMatrixLayout_t, void *,
                              cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, void *, size_t,
                              cudaStream_t);
    cublasLtHandle_t handle;
};

static const struct cuda_symbol symbols[] = {
    { "cublasLtGetVersion", offsetof (struct gemm_lt, version) },
    { "cublasLtCreate", offsetof (struct gemm_lt, create) },
    { "cublasLtDestroy", offsetof (struct gemm_lt, destroy) },
    { "cublasLtGetStatusName", offsetof (struct gemm_lt, status_name) },
    { "cublasLtMatmulDescCreate", offsetof (struct gemm_lt, op_create) },
    { "cublasLtMatmulDescDestroy", offsetof (struct gemm_lt, op_destroy) },
    { "cublasLtMatmulDescSetAttribute", offsetof (struct gemm_lt, op_set) },
    { "cublasLtMatrixLayoutCreate", offsetof (struct gemm_lt, layout_create) },
    { "cublasLtMatrixLayoutDestroy", offsetof (struct gemm_lt, layout_destroy) },
    { "cublasLtMatmulPreferenceCreate", offsetof (struct gemm_lt, pref_create) },
    { "cublasLtMatmulPreferenceDestroy", offsetof (struct gemm_lt, pref_destroy) },
    { "cublasLtMatmulPreferenceSetAttribute", offsetof (struct gemm_lt, pref_set) },
    { "cublasLtMatmulAlgoGetHeuristic", offsetof (struct gemm_lt, heuristic) },
    { "cublasLtMatmulAlgoGetIds", offsetof (struct gemm_lt, get_ids) },
    { "cublasLtMatmulAlgoInit", offsetof (struct gemm_lt, init) },
    { "cublasLtMatmulAlgoCheck", offsetof (struct gemm_lt, check) },
    { "cublasLtMatmulAlgoCapGetAttribute", offsetof (struct gemm_lt, cap) },
    { "cublasLtMatmulAlgoConfigSetAttribute", offsetof (struct gemm_lt, config_set) },
    { "cublasLtMatmulAlgoConfigGetAttribute", offsetof (struct gemm_lt, config_get) },
    { "cublasLtMatmul", offsetof (struct gemm_lt, matmul) },
};

/* 'code' is what it means if the library refuses what it is asked for; whatever else it says
 * may have its cause in the device. */
static int check (const struct gemm_lt *lt, cublasStatus_t status, int code, const char *what,
                  struct dt_backend_error *err)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE
        && status != CUBLAS_STATUS_ARCH_MISMATCH)
        code = -DT_BACKEND_EDEVICE;
    return cuda_fail (err, code, "cublasLt %s: %s (%d)", what, lt->status_name (status),
                      (int)status);
}

int gemm_lt_new (struct gemm_lt **ret, struct dt_backend_error *err)
{
    struct gemm_lt *lt = calloc (1, sizeof *lt);
    int r;

    if (!lt)
        return cuda_fail (err, -ENOMEM, "cublasLt: out of memory");
    if ((r = cuda_library_load ("libcublasLt.so.13", symbols, ARRAY_SIZE (symbols), lt, err)) < 0
        || (r = check (lt, lt->create (&lt->handle), -DT_BACKEND_EDEVICE, "handle", err)) < 0) {
        free (lt);
        return r;
    }
    *ret = lt;
    return 0;
}

struct gemm_lt *gemm_lt_free (struct gemm_lt *lt)
{
    if (!lt)
        return NULL;
    lt->destroy (lt->handle);
    free (lt);
    return NULL;
}

size_t gemm_lt_version (const struct gemm_lt *lt)
{
    return lt->version ();
}

size_t gemm_lt_found (void)
{
    struct dt_backend_error ignored;
    struct gemm_lt lt;

    return cuda_library_load ("libcublasLt.so.13", symbols, ARRAY_SIZE (symbols), &lt, &ignored) < 0
               ? 0 : lt.version ();
}

static cudaDataType_t output_type (const struct gemm_shape *s)
{
    return s->output_bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* Row-major y = x W^T is column-major y' = W x': the library's A is the weights,
 * transposed, its B the tokens. */
int gemm_lt_call_init (struct gemm_lt_call *c, const struct gemm_lt *lt,
                       const struct gemm_shape *s, struct dt_backend_error *err)
{
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const int code = -DT_BACKEND_EDEVICE;
    int r;

    *c = (struct gemm_lt_call){ .output = output_type (s) };
    if ((r = check (lt, lt->op_create (&c->op, CUBLAS_COMPUTE_32F, CUDA_R_32F), code, "operation",
                    err)) < 0
        || (r = check (lt, lt->op_set (c->op, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                       sizeof transposed), code, "transposition", err)) < 0
        || (r = check (lt, lt->layout_create (&c->w, CUDA_R_16BF, s->k, s->n, (int64_t)s->k), code,
                       "layout of the weights", err)) < 0
        || (r = check (lt, lt->layout_create (&c->x, CUDA_R_16BF, s->k, s->rows, (int64_t)s->k),
                       code, "layout of the tokens", err)) < 0)
        return r;
    return check (lt, lt->layout_create (&c->y, c->output, s->n, s->rows, (int64_t)s->n), code,
                  "layout of the output", err);
}

void gemm_lt_call_done (struct gemm_lt_call *c, const struct gemm_lt *lt)
{
    if (c->op)
        lt->op_destroy (c->op);
    if (c->w)
        lt->layout_destroy (c->w);
    if (c->x)
        lt->layout_destroy (c->x);
    if (c->y)
        lt->layout_destroy (c->y);
    *c = (struct gemm_lt_call){ 0 };
}

static cublasStatus_t set32 (const struct gemm_lt *lt, cublasLtMatmulAlgo_t *algo,
                             cublasLtMatmulAlgoConfigAttributes_t attribute, uint32_t value)
{
    return lt->config_set (algo, attribute, &value, sizeof value);
}

static cublasStatus_t set16 (const struct gemm_lt *lt, cublasLtMatmulAlgo_t *algo,
                             cublasLtMatmulAlgoConfigAttributes_t attribute, uint16_t value)
{
    return lt->config_set (algo, attribute, &value, sizeof value);
}

/* Write all eight attributes.  Split K is summed in fp32, in the workspace. */
static cublasStatus_t set_config (const struct gemm_lt *lt, cublasLtMatmulAlgo_t *algo,
                                  const struct gemm_config *g, int splits)
{
    uint32_t scheme = splits > 1 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                  : CUBLASLT_REDUCTION_SCHEME_NONE;
    cublasStatus_t s;

    if ((s = set32 (lt, algo, CUBLASLT_ALGO_CONFIG_TILE_ID, g->tile)) != CUBLAS_STATUS_SUCCESS
        || (s = set32 (lt, algo, CUBLASLT_ALGO_CONFIG_STAGES_ID, g->stages))
            != CUBLAS_STATUS_SUCCESS
        || (s = set32 (lt, algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, (uint32_t)splits))
            != CUBLAS_STATUS_SUCCESS
        || (s = set32 (lt, algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, scheme))
            != CUBLAS_STATUS_SUCCESS
        || (s = set32 (lt, algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, g->swizzle))
            != CUBLAS_STATUS_SUCCESS
        || (s = set32 (lt, algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, g->custom))
            != CUBLAS_STATUS_SUCCESS
        || (s = set16 (lt, algo, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, g->inner))
            != CUBLAS_STATUS_SUCCESS)
        return s;
    return set16 (lt, algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, g->cluster);
}

static cublasStatus_t init_algo (const struct gemm_lt_call *c, const struct gemm_lt *lt, int id,
                                 cublasLtMatmulAlgo_t *ret)
{
    return lt->init (lt->handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF,
                     c->output, c->output, id, ret);
}

int gemm_lt_choose (struct gemm_lt_call *c, const struct gemm_lt *lt,
                    const struct gemm_config *config, int splits, struct dt_backend_error *err)
{
    const int code = -DT_BACKEND_EUNSUPPORTED;
    cublasLtMatmulHeuristicResult_t found;
    cublasLtMatmulAlgo_t algo;
    int r;

    if ((r = check (lt, init_algo (c, lt, config->algo, &algo), code, "algorithm",
                    err)) < 0
        || (r = check (lt, set_config (lt, &algo, config, splits), code, "configuration",
                       err)) < 0
        || (r = check (lt, lt->check (lt->handle, c->op, c->w, c->x, c->y, c->y, &algo, &found),
                       code, "takes no such configuration", err)) < 0)
        return r;
    if (found.workspaceSize > GEMM_WORKSPACE_BYTES)
        return cuda_fail (err, code, "cublasLt asks for a workspace of %zu bytes; %zu is all there"
                          " is", found.workspaceSize, GEMM_WORKSPACE_BYTES);
    c->algo = algo;
    c->workspace_bytes = found.workspaceSize;
    return 0;
}

int gemm_lt_choose_first (struct gemm_lt_call *c, const struct gemm_lt *lt,
                          struct dt_backend_error *err)
{
    const uint64_t workspace = GEMM_WORKSPACE_BYTES;
    cublasLtMatmulPreference_t pref = NULL;
    cublasLtMatmulHeuristicResult_t found;
    int n = 0, r;

    if ((r = check (lt, lt->pref_create (&pref), -DT_BACKEND_EDEVICE, "preference", err)) < 0)
        return r;
    if ((r = check (lt, lt->pref_set (pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                      sizeof workspace), -DT_BACKEND_EDEVICE, "workspace",
                    err)) == 0)
        r = check (lt, lt->heuristic (lt->handle, c->op, c->w, c->x, c->y, c->y, pref, 1, &found,
                                      &n), -DT_BACKEND_EUNSUPPORTED, "heuristic", err);
    lt->pref_destroy (pref);
    if (r < 0)
        return r;
    if (n < 1 || found.state != CUBLAS_STATUS_SUCCESS)
        return cuda_fail (err, -DT_BACKEND_EUNSUPPORTED, "cublasLt's heuristic finds nothing");
    c->algo = found.algo;
    c->workspace_bytes = found.workspaceSize;
    return 0;
}

static uint32_t get_config (const struct gemm_lt *lt, const cublasLtMatmulAlgo_t *algo,
                            cublasLtMatmulAlgoConfigAttributes_t attribute, size_t size)
{
    uint32_t v = 0;
    size_t written;

    return lt->config_get (algo, attribute, &v, size, &written) == CUBLAS_STATUS_SUCCESS ? v : 0;
}

void gemm_lt_describe (const struct gemm_lt_call *c, const struct gemm_lt *lt,
                       struct gemm_config *ret, int *ret_splits)
{
    const cublasLtMatmulAlgo_t *a = &c->algo;

    *ret = (struct gemm_config){
        .algo = (uint16_t)get_config (lt, a, CUBLASLT_ALGO_CONFIG_ID, 4),
        .tile = (uint16_t)get_config (lt, a, CUBLASLT_ALGO_CONFIG_TILE_ID, 4),
        .stages = (uint16_t)get_config (lt, a, CUBLASLT_ALGO_CONFIG_STAGES_ID, 4),
        .cluster = (uint16_t)get_config (lt, a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2),
        .custom = (uint16_t)get_config (lt, a, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4),
        .inner = (uint16_t)get_config (lt, a, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2),
        .swizzle = (uint16_t)get_config (lt, a, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4),
    };
    *ret_splits = (int)get_config (lt, a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4);
}

int gemm_lt_launch (const struct gemm_lt_call *c, const struct gemm_lt *lt, cudaStream_t stream,
                    const void *x, const void *w, void *y, void *workspace,
                    struct dt_backend_error *err)
{
    const float one = 1.0f, zero = 0.0f;

    return check (lt, lt->matmul (lt->handle, c->op, &one, w, c->w, x, c->x, &zero, y, c->y, y,
                                  c->y, &c->algo, workspace, workspace ? GEMM_WORKSPACE_BYTES : 0,
                                  stream), -DT_BACKEND_EDEVICE, "product", err);
}

/* The ids of a capability, or one 0 if the algorithm lists none. */
static size_t cap_ids (const struct gemm_lt *lt, const cublasLtMatmulAlgo_t *algo,
                       cublasLtMatmulAlgoCapAttributes_t cap, uint32_t ids[MAX_IDS])
{
    size_t bytes = 0;

    if (lt->cap (algo, cap, ids, MAX_IDS * sizeof *ids, &bytes) != CUBLAS_STATUS_SUCCESS)
        bytes = 0;
    if (bytes / sizeof *ids == 0)
        ids[0] = 0;
    return bytes / sizeof *ids ? bytes / sizeof *ids : 1;
}

static uint32_t cap_one (const struct gemm_lt *lt, const cublasLtMatmulAlgo_t *algo,
                         cublasLtMatmulAlgoCapAttributes_t cap)
{
    uint32_t v = 0;
    size_t written;

    return lt->cap (algo, cap, &v, sizeof v, &written) == CUBLAS_STATUS_SUCCESS ? v : 0;
}

int gemm_lt_algos (const struct gemm_lt_call *c, const struct gemm_lt *lt, int ids[256])
{
    int n = 0;

    if (lt->get_ids (lt->handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF,
                     c->output, c->output, MAX_ALGOS, ids, &n) != CUBLAS_STATUS_SUCCESS)
        return 0;
    return n;
}

int gemm_lt_caps (const struct gemm_lt_call *c, const struct gemm_lt *lt, int id,
                  struct gemm_lt_caps *ret)
{
    uint32_t ids[MAX_IDS];
    cublasLtMatmulAlgo_t algo;
    size_t i, n;

    if (init_algo (c, lt, id, &algo) != CUBLAS_STATUS_SUCCESS)
        return -DT_BACKEND_EUNSUPPORTED;
    *ret = (struct gemm_lt_caps){
        .tiles = (uint32_t)cap_ids (lt, &algo, CUBLASLT_ALGO_CAP_TILE_IDS, ids),
        .customs = cap_one (lt, &algo, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX),
        .swizzles = cap_one (lt, &algo, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT),
    };
    n = cap_ids (lt, &algo, CUBLASLT_ALGO_CAP_STAGES_IDS, ids);
    for (i = 0; i < n && i < ARRAY_SIZE (ret->stages); i++)
        ret->stages[i] = ids[i];
    ret->n_stages = (uint32_t)i;
    return 0;
}

/* All tiles and stages of one algorithm, custom option and swizzle. */
static int each_tile (struct gemm_lt_call *c, const struct gemm_lt *lt, struct gemm_config g,
                      int (*each) (void *arg, const struct gemm_config *config), void *arg)
{
    static const uint16_t clusters[] = {
        CUBLASLT_CLUSTER_SHAPE_1x1x1, CUBLASLT_CLUSTER_SHAPE_2x1x1, CUBLASLT_CLUSTER_SHAPE_1x2x1,
        CUBLASLT_CLUSTER_SHAPE_4x1x1, CUBLASLT_CLUSTER_SHAPE_1x4x1, CUBLASLT_CLUSTER_SHAPE_2x2x1,
    };
    uint32_t tiles[MAX_IDS], stages[MAX_IDS];
    size_t n_tiles, n_stages, t, s, i;
    cublasLtMatmulAlgo_t algo;
    int r;

    if (init_algo (c, lt, g.algo, &algo) != CUBLAS_STATUS_SUCCESS)
        return 0;
    n_tiles = cap_ids (lt, &algo, CUBLASLT_ALGO_CAP_TILE_IDS, tiles);
    n_stages = cap_ids (lt, &algo, CUBLASLT_ALGO_CAP_STAGES_IDS, stages);
    for (t = 0; t < n_tiles; t++) {
        if ((r = each (arg, NULL)) < 0)
            return r;
        for (s = 0; s < n_stages; s++)
            for (i = 0; i < ARRAY_SIZE (clusters); i++) {
                g.tile = (uint16_t)tiles[t];
                g.stages = (uint16_t)stages[s];
                g.cluster = clusters[i];
                if (gemm_lt_choose (c, lt, &g, 1, NULL) == 0 && (r = each (arg, &g)) < 0)
                    return r;
            }
    }
    return 0;
}

int gemm_lt_each (struct gemm_lt_call *c, const struct gemm_lt *lt, uint32_t max_custom,
                  int (*each) (void *arg, const struct gemm_config *config), void *arg)
{
    int ids[MAX_ALGOS], n = gemm_lt_algos (c, lt, ids), i, r;
    struct gemm_config g = { 0 };
    struct gemm_lt_caps caps;
    uint32_t custom, swizzle;

    for (custom = 0; custom <= max_custom; custom++)
        for (swizzle = 0; swizzle < 2; swizzle++)
            for (i = 0; i < n; i++) {
                g.algo = (uint16_t)ids[i];
                g.custom = (uint16_t)custom;
                g.swizzle = (uint16_t)swizzle;
                if (gemm_lt_caps (c, lt, ids[i], &caps) == 0 && custom <= caps.customs
                    && (!swizzle || caps.swizzles) && (r = each_tile (c, lt, g, each, arg)) < 0)
                    return r;
            }
    return 0;
}
