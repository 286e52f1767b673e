/* tests/test_tables.c - cells of free values, and tables found on made-up timings. */
#include "tuner/tables.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "tests/suite.h"
#include "tests/tuner_rig.h"
#include "tuner/cells.h"

/* --- cells ------------------------------------------------------------------- */

#define NONE INFINITY
static const struct {
    const char *what;
    size_t n_calls, n_values;
    int64_t quantity[6];
    double time[12];
    size_t n, value[4];
    int64_t last[4];
    double noise;
} cells[] = {
    { "one value is best", 3, 2, { 1, 5, 9 }, { 2, 1, 2, 1, 2, 1 }, 1, { 1 }, { INT64_MAX } },
    { "two ranges, in any order", 4, 2, { 20, 1, 30, 4 }, { 1, 3, 3, 1, 1, 3, 3, 1 }, 2, { 1, 0 },
      { 11, INT64_MAX } },
    { "neighbours on the integers", 2, 2, { 7, 8 }, { 1, 3, 3, 1 }, 2, { 0, 1 }, { 7, INT64_MAX } },
    { "equal quantities are in one cell", 4, 2, { 1, 2, 2, 3 }, { 1, 9, 1, 5, 9, 1, 9, 1 }, 2,
      { 0, 1 }, { 1, INT64_MAX } },
    { "what hardly gains keeps the neighbour's", 3, 2, { 1, 2, 3 },
      { 10, 10.05, 10.05, 10, 10, 10.05 }, 1, { 0 }, { INT64_MAX } },
    { "a short call has a cell of its own", 3, 2, { 1, 2, 3 }, { 1, 1.1, 2e6, 1e6, 2e6, 1e6 }, 2,
      { 0, 1 }, { 1, INT64_MAX } },
    { "what noise may be keeps the neighbour's", 3, 2, { 1, 2, 3 }, { 10, 11, 20, 10, 20, 10 }, 1,
      { 1 }, { INT64_MAX }, 0.04 },
    { "many calls say more than noise", 6, 2, { 1, 2, 3, 4, 5, 6 },
      { 10, 11, 10, 11, 10, 11, 20, 10, 20, 10, 20, 10 }, 2, { 0, 1 }, { 3, INT64_MAX }, 0.04 },
    { "calls that do not mind hide no others", 6, 2, { 1, 2, 3, 4, 5, 6 },
      { 10, 10, 10, 10, 10, 10, 10, 10, 10, 10.5, 11, 10 }, 2, { 0, 1 }, { 5, INT64_MAX } },
    { "no kernel on a range", 3, 2, { 1, 2, 3 }, { 1, 5, 1, 5, NONE, 5 }, 2, { 0, 1 },
      { 2, INT64_MAX } },
    { "no kernel at all", 2, 1, { 1, 2 }, { 1, NONE }, 0, { 0 }, { 0 } },
};

START_TEST (find_cells)
{
    static const double weight[6] = { 1, 1, 1, 1, 1, 1 };
    struct dt_cell_times t = { cells[_i].n_calls, cells[_i].n_values, weight, cells[_i].time,
                               cells[_i].quantity, cells[_i].noise };
    struct dt_cells c;

    ck_assert_int_eq (dt_cells_find (&t, 0.01, &c), 0);
    ck_assert_msg (c.n == cells[_i].n, "%s: %zu cells", cells[_i].what, c.n);
    for (size_t k = 0; k < c.n; k++) {
        ck_assert_msg (c.value[k] == cells[_i].value[k], "%s: value of %zu", cells[_i].what, k);
        ck_assert_msg (c.last[k] == cells[_i].last[k], "%s: end of %zu: %lld", cells[_i].what, k,
                       (long long)c.last[k]);
    }
}
END_TEST

/* Every call wants another value than those beside it. */
START_TEST (at_most)
{
    double weight[3 * DT_CELLS_MAX], time[2 * 3 * DT_CELLS_MAX];
    int64_t quantity[3 * DT_CELLS_MAX];
    struct dt_cell_times t = { 3 * DT_CELLS_MAX, 2, weight, time, quantity, 0 };
    struct dt_cells c;

    for (size_t i = 0; i < t.n_calls; i++) {
        weight[i] = 1;
        quantity[i] = (int64_t)i;
        time[2 * i + i % 2] = 1;
        time[2 * i + (i + 1) % 2] = 9;
    }
    ck_assert_int_eq (dt_cells_find (&t, 0.01, &c), 0);
    ck_assert_uint_ge (c.n, 2);
    ck_assert_uint_le (c.n, DT_CELLS_MAX);
    ck_assert_int_eq (c.last[c.n - 1], INT64_MAX);
}
END_TEST

