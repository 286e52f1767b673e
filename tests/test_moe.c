/* kernels/moe: values, bits that no build changes, ids, launches, wrong calls. */
#include "tests/family_check.h"
#include "tests/moe_rig.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "kernels/moe/host/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))
#define MAX_WIDTH 256

static struct fam fam, planted;

static const int64_t sites[][FACTS] = {
    { 8, 2, 64, 48, 0, 0 }, { 4, 3, 100, 40, 0, 0 }, { 16, 5, 70, 130, 1, 0 },
    { 1, 1, 17, 1, 0, 0 }, { 3, 3, 1, 33, 1, 1 }, { 8, 4, 40, 96, 0, 1 },
};

static const int64_t params[][PARAMS] = {
    { 0, 0, 48, 256, 0 }, { 32, 1, 6, 16, 1 }, { 128, 0, 1, 64, 0 }, { 0, 1, 12, 64, 1 },
};

static const int64_t requests[] = { 3, 0, 0, 5, 1, 0, 7, 2, 0, 4 }; /* tokens, load */
static const uint64_t seeds[] = { 1, 2, 3, 4, 5 };

/* Column c of panels of k terms, of one expert. */
static float weight_at (const void *w, size_t expert, size_t n, size_t k, size_t c, size_t i,
                        int bf16)
{
    size_t panels = (n + 15) / 16;

    return fam_value (w, ((expert * panels + c / 16) * k + i) * 16 + c % 16, bf16);
}

static float round_bf16 (float x)
{
    uint32_t u;

    memcpy (&u, &x, sizeof u);
    u = (u + 0x7fff + ((u >> 16) & 1)) & 0xffff0000u;
    memcpy (&x, &u, sizeof x);
    return x;
}

/* As the README states them, operation by operation; and in float64. */
struct value {
    float bits;
    double exact, size; /* size: sum of the terms' magnitudes */
};

static struct value product (const struct value *x, const void *w, size_t expert, size_t n,
                             size_t k, size_t c, size_t step, int bf16)
{
    struct value y = { 0, 0, 0 };
    float part = 0;

    step = step && step < k ? step : 0;
    for (size_t i = 0; i < k; i++) {
        float v = weight_at (w, expert, n, k, c, i, bf16);

        part = fmaf (x[i].bits, v, part);
        if (step && (i % step == step - 1 || i == k - 1)) {
            y.bits += part;
            part = 0;
        }
        y.exact += x[i].exact * (double)v;
        y.size += fabs (x[i].exact * (double)v);
    }
    y.bits = step ? y.bits : part;
    return y;
}

static float exp2_as_stated (float x)
{
    static const float c[] = { 0x1.44138ap-13f, 0x1.5f0890p-10f, 0x1.3b2a54p-7f, 0x1.c6af6cp-5f,
                               0x1.ebfbe0p-3f, 0x1.62e430p-1f, 1.0f };
    volatile float shifted = (x < -125.0f ? -125.0f : x) + 0x1.8p23f;
    float whole = shifted - 0x1.8p23f, f = (x < -125.0f ? -125.0f : x) - whole, y = c[0];

    for (int i = 1; i < 7; i++) {
        volatile float scaled = y * f;

        y = scaled + c[i];
    }
    return x < -125.0f ? 0 : ldexpf (y, (int)whole);
}

static struct value silu (struct value g, struct value u, int bf16)
{
    volatile float a = fabsf (g.bits) * 0x1.715476p+0f;
    float e = exp2_as_stated (-a);
    volatile float top = g.bits < 0 ? g.bits * e : g.bits;
    volatile float ratio = top / (1.0f + e);
    volatile float y = ratio * u.bits;
    struct value h = { y, g.exact / (1 + exp (-g.exact)) * u.exact, 0 };

    h.bits = bf16 ? round_bf16 (h.bits) : h.bits;
    return h;
}

