/* tuner/tables.c - tables for the free fields of a chosen assignment. */
#include "tuner/tables.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/time.h"
#include "tuner/calls.h"
#include "tuner/cells.h"
#include "tuner/cover.h"
#include "tuner/stats.h"

#define ROUNDS 5            /* of each value on each call; the median counts */
#define MINIMUM_EFFECT 0.01
#define BUDGET_S 10.0
#define NOISE 0.05          /* of one time, if a single round does not say */

struct tables {
    const struct dt_tune_hooks *hooks;
    const struct dt_tune_options *options;
    const struct dt_schema *schema;
    struct dt_calls calls;
    struct dt_cover cover;       /* the chosen assignment alone                  */
    struct dt_vm_table *table;   /* [n] found so far; cells in the arena         */
    size_t n;
    int64_t *quantity;           /* [calls.n * DT_SCHEMA_MAX_QUANTITIES]         */
    struct dt_tune_param *param; /* [cover.n_params] scratch of the call at hand */
    struct dt_random random;
    uint64_t start_ns, n_measurements;
    int hook; /* what the last of the hooks returned to the race */
    struct dt_arena *arena;
};

static void done (struct tables *t)
{
    dt_cover_done (&t->cover);
    dt_calls_done (&t->calls);
    dt_free (t->quantity);
    dt_free (t->param);
}

static double minimum_effect (const struct tables *t)
{
    return t->options->minimum_effect > 0 ? t->options->minimum_effect : MINIMUM_EFFECT;
}

static double budget_s (const struct tables *t)
{
    return t->options->budget_s > 0 ? t->options->budget_s : BUDGET_S;
}

/* --- a call with tables ------------------------------------------------------ */

static int holds (const struct dt_schema *s, const struct dt_vm_cell *c, const int64_t *quantity)
{
    for (size_t i = 0; i < c->n; i++) {
        int64_t v = quantity[dt_schema_quantity (s, c->when[i].quantity)];

        if (v < c->when[i].lo || v > c->when[i].hi)
            return 0;
    }
    return 1;
}

static void set_param (struct tables *t, const char *field, int64_t value)
{
    for (size_t i = 0; i < t->cover.n_params; i++)
        if (strcmp (t->param[i].field, field) == 0)
            t->param[i] = (struct dt_tune_param){ t->param[i].field, value, NULL };
}

/* The call as the selector with the first n tables gives it; its parameters are scratch. */
static struct dt_tune_call call_with (struct tables *t, const struct dt_cover *cover, size_t at,
                                      const int64_t *quantity, size_t n)
{
    struct dt_tune_call c = dt_cover_call (cover, cover->arm[0].variant[at]);

    memcpy (t->param, c.param, c.n_params * sizeof *c.param);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < t->table[k].n; i++)
            if (holds (t->schema, &t->table[k].cell[i], quantity)) {
                set_param (t, t->table[k].field, t->table[k].cell[i].value);
                break;
            }
    c.param = t->param;
    return c;
}

static const int64_t *quantities (const struct tables *t, size_t at)
{
    return t->quantity + at * DT_SCHEMA_MAX_QUANTITIES;
}

/* --- one field --------------------------------------------------------------- */

/* Value 0 is the program's own, value k + 1 the backend's k-th. */
struct field {
    const struct dt_tune_free *free;
    size_t n_values;
    uint64_t (*launch)[2]; /* [calls.n * n_values]                       */
    uint8_t *none;         /* likewise: no kernel                        */
    double *all;           /* [calls.n * n_values * ROUNDS]              */
    double *time;          /* [calls.n * n_values] medians               */
    double noise;          /* their relative standard error              */
    double *spread;        /* [calls.n * n_values] scratch               */
    size_t *order;         /* [n_values] scratch                         */
};

static void field_done (struct field *f)
{
    dt_free (f->launch);
    dt_free (f->none);
    dt_free (f->all);
    dt_free (f->time);
    dt_free (f->spread);
    dt_free (f->order);
}

