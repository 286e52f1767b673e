/* tests/serve_bundle.c - a daemon that serves one bundle of attention selectors for
 * a backend, until its standard input ends.
 * usage: serve_bundle ENDPOINT PLUGIN UNITS */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "detent/backend.h"
#include "tests/detent_rig.h"

int main (int argc, char **argv)
{
    struct dt_backend_options options = { .units = argc == 4 ? (uint32_t)atoi (argv[3]) : 0 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = NULL;
    const struct dt_backend *backend;
    Detent__FetchReply *bundle;
    struct rig_daemon server = { .code = 0 };
    dt_backend_get_f get;
    void *object;

    if (argc != 4 || !(object = dlopen (argv[2], RTLD_NOW | RTLD_LOCAL))) {
        fprintf (stderr, "usage: serve_bundle ENDPOINT PLUGIN UNITS\n");
        return 2;
    }
    *(void **)&get = dlsym (object, DT_BACKEND_SYMBOL);
    if (!get || (backend = get ())->open (&options, &ctx, &err) < 0) {
        fprintf (stderr, "%s: %s\n", argv[2], err.text);
        return 1;
    }
    bundle = rig_attention (backend->identity (ctx));
    rig_daemon_start (&server, argv[1], bundle);
    puts ("ready");
    fflush (stdout);
    while (getchar () != EOF)
        ;
    rig_daemon_stop (&server);
    detent__fetch_reply__free_unpacked (bundle, NULL);
    backend->close (ctx);
    return 0;
}
