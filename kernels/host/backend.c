/* The host backend: contexts, memory, and the table of its families. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "kernels/host/host.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/host/build.h" /* made: HOST_BUILD */

/* The tests' build with planted faults is not the shipped one, and says so. */
#ifdef DT_PLANT
#define BUILD HOST_BUILD "-planted"
#else
#define BUILD HOST_BUILD
#endif

static const struct host_family *const entries[] = {
    &host_attention,
    &host_allreduce,
    &host_gemm,
    &host_moe,
    &host_rowwise,
};

static struct dt_backend_family families[ARRAY_SIZE (entries)];

int host_fail (struct dt_backend_error *err, int code, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    va_start (args, format);
    vsnprintf (err->text, sizeof err->text, format, args);
    va_end (args);
    return code;
}

uint64_t host_now_ns (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void host_mix (uint64_t digest[2], uint64_t word)
{
    static const uint64_t odd[2] = { 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu };
    int i;

    for (i = 0; i < 2; i++) {
        uint64_t x = (digest[i] ^ word) * odd[i];

        x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
        digest[i] = x ^ (x >> 32);
    }
}

/* The first "model name" of /proc/cpuinfo. */
static void find_device (char *ret, size_t size)
{
    FILE *f = fopen ("/proc/cpuinfo", "r");
    char line[256];

    snprintf (ret, size, "unknown processor");
    if (!f)
        return;
    while (fgets (line, sizeof line, f)) {
        char *colon = strchr (line, ':');

        if (strncmp (line, "model name", 10) != 0 || !colon)
            continue;
        line[strcspn (line, "\n")] = 0;
        snprintf (ret, size, "%s", colon + 1 + strspn (colon + 1, " \t"));
        break;
    }
    fclose (f);
}

static uint32_t count_units (void)
{
    cpu_set_t set;
    int n;

    if (sched_getaffinity (0, sizeof set, &set) < 0)
        return 1;
    n = CPU_COUNT (&set);
    return n < 1 ? 1 : (uint32_t)n > HOST_MAX_UNITS ? HOST_MAX_UNITS : (uint32_t)n;
}

static int has_wide_vectors (void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports ("avx2") != 0;
#else
    return 0;
#endif
}

static int has_fused (void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports ("fma") != 0;
#else
    return 0;
#endif
}

static void close_ctx (struct dt_backend_ctx *ctx)
{
    if (!ctx)
        return;
    host_pool_free (ctx->pool);
    host_team_free (ctx->team);
    free (ctx);
}

static int open_ctx (const struct dt_backend_options *options, struct dt_backend_ctx **ret,
                     struct dt_backend_error *err)
{
    uint32_t units = options && options->units ? options->units : count_units ();
    struct dt_backend_ctx *ctx;
    int r;

    if (options && options->device != 0)
        return host_fail (err, -ENODEV, "host: no device %u; there is device 0", options->device);
    if (units > HOST_MAX_UNITS)
        return host_fail (err, -EINVAL, "host: %u threads; at most %u", units, HOST_MAX_UNITS);
    if (!(ctx = calloc (1, sizeof *ctx)))
        return host_fail (err, -ENOMEM, "host: out of memory");
    if (!(options && options->identify) && (r = host_pool_new (units, &ctx->pool)) < 0) {
        host_fail (err, r, "host: %u threads: %s", units, strerror (-r));
        close_ctx (ctx);
        return r;
    }
    find_device (ctx->device, sizeof ctx->device);
    ctx->wide = has_wide_vectors ();
    ctx->fused = ctx->wide && has_fused ();
    ctx->identity = (struct dt_backend_identity){
        .name = "host", .build = BUILD, .libraries = "", .driver = "",
        .device = ctx->device, .units = units,
    };
    *ret = ctx;
    return 0;
}

static const struct dt_backend_identity *identity (const struct dt_backend_ctx *ctx)
{
    return &ctx->identity;
}

/* The call's entry, or NULL and an error. */
static const struct host_family *entry_of (const struct dt_backend_call *call,
                                           struct dt_backend_error *err)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE (entries); i++)
        if (call && call->family == &families[i])
            break;
    if (i == ARRAY_SIZE (entries)) {
        host_fail (err, -EINVAL, "host: the call names no family of this backend");
        return NULL;
    }
    if (!call->fact || !call->param || (call->n_requests && (!call->request || !call->seed))) {
        host_fail (err, -EINVAL, "%s: a call of %zu requests without facts, parameters, requests"
                   " or seeds", families[i].name, call->n_requests);
        return NULL;
    }
    if (call->data >= DT_BACKEND_DATA_KINDS) {
        host_fail (err, -EINVAL, "%s: there is no kind %u of data", families[i].name, call->data);
        return NULL;
    }
    return entries[i];
}

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_plan *ret, struct dt_backend_error *err)
{
    const struct host_family *f = entry_of (call, err);
    struct host_size size;
    int r = f ? f->plan (ctx, call, &size, err) : -EINVAL;

    if (r == 0)
        *ret = (struct dt_backend_plan){
            .operand_bytes = size.operand_bytes, .output_bytes = size.output_bytes,
            .workspace_bytes = size.workspace_bytes, .launch = { size.launch[0], size.launch[1] },
        };
    return r;
}