/* --- tables -------------------------------------------------------------------- */

/* tile_m: 4 is fast on short queries, 32 on long ones; the program gives per request what
 * is slower than both on some.  workers_per_request never matters. */
struct backend {
    double gain; /* 0: tile_m does not matter either */
    int refuse_4;
    uint64_t measured;
};

static const struct dt_tune_param *param (const struct dt_tune_call *c, const char *name)
{
    for (size_t i = 0; i < c->n_params; i++)
        if (strcmp (c->param[i].field, name) == 0)
            return &c->param[i];
    ck_abort_msg ("no parameter %s", name);
    return NULL;
}

static int64_t longest (const struct dt_tune_call *c)
{
    int64_t most = 0;

    for (size_t i = 0; i < c->call.n_requests; i++)
        most = c->call.request[2 * i] > most ? c->call.request[2 * i] : most;
    return most;
}

/* The program's per-request values count as -1. */
static int64_t tile (const struct dt_tune_call *c)
{
    const struct dt_tune_param *p = param (c, "tile_m");

    return p->each ? -1 : p->one;
}

static int plan (void *ctx, const struct dt_tune_call *c, uint64_t ret[2], int *ret_unsupported,
                 struct dt_err *err)
{
    const struct backend *b = ctx;

    (void)err;
    ret[0] = (uint64_t)param (c, "block_n")->one;
    ret[1] = (uint64_t)(tile (c) + 1);
    *ret_unsupported = b->refuse_4 && tile (c) == 4;
    return 0;
}

static int measure (void *ctx, const struct dt_tune_call *c, uint64_t *ret_ns, struct dt_err *err)
{
    struct backend *b = ctx;
    int64_t want = longest (c) <= 16 ? 4 : 32;

    (void)err;
    b->measured++;
    *ret_ns = (uint64_t)((10000 + 10 * longest (c)) * (tile (c) == want ? 1 - b->gain : 1));
    return 0;
}

static const struct {
    const char *what;
    struct backend b;
    size_t n;
} finds[] = {
    { "two ranges", { .gain = 0.2 }, 1 },
    { "nothing to gain", { .gain = 0 }, 0 },
    { "less than the minimum effect", { .gain = 0.005 }, 0 },
    { "a value without a kernel", { .gain = 0.2, .refuse_4 = 1 }, 1 },
};

static struct tuner_rig rig;

static size_t legal (void)
{
    size_t i = 0;

    while (rig.solution->verdict[i] == DT_ILLEGAL)
        i++;
    return i;
}

static const int64_t tiles[] = { 4, 16, 32 }, workers[] = { 1, 2, 4 };
static const struct dt_tune_free fields[] = { { "tile_m", tiles, 3 },
                                              { "workers_per_request", workers, 3 } };

/* What is timed for tables is told, each value and the program's own. */
static struct {
    size_t n, programs;
} kept;

static int keep_free (void *ctx, const struct dt_tune_at *at, const char *field,
                      const int64_t *value, uint64_t ns, struct dt_err *reterr)
{
    const struct dt_tune_free *f = !strcmp (field, fields[0].field) ? &fields[0] : &fields[1];
    int known = value == NULL;

    (void)ctx, (void)reterr;
    ck_assert_str_eq (field, f->field);
    ck_assert_uint_eq (at->assignment, legal ());
    ck_assert_uint_eq (at->trace, 0);
    ck_assert_uint_lt (at->call, rig.trace->site[0].n_calls);
    ck_assert_uint_gt (ns, 0);
    for (size_t i = 0; value && i < f->n_values; i++)
        known |= f->value[i] == *value;
    ck_assert (known);
    kept.n++;
    kept.programs += value == NULL;
    return 0;
}

