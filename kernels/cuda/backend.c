/* The CUDA backend: contexts, memory, and the table of its families. */
#include "kernels/cuda/cuda.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/build.h" /* made: CUDA_BUILD */
#include "kernels/cuda/clock.h"
#include "kernels/cuda/memory.h"
#include "kernels/cuda/nvml.h"
#include "kernels/cuda/plant.h"
#include "kernels/cuda/settings.h"
#include "kernels/cuda/sweep.h"
#include "kernels/cuda/timed.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static const struct cuda_family *const entries[] = { &cuda_gemm, &cuda_allreduce };

_Static_assert (ARRAY_SIZE (entries) <= CUDA_MAX_FAMILIES, "a context has no slot for a family");

static struct dt_backend_family families[ARRAY_SIZE (entries)];
static int by_events; /* DETENT_CUDA_CLOCK=events, when the plugin was loaded */

static void close_ctx (struct dt_backend_ctx *ctx)
{
    size_t i;

    if (!ctx)
        return;
    if (ctx->stream)
        cudaStreamSynchronize (ctx->stream);
    for (i = ARRAY_SIZE (entries); i-- > 0;)
        if (entries[i]->close)
            entries[i]->close (ctx, i);
    if (ctx->sweep) /* to free nothing would start to use the device */
        cudaFree (ctx->sweep);
    if (ctx->begin)
        cudaEventDestroy (ctx->begin);
    if (ctx->end)
        cudaEventDestroy (ctx->end);
    if (ctx->stream)
        cudaStreamDestroy (ctx->stream);
    cuda_clock_free (ctx->clock);
    cuda_nvml_free (ctx->nvml);
    free (ctx);
}

/* An error of the device before it is used.  What says that there is none is not a lost one. */
static int no_device (cudaError_t e, uint32_t device, struct dt_backend_error *err)
{
    return cuda_fail (err, cuda_is_fatal (e) ? -DT_BACKEND_ELOST : -ENODEV,
                      "cuda: device %u: %s (%d): %s", device, cudaGetErrorName (e), (int)e,
                      cudaGetErrorString (e));
}

