/* From a call to checked sizes and a layout. */
#include <errno.h>
#include <stdint.h>

#include "kernels/allreduce/cuda/allreduce.h"

/* Rows of the message's end are filled up to whole vectors. */
static int add_requests (struct ar_shape *s, const struct dt_backend_call *call,
                         struct dt_backend_error *err)
{
    int64_t elem = s->bf16 ? 2 : 4, most = call->fact[AR_MAX_BYTES], total = 0;
    size_t i;

    for (i = 0; i < s->n_requests; i++) {
        const int64_t *x = call->request + i * AR_N_FIELDS;

        if (x[AR_BYTES] < 0 || x[AR_BYTES] % elem)
            return cuda_refuse (call, err, -EINVAL, "request %zu has %lld bytes, no whole number of"
                                " elements", i, (long long)x[AR_BYTES]);
        if (x[AR_CAPTURED] < 0 || x[AR_CAPTURED] > 1)
            return cuda_refuse (call, err, -EINVAL, "request %zu is captured neither 0 nor 1", i);
        if (x[AR_BYTES] > most || (total += x[AR_BYTES]) > most)
            return cuda_refuse (call, err, -EINVAL, "its bytes are more than max_bytes");
    }
    s->n = (size_t)(total / elem);
    s->vectors = ((size_t)total + 15) / 16;
    return 0;
}

/* Blocks of one rank and what each moves at a time: no block without a vector, and
 * chunks as even as the message allows. */
static void divide (struct ar_shape *s, size_t blocks, size_t resident)
{
    size_t few = s->algorithm == AR_WORDS ? AR_WORD_LEAST : AR_THREADS;
    size_t least = (s->vectors + few - 1) / few, each;
    size_t most = s->algorithm == AR_WORDS ? AR_THREADS : AR_CHUNK;

    if (blocks > resident / s->here)
        blocks = resident / s->here; /* every block waits for others: all must run */
    s->blocks = least < blocks ? least : blocks;
    if (s->blocks == 0)
        s->blocks = 1;
    each = (s->vectors + s->blocks - 1) / s->blocks;
    s->chunk = each < most ? each : most;
    if (s->chunk == 0)
        s->chunk = 1;
}

static size_t place (size_t *at, size_t bytes)
{
    size_t start = cuda_align (*at);

    *at = cuda_add (start, bytes);
    return start;
}

static void lay_out (struct ar_shape *s, int logical)
{
    size_t at = 0;

    s->start = place (&at, cuda_mul (s->n_requests + 1, sizeof (int64_t)));
    s->seed = place (&at, cuda_mul (s->n_requests, sizeof (uint64_t)));
    s->x = place (&at, s->here * s->vectors * 16);
    s->operand_bytes = at;
    s->output_bytes = s->here * s->vectors * 16; /* a kernel writes whole vectors */
    at = 0;
    if (!logical)
        return;
    place (&at, s->here * s->vectors * 16);
    s->bank_bytes = cuda_align (ar_bank_bytes (s->ranks, s->blocks));
    s->bank = place (&at, s->here * s->bank_bytes);
    s->workspace_bytes = at;
}

static void digest_launch (struct ar_shape *s)
{
    cuda_mix (s->launch, s->ranks);
    cuda_mix (s->launch, (uint64_t)s->bf16);
    cuda_mix (s->launch, s->n);
    if (s->n == 0)
        return;
    cuda_mix (s->launch, s->order);
    cuda_mix (s->launch, s->order == AR_NCCL ? 0 : s->algorithm);
    cuda_mix (s->launch, s->order == AR_NCCL ? 0 : s->blocks);
}

int ar_shape_init (struct ar_shape *ret, const struct ar_group *g,
                   const struct dt_backend_call *call, struct dt_backend_error *err)
{
    int logical = g->ranks == 1;
    struct ar_shape s = { 0 };
    int r;

    if ((r = cuda_check_call (call, err)) < 0)
        return r;
    s.ranks = (size_t)call->fact[AR_RANKS];
    s.bf16 = (int)call->fact[AR_BF16];
    s.order = (enum ar_order)call->param[AR_ORDER].one;
    s.algorithm = (enum ar_algorithm)call->param[AR_ALGORITHM].one;
    s.overlap = g->overlap;
    s.n_requests = call->n_requests;
    s.here = logical ? s.ranks : 1;
    s.first = logical ? 0 : g->rank;
    if (!logical && s.ranks != g->ranks)
        return cuda_refuse (call, err, -EINVAL, "this process is one of %u ranks", g->ranks);
    if (s.order == AR_NCCL && (logical || !g->nccl))
        return cuda_refuse (call, err, -DT_BACKEND_EUNSUPPORTED, "%s", logical
                            ? "NCCL needs a process and a device for each rank" : g->why_nccl.text);
    if ((r = add_requests (&s, call, err)) < 0)
        return r;
    divide (&s, (size_t)call->param[AR_BLOCKS].one, g->resident);
    lay_out (&s, logical);
    digest_launch (&s);
    *ret = s;
    return 0;
}
