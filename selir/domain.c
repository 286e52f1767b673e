/* selir/domain.c - static collections of values. */
#include "selir/graph.h"

/* Members of a stepped range but one: no overflow for any lo <= hi. */
static uint64_t last (const struct dt_domain *d)
{
    return ((uint64_t)d->hi - (uint64_t)d->lo) / (uint64_t)d->step;
}

int dt_domain_has (const struct dt_domain *d, int64_t v)
{
    size_t lo = 0, hi = d->n;

    if (!d->value)
        return v >= d->lo && v <= d->hi
               && ((uint64_t)v - (uint64_t)d->lo) % (uint64_t)d->step == 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (d->value[mid] < v)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < d->n && d->value[lo] == v;
}

uint64_t dt_domain_size (const struct dt_domain *d)
{
    if (d->value)
        return d->n;
    return last (d) == UINT64_MAX ? UINT64_MAX : last (d) + 1;
}

int64_t dt_domain_at (const struct dt_domain *d, uint64_t i)
{
    if (d->value)
        return d->value[i];
    return (int64_t)((uint64_t)d->lo + i * (uint64_t)d->step);
}
