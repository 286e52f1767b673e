/* engines/ref/select.c - the least that an engine does: what does the committed tuple give
 * for one call of attention?  It needs what is installed and no more:
 *
 *     cc select.c $(pkg-config --cflags --libs detent) -o select
 *     ./select host-small chat /usr/lib/detent/detent-backend-host.so 1 900 1 30
 *
 * The numbers are query_len and kv_len of each request of the call.  ref.c is an engine
 * that also runs the kernels and records; it is built in Detent's tree. */
#include <detent/backend.h>
#include <detent/detent.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_REQUESTS 64

/* An engine that is refused stops: it must not run another kernel instead. */
static void stop (const char *why)
{
    fprintf (stderr, "select: %s\n", why);
    exit (1);
}

/* The backend whose kernels are to run must be the one that the tuple was tuned on. */
static void check_backend (struct detent *d, const char *path)
{
    struct dt_backend_options options = { .units = detent_backend_units (d) };
    const struct dt_backend_identity *id;
    struct dt_backend_error why = { "" };
    struct detent_error err = { "" };
    const struct dt_backend *b;
    struct dt_backend_ctx *ctx;
    dt_backend_get_f get;
    void *object;

    if (!(object = dlopen (path, RTLD_NOW | RTLD_LOCAL)))
        stop (dlerror ());
    *(void **)&get = dlsym (object, DT_BACKEND_SYMBOL);
    if (!get || !(b = get ()) || b->abi != DT_BACKEND_ABI)
        stop ("not a Detent backend of this version");
    if (b->open (&options, &ctx, &why) < 0)
        stop (why.text);
    id = b->identity (ctx);
    if (detent_check_backend (d, id->name, id->build, id->libraries, id->driver, id->device,
                              id->units, &err) < 0)
        stop (err.text);
    b->close (ctx);
}

static void print (const struct detent_selector *s, const struct detent_choice *c, size_t n)
{
    for (size_t i = 0; i < c->n_fields; i++) {
        printf ("%s =", detent_selector_field (s, i));
        for (size_t k = 0; k < (c->each[i] ? n : 1); k++)
            printf (" %lld", (long long)(c->each[i] ? c->each[i][k] : c->value[i]));
        putchar ('\n');
    }
}

int main (int argc, char **argv)
{
    struct detent_options o = { .without_tuple = DETENT_REFUSE };
    int64_t request[2 * MAX_REQUESTS];
    struct detent_call call = { 0, request };
    struct detent_error err = { "" };
    struct detent_choice choice;
    struct detent_selector *s;
    struct detent *d;

    if (argc < 6 || argc % 2 || argc > 4 + 2 * MAX_REQUESTS)
        stop ("usage: select DEPLOYMENT WORKLOAD PLUGIN QUERY_LEN KV_LEN ...");
    for (int i = 4; i < argc; i++)
        request[i - 4] = strtoll (argv[i], NULL, 10);
    call.n_requests = (size_t)(argc - 4) / 2;
    o.deployment = argv[1];
    o.workload = argv[2];
    if (detent_open (&o, &d, &err) < 0)
        stop (err.text);
    check_backend (d, argv[3]);
    if (detent_selector_new (d, "attention", "decoder", MAX_REQUESTS, &s, &err) < 0
        || detent_select (s, &call, &choice, &err) < 0)
        stop (err.text);
    print (s, &choice, call.n_requests);
    detent_selector_free (s);
    detent_close (d);
    return 0;
}
