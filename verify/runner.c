/* verify/runner.c - one batch on a backend. */
#include "verify/runner.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

void dt_runner_init (struct dt_runner *r, const struct dt_battery *o)
{
    *r = (struct dt_runner){ .o = o, .element_bytes = 4 };
    for (size_t i = 0; i < o->family->n_facts; i++)
        if (!strcmp (o->family->facts[i].name, "output_bf16") && o->fact[i])
            r->element_bytes = 2;
}

void dt_runner_done (struct dt_runner *r)
{
    const struct dt_backend *b = r->o->backend;

    b->free (r->o->ctx, r->operands.data);
    b->free (r->o->ctx, r->output.data);
    b->free (r->o->ctx, r->workspace.data);
    dt_free (r->row);
    dt_free (r->host);
}

static int grow (struct dt_runner *r, struct dt_runner_buffer *buffer, size_t want,
                 struct dt_err *reterr)
{
    const struct dt_backend *b = r->o->backend;
    struct dt_backend_error err = { "" };
    int code;

    if (buffer->bytes >= want)
        return 0;
    b->free (r->o->ctx, buffer->data);
    *buffer = (struct dt_runner_buffer){ .data = NULL };
    if ((code = b->alloc (r->o->ctx, want, &buffer->data, &err)) < 0)
        return dt_err_set (reterr, code == -ENOMEM ? -DT_EDEVICE : code, "%s", err.text);
    buffer->bytes = want;
    return 0;
}

static int plan_for (struct dt_runner *r, const struct dt_backend_value *param,
                     struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    int code;

    r->call.param = param;
    if ((code = r->o->backend->plan (r->o->ctx, &r->call, &plan, &err)) < 0)
        return dt_err_set (reterr, code, "%s", err.text);
    r->output_bytes = plan.output_bytes;
    if ((code = grow (r, &r->operands, plan.operand_bytes, reterr)) < 0
        || (code = grow (r, &r->output, plan.output_bytes, reterr)) < 0)
        return code;
    return grow (r, &r->workspace, plan.workspace_bytes, reterr);
}

int dt_runner_fill (struct dt_runner *r, size_t n_requests, const int64_t *request,
                    const uint64_t *seed, const struct dt_backend_value *a,
                    const struct dt_backend_value *b, uint64_t scatter, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_row *row;
    int code;

    r->call = (struct dt_backend_call){ .family = r->o->family, .fact = r->o->fact,
                                        .n_requests = n_requests, .request = request,
                                        .seed = seed };
    if ((code = plan_for (r, a, reterr)) < 0 || (code = plan_for (r, b, reterr)) < 0)
        return code;
    if (!(row = dt_realloc (r->row, n_requests, sizeof *row)))
        return dt_err_nomem (reterr);
    r->row = row;
    if ((code = r->o->backend->rows (r->o->ctx, &r->call, r->row, &err)) < 0
        || (code = r->o->backend->fill (r->o->ctx, &r->call, scatter, r->operands.data, &err)) < 0)
        return dt_err_set (reterr, code, "%s", err.text);
    return 0;
}

int dt_runner_run (struct dt_runner *r, const struct dt_backend_value *param, uint64_t *ret_ns,
                   struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    int code;

    r->call.param = param;
    if ((code = r->o->backend->run (r->o->ctx, &r->call, r->operands.data, r->output.data,
                                    r->workspace.data, &err)) < 0)
        return dt_err_set (reterr, code, "%s", err.text);
    *ret_ns = r->o->backend->elapsed_ns (r->o->ctx);
    return 0;
}

int dt_runner_read (struct dt_runner *r, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    uint8_t *host;
    int code;

    if (r->host_bytes < r->output_bytes) {
        if (!(host = dt_realloc (r->host, r->output_bytes, 1)))
            return dt_err_nomem (reterr);
        r->host = host;
        r->host_bytes = r->output_bytes;
    }
    if (r->output_bytes
        && (code = r->o->backend->read (r->o->ctx, r->output.data, 0, r->output_bytes, r->host,
                                        &err)) < 0)
        return dt_err_set (reterr, code, "%s", err.text);
    return 0;
}
