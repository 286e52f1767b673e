/* A call's operands: seeded values, keyed by request and position. */
#include "kernels/attention/host/attention.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/seed.h"

enum stream { STREAM_Q = 1, STREAM_K, STREAM_V, STREAM_PAGES };

/* Pages or tokens that one task writes. */
#define FILL_CHUNK 16

struct fill {
    const struct attn_shape *s;
    const struct dt_backend_call *call;
    char *operands;
    float unused; /* what lies past the end of a request's last page */
};

/* The power of two that scales a value: over 8 binades, 25 or 40. */
static float scale_of (uint32_t h, uint32_t data)
{
    return seed_power (data == DT_BACKEND_SPREAD   ? (int)(h % 41) - 20
                       : data == DT_BACKEND_CANCEL ? (int)(h % 25) - 12
                                                   : (int)(h & 7) - 4);
}

/* One vector of one head: uniform in (-1, 1).  Queries are scaled by 4, so that
 * softmax has a few heavy keys and many light ones, and the maximum moves late;
 * values spread over 8 binades with either sign, so that sums cancel and every
 * order of adding shows. */
static void make_vector (uint64_t key, enum stream stream, uint32_t data, size_t d, float *ret)
{
    size_t i;

    for (i = 0; i < d; i++) {
        uint32_t h = seed_word (key, i);
        float x = seed_uniform (h);

        if (stream == STREAM_Q)
            x *= 4.0f;
        else if (stream == STREAM_V)
            x *= scale_of (h, data);
        ret[i] = x;
    }
}

static void put (const struct attn_shape *s, char *array, size_t at, size_t step, size_t d,
                 const float *x)
{
    size_t i;

    for (i = 0; i < d; i++)
        seed_put (array, at + i * step, x[i], s->bf16);
}

