/* The family's schema, sizes and entries. */
#include "kernels/gemm/cuda/gemm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm/cuda/lt.h"
#include "kernels/gemm/cuda/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static const struct dt_backend_fact facts[GEMM_N_FACTS] = {
    [GEMM_N] = { "n", "columns", 8, 1 << 20 },
    [GEMM_K] = { "k", "terms", 16, 1 << 20 },
    [GEMM_OUTPUT_BF16] = { "output_bf16", "", 0, 1 },
};

static const char *const fields[GEMM_N_FIELDS] = { [GEMM_TOKENS] = "tokens" };

static const int64_t splits[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16 };
static const int64_t pad[] = { 1, 8, 16, 32, 64, 128, GEMM_MAX_PAD };

static const struct dt_backend_param params[GEMM_N_PARAMS] = {
    [GEMM_SPLITS] = { "splits", "parts", 1, 0, splits, ARRAY_SIZE (splits),
        "binding: each part of K is summed alone, and adding parts rounds; 0 is the library's own"
        " pick" },
    [GEMM_CONFIG] = { "config", "", 0, 0, gemm_config_values, GEMM_N_CONFIGS + 1,
        "free: tile, stages, cluster and swizzle place work; each output stays one chain of K"
        " steps" },
    [GEMM_PAD] = { "pad", "tokens", 0, 0, pad, ARRAY_SIZE (pad),
        "free: padded rows are computed and dropped; no row's sum has terms of another" },
};

/* What a context keeps; 'lt' is NULL if the library is not there, and 'why' says so. */
struct state {
    struct gemm_lt *lt;
    struct dt_backend_error why;
};

static const struct dt_backend_family family = {
    .name = "gemm",
    .facts = facts, .n_facts = ARRAY_SIZE (facts),
    .request_fields = fields, .n_request_fields = ARRAY_SIZE (fields),
    .params = params, .n_params = ARRAY_SIZE (params),
};

/* Sum the requests' tokens. */
static int count_tokens (struct gemm_shape *s, const struct dt_backend_call *call,
                         struct dt_backend_error *err)
{
    size_t i;

    for (i = 0; i < call->n_requests; i++) {
        int64_t tokens = call->request[i * GEMM_N_FIELDS + GEMM_TOKENS];

        if (tokens < 0 || (s->tokens += (size_t)tokens) > GEMM_MAX_TOKENS)
            return cuda_refuse (call, err, -EINVAL, "request %zu brings the tokens out of"
                                " 0..%zu", i, GEMM_MAX_TOKENS);
    }
    return 0;
}

/* Move '*at' past 'bytes', and return where they start. */
static size_t place (size_t *at, size_t bytes)
{
    size_t start = cuda_align (*at);

    *at = cuda_add (start, bytes);
    return start;
}

static size_t round_up (size_t x, size_t to)
{
    return (x + to - 1) / to * to;
}

/* Operands do not follow the parameters: x has rows for every padding. */
static void lay_out (struct gemm_shape *s)
{
    size_t at = 0, out = s->output_bf16 ? 2 : 4;

    s->x_rows = round_up (s->tokens, GEMM_MAX_PAD);
    s->start = place (&at, cuda_mul (s->n_requests + 1, sizeof (int64_t)));
    s->seed = place (&at, cuda_mul (s->n_requests, sizeof (uint64_t)));
    s->x = place (&at, cuda_mul (s->x_rows * s->k, 2));
    s->w = place (&at, cuda_mul (s->n * s->k, 2));
    s->operand_bytes = cuda_align (at);
    s->output_bytes = cuda_mul (s->rows * s->n, out);
    s->workspace_bytes = GEMM_WORKSPACE_BYTES;
}

int gemm_shape_init (struct gemm_shape *ret, const struct dt_backend_call *call,
                     struct dt_backend_error *err)
{
    struct gemm_shape s = { 0 };
    int r;

