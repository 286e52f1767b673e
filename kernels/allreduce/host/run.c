/* The ranks of one all-reduce, each on its thread; the README states the order. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernels/allreduce/host/allreduce.h"
#include "kernels/allreduce/host/plant.h"
#include "kernels/host/lanes.h"

struct job {
    struct ar_shape s;
    const int64_t *start; /* [n_requests + 1] */
    const char *x;
    char *output, *workspace;
};

static size_t min (size_t a, size_t b)
{
    return a < b ? a : b;
}

/* --- elements ------------------------------------------------------------------ */

/* Up to 8 elements from 'i'; the lanes past the n-th are 0. */
INLINE v8 load_some (const void *p, size_t i, size_t n, int bf16)
{
    v8 x = splat (0);

    if (n >= LANES)
        return load_any (p, i, bf16);
    for (size_t l = 0; l < n; l++)
        x[l] = load_one (p, i + l, bf16);
    return x;
}

INLINE void store_some (void *p, size_t i, size_t n, v8 x, int bf16)
{
    char all[LANES * sizeof (float)];
    size_t elem = bf16 ? 2 : 4;

    if (n >= LANES) {
        store_any (p, i, x, bf16);
        return;
    }
    store_any (all, 0, x, bf16);
    memcpy ((char *)p + i * elem, all, n * elem);
}

/* Elements [begin, end) of out = +0 + x[first] + x[first + 1] + ..., once around. */
static void sum_ranks (const struct ar_shape *s, const char *const *x, size_t first, size_t begin,
                       size_t end, char *out)
{
    for (size_t i = begin; i < end; i += LANES) {
        v8 sum = splat (0);

        for (size_t k = 0; k < s->ranks; k++) {
            sum += load_some (x[(first + k) % s->ranks], i, end - i, s->bf16);
            if (AR_PLANTED (ROUND) && s->n_requests > 1)
                sum = round_bf16 (sum);
        }
        store_some (out, i, end - i, sum, s->bf16);
    }
}

/* --- where things lie ---------------------------------------------------------- */

static const char *input_of (const struct job *j, size_t rank)
{
    return j->x + rank * j->s.n * ar_elem (&j->s);
}

static char *inbox_of (const struct job *j, size_t to, size_t from)
{
    return j->workspace + (to * j->s.ranks + from) * j->s.n * ar_elem (&j->s);
}

static float *partial_of (const struct job *j, size_t rank)
{
    return (float *)j->workspace + rank * j->s.n;
}

