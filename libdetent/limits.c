/* libdetent/limits.c - does the program's domain cover what the engine may present? */
#include <inttypes.h>
#include <string.h>

#include "libdetent/selector.h"

/* The first value of lo, lo + step, ..., at most hi, that is outside the input's domain;
 * 1 if there is one. */
static int outside (const struct dt_vm_input *in, const struct detent_limit *l, int64_t *ret)
{
    uint64_t step = l->step > 1 ? (uint64_t)l->step : 1;
    uint64_t more = ((uint64_t)l->hi - (uint64_t)l->lo) / step; /* values behind the first */
    size_t k = 0;

    if (l->lo < in->lo || l->hi > in->hi) {
        *ret = l->lo < in->lo ? l->lo : l->hi;
        return 1;
    }
    if (in->step) { /* two neighbours are both on the grid if it divides their distance */
        uint64_t off = ((uint64_t)l->lo - (uint64_t)in->lo) % (uint64_t)in->step;

        *ret = off ? l->lo : (int64_t)((uint64_t)l->lo + step);
        return off != 0 || (more && step % (uint64_t)in->step != 0);
    }
    for (uint64_t i = 0; i <= more; i++) {
        int64_t v = (int64_t)((uint64_t)l->lo + i * step);

        while (k < in->n && in->value[k] < v)
            k++;
        if (k >= in->n || in->value[k] != v) {
            *ret = v;
            return 1;
        }
    }
    return 0;
}

static const struct detent_limit *find_limit (const struct detent_limit *limit, size_t n,
                                              const char *quantity)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp (limit[i].quantity, quantity))
            return &limit[i];
    return NULL;
}

int detent_selector_check_limits (const struct detent_selector *s,
                                  const struct detent_limit *limit, size_t n_limits,
                                  struct detent_error *err)
{
    struct dt_err *e = dt_handle_err (err);
    const char *family = dt_vm_family (s->vm), *site = dt_vm_site (s->vm);

    for (size_t i = 0; i < n_limits; i++) {
        if (!limit[i].quantity || dt_schema_quantity (s->schema, limit[i].quantity) < 0)
            return dt_err_set (e, -DT_EINPUT, "%s/%s: limit of '%s', which is no quantity of the "
                               "family", family, site, limit[i].quantity ? limit[i].quantity : "");
        if (find_limit (limit, i, limit[i].quantity))
            return dt_err_set (e, -DT_EINPUT, "%s/%s: %s: two limits", family, site,
                               limit[i].quantity);
        if (limit[i].step < 0)
            return dt_err_set (e, -DT_EINPUT, "%s/%s: %s: step %" PRId64 " is negative", family,
                               site, limit[i].quantity, limit[i].step);
        if (limit[i].lo > limit[i].hi)
            return dt_err_set (e, -DT_EINPUT, "%s/%s: %s: limits %" PRId64 "..%" PRId64
                               " are empty", family, site, limit[i].quantity, limit[i].lo,
                               limit[i].hi);
    }
    for (size_t i = 0; i < dt_vm_inputs (s->vm); i++) {
        const struct dt_vm_input *in = dt_vm_input (s->vm, i);
        const struct detent_limit *l = find_limit (limit, n_limits, in->name);
        int64_t v;

        if (!l)
            return dt_err_set (e, -DT_EINPUT, "%s/%s: the program reads %s, and the engine states "
                               "no limit of it", family, site, in->name);
        if (outside (in, l, &v))
            return dt_err_set (e, -DT_EREFUSED, "%s/%s: %s may be %" PRId64 " in this engine, and "
                               "the program takes %" PRId64 "..%" PRId64 "%s: lower the engine's "
                               "limit or widen the deployment's and solve again", family, site,
                               in->name, v, in->lo, in->hi,
                               in->step == 1 ? "" : ", not all of them");
    }
    return 0;
}
