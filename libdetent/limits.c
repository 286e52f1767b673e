/* libdetent/limits.c - does the program's domain cover what the engine may present? */
#include <inttypes.h>
#include <string.h>

#include "libdetent/selector.h"

/* The first value of lo..hi that is outside the input's domain; 1 if there is one. */
static int outside (const struct dt_vm_input *in, int64_t lo, int64_t hi, int64_t *ret)
{
    size_t k = 0;

    if (lo < in->lo || hi > in->hi) {
        *ret = lo < in->lo ? lo : hi;
        return 1;
    }
    if (in->step) { /* two neighbours cannot both be on a grid of step > 1 */
        uint64_t off = ((uint64_t)lo - (uint64_t)in->lo) % (uint64_t)in->step;

        *ret = off ? lo : lo + 1;
        return off != 0 || (in->step > 1 && hi > lo);
    }
    while (k < in->n && in->value[k] < lo)
        k++;
    for (int64_t v = lo;; v++, k++) {
        if (k >= in->n || in->value[k] != v) {
            *ret = v;
            return 1;
        }
        if (v == hi)
            return 0;
    }
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
        if (outside (in, l->lo, l->hi, &v))
            return dt_err_set (e, -DT_EREFUSED, "%s/%s: %s may be %" PRId64 " in this engine, and "
                               "the program takes %" PRId64 "..%" PRId64 "%s: lower the engine's "
                               "limit or widen the deployment's and solve again", family, site,
                               in->name, v, in->lo, in->hi,
                               in->step == 1 ? "" : ", not all of them");
    }
    return 0;
}