static struct dt_tune_call call_of (struct tables *t, const struct field *f, size_t at, size_t v)
{
    struct dt_tune_call c = call_with (t, &t->cover, at, quantities (t, at), t->n);

    if (v > 0)
        set_param (t, f->free->field, f->free->value[v - 1]);
    return c;
}

static int field_init (struct tables *t, struct field *f, struct dt_err *reterr)
{
    size_t n = t->calls.n * f->n_values;
    int r;

    f->launch = dt_calloc (n, sizeof *f->launch);
    f->none = dt_calloc (n, 1);
    f->all = dt_calloc (n, ROUNDS * sizeof *f->all);
    f->time = dt_calloc (n, sizeof *f->time);
    f->spread = dt_calloc (n, sizeof *f->spread);
    f->order = dt_calloc (f->n_values, sizeof *f->order);
    if (!f->launch || !f->none || !f->all || !f->time || !f->spread || !f->order)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++) {
        struct dt_tune_call c = call_of (t, f, i / f->n_values, i % f->n_values);
        struct dt_err why = { "" };
        int none = 0;

        if ((r = t->hooks->plan (t->hooks->ctx, &c, f->launch[i], &none, &why)) < 0)
            return dt_err_set (reterr, r, "%s", why.text);
        f->none[i] = none != 0;
    }
    return 0;
}

/* The first value of the call that launches the same. */
static size_t same_as (const struct field *f, size_t at, size_t v)
{
    for (size_t k = 0; k < v; k++)
        if (!f->none[at * f->n_values + k]
            && memcmp (f->launch[at * f->n_values + k], f->launch[at * f->n_values + v],
                       sizeof *f->launch) == 0)
            return k;
    return v;
}

/* Value v of a call took so long: that is evidence, whichever way it decides. */
static int keep (struct tables *t, const struct field *f, size_t at, size_t v, uint64_t ns,
                 struct dt_err *reterr)
{
    struct dt_tune_at where = { t->cover.arm[0].assignment, t->calls.at[at].trace,
                                t->calls.at[at].call };

    t->n_measurements++;
    if (!t->hooks->keep_free)
        return 0;
    return t->hooks->keep_free (t->hooks->ctx, &where, f->free->field,
                                v > 0 ? &f->free->value[v - 1] : NULL, ns, reterr);
}

/* Each value of one call once, in random order. */
static int time_call (struct tables *t, struct field *f, size_t at, size_t round,
                      struct dt_err *reterr)
{
    for (size_t v = 0; v < f->n_values; v++)
        f->order[v] = v;
    dt_random_shuffle (&t->random, f->order, f->n_values);
    for (size_t k = 0; k < f->n_values; k++) {
        size_t v = f->order[k], i = at * f->n_values + v;
        struct dt_tune_call c;
        uint64_t ns;
        int r;

        if (f->none[i] || same_as (f, at, v) != v)
            continue;
        c = call_of (t, f, at, v);
        r = t->hooks->measure (t->hooks->ctx, &c, &ns, reterr);
        if (r == -DT_EUNSUPPORTED && v > 0) {
            f->none[i] = 1;
            continue;
        }
        if (r < 0 || (r = keep (t, f, at, v, ns, reterr)) < 0)
            return r;
        f->all[i * ROUNDS + round] = (double)ns;
    }
    return 0;
}

