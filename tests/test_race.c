/* tests/test_race.c - the race on made-up timings, and its statistics. */
#include "tuner/race.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tests/suite.h"
#include "tuner/additive.h"
#include "tuner/stats.h"

#define MAX_ARMS 640
#define FEW_ARMS 64
#define MAX_CALLS 24
#define FEW_CALLS 12

/* A timing surface: true times, and what noise lies on them. */
struct surface {
    struct dt_random random;
    size_t n_arms, n_calls;
    double time[MAX_ARMS][MAX_CALLS], weight[MAX_CALLS];
    double noise;     /* standard deviation, relative          */
    double outliers;  /* chance of a time that is 1 to 10 times as long */
    double drift;     /* relative, over one second             */
    double noisy_arm; /* noise of odd arms is this many times that of others */
    double luck;      /* standard deviation of what a process does to each arm  */
    size_t fails, hangs; /* arm + 1 that cannot run, and that takes 2 s a call  */
    uint64_t process;
    uint64_t clock_ns;
    uint64_t n, fail_at;
};

static double normal (struct dt_random *r)
{
    double u = 1 - dt_random_unit (r), v = dt_random_unit (r);

    return sqrt (-2 * log (u)) * cos (2 * M_PI * v);
}

static int measure (void *ctx, size_t arm, size_t call, uint64_t *ret_ns, struct dt_err *err)
{
    struct surface *s = ctx;
    double t = s->time[arm][call];

    if (++s->n == s->fail_at)
        return dt_err_set (err, -DT_EDEVICE, "it broke");
    if (arm + 1 == s->fails)
        return dt_err_set (err, -DT_EUNSUPPORTED, "no kernel");
    if (arm + 1 == s->hangs)
        t = 2e9;
    if (s->luck > 0) {
        struct dt_random own = { s->process * 1000003 + arm };

        t *= exp (s->luck * normal (&own));
    }
    t *= exp (s->noise * (arm & 1 && s->noisy_arm > 0 ? s->noisy_arm : 1) * normal (&s->random));
    t *= 1 + s->drift * (double)s->clock_ns / 1e9;
    if (dt_random_unit (&s->random) < s->outliers)
        t *= 1 + 9 * dt_random_unit (&s->random);
    *ret_ns = (uint64_t)t;
    s->clock_ns += *ret_ns;
    return 0;
}

static uint64_t now_ns (void *ctx)
{
    return ((struct surface *)ctx)->clock_ns;
}

static int fresh (void *ctx, struct dt_err *err)
{
    (void)err;
    ((struct surface *)ctx)->process++;
    return 0;
}

static double true_cost (const struct surface *s, size_t arm)
{
    double sum = 0;

    for (size_t c = 0; c < s->n_calls; c++)
        sum += s->weight[c] * s->time[arm][c];
    return sum;
}

/* Times of 50 us to 5 ms, arms within `spread` of each other. */
static void make_surface (struct surface *s, uint64_t seed, double spread)
{
    struct dt_random r = { seed };

    memset (s, 0, sizeof *s);
    s->random.state = ~seed;
    s->n_arms = 2 + dt_random_below (&r, FEW_ARMS - 1);
    s->n_calls = 1 + dt_random_below (&r, FEW_CALLS);
    for (size_t c = 0; c < s->n_calls; c++) {
        double base = 5e4 * exp (4.6 * dt_random_unit (&r));

        s->weight[c] = 1 + (double)dt_random_below (&r, 100);
        for (size_t a = 0; a < s->n_arms; a++)
            s->time[a][c] = base * (1 + spread * dt_random_unit (&r));
    }
}

static struct dt_race race_of (struct surface *s)
{
    return (struct dt_race){
        .n_arms = s->n_arms, .n_calls = s->n_calls, .weight = s->weight,
        .incumbent = s->random.state % s->n_arms, .minimum_effect = 0.01, .budget_s = 30,
        .seed = 7, .ctx = s, .measure = measure, .now_ns = now_ns, .fresh = fresh,
    };
}

