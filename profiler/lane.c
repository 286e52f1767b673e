#include "profiler/lane.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "profiler/backend.h"

void dt_lane_init (struct dt_lane *l, const struct dt_backend *b, struct dt_backend_ctx *ctx)
{
    *l = (struct dt_lane){ .b = b, .ctx = ctx };
}

void dt_lane_done (struct dt_lane *l)
{
    struct dt_lane_buffer *buffer[] = { &l->operands, &l->output, &l->workspace };

    for (size_t i = 0; i < DT_ARRAY_SIZE (buffer); i++)
        if (buffer[i]->data)
            l->b->free (l->ctx, buffer[i]->data);
    dt_free (l->row);
    dt_free (l->host);
    *l = (struct dt_lane){ .b = NULL };
}

int dt_lane_takes (struct dt_lane *l, const struct dt_backend_call *call, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    int r = l->b->plan (l->ctx, call, &plan, &err);

    if (r == -EINVAL || r == -DT_BACKEND_EUNSUPPORTED) {
        dt_err_set (reterr, r, "%s", err.text);
        return 0;
    }
    return r < 0 ? dt_err_set (reterr, r, "%s", err.text) : 1;
}

/* A buffer of `bytes` poisoned ones.  The backend does not know for which call. */
static int make (struct dt_lane *l, const struct dt_backend_call *call, struct dt_lane_buffer *buffer,
                 size_t bytes, int poison, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    int r;

    if (!buffer->data || buffer->bytes < bytes) {
        if (buffer->data)
            l->b->free (l->ctx, buffer->data);
        *buffer = (struct dt_lane_buffer){ .data = NULL };
        if ((r = dt_plugin_buffer (l->b, l->ctx, bytes, &buffer->data, reterr)) < 0)
            return dt_plugin_named (call, r, reterr);
        buffer->bytes = bytes;
    }
    if ((r = l->b->set (l->ctx, buffer->data, poison, bytes, &err)) == 0)
        return 0;
    dt_err_set (reterr, r, "%s", err.text);
    return dt_plugin_named (call, r, reterr);
}

int dt_lane_fill (struct dt_lane *l, const struct dt_backend_call *call, uint64_t scatter,
                  int poison, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    int r;

    l->filled_bytes = 0;
    if ((r = l->b->plan (l->ctx, call, &plan, &err)) < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    if ((r = make (l, call, &l->operands, plan.operand_bytes, poison, reterr)) < 0)
        return r;
    if ((r = l->b->fill (l->ctx, call, scatter, l->operands.data, &err)) < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    l->filled_bytes = plan.operand_bytes;
    return 0;
}

int dt_lane_run (struct dt_lane *l, const struct dt_backend_call *call, int poison,
                 struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    int r;

    if ((r = l->b->plan (l->ctx, call, &plan, &err)) < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    if (plan.operand_bytes > l->filled_bytes)
        return dt_err_set (reterr, -DT_EDEVICE, "%s: operands of %zu bytes under some parameters "
                           "and %zu under others; they must not depend on free ones",
                           call->family->name, l->filled_bytes, plan.operand_bytes);
    if ((r = make (l, call, &l->output, plan.output_bytes, poison, reterr)) < 0
        || (r = make (l, call, &l->workspace, plan.workspace_bytes, poison, reterr)) < 0)
        return r;
    r = l->b->run (l->ctx, call, l->operands.data, l->output.data, l->workspace.data, &err);
    return r < 0 ? dt_err_set (reterr, r, "%s", err.text) : 0;
}

static int grow (void **p, size_t *room, size_t n, size_t size, struct dt_err *reterr)
{
    void *larger;

    if (*room >= n && *p)
        return 0;
    if (!(larger = dt_realloc (*p, n ? n : 1, size)))
        return dt_err_nomem (reterr);
    *p = larger;
    *room = n;
    return 0;
}

int dt_lane_read (struct dt_lane *l, const struct dt_backend_call *call, struct dt_err *reterr)
{
    struct dt_backend_error err = { "" };
    void *row = l->row, *host = l->host;
    size_t end = 0;
    int r;

    r = grow (&row, &l->room_rows, call->n_requests, sizeof *l->row, reterr);
    l->row = row;
    if (r < 0)
        return r;
    if ((r = l->b->rows (l->ctx, call, l->row, &err)) < 0)
        return dt_err_set (reterr, r, "%s", err.text);
    for (size_t i = 0; i < call->n_requests; i++) {
        size_t stop = l->row[i].offset + l->row[i].length;

        if (stop < l->row[i].offset || stop > l->output.bytes)
            return dt_err_set (reterr, -DT_EDEVICE, "%s: row %zu ends beyond the output",
                               call->family->name, i);
        end = stop > end ? stop : end;
    }
    r = grow (&host, &l->room_host, end, 1, reterr);
    l->host = host;
    if (r < 0)
        return r;
    if (end && (r = l->b->read (l->ctx, l->output.data, 0, end, l->host, &err)) < 0) {
        dt_err_set (reterr, r, "%s", err.text);
        return dt_plugin_named (call, r, reterr);
    }
    return 0;
}
