#include "kernels/cuda/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/cuda.h"

int cuda_library_load (const char *soname, const struct cuda_symbol *symbols, size_t n_symbols,
                       void *table, struct dt_backend_error *err)
{
    char path[256];
    void *handle = dlopen (soname, RTLD_NOW | RTLD_LOCAL);
    size_t i;

    snprintf (path, sizeof path, "/usr/local/cuda/lib64/%s", soname);
    if (!handle)
        handle = dlopen (path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return cuda_fail (err, -ENOENT, "%s is not there (%s); add its folder to LD_LIBRARY_PATH",
                          soname, dlerror ());
    for (i = 0; i < n_symbols; i++) {
        void *f = dlsym (handle, symbols[i].name);

        if (!f)
            return cuda_fail (err, -ENOENT, "%s has no function %s; another version is needed",
                              soname, symbols[i].name);
        memcpy ((char *)table + symbols[i].offset, &f, sizeof f);
    }
    return 0;
}