/* One token's row of y_s. */
static void slot_values (const struct fam_job *job, const struct moe_layout *l, size_t token,
                         size_t slot, struct value *ret)
{
    const int64_t *f = job->call.fact;
    size_t hidden = (size_t)f[HIDDEN], inter = (size_t)f[INTERMEDIATE], step, i;
    size_t pair = token * (size_t)f[TOP_K] + slot, e = (size_t)l->id[pair];
    struct value x[MAX_WIDTH], h[MAX_WIDTH];
    int bf16 = (int)f[BF16];

    step = (size_t)job->call.param[K_STEP].one;
    for (i = 0; i < hidden; i++) {
        float v = fam_value (l->x, token * hidden + i, bf16);

        x[i] = (struct value){ v, (double)v, 0 };
    }
    for (i = 0; i < inter; i++)
        h[i] = silu (product (x, l->gate, e, inter, hidden, i, step, bf16),
                     product (x, l->up, e, inter, hidden, i, step, bf16), bf16);
    for (i = 0; i < hidden; i++) {
        ret[i] = product (h, l->down, e, hidden, inter, i, step, bf16);
        ret[i].bits *= l->weight[pair];
        ret[i].exact *= (double)l->weight[pair];
        ret[i].size *= (double)l->weight[pair];
    }
}

static void token_values (const struct fam_job *job, const struct moe_layout *l, size_t token,
                          struct value *ret)
{
    static struct value slot[8][MAX_WIDTH];
    size_t top_k = (size_t)job->call.fact[TOP_K], hidden = (size_t)job->call.fact[HIDDEN], n, i, s;

    for (n = s = 0; s < top_k; s++)
        if (l->id[token * top_k + s] >= 0)
            slot_values (job, l, token, s, slot[n++]);
    for (i = 0; i < hidden; i++) {
        struct value y = { 0, 0, 0 };
        float tree[8] = { 0 };
        size_t left = n;

        for (s = 0; s < n; s++) {
            tree[s] = slot[s][i].bits;
            y.bits = s ? y.bits + tree[s] : tree[s];
            y.exact += slot[s][i].exact;
            y.size += slot[s][i].size;
        }
        for (; job->call.param[COMBINE].one && left > 1; left = (left + 1) / 2)
            for (s = 0; s < left; s += 2)
                tree[s / 2] = s + 1 < left ? tree[s] + tree[s + 1] : tree[s];
        y.bits = job->call.param[COMBINE].one ? tree[0] : y.bits;
        ret[i] = y;
    }
}

static void check_values (const struct fam_job *job)
{
    const int64_t *f = job->call.fact;
    struct moe_layout l = moe_layout (job);
    size_t hidden = (size_t)f[HIDDEN];
    struct value want[MAX_WIDTH];

    for (size_t token = 0; token < l.m; token++) {
        token_values (job, &l, token, want);
        for (size_t i = 0; i < hidden; i++) {
            float got = fam_value (job->output, token * hidden + i, (int)f[OUTPUT_BF16]);
            float bits = (f[OUTPUT_BF16] ? round_bf16 (want[i].bits) : want[i].bits) + 0.0f;

            ck_assert_msg (!memcmp (&got, &bits, sizeof got), "token %zu column %zu: %a, not %a",
                           token, i, (double)got, (double)bits);
            if (job->call.data == DT_BACKEND_RANDOM) /* else gate and up are rounding alone */
                ck_assert_double_le (fabs ((double)got - want[i].exact),
                                     want[i].size * (f[BF16] || f[OUTPUT_BF16] ? 0x1p-6 : 1e-4)
                                         + 1e-6);
        }
    }
}

START_TEST (values)
{
    const int64_t *f = sites[_i % (int)ARRAY_SIZE (sites)];
    size_t kind = (size_t)_i / ARRAY_SIZE (sites) % DT_BACKEND_DATA_KINDS;
    const int64_t *p = params[(size_t)_i / ARRAY_SIZE (sites) / DT_BACKEND_DATA_KINDS];
    struct fam_call call = { f, p, 5, requests, seeds, (uint32_t)kind, 0, 1, 2 };
    struct fam_job job;

    fam_job_init (&job, &fam, &call);
    fam_job_run (&job);
    check_values (&job);
    fam_job_done (&job);
}
END_TEST

