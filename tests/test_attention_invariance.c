/* kernels/attention: a request's bits do not follow its batch, its row, its
 * pages, or a free parameter; and planted faults show that these tests see. */
#include "tests/attention_rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attention/host/plant.h"
#include "tests/suite.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

static const struct rig_site sites[] = {
    { 32, 4, 1, 16, 0, 0, 4096, 64, 1024 },
    { 48, 6, 2, 8, 1, 0, 4096, 64, 1024 },
    { 16, 2, 2, 1, 1, 1, 4096, 64, 1024 },
    { 32, 4, 2, 16, 0, 0, 4096, 64, 1024, 77 },
    { 48, 6, 1, 1, 1, 0, 4096, 64, 1024, 256 },
};

static const struct rig_params bound[] = {
    { 32, 256, 16, 1 }, { 16, 0, 16, 1 }, { 128, 512, 16, 1 },
};

/* Lengths on and beside the edges of pages, blocks and splits. */
static const struct rig_request watched[] = {
    { 1, 1, 11 }, { 1, 700, 12 }, { 37, 333, 13 }, { 5, 1100, 14 }, { 1, 1024, 15 },
    { 64, 64, 16 }, { 0, 0, 17 }, { 1, 257, 18 }, { 3, 256, 19 }, { 0, 9, 20 }, { 17, 17, 21 },
    { 1, 1300, 22 }, { 2, 255, 23 },
};

static const int64_t tiles[] = { 1, 4, 16, 32, 64 }, workers[] = { 1, 2, 4, 8 };

static struct fam rig, planted;

static uint64_t next (uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 31);
}

static void shuffle_free (struct rig_call *call, uint64_t *state)
{
    call->params.tile_m = tiles[next (state) % ARRAY_SIZE (tiles)];
    call->params.workers_per_request = workers[next (state) % ARRAY_SIZE (workers)];
    call->units = 1 + (int)(next (state) % FAM_MAX_UNITS);
    call->scatter = next (state);
}

static int has_nan (const struct fam_job *job, size_t offset, size_t length)
{
    int bf16 = (int)job->call.fact[5];
    size_t i, elem = bf16 ? 2 : 4;

    for (i = offset / elem; i < (offset + length) / elem; i++)
        if (!isfinite (fam_value (job->output, i, bf16)))
            return 1;
    return 0;
}

/* Rows of random batches that are not as when their request is alone. */
static int count_batches (struct fam *r, const struct rig_site *site, struct rig_params params,
                          int trials)
{
    unsigned char *alone[ARRAY_SIZE (watched)];
    uint64_t state = 7;
    int bad = 0, trial;
    size_t i;

    for (i = 0; i < ARRAY_SIZE (watched); i++) {
        struct rig_call call = { site, params, 1, &watched[i], 1, 1 };
        struct fam_job job;

        rig_job_init (&job, r, &call);
        fam_job_run (&job);
        bad += has_nan (&job, 0, job.row[0].length);
        alone[i] = malloc (job.row[0].length + 1);
        memcpy (alone[i], job.output, job.row[0].length);
        fam_job_done (&job);
    }
    for (trial = 0; trial < trials; trial++) {
        struct rig_request batch[12];
        size_t which[12], n = 1 + next (&state) % 12;
        struct rig_call call = { site, params, n, batch, 0, 1 };
        struct fam_job job;

        for (i = 0; i < n; i++) {
            which[i] = next (&state) % (ARRAY_SIZE (watched) * 3 / 2); /* a third are strangers */
            if (which[i] < ARRAY_SIZE (watched)) {
                batch[i] = watched[which[i]];
            } else {
                batch[i].kv_len = (int64_t)(next (&state) % 400);
                batch[i].query_len = batch[i].kv_len ? (int64_t)(next (&state) % 30)
                                                       % (batch[i].kv_len + 1) : 0;
                batch[i].seed = next (&state);
            }
        }
        shuffle_free (&call, &state);
        rig_job_init (&job, r, &call);
        fam_job_run (&job);
        for (i = 0; i < n; i++)
            if (which[i] < ARRAY_SIZE (watched))
                bad += memcmp (job.output + job.row[i].offset, alone[which[i]],
                               job.row[i].length) != 0;
        fam_job_done (&job);
    }
    for (i = 0; i < ARRAY_SIZE (watched); i++)
        free (alone[i]);
    return bad;
}

/* Positions whose bits differ between one prefill, chunks of it after a prefix,
 * and decodes. */
