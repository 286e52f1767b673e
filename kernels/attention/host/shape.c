/* From a call to checked sizes, a layout, and the list of items. */
#include "kernels/attention/host/attention.h"
#include "kernels/attention/host/plant.h"

#include <errno.h>
#include <string.h>

#include "kernels/host/call.h"

static int check_facts (const struct dt_backend_call *call, struct dt_backend_error *err)
{
    const int64_t *fact = call->fact;
    int r;

    if ((r = host_check_facts (call, err)) < 0)
        return r;
    if (fact[ATTN_HEAD_DIM] % ATTN_PANEL)
        return host_refuse (call, err, -EINVAL, "head_dim must be a multiple of %d", ATTN_PANEL);
    if (fact[ATTN_Q_HEADS] % fact[ATTN_KV_HEADS])
        return host_refuse (call, err, -EINVAL, "kv_heads must divide q_heads");
    if (fact[ATTN_PAGE_SIZE] & (fact[ATTN_PAGE_SIZE] - 1))
        return host_refuse (call, err, -EINVAL, "page_size must be a power of two");
    return 0;
}

static int check_params (const struct dt_backend_call *call, struct dt_backend_error *err)
{
    int r;

    if ((r = host_check_params (call, err)) < 0)
        return r;
    if (call->param[ATTN_SPLIT_STRIDE].one % call->param[ATTN_BLOCK_N].one)
        return host_refuse (call, err, -EINVAL, "split_stride must be a multiple of block_n");
    return 0;
}

static int check_requests (const struct dt_backend_call *call, struct dt_backend_error *err)
{
    size_t i;

    if (call->n_requests > (size_t)call->fact[ATTN_MAX_BATCH])
        return host_refuse (call, err, -EINVAL, "more requests than max_batch");
    for (i = 0; i < call->n_requests; i++) {
        const int64_t *x = call->request + i * ATTN_N_FIELDS;
        const char *why = x[ATTN_QUERY_LEN] < 0 ? "a negative length"
            : x[ATTN_QUERY_LEN] > x[ATTN_KV_LEN] ? "more queries than keys"
            : x[ATTN_KV_LEN] > call->fact[ATTN_MAX_CONTEXT] ? "more keys than max_context"
            : x[ATTN_QUERY_LEN] > call->fact[ATTN_MAX_QUERY] ? "more queries than max_query"
            : NULL;

        if (why)
            return host_refuse (call, err, -EINVAL, "request %zu has %s: query_len=%lld kv_len=%lld",
                           i, why, (long long)x[ATTN_QUERY_LEN], (long long)x[ATTN_KV_LEN]);
    }
    return 0;
}

static void copy_call (struct attn_shape *s, const struct dt_backend_call *call)
{
    *s = (struct attn_shape){
        .head_dim = (size_t)call->fact[ATTN_HEAD_DIM],
        .q_heads = (size_t)call->fact[ATTN_Q_HEADS],
        .kv_heads = (size_t)call->fact[ATTN_KV_HEADS],
        .page_size = (size_t)call->fact[ATTN_PAGE_SIZE],
        .bf16 = (int)call->fact[ATTN_BF16],
        .output_bf16 = (int)call->fact[ATTN_OUTPUT_BF16],
        .block_n = (size_t)call->param[ATTN_BLOCK_N].one,
        .split_stride = (size_t)call->param[ATTN_SPLIT_STRIDE].one,
        .window = (size_t)call->fact[ATTN_WINDOW],
        .n_requests = call->n_requests,
    };
    s->group = s->q_heads / s->kv_heads;
    if (PLANTED (TILE) && call->n_requests > 1)
        s->block_n = s->block_n == 16 ? 32 : s->block_n / 2;
    if (PLANTED (SPLIT_K) && call->n_requests > 4)
        s->split_stride = s->split_stride == 256 ? 512 : 256;
}

/* The tiles of one request, last rows first: they have most keys to see, and
 * threads that end together waste less.  Calls 'item' for each run. */
struct each {
    const struct attn_shape *s;
    struct attn_item *items; /* NULL: count only */
    size_t n_items, n_slots, n_folds;
};

/* Splits [first, end) over the workers: those before the window are the identity, and
 * nobody's. */
static void each_run (struct each *e, struct attn_item item, size_t first, size_t end,
                      size_t workers)
{
    size_t run, runs = host_min (workers, end - first);

    item.tile_end = (uint32_t)end;
    item.n_runs = (uint32_t)runs;
    for (run = 0; run < runs; run++) {
        item.run = (uint32_t)run;
        item.split = (uint32_t)(first + run * (end - first) / runs);
        item.end_split = (uint32_t)(first + (run + 1) * (end - first) / runs);
        item.slot = e->n_slots;
        if (e->items)
            e->items[e->n_items] = item;
        e->n_items++;
        if (runs > 1) /* the first run hands over one folded state */
            e->n_slots += run == 0 ? 1 : item.end_split - item.split;
    }
    e->n_folds += runs > 1;
}

static void each_request (struct each *e, const struct dt_backend_call *call, size_t request)
{
    const struct attn_shape *s = e->s;
    size_t query_len = (size_t)call->request[request * ATTN_N_FIELDS + ATTN_QUERY_LEN];
    size_t kv_len = (size_t)call->request[request * ATTN_N_FIELDS + ATTN_KV_LEN];
    size_t tile_m = (size_t)host_param (call, ATTN_TILE_M, request);
    size_t rows = query_len * s->group, tiles = host_div_up (rows, tile_m);
    size_t head, t;

    for (head = 0; head < s->kv_heads; head++)
        for (t = tiles; t-- > 0 && e->n_items <= ATTN_MAX_ITEMS;) {
            size_t row = t * tile_m, n = host_min (tile_m, rows - row);
            size_t end = attn_visible (kv_len - query_len, row, n, s->group);
            size_t low = attn_low (s->window, kv_len - query_len + row / s->group);

            each_run (e, (struct attn_item){ .request = (uint32_t)request,
                      .head = (uint32_t)head, .row = (uint32_t)row, .n_rows = (uint32_t)n },
                      s->split_stride ? low / s->split_stride : 0,
                      s->split_stride ? host_div_up (end, s->split_stride) : 1,
                      (size_t)host_param (call, ATTN_WORKERS, request));
        }
}

