/* Certification rounds on the real worker: planted faults are caught, the host's
 * kernels raise no alarm.  ROUNDS=50 asks for so many rounds without alarm, and for a
 * tenth as many in each of which every fault is caught. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "detentd/round.h"
#include "detentd/worker.h"
#include "solver/site.h"
#include "tests/suite.h"

/* Sites of certify-deployment.yaml. */
enum { FP32, BF16, GEMM, MOE, SUM, NORM, SAMPLER, SITES };

#define TABLE "moe-host-8-4-256-128.json"

static struct dt_deployment *deployment;
static struct dt_solution *solution[SITES];
static char dir[] = "/tmp/detent-certify.XXXXXX";

static const char *under (const char *variable, const char *name)
{
    static char path[4096];
    const char *top = getenv (variable);

    snprintf (path, sizeof path, "%s/%s", top ? top : ".", name);
    return path;
}

static void read_top (const char *name, struct dt_buf *ret)
{
    struct dt_err err = { "" };

    ck_assert_msg (dt_file_read (under ("top_srcdir", name), 1 << 20, ret, &err) == 0, "%s",
                   err.text);
}

static void solve_sites (void)
{
    struct dt_buf yaml = { 0 }, program = { 0 }, table = { 0 };
    struct dt_site_options options = { 0 };
    struct dt_err err = { "" };

    read_top ("tests/certify-deployment.yaml", &yaml);
    ck_assert_msg (dt_deployment_parse ("certify.yaml", yaml.data, yaml.len, &deployment, &err)
                   == 0, "%s", err.text);
    ck_assert_uint_eq (deployment->n_sites, SITES);
    read_top ("programs/detent/" TABLE, &table);
    for (size_t i = 0; i < SITES; i++) {
        char name[64];
        struct dt_source source[] = { { .name = deployment->site[i].program },
                                      { TABLE, (const char *)table.data, table.len } };

        snprintf (name, sizeof name, "programs/detent/%s", source[0].name);
        program.len = 0;
        read_top (name, &program);
        source[0].text = (const char *)program.data;
        source[0].len = program.len;
        ck_assert_msg (dt_site_solve (deployment, i, source, 2, &options, &solution[i], NULL,
                                      &err) == 0, "%s", err.text);
    }
    dt_buf_done (&table);
    dt_buf_done (&yaml);
    dt_buf_done (&program);
}

/* The planted backend by a name of its own, from which it takes the fault. */
static const char *planted (const char *fault)
{
    static char path[4096];
    const char *target = under ("top_builddir", "tests/.libs/backend-planted.so");

    snprintf (path, sizeof path, "%s/detent-backend-planted-%s.so", dir, fault);
    unlink (path);
    ck_assert_int_eq (symlink (target, path), 0);
    return path;
}

static int call (void *ctx, const Detent__WorkerRequest *rq, const char *doing,
                 Detent__WorkerReply **ret, struct dt_err *reterr)
{
    return dt_worker_call (ctx, rq, doing, ret, reterr);
}

static struct dt_worker *open_worker (const char *plugin)
{
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerOpen open = DETENT__WORKER_OPEN__INIT;
    Detent__WorkerReply *reply;
    struct dt_worker *w;
    struct dt_err err = { "" };

    ck_assert_msg (dt_worker_new (under ("top_builddir", "detent-profiler"), NULL, 0, &w, &err) == 0,
                   "%s", err.text);
    open.backend = (char *)plugin;
    open.units = 2;
    rq.body_case = DETENT__WORKER_REQUEST__BODY_OPEN;
    rq.open = &open;
    ck_assert_msg (dt_worker_call (w, &rq, plugin, &reply, &err) == 0, "%s", err.text);
    detent__worker_reply__free_unpacked (reply, NULL);
    return w;
}

/* The legal assignment nearest to `want` of its pins (a pin's name ends in the field's). */
static size_t assignment_of (const struct dt_solution *s, const char *const *name,
                             const int64_t *want, size_t n)
{
    int64_t pin[DT_VM_MAX_INPUTS], knob[DT_VM_MAX_INPUTS];
    size_t best = 0, most = 0;

    for (size_t i = 0; i < s->n_assignments; i++) {
        size_t same = 1;

        if (s->verdict[i] == DT_ILLEGAL)
            continue;
        dt_solution_assignment (s, i, pin, knob);
        for (size_t k = 0; k < s->n_pins; k++)
            for (size_t j = 0; j < n; j++)
                same += strstr (s->pin[k].name, name[j]) && pin[k] == want[j];
        if (same > most) {
            most = same;
            best = i;
        }
    }
    return best;
}