static int count_positions (struct fam *r, const struct rig_site *site, struct rig_params params)
{
    static const int64_t chunks[][2] = { /* first position, queries */
        { 0, 1 }, { 0, 5 }, { 5, 59 }, { 64, 1 }, { 255, 1 }, { 255, 2 }, { 256, 1 },
        { 200, 100 }, { 511, 3 }, { 570, 1 }, { 571, 1 }, { 576, 64 }, { 639, 1 },
    };
    struct rig_request whole = { 640, 640, 99 };
    struct rig_call call = { site, params, 1, &whole, 1, 2 };
    size_t token = (size_t)(site->q_heads * site->head_dim * (site->output_bf16 ? 2 : 4));
    struct fam_job all, part;
    uint64_t state = 5;
    int bad = 0;
    size_t i;

    rig_job_init (&all, r, &call);
    fam_job_run (&all);
    for (i = 0; i < ARRAY_SIZE (chunks); i++) {
        struct rig_request chunk = { chunks[i][1], chunks[i][0] + chunks[i][1], 99 };

        call.request = &chunk;
        shuffle_free (&call, &state);
        rig_job_init (&part, r, &call);
        fam_job_run (&part);
        bad += memcmp (part.output, all.output + (size_t)chunks[i][0] * token,
                       (size_t)chunks[i][1] * token) != 0;
        fam_job_done (&part);
    }
    fam_job_done (&all);
    return bad;
}

START_TEST (invariance)
{
    const struct rig_site *site = &sites[_i % (int)ARRAY_SIZE (sites)];
    struct rig_params params = bound[_i / (int)ARRAY_SIZE (sites)];

    ck_assert_int_eq (count_batches (&rig, site, params, 25), 0);
    ck_assert_int_eq (count_positions (&rig, site, params), 0);
}
END_TEST

static const struct {
    enum attn_plant plant;
    int caught;
} plants[] = {
    { PLANT_NONE, 0 }, { PLANT_BASE, 0 }, { PLANT_FOLD_RUNS, 1 }, { PLANT_PAIRWISE, 1 },
    { PLANT_LAZY, 1 }, { PLANT_TILE, 1 }, { PLANT_NAN, 1 },
};

START_TEST (planted_fault)
{
    enum attn_plant *fault = dlsym (planted.object, "attn_plant");
    int bad;

    ck_assert_ptr_nonnull (fault);
    *fault = plants[_i].plant;
    bad = count_batches (&planted, &sites[0], bound[0], 25);
    bad += count_positions (&planted, &sites[0], bound[0]);
    ck_assert_msg ((bad > 0) == plants[_i].caught, "fault %d: %d rows differ",
                   (int)plants[_i].plant, bad);
}
END_TEST

/* Vectors of head_dim elements that differ between two parameter sets. */
static double share_changed (const struct rig_site *site, struct rig_params a,
                             struct rig_params b, const struct rig_request *request)
{
    struct rig_call call = { site, a, 1, request, 1, 1 };
    size_t vector = (size_t)(site->head_dim * (site->output_bf16 ? 2 : 4)), i, n, changed = 0;
    struct fam_job x, y;

    rig_job_init (&x, &rig, &call);
    fam_job_run (&x);
    call.params = b;
    rig_job_init (&y, &rig, &call);
    fam_job_run (&y);
    n = x.plan.output_bytes / vector;
    for (i = 0; i < n; i++)
        changed += memcmp (x.output + i * vector, y.output + i * vector, vector) != 0;
    fam_job_done (&x);
    fam_job_done (&y);
    return (double)changed / (double)n;
}

/* The data have power: another order shows in nearly every fp32 row. */
START_TEST (binding_parameters_change_bits)
{
    static const struct { struct rig_params a, b; } pairs[] = {
        { { 16, 0, 16, 1 }, { 32, 0, 16, 1 } }, { { 32, 0, 16, 1 }, { 64, 0, 16, 1 } },
        { { 64, 0, 16, 1 }, { 128, 0, 16, 1 } }, { { 32, 0, 16, 1 }, { 32, 256, 16, 1 } },
        { { 64, 256, 16, 1 }, { 64, 512, 16, 1 } }, { { 128, 256, 16, 1 }, { 128, 0, 16, 1 } },
    };
    struct rig_request request = { 64, 1200, 31 };
    double share = share_changed (&sites[0], pairs[_i].a, pairs[_i].b, &request);

    ck_assert_msg (share > 0.9, "pair %d: %.0f%% of rows changed", _i, 100 * share);
}
END_TEST