START_TEST (find_tables)
{
    struct backend b = finds[_i].b;
    struct dt_tune_hooks hooks = { .ctx = &b, .plan = plan, .measure = measure,
                                   .keep_free = keep_free };
    struct dt_tune_options o = { .budget_s = 60 };
    const struct dt_trace_site *site = &rig.trace->site[0];
    struct dt_tables_result r;
    struct dt_arena a = { 0 };
    struct dt_err err = { "" };
    struct dt_buf with = { 0 };
    struct dt_vm *vm;

    ck_assert_msg (dt_tables_find (rig.solution, legal (), &site, 1, fields, 2, &o, &hooks, &a, &r,
                                   &err) == 0, "%s", err.text);
    ck_assert_msg (r.n == finds[_i].n, "%s: %zu tables", finds[_i].what, r.n);
    ck_assert (kept.programs > 0 && kept.n > kept.programs && kept.n <= r.n_measurements);
    if (r.n) {
        const struct dt_vm_table *t = r.table;

        ck_assert_str_eq (t->field, "tile_m");
        ck_assert (r.hi < 1 && r.ratio < 0.99);
        for (size_t k = 0; k < t->n; k++) {
            ck_assert_uint_eq (t->cell[k].n, !b.refuse_4); /* 32 is never worse than the program */
            ck_assert (b.refuse_4 ? t->cell[k].value == 32 : t->cell[k].value == (k ? 32 : 4));
        }
        if (!b.refuse_4) {
            ck_assert_uint_eq (t->n, 2);
            ck_assert (t->cell[0].when[0].lo == 0 && t->cell[1].when[0].hi == INT64_MAX);
            ck_assert_int_eq (t->cell[0].when[0].hi + 1, t->cell[1].when[0].lo);
        }
        /* the selector that has them loads, and says so */
        ck_assert_int_eq (dt_solution_selector_with (rig.solution, legal (), r.table, r.n, &with,
                                                     &err), 0);
        ck_assert_msg (dt_vm_load (with.data, with.len, &vm, &err) == 0, "%s", err.text);
        ck_assert_uint_eq (dt_vm_tables (vm), 1);
        dt_vm_free (vm);
    } else {
        ck_assert (r.ratio == 1);
    }
    dt_buf_done (&with);
    dt_arena_done (&a);
}
END_TEST

static int slowed (void *ctx, struct dt_err *reterr)
{
    (void)ctx;
    return dt_err_set (reterr, -DT_EUNTRUSTED, "device 0 is slowed");
}

/* A device that is slowed is no verdict of the race: not "no table". */
START_TEST (slowed_in_the_race)
{
    struct backend b = { .gain = 0.2 };
    struct dt_tune_hooks hooks = { .ctx = &b, .plan = plan, .measure = measure, .fresh = slowed };
    struct dt_tune_options o = { .budget_s = 60 };
    const struct dt_trace_site *site = &rig.trace->site[0];
    struct dt_tables_result r;
    struct dt_arena a = { 0 };
    struct dt_err err = { "" };

    ck_assert_int_eq (dt_tables_find (rig.solution, legal (), &site, 1, fields, 2, &o, &hooks, &a,
                                      &r, &err), -DT_EUNTRUSTED);
    ck_assert_msg (strstr (err.text, "is slowed"), "%s", err.text);
    dt_arena_done (&a);
}
END_TEST

START_TEST (no_memory)
{
    size_t at = legal (), step = 1;

    for (size_t n = 0;; n += step, step += n / 16) {
        struct backend b = { .gain = 0.2 };
        struct dt_tune_hooks hooks = { .ctx = &b, .plan = plan, .measure = measure };
        struct dt_tune_options o = { .budget_s = 60, .max_calls = 4 };
        const struct dt_trace_site *site = &rig.trace->site[0];
        struct dt_tables_result r;
        struct dt_arena a = { 0 };
        int ret;

        dt_mem_fail_after (n);
        ret = dt_tables_find (rig.solution, at, &site, 1, fields, 2, &o, &hooks, &a, &r, NULL);
        dt_arena_done (&a);
        if (suite_had_memory (ret))
            break;
    }
}
END_TEST

static void setup (void)
{
    tuner_rig_init (&rig);
}

static void teardown (void)
{
    tuner_rig_done (&rig);
}

int main (void)
{
    Suite *s = suite_create ("tuner/tables");
    TCase *tc = tcase_create ("cells"), *tt = tcase_create ("tables");

    tcase_add_loop_test (tc, find_cells, 0, DT_ARRAY_SIZE (cells));
    tcase_add_test (tc, at_most);
    tcase_add_checked_fixture (tt, setup, teardown);
    tcase_set_timeout (tt, 120);
    tcase_add_loop_test (tt, find_tables, 0, DT_ARRAY_SIZE (finds));
    tcase_add_test (tt, slowed_in_the_race);
    tcase_add_test (tt, no_memory);
    suite_add_tcase (s, tc);
    suite_add_tcase (s, tt);
    return suite_run (s);
}
