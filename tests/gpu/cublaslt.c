/* A libcublasLt.so.13 of the version that DT_CUBLASLT_VERSION says, which supports nothing, or,
 * if DT_CUBLASLT_PRODUCT has a status, takes everything until the product, which says that;
 * its handle comes with the status DT_CUBLASLT_CREATE, if there is one.  For tests without a
 * GPU.  Functions of which only the status comes take whatever they are called with. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#pragma GCC visibility push(default)

#define NOT_SUPPORTED 15 /* CUBLAS_STATUS_NOT_SUPPORTED */
#define FAILS(name) \
    int name (void); \
    int name (void) { return getenv ("DT_CUBLASLT_PRODUCT") ? 0 : NOT_SUPPORTED; }

struct result { /* cublasLtMatmulHeuristicResult_t */
    uint64_t algo[8];
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

size_t cublasLtGetVersion (void);
int cublasLtCreate (void **handle);
int cublasLtDestroy (void *handle);
const char *cublasLtGetStatusName (int status);
int cublasLtMatmulAlgoCheck (void *handle, void *op, void *a, void *b, void *c, void *d, void *algo,
                             struct result *ret);
int cublasLtMatmul (void);

size_t cublasLtGetVersion (void)
{
    const char *version = getenv ("DT_CUBLASLT_VERSION");

    return version ? (size_t)strtoul (version, NULL, 10) : 0;
}

int cublasLtCreate (void **handle)
{
    const char *status = getenv ("DT_CUBLASLT_CREATE");

    *handle = NULL;
    return status ? atoi (status) : 0;
}

int cublasLtDestroy (void *handle)
{
    (void)handle;
    return 0;
}

const char *cublasLtGetStatusName (int status)
{
    return status == NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
           : status == 13          ? "CUBLAS_STATUS_EXECUTION_FAILED"
           : status == 3           ? "CUBLAS_STATUS_ALLOC_FAILED"
                                   : "another";
}

int cublasLtMatmulAlgoCheck (void *handle, void *op, void *a, void *b, void *c, void *d, void *algo,
                             struct result *ret)
{
    (void)handle, (void)op, (void)a, (void)b, (void)c, (void)d, (void)algo;
    *ret = (struct result){ .state = 0 };
    return getenv ("DT_CUBLASLT_PRODUCT") ? 0 : NOT_SUPPORTED;
}

int cublasLtMatmul (void)
{
    const char *status = getenv ("DT_CUBLASLT_PRODUCT");

    return status ? atoi (status) : NOT_SUPPORTED;
}

FAILS (cublasLtMatmulDescCreate)
FAILS (cublasLtMatmulDescDestroy)
FAILS (cublasLtMatmulDescSetAttribute)
FAILS (cublasLtMatrixLayoutCreate)
FAILS (cublasLtMatrixLayoutDestroy)
FAILS (cublasLtMatmulPreferenceCreate)
FAILS (cublasLtMatmulPreferenceDestroy)
FAILS (cublasLtMatmulPreferenceSetAttribute)
FAILS (cublasLtMatmulAlgoGetHeuristic)
FAILS (cublasLtMatmulAlgoGetIds)
FAILS (cublasLtMatmulAlgoInit)
FAILS (cublasLtMatmulAlgoCapGetAttribute)
FAILS (cublasLtMatmulAlgoConfigSetAttribute)
FAILS (cublasLtMatmulAlgoConfigGetAttribute)
