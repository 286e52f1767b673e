/* From a call to checked sizes and a layout. */
#include <errno.h>

#include "kernels/allreduce/host/allreduce.h"
#include "kernels/host/call.h"

static int add_requests (struct ar_shape *s, const struct dt_backend_call *call,
                         struct dt_backend_error *err)
{
    int64_t elem = (int64_t)ar_elem (s), most = call->fact[AR_MAX_BYTES], total = 0;
    size_t i;

    for (i = 0; i < s->n_requests; i++) {
        const int64_t *x = call->request + i * AR_N_FIELDS;
        const char *why = x[AR_BYTES] < 0 ? "a negative size"
            : x[AR_BYTES] % elem ? "a part of an element"
            : x[AR_CAPTURED] < 0 || x[AR_CAPTURED] > 1 ? "captured neither 0 nor 1"
            : NULL;

        if (why)
            return host_refuse (call, err, -EINVAL, "request %zu has %s: bytes=%lld captured=%lld",
                                i, why, (long long)x[AR_BYTES], (long long)x[AR_CAPTURED]);
        if (x[AR_BYTES] > most || (total += x[AR_BYTES]) > most)
            return host_refuse (call, err, -EINVAL, "more than max_bytes");
    }
    s->n = (size_t)(total / elem);
    return 0;
}

static size_t workspace_of (const struct ar_shape *s)
{
    if (s->order == AR_RING)
        return s->ranks * s->n * sizeof (float);
    return s->algorithm == AR_PUSH ? s->ranks * s->ranks * s->n * ar_elem (s)
        : s->algorithm == AR_TWO_SHOT ? s->n * ar_elem (s) : 0;
}

/* What the call starts: a ring knows neither algorithms nor chunks, and no piece is
 * longer than the message. */
static void digest_launch (struct ar_shape *s, const struct dt_backend_call *call)
{
    host_mix_facts (s->size.launch, call);
    host_mix (s->size.launch, s->n);
    if (s->n == 0)
        return;
    host_mix (s->size.launch, s->order);
    host_mix (s->size.launch, s->order == AR_RING ? 0 : s->algorithm);
    host_mix (s->size.launch, s->order == AR_RING ? 0 : s->chunk < s->n ? s->chunk : s->n);
}

int ar_shape_init (struct ar_shape *ret, const struct dt_backend_call *call,
                   struct dt_backend_error *err)
{
    struct ar_shape s;
    size_t at = 0;
    int r;

    if ((r = host_check_facts (call, err)) < 0 || (r = host_check_params (call, err)) < 0)
        return r;
    s = (struct ar_shape){
        .ranks = (size_t)call->fact[AR_RANKS],
        .bf16 = (int)call->fact[AR_BF16],
        .order = (enum ar_order)call->param[AR_ORDER].one,
        .algorithm = (enum ar_algorithm)call->param[AR_ALGORITHM].one,
        .chunk = (size_t)call->param[AR_CHUNK].one,
        .n_requests = call->n_requests,
    };
    if ((r = add_requests (&s, call, err)) < 0)
        return r;
    s.start = host_place (&at, host_add (s.n_requests, 1), sizeof (int64_t));
    s.x = host_place (&at, s.ranks * s.n, ar_elem (&s));
    s.size.operand_bytes = at;
    s.size.row_bytes = s.ranks;
    s.size.output_bytes = s.ranks * s.n * ar_elem (&s);
    s.size.workspace_bytes = workspace_of (&s);
    if ((r = host_check_size (call, &s.size, err)) < 0)
        return r;
    digest_launch (&s, call);
    *ret = s;
    return 0;
}
