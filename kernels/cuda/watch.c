/* What the device is like while a context has it, and who else computes on it. */
#include <errno.h>
#include <stdio.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/nvml.h"
#include "kernels/cuda/settings.h"
#include "kernels/cuda/span.h"

/* As it is set, or a share of what the device can. */
static uint32_t least_mhz (const struct cuda_nvml *nvml)
{
    uint64_t share = (uint64_t)cuda_nvml_most_mhz (nvml) * CUDA_LEAST_CLOCK / 100;

    return (uint32_t)cuda_setting_number (CUDA_SETTING_LEAST, share);
}

/* What is not known is not "nobody": whoever must be alone is refused.  'why' is a cause. */
static int refuse_blind (const struct dt_backend_ctx *ctx, const char *why,
                         struct dt_backend_error *err)
{
    return cuda_fail (err, -EBUSY, "cuda: who else computes on device %d is not known (%s), so"
                      " nothing tells that it is free; see to NVML (in a container: the driver's"
                      " utility capability), or measure all the same: --shared, or"
                      " DETENT_CUDA_SHARED=1", ctx->device, why);
}

/* Read the device's state; of one that must be alone, who computes on it is then known. */
static int read_state (struct dt_backend_ctx *ctx, struct cuda_nvml_state *ret,
                       struct dt_backend_error *err)
{
    int r = cuda_nvml_read (ctx->nvml, ret, err);

    if (r == 0 && ctx->alone && !(ret->known & DT_BACKEND_KNOWS_OTHERS))
        r = refuse_blind (ctx, ret->why, err);
    return r;
}

/* Whoever computes, for people. */
static const char *who (const struct cuda_nvml_state *s, char *text, size_t size)
{
    if (s->other_pid)
        snprintf (text, size, "process %u", s->other_pid);
    else
        snprintf (text, size, "one of %u processes", s->others);
    return text;
}

static int refuse_comer (const struct dt_backend_ctx *ctx, const struct cuda_nvml_state *s,
                         struct dt_backend_error *err)
{
    char text[48];

    return cuda_fail (err, -EBUSY, "%s started to compute on device %d during the measurement;"
                      " times are not kept", who (s, text, sizeof text), ctx->device);
}

int cuda_state (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    struct cuda_nvml_state s;
    int r;

    if (!ctx->nvml)
        return 0;
    if ((r = read_state (ctx, &s, err)) < 0)
        return r;
    if (ctx->alone && s.others > ctx->others)
        return refuse_comer (ctx, &s, err);
    ctx->seen = (struct dt_backend_state){ .clock_mhz = s.sm_mhz, .memory_mhz = s.memory_mhz,
                                           .known = s.known, .reasons = s.reasons,
                                           .others = s.others > ctx->own ? s.others - ctx->own
                                                                         : 0 };
    return 0;
}

int cuda_watch (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    struct dt_backend_error why = { "" };
    struct cuda_nvml_state s;
    char pci[32] = "", text[48];
    int r;

    if ((r = cuda_check (NULL, cudaDeviceGetPCIBusId (pci, sizeof pci, ctx->device), "its address",
                         &why)) < 0
        || (r = cuda_nvml_new (pci, &ctx->nvml, &why)) < 0)
        return r == -DT_BACKEND_ELOST ? cuda_fail (err, r, "cuda: device %d: %s", ctx->device, why.text)
               : ctx->alone           ? refuse_blind (ctx, why.text, err)
                                      : 0;
    snprintf (ctx->driver, sizeof ctx->driver, "%s", cuda_nvml_driver (ctx->nvml));
    ctx->least_mhz = least_mhz (ctx->nvml);
    if ((r = read_state (ctx, &s, err)) < 0)
        return r;
    ctx->others = s.others;
    if (ctx->alone && s.others)
        return cuda_fail (err, -EBUSY, "cuda: %s computes on device %d, or holds memory of it; end"
                          " it, or measure beside it: --shared, or DETENT_CUDA_SHARED=1",
                          who (&s, text, sizeof text), ctx->device);
    return 0;
}

int cuda_watch_started (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    struct cuda_nvml_state s;
    uint32_t came;
    int r;

    if (!ctx->nvml)
        return 0;
    if ((r = read_state (ctx, &s, err)) < 0)
        return r;
    came = s.others > ctx->others ? s.others - ctx->others : 0;
    /* This process too, where the driver knows it by another number than we do. */
    ctx->own = came > 0 && !s.listed;
    if (ctx->alone && came > ctx->own)
        return refuse_comer (ctx, &s, err);
    ctx->others = s.others;
    return 0;
}