static const struct {
    const char *what;
    double spread, noise, outliers, drift, noisy_arm, luck;
    int fails, hangs;
    int least_wins; /* of 40 races: the race must not call all a tie */
    double slack;   /* beyond which a choice is wrong; budgets end   */
} kinds[] = {
    { "clean", 2, 0, 0, 0, 0, 0, 0, 0, 30, 0.0101 },
    { "noise of 3%", 2, 0.03, 0, 0, 0, 0, 0, 0, 30, 0.02 },
    { "near ties", 0.02, 0.02, 0, 0, 0, 0, 0, 0, 0, 0.02 },
    { "drift", 1, 0.02, 0, 0.05, 0, 0, 0, 0, 30, 0.02 },
    { "outliers", 1, 0.02, 0.03, 0, 0, 0, 0, 0, 15, 0.03 },
    { "some arms are noisy", 1, 0.02, 0, 0, 4, 0, 0, 0, 15, 0.03 },
    { "one fails", 1, 0.02, 0, 0, 0, 0, 1, 0, 30, 0.02 },
    { "one hangs", 1, 0.02, 0, 0, 0, 0, 0, 1, 25, 0.02 },
    { "luck of a process", 0.02, 0.01, 0, 0, 0, 0.03, 0, 0, 0, 0.1 },
};
#define SEEDS 40

/* Some arm but the incumbent fails or hangs: the best one, on even seeds. */
static void break_arm (struct surface *s, int kind, uint64_t seed, size_t incumbent)
{
    size_t arm = 0, best = 0;

    for (size_t a = 0; a < s->n_arms; a++)
        if (a != incumbent && (best == 0 || true_cost (s, a) < true_cost (s, best - 1)))
            best = a + 1;
    arm = seed % 2 ? 1 + (incumbent + 1) % s->n_arms : best;
    s->fails = kinds[kind].fails ? arm : 0;
    s->hangs = kinds[kind].hangs ? arm : 0;
}

/* Right or a tie, or unstable where processes differ: a winner is truly better than
 * the incumbent, and no arm is much better than it.  The same again is the same. */
START_TEST (right_or_tie)
{
    static struct surface s, again;
    int wins = 0, wrong = 0, unstable = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct dt_race_result r = { 0 }, r2 = { 0 };
        struct dt_race race;
        struct dt_err err = { "" };
        double best = INFINITY, chosen;
        int ret;

        make_surface (&s, seed * 1000 + (uint64_t)_i, kinds[_i].spread);
        s.noise = kinds[_i].noise;
        s.outliers = kinds[_i].outliers;
        s.drift = kinds[_i].drift;
        s.noisy_arm = kinds[_i].noisy_arm;
        s.luck = kinds[_i].luck;
        race = race_of (&s);
        break_arm (&s, _i, seed, race.incumbent);
        again = s;
        ret = dt_race_run (&race, &r, NULL, &err);
        race.ctx = &again;
        ck_assert_int_eq (dt_race_run (&race, &r2, NULL, &err), ret);
        ck_assert_mem_eq (&r, &r2, sizeof r);
        if (ret == -DT_EUNTRUSTED && kinds[_i].luck > 0) {
            unstable++;
            continue;
        }
        ck_assert_msg (ret == 0, "%s, seed %d: %s", kinds[_i].what, (int)seed, err.text);
        for (size_t a = 0; a < s.n_arms; a++)
            if (a + 1 != s.fails && a + 1 != s.hangs)
                best = fmin (best, true_cost (&s, a));
        chosen = true_cost (&s, r.chosen);
        ck_assert ((r.chosen == race.incumbent) == (r.tie != 0));
        ck_assert (r.chosen + 1 != s.fails && r.chosen + 1 != s.hangs);
        ck_assert (isfinite (r.ratio) && isfinite (r.lo) && isfinite (r.hi));
        ck_assert_uint_eq (r.n_failed, s.fails && s.n_arms > 1);
        if (r.tie)
            continue;
        wins++;
        ck_assert_int_eq (r.confirm, DT_RACE_CONFIRMED);
        ck_assert (r.again_hi < 1);
        if (kinds[_i].luck > 0)
            continue; /* what is best differs from process to process */
        ck_assert_msg (chosen < true_cost (&s, race.incumbent), "%s, seed %d: not better",
                       kinds[_i].what, (int)seed);
        ck_assert (r.lo <= r.ratio && r.ratio <= r.hi && r.hi < 1 / 1.01 + 1e-9);
        wrong += chosen > best * (1 + kinds[_i].slack);
    }
    ck_assert_msg (wins >= kinds[_i].least_wins, "%s: %d wins", kinds[_i].what, wins);
    ck_assert_msg (wrong == 0, "%s: %d of %d wins are far from the best", kinds[_i].what, wrong, wins);
    ck_assert_msg (kinds[_i].luck == 0 || unstable > 0, "%s: none unstable", kinds[_i].what);
}
END_TEST