/* The last i with start[i] <= x. */
static size_t find (const int64_t *start, size_t n, size_t x)
{
    size_t lo = 0, hi = n;

    while (hi - lo > 1) {
        size_t middle = lo + (hi - lo) / 2;

        if ((size_t)start[middle] <= x)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

static void fill_q (void *arg, size_t thread, size_t task)
{
    const struct fill *f = arg;
    const struct attn_shape *s = f->s;
    const int64_t *start = (const int64_t *)(f->operands + s->q_start);
    size_t token, head, end = host_min (s->n_tokens, (task + 1) * FILL_CHUNK);
    float x[ATTN_MAX_HEAD_DIM];

    (void)thread;
    for (token = task * FILL_CHUNK; token < end; token++) {
        size_t i = find (start, s->n_requests, token);
        const int64_t *r = f->call->request + i * ATTN_N_FIELDS;
        uint64_t position = (uint64_t)(r[ATTN_KV_LEN] - r[ATTN_QUERY_LEN])
                            + (token - (uint64_t)start[i]);

        for (head = 0; head < s->q_heads; head++) {
            make_vector (seed_key (f->call->seed[i], STREAM_Q, position, head), STREAM_Q,
                         f->call->data, s->head_dim, x);
            put (s, f->operands + s->q, (token * s->q_heads + head) * s->head_dim, 1,
                 s->head_dim, x);
        }
    }
}

/* The position whose key and value stand at `position`, with the last one and the
 * one `exchange` before it exchanged.  A prefill stays as it is: its other queries
 * would see other keys. */
static size_t standing_at (const struct fill *f, const int64_t *request, size_t position)
{
    size_t by = f->call->exchange, last = (size_t)request[ATTN_KV_LEN] - 1;

    if (by == 0 || by > last - attn_low (f->s->window, last) || request[ATTN_QUERY_LEN] != 1)
        return position;
    return position == last ? last - by : position == last - by ? last : position;
}

/* Cancelling data: the later half of a request has the keys of the earlier half,
 * rotated, and their values negated, so a query that sees all gives them equal
 * weights, and its sum vanishes but for rounding; a key between the halves has no
 * value.  A request of an odd seed has one key at all positions: then each weight is
 * 1, and every bit of an output is what rounding left. */
static size_t partner_of (size_t position, size_t kv_len, float *ret_sign)
{
    size_t half = kv_len / 2, later = kv_len - half;

    *ret_sign = position < half ? 1.0f : position < later ? 0.0f : -1.0f;
    return position < later ? position : (position - later + half / 3) % half;
}

/* The first position that any query of the request sees. */
static size_t first_seen (const struct attn_shape *s, const int64_t *request)
{
    return attn_low (s->window, (size_t)(request[ATTN_KV_LEN] - request[ATTN_QUERY_LEN]));
}

/* Keys and values of one position in one page; past the end, what nobody may use. */
static void fill_key (const struct fill *f, size_t request, size_t position, size_t page)
{
    const struct attn_shape *s = f->s;
    size_t d = s->head_dim, ps = s->page_size, in = position % ps, head, i, source = position, key;
    size_t kv_len = (size_t)f->call->request[request * ATTN_N_FIELDS + ATTN_KV_LEN];
    uint64_t seed = f->call->seed[request];
    int is_used = position < kv_len;
    float sign = 1.0f;
    float k[ATTN_MAX_HEAD_DIM], v[ATTN_MAX_HEAD_DIM];

    for (i = 0; i < d; i++)
        k[i] = v[i] = f->unused;
    if (position < first_seen (s, f->call->request + request * ATTN_N_FIELDS))
        is_used = 0; /* every query has moved past it: the page may be another's by now */
    if (is_used)
        source = standing_at (f, f->call->request + request * ATTN_N_FIELDS, position);
    if (f->call->data == DT_BACKEND_CANCEL && is_used)
        source = partner_of (source, kv_len, &sign);
    key = f->call->data == DT_BACKEND_CANCEL && seed % 2 ? 0 : source;
    for (head = 0; head < s->kv_heads; head++) {
        size_t at = (page * s->kv_heads + head) * d * ps;

        if (is_used) {
            make_vector (seed_key (seed, STREAM_K, key, head), STREAM_K, f->call->data, d, k);
            make_vector (seed_key (seed, STREAM_V, source, head), STREAM_V, f->call->data, d, v);
            for (i = 0; i < d; i++)
                v[i] *= sign;
        }
        put (s, f->operands + s->k, at + in, ps, d, k);
        put (s, f->operands + s->v, at + in * d, 1, d, v);
    }
}

static void fill_pages (void *arg, size_t thread, size_t task)
{
    const struct fill *f = arg;
    const struct attn_shape *s = f->s;
    const int64_t *start = (const int64_t *)(f->operands + s->kv_start);
    const int32_t *table = (const int32_t *)(f->operands + s->table);
    size_t page, j, end = host_min (s->n_pages, (task + 1) * FILL_CHUNK);

    (void)thread;
    for (page = task * FILL_CHUNK; page < end; page++) {
        size_t i = find (start, s->n_requests, page);

        for (j = 0; j < s->page_size; j++)
            fill_key (f, i, (page - (size_t)start[i]) * s->page_size + j, (size_t)table[page]);
    }
}

static void fill_starts (const struct fill *f)
{
    const struct attn_shape *s = f->s;
    int64_t *q_start = (int64_t *)(f->operands + s->q_start);
    int64_t *kv_start = (int64_t *)(f->operands + s->kv_start);
    size_t i;

    q_start[0] = kv_start[0] = 0;
    for (i = 0; i < s->n_requests; i++) {
        const int64_t *r = f->call->request + i * ATTN_N_FIELDS;

        q_start[i + 1] = q_start[i] + r[ATTN_QUERY_LEN];
        kv_start[i + 1] = kv_start[i]
                          + (int64_t)host_div_up ((size_t)r[ATTN_KV_LEN], s->page_size);
    }
}

/* The first n_pages of a seeded permutation of all physical pages, in place:
 * draw without replacement, then poison the pages that nobody drew. */
static int fill_table (const struct fill *f, uint64_t scatter, struct dt_backend_error *err)
{
    const struct attn_shape *s = f->s;
    size_t i, page_values = s->page_size * s->kv_heads * s->head_dim;
    int32_t *table = (int32_t *)(f->operands + s->table), *all;

    if (!(all = malloc (s->n_physical * sizeof *all)))
        return host_fail (err, -ENOMEM, "attention: out of memory for %zu pages", s->n_physical);
    for (i = 0; i < s->n_physical; i++)
        all[i] = (int32_t)i;
    for (i = 0; i < s->n_physical; i++) {
        size_t j = i + seed_key (scatter, STREAM_PAGES, i, 0) % (s->n_physical - i);
        int32_t swap = all[i];

        all[i] = all[j];
        all[j] = swap;
    }
    memcpy (table, all, s->n_pages * sizeof *table);
    for (; i-- > s->n_pages;) { /* all bits set is a NaN in either type */
        size_t bytes = page_values * (s->bf16 ? 2 : 4);

        memset (f->operands + s->k + (size_t)all[i] * bytes, 0xff, bytes);
        memset (f->operands + s->v + (size_t)all[i] * bytes, 0xff, bytes);
    }
    free (all);
    return 0;
}

int attn_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
               uint64_t scatter, void *operands, struct dt_backend_error *err)
{
    struct attn_shape s;
    /* Two things, so that also a kernel that always uses them is seen. */
    struct fill f = { &s, call, operands, scatter >> 63 ? 0x1p100f : __builtin_nanf ("") };
    int r;

    if ((r = attn_shape_init (&s, call, ctx->identity.units, err)) < 0)
        return r;
    if (!operands)
        return host_fail (err, -EINVAL, "attention: fill of %zu requests without a buffer",
                          s.n_requests);
    fill_starts (&f);
    if ((r = fill_table (&f, scatter, err)) < 0)
        return r;
    host_pool_run (ctx->pool, fill_q, &f, host_div_up (s.n_tokens, FILL_CHUNK));
    host_pool_run (ctx->pool, fill_pages, &f, host_div_up (s.n_pages, FILL_CHUNK));
    return 0;
}
