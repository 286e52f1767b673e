/* tuner/cells.c - ranges of one quantity, each with the value that is fastest in it. */
#include "tuner/cells.h"

#include <errno.h>
#include <math.h>

#include "base/mem.h"

#define SURE 3 /* standard errors that noise is held to stay below */

struct cells {
    const struct dt_cell_times *t;
    size_t *order; /* [n_calls] calls by quantity                                  */
    double *sum;   /* [(n_calls + 1) * n_values] of time over the call's least, of the first k */
    size_t *none;  /* likewise: how many of them have no kernel for the value      */
    double *best;  /* [DT_CELLS_MAX * (n_calls + 1)] first k calls in m + 1 cells  */
    size_t *from;  /* likewise: where the last of these cells begins               */
    size_t n;      /* cells, of which k takes the calls begin[k]..begin[k + 1]-1   */
    size_t begin[DT_CELLS_MAX + 1], value[DT_CELLS_MAX];
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
    for (size_t k = 0; k < n; k++) {
        const double *time = t->time + c->order[k] * values;
        double least = INFINITY;

        for (size_t v = 0; v < values; v++)
            least = fmin (least, time[v]);
        for (size_t v = 0; v < values; v++) {
            c->none[(k + 1) * values + v] = c->none[k * values + v] + !isfinite (time[v]);
            c->sum[(k + 1) * values + v] =
                c->sum[k * values + v] + (isfinite (time[v]) ? time[v] / least : 0);
        }
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

/* Into as many cells as pay at all.  0: some call has no kernel that its neighbours have,
 * and more cells than there may be would be needed. */
static void cut (struct cells *c)
{
    size_t n = c->t->n_calls, m = 0, to = n;
    double cost;

    for (size_t k = 1; k < DT_CELLS_MAX; k++)
        if (c->best[k * (n + 1) + n] < c->best[m * (n + 1) + n])
            m = k;
    if (!isfinite (c->best[m * (n + 1) + n]))
        return;
    c->n = m + 1;
    c->begin[c->n] = n;
    for (size_t k = c->n; k-- > 0; to = c->begin[k])
        c->begin[k] = c->from[k * (n + 1) + to];
    for (size_t k = 0; k < c->n; k++)
        c->value[k] = cheapest (c, c->begin[k], c->begin[k + 1], &cost);
}

/* What calls from..to-1 lose with the neighbour's value, over what they must lose for it
 * to count. */
static double loss_of (const struct cells *c, size_t from, size_t to, size_t own, size_t other,
                       double gain)
{
    double least = fmax (gain, SURE * c->t->noise / sqrt ((double)(to - from)));

    return (cost_of (c, from, to, other) / cost_of (c, from, to, own) - 1) / least;
}

/* The most that calls of cell k, one after the other, lose: those to which the value does
 * not matter must not hide the others. */
static double loss (const struct cells *c, size_t k, size_t neighbour, double gain)
{
    double most = 0;

    for (size_t from = c->begin[k]; from < c->begin[k + 1]; from++)
        for (size_t to = from + 1; to <= c->begin[k + 1]; to++)
            most = fmax (most, loss_of (c, from, to, c->value[k], c->value[neighbour], gain));
    return most;
}

/* Cell k becomes part of the neighbour, and cells of equal value are one. */
static void join (struct cells *c, size_t k, size_t neighbour)
{
    size_t last = k < neighbour ? neighbour : k;

    c->value[k] = c->value[neighbour];
    for (size_t i = last; i < c->n; i++)
        c->begin[i] = c->begin[i + 1];
    for (size_t i = last; i + 1 < c->n; i++)
        c->value[i] = c->value[i + 1];
    c->n--;
}

/* The cell that takes a neighbour's value at the least cost, until each needs its own. */
static void merge (struct cells *c, double gain)
{
    while (c->n > 1) {
        size_t which = 0, neighbour = 0;
        double least = INFINITY;

        for (size_t k = 0; k < c->n; k++)
            for (size_t other = k ? k - 1 : 1; other < c->n && other <= k + 1; other += 2) {
                size_t from = c->begin[k], to = c->begin[k + 1];
                double more = cost_of (c, from, to, c->value[other])
                              - cost_of (c, from, to, c->value[k]);

                if (more < least && loss (c, k, other, gain) <= 1) {
                    least = more;
                    which = k;
                    neighbour = other;
                }
            }
        if (!isfinite (least))
            return;
        join (c, which, neighbour);
    }
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

static void tell (const struct cells *c, struct dt_cells *out)
{
    for (size_t k = 0; k < c->n; k++) {
        out->value[k] = c->value[k];
        out->last[k] = middle (c, c->begin[k + 1]);
        for (size_t i = c->begin[k]; i < c->begin[k + 1]; i++)
            out->cost += c->t->weight[c->order[i]]
                         * c->t->time[c->order[i] * c->t->n_values + c->value[k]];
    }
    out->n = c->n;
}

int dt_cells_find (const struct dt_cell_times *t, double gain, struct dt_cells *ret)
{
    struct dt_cells out = { 0 };
    struct cells c = { 0 };

    if (init (&c, t) < 0) {
        done (&c);
        return -ENOMEM;
    }
    solve (&c);
    cut (&c);
    merge (&c, gain);
    tell (&c, &out);
    done (&c);
    *ret = out;
    return 0;
}