/* Hundreds of arms, of which many are near the best: what thinning them loses, and what
 * it saves against timing all. */
START_TEST (many_arms)
{
    static struct surface s, all;
    double loss = 0, share = 0;
    const int seeds = 12;

    for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++) {
        struct dt_race_result r, e;
        struct dt_race race;
        struct dt_random random = { seed };
        double best = INFINITY, one;

        make_surface (&s, seed, 0);
        s.n_arms = 600;
        s.n_calls = MAX_CALLS;
        for (size_t a = 0; a < s.n_arms; a++) {
            double factor = 1 + 2 * pow (dt_random_unit (&random), 2);

            for (size_t c = 0; c < s.n_calls; c++)
                s.time[a][c] = (s.time[0][c] > 0 && a ? s.time[0][c] : 1e5 * (double)(1 + c))
                               * factor * (1 + 0.05 * dt_random_unit (&random));
        }
        s.noise = 0.02;
        s.outliers = 0.002;
        all = s;
        race = race_of (&s);
        race.budget_s = 1e6;
        ck_assert_int_eq (dt_race_run (&race, &r, NULL, NULL), 0);
        race.ctx = &all;
        race.exhaustive = 1;
        ck_assert_int_eq (dt_race_run (&race, &e, NULL, NULL), 0);
        for (size_t a = 0; a < s.n_arms; a++)
            best = fmin (best, true_cost (&s, a));
        one = true_cost (&s, r.chosen) / best - 1;
        ck_assert_msg (one < 0.02, "seed %d: %g above the best", (int)seed, one);
        loss += one / seeds;
        share += (double)s.clock_ns / (double)all.clock_ns / seeds;
    }
    ck_assert_msg (loss < 0.008 && share < 0.08, "loss %g at %g of the time", loss, share);
}
END_TEST

/* Calls of two groups count the same, however long each is: the arm that is best on the
 * mean of relative costs wins, not the one that is best on the sum. */
START_TEST (groups)
{
    static struct surface s;
    static const uint32_t group[] = { 0, 1 };
    static const double time[3][2] = { { 1e5, 1e7 }, { 0.5e5, 1.1e7 }, { 1.2e5, 0.95e7 } };
    struct dt_race_result r;
    struct dt_race race;

    make_surface (&s, 2, 0);
    s.n_arms = 3;
    s.n_calls = 2;
    for (size_t a = 0; a < 3; a++)
        for (size_t c = 0; c < 2; c++)
            s.time[a][c] = time[a][c];
    s.weight[0] = s.weight[1] = 1;
    s.noise = 0.01;
    race = race_of (&s);
    race.incumbent = 0;
    ck_assert_int_eq (dt_race_run (&race, &r, NULL, NULL), 0);
    ck_assert_uint_eq (r.chosen, 2); /* by the sum */
    race.group = group;
    race.n_groups = 2;
    ck_assert_int_eq (dt_race_run (&race, &r, NULL, NULL), 0);
    ck_assert_uint_eq (r.chosen, 1);
    ck_assert_double_eq_tol (r.ratio, (0.5 + 1.1) / 2, 0.02);
}
END_TEST

