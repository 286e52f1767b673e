/* Combinations of free values, and values drawn for each request. */
#include "profiler/certify_round.h"

#include <errno.h>

#include "base/mem.h"

uint64_t dt_certify_next (struct dt_certify *c)
{
    uint64_t x = c->random += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t gcd (uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;

        a = b;
        b = t;
    }
    return a;
}

/* All combinations of free values, visited in steps of about 0.618 of them, so that a
 * few already spread over all. */
int dt_certify_count (struct dt_certify *c, struct dt_err *reterr)
{
    c->n_combos = 1;
    for (size_t i = 0; i < c->n_fields; i++)
        if (__builtin_mul_overflow (c->n_combos, c->field[i].n, &c->n_combos)
            || c->n_combos > DT_CERTIFY_MAX_COMBINATIONS)
            return dt_err_set (reterr, -DT_ELIMIT, "%s: more than %u combinations of free values",
                               c->family->name, DT_CERTIFY_MAX_COMBINATIONS);
    c->stride = c->n_combos * 618 / 1000;
    c->stride += c->stride == 0;
    while (gcd (c->stride, c->n_combos) > 1)
        c->stride++;
    c->state = dt_calloc (c->n_combos, 1);
    return c->state ? 0 : dt_err_nomem (reterr);
}

void dt_certify_set (struct dt_certify *c, uint64_t i)
{
    for (size_t k = c->n_fields; k-- > 0; i /= c->field[k].n)
        c->param[c->field[k].param] = (struct dt_backend_value){
            .one = c->field[k].value[i % c->field[k].n] };
}

int dt_certify_choose (struct dt_certify *c, const struct dt_backend_call *call,
                       struct dt_err *reterr)
{
    for (uint64_t i = 0; i < c->n_combos; i++) {
        int r;

        dt_certify_set (c, i);
        if ((r = dt_lane_takes (&c->lane, call, reterr)) != 0)
            return r;
    }
    return 0;
}

int dt_certify_mix (struct dt_certify *c, size_t n_requests)
{
    int any = 0;

    for (size_t k = 0; k < c->n_fields; k++) {
        const struct dt_certify_field *f = &c->field[k];

        if (!c->family->params[f->param].per_request)
            continue;
        for (size_t i = 0; i < n_requests; i++)
            c->each[f->param][i] = f->value[dt_certify_next (c) % f->n];
        c->param[f->param].each = c->each[f->param];
        any = 1;
    }
    return any;
}

int dt_certify_room (struct dt_certify *c, size_t n, struct dt_err *reterr)
{
    if (n <= c->room_each)
        return 0;
    for (size_t k = 0; k < c->n_fields; k++) {
        size_t p = c->field[k].param;
        int64_t *larger = dt_realloc (c->each[p], n, sizeof *larger);

        if (!larger)
            return dt_err_nomem (reterr);
        c->each[p] = larger;
    }
    c->room_each = n;
    return 0;
}

void dt_certify_note (struct dt_certify *c, uint64_t i, int state)
{
    if (c->state[i] == DT_CERTIFY_RAN || c->state[i] == state)
        return;
    c->n_refused += (state == DT_CERTIFY_REFUSED) - (c->state[i] == DT_CERTIFY_REFUSED);
    c->n_tried += state == DT_CERTIFY_RAN;
    c->state[i] = (uint8_t)state;
    for (size_t k = c->n_fields; state == DT_CERTIFY_RAN && k-- > 0; i /= c->field[k].n)
        c->field[k].ran[i % c->field[k].n] = 1;
}