/* The request of an element. */
static size_t find (const struct job *j, size_t element)
{
    size_t lo = 0, hi = j->s.n_requests;

    while (hi - lo > 1) {
        size_t middle = lo + (hi - lo) / 2;

        if ((size_t)j->start[middle] <= element)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* Elements [begin, *ret_end) are of one request; where 'rank' receives them, as if
 * element 0 stood at the start of the result. */
static char *received (const struct job *j, size_t rank, size_t begin, size_t end,
                       size_t *ret_end)
{
    const struct ar_shape *s = &j->s;
    size_t request = find (j, begin);
    size_t first = (size_t)j->start[request], last = (size_t)j->start[request + 1];

    *ret_end = min (end, last);
    return j->output + (first * s->ranks + rank * (last - first)) * ar_elem (s)
           - first * ar_elem (s);
}

/* Sum into what the rank receives. */
static void sum_received (const struct job *j, const char *const *x, size_t rank, size_t begin,
                          size_t end)
{
    size_t at, next;

    for (at = begin; at < end; at = next) {
        char *out = received (j, rank, at, end, &next);

        sum_ranks (&j->s, x, 0, at, next, out);
    }
}

static void copy_received (const struct job *j, const char *from, size_t rank, size_t begin,
                           size_t end)
{
    size_t at, next, elem = ar_elem (&j->s);

    for (at = begin; at < end; at = next) {
        char *out = received (j, rank, at, end, &next);

        memcpy (out + at * elem, from + at * elem, (next - at) * elem);
    }
}

/* --- algorithms ------------------------------------------------------------------ */

/* Piece i of the message as this rank goes through it: each starts elsewhere, so that
 * they do not all read one rank's memory at once. */
static size_t piece_at (const struct ar_shape *s, size_t rank, size_t i, size_t n_pieces)
{
    return (i + rank * n_pieces / s->ranks) % n_pieces;
}

static int meet (struct host_team *team, size_t rank)
{
    if (AR_PLANTED (LOST) && rank == 1)
        return -DT_BACKEND_EDEVICE;
    if (AR_PLANTED (STUCK) && rank == 1)
        usleep (2000000);
    return host_team_wait (team, rank);
}

/* Write the own message into every rank's inbox; then each sums its own. */
static int push (const struct job *j, struct host_team *team, size_t rank, size_t n_pieces)
{
    const struct ar_shape *s = &j->s;
    const char *x[HOST_MAX_RANKS];
    size_t elem = ar_elem (s), i, to;
    int r;

    for (i = 0; i < n_pieces; i++) {
        size_t begin = piece_at (s, rank, i, n_pieces) * s->chunk;
        size_t end = min (s->n, begin + s->chunk);

        for (to = 0; to < s->ranks; to++)
            memcpy (inbox_of (j, to, rank) + begin * elem, input_of (j, rank) + begin * elem,
                    (end - begin) * elem);
    }
    if ((r = meet (team, rank)) < 0)
        return r;
    for (i = 0; i < s->ranks; i++)
        x[i] = inbox_of (j, rank, i);
    for (i = 0; i < n_pieces; i++)
        sum_received (j, x, rank, i * s->chunk, min (s->n, (i + 1) * s->chunk));
    return 0;
}

/* Read every rank's message where it lies. */
static int pull (const struct job *j, struct host_team *team, size_t rank, size_t n_pieces)
{
    const struct ar_shape *s = &j->s;
    const char *x[HOST_MAX_RANKS];
    size_t i;
    int r;

    if ((r = meet (team, rank)) < 0)
        return r;
    for (i = 0; i < s->ranks; i++)
        x[i] = input_of (j, i);
    for (i = 0; i < n_pieces; i++) {
        size_t begin = piece_at (s, rank, i, n_pieces) * s->chunk;

        sum_received (j, x, rank, begin, min (s->n, begin + s->chunk));
    }
    return meet (team, rank); /* nobody changes a message that another still reads */
}

/* Pieces are dealt to the ranks, each sums its own, and all fetch the results. */
static int two_shot (const struct job *j, struct host_team *team, size_t rank, size_t n_pieces)
{
    const struct ar_shape *s = &j->s;
    const char *x[HOST_MAX_RANKS];
    size_t i;
    int r;

    if ((r = meet (team, rank)) < 0)
        return r;
    for (i = 0; i < s->ranks; i++)
        x[i] = input_of (j, i);
    for (i = rank; i < n_pieces; i += s->ranks)
        sum_ranks (s, x, AR_PLANTED (OWNER) ? rank : 0, i * s->chunk,
                   min (s->n, (i + 1) * s->chunk), j->workspace);
    if ((r = meet (team, rank)) < 0)
        return r;
    for (i = 0; i < n_pieces; i++) {
        size_t begin = piece_at (s, rank, i, n_pieces) * s->chunk;

        copy_received (j, j->workspace, rank, begin, min (s->n, begin + s->chunk));
    }
    return 0;
}

/* One hop: the part that stands at 'rank' after 'step' hops, with this rank's values
 * added.  Part c has seen ranks c, c + 1, ..., in this order. */
static void ring_hop (const struct job *j, size_t rank, size_t step)
{
    const struct ar_shape *s = &j->s;
    size_t part = (rank + s->ranks - step) % s->ranks;
    size_t begin = part * s->n / s->ranks, end = (part + 1) * s->n / s->ranks, i;
    const float *from = partial_of (j, (rank + s->ranks - 1) % s->ranks);

    for (i = begin; i < end; i++)
        partial_of (j, rank)[i] = (step ? from[i] : 0.0f) + load_one (input_of (j, rank), i,
                                                                      s->bf16);
}

static void ring_fetch (const struct job *j, size_t rank, size_t part)
{
    const struct ar_shape *s = &j->s;
    size_t at = part * s->n / s->ranks, end = (part + 1) * s->n / s->ranks, next, i;
    const float *sum = partial_of (j, (part + s->ranks - 1) % s->ranks);

    for (; at < end; at = next) {
        char *out = received (j, rank, at, end, &next);

        for (i = at; i < next; i += LANES)
            store_some (out, i, next - i, load_some (sum, i, next - i, 0), s->bf16);
    }
}

static int ring (const struct job *j, struct host_team *team, size_t rank)
{
    size_t step, part;
    int r;

    for (step = 0; step < j->s.ranks; step++) {
        ring_hop (j, rank, step);
        if ((r = meet (team, rank)) < 0)
            return r;
    }
    for (part = 0; part < j->s.ranks; part++)
        ring_fetch (j, rank, part);
    return 0;
}

static int run_rank (void *arg, struct host_team *team, size_t rank)
{
    const struct job *j = arg;
    size_t n_pieces = (j->s.n + j->s.chunk - 1) / j->s.chunk;

    if (j->s.order == AR_RING)
        return ring (j, team, rank);
    return j->s.algorithm == AR_PUSH ? push (j, team, rank, n_pieces)
        : j->s.algorithm == AR_PULL ? pull (j, team, rank, n_pieces)
        : two_shot (j, team, rank, n_pieces);
}

static int need_team (struct dt_backend_ctx *ctx, struct dt_backend_error *err)
{
    int r;

    if (ctx->team)
        return 0;
    if ((r = host_team_new (&ctx->team)) < 0)
        return host_fail (err, r, "allreduce: no threads for %u ranks", HOST_MAX_RANKS);
    return 0;
}

int ar_run (struct dt_backend_ctx *ctx, const struct dt_backend_call *call, const void *operands,
            void *output, void *workspace, struct dt_backend_error *err)
{
    uint64_t timeout_ns = AR_PLANTED (LOST) || AR_PLANTED (STUCK) ? 100000000u : AR_TIMEOUT_NS;
    struct dt_backend_error why = { "" };
    struct ar_shape s;
    struct job j;
    uint64_t begin;
    int r;

    _Static_assert (sizeof j <= HOST_TEAM_ARG, "a rank's argument");
    if ((r = ar_shape_init (&s, call, err)) < 0)
        return r;
    if (s.n && (!operands || !output || (s.size.workspace_bytes && !workspace)))
        return host_fail (err, -EINVAL, "allreduce: run of %zu requests without a buffer",
                          s.n_requests);
    if ((r = need_team (ctx, err)) < 0)
        return r;
    j = (struct job){
        .s = s, .start = (const int64_t *)((const char *)operands + s.start),
        .x = (const char *)operands + s.x, .output = output, .workspace = workspace,
    };
    begin = host_now_ns ();
    if (s.n && (r = host_team_run (ctx->team, s.ranks, timeout_ns, run_rank, &j, sizeof j,
                                 &why)) < 0)
        return host_fail (err, r, "allreduce: %s (%zu bytes a rank, order=%d algorithm=%d"
                          " chunk=%zu)", why.text, s.n * ar_elem (&s), (int)s.order,
                          (int)s.algorithm, s.chunk);
    ctx->elapsed_ns = host_now_ns () - begin;
    return 0;
}