/* Equal arms: never a winner. */
START_TEST (all_equal)
{
    static struct surface s;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct dt_race_result r;
        struct dt_race race;

        make_surface (&s, seed, 0);
        s.noise = 0.05;
        s.outliers = 0.02;
        race = race_of (&s);
        ck_assert_int_eq (dt_race_run (&race, &r, NULL, NULL), 0);
        ck_assert_int_eq (r.tie, 1);
        ck_assert (r.lo <= 1 && r.hi >= 1);
    }
}
END_TEST

/* Arms that do the same work are timed once, and cannot beat each other. */
START_TEST (shared_work)
{
    static struct surface s;
    uint32_t work[4] = { 0, 0, 0, 0 };
    struct dt_race_result r;
    struct dt_race race;
    double mean[MAX_CALLS];

    make_surface (&s, 3, 0);
    s.n_arms = 4;
    s.n_calls = 1;
    s.noise = 0.1;
    race = race_of (&s);
    race.work = work;
    race.max_rounds = 10;
    ck_assert_int_eq (dt_race_run (&race, &r, mean, NULL), 0);
    ck_assert_int_eq (r.tie, 1);
    /* the warm-up, then each visit the one work and the second self */
    ck_assert_uint_eq (r.n_measurements, 1 + 2 * (r.rounds[0] + r.rounds[1] + r.rounds[2]
                                                  + r.rounds[3] + r.rounds[4]));
    ck_assert_double_eq_tol (mean[0] / s.time[0][0], 1, 0.3);
}
END_TEST

/* Racing costs less than timing all, and finds the same. */
START_TEST (exhaustive)
{
    static struct surface s, all;
    struct dt_race_result r, e;
    struct dt_race race;

    make_surface (&s, 11, 3);
    s.n_arms = FEW_ARMS;
    for (size_t a = 0; a < s.n_arms; a++)
        for (size_t c = 0; c < s.n_calls; c++)
            s.time[a][c] = 1e5 * (double)(1 + (a * 37 + 11) % 64) * (double)(1 + c);
    s.noise = 0.01;
    all = s;
    race = race_of (&s);
    race.budget_s = 1e6;
    ck_assert_int_eq (dt_race_run (&race, &r, NULL, NULL), 0);
    race.ctx = &all;
    race.exhaustive = 1;
    ck_assert_int_eq (dt_race_run (&race, &e, NULL, NULL), 0);
    ck_assert_uint_eq (r.chosen, e.chosen);
    ck_assert_uint_lt (2 * r.n_measurements, e.n_measurements);
    ck_assert_uint_eq (e.n_measured, s.n_arms);
    ck_assert_double_gt (e.worst_ratio, 20);
}
END_TEST

static uint64_t fast_now (void *ctx)
{
    return (uint64_t)((struct surface *)ctx)->n * 1000000000u;
}

/* No budget for even one round: unstable, and nothing is chosen. */
START_TEST (no_budget)
{
    static struct surface s;
    struct dt_race_result r = { .chosen = 99 };
    struct dt_race race;
    struct dt_err err = { "" };

    make_surface (&s, 5, 2);
    race = race_of (&s);
    race.now_ns = fast_now;
    race.budget_s = 1;
    ck_assert_int_eq (dt_race_run (&race, &r, NULL, &err), -DT_EUNTRUSTED);
    ck_assert_ptr_nonnull (strstr (err.text, "unstable"));
    ck_assert_uint_eq (r.chosen, 99);
    s.n = 0;
    race.now_ns = now_ns; /* short, but the finalists come to a look */
    race.budget_s = (double)s.clock_ns / 1e9 + 1;
    ck_assert_int_eq (dt_race_run (&race, &r, NULL, &err), 0);
    ck_assert (isfinite (r.hi));
}
END_TEST