/* Why there is none.  The runtime says of a driver that is not there that it is too old. */
static int no_devices (cudaError_t e, struct dt_backend_error *err)
{
    int driver = 0, r;
    char why[96];

    r = cuda_fail (err, -ENODEV, "cuda: no device: %s (%d): %s", cudaGetErrorName (e), (int)e,
                   cudaGetErrorString (e));
    if (e != cudaErrorInsufficientDriver || cudaDriverGetVersion (&driver) != cudaSuccess)
        return r;
    if (driver == 0)
        snprintf (why, sizeof why, "there is no NVIDIA driver, or no libcuda.so.1 for this process");
    else
        snprintf (why, sizeof why, "the driver is for CUDA %d.%d, and %d.%d is needed",
                  driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return cuda_fail (err, r, "cuda: no device: %s (%s, %d)", why, cudaGetErrorName (e), (int)e);
}

/* The device of this ordinal, without starting to use it. */
static int find_device (struct dt_backend_ctx *ctx, uint32_t device, struct dt_backend_error *err)
{
    struct cudaDeviceProp prop;
    int n = 0;
    cudaError_t e = cudaGetDeviceCount (&n);

    if (e != cudaSuccess)
        return cuda_is_fatal (e) ? no_device (e, device, err) : no_devices (e, err);
    if (n <= 0 || device >= (uint32_t)n)
        return cuda_fail (err, -ENODEV, "cuda: no device %u; there are %d", device, n);
    if ((e = cudaGetDeviceProperties (&prop, (int)device)) != cudaSuccess)
        return no_device (e, device, err);
    if (prop.major < 8)
        return cuda_fail (err, -ENODEV, "cuda: device %u, %s, has compute capability %d.%d; 8.0 is"
                          " the least", device, prop.name, prop.major, prop.minor);
    ctx->device = (int)device;
    ctx->l2_bytes = prop.l2CacheSize > 0 ? (size_t)prop.l2CacheSize : 0;
    snprintf (ctx->name, sizeof ctx->name, "%s", prop.name);
    ctx->identity = (struct dt_backend_identity){
        .name = "cuda", .build = CUDA_BUILD, .libraries = ctx->libraries, .driver = ctx->driver,
        .device = ctx->name, .units = (uint32_t)prop.multiProcessorCount,
    };
    return 0;
}

static int start_clock (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    struct cuda_cupti api;
    int r;

    if (!ctx->timed || by_events)
        return 0;
    if ((r = cuda_cupti_load (&api, err)) < 0)
        return r;
    cuda_plant_cupti (&api);
    return cuda_clock_new (&api, &ctx->clock, err);
}

/* What is read before each run that is to find nothing in the cache. */
static int make_sweep (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    cudaError_t e;
    int r;

    if (!ctx->timed)
        return 0;
    if (!ctx->l2_bytes)
        return cuda_fail (err, -DT_BACKEND_EDEVICE, "cuda: device %d does not say how large its L2"
                          " cache is, so no time of it is cold", ctx->device);
    ctx->sweep_bytes = CUDA_SWEEP_TIMES * ctx->l2_bytes;
    e = cudaMalloc (&ctx->sweep, ctx->sweep_bytes);
    if ((r = cuda_check (ctx, e, "cuda: memory to empty the L2 cache", err)) < 0)
        return e == cudaErrorMemoryAllocation ? -ENOMEM : r;
    return cuda_check (ctx, cudaMemsetAsync (ctx->sweep, 0, ctx->sweep_bytes, ctx->stream), "cuda: set",
                       err);
}

static int start_device (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    int r;

    if ((r = cuda_check (ctx, cuda_plant_open (ctx->device), "cuda: device", err)) < 0
        || (r = cuda_check (ctx, cudaSetDevice (ctx->device), "cuda: device", err)) < 0
        || (r = cuda_check (ctx, cudaStreamCreateWithFlags (&ctx->stream, cudaStreamNonBlocking),
                            "cuda: stream", err)) < 0
        || (r = cuda_check (ctx, cudaEventCreate (&ctx->begin), "cuda: event", err)) < 0
        || (r = cuda_check (ctx, cudaEventCreate (&ctx->end), "cuda: event", err)) < 0
        || (r = make_sweep (ctx, err)) < 0)
        return r;
    return cuda_watch_started (ctx, err);
}

static int is_alone (const struct dt_backend_options *o)
{
    if (!o || o->identify || o->others == DT_BACKEND_OTHERS_TAKEN || cuda_setting_is (CUDA_SETTING_SHARED, "1"))
        return 0;
    return o->timed || o->others == DT_BACKEND_OTHERS_REFUSED;
}

/* What else decides bits; nothing of the device is taken. */
static void find_software (struct dt_backend_ctx *ctx)
{
    int driver = 0;
    size_t i;

    if (!ctx->driver[0] && cudaDriverGetVersion (&driver) == cudaSuccess)
        snprintf (ctx->driver, sizeof ctx->driver, "CUDA %d.%d", driver / 1000,
                  driver % 1000 / 10);
    for (i = 0; i < ARRAY_SIZE (entries); i++)
        if (entries[i]->library)
            entries[i]->library (ctx);
}

static int start_families (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    size_t i;
    int r;

    for (i = 0; i < ARRAY_SIZE (entries); i++)
        if (entries[i]->open && (r = entries[i]->open (ctx, i, err)) < 0)
            return r;
    return 0;
}

static int open_ctx (const struct dt_backend_options *options, struct dt_backend_ctx **ret,
                     struct dt_backend_error *err)
{
    struct dt_backend_ctx *ctx;
    int r;

    if (!(ctx = calloc (1, sizeof *ctx)))
        return cuda_fail (err, -ENOMEM, "cuda: out of memory");
    ctx->timed = options && options->timed;
    ctx->alone = is_alone (options);
    if ((r = cuda_settings_check (err)) < 0
        || (r = find_device (ctx, options ? options->device : 0, err)) < 0
        || (r = cuda_watch (ctx, err)) < 0)
        goto fail;
    find_software (ctx);
    if (!(options && options->identify)
        && ((r = start_clock (ctx, err)) < 0 || (r = start_device (ctx, err)) < 0
            || (r = start_families (ctx, err)) < 0))
        goto fail;
    *ret = ctx;
    return 0;
fail:
    close_ctx (ctx);
    return r;
}

static int join (struct dt_backend_ctx *ctx, const struct dt_backend_join *j,
                 struct dt_backend_error *err)
{
    size_t i;
    int r;

    if (ctx->joined)
        return cuda_fail (err, -EINVAL, "cuda: this context has joined a group");
    if ((r = cuda_use (ctx, err)) < 0)
        return r;
    for (i = 0; i < ARRAY_SIZE (entries); i++)
        if (entries[i]->join && (r = entries[i]->join (ctx, i, j, err)) < 0)
            return cuda_cause (ctx, r, err);
    ctx->joined = 1;
    return 0;
}

static const struct dt_backend_identity *identity (const struct dt_backend_ctx *ctx)
{
    return &ctx->identity;
}

/* The call's slot, or a negative code; the context's device is then current. */
static int slot_of (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                    size_t *ret, struct dt_backend_error *err)
{
    struct dt_backend_error why = { "" };
    size_t i;
    int r;

    for (i = 0; i < ARRAY_SIZE (entries); i++)
        if (call && call->family == &families[i])
            break;
    if (i == ARRAY_SIZE (entries))
        return cuda_fail (err, -EINVAL, "cuda: the call names no family of this backend");
    if (!call->fact || !call->param || (call->n_requests && (!call->request || !call->seed)))
        return cuda_fail (err, -EINVAL, "%s: a call of %zu requests without facts, parameters,"
                          " requests or seeds", families[i].name, call->n_requests);
    if (call->data >= DT_BACKEND_DATA_KINDS)
        return cuda_fail (err, -EINVAL, "%s: there is no kind %u of data", families[i].name,
                          call->data);
    if ((r = cuda_use (ctx, &why)) < 0)
        return cuda_refuse (call, err, r, "%s", why.text);
    *ret = i;
    return 0;
}

static int plan (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_plan *ret, struct dt_backend_error *err)
{
    size_t slot;
    int r = slot_of (ctx, call, &slot, err);

    if (r == 0 && (r = entries[slot]->plan (ctx, slot, call, ret, err)) < 0)
        r = cuda_cause (ctx, r, err);
    return r;
}

static int fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 uint64_t scatter, void *operands, struct dt_backend_error *err)
{
    struct dt_backend_error why = { "" };
    size_t slot;
    int r = slot_of (ctx, call, &slot, err);

    if (r < 0)
        return r;
    if ((r = entries[slot]->fill (ctx, slot, call, scatter, operands, &why)) == 0
        && (r = cuda_check (ctx, cudaStreamSynchronize (ctx->stream), "fill", &why)) == 0)
        return 0;
    r = cuda_cause (ctx, r, &why);
    if (r == -EINVAL || r == -DT_BACKEND_EUNSUPPORTED)
        return cuda_fail (err, r, "%s", why.text); /* which names the call */
    return cuda_refuse (call, err, r, "%s", why.text);
}