/* The caller may round upwards or flush subnormals; kernels do neither. */
static void enter_kernels (fenv_t *ret_callers)
{
    fegetenv (ret_callers);
    fesetenv (FE_DFL_ENV);
}

static int fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 uint64_t scatter, void *operands, struct dt_backend_error *err)
{
    const struct host_family *f = entry_of (call, err);
    fenv_t callers;
    int r;

    if (!f)
        return -EINVAL;
    enter_kernels (&callers);
    r = f->fill (ctx, call, scatter, operands, err);
    fesetenv (&callers);
    return r;
}

static int run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                const void *operands, void *output, void *workspace,
                struct dt_backend_error *err)
{
    const struct host_family *f = entry_of (call, err);
    fenv_t callers;
    int r;

    if (!f)
        return -EINVAL;
    enter_kernels (&callers);
    r = f->run (ctx, call, operands, output, workspace, err);
    fesetenv (&callers);
    return r;
}

static int rows (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_row *ret, struct dt_backend_error *err)
{
    const struct host_family *f = entry_of (call, err);
    struct host_size size;
    size_t i, at = 0;
    int r = f ? f->plan (ctx, call, &size, err) : -EINVAL;

    if (r < 0)
        return r;
    for (i = 0; i < call->n_requests; i++) {
        int64_t n = call->request[i * call->family->n_request_fields];

        ret[i] = (struct dt_backend_row){ .offset = at, .length = (size_t)n * size.row_bytes };
        at += ret[i].length;
    }
    return 0;
}

static int alloc_buffer (struct dt_backend_ctx *ctx, size_t bytes, void **ret,
                         struct dt_backend_error *err)
{
    void *p;

    (void)ctx;
    if (posix_memalign (&p, HOST_ALIGN, bytes ? bytes : 1) != 0)
        return host_fail (err, -ENOMEM, "host: no memory for %zu bytes", bytes);
    *ret = p;
    return 0;
}

static void free_buffer (struct dt_backend_ctx *ctx, void *buffer)
{
    (void)ctx;
    free (buffer);
}

static int set_buffer (struct dt_backend_ctx *ctx, void *buffer, int byte, size_t bytes,
                       struct dt_backend_error *err)
{
    (void)ctx;
    if (bytes == 0)
        return 0;
    if (!buffer)
        return host_fail (err, -EINVAL, "host: set %zu bytes of no buffer", bytes);
    memset (buffer, byte, bytes);
    return 0;
}

static uint64_t elapsed_ns (const struct dt_backend_ctx *ctx)
{
    return ctx->elapsed_ns;
}

static int read_buffer (struct dt_backend_ctx *ctx, const void *output, size_t offset,
                        size_t bytes, void *ret, struct dt_backend_error *err)
{
    (void)ctx;
    if (bytes == 0)
        return 0;
    if (!output || !ret)
        return host_fail (err, -EINVAL, "host: read of %zu bytes at %zu without a buffer",
                          bytes, offset);
    memcpy (ret, (const char *)output + offset, bytes);
    return 0;
}

static const struct dt_backend backend = {
    .abi = DT_BACKEND_ABI,
    .families = families, .n_families = ARRAY_SIZE (families),
    .open = open_ctx, .close = close_ctx, .identity = identity,
    .plan = plan, .alloc = alloc_buffer, .free = free_buffer, .set = set_buffer,
    .fill = fill, .run = run, .elapsed_ns = elapsed_ns,
    .clock = "CLOCK_MONOTONIC_RAW", .caches = "warm", .read = read_buffer, .rows = rows,
};

/* The interface wants the families side by side; each is defined beside its
 * kernels. */
static void gather_families (void)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE (entries); i++)
        families[i] = *entries[i]->family;
}

__attribute__ ((visibility ("default"))) const struct dt_backend *dt_backend_get (void);

const struct dt_backend *dt_backend_get (void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once (&once, gather_families);
    return &backend;
}