static int cancel (void *ctx, double fraction, double left_s, const char *stage, size_t n)
{
    (void)ctx;
    ck_assert (fraction >= 0 && fraction <= 1 && left_s >= 0 && *stage && n > 0);
    return 1;
}

START_TEST (errors)
{
    static struct surface s;
    struct dt_race_result r = { .chosen = 99 };
    struct dt_race race;
    struct dt_err err = { "" };

    make_surface (&s, 5, 2);
    race = race_of (&s);
    race.progress = cancel;
    ck_assert_int_eq (dt_race_run (&race, &r, NULL, &err), -DT_ECANCELLED);
    race.progress = NULL;
    s.n = 0;
    s.fail_at = 40;
    ck_assert_int_eq (dt_race_run (&race, &r, NULL, &err), -DT_EDEVICE);
    ck_assert_str_eq (err.text, "it broke");
    ck_assert_uint_eq (r.chosen, 99);
}
END_TEST

/* A clock that is faster on every second timing tells the incumbent from itself. */
static int two_faced (void *ctx, size_t arm, size_t call, uint64_t *ret_ns, struct dt_err *err)
{
    struct surface *s = ctx;

    (void)arm, (void)call, (void)err;
    s->clock_ns += 1000;
    *ret_ns = s->n++ > 0 && s->fail_at++ % 2 ? 1500 : 1000;
    return 0;
}

/* One arm only: its order against its second self is random, so make it the same. */
START_TEST (untrusted)
{
    static struct surface s;
    struct dt_race_result r;
    struct dt_err err = { "" };
    int found = 0;

    for (uint64_t seed = 0; seed < 200 && !found; seed++) {
        struct dt_race race;

        make_surface (&s, 1, 0);
        s.n_arms = s.n_calls = 1;
        race = race_of (&s);
        race.incumbent = 0;
        race.measure = two_faced;
        race.seed = seed;
        race.max_rounds = 3; /* one look after three rounds in one order */
        found = dt_race_run (&race, &r, NULL, &err) == -DT_EUNTRUSTED;
    }
    ck_assert (found);
    ck_assert_ptr_nonnull (strstr (err.text, "against itself"));
}
END_TEST

START_TEST (no_memory)
{
    static struct surface s;

    for (size_t n = 0;; n++) {
        struct dt_race_result r;
        struct dt_race race;
        int ret;

        make_surface (&s, 5, 2);
        race = race_of (&s);
        dt_mem_fail_after (n);
        ret = dt_race_run (&race, &r, NULL, NULL);
        if (!dt_mem_fail_hit ())
            break;
        ck_assert_int_eq (ret, -ENOMEM);
    }
    dt_mem_fail_after (SIZE_MAX);
}
END_TEST

/* Quantiles from the usual tables. */
static const struct {
    double tail, df, t;
} quantiles[] = {
    { 0.025, 1, 12.7062 }, { 0.025, 10, 2.22814 }, { 0.005, 2, 9.92484 },
    { 0.0005, 5, 6.86883 }, { 0.025, 1e6, 1.95996 }, { 1e-6, 1e6, 4.75342 },
    { 0.1, 3, 1.63774 },
};

START_TEST (student)
{
    ck_assert_double_eq_tol (dt_stats_t (quantiles[_i].tail, quantiles[_i].df), quantiles[_i].t,
                             2e-4 * quantiles[_i].t);
}
END_TEST