/* Run a round.  What it found is in `difference`. */
static void round_of (const char *plugin, int site, int64_t stride, uint64_t seed,
                      struct dt_certificate *ret, struct dt_err *difference)
{
    static const char *const names[] = { "block_n", "split_stride", ".row" };
    const struct dt_solution *s = solution[site];
    const int64_t want[] = { 64, stride, 8 }; /* row 8 of the tuned table adds slot by slot */
    struct dt_certificate_backend backend = { "host", "1", "", "", "cpu", 2 };
    struct dt_round round = { .family = s->family, .site = s->site, .backend = &backend,
                              .seed = seed, .rivals = 1, .repeats = 2, .call = call };
    struct dt_named fact[32];
    struct dt_buf blob = { 0 };
    struct dt_err err = { "" };
    struct dt_vm *vm;
    int r;

    ck_assert_int_eq (dt_solution_selector (s, assignment_of (s, names, want, 3), &blob, &err), 0);
    ck_assert_int_eq (dt_vm_load (blob.data, blob.len, &vm, &err), 0);
    round.vm = vm;
    round.fact = fact;
    for (size_t i = 0; i < deployment->site[site].n_facts; i++)
        if (deployment->site[site].fact[i].kind < DT_FACT_STR) /* ints and bools */
            fact[round.n_facts++] = (struct dt_named){ deployment->site[site].fact[i].name,
                                                       deployment->site[site].fact[i].i };
    round.ctx = open_worker (plugin);
    *ret = (struct dt_certificate){ 0 };
    r = dt_round_run (&round, ret, difference, &err);
    ck_assert_msg (r == 0, "%s: %s", plugin, err.text);
    dt_worker_free (round.ctx);
    dt_vm_free (vm);
    dt_buf_done (&blob);
}

static const struct {
    const char *fault;
    int site;
    int64_t stride;
} faults[] = {
    { "pairwise", FP32, 256 },    { "fold_runs", FP32, 256 }, { "lazy", FP32, 0 },
    { "tile", FP32, 0 },          { "nan", FP32, 0 },         { "padding", FP32, 0 },
    { "split_k", FP32, 0 },       { "swap_end", FP32, 0 },    { "fused", FP32, 0 },
    { "tail", FP32, 0 },          { "width", FP32, 0 },       { "above64", FP32, 0 },
    { "row17", FP32, 0 },         { "contention", FP32, 0 },  { "gemm_split", GEMM, 0 },
    { "gemm_many", GEMM, 0 },     { "gemm_row17", GEMM, 0 },  { "gemm_tail", GEMM, 0 },
    /* In bf16 products are exact, so fused is no fault.  A divisor's order shows in one
     * output of 30,000 that is rounded to bf16, and so do few splits of the keys: these
     * are seen in fp32. */
    { "pairwise", BF16, 256 },    { "fold_runs", BF16, 256 }, { "lazy", BF16, 0 },
    { "tile", BF16, 0 },          { "padding", BF16, 0 },     { "split_k", BF16, 0 },
    { "swap_end", BF16, 0 },      { "tail", BF16, 0 },        { "width", BF16, 0 },
    { "above64", BF16, 0 },       { "row17", BF16, 0 },       { "contention", BF16, 0 },
    { "moe_combine", MOE, 0 },    { "moe_sorted", MOE, 0 },   { "moe_full", MOE, 0 },
    { "moe_stale", MOE, 0 },      { "ar_owner", SUM, 0 },     { "ar_round", SUM, 0 },
    { "row_block", NORM, 0 },     { "row_fused", NORM, 0 },   { "row_share", NORM, 0 },
    { "row_pad", NORM, 0 },       { "row_block", SAMPLER, 0 }, { "row_share", SAMPLER, 0 },
    { "row_pad", SAMPLER, 0 },
};

/* Rounds that the environment asks for. */
static int rounds (int without)
{
    const char *n = getenv ("ROUNDS");

    return n ? atoi (n) : without;
}

/* A batch of many runs is no worker that hangs, nor is a group that opens; one that hangs is not
 * waited for without end. */
START_TEST (deadlines)
{
    static const struct {
        uint32_t repeats;
        int deadlines;
    } batches[] = { { 1, 1 }, { 2, 1 }, { 4, 1 }, { 5, 2 }, { 8, 2 }, { 100, 25 } };
    Detent__WorkerRequest rq = DETENT__WORKER_REQUEST__INIT;
    Detent__WorkerBatch batch = DETENT__WORKER_BATCH__INIT;

    Detent__WorkerOpen open = DETENT__WORKER_OPEN__INIT;

    ck_assert_int_eq (dt_worker_deadline_ms (&rq), DT_WORKER_DEADLINE_MS);
    rq.body_case = DETENT__WORKER_REQUEST__BODY_OPEN;
    rq.open = &open;
    ck_assert_int_eq (dt_worker_deadline_ms (&rq), DT_WORKER_DEADLINE_MS);
    open.has_ranks = 1;
    open.ranks = 8;
    ck_assert_int_eq (dt_worker_deadline_ms (&rq), 2 * DT_WORKER_DEADLINE_MS);
    rq.body_case = DETENT__WORKER_REQUEST__BODY_BATCH;
    rq.batch = &batch;
    for (size_t i = 0; i < DT_ARRAY_SIZE (batches); i++) {
        batch.repeats = batches[i].repeats;
        ck_assert_int_eq (dt_worker_deadline_ms (&rq), batches[i].deadlines * DT_WORKER_DEADLINE_MS);
    }
}
END_TEST

