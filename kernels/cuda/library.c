#include "kernels/cuda/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cuda/cuda.h"

/* The loader's own path, then where the toolkit is put and its CUPTI may lie. */
static const char *const folders[] = { "", "/usr/local/cuda/lib64/",
                                       "/usr/local/cuda/extras/CUPTI/lib64/" };

/* 'why' is written if there is none: of a file that is there and cannot be loaded, else the
 * loader's first word. */
static void *load (const char *soname, char *why, size_t size)
{
    void *handle = NULL;
    char path[256];
    size_t i;

    for (i = 0; !handle && i < sizeof folders / sizeof *folders; i++) {
        snprintf (path, sizeof path, "%s%s", folders[i], soname);
        if (!(handle = dlopen (path, RTLD_NOW | RTLD_LOCAL)) && (i == 0 || access (path, F_OK) == 0))
            snprintf (why, size, "%s", dlerror ());
    }
    return handle;
}

int cuda_library_load (const char *soname, const struct cuda_symbol *symbols, size_t n_symbols,
                       void *table, struct dt_backend_error *err)
{
    char why[256];
    void *handle = load (soname, why, sizeof why);
    size_t i;

    if (!handle)
        return cuda_fail (err, -ENOENT, "%s is not there (%s); add its folder to LD_LIBRARY_PATH",
                          soname, why);
    for (i = 0; i < n_symbols; i++) {
        void *f = dlsym (handle, symbols[i].name);

        if (!f)
            return cuda_fail (err, -ENOENT, "%s has no function %s; another version is needed",
                              soname, symbols[i].name);
        memcpy ((char *)table + symbols[i].offset, &f, sizeof f);
    }
    return 0;
}
