#include "tests/gpu/sums.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/rig.h"

#define MOST_BYTES ((int64_t)1 << 27)

const struct dt_backend *sum_backend;
const struct dt_backend_family *sum_family;

void sum_load (const char *plugin)
{
    sum_backend = gpu_load (plugin, "allreduce", &sum_family);
}

struct dt_backend_ctx *sum_open (uint32_t device, uint32_t timed)
{
    struct dt_backend_options options = { .device = device, .timed = timed,
                                          .others = DT_BACKEND_OTHERS_TAKEN };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx;
    int r = sum_backend->open (&options, &ctx, &err);

    if (r == -ENODEV)
        gpu_skip (err.text);
    if (r < 0)
        gpu_die ("open", err.text);
    return ctx;
}

void sum_job_init (struct sum_job *j, struct dt_backend_ctx *ctx, int64_t ranks, int bf16)
{
    *j = (struct sum_job){ .ctx = ctx, .group = { .ranks = 1, .resident = 1u << 20 } };
    j->call = (struct dt_backend_call){ .family = sum_family, .fact = j->fact, .request = j->request,
                                        .seed = j->seed, .param = j->param };
    j->fact[AR_RANKS] = ranks;
    j->fact[AR_BF16] = bf16;
    j->fact[AR_MAX_BYTES] = MOST_BYTES;
    j->param[AR_BLOCKS].one = 32;
}

void sum_job_join (struct sum_job *j, uint32_t rank)
{
    j->group.ranks = (uint32_t)j->fact[AR_RANKS];
    j->group.rank = rank;
}

void sum_job_add (struct sum_job *j, int64_t bytes, uint64_t seed)
{
    j->request[j->call.n_requests * AR_N_FIELDS + AR_BYTES] = bytes;
    j->seed[j->call.n_requests++] = seed;
}

void sum_job_done (struct sum_job *j)
{
    sum_backend->free (j->ctx, j->operands);
    sum_backend->free (j->ctx, j->output);
    sum_backend->free (j->ctx, j->workspace);
    j->operands = j->output = j->workspace = NULL;
}

static void job_plan (struct sum_job *j)
{
    struct dt_backend_error err = { "" };

    if (sum_backend->plan (j->ctx, &j->call, &j->plan, &err) < 0
        || ar_shape_init (&j->shape, &j->group, &j->call, &err) < 0)
        gpu_die ("plan", err.text);
}

void sum_job_fill (struct sum_job *j, uint32_t data)
{
    struct dt_backend_error err = { "" };
    int64_t algorithm = j->param[AR_ALGORITHM].one;
    size_t workspace = 0;
    size_t i;
    int a;

    for (a = 0; a < AR_N_ALGORITHMS; a++)
        for (i = 0; i < sum_family->params[AR_BLOCKS].n_values; i++) {
            j->param[AR_ALGORITHM].one = a;
            j->param[AR_BLOCKS].one = sum_family->params[AR_BLOCKS].values[i];
            job_plan (j);
            workspace = j->plan.workspace_bytes > workspace ? j->plan.workspace_bytes : workspace;
        }
    j->param[AR_ALGORITHM].one = algorithm;
    j->call.data = data;
    if (sum_backend->alloc (j->ctx, j->plan.operand_bytes, &j->operands, &err) < 0
        || sum_backend->alloc (j->ctx, j->plan.output_bytes, &j->output, &err) < 0
        || sum_backend->alloc (j->ctx, workspace, &j->workspace, &err) < 0
        || sum_backend->fill (j->ctx, &j->call, 0, j->operands, &err) < 0)
        gpu_die ("fill", err.text);
}

unsigned char *sum_job_run (struct sum_job *j)
{
    struct dt_backend_error err = { "" };
    unsigned char *out;

    job_plan (j);
    if (!(out = malloc (j->plan.output_bytes + 1)))
        gpu_die ("run", "out of memory");
    if (sum_backend->set (j->ctx, j->output, 0xff, j->plan.output_bytes, &err) < 0
        || sum_backend->set (j->ctx, j->workspace, 0xff, j->plan.workspace_bytes, &err) < 0
        || sum_backend->run (j->ctx, &j->call, j->operands, j->output, j->workspace, &err) < 0
        || sum_backend->read (j->ctx, j->output, 0, j->plan.output_bytes, out, &err) < 0)
        gpu_die ("run", err.text);
    return out;
}