START_TEST (fault_is_caught)
{
    const char *sanitizers = getenv ("SANITIZERS");
    int n = rounds (10) / 10;

    if (sanitizers && *sanitizers && strcmp (faults[_i].fault, "padding") == 0)
        return; /* a sanitizer ends the worker at the read, before any bits differ */
    for (int seed = 1; seed <= (n ? n : 1); seed++) {
        struct dt_certificate c;
        struct dt_err difference;

        round_of (planted (faults[_i].fault), faults[_i].site, faults[_i].stride, (uint64_t)seed,
                  &c, &difference);
        ck_assert_msg (difference.text[0] != 0, "%s at site %d, seed %d: not caught in %llu runs "
                       "of %llu batches", faults[_i].fault, faults[_i].site, seed,
                       (unsigned long long)c.runs, (unsigned long long)c.batches);
        printf ("%-11s caught after %llu runs: %s\n", faults[_i].fault,
                (unsigned long long)c.runs, difference.text);
        dt_certificate_done (&c);
    }
}
END_TEST

/* Rounds alternate between sites, splits, and kernels with and without wide vectors. */
START_TEST (no_false_alarm)
{
    for (int i = 0; i < rounds (SITES); i++) {
        struct dt_certificate c;
        struct dt_err difference;
        int site = i % SITES;

        round_of (planted (i % 2 ? "base" : "none"), site, i % 4 < 2 ? 256 : 0, (uint64_t)i + 100,
                  &c, &difference);
        ck_assert_msg (difference.text[0] == 0, "round %d: %s", i, difference.text);
        ck_assert_uint_eq (c.tried + c.refused, c.of);
        ck_assert_uint_gt (c.tried, 0);
        printf ("round %d: %s/%s: %llu batches, %llu runs, %llu rows of at most %llu requests, "
                "%llu of %llu combinations, least exchange seen", i, c.family, c.site,
                (unsigned long long)c.batches, (unsigned long long)c.runs,
                (unsigned long long)c.rows, (unsigned long long)c.requests,
                (unsigned long long)c.tried, (unsigned long long)c.of);
        for (int k = 0; k < DT_CERTIFICATE_KINDS; k++)
            printf (" %s %llu (%llu/%llu)", dt_certificate_kind[k],
                    (unsigned long long)c.power[k].exchange,
                    (unsigned long long)c.power[k].changed, (unsigned long long)c.power[k].rows);
        printf ("\n");
        dt_certificate_done (&c);
    }
}
END_TEST

/* Where kernels take small calls alone, as many batches run as elsewhere, of each kind of data,
 * and exchanges are tried in each.  A batch has no less than a row a request: those of more than
 * 30 cannot run. */
START_TEST (small_calls_alone)
{
    struct dt_certificate c;
    struct dt_err difference;

    for (uint64_t seed = 1; seed <= 3; seed++) {
        round_of (planted ("gemm_small"), GEMM, 0, seed, &c, &difference);
        ck_assert_msg (difference.text[0] == 0, "%s", difference.text);
        ck_assert_uint_ge (c.batches, 2 * 3 * 8); /* bf16 and fp32, kinds of data, sizes */
        for (int k = 0; k < DT_CERTIFICATE_KINDS; k++)
            ck_assert_msg (c.power[k].rows > 0 && c.power[k].exchange > 0, "%s: seed %d: %d of %d",
                           dt_certificate_kind[k], (int)seed, (int)c.power[k].changed,
                           (int)c.power[k].rows);
        dt_certificate_done (&c);
    }
}
END_TEST

static void begin (void)
{
    ck_assert_ptr_nonnull (mkdtemp (dir));
    solve_sites ();
}

static void end (void)
{
    static const char *const unharmed[] = { "base", "none", "gemm_small" };
    char path[4096];

    for (size_t i = 0; i < DT_ARRAY_SIZE (faults) + DT_ARRAY_SIZE (unharmed); i++) {
        snprintf (path, sizeof path, "%s/detent-backend-planted-%s.so", dir,
                  i < DT_ARRAY_SIZE (faults) ? faults[i].fault
                                             : unharmed[i - DT_ARRAY_SIZE (faults)]);
        unlink (path);
    }
    rmdir (dir);
    for (size_t i = 0; i < DT_ARRAY_SIZE (solution); i++)
        dt_solution_free (solution[i]);
    dt_deployment_free (deployment);
}

int main (void)
{
    Suite *s = suite_create ("detentd/round");
    TCase *tc = tcase_create ("all");

    tcase_set_timeout (tc, 3600);
    tcase_add_unchecked_fixture (tc, begin, end);
    tcase_add_test (tc, deadlines);
    tcase_add_loop_test (tc, fault_is_caught, 0, (int)DT_ARRAY_SIZE (faults));
    tcase_add_test (tc, no_false_alarm);
    tcase_add_test (tc, small_calls_alone);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
