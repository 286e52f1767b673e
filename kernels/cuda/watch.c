/* What the device is like while a context has it, and who else computes on it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/nvml.h"
#include "kernels/cuda/span.h"

int cuda_state (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    struct cuda_nvml_state s;
    int r;

    if (!ctx->nvml)
        return 0;
    if ((r = cuda_nvml_read (ctx->nvml, &s, err)) < 0)
        return r;
    if (ctx->alone && s.others > ctx->others)
        return cuda_fail (err, -EBUSY, "another process (%u) started to compute on device %d"
                          " during the measurement; times are not kept", s.other_pid,
                          ctx->device);
    ctx->seen = (struct dt_backend_state){ .clock_mhz = s.sm_mhz, .memory_mhz = s.memory_mhz,
                                           .known = s.known,
                                           .reasons = s.reasons,
                                           .others = s.others > ctx->own ? s.others - ctx->own
                                                                         : 0 };
    return 0;
}

/* DETENT_CUDA_LEAST_MHZ, or a share of what the device can. */
static uint32_t least_mhz (const struct cuda_nvml *nvml)
{
    const char *told = getenv ("DETENT_CUDA_LEAST_MHZ");

    return told ? (uint32_t)strtoul (told, NULL, 10)
                : (uint32_t)((uint64_t)cuda_nvml_most_mhz (nvml) * CUDA_LEAST_CLOCK / 100);
}

int cuda_watch (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    struct dt_backend_error why = { "" };
    struct cuda_nvml_state s;
    char pci[32] = "";
    int r;

    if (cudaDeviceGetPCIBusId (pci, sizeof pci, ctx->device) != cudaSuccess
        || cuda_nvml_new (pci, &ctx->nvml, &why) < 0)
        return 0;
    snprintf (ctx->driver, sizeof ctx->driver, "%s", cuda_nvml_driver (ctx->nvml));
    ctx->least_mhz = least_mhz (ctx->nvml);
    if ((r = cuda_nvml_read (ctx->nvml, &s, err)) < 0)
        return r;
    ctx->others = s.others;
    if (ctx->alone && s.others)
        return cuda_fail (err, -EBUSY, "cuda: process %u computes on device %d, or holds memory of"
                          " it; end it, or measure beside it: --shared, or DETENT_CUDA_SHARED=1",
                          s.other_pid, ctx->device);
    return 0;
}

int cuda_watch_started (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    struct cuda_nvml_state s;
    int r;

    if (!ctx->nvml)
        return 0;
    if ((r = cuda_nvml_read (ctx->nvml, &s, err)) < 0)
        return r;
    /* This process too, where the driver knows it by another number than we do. */
    ctx->own = s.others > ctx->others ? s.others - ctx->others : 0;
    ctx->others = s.others;
    return 0;
}
