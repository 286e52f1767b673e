/* tuner/sample.c - few calls that stand for all of a trace. */
#include "tuner/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tuner/stats.h"

struct item {
    size_t call;
    double work, size; /* of one call; count * work */
    int certain;
};

static int by_work (const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->work != y->work)
        return x->work < y->work ? -1 : 1;
    return (x->call > y->call) - (x->call < y->call);
}

/* Mark the calls whose chance would be 1 or more, until none is left; returns how
 * many were marked, and the size of all others. */
static size_t mark_certain (struct item *item, size_t n, size_t max, double *ret_rest)
{
    size_t marked = 0, before;

    do {
        double rest = 0;

        before = marked;
        for (size_t i = 0; i < n; i++)
            rest += item[i].certain ? 0 : item[i].size;
        *ret_rest = rest;
        for (size_t i = 0; i < n; i++)
            if (!item[i].certain && item[i].size * (double)(max - before) >= rest &&
                marked < max) {
                item[i].certain = 1;
                marked++;
            }
    } while (marked > before && marked < max);
    return marked;
}

/* One pass over the calls in order of work: certain ones, and each at which the
 * running size passes the next of equally spaced points. */
static void draw (const struct dt_trace_site *s, const struct item *item, size_t n, size_t points,
                  double rest, uint64_t seed, struct dt_sample *out)
{
    struct dt_random random = { seed };
    double step = points ? rest / (double)points : INFINITY;
    double next = points ? step * dt_random_unit (&random) : INFINITY, sum = 0;
    size_t drawn = 0;

    for (size_t i = 0; i < n; i++) {
        double count = (double)s->call[item[i].call].count;

        if (item[i].certain) {
            out->call[out->n++] = (struct dt_sample_call){ item[i].call, count, 1 };
            continue;
        }
        sum += item[i].size;
        if (sum > next && drawn < points) {
            out->call[out->n++] =
                (struct dt_sample_call){ item[i].call, count * step / item[i].size, 0 };
            next += step;
            drawn++;
        }
    }
}

int dt_sample_draw (const struct dt_trace_site *s, size_t max, uint64_t seed,
                    struct dt_sample *ret, struct dt_err *reterr)
{
    size_t n = s->n_calls, marked;
    struct dt_sample out = { 0 };
    struct item *item;
    double rest;

    if (n == 0)
        return dt_err_set (reterr, -DT_EINPUT, "site '%.64s' has no calls in the trace", s->site);
    item = dt_calloc (n, sizeof *item);
    out.call = dt_calloc (max < n ? max : n, sizeof *out.call);
    if (!item || !out.call) {
        dt_free (item);
        dt_free (out.call);
        return dt_err_nomem (reterr);
    }
    for (size_t i = 0; i < n; i++) {
        struct dt_call call = dt_trace_call_get (s, i);

        item[i] = (struct item){ i, dt_schema_work (s->schema, &call), 0, n <= max };
        item[i].size = item[i].work * (double)s->call[i].count;
    }
    qsort (item, n, sizeof *item, by_work);
    marked = n <= max ? n : mark_certain (item, n, max, &rest);
    draw (s, item, n, n <= max ? 0 : max - marked, n <= max ? 0 : rest, seed, &out);
    dt_free (item);
    *ret = out;
    return 0;
}

void dt_sample_done (struct dt_sample *s)
{
    dt_free (s->call);
    *s = (struct dt_sample){ 0 };
}

double dt_sample_error (const struct dt_sample *s, const double *time)
{
    double sum = 0, square = 0, last = 0;
    size_t m = 0;

    for (size_t i = 0; i < s->n; i++) {
        double y = s->call[i].weight * time[i];

        sum += y;
        if (s->call[i].certain)
            continue;
        if (m++ > 0)
            square += (y - last) * (y - last);
        last = y;
    }
    /* m / (2 (m - 1)) * sum of squared differences is the variance of m draws'
     * sum if neighbours are alike. */
    return m > 1 ? sqrt ((double)m / (2 * (double)(m - 1)) * square) / sum : m ? 1 : 0;
}

double dt_sample_half (const struct dt_sample *s, const double *time)
{
    size_t m = 0;

    for (size_t i = 0; i < s->n; i++)
        m += !s->call[i].certain;
    return m < 2 ? dt_sample_error (s, time)
                 : dt_sample_error (s, time) * dt_stats_t (0.005, (double)m - 1);
}