static int ascending (const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The standard error of a median over the spread of the times' middle, as the median over
 * many sees it: 200,000 draws of so many normal times. */
static const double error_of[ROUNDS + 1] = { 0, 0, 0.87, 0.42, 1.29, 0.59 };

static void judge_noise (struct tables *t, struct field *f, size_t rounds)
{
    size_t n = 0;

    for (size_t i = 0; i < t->calls.n * f->n_values; i++) {
        const double *all = f->all + i * ROUNDS;

        if (all[0] > 0)
            f->spread[n++] = (all[rounds - 1 - rounds / 4] - all[rounds / 4]) / all[rounds / 2];
    }
    qsort (f->spread, n, sizeof *f->spread, ascending);
    f->noise = rounds > 1 && n > 0 ? error_of[rounds] * f->spread[n / 2] : NOISE;
}

static void take_medians (struct tables *t, struct field *f, size_t rounds)
{
    for (size_t i = 0; i < t->calls.n * f->n_values; i++) {
        qsort (f->all + i * ROUNDS, rounds, sizeof *f->all, ascending);
        f->time[i] = f->none[i] ? INFINITY : f->all[i * ROUNDS + rounds / 2];
    }
    for (size_t at = 0; at < t->calls.n; at++)
        for (size_t v = 0; v < f->n_values; v++)
            if (!f->none[at * f->n_values + v])
                f->time[at * f->n_values + v] = f->time[at * f->n_values + same_as (f, at, v)];
}

/* At least one round; no more once half the budget is gone. */
static int time_all (struct tables *t, struct field *f, struct dt_err *reterr)
{
    size_t round = 0;
    int r;

    for (; round < ROUNDS; round++) {
        double spent = (double)(dt_time_mono_ns () - t->start_ns) / 1e9;

        if (round > 0 && spent > budget_s (t) / 2)
            break;
        if (t->hooks->progress
            && t->hooks->progress (t->hooks->ctx, fmin (1, spent / budget_s (t)),
                                   fmax (0, budget_s (t) - spent), "free values"))
            return dt_err_set (reterr, -DT_ECANCELLED, "tuning was cancelled");
        for (size_t at = 0; at < t->calls.n; at++)
            if ((r = time_call (t, f, at, round, reterr)) < 0)
                return r;
    }
    take_medians (t, f, round);
    judge_noise (t, f, round);
    return 0;
}

/* Weights under which each trace's cost with the program's values is 1. */
static void weigh (const struct tables *t, const struct field *f, double *weight)
{
    for (size_t k = 0; k < t->calls.n_traces; k++) {
        double sum = 0;

        for (size_t at = 0; at < t->calls.n; at++)
            sum += t->calls.group[at] == k ? t->calls.weight[at] * f->time[at * f->n_values] : 0;
        for (size_t at = 0; at < t->calls.n; at++)
            if (t->calls.group[at] == k)
                weight[at] = t->calls.weight[at] / sum;
    }
}

/* The quantity whose cells cost least. */
static int best_quantity (struct tables *t, const struct field *f, const double *weight,
                          int64_t *column, struct dt_cells *ret, size_t *ret_q,
                          struct dt_err *reterr)
{
    struct dt_cell_times times = { t->calls.n, f->n_values, weight, f->time, column, f->noise };

    ret->n = 0;
    for (size_t q = 0; q < t->schema->n_quantities; q++) {
        struct dt_cells one;

        if (t->schema->quantity[q].own)
            continue;
        for (size_t at = 0; at < t->calls.n; at++)
            column[at] = quantities (t, at)[q];
        if (dt_cells_find (&times, minimum_effect (t), &one) < 0)
            return dt_err_nomem (reterr);
        if (one.n && (ret->n == 0 || one.cost < ret->cost)) {
            *ret = one;
            *ret_q = q;
        }
    }
    return 0;
}

/* Cells as a table of the blob; those of the program's own value are left out. */
static int add_table (struct tables *t, const struct field *f, const struct dt_cells *cells,
                      size_t q, struct dt_err *reterr)
{
    struct dt_vm_cell *cell = dt_arena_array (t->arena, cells->n, sizeof *cell);
    struct dt_vm_range *range = dt_arena_array (t->arena, cells->n, sizeof *range);
    const char *name = t->schema->quantity[q].name;
    size_t n = 0;

    if (!cell || !range)
        return dt_err_nomem (reterr);
    for (size_t k = 0; k < cells->n; k++) {
        if (cells->value[k] == 0)
            continue;
        range[n] = (struct dt_vm_range){ name, k ? cells->last[k - 1] + 1 : 0, cells->last[k] };
        cell[n] = (struct dt_vm_cell){ f->free->value[cells->value[k] - 1], &range[n],
                                       cells->n > 1 };
        n++;
    }
    if (n)
        t->table[t->n++] = (struct dt_vm_table){ f->free->field, 0, cell, n };
    return 0;
}

/* Forget what was found for the field. */
static void drop_table (struct tables *t, const char *field)
{
    size_t n = 0;

    for (size_t k = 0; k < t->n; k++)
        if (strcmp (t->table[k].field, field) != 0)
            t->table[n++] = t->table[k];
    t->n = n;
}

static int find_table (struct tables *t, const struct dt_tune_free *free, struct dt_err *reterr)
{
    struct field f = { .free = free, .n_values = free->n_values + 1 };
    double *weight = dt_calloc (t->calls.n, sizeof *weight);
    int64_t *column = dt_calloc (t->calls.n, sizeof *column);
    struct dt_cells cells;
    size_t q = 0;
    int r;

    drop_table (t, free->field);
    if (!weight || !column)
        r = dt_err_nomem (reterr);
    else if ((r = field_init (t, &f, reterr)) == 0 && (r = time_all (t, &f, reterr)) == 0) {
        weigh (t, &f, weight);
        if ((r = best_quantity (t, &f, weight, column, &cells, &q, reterr)) == 0 && cells.n
            && cells.cost < (double)t->calls.n_traces)
            r = add_table (t, &f, &cells, q, reterr);
    }
    field_done (&f);
    dt_free (weight);
    dt_free (column);
    return r;
}

static int has_others (const struct tables *t, const char *field)
{
    for (size_t k = 0; k < t->n; k++)
        if (strcmp (t->table[k].field, field) != 0)
            return 1;
    return 0;
}

/* Each field with the tables of those before it; then once more with all others', while
 * there is time. */
static int find_all (struct tables *t, const struct dt_tune_free *field, size_t n_fields,
                     struct dt_err *reterr)
{
    int r;

    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < n_fields; i++) {
            double spent = (double)(dt_time_mono_ns () - t->start_ns) / 1e9;

            if (pass > 0 && (!has_others (t, field[i].field) || spent > budget_s (t) / 2))
                continue;
            if ((r = find_table (t, &field[i], reterr)) < 0)
                return r;
        }
    return 0;
}

