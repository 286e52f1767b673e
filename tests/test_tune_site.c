/* tests/test_tune_site.c - tuning a site end to end, with a made-up backend; sampling. */
#include "tuner/tune.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tests/suite.h"
#include "tests/tuner_rig.h"
#include "tuner/sample.h"
#include "tuner/stats.h"

/* A backend whose times follow from the parameters: split_stride 512 and block_n 64
 * are best, tile_m and workers matter little. */
struct backend {
    struct dt_random random;
    double noise;
    uint64_t plans, measured, kept;
    int64_t no_stride; /* a split_stride without a kernel */
    int refuse_all;
    uint64_t cancel_at; /* the plan that finds the tune cancelled; 0: none */
};

static int64_t param (const struct dt_tune_call *c, const char *name)
{
    for (size_t i = 0; i < c->n_params; i++)
        if (strcmp (c->param[i].field, name) == 0)
            return c->param[i].each ? c->param[i].each[0] : c->param[i].one;
    ck_abort_msg ("no parameter %s", name);
    return 0;
}

static int plan (void *ctx, const struct dt_tune_call *c, uint64_t ret[2], int *ret_unsupported,
                 struct dt_err *err)
{
    struct backend *b = ctx;

    (void)err;
    if (++b->plans == b->cancel_at)
        return -DT_ECANCELLED;
    ret[0] = (uint64_t)param (c, "block_n");
    ret[1] = (uint64_t)param (c, "split_stride") << 8 | (uint64_t)param (c, "tile_m");
    *ret_unsupported = b->refuse_all || param (c, "split_stride") == b->no_stride;
    return 0;
}

static double true_ns (const struct dt_tune_call *c)
{
    double kv = 0, stride = (double)param (c, "split_stride"), block = (double)param (c, "block_n");

    for (size_t i = 0; i < c->call.n_requests; i++)
        kv += (double)c->call.request[2 * i + 1];
    return 1000 + kv * (1 + 0.1 * fabs (log2 ((stride > 0 ? stride : 65536) / 512)) +
                        0.2 * fabs (log2 (block / 64)));
}

static int measure (void *ctx, const struct dt_tune_call *c, uint64_t *ret_ns, struct dt_err *err)
{
    struct backend *b = ctx;

    (void)err;
    b->measured++;
    *ret_ns = (uint64_t)(true_ns (c) * (1 + b->noise * (dt_random_unit (&b->random) - 0.5)));
    return 0;
}

static int keep (void *ctx, const struct dt_tune_at *at, uint64_t ns, struct dt_err *err)
{
    (void)at, (void)err;
    ((struct backend *)ctx)->kept++;
    ck_assert_uint_gt (ns, 0);
    return 0;
}

static int cancel (void *ctx, double fraction, double left_s, const char *what)
{
    (void)ctx, (void)fraction, (void)left_s, (void)what;
    return 1;
}

static struct tuner_rig rig;

static const struct dt_trace_site *site_of;

static void setup (void)
{
    tuner_rig_init (&rig);
    site_of = &rig.trace->site[0];
}
static void teardown (void)
{
    tuner_rig_done (&rig);
}