    if ((r = cuda_check_call (call, err)) < 0)
        return r;
    s.n = (size_t)call->fact[GEMM_N];
    s.k = (size_t)call->fact[GEMM_K];
    s.output_bf16 = (int)call->fact[GEMM_OUTPUT_BF16];
    s.splits = (int)call->param[GEMM_SPLITS].one;
    s.config = (int)call->param[GEMM_CONFIG].one;
    s.n_requests = call->n_requests;
    if (s.n % 8 || s.k % 8)
        return cuda_refuse (call, err, -EINVAL, "n and k must be multiples of 8");
    if ((r = count_tokens (&s, call, err)) < 0)
        return r;
    if (s.config == GEMM_CONFIG_CHAIN && s.splits > 1)
        return cuda_refuse (call, err, -DT_BACKEND_EUNSUPPORTED, "config %d is one chain; it has no"
                            " splits", s.config);
    s.rows = round_up (s.tokens, (size_t)call->param[GEMM_PAD].one);
    if (PLANTED (SPLIT_K) && s.config != GEMM_CONFIG_CHAIN)
        s.splits = s.rows < 128 ? 4 : 1;
    lay_out (&s);
    if (s.operand_bytes > PTRDIFF_MAX || s.output_bytes > PTRDIFF_MAX)
        return cuda_refuse (call, err, -EINVAL, "its size overflows");
    cuda_mix (s.launch, s.n);
    cuda_mix (s.launch, s.k);
    cuda_mix (s.launch, (uint64_t)s.output_bf16);
    cuda_mix (s.launch, s.rows);
    if (s.rows) {
        cuda_mix (s.launch, (uint64_t)s.splits);
        cuda_mix (s.launch, s.splits == GEMM_SPLIT_LIBRARY ? 0 : (uint64_t)s.config);
    }
    *ret = s;
    return 0;
}

static uint32_t gcd (uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t t = a % b;

        a = b;
        b = t;
    }
    return a;
}

void gemm_terms_init (struct gemm_terms *ret, const struct gemm_shape *s, uint32_t data,
                      uint32_t exchange)
{
    uint32_t half = (uint32_t)(s->k / 2), a = half * 5 / 8 | 1;

    while (gcd (a, half) != 1)
        a += 2;
    *ret = (struct gemm_terms){
        .k = (uint32_t)s->k, .half = half, .a = a, .b = half / 3,
        .data = data == DT_BACKEND_CANCEL ? GEMM_CANCEL
                : data == DT_BACKEND_SPREAD ? GEMM_SPREAD : GEMM_RANDOM,
        .exchange = exchange,
    };
}

static void library (struct dt_backend_ctx *ctx)
{
    size_t v = gemm_lt_found (), n = strlen (ctx->libraries);

    if (v)
        snprintf (ctx->libraries + n, sizeof ctx->libraries - n, "%scublasLt %zu.%zu.%zu",
                  n ? ", " : "", v / 10000, v % 10000 / 100, v % 100);
}

static int open_state (struct dt_backend_ctx *ctx, size_t slot, struct dt_backend_error *err)
{
    struct state *st = calloc (1, sizeof *st);
    int r;

    if (!st)
        return cuda_fail (err, -ENOMEM, "gemm: out of memory");
    ctx->state[slot] = st;
    r = gemm_lt_new (&st->lt, &st->why);
    if (r == 0 || r == -ENOENT) /* our own kernel needs no library */
        return 0;
    cuda_fail (err, r, "gemm: %s", st->why.text);
    return cuda_cause (ctx, r, err);
}

static void close_state (struct dt_backend_ctx *ctx, size_t slot)
{
    struct state *st = ctx->state[slot];

    if (!st)
        return;
    gemm_lt_free (st->lt);
    free (st);
    ctx->state[slot] = NULL;
}

static int uses_library (const struct gemm_shape *s)
{
    return s->config != GEMM_CONFIG_CHAIN || s->splits == GEMM_SPLIT_LIBRARY;
}

/* The product as cuBLASLt will run it.  `done` also after a failure. */
static int choose (const struct state *st, const struct gemm_shape *s,
                   const struct dt_backend_call *call, struct gemm_lt_call *c,
                   struct dt_backend_error *err)
{
    struct dt_backend_error why = { "" };
    int r;

    *c = (struct gemm_lt_call){ 0 };
    if (!st->lt)
        return cuda_refuse (call, err, -DT_BACKEND_EUNSUPPORTED, "%s", st->why.text);
    if (s->splits != GEMM_SPLIT_LIBRARY && gemm_lt_version (st->lt) != GEMM_CONFIGS_VERSION)
        return cuda_refuse (call, err, -DT_BACKEND_EUNSUPPORTED, "configurations are those of"
                            " cublasLt %d, and %zu is loaded; scan it anew", GEMM_CONFIGS_VERSION,
                            gemm_lt_version (st->lt));
    if ((r = gemm_lt_call_init (c, st->lt, s, &why)) == 0)
        r = s->splits == GEMM_SPLIT_LIBRARY
            ? gemm_lt_choose_first (c, st->lt, &why)
            : gemm_lt_choose (c, st->lt, &gemm_configs[s->config - 1], s->splits, &why);
    return r < 0 ? cuda_refuse (call, err, r, "%s", why.text) : 0;
}