/* --- the tables together ----------------------------------------------------- */

/* Has every call of the traces a kernel under the tables?  1: yes. */
static int check_traces (struct tables *t, const struct dt_trace_site *const *trace,
                         size_t n_traces, size_t assignment, struct dt_err *reterr)
{
    int64_t quantity[DT_SCHEMA_MAX_QUANTITIES];
    struct dt_calls all;
    struct dt_cover cover;
    int r, none = 0;

    if ((r = dt_calls_spread (trace, n_traces, &all, reterr)) < 0)
        return r;
    r = dt_cover_one (&cover, t->cover.solution, all.at, all.n, assignment, t->hooks, reterr);
    for (size_t at = 0; r == 0 && !none && at < all.n; at++) {
        struct dt_call call = dt_trace_call_get (all.at[at].site, all.at[at].call);
        struct dt_tune_call c;
        struct dt_err why = { "" };
        uint64_t launch[2];

        if ((r = dt_schema_derive (t->schema, &call, quantity, reterr)) < 0)
            break;
        c = call_with (t, &cover, at, quantity, t->n);
        if ((r = t->hooks->plan (t->hooks->ctx, &c, launch, &none, &why)) < 0)
            dt_err_set (reterr, r, "%s", why.text);
    }
    dt_cover_done (&cover);
    dt_calls_done (&all);
    return r < 0 ? r : !none;
}

/* Arm 0 has the program's values, arm 1 the tables. */
static int measure (void *ctx, size_t arm, size_t call, uint64_t *ret_ns, struct dt_err *reterr)
{
    struct tables *t = ctx;
    struct dt_tune_call c = call_with (t, &t->cover, call, quantities (t, call), arm ? t->n : 0);

    return t->hook = t->hooks->measure (t->hooks->ctx, &c, ret_ns, reterr);
}

static uint64_t now_ns (void *ctx)
{
    (void)ctx;
    return dt_time_mono_ns ();
}