START_TEST (bits_of_every_build)
{
    struct fam_call call = { sites[2], params[_i], 5, requests, seeds, 0, 0, 1, 1 };

    fam_plant (&planted, "moe_plant", MOE_PLANT_BASE);
    fam_check_same (&fam, &planted, &call);
}
END_TEST

/* 8 experts, 2 slots, 5 tokens. */
static const struct {
    const char *what;
    int32_t id[5][2];
} routes[] = {
    { "all to expert 3, twice", { { 3, 3 }, { 3, 3 }, { 3, 3 }, { 3, 3 }, { 3, 3 } } },
    { "all to 0 and 7", { { 0, 7 }, { 7, 0 }, { 0, 7 }, { 7, 0 }, { 0, 7 } } },
    { "some to none", { { -1, 2 }, { 2, -1 }, { -1, -1 }, { 2, 2 }, { 5, 1 } } },
    { "all to none", { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } } },
};

/* Finite, as stated, and each token as when it is alone. */
START_TEST (routing)
{
    static const int64_t five[] = { 1, 0, 1, 0, 1, 0, 1, 0, 1, 0 };
    const int64_t *p = params[_i % (int)ARRAY_SIZE (params)];
    size_t r = (size_t)_i / ARRAY_SIZE (params), i;
    struct fam_call call = { sites[0], p, 5, five, seeds, 0, 0, 1, 2 };
    struct fam_job all, one;

    fam_job_init (&all, &fam, &call);
    memcpy (moe_layout (&all).id, routes[r].id, sizeof routes[r].id);
    fam_job_run (&all);
    ck_assert_msg (fam_not_finite (&all, 0) == 0, "%s", routes[r].what);
    check_values (&all);
    call.n = 1;
    for (i = 0; i < 5; i++) {
        call.seed = &seeds[i];
        fam_job_init (&one, &fam, &call);
        memcpy (moe_layout (&one).id, routes[r].id[i], sizeof routes[r].id[i]);
        fam_job_run (&one);
        ck_assert_msg (fam_same_row (&all, i, &one, 0), "%s: token %zu", routes[r].what, i);
        fam_job_done (&one);
    }
    fam_job_done (&all);
}
END_TEST

START_TEST (wrong_id)
{
    static const int32_t bad[] = { 8, -2, INT32_MAX, INT32_MIN };
    struct fam_call call = { sites[0], params[0], 5, requests, seeds, 0, 0, 1, 1 };
    struct dt_backend_error err = { "" };
    struct fam_job job;

    fam_job_init (&job, &fam, &call);
    moe_layout (&job).id[7] = bad[_i];
    ck_assert_int_eq (fam_job_try (&job, &err), -EINVAL);
    ck_assert_msg (strstr (err.text, "token 3 slot 1: there is no expert"), "%s", err.text);
    moe_layout (&job).id[7] = 1; /* the error is not sticky */
    fam_job_run (&job);
    check_values (&job);
    fam_job_done (&job);
}
END_TEST

START_TEST (no_tokens)
{
    static const int64_t none[] = { 0, 3, 0, 0 };
    struct fam_call call = { sites[0], params[0], 2, none, seeds, 0, 0, 1, 1 };
    struct fam_job a, b;

    fam_job_init (&a, &fam, &call);
    ck_assert_uint_eq (a.plan.output_bytes, 0);
    ck_assert_uint_eq (a.plan.workspace_bytes, 0);
    fam_job_run (&a);
    call.param = params[1];
    fam_call_init (&b, &fam, &call);
    ck_assert_int_eq (fam_plan (&b, NULL), 0);
    ck_assert_mem_eq (a.plan.launch, b.plan.launch, sizeof a.plan.launch);
    fam_job_done (&a);
}
END_TEST

