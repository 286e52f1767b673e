/* Text of errors, checks that every family shares, and digests of launches. */
#include "kernels/cuda/cuda.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int cuda_fail (struct dt_backend_error *err, int code, const char *format, ...)
{
    va_list args;

    if (!err)
        return code;
    va_start (args, format);
    vsnprintf (err->text, sizeof err->text, format, args);
    va_end (args);
    return code;
}

static int64_t param_of (const struct dt_backend_call *call, size_t p, size_t request)
{
    const int64_t *each = request < call->n_requests ? call->param[p].each : NULL;

    return each ? each[request] : call->param[p].one;
}

/* "n=64 k=128; split_k=1 config=0": of the first request, where they differ. */
static void call_text (const struct dt_backend_call *call, char *text, size_t size)
{
    const struct dt_backend_family *f = call->family;
    size_t i, n = 0;

    text[0] = 0;
    for (i = 0; i < f->n_facts && n < size; i++)
        n += (size_t)snprintf (text + n, size - n, "%s%s=%lld", i ? " " : "", f->facts[i].name,
                               (long long)call->fact[i]);
    for (i = 0; i < f->n_request_fields && call->n_requests && n < size; i++)
        n += (size_t)snprintf (text + n, size - n, "%s%s=%lld", i ? " " : "; ",
                               f->request_fields[i], (long long)call->request[i]);
    for (i = 0; i < f->n_params && n < size; i++)
        n += (size_t)snprintf (text + n, size - n, "%s%s=%lld", i ? " " : "; ",
                               f->params[i].name, (long long)param_of (call, i, 0));
}

int cuda_refuse (const struct dt_backend_call *call, struct dt_backend_error *err, int code,
                 const char *format, ...)
{
    char what[200], where[280];
    va_list args;

    va_start (args, format);
    vsnprintf (what, sizeof what, format, args);
    va_end (args);
    call_text (call, where, sizeof where);
    return cuda_fail (err, code, "%s: %s (%zu requests, %s)", call->family->name, what,
                      call->n_requests, where);
}

/* Errors after which every later call of the process on this device fails too. */
int cuda_is_fatal (cudaError_t e)
{
    switch (e) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceUninitialized:
    case cudaErrorUnknown:
        return 1;
    default:
        return 0;
    }
}

int cuda_check (struct dt_backend_ctx *ctx, cudaError_t e, const char *what,
                struct dt_backend_error *err)
{
    if (e == cudaSuccess)
        return 0;
    cudaGetLastError (); /* a launch's error would else come up at the next call */
    if (cuda_is_fatal (e) && ctx && !ctx->dead[0])
        snprintf (ctx->dead, sizeof ctx->dead, "%s: %s (%d)", what, cudaGetErrorName (e), (int)e);
    return cuda_fail (err, cuda_is_fatal (e) ? -DT_BACKEND_ELOST : -DT_BACKEND_EDEVICE,
                      "%s: %s (%d): %s", what, cudaGetErrorName (e), (int)e,
                      cudaGetErrorString (e));
}

int cuda_cause (struct dt_backend_ctx *ctx, int code, struct dt_backend_error *err)
{
    struct dt_backend_error lost = { "" }, was = { "" };

    /* An error that ended the context is every later call's. */
    if (code != -DT_BACKEND_EDEVICE
        || cuda_check (ctx, cudaStreamQuery (ctx->stream), "cuda: context", &lost)
               != -DT_BACKEND_ELOST)
        return code;
    if (err)
        was = *err;
    return cuda_fail (err, -DT_BACKEND_ELOST, "%s, behind: %s", lost.text, was.text);
}

static int check_value (const struct dt_backend_call *call, size_t p, size_t request,
                        struct dt_backend_error *err)
{
    const struct dt_backend_param *param = &call->family->params[p];
    int64_t v = param_of (call, p, request);
    size_t j;

    for (j = 0; j < param->n_values; j++)
        if (param->values[j] == v)
            return 0;
    return cuda_refuse (call, err, -EINVAL, "%s has no value %lld", param->name, (long long)v);
}

int cuda_check_call (const struct dt_backend_call *call, struct dt_backend_error *err)
{
    const struct dt_backend_family *f = call->family;
    size_t p, i;
    int r;

    for (i = 0; i < f->n_facts; i++)
        if (call->fact[i] < f->facts[i].lo || call->fact[i] > f->facts[i].hi)
            return cuda_refuse (call, err, -EINVAL, "%s must be in %lld..%lld", f->facts[i].name,
                                (long long)f->facts[i].lo, (long long)f->facts[i].hi);
    for (p = 0; p < f->n_params; p++) {
        size_t n = call->param[p].each ? call->n_requests : 1;

        if (call->param[p].each && !f->params[p].per_request)
            return cuda_refuse (call, err, -EINVAL, "%s is one value for the whole call",
                                f->params[p].name);
        for (i = 0; i < n; i++)
            if ((r = check_value (call, p, i, err)) < 0)
                return r;
    }
    return 0;
}

void cuda_mix (uint64_t digest[2], uint64_t word)
{
    static const uint64_t odd[2] = { 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu };
    int i;

    for (i = 0; i < 2; i++) {
        uint64_t x = (digest[i] ^ word) * odd[i];

        x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
        digest[i] = x ^ (x >> 32);
    }
}