static size_t default_of (void)
{
    struct dt_tune_observations o;
    struct dt_err err = { "" };
    size_t i;

    ck_assert_msg (dt_tune_observe (rig.solution, &site_of, 1, &o, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (o.view.n, rig.trace->site[0].n_calls);
    ck_assert_msg (dt_solution_default (rig.solution, &o.view, &i, &err) == 0, "%s", err.text);
    dt_tune_observations_done (&o);
    return i;
}

static int64_t pin_of (size_t assignment, const char *name)
{
    int64_t pin[16], knob[16];

    ck_assert (rig.solution->n_pins <= 16 && rig.solution->n_knobs <= 16);
    dt_solution_assignment (rig.solution, assignment, pin, knob);
    for (size_t i = 0; i < rig.solution->n_pins; i++)
        if (strstr (rig.solution->pin[i].name, name))
            return pin[i];
    ck_abort_msg ("no pin %s", name);
    return 0;
}

static int tune (struct backend *b, int exhaustive, struct dt_tune_result *r, struct dt_err *err)
{
    struct dt_tune_hooks hooks = { .ctx = b, .plan = plan, .measure = measure, .keep = keep };
    struct dt_tune_options options = { .seed = 3, .budget_s = 60, .exhaustive = exhaustive };

    b->random.state = 9;
    return dt_tune_site (rig.solution, &site_of, 1, default_of (), &options, &hooks, r, err);
}

START_TEST (finds_the_best)
{
    struct backend b = { .noise = 0.05, .no_stride = -1 }, all = b;
    struct dt_tune_result r, again, e;
    struct dt_err err = { "" };

    ck_assert_msg (tune (&b, 0, &r, &err) == 0, "%s", err.text);
    ck_assert_int_eq (pin_of (r.chosen, "block_n"), 64);
    ck_assert_int_eq (pin_of (r.chosen, "split_stride"), 512);
    ck_assert_int_eq (r.tie, r.chosen == r.incumbent);
    ck_assert_uint_eq (r.incumbent, default_of ());
    ck_assert (r.n_merged <= r.n_legal && r.n_merged > 1 && r.n_measured <= r.n_merged);
    ck_assert (r.n_sampled <= 24 && r.n_sampled <= r.n_calls);
    ck_assert (b.kept == b.measured && b.measured == r.n_measurements);
    ck_assert (r.worst_ratio > 1 && r.sample_error >= 0 && r.sample_error < 0.5);
    ck_assert_msg (tune (&b, 0, &again, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (again.chosen, r.chosen);
    ck_assert_msg (tune (&all, 1, &e, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (e.chosen, r.chosen);
    ck_assert_uint_eq (e.n_measured, e.n_merged);
}
END_TEST

/* The estimate over the trace is the sum over all of its calls. */
START_TEST (estimates_the_trace)
{
    const struct dt_trace_site *s = &rig.trace->site[0];
    struct backend b = { .no_stride = -1 };
    struct dt_tune_result r;
    struct dt_err err = { "" };
    double sum = 0;

    ck_assert_msg (tune (&b, 0, &r, &err) == 0, "%s", err.text);
    for (size_t i = 0; i < s->n_calls; i++) {
        struct dt_tune_param p[] = { { "block_n", 64, NULL }, { "split_stride", 512, NULL } };
        struct dt_tune_call c = { .call = dt_trace_call_get (s, i), .param = p, .n_params = 2 };

        sum += (double)s->call[i].count * true_ns (&c);
    }
    ck_assert_msg (fabs (r.trace_ns / sum - 1) < r.sample_error + 1e-3, "%g, not %g: %g",
                   r.trace_ns, sum, r.sample_error);
}
END_TEST

START_TEST (without_a_kernel)
{
    struct backend b = { .no_stride = 512 };
    struct dt_tune_result r;
    struct dt_err err = { "" };

    ck_assert_msg (tune (&b, 0, &r, &err) == 0, "%s", err.text);
    ck_assert_int_ne (pin_of (r.chosen, "split_stride"), 512);
    b = (struct backend){ .refuse_all = 1 };
    ck_assert_int_eq (tune (&b, 0, &r, &err), -DT_EILLEGAL);
    ck_assert_ptr_nonnull (strstr (err.text, "no kernel"));
    /* Cancelled while all calls that the first refuses are looked for: that is said. */
    b.cancel_at = b.plans;
    b.plans = 0;
    ck_assert_int_eq (tune (&b, 0, &r, &err), -DT_ECANCELLED);
}
END_TEST

/* A call outside the domain makes every assignment unusable, by name. */
START_TEST (outside_the_domain)
{
    const int64_t request[] = { 600, 40000 };
    struct dt_call call = { 1, request };
    struct backend b = { .no_stride = -1 };
    struct dt_tune_result r;
    struct dt_err err = { "" };

    ck_assert_int_eq (dt_trace_add_call (rig.trace, 0, 1u << 20, 0, &call, NULL, &err), 0);
    ck_assert_int_eq (tune (&b, 0, &r, &err), -DT_EILLEGAL);
    ck_assert_msg (strstr (err.text, "longest_query") != NULL, "%s", err.text);
}
END_TEST

START_TEST (cancelled)
{
    struct backend b = { .no_stride = -1 };
    struct dt_tune_hooks hooks = { .ctx = &b, .plan = plan, .measure = measure,
                                   .progress = cancel };
    struct dt_tune_options options = { 0 };
    struct dt_tune_result r;

    ck_assert_int_eq (dt_tune_site (rig.solution, &site_of, 1, 0, &options, &hooks, &r,
                                    NULL), -DT_ECANCELLED);
}
END_TEST

/* Measurements in the order they were asked for. */
struct record {
    struct backend b;
    struct {
        struct dt_tune_at at;
        uint64_t ns;
    } *item;
    size_t n, room, next, known, fresh;
};

static int keep_record (void *ctx, const struct dt_tune_at *at, uint64_t ns, struct dt_err *err)
{
    struct record *k = ctx;

    (void)err;
    ck_assert_int_eq (dt_grow ((void **)&k->item, &k->room, k->n, sizeof *k->item), 0);
    k->item[k->n].at = *at;
    k->item[k->n++].ns = ns;
    return 0;
}

static int recall (void *ctx, const struct dt_tune_at *at, uint64_t *ret_ns)
{
    struct record *k = ctx;

    if (k->next == k->known || memcmp (&k->item[k->next].at, at, sizeof *at) != 0)
        return 0;
    *ret_ns = k->item[k->next++].ns;
    return 1;
}

static int fresh (void *ctx, struct dt_err *err)
{
    (void)err;
    ((struct record *)ctx)->fresh++;
    return 0;
}

/* A tune that was ended half-way goes on from what was kept, and comes to the same; one
 * that was complete measures nothing.  The winner is confirmed in a fresh process. */
START_TEST (resumes)
{
    struct record k = { .b = { .no_stride = -1, .noise = 0.02 } };
    struct dt_tune_hooks hooks = { .ctx = &k, .plan = plan, .measure = measure,
                                   .keep = keep_record, .recall = recall, .fresh = fresh };
    struct dt_tune_options o = { .seed = 3, .budget_s = 1e6 };
    struct dt_tune_result whole, again, half;
    size_t incumbent = default_of (), n, other = incumbent;

    while (rig.solution->verdict[other] == DT_ILLEGAL || other == incumbent)
        other = (other + 1) % rig.solution->n_assignments;
    ck_assert_int_eq (dt_tune_site (rig.solution, &site_of, 1, other, &o, &hooks, &whole, NULL), 0);
    ck_assert (!whole.tie && whole.confirm == DT_RACE_CONFIRMED && whole.again_hi < 1);
    ck_assert (k.fresh == 1 && whole.n_recalled == 0 && k.n == whole.n_measurements);
    n = k.known = k.n;
    ck_assert_int_eq (dt_tune_site (rig.solution, &site_of, 1, other, &o, &hooks, &again, NULL), 0);
    ck_assert (again.n_recalled == again.n_measurements && k.n == n);
    ck_assert (again.chosen == whole.chosen && again.ratio == whole.ratio
               && again.trace_ns == whole.trace_ns);
    k.n = k.known = n / 2;
    k.next = 0;
    ck_assert_int_eq (dt_tune_site (rig.solution, &site_of, 1, other, &o, &hooks, &half, NULL), 0);
    ck_assert (half.chosen == whole.chosen && half.n_recalled >= n / 2 && k.n > n / 2);
    dt_free (k.item);
}
END_TEST

/* Only what is allowed is considered, also as the incumbent. */
START_TEST (allowed)
{
    struct backend b = { .no_stride = -1 };
    struct dt_tune_hooks hooks = { .ctx = &b, .plan = plan, .measure = measure };
    uint8_t *mask = dt_calloc (rig.solution->n_assignments, 1);
    struct dt_tune_options o = { .budget_s = 60, .allowed = mask };
    struct dt_tune_result r;
    struct dt_err err = { "" };
    size_t n = 0;

    ck_assert_int_eq (dt_tune_site (rig.solution, &site_of, 1, default_of (), &o, &hooks, &r, &err),
                      -DT_EILLEGAL);
    for (size_t i = 0; i < rig.solution->n_assignments; i++)
        if (rig.solution->verdict[i] != DT_ILLEGAL && pin_of (i, "block_n") == 32)
            n += mask[i] = 1;
    ck_assert_int_eq (dt_tune_site (rig.solution, &site_of, 1, default_of (), &o, &hooks, &r, &err), 0);
    ck_assert (r.n_legal == n && mask[r.chosen] && mask[r.incumbent]);
    /* the first usable one, unless another is to stand in */
    n = r.incumbent;
    for (size_t i = n + 1; i < rig.solution->n_assignments; i++)
        if (mask[i])
            o.otherwise = i;
    ck_assert_uint_gt (o.otherwise, n);
    ck_assert_int_eq (dt_tune_site (rig.solution, &site_of, 1, default_of (), &o, &hooks, &r, &err), 0);
    ck_assert_uint_eq (r.incumbent, o.otherwise);
    dt_free (mask);
}
END_TEST

/* Two traces of one workload: each has its part of the sample, and its part of the
 * objective, however long it is. */
START_TEST (two_traces)
{
    struct backend b = { .no_stride = -1 };
    struct dt_tune_hooks hooks = { .ctx = &b, .plan = plan, .measure = measure };
    struct dt_tune_options o = { .budget_s = 60 };
    const int64_t request[] = { 1, 9000 };
    struct dt_call call = { 1, request };
    struct dt_trace *t = dt_trace_new ();
    const struct dt_trace_site *both[2] = { site_of };
    struct dt_tune_result r, one;
    struct dt_err err = { "" };

    ck_assert_int_eq (dt_trace_add_site (t, "attention", "decoder", 4, &err), 0);
    ck_assert_int_eq (dt_trace_add_call (t, 0, 5, 0, &call, NULL, &err), 0);
    both[1] = &t->site[0];
    ck_assert_int_eq (dt_tune_site (rig.solution, both, 2, default_of (), &o, &hooks, &r, &err), 0);
    ck_assert_int_eq (dt_tune_site (rig.solution, both, 1, default_of (), &o, &hooks, &one, &err), 0);
    ck_assert_uint_eq (r.n_calls, one.n_calls + 1);
    ck_assert (r.n_sampled <= 13 && r.n_sampled > 10);
    ck_assert (r.trace_ns > 0 && r.sample_error > 0 && isfinite (r.sample_error));
    dt_trace_free (t);
}
END_TEST

/* Weights add up without bias: over many seeds, the estimates of the number of
 * calls, of their work, and of a cost that is neither. */
START_TEST (sampling)
{
    const struct dt_trace_site *s = &rig.trace->site[0];
    double calls = 0, cost = 0, sum_calls = 0, sum_cost = 0, time[24], covered = 0;
    const int seeds = 400;

    for (size_t i = 0; i < s->n_calls; i++) {
        struct dt_call c = dt_trace_call_get (s, i);

        calls += (double)s->call[i].count;
        cost += (double)s->call[i].count * (5000 + sqrt (dt_schema_work (s->schema, &c)));
    }
    for (int seed = 0; seed < seeds; seed++) {
        struct dt_sample sample;
        double one = 0;

        ck_assert_int_eq (dt_sample_draw (s, 24, (uint64_t)seed, &sample, NULL), 0);
        ck_assert (sample.n >= 22 && sample.n <= 24);
        for (size_t i = 0; i < sample.n; i++) {
            struct dt_call c = dt_trace_call_get (s, sample.call[i].call);

            time[i] = 5000 + sqrt (dt_schema_work (s->schema, &c));
            sum_calls += sample.call[i].weight;
            one += sample.call[i].weight * time[i];
        }
        sum_cost += one;
        covered += fabs (one / cost - 1) < 3 * dt_sample_error (&sample, time);
        dt_sample_done (&sample);
    }
    ck_assert_double_eq_tol (sum_calls / seeds / calls, 1, 0.05);
    ck_assert_double_eq_tol (sum_cost / seeds / cost, 1, 0.02);
    ck_assert_double_gt (covered / seeds, 0.9);
}
END_TEST

START_TEST (few_calls)
{
    struct dt_sample sample;
    double time[3] = { 1, 2, 3 };
    struct dt_trace *t = dt_trace_new ();
    int64_t request[] = { 1, 10 };
    struct dt_call call = { 1, request };

    ck_assert_int_eq (dt_trace_add_site (t, "attention", "x", 1, NULL), 0);
    ck_assert_int_eq (dt_sample_draw (&t->site[0], 24, 1, &sample, NULL), -DT_EINPUT);
    for (request[1] = 10; request[1] < 13; request[1]++)
        dt_trace_add_call (t, 0, 7, 0, &call, NULL, NULL);
    ck_assert_int_eq (dt_sample_draw (&t->site[0], 24, 1, &sample, NULL), 0);
    ck_assert_uint_eq (sample.n, 3);
    ck_assert (sample.call[2].weight == 7 && dt_sample_error (&sample, time) == 0);
    dt_sample_done (&sample);
    dt_trace_free (t);
}
END_TEST

START_TEST (no_memory)
{
    size_t incumbent = default_of (), step = 1;

    for (size_t n = 0;; n += step, step += n / 16) { /* closer at first: many are alike */
        struct backend b = { .no_stride = -1 };
        struct dt_tune_hooks hooks = { .ctx = &b, .plan = plan, .measure = measure, .keep = keep };
        struct dt_tune_options options = { .max_calls = 2, .budget_s = 60 };
        struct dt_tune_result r;
        int ret;

        dt_mem_fail_after (n);
        ret = dt_tune_site (rig.solution, &site_of, 1, incumbent, &options, &hooks, &r, NULL);
        if (suite_had_memory (ret))
            break;
    }
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("tuner/tune");
    TCase *tc = tcase_create ("tune");

    tcase_add_checked_fixture (tc, setup, teardown);
    tcase_set_timeout (tc, 120);
    tcase_add_test (tc, finds_the_best);
    tcase_add_test (tc, estimates_the_trace);
    tcase_add_test (tc, without_a_kernel);
    tcase_add_test (tc, outside_the_domain);
    tcase_add_test (tc, cancelled);
    tcase_add_test (tc, resumes);
    tcase_add_test (tc, allowed);
    tcase_add_test (tc, two_traces);
    tcase_add_test (tc, sampling);
    tcase_add_test (tc, few_calls);
    tcase_add_test (tc, no_memory);
    suite_add_tcase (s, tc);
    return suite_run (s);
}
