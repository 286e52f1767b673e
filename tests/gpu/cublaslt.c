/* A libcublasLt.so.13 of the version that DT_CUBLASLT_VERSION says, which supports nothing:
 * for tests without a GPU.  Functions that only fail take whatever they are called with. */
#include <stddef.h>
#include <stdlib.h>

#pragma GCC visibility push(default)

#define NOT_SUPPORTED 15 /* CUBLAS_STATUS_NOT_SUPPORTED */
#define FAILS(name) \
    int name (void); \
    int name (void) { return NOT_SUPPORTED; }

size_t cublasLtGetVersion (void);
int cublasLtCreate (void **handle);
int cublasLtDestroy (void *handle);
const char *cublasLtGetStatusName (int status);

size_t cublasLtGetVersion (void)
{
    const char *version = getenv ("DT_CUBLASLT_VERSION");

    return version ? (size_t)strtoul (version, NULL, 10) : 0;
}

int cublasLtCreate (void **handle)
{
    *handle = NULL;
    return 0;
}

int cublasLtDestroy (void *handle)
{
    (void)handle;
    return 0;
}

const char *cublasLtGetStatusName (int status)
{
    return status == NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "another";
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
FAILS (cublasLtMatmulAlgoCheck)
FAILS (cublasLtMatmulAlgoCapGetAttribute)
FAILS (cublasLtMatmulAlgoConfigSetAttribute)
FAILS (cublasLtMatmulAlgoConfigGetAttribute)
FAILS (cublasLtMatmul)
