/* detentd/conditions.c - what the device was like while a job measured. */
#include "detentd/conditions.h"

#include <stdlib.h>

#include "base/mem.h"

void dt_others_add (struct dt_others *o, int64_t n)
{
    o->known |= n >= 0;
    o->unknown |= n < 0;
    if (n > o->most)
        o->most = (uint32_t)n;
}

int64_t dt_others_most (const struct dt_others *o)
{
    return o->most > 0 || (o->known && !o->unknown) ? (int64_t)o->most : -1;
}

static int note (struct dt_clocks *c, int has, uint32_t mhz, struct dt_err *reterr)
{
    void *items = c->mhz;

    if (!has)
        return 0;
    if (dt_grow (&items, &c->room, c->n, sizeof *c->mhz) < 0)
        return dt_err_nomem (reterr);
    c->mhz = items;
    c->mhz[c->n++] = mhz;
    return 0;
}

int dt_conditions_add (struct dt_conditions *c, const Detent__WorkerState *s,
                       struct dt_err *reterr)
{
    int r;

    dt_others_add (&c->others, s && s->has_others ? (int64_t)s->others : -1);
    if (!s)
        return 0;
    if ((r = note (&c->clock, s->has_clock_mhz, s->clock_mhz, reterr)) < 0
        || (r = note (&c->memory, s->has_memory_mhz, s->memory_mhz, reterr)) < 0)
        return r;
    c->any_reasons |= s->has_reasons;
    c->reasons |= s->has_reasons ? s->reasons : 0;
    return 0;
}

static int ascending (const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static int summarise (struct dt_clocks *c, uint32_t *ret_least, uint32_t *ret_median)
{
    if (c->n == 0)
        return 0;
    qsort (c->mhz, c->n, sizeof *c->mhz, ascending);
    *ret_least = c->mhz[0];
    *ret_median = c->mhz[c->n / 2];
    return 1;
}

void dt_conditions_describe (struct dt_conditions *c, Detent__JobReply *ret)
{
    ret->has_clock_mhz = ret->has_clock_mhz_least
        = summarise (&c->clock, &ret->clock_mhz_least, &ret->clock_mhz);
    ret->has_memory_mhz = ret->has_memory_mhz_least
        = summarise (&c->memory, &ret->memory_mhz_least, &ret->memory_mhz);
    ret->has_clock_reasons = c->any_reasons;
    ret->clock_reasons = c->reasons;
    ret->has_contended = dt_others_most (&c->others) >= 0;
    ret->contended = c->others.most;
}

void dt_conditions_done (struct dt_conditions *c)
{
    dt_free (c->clock.mhz);
    dt_free (c->memory.mhz);
    *c = (struct dt_conditions){ .any_reasons = 0 };
}
