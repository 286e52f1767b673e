/* From a call to checked sizes, a layout, and the list of blocks. */
#include "kernels/moe/host/moe.h"
#include "kernels/host/call.h"

#include <errno.h>
#include <string.h>

static int check_facts (const struct dt_backend_call *call, struct dt_backend_error *err)
{
    int r;

    if ((r = host_check_facts (call, err)) < 0)
        return r;
    if (call->fact[MOE_TOP_K] > call->fact[MOE_EXPERTS])
        return host_refuse (call, err, -EINVAL, "top_k is above experts");
    return 0;
}

/* The load of an expert describes a batch, for those who model time; what is computed
 * follows from each request's own routing. */
static int add_requests (struct moe_shape *s, const struct dt_backend_call *call,
                         struct dt_backend_error *err)
{
    size_t i;

    for (i = 0; i < call->n_requests; i++) {
        const int64_t *x = call->request + i * MOE_N_FIELDS;

        if (x[MOE_TOKENS] < 0 || x[MOE_LOAD] < 0)
            return host_refuse (call, err, -EINVAL, "request %zu has %lld tokens and a load of "
                                "%lld", i, (long long)x[MOE_TOKENS], (long long)x[MOE_LOAD]);
        s->m = host_add (s->m, (size_t)x[MOE_TOKENS]);
    }
    s->n_pairs = host_mul (s->m, s->top_k);
    if (s->n_pairs > MOE_MAX_PAIRS)
        return host_refuse (call, err, -EINVAL, "more than %u token-expert pairs", MOE_MAX_PAIRS);
    return 0;
}

static void take_facts (struct moe_shape *s, const struct dt_backend_call *call)
{
    s->experts = (size_t)call->fact[MOE_EXPERTS];
    s->top_k = (size_t)call->fact[MOE_TOP_K];
    s->hidden = (size_t)call->fact[MOE_HIDDEN];
    s->intermediate = (size_t)call->fact[MOE_INTERMEDIATE];
    s->bf16 = (int)call->fact[MOE_BF16];
    s->output_bf16 = (int)call->fact[MOE_OUTPUT_BF16];
    s->up_panels = host_div_up (s->intermediate, PRODUCT_PANEL);
    s->down_panels = host_div_up (s->hidden, PRODUCT_PANEL);
}

/* Parameters cut to the call.  Only the free ones may follow the number of pairs. */
static void take_params (struct moe_shape *s, const struct dt_backend_call *call)
{
    size_t step = (size_t)call->param[MOE_K_STEP].one;
    size_t widest = (s->up_panels > s->down_panels ? s->up_panels : s->down_panels);

    s->up_step = step < s->hidden ? step : 0;
    s->down_step = step < s->intermediate ? step : 0;
    s->pairwise = call->param[MOE_COMBINE].one == MOE_PAIRS && s->top_k > 2;
    s->block_m = host_min ((size_t)call->param[MOE_BLOCK_M].one, s->m);
    s->tile_n = host_min ((size_t)call->param[MOE_TILE_N].one, widest * PRODUCT_PANEL);
    s->columns_first = (int)call->param[MOE_ORDER].one && s->tile_n < widest * PRODUCT_PANEL;
}

