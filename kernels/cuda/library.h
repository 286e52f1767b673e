/* cuda/library.h - libraries of the CUDA toolkit and driver, found at run time.
 * Uses: dlopen.  Used by: kernels/cuda, kernels/<family>/cuda. */
#ifndef KERNELS_CUDA_LIBRARY_H
#define KERNELS_CUDA_LIBRARY_H

#include <detent/backend.h>

struct cuda_symbol {
    const char *name;
    size_t offset; /* of the function pointer in the table */
};

/* Load 'soname' (the loader's path first, then the toolkit's usual folders) and
 * fill 'table' from it.  The library stays loaded: CUDA libraries do not survive
 * being unloaded.
 *   -ENOENT  not there, or without a symbol; the text names library, symbol, remedy */
int cuda_library_load (const char *soname, const struct cuda_symbol *symbols, size_t n_symbols,
                       void *table, struct dt_backend_error *err);
#endif
