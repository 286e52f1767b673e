/* tuner/cells.c - ranges of one quantity, each with the value that is fastest in it. */
#include "tuner/cells.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

struct cells {
    const struct dt_cell_times *t;
    size_t *order; /* [n_calls] calls by quantity                                  */
    double *sum;   /* [(n_calls + 1) * n_values] of weight * time of the first k   */
    size_t *none;  /* likewise: how many of them have no kernel for the value      */
    double *best;  /* [DT_CELLS_MAX * (n_calls + 1)] first k calls in m + 1 cells  */
    size_t *from;  /* likewise: where the last of these cells begins               */
};

static void done (struct cells *c)
{
    dt_free (c->order);
    dt_free (c->sum);
    dt_free (c->none);
    dt_free (c->best);
    dt_free (c->from);
}

static int init (struct cells *c, const struct dt_cell_times *t)
{
    size_t n = t->n_calls, values = t->n_values;

    c->t = t;
    c->order = dt_calloc (n, sizeof *c->order);
    c->sum = dt_calloc ((n + 1) * values, sizeof *c->sum);
    c->none = dt_calloc ((n + 1) * values, sizeof *c->none);
    c->best = dt_calloc (DT_CELLS_MAX * (n + 1), sizeof *c->best);
    c->from = dt_calloc (DT_CELLS_MAX * (n + 1), sizeof *c->from);
    if (!c->order || !c->sum || !c->none || !c->best || !c->from)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        size_t at = i;

        for (; at > 0 && t->quantity[c->order[at - 1]] > t->quantity[i]; at--)
            c->order[at] = c->order[at - 1];
        c->order[at] = i;
    }
    for (size_t k = 0; k < n; k++)
        for (size_t v = 0; v < values; v++) {
            double one = t->time[c->order[k] * values + v];

            c->none[(k + 1) * values + v] = c->none[k * values + v] + !isfinite (one);
            c->sum[(k + 1) * values + v] =
                c->sum[k * values + v] + (isfinite (one) ? t->weight[c->order[k]] * one : 0);
        }
    return 0;
}

/* Of one value on calls from..to-1, in order. */
static double cost_of (const struct cells *c, size_t from, size_t to, size_t v)
{
    size_t values = c->t->n_values;

    if (c->none[to * values + v] > c->none[from * values + v])
        return INFINITY;
    return c->sum[to * values + v] - c->sum[from * values + v];
}

/* The cheapest value there, the lowest index of equal ones. */
static size_t cheapest (const struct cells *c, size_t from, size_t to, double *ret)
{
    size_t best = 0;

    *ret = INFINITY;
    for (size_t v = 0; v < c->t->n_values; v++) {
        double one = cost_of (c, from, to, v);

        if (one < *ret) {
            *ret = one;
            best = v;
        }
    }
    return best;
}

/* A cell may begin here: equal quantities are in one. */
static int may_begin (const struct cells *c, size_t k)
{
    return k == 0 || c->t->quantity[c->order[k]] > c->t->quantity[c->order[k - 1]];
}

static void solve (struct cells *c)
{
    size_t n = c->t->n_calls;

    for (size_t m = 0; m < DT_CELLS_MAX; m++)
        for (size_t to = 1; to <= n; to++) {
            double *best = &c->best[m * (n + 1) + to], one;

            *best = INFINITY;
            for (size_t from = 0; from < (m ? to : 1); from++) {
                double before = m ? c->best[(m - 1) * (n + 1) + from] : 0;

                if (!may_begin (c, from) || (m && from == 0))
                    continue;
                cheapest (c, from, to, &one);
                if (before + one < *best) {
                    *best = before + one;
                    c->from[m * (n + 1) + to] = from;
                }
            }
        }
}

/* The fewest cells of which none more would save the gain; DT_CELLS_MAX: none will do. */
static size_t how_many (const struct cells *c, double gain)
{
    size_t n = c->t->n_calls, m = 0;

    while (m < DT_CELLS_MAX && !isfinite (c->best[m * (n + 1) + n]))
        m++;
    for (size_t k = m + 1; k < DT_CELLS_MAX; k++)
        if (c->best[k * (n + 1) + n] < (1 - gain * (double)(k - m)) * c->best[m * (n + 1) + n])
            m = k;
    return m;
}

static int64_t middle (const struct cells *c, size_t end)
{
    int64_t a, b;

    if (end == c->t->n_calls)
        return INT64_MAX;
    a = c->t->quantity[c->order[end - 1]];
    b = c->t->quantity[c->order[end]];
    return a + (b - a - 1) / 2;
}

/* Cells in order; one that hardly gains takes its neighbour's value. */
static void take (const struct cells *c, size_t m, double gain, struct dt_cells *out)
{
    size_t n = c->t->n_calls, end[DT_CELLS_MAX], to = n, from = 0;

    for (size_t k = m + 1; k-- > 0; to = c->from[k * (n + 1) + to])
        end[k] = to;
    for (size_t k = 0; k <= m; from = end[k++]) {
        double least, kept;
        size_t v = cheapest (c, from, end[k], &least);

        if (out->n) {
            kept = cost_of (c, from, end[k], out->value[out->n - 1]);
            if (kept <= least * (1 + gain)) {
                out->last[out->n - 1] = middle (c, end[k]);
                out->cost += kept;
                continue;
            }
        }
        out->last[out->n] = middle (c, end[k]);
        out->value[out->n++] = v;
        out->cost += least;
    }
}

int dt_cells_find (const struct dt_cell_times *t, double gain, struct dt_cells *ret)
{
    struct dt_cells out = { 0 };
    struct cells c = { 0 };
    size_t m;

    if (init (&c, t) < 0) {
        done (&c);
        return -ENOMEM;
    }
    solve (&c);
    m = how_many (&c, gain);
    if (m < DT_CELLS_MAX)
        take (&c, m, gain, &out);
    done (&c);
    *ret = out;
    return 0;
}
