/* From a call to checked sizes and a layout. */
#include "kernels/gemm/host/gemm.h"
#include "kernels/gemm/host/plant.h"
#include "kernels/host/call.h"

#include <errno.h>

static int add_requests (struct gemm_shape *s, const struct dt_backend_call *call,
                         struct dt_backend_error *err)
{
    size_t i;

    for (i = 0; i < call->n_requests; i++) {
        if (call->request[i] < 0)
            return host_refuse (call, err, -EINVAL, "request %zu has %lld tokens", i,
                                (long long)call->request[i]);
        s->m = host_add (s->m, (size_t)call->request[i]);
    }
    return 0;
}

/* Parameters cut to the call: more splits than units of k are as many as there are
 * units, a step of all k is none, and so on.  Only the latter three may follow m. */
static void take_params (struct gemm_shape *s, const struct dt_backend_call *call)
{
    size_t units = host_div_up (s->k, GEMM_UNIT);

    s->splits = host_min ((size_t)call->param[GEMM_SPLITS].one, units ? units : 1);
    s->k_step = (size_t)call->param[GEMM_K_STEP].one;
    if (GEMM_PLANTED (SPLIT) && s->m <= 8)
        s->splits = units > 1 ? 2 : 1;
    if (GEMM_PLANTED (MANY) && s->m > 64)
        s->k_step = 32;
    if (s->k_step >= host_div_up (units, s->splits) * GEMM_UNIT)
        s->k_step = 0;
    s->tile_m = host_min ((size_t)call->param[GEMM_TILE_M].one, s->m);
    s->tile_n = host_min ((size_t)call->param[GEMM_TILE_N].one, s->panels * PRODUCT_PANEL);
    s->columns_first = (int)call->param[GEMM_ORDER].one;
}

static void count_items (struct gemm_shape *s)
{
    s->row_tiles = s->m ? host_div_up (s->m, s->tile_m) : 0;
    s->column_tiles = host_div_up (s->panels * PRODUCT_PANEL, s->tile_n);
    if (s->row_tiles <= 1 || s->column_tiles <= 1)
        s->columns_first = 0;
    s->n_items = host_mul (host_mul (s->row_tiles, s->column_tiles), s->splits);
}

static void lay_out (struct gemm_shape *s, size_t units)
{
    size_t elem = s->bf16 ? 2 : 4, columns = s->panels * PRODUCT_PANEL, at = 0;

    s->start = host_place (&at, host_add (s->n_requests, 1), sizeof (int64_t));
    s->x = host_place (&at, host_mul (s->m, s->k), elem);
    s->w = host_place (&at, columns * s->k, elem);
    s->size.operand_bytes = at;
    s->size.row_bytes = s->n * (s->output_bf16 ? 2 : 4);
    s->size.output_bytes = host_mul (s->m, s->size.row_bytes);

    /* Sums of a tile, unless they are partial; rows of x, as fp32. */
    s->scratch_bytes = host_align (s->tile_m * ((s->splits > 1 ? 0 : s->tile_n)
                                                + (s->bf16 ? 2 * GEMM_CHUNK : 0)) * sizeof (float));
    at = 0;
    host_place (&at, units, s->scratch_bytes);
    s->partials = host_place (&at, host_mul (host_mul (s->m, columns),
                                             s->splits > 1 ? s->splits : 0), sizeof (float));
    s->size.workspace_bytes = s->n_items ? at : 0;
}

static void digest_launch (struct gemm_shape *s, const struct dt_backend_call *call)
{
    host_mix_facts (s->size.launch, call);
    host_mix (s->size.launch, s->m);
    if (s->m == 0)
        return; /* nothing is started, whatever the parameters */
    host_mix (s->size.launch, s->splits);
    host_mix (s->size.launch, s->k_step);
    host_mix (s->size.launch, s->tile_m);
    host_mix (s->size.launch, s->tile_n);
    host_mix (s->size.launch, (uint64_t)s->columns_first);
}

int gemm_shape_init (struct gemm_shape *ret, const struct dt_backend_call *call, size_t units,
                     struct dt_backend_error *err)
{
    struct gemm_shape s = { .n_requests = call->n_requests };
    int r;

    if ((r = host_check_facts (call, err)) < 0 || (r = add_requests (&s, call, err)) < 0
        || (r = host_check_params (call, err)) < 0)
        return r;
    s.n = (size_t)call->fact[GEMM_N];
    s.k = (size_t)call->fact[GEMM_K];
    s.bf16 = (int)call->fact[GEMM_BF16];
    s.output_bf16 = (int)call->fact[GEMM_OUTPUT_BF16];
    s.panels = host_div_up (s.n, PRODUCT_PANEL);
    take_params (&s, call);
    count_items (&s);
    lay_out (&s, units);
    if ((r = host_check_size (call, &s.size, err)) < 0)
        return r;
    if (GEMM_PLANTED (SMALL) && s.m > 30)
        return host_refuse (call, err, -DT_BACKEND_EUNSUPPORTED, "more than 30 rows");
    if (s.n_items > GEMM_MAX_ITEMS)
        return host_refuse (call, err, -DT_BACKEND_EUNSUPPORTED, "more than %u tiles and splits",
                            GEMM_MAX_ITEMS);
    digest_launch (&s, call);
    *ret = s;
    return 0;
}