START_TEST (trimmed)
{
    double a[] = { 4, 1, 2, 3 }, b[] = { 1000, 1, 2, 3, 4, 5, 6, 7, 8, -1000 }, c[] = { 3, 3, 3 };
    struct dt_stats s = dt_stats_trimmed (a, 4); /* plain: fewer than five */

    ck_assert_double_eq_tol (s.mean, 2.5, 1e-12);
    ck_assert_double_eq_tol (s.error, sqrt (5.0 / 3 / 4), 1e-12);
    ck_assert_double_eq (s.df, 3);
    s = dt_stats_trimmed (b, 10); /* 2..7 left; winsorised: 2 2 2 3 4 5 6 7 7 7 */
    ck_assert_double_eq_tol (s.mean, 4.5, 1e-12);
    ck_assert_double_eq_tol (s.error, sqrt (42.5 / 30), 1e-12);
    ck_assert_double_eq (s.df, 5);
    s = dt_stats_trimmed (c, 3);
    ck_assert (s.mean == 3 && s.error == 0);
}
END_TEST

START_TEST (spending)
{
    double sum = 0;

    for (size_t k = 1; k < 100000; k++)
        sum += dt_stats_spend (0.01, k);
    ck_assert (sum < 0.01 && sum > 0.0099);
}
END_TEST

/* The interval covers at all looks, over many sequences. */
START_TEST (coverage)
{
    struct dt_random r = { 42 };
    double x[40], y[40];
    int missed = 0;

    for (int run = 0; run < 2000; run++) {
        size_t k = 0;
        int bad = 0;

        for (size_t n = 0; n < 40;) {
            struct dt_stats s;

            x[n++] = normal (&r);
            if (n < 3)
                continue;
            memcpy (y, x, n * sizeof *x);
            s = dt_stats_trimmed (y, n);
            bad |= fabs (s.mean) > s.error * dt_stats_t (dt_stats_spend (0.05, ++k) / 2, s.df);
        }
        missed += bad;
    }
    ck_assert_int_le (missed, 100); /* 5% of 2000 */
}
END_TEST

/* A step whose calls take 10% more after another site's than alone, under one tuple. */
static int in_turn (void *ctx, size_t tuple, size_t site, size_t step, uint64_t *ret_ns,
                    struct dt_err *err)
{
    size_t *last = ctx;

    (void)err;
    *ret_ns = 1000 * (1 + step) * (tuple == 1 && site != *last ? 11 : 10);
    *last = site;
    return 0;
}

START_TEST (additive)
{
    static const double weight[] = { 1, 4 };
    size_t last = 0;
    struct dt_additive a = { 3, 2, 2, weight, &last, in_turn };
    struct dt_additive_result r;

    ck_assert_int_eq (dt_additive_estimate (&a, &r, NULL), 0);
    ck_assert_uint_eq (r.worst, 1);
    ck_assert_double_eq_tol (r.d, 0.1, 1e-9);
    ck_assert_double_eq_tol (r.factor, 1.1 / 0.9, 1e-9);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("tuner/race");
    TCase *tc = tcase_create ("race"), *st = tcase_create ("stats");

    tcase_set_timeout (tc, 120);
    tcase_set_timeout (st, 120);
    tcase_add_loop_test (tc, right_or_tie, 0, DT_ARRAY_SIZE (kinds));
    tcase_add_test (tc, many_arms);
    tcase_add_test (tc, groups);
    tcase_add_test (tc, all_equal);
    tcase_add_test (tc, shared_work);
    tcase_add_test (tc, exhaustive);
    tcase_add_test (tc, no_budget);
    tcase_add_test (tc, errors);
    tcase_add_test (tc, untrusted);
    tcase_add_test (tc, no_memory);
    tcase_add_test (tc, additive);
    tcase_add_loop_test (st, student, 0, DT_ARRAY_SIZE (quantiles));
    tcase_add_test (st, trimmed);
    tcase_add_test (st, spending);
    tcase_add_test (st, coverage);
    suite_add_tcase (s, tc);
    suite_add_tcase (s, st);
    return suite_run (s);
}