static void each_call (struct each *e, const struct dt_backend_call *call)
{
    size_t i;

    for (i = 0; i < call->n_requests; i++)
        each_request (e, call, i);
}

void attn_shape_items (const struct attn_shape *s, const struct dt_backend_call *call,
                       struct attn_item *items)
{
    struct each e = { .s = s, .items = items };

    each_call (&e, call);
}

/* What the call starts: block_n, and for each request what is left of the other
 * parameters once they are cut to its size. */
static void digest_launch (struct attn_shape *s, const struct dt_backend_call *call)
{
    size_t i;

    host_mix_facts (s->size.launch, call);
    host_mix (s->size.launch, s->block_n);
    for (i = 0; i < call->n_requests; i++) {
        size_t query_len = (size_t)call->request[i * ATTN_N_FIELDS + ATTN_QUERY_LEN];
        size_t kv_len = (size_t)call->request[i * ATTN_N_FIELDS + ATTN_KV_LEN];
        size_t stride = s->split_stride >= kv_len ? 0 : s->split_stride;
        size_t splits = !stride ? 1 : host_div_up (kv_len, stride)
                                      - attn_low (s->window, kv_len - query_len) / stride;

        host_mix (s->size.launch, query_len);
        if (query_len == 0)
            continue;
        host_mix (s->size.launch, kv_len);
        host_mix (s->size.launch, stride);
        host_mix (s->size.launch, host_min ((size_t)host_param (call, ATTN_TILE_M, i),
                                       query_len * s->group));
        host_mix (s->size.launch, host_min ((size_t)host_param (call, ATTN_WORKERS, i), splits));
    }
}

static void add_requests (struct attn_shape *s, const struct dt_backend_call *call)
{
    size_t i;

    for (i = 0; i < call->n_requests; i++) {
        size_t query_len = (size_t)call->request[i * ATTN_N_FIELDS + ATTN_QUERY_LEN], rows;

        s->n_tokens += query_len;
        s->n_pages += host_div_up ((size_t)call->request[i * ATTN_N_FIELDS + ATTN_KV_LEN],
                                   s->page_size);
        rows = host_min ((size_t)host_param (call, ATTN_TILE_M, i), query_len * s->group);
        s->tile_rows = rows > s->tile_rows ? rows : s->tile_rows;
    }
    /* Some pages belong to nobody: they are poisoned, and nobody may read them. */
    s->n_physical = s->n_pages + s->n_pages / 16 + 1;
    s->tile_rows = host_div_up (s->tile_rows, ATTN_ROWS) * ATTN_ROWS;
}

static void lay_out (struct attn_shape *s, size_t units)
{
    size_t elem = s->bf16 ? 2 : 4;
    size_t token = s->q_heads * s->head_dim, page = s->page_size * s->kv_heads * s->head_dim;
    size_t at = 0, rows = s->tile_rows, d = s->head_dim;

    s->q_start = host_place (&at, s->n_requests + 1, sizeof (int64_t));
    s->kv_start = host_place (&at, s->n_requests + 1, sizeof (int64_t));
    s->table = host_place (&at, s->n_pages, sizeof (int32_t));
    s->q = host_place (&at, host_mul (s->n_tokens, token), elem);
    s->k = host_place (&at, host_mul (s->n_physical, page), elem);
    s->v = host_place (&at, host_mul (s->n_physical, page), elem);
    s->size.operand_bytes = at;
    s->size.row_bytes = token * (s->output_bf16 ? 2 : 4);
    s->size.output_bytes = host_mul (s->n_tokens, s->size.row_bytes);

    s->state_bytes = host_align (rows * (d + 2) * sizeof (float));
    s->scratch_bytes = host_align ((rows * (d + s->block_n + 1) + 2 * d * s->block_n)
                                   * sizeof (float)) + 2 * s->state_bytes;
    at = 0;
    host_place (&at, s->n_items, sizeof (struct attn_item));
    s->scratches = host_place (&at, units, s->scratch_bytes);
    s->states = host_place (&at, s->n_slots, s->state_bytes);
    s->size.workspace_bytes = s->n_items ? at : 0;
}

int attn_shape_init (struct attn_shape *ret, const struct dt_backend_call *call, size_t units,
                     struct dt_backend_error *err)
{
    struct attn_shape s;
    struct each e = { .s = &s };
    int r;

    if ((r = check_facts (call, err)) < 0 || (r = check_requests (call, err)) < 0
        || (r = check_params (call, err)) < 0)
        return r;
    copy_call (&s, call);
    add_requests (&s, call);
    each_call (&e, call);
    if (e.n_items > ATTN_MAX_ITEMS)
        return host_refuse (call, err, -DT_BACKEND_EUNSUPPORTED, "more than %u tiles and runs",
                       ATTN_MAX_ITEMS);
    s.n_items = e.n_items;
    s.n_slots = e.n_slots;
    s.n_folds = e.n_folds;
    lay_out (&s, units);
    if (s.n_physical > INT32_MAX)
        return host_refuse (call, err, -EINVAL, "more than 2^31 pages");
    if ((r = host_check_size (call, &s.size, err)) < 0)
        return r;
    digest_launch (&s, call);
    *ret = s;
    return 0;
}