static int plan (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 struct dt_backend_plan *ret, struct dt_backend_error *err)
{
    const struct state *st = ctx->state[slot];
    struct gemm_lt_call c;
    struct gemm_shape s;
    int r;

    if ((r = gemm_shape_init (&s, call, err)) < 0)
        return r;
    if (uses_library (&s) && s.rows) {
        r = choose (st, &s, call, &c, err);
        if (st->lt)
            gemm_lt_call_done (&c, st->lt);
        if (r < 0)
            return r;
    }
    *ret = (struct dt_backend_plan){
        .operand_bytes = s.operand_bytes,
        .output_bytes = s.output_bytes,
        .workspace_bytes = s.workspace_bytes,
        .launch = { s.launch[0], s.launch[1] },
    };
    return 0;
}

/* The rows' starts and the seeds, to the head of the operands. */
static int write_head (struct dt_backend_ctx *ctx, const struct gemm_shape *s,
                       const struct dt_backend_call *call, char *operands,
                       struct dt_backend_error *err)
{
    size_t bytes = (s->n_requests + 1) * sizeof (int64_t), i;
    int64_t *start = malloc (bytes);
    int r;

    if (!start)
        return cuda_fail (err, -ENOMEM, "out of memory");
    for (start[0] = 0, i = 0; i < s->n_requests; i++)
        start[i + 1] = start[i] + call->request[i * GEMM_N_FIELDS + GEMM_TOKENS];
    /* On the stream that fills, or the two would race.  What is copied from memory that is not
     * pinned is staged before the call returns, so 'start' may go. */
    r = cuda_check (ctx, cudaMemcpyAsync (operands + s->start, start, bytes, cudaMemcpyHostToDevice,
                    ctx->stream), "rows", err);
    free (start);
    if (r == 0 && s->n_requests)
        r = cuda_check (ctx, cudaMemcpyAsync (operands + s->seed, call->seed,
                        s->n_requests * sizeof (uint64_t), cudaMemcpyHostToDevice, ctx->stream),
                        "seeds", err);
    return r;
}

static int fill (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 uint64_t scatter, void *operands, struct dt_backend_error *err)
{
    struct gemm_terms terms;
    struct gemm_shape s;
    int r;

    (void)slot;
    (void)scatter; /* there are no addresses to permute */
    if ((r = gemm_shape_init (&s, call, err)) < 0)
        return r;
    gemm_terms_init (&terms, &s, call->data, call->exchange);
    if ((r = write_head (ctx, &s, call, operands, err)) < 0)
        return r;
    return cuda_check (ctx, gemm_fill_launch (ctx->stream, &s, &terms, operands), "fill", err);
}

static int launch (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                   const void *operands, void *output, void *workspace,
                   struct dt_backend_error *err)
{
    const struct state *st = ctx->state[slot];
    const char *x, *w;
    struct dt_backend_error why = { "" };
    struct gemm_lt_call c;
    struct gemm_shape s;
    int r;

    if ((r = gemm_shape_init (&s, call, err)) < 0 || s.rows == 0)
        return r;
    x = (const char *)operands + s.x;
    w = (const char *)operands + s.w;
    if (!uses_library (&s)) {
        r = cuda_check (ctx, gemm_chain_launch (ctx->stream, &s, x, w, output, workspace),
                        "chain", &why);
        return r < 0 ? cuda_refuse (call, err, r, "%s", why.text) : 0;
    }
    if ((r = choose (st, &s, call, &c, err)) == 0
        && (r = gemm_lt_launch (&c, st->lt, ctx->stream, x, w, output, workspace, &why)) < 0)
        cuda_refuse (call, err, r, "%s", why.text);
    if (st->lt)
        gemm_lt_call_done (&c, st->lt);
    return r;
}

static int rows (struct dt_backend_ctx *ctx, size_t slot, const struct dt_backend_call *call,
                 struct dt_backend_row *ret, struct dt_backend_error *err)
{
    struct gemm_shape s;
    size_t i, at = 0;
    int r;

    (void)ctx;
    (void)slot;
    if ((r = gemm_shape_init (&s, call, err)) < 0)
        return r;
    for (i = 0; i < s.n_requests; i++) {
        size_t length = (size_t)call->request[i * GEMM_N_FIELDS + GEMM_TOKENS] * s.n
                        * (s.output_bf16 ? 2 : 4);

        ret[i] = (struct dt_backend_row){ .offset = at, .length = length };
        at += length;
    }
    return 0;
}

const struct cuda_family cuda_gemm = {
    .family = &family, .library = library, .open = open_state, .close = close_state,
    .plan = plan, .fill = fill, .launch = launch, .rows = rows, .cold = 1,
};