static int fresh (void *ctx, struct dt_err *reterr)
{
    struct tables *t = ctx;

    return t->hook = t->hooks->fresh (t->hooks->ctx, reterr);
}

static int progress (void *ctx, double fraction, double left_s, const char *stage, size_t in_race)
{
    const struct tables *t = ctx;

    (void)stage, (void)in_race;
    return t->hooks->progress (t->hooks->ctx, fraction, left_s, "free tables against none");
}

static int race_tables (struct tables *t, struct dt_tables_result *ret, struct dt_err *reterr)
{
    struct dt_race race = {
        .n_arms = 2,
        .n_calls = t->calls.n,
        .weight = t->calls.weight,
        .group = t->calls.group,
        .n_groups = t->calls.n_traces,
        .minimum_effect = minimum_effect (t),
        .budget_s = budget_s (t) / 2,
        .seed = t->options->seed,
        .ctx = t,
        .measure = measure,
        .now_ns = now_ns,
        .fresh = t->hooks->fresh ? fresh : NULL,
        .progress = t->hooks->progress ? progress : NULL,
    };
    struct dt_race_result result;
    int r = dt_race_run (&race, &result, NULL, reterr);

    if (r == -DT_EUNTRUSTED && t->hook == 0)
        return 0; /* not told apart for sure: the program's values stay */
    if (r < 0)
        return r;
    ret->n_measurements += result.n_measurements;
    if (result.tie)
        return 0;
    ret->table = t->table;
    ret->n = t->n;
    ret->ratio = result.ratio;
    ret->lo = result.lo;
    ret->hi = result.hi;
    return 0;
}

static int init (struct tables *t, size_t assignment, const struct dt_solution *s,
                 const struct dt_trace_site *const *trace, size_t n_traces, size_t n_fields,
                 struct dt_err *reterr)
{
    int r;

    if ((r = dt_calls_draw (trace, n_traces, t->options->max_calls, t->options->seed, &t->calls,
                            reterr)) < 0
        || (r = dt_cover_one (&t->cover, s, t->calls.at, t->calls.n, assignment, t->hooks,
                              reterr)) < 0)
        return r;
    t->schema = trace[0]->schema;
    t->quantity = dt_calloc (t->calls.n, DT_SCHEMA_MAX_QUANTITIES * sizeof *t->quantity);
    t->param = dt_calloc (t->cover.n_params, sizeof *t->param);
    t->table = dt_arena_array (t->arena, n_fields, sizeof *t->table);
    if (!t->quantity || !t->param || !t->table)
        return dt_err_nomem (reterr);
    for (size_t at = 0; at < t->calls.n; at++) {
        struct dt_call call = dt_trace_call_get (t->calls.at[at].site, t->calls.at[at].call);

        if ((r = dt_schema_derive (t->schema, &call, t->quantity + at * DT_SCHEMA_MAX_QUANTITIES,
                                   reterr)) < 0)
            return r;
    }
    return 0;
}

int dt_tables_find (const struct dt_solution *s, size_t assignment,
                    const struct dt_trace_site *const *trace, size_t n_traces,
                    const struct dt_tune_free *field, size_t n_fields,
                    const struct dt_tune_options *options, const struct dt_tune_hooks *hooks,
                    struct dt_arena *a, struct dt_tables_result *ret, struct dt_err *reterr)
{
    struct tables t = { .hooks = hooks, .options = options, .random = { options->seed },
                        .start_ns = dt_time_mono_ns (), .arena = a };
    struct dt_tables_result out = { .ratio = 1, .lo = 1, .hi = 1 };
    int r;

    if ((r = init (&t, assignment, s, trace, n_traces, n_fields, reterr)) < 0)
        goto fail;
    if ((r = find_all (&t, field, n_fields, reterr)) < 0)
        goto fail;
    if (t.n > 0 && (r = check_traces (&t, trace, n_traces, assignment, reterr)) > 0)
        r = race_tables (&t, &out, reterr);
    if (r < 0)
        goto fail;
    out.n_measurements += t.n_measurements;
    *ret = out;
fail:
    done (&t);
    return r < 0 ? r : 0;
}