/* Free parameters of each request its own, as a selection gives them. */
START_TEST (free_parameters_by_request)
{
    const struct rig_site *site = &sites[_i];
    enum { N = ARRAY_SIZE (watched) };
    struct rig_call call = { site, bound[0], N, watched, 5, 2 };
    int64_t tile[N], worker[N];
    struct dt_backend_error err = { "" };
    struct fam_job one, each;
    uint64_t state = 3;
    void *larger = NULL;

    rig_job_init (&one, &rig, &call);
    fam_job_run (&one);
    rig_job_init (&each, &rig, &call);
    for (size_t i = 0; i < N; i++) {
        tile[i] = tiles[next (&state) % ARRAY_SIZE (tiles)];
        worker[i] = workers[next (&state) % ARRAY_SIZE (workers)];
    }
    each.param[2].each = tile;
    each.param[3].each = worker;
    ck_assert_int_eq (rig.b->plan (each.ctx, &each.call, &each.plan, &err), 0);
    ck_assert (each.plan.launch[0] != one.plan.launch[0]);
    rig.b->free (each.ctx, each.workspace);
    ck_assert_int_eq (rig.b->alloc (each.ctx, each.plan.workspace_bytes, &larger, &err), 0);
    each.workspace = larger;
    fam_job_run (&each);
    ck_assert_mem_eq (each.output, one.output, one.plan.output_bytes);
    tile[N - 1] = 5;
    ck_assert_int_eq (rig.b->plan (each.ctx, &each.call, &each.plan, &err), -EINVAL);
    each.param[3].each = NULL;
    tile[N - 1] = 4;
    each.param[0].each = tile; /* a binding parameter is one value */
    ck_assert_int_eq (rig.b->plan (each.ctx, &each.call, &each.plan, &err), -EINVAL);
    fam_job_done (&each);
    fam_job_done (&one);
}
END_TEST

/* Two requests with one prefix share its pages; the second's own are poison. */
START_TEST (shared_pages)
{
    const struct rig_site *site = &sites[0];
    struct rig_request batch[] = { { 3, 403, 77 }, { 2, 330, 77 } };
    struct rig_call call = { site, bound[0], 2, batch, 3, 2 };
    struct fam_job job;
    struct rig_layout lay;
    unsigned char *before;
    size_t page = (size_t)(site->page_size * site->kv_heads * site->head_dim) * 4, i;

    rig_job_init (&job, &rig, &call);
    fam_job_run (&job);
    before = malloc (job.plan.output_bytes);
    memcpy (before, job.output, job.plan.output_bytes);
    rig_layout (&job, &lay);
    for (i = 0; i < 330 / 16; i++) { /* whole pages only */
        int32_t *own = &lay.table[lay.kv_start[1] + (int64_t)i];

        memset ((char *)lay.k + (size_t)*own * page, 0xff, page);
        memset ((char *)lay.v + (size_t)*own * page, 0xff, page);
        *own = lay.table[i];
    }
    fam_job_run (&job);
    ck_assert_mem_eq (job.output, before, job.plan.output_bytes);
    free (before);
    fam_job_done (&job);
}
END_TEST

/* A decode beside a row of 9 tokens, and beside one of 10, with the key
 * block of the batch's longest query, and with one block for both. */
START_TEST (neighbours_length)
{
    static const struct rig_request nine[] = { { 1, 700, 1 }, { 9, 300, 2 } };
    static const struct rig_request ten[] = { { 1, 700, 1 }, { 10, 300, 3 } };
    struct rig_call call = { &sites[0], { 64, 0, 16, 1 }, 2, nine, 1, 1 };
    struct fam_job a, b;

    rig_job_init (&a, &rig, &call);
    fam_job_run (&a);
    call.request = ten;
    call.params.block_n = _i ? 64 : 32; /* pinned, or chosen by the longest query */
    rig_job_init (&b, &rig, &call);
    fam_job_run (&b);
    ck_assert_uint_eq (a.row[0].length, b.row[0].length);
    ck_assert_int_eq (memcmp (a.output, b.output, a.row[0].length) == 0, _i);
    fam_job_done (&a);
    fam_job_done (&b);
}
END_TEST

/* Pages that the window has left behind are gone: another's, or none at all. */
START_TEST (left_behind)
{
    struct rig_site site = sites[3];
    struct rig_request batch[] = { { 3, 403, 77 }, { 1, 330, 78 }, { 20, 300, 79 } };
    struct rig_call call = { &site, bound[_i], 3, batch, 3, 2 };
    struct fam_job job;
    struct rig_layout lay;
    unsigned char *before;
    int64_t i, k, gone = 0;

    rig_job_init (&job, &rig, &call);
    fam_job_run (&job);
    ck_assert (!has_nan (&job, 0, job.plan.output_bytes));
    before = malloc (job.plan.output_bytes);
    memcpy (before, job.output, job.plan.output_bytes);
    rig_layout (&job, &lay);
    for (i = 0; i < 3; i++) {
        int64_t low = batch[i].kv_len - batch[i].query_len - site.window + 1;

        for (k = 0; (k + 1) * site.page_size <= low; k++, gone++)
            lay.table[lay.kv_start[i] + k] = INT32_MIN;
    }
    ck_assert_int_gt (gone, 40);
    fam_job_run (&job);
    ck_assert_mem_eq (job.output, before, job.plan.output_bytes);
    free (before);
    fam_job_done (&job);
}
END_TEST

