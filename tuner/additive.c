/* tuner/additive.c - how far a tuple's cost is from the sum of its sites' costs. */
#include "tuner/additive.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

#define ROUNDS 7 /* the first of each is not counted: it warms up */

static int ascending (const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Without the first. */
static double median (uint64_t *ns)
{
    qsort (ns + 1, ROUNDS - 1, sizeof *ns, ascending);
    return (double)(ns[ROUNDS / 2] + ns[ROUNDS / 2 + 1]) / 2;
}

/* One step under one tuple: all its calls in turn, then each alone; weighted sums. */
static int one_step (const struct dt_additive *a, size_t tuple, size_t step,
                     uint64_t (*ns)[ROUNDS], double *turn, double *alone, struct dt_err *reterr)
{
    int r;

    for (size_t i = 0; i < ROUNDS; i++)
        for (size_t s = 0; s < a->n_sites; s++)
            if ((r = a->measure (a->ctx, tuple, s, step, &ns[s][i], reterr)) < 0)
                return r;
    for (size_t s = 0; s < a->n_sites; s++) {
        *turn += a->weight[s] * median (ns[s]);
        for (size_t i = 0; i < ROUNDS; i++)
            if ((r = a->measure (a->ctx, tuple, s, step, &ns[s][i], reterr)) < 0)
                return r;
        *alone += a->weight[s] * median (ns[s]);
    }
    return 0;
}

int dt_additive_estimate (const struct dt_additive *a, struct dt_additive_result *ret,
                          struct dt_err *reterr)
{
    uint64_t (*ns)[ROUNDS] = dt_calloc (a->n_sites, sizeof *ns);
    struct dt_additive_result out = { 0 };
    int r = 0;

    if (!ns)
        return dt_err_nomem (reterr);
    for (size_t t = 0; r == 0 && t < a->n_tuples; t++) {
        double turn = 0, alone = 0, off;

        for (size_t k = 0; r == 0 && k < a->n_steps; k++)
            r = one_step (a, t, k, ns, &turn, &alone, reterr);
        off = r == 0 && alone > 0 ? fabs (turn / alone - 1) : 0;
        if (off > out.d) {
            out.d = off;
            out.worst = t;
        }
    }
    dt_free (ns);
    if (r < 0)
        return r;
    out.factor = out.d < 1 ? (1 + out.d) / (1 - out.d) : 0;
    *ret = out;
    return 0;
}
