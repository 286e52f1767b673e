/* From a call to checked sizes and a layout. */
#include <errno.h>

#include "kernels/host/call.h"
#include "kernels/host/lanes.h"
#include "kernels/rowwise/host/plant.h"
#include "kernels/rowwise/host/rowwise.h"

static int check_facts (const struct dt_backend_call *call, struct dt_backend_error *err)
{
    const int64_t *fact = call->fact;
    int r;

    if ((r = host_check_facts (call, err)) < 0)
        return r;
    if (fact[ROW_COLUMNS] % (LANES * fact[ROW_SHARDS]))
        return host_refuse (call, err, -EINVAL, "columns must be a multiple of %d * shards", LANES);
    if (fact[ROW_OP] == ROW_NORM && fact[ROW_SHARDS] > 1)
        return host_refuse (call, err, -EINVAL, "a norm has one shard");
    return 0;
}

static int count_rows (struct row_shape *s, const struct dt_backend_call *call,
                       struct dt_backend_error *err)
{
    size_t i;

    for (i = 0; i < s->n_requests; i++) {
        int64_t tokens = call->request[i * ROW_N_FIELDS + ROW_TOKENS];

        if (tokens < 0)
            return host_refuse (call, err, -EINVAL, "request %zu has %lld tokens", i,
                                (long long)tokens);
        s->n_rows = host_add (s->n_rows, (size_t)tokens);
    }
    if (s->n_rows > (size_t)call->fact[ROW_TOKEN_BUDGET])
        return host_refuse (call, err, -EINVAL, "%zu tokens, more than token_budget", s->n_rows);
    return 0;
}

static void lay_out (struct row_shape *s)
{
    size_t elem = s->bf16 ? 2 : 4, at = 0;

    s->start = host_place (&at, host_add (s->n_requests, 1), sizeof (int64_t));
    s->seed = host_place (&at, s->op == ROW_SAMPLE ? s->n_rows : 0, sizeof (uint64_t));
    s->position = host_place (&at, s->op == ROW_SAMPLE ? s->n_rows : 0, sizeof (uint64_t));
    s->weight = host_place (&at, s->op == ROW_NORM ? s->columns : 0, elem);
    s->x = host_place (&at, host_mul (host_mul (s->shards, s->n_rows), s->width + ROW_PAD), elem);
    s->size.operand_bytes = at;
    s->size.row_bytes = s->op == ROW_SAMPLE ? sizeof (struct row_sample)
                                       : s->columns * (s->output_bf16 ? 2 : 4);
    s->size.output_bytes = host_mul (s->n_rows, s->size.row_bytes);
    at = 0;
    s->best = host_place (&at, host_mul (s->n_rows, s->workers), sizeof (struct row_best));
    s->max = host_place (&at, host_mul (s->n_rows, s->shards * s->workers), sizeof (float));
    s->sum = host_place (&at, host_mul (s->n_rows, s->shards * s->block), sizeof (float));
    s->size.workspace_bytes = s->workers > 1 && s->n_rows ? at : 0;
}

/* What the call starts: a task takes no more rows than there are. */
static void digest_launch (struct row_shape *s, const struct dt_backend_call *call)
{
    host_mix_facts (s->size.launch, call);
    host_mix (s->size.launch, s->n_rows);
    if (s->n_rows == 0)
        return;
    host_mix (s->size.launch, s->block);
    host_mix (s->size.launch, s->group);
    host_mix (s->size.launch, s->workers);
}

int row_shape_init (struct row_shape *ret, const struct dt_backend_call *call,
                    struct dt_backend_error *err)
{
    struct row_shape s;
    int r;

    if ((r = check_facts (call, err)) < 0 || (r = host_check_params (call, err)) < 0)
        return r;
    s = (struct row_shape){
        .op = (enum row_op)call->fact[ROW_OP],
        .columns = (size_t)call->fact[ROW_COLUMNS],
        .shards = (size_t)call->fact[ROW_SHARDS],
        .bf16 = (int)call->fact[ROW_BF16],
        .output_bf16 = (int)call->fact[ROW_OUTPUT_BF16],
        .block = (size_t)call->param[ROW_BLOCK].one,
        .group = (size_t)call->param[ROW_ROWS].one,
        .workers = (size_t)call->param[ROW_WORKERS].one,
        .n_requests = call->n_requests,
    };
    s.width = s.columns / s.shards;
    if ((r = count_rows (&s, call, err)) < 0)
        return r;
    if (ROW_PLANTED (BLOCK) && s.n_rows > 8)
        s.block = s.block == 64 ? 128 : s.block / 2;
    s.group = s.group < s.n_rows ? s.group : s.n_rows;
    lay_out (&s);
    if ((r = host_check_size (call, &s.size, err)) < 0)
        return r;
    digest_launch (&s, call);
    *ret = s;
    return 0;
}
