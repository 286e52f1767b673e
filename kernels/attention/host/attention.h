/* attention/host/attention.h - the sizes, layout and tiles of one attention call.
 * Uses: kernels/host/host.h.  Used by: kernels/attention/host, its tests. */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include "kernels/host/host.h"

/* Keys of one panel of K, head dimensions of one panel of V: what one step of
 * the product keeps in registers. */
#define ATTN_PANEL 16
/* Rows that one step of the product takes together. */
#define ATTN_ROWS 4
#define ATTN_MAX_HEAD_DIM 256

/* Most items (see below) of one call: 192 MiB of schedule.  Counting them takes
 * about 5 ns each, so that a hostile call is refused within 20 ms. */
#define ATTN_MAX_ITEMS (1u << 22)

enum attn_fact { ATTN_HEAD_DIM, ATTN_Q_HEADS, ATTN_KV_HEADS, ATTN_PAGE_SIZE, ATTN_BF16,
                 ATTN_OUTPUT_BF16, ATTN_MAX_CONTEXT, ATTN_MAX_BATCH, ATTN_MAX_QUERY,
                 ATTN_WINDOW, ATTN_N_FACTS };
enum attn_field { ATTN_QUERY_LEN, ATTN_KV_LEN, ATTN_N_FIELDS };
enum attn_param { ATTN_BLOCK_N, ATTN_SPLIT_STRIDE, ATTN_TILE_M, ATTN_WORKERS, ATTN_N_PARAMS };

/* A row is one (query token, query head of the group) of one key/value head.
 * An item is one thread's share: a tile of rows over a run of splits. */
struct attn_item {
    uint32_t request, head;
    uint32_t row, n_rows;          /* first row of the tile, and how many */
    uint32_t split, end_split;     /* the run: splits [split, end_split) */
    uint32_t tile_end;             /* of the tile's last run */
    uint32_t run, n_runs;          /* which, of how many; 1: the item finishes the rows itself */
    size_t slot;                   /* its first state; a tile's are adjacent */
};

/* A checked call.  Offsets are in bytes from the start of the buffer.
 *
 * Operands:
 *   q_start   int64 [n_requests + 1]   first query token of each request
 *   kv_start  int64 [n_requests + 1]   first page-table entry of each request
 *   table     int32 [n_pages]          physical page of each logical page
 *   q         [n_tokens][q_heads][head_dim]
 *   k         [n_physical][kv_heads][head_dim][page_size]
 *   v         [n_physical][kv_heads][page_size][head_dim]
 * Output:     [n_tokens][q_heads][head_dim], requests in the call's order
 * Workspace:  items [n_items], then `units` scratches, then states [n_slots] */
struct attn_shape {
    size_t head_dim, q_heads, kv_heads, group, page_size;
    int bf16, output_bf16;
    size_t block_n, split_stride;
    size_t window; /* keys that a query sees, its own included; 0: all up to it */
    size_t n_requests, n_tokens, n_pages, n_physical;
    size_t q_start, kv_start, table, q, k, v;
    size_t tile_rows; /* rows that a scratch or state holds */
    size_t n_items, n_slots, n_folds;
    size_t scratch_bytes, state_bytes;
    size_t scratches, states;
    struct host_size size;
};

/* Check a call and find its sizes.  Errors as `plan` of the interface. */
int attn_shape_init (struct attn_shape *ret, const struct dt_backend_call *call, size_t units,
                     struct dt_backend_error *err);

/* Write the call's items.  items: [shape->n_items]. */
void attn_shape_items (const struct attn_shape *s, const struct dt_backend_call *call,
                       struct attn_item *items);

int attn_fill (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
               uint64_t scatter, void *operands, struct dt_backend_error *err);
int attn_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call,
              const void *operands, void *output, void *workspace,
              struct dt_backend_error *err);

/* Running maximum, sum and unnormalised output of some rows.
 *   m, l [rows]   o [rows][head_dim] */
struct attn_state {
    float *m, *l, *o;
};

/* One tile of rows and the memory to work in.
 *   q [tile_rows][head_dim]            rows past n_rows are zero
 *   k [block_n / 16][head_dim][16]     one block's keys, in panels
 *   v [head_dim / 16][block_n][16]     one block's values, in panels
 *   s [tile_rows][block_n]             scores, then probabilities
 *   alpha [tile_rows]                  one block's rescaling */
struct attn_tile {
    const struct attn_shape *shape;
    const void *k_pages, *v_pages;
    const int32_t *pages;            /* of this request */
    size_t kv_len, head;
    size_t first;                    /* position of the request's token 0 */
    size_t row, n_rows;
    size_t low;                      /* the first key that any row sees */
    float scale;                     /* log2 (e) / sqrt (head_dim), see README */
    size_t n_calls, request;         /* requests of the call, and which; planted faults only */
    float *q, *k, *v, *s, *alpha;
    struct attn_state part;          /* one split's */
};

/* The kernels proper, compiled once per instruction set from tile.inc.  The
 * bits are the same.
 *   split   one split of the tile's rows into tile->part
 *   fold    a = a then b
 *   finish  divide, round, and store the tile's rows; out is the request's */
struct attn_kernels {
    void (*load_q) (struct attn_tile *t, const void *q);
    void (*split) (struct attn_tile *t, size_t begin, size_t end);
    void (*fold) (const struct attn_tile *t, struct attn_state *a, const struct attn_state *b);
    void (*finish) (const struct attn_tile *t, const struct attn_state *a, void *out);
};

extern const struct attn_kernels attn_kernels_base;
#ifdef __x86_64__
extern const struct attn_kernels attn_kernels_avx2;
#endif

/* The first key that the query at 'position' sees. */
static inline size_t attn_low (size_t window, size_t position)
{
    return window && position >= window ? position - window + 1 : 0;
}

/* Keys that any of rows [row, row + n) sees: one more than the last position. */
static inline size_t attn_visible (size_t first, size_t row, size_t n, size_t group)
{
    return first + (row + n - 1) / group + 1;
}
#endif
