#include "kernels/host/call.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int64_t host_param (const struct dt_backend_call *call, size_t p, size_t request)
{
    const int64_t *each = request < call->n_requests ? call->param[p].each : NULL;

    return each ? each[request] : call->param[p].one;
}

int host_refuse (const struct dt_backend_call *call, struct dt_backend_error *err, int code,
                 const char *format, ...)
{
    const struct dt_backend_family *f = call->family;
    char what[160], where[320];
    size_t i, n = 0;
    va_list args;

    va_start (args, format);
    vsnprintf (what, sizeof what, format, args);
    va_end (args);
    where[0] = 0;
    for (i = 0; i < f->n_facts && n < sizeof where; i++)
        n += (size_t)snprintf (where + n, sizeof where - n, "%s=%lld ", f->facts[i].name,
                               (long long)call->fact[i]);
    for (i = 0; i < f->n_params && n < sizeof where; i++)
        n += (size_t)snprintf (where + n, sizeof where - n, "%s%s=%lld", i ? " " : "; ",
                               f->params[i].name, (long long)host_param (call, i, 0));
    return host_fail (err, code, "%s: %s (%zu requests, %s)", f->name, what, call->n_requests,
                      where);
}

int host_check_facts (const struct dt_backend_call *call, struct dt_backend_error *err)
{
    const struct dt_backend_family *f = call->family;
    size_t i;

    for (i = 0; i < f->n_facts; i++)
        if (call->fact[i] < f->facts[i].lo || call->fact[i] > f->facts[i].hi)
            return host_refuse (call, err, -EINVAL, "%s must be in %lld..%lld", f->facts[i].name,
                                (long long)f->facts[i].lo, (long long)f->facts[i].hi);
    return 0;
}

static int check_value (const struct dt_backend_call *call, size_t p, size_t request,
                        struct dt_backend_error *err)
{
    const struct dt_backend_param *param = &call->family->params[p];
    int64_t v = host_param (call, p, request);
    size_t j;

    for (j = 0; j < param->n_values; j++)
        if (param->values[j] == v)
            return 0;
    return host_refuse (call, err, -EINVAL, "%s has no value %lld", param->name, (long long)v);
}

int host_check_params (const struct dt_backend_call *call, struct dt_backend_error *err)
{
    const struct dt_backend_family *f = call->family;
    size_t p, i;
    int r;

    for (p = 0; p < f->n_params; p++) {
        size_t n = call->param[p].each ? call->n_requests : 1;

        if (call->param[p].each && !f->params[p].per_request)
            return host_refuse (call, err, -EINVAL, "%s is one value for the whole call",
                                f->params[p].name);
        for (i = 0; i < n; i++)
            if ((r = check_value (call, p, i, err)) < 0)
                return r;
    }
    return 0;
}

int host_check_size (const struct dt_backend_call *call, const struct host_size *size,
                     struct dt_backend_error *err)
{
    if (size->operand_bytes > PTRDIFF_MAX || size->output_bytes > PTRDIFF_MAX
        || size->workspace_bytes > PTRDIFF_MAX)
        return host_refuse (call, err, -EINVAL, "its size overflows");
    return 0;
}

void host_mix_facts (uint64_t digest[2], const struct dt_backend_call *call)
{
    size_t i;

    for (i = 0; i < call->family->n_facts; i++)
        host_mix (digest, (uint64_t)call->fact[i]);
}
