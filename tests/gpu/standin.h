/* gpu/standin.h - a device that is not there: the CUDA runtime's calls that the frame and the
 * product make, each noted, and each a failure if the test says so.  The linker puts these
 * in the place of the runtime's (--wrap, tests/local.mk).
 * Used by: tests/gpu/test_cuda_frame.c. */
#ifndef TESTS_GPU_STANDIN_H
#define TESTS_GPU_STANDIN_H

#include <stddef.h>

struct standin {
    const char *fails; /* the call that fails, or NULL */
    int with;          /* its cudaError_t */
    int driver;        /* the version of CUDA that it is for: 13000 */
    size_t swept_bytes;   /* by the last sweep */
    char calls[4096];  /* "cudaSetDevice cudaMalloc ", from the last time that it was emptied */
};

extern struct standin standin;
#endif