static void lay_out (struct moe_shape *s, size_t units)
{
    size_t elem = s->bf16 ? 2 : 4, at = 0;
    size_t up = s->experts * s->up_panels * PRODUCT_PANEL * s->hidden;
    size_t down = s->experts * s->down_panels * PRODUCT_PANEL * s->intermediate;

    s->start = host_place (&at, host_add (s->n_requests, 1), sizeof (int64_t));
    s->id = host_place (&at, s->n_pairs, sizeof (int32_t));
    s->weight = host_place (&at, s->n_pairs, sizeof (float));
    s->x = host_place (&at, host_mul (s->m, s->hidden), elem);
    s->gate = host_place (&at, up, elem);
    s->up = host_place (&at, up, elem);
    s->down = host_place (&at, down, elem);
    s->size.operand_bytes = at;
    s->size.row_bytes = s->hidden * (s->output_bf16 ? 2 : 4);
    s->size.output_bytes = host_mul (s->m, s->size.row_bytes);

    /* Sums of a block's gate and up, or of its output; and some k of its rows. */
    s->scratch_bytes = host_align (s->block_m * (s->tile_n + MOE_MAX_STEP) * sizeof (float));
    at = 0;
    s->pairs = host_place (&at, s->n_pairs, sizeof (int32_t));
    s->blocks = host_place (&at, s->n_pairs, sizeof (struct moe_block));
    s->h = host_place (&at, host_mul (s->n_pairs, s->up_panels * PRODUCT_PANEL), sizeof (float));
    s->y = host_place (&at, host_mul (s->n_pairs, s->down_panels * PRODUCT_PANEL), sizeof (float));
    s->scratches = host_place (&at, units, s->scratch_bytes);
    s->size.workspace_bytes = s->n_pairs ? at : 0;
}

static void digest_launch (struct moe_shape *s, const struct dt_backend_call *call)
{
    host_mix_facts (s->size.launch, call);
    host_mix (s->size.launch, s->m);
    if (s->m == 0)
        return; /* nothing is started, whatever the parameters */
    host_mix (s->size.launch, s->up_step);
    host_mix (s->size.launch, s->down_step);
    host_mix (s->size.launch, (uint64_t)s->pairwise);
    host_mix (s->size.launch, s->block_m);
    host_mix (s->size.launch, s->tile_n);
    host_mix (s->size.launch, (uint64_t)s->columns_first);
}

int moe_shape_init (struct moe_shape *ret, const struct dt_backend_call *call, size_t units,
                    struct dt_backend_error *err)
{
    struct moe_shape s = { .n_requests = call->n_requests };
    int r;

    if ((r = check_facts (call, err)) < 0)
        return r;
    take_facts (&s, call);
    if ((r = add_requests (&s, call, err)) < 0 || (r = host_check_params (call, err)) < 0)
        return r;
    take_params (&s, call);
    lay_out (&s, units);
    if ((r = host_check_size (call, &s.size, err)) < 0)
        return r;
    digest_launch (&s, call);
    *ret = s;
    return 0;
}

/* How many pairs each expert has. */
static int count_pairs (const struct moe_shape *s, const int32_t *id, uint32_t *ret,
                        struct dt_backend_error *err)
{
    size_t i;

    memset (ret, 0, s->experts * sizeof *ret);
    for (i = 0; i < s->n_pairs; i++) {
        if (id[i] < -1 || (id[i] >= 0 && (size_t)id[i] >= s->experts))
            return host_fail (err, -EINVAL, "moe: token %zu slot %zu: there is no expert %d; there "
                              "are %zu, and -1 is none", i / s->top_k, i % s->top_k, (int)id[i],
                              s->experts);
        if (id[i] >= 0)
            ret[id[i]]++;
    }
    return 0;
}

int moe_align (const struct moe_shape *s, const int32_t *id, int32_t *pairs,
               struct moe_block *blocks, size_t *ret_n_blocks, struct dt_backend_error *err)
{
    uint32_t count[MOE_MAX_EXPERTS], at = 0;
    size_t e, i, n = 0;
    int r;

    if ((r = count_pairs (s, id, count, err)) < 0)
        return r;
    for (e = 0; e < s->experts; e++) {
        uint32_t end = at + count[e], first = at;

        for (; first < end; first += blocks[n++].n)
            blocks[n] = (struct moe_block){ .expert = (uint32_t)e, .first = first,
                                            .n = (uint32_t)host_min (s->block_m, end - first) };
        count[e] = at;
        at = end;
    }
    for (i = 0; i < s->n_pairs; i++)
        if (id[i] >= 0)
            pairs[count[id[i]]++] = (int32_t)i;
    *ret_n_blocks = n;
    return 0;
}