/* A prefill beside decodes, long beside short, and requests of nothing: each row is
 * the one that its request has alone. */
START_TEST (mixed_batch)
{
    static const struct rig_request batch[] = {
        { 1, 900, 1 }, { 512, 512, 2 }, { 0, 0, 3 }, { 1, 1, 4 }, { 100, 1000, 5 }, { 0, 64, 6 },
        { 1, 64, 7 }, { 2, 1024, 8 },
    };
    const struct rig_site *site = &sites[_i];
    struct rig_call call = { site, bound[0], ARRAY_SIZE (batch), batch, 5, 3 };
    struct fam_job all, one;
    size_t i;

    rig_job_init (&all, &rig, &call);
    fam_job_run (&all);
    ck_assert (!has_nan (&all, 0, all.plan.output_bytes));
    for (i = 0; i < ARRAY_SIZE (batch); i++) {
        struct rig_call alone = { site, { 32, 256, 4, 4 }, 1, &batch[i], 6, 2 };

        rig_job_init (&one, &rig, &alone);
        fam_job_run (&one);
        ck_assert_uint_eq (one.row[0].length, all.row[i].length);
        ck_assert_mem_eq (one.output, all.output + all.row[i].offset, all.row[i].length);
        fam_job_done (&one);
    }
    fam_job_done (&all);
}
END_TEST

/* Empty and short requests, twins, a full last page. */
START_TEST (short_requests)
{
    static const struct rig_request batch[] = {
        { 0, 0, 1 }, { 1, 5, 2 }, { 0, 0, 3 }, { 0, 3, 4 }, { 1, 3, 5 }, { 1, 3, 5 }, { 1, 16, 6 },
    };
    static const int64_t page_sizes[] = { 1, 16 };
    struct rig_site site = sites[0];
    struct rig_call call = { &site, bound[0], ARRAY_SIZE (batch), batch, 9, 2 };
    struct fam_job job;
    struct rig_layout lay;
    size_t i, values;

    site.page_size = page_sizes[_i];
    rig_job_init (&job, &rig, &call);
    fam_job_run (&job);
    ck_assert (!has_nan (&job, 0, job.plan.output_bytes));
    ck_assert_uint_eq (job.row[0].length, 0);
    ck_assert_uint_eq (job.row[3].length, 0);
    ck_assert_mem_eq (job.output + job.row[4].offset, job.output + job.row[5].offset,
                      job.row[4].length);
    /* Keys of zero: every visible key weighs the same, the others nothing. */
    rig_layout (&job, &lay);
    values = lay.n_physical * (size_t)(site.page_size * site.kv_heads * site.head_dim);
    memset (lay.k, 0, values * 4);
    fam_job_run (&job);
    ck_assert (!has_nan (&job, 0, job.plan.output_bytes));
    for (i = 1; i < 4; i++) /* four heads of one group see the same values */
        ck_assert_mem_eq (job.output + job.row[1].offset, job.output + job.row[1].offset
                          + i * (size_t)site.head_dim * 4, (size_t)site.head_dim * 4);
    fam_job_done (&job);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("kernels/attention_invariance");
    TCase *tc = tcase_create ("all");
    int failed;

    fam_open (&rig, ".libs/detent-backend-host.so", "attention");
    fam_open (&planted, "tests/.libs/backend-planted.so", "attention");
    tcase_set_timeout (tc, 120);
    tcase_add_loop_test (tc, invariance, 0, (int)(ARRAY_SIZE (sites) * ARRAY_SIZE (bound)));
    tcase_add_loop_test (tc, planted_fault, 0, (int)ARRAY_SIZE (plants));
    tcase_add_loop_test (tc, binding_parameters_change_bits, 0, 6);
    tcase_add_loop_test (tc, free_parameters_by_request, 0, (int)ARRAY_SIZE (sites));
    tcase_add_test (tc, shared_pages);
    tcase_add_loop_test (tc, neighbours_length, 0, 2);
    tcase_add_loop_test (tc, left_behind, 0, (int)ARRAY_SIZE (bound));
    tcase_add_loop_test (tc, mixed_batch, 0, (int)ARRAY_SIZE (sites));
    tcase_add_loop_test (tc, short_requests, 0, 2);
    suite_add_tcase (s, tc);
    failed = suite_run (s);
    fam_close (&rig);
    fam_close (&planted);
    return failed;
}