float sum_value_at (const unsigned char *x, int bf16, size_t i)
{
    uint32_t u;
    float f;

    if (bf16)
        u = (uint32_t)(x[2 * i] | x[2 * i + 1] << 8) << 16;
    else
        memcpy (&u, x + 4 * i, 4);
    memcpy (&f, &u, 4);
    return f;
}

/* To nearest, ties to even; no NaN comes here. */
static uint16_t to_bf16 (float f)
{
    uint32_t u;

    memcpy (&u, &f, 4);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

struct sum_reference sum_reference_of (struct sum_job *j)
{
    size_t ranks = j->shape.ranks, n = j->shape.n, elem = j->shape.bf16 ? 2 : 4, i, r;
    unsigned char *x = malloc (j->shape.vectors * 16 * ranks + 1);
    struct sum_reference ref = { malloc (n * elem + 1), 0 };
    struct dt_backend_error err = { "" };

    if (!x || !ref.want)
        gpu_die ("reference", "out of memory");
    if (sum_backend->read (j->ctx, j->operands, j->shape.x, j->shape.vectors * 16 * ranks, x, &err) < 0)
        gpu_die ("reference", err.text);
    for (i = 0; i < n; i++) {
        double exact = 0, size = 0;
        float sum = 0.0f;
        uint16_t bits;

        for (r = 0; r < ranks; r++) {
            float v = sum_value_at (x + r * j->shape.vectors * 16, j->shape.bf16, i);

            sum += v;
            exact += (double)v;
            size += fabs ((double)v);
        }
        bits = to_bf16 (sum);
        memcpy (ref.want + i * elem, elem == 2 ? (void *)&bits : (void *)&sum, elem);
        ref.far += fabs ((double)sum_value_at (ref.want, j->shape.bf16, i) - exact)
                   > size * (double)ranks * 0x1p-24 + (elem == 2 ? fabs (exact) * 0x1p-8 : 0);
    }
    free (x);
    return ref;
}

void sum_reference_done (struct sum_reference *ref)
{
    free (ref->want);
}

/* How many of n elements differ. */
static size_t count_differing (const unsigned char *a, const unsigned char *b, size_t n, size_t elem)
{
    size_t i, differ = 0;

    for (i = 0; i < n; i++)
        differ += memcmp (a + i * elem, b + i * elem, elem) != 0;
    return differ;
}

/* One request: every rank's output holds the canonical bits. */
static void compare (const struct sum_job *j, const struct sum_reference *ref, const unsigned char *out,
                     const char *what)
{
    size_t elem = j->shape.bf16 ? 2 : 4, bytes = j->shape.n * elem, r, differ = 0;

    for (r = 0; r < j->shape.here; r++)
        if (memcmp (out + r * bytes, ref->want, bytes) != 0)
            differ += gpu_failures < GPU_PRINTED ? count_differing (out + r * bytes, ref->want, j->shape.n, elem)
                                         : 1; /* nobody will read it */
    gpu_verdict (differ == 0 && ref->far == 0, "%s: %zu ranks, %s, %zu bytes, data %u, algorithm %d, %lld"
                 " blocks: %zu of %zu outputs differ, %zu are far from float64", what, j->shape.ranks,
                 elem == 2 ? "bf16" : "fp32", bytes, j->call.data, (int)j->shape.algorithm,
                 (long long)j->param[AR_BLOCKS].one, differ, j->shape.n * j->shape.here, ref->far);
}

void sum_all_ways (struct sum_job *j, const struct sum_reference *ref, const char *what)
{
    const struct dt_backend_param *blocks = &sum_family->params[AR_BLOCKS];
    size_t b;
    int a;

    for (a = 0; a < AR_N_ALGORITHMS; a++)
        for (b = 0; b < blocks->n_values; b++) {
            unsigned char *out;

            j->param[AR_ALGORITHM].one = a;
            j->param[AR_BLOCKS].one = blocks->values[b];
            out = sum_job_run (j);
            compare (j, ref, out, what);
            free (out);
        }
}

void sum_repeat (struct sum_job *j, const struct sum_reference *ref, int times, const char *what)
{
    int i, a;

    for (a = 0; a < AR_N_ALGORITHMS; a++)
        for (i = 0; i < times; i++) {
            unsigned char *out;

            j->param[AR_ALGORITHM].one = a;
            out = sum_job_run (j);
            compare (j, ref, out, what);
            free (out);
        }
}
