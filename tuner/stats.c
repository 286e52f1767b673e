/* tuner/stats.c - the statistics of the race. */
#include "tuner/stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

uint64_t dt_random_next (struct dt_random *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The high half of a product: biased by less than n / 2^64. */
size_t dt_random_below (struct dt_random *r, size_t n)
{
    return (size_t)((unsigned __int128)dt_random_next (r) * n >> 64);
}

double dt_random_unit (struct dt_random *r)
{
    return (double)(dt_random_next (r) >> 11) * 0x1p-53;
}

void dt_random_shuffle (struct dt_random *r, size_t *items, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = dt_random_below (r, i), t = items[i - 1];

        items[i - 1] = items[k];
        items[k] = t;
    }
}

static int ascending (const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct dt_stats dt_stats_trimmed (double *x, size_t n)
{
    size_t cut = n / 5, left = n - 2 * cut;
    double sum = 0, all = 0, square = 0;

    assert (n >= 2);
    qsort (x, n, sizeof *x, ascending);
    for (size_t i = 0; i < n; i++) {
        size_t k = i < cut ? cut : i >= n - cut ? n - cut - 1 : i;

        all += x[k]; /* winsorised */
        sum += k == i ? x[i] : 0;
    }
    all /= (double)n;
    for (size_t i = 0; i < n; i++) {
        size_t k = i < cut ? cut : i >= n - cut ? n - cut - 1 : i;

        square += (x[k] - all) * (x[k] - all);
    }
    return (struct dt_stats){
        .mean = sum / (double)left,
        .error = sqrt (square / ((double)left * (double)(left - 1))),
        .df = (double)(left - 1),
    };
}

/* The regularised incomplete beta function by its continued fraction (Lentz). */
static double beta_fraction (double a, double b, double x)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1), h;

    h = d = 1 / (fabs (d) < 1e-300 ? 1e-300 : d);
    for (int m = 1; m < 500; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step;

        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs (d) < 1e-300 ? 1e-300 : d);
        h *= c * d;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs (d) < 1e-300 ? 1e-300 : d);
        h *= step = c * d;
        if (fabs (step - 1) < 1e-14)
            break;
    }
    return h;
}

static double beta_regular (double a, double b, double x)
{
    int sign;
    double front;

    if (x <= 0 || x >= 1)
        return x >= 1;
    front = exp (lgamma_r (a + b, &sign) - lgamma_r (a, &sign) - lgamma_r (b, &sign) +
                 a * log (x) + b * log1p (-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction (a, b, x) / a;
    return 1 - front * beta_fraction (b, a, 1 - x) / b;
}

/* P(T > t), t > 0. */
static double t_tail (double t, double df)
{
    return 0.5 * beta_regular (df / 2, 0.5, df / (df + t * t));
}

double dt_stats_t (double tail, double df)
{
    double lo = 0, hi = 1;

    assert (tail > 0 && tail < 0.5 && df >= 1);
    while (t_tail (hi, df) > tail && hi < 1e300)
        hi *= 2;
    for (int i = 0; i < 200 && hi - lo > 1e-12 * hi; i++) {
        double mid = lo + (hi - lo) / 2;

        if (t_tail (mid, df) > tail)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

double dt_stats_spend (double alpha, size_t k)
{
    return alpha / ((double)k * (double)(k + 1));
}