static const struct {
    const char *what;
    int64_t a[PARAMS], b[PARAMS];
    int same;
} launches[] = {
    { "a step of all k", { 0, 0, 6, 16, 0 }, { 512, 0, 6, 16, 0 }, 1 },
    { "a step", { 0, 0, 6, 16, 0 }, { 32, 0, 6, 16, 0 }, 0 },
    { "pairs of two slots", { 0, 0, 6, 16, 0 }, { 0, 1, 6, 16, 0 }, 1 },
    { "blocks longer than the call", { 0, 0, 24, 16, 0 }, { 0, 0, 48, 16, 0 }, 1 },
    { "blocks", { 0, 0, 6, 16, 0 }, { 0, 0, 12, 16, 0 }, 0 },
    { "order", { 0, 0, 6, 16, 0 }, { 0, 0, 6, 16, 1 }, 0 },
    { "order of one column of tiles", { 0, 0, 6, 64, 0 }, { 0, 0, 6, 256, 1 }, 1 },
};

START_TEST (launch)
{
    struct fam_call call = { sites[0], launches[_i].a, 5, requests, seeds, 0, 0, 1, 1 };

    fam_check_launch (&fam, &call, launches[_i].b, launches[_i].same, launches[_i].what);
}
END_TEST

static const struct {
    int64_t fact[FACTS], param[PARAMS], request[2];
    const char *text;
} wrong[] = {
    { { 0, 1, 8, 8, 0, 0 }, { 0, 0, 6, 16, 0 }, { 1, 0 }, "experts must be in" },
    { { 2, 3, 8, 8, 0, 0 }, { 0, 0, 6, 16, 0 }, { 1, 0 }, "top_k is above experts" },
    { { 2, 1, 0, 8, 0, 0 }, { 0, 0, 6, 16, 0 }, { 1, 0 }, "hidden must be in" },
    { { 2, 1, 8, 8, 0, 0 }, { 7, 0, 6, 16, 0 }, { 1, 0 }, "k_step has no value 7" },
    { { 2, 1, 8, 8, 0, 0 }, { 0, 0, 2, 16, 0 }, { 1, 0 }, "block_m has no value 2" },
    { { 2, 1, 8, 8, 0, 0 }, { 0, 0, 6, 16, 0 }, { -1, 0 }, "request 0 has -1 tokens" },
    { { 2, 1, 8, 8, 0, 0 }, { 0, 0, 6, 16, 0 }, { 1, -4 }, "a load of -4" },
    { { 2, 1, 8, 8, 0, 0 }, { 0, 0, 6, 16, 0 }, { INT64_MAX, 0 }, "more than 268435456 token-" },
};

START_TEST (wrong_call)
{
    struct fam_call call = { wrong[_i].fact, wrong[_i].param, 1, wrong[_i].request, seeds, 0, 0, 1,
                             1 };

    fam_check_refused (&fam, &call, -EINVAL, wrong[_i].text);
}
END_TEST

static void add_tests (TCase *tc)
{
    tcase_add_loop_test (tc, values, 0,
                         (int)(ARRAY_SIZE (sites) * DT_BACKEND_DATA_KINDS * ARRAY_SIZE (params)));
    tcase_add_loop_test (tc, bits_of_every_build, 0, (int)ARRAY_SIZE (params));
    tcase_add_loop_test (tc, routing, 0, (int)(ARRAY_SIZE (params) * ARRAY_SIZE (routes)));
    tcase_add_loop_test (tc, wrong_id, 0, 4);
    tcase_add_test (tc, no_tokens);
    tcase_add_loop_test (tc, launch, 0, (int)ARRAY_SIZE (launches));
    tcase_add_loop_test (tc, wrong_call, 0, (int)ARRAY_SIZE (wrong));
}

int main (void)
{
    return fam_suite ("kernels/moe", "moe", &fam, &planted, add_tests);
}