static int run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                const void *operands, void *output, void *workspace,
                struct dt_backend_error *err)
{
    struct cuda_run it = { .call = call, .operands = operands, .output = output,
                           .workspace = workspace };
    int r = slot_of (ctx, call, &it.slot, err);

    if (r < 0)
        return r;
    it.family = entries[it.slot];
    r = ctx->timed ? cuda_run_timed (ctx, &it, err) : cuda_run_plain (ctx, &it, err);
    return r < 0 ? cuda_cause (ctx, r, err) : 0;
}

static int rows (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
                 struct dt_backend_row *ret, struct dt_backend_error *err)
{
    size_t slot;
    int r = slot_of (ctx, call, &slot, err);

    return r < 0 ? r : entries[slot]->rows (ctx, slot, call, ret, err);
}

static uint64_t elapsed_ns (const struct dt_backend_ctx *ctx)
{
    return ctx->elapsed_ns;
}

static int state (struct dt_backend_ctx *ctx, int now, struct dt_backend_state *ret,
                  struct dt_backend_error *err)
{
    int r = now ? cuda_state (ctx, err) : 0;

    if (r == 0)
        *ret = ctx->seen;
    return r;
}

/* By its address on the bus, which neither CUDA_VISIBLE_DEVICES nor a reset changes. */
static int device_name (uint32_t device, char *text, size_t size, struct dt_backend_error *err)
{
    struct dt_backend_ctx ctx = { .device = 0 };
    char pci[32];
    cudaError_t e;
    int r;

    if ((r = find_device (&ctx, device, err)) < 0)
        return r;
    if ((e = cudaDeviceGetPCIBusId (pci, sizeof pci, (int)device)) != cudaSuccess)
        return no_device (e, device, err);
    snprintf (text, size, "gpu-%s", pci);
    return 0;
}

static struct dt_backend backend = {
    .abi = DT_BACKEND_ABI,
    .families = families, .n_families = ARRAY_SIZE (families),
    .open = open_ctx, .close = close_ctx, .join = join, .identity = identity,
    .plan = plan, .alloc = cuda_alloc, .free = cuda_release, .set = cuda_set,
    .fill = fill, .run = run, .elapsed_ns = elapsed_ns,
    .clock = "CUPTI", .caches = "cold for gemm, warm for allreduce",
    .state = state, .device_name = device_name, .read = cuda_read, .rows = rows,
};

/* The interface wants the families side by side; each is defined beside its
 * kernels. */
static void gather_families (void)
{
    size_t i;

    for (i = 0; i < ARRAY_SIZE (entries); i++)
        families[i] = *entries[i]->family;
    by_events = cuda_setting_is (CUDA_SETTING_CLOCK, "events");
    if (by_events)
        backend.clock = "CUDA events";
}

__attribute__ ((visibility ("default"))) const struct dt_backend *dt_backend_get (void);

const struct dt_backend *dt_backend_get (void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once (&once, gather_families);
    return &backend;
}
