/* libdetent/select.c - the parameters of one call.  Nothing here allocates. */
#include <string.h>

#include "libdetent/selector.h"

#define WORD sizeof (int64_t)

static uint64_t mix (uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u; /* the golden ratio, odd: any such would do */
    return h ^ h >> 29;
}

/* The slot where the key belongs, whatever is in it now. */
static int64_t *slot_of (int64_t *table, size_t slots, size_t width, uint64_t seed,
                         const int64_t *key, size_t n)
{
    uint64_t h = seed;

    for (size_t i = 0; i < n; i++)
        h = mix (h, (uint64_t)key[i]);
    return table + (h & (slots - 1)) * width;
}

static int is_in (const int64_t *slot, uint64_t stamp, const int64_t *key, size_t n)
{
    if ((uint64_t)slot[0] != stamp)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (slot[1 + i] != key[i])
            return 0;
    return 1;
}

static void put (int64_t *slot, uint64_t stamp, const int64_t *key, size_t n, const int64_t *value,
                 size_t m)
{
    slot[0] = (int64_t)stamp;
    memcpy (slot + 1, key, n * WORD);
    memcpy (slot + 1 + n, value, m * WORD);
}

static int64_t *request_slot (const struct detent_selector *s, uint64_t stamp, const int64_t *own)
{
    return slot_of (s->requests, DT_SELECTOR_REQUESTS, 1 + s->n_own + s->n_out, stamp, own,
                    s->n_own);
}

static void give_row (const struct detent_selector *s, size_t request, const int64_t *row)
{
    for (size_t i = 0; i < s->n_out; i++)
        if (s->each[i])
            s->each[i][request] = row[i];
}

static void own_of (const struct detent_selector *s, const int64_t *request, int64_t *own)
{
    for (size_t i = 0; i < s->n_own; i++)
        own[i] = request[s->own_field[i]];
}

/* Give the rows of the requests that were seen; list the others.  stamp 0: none
 * was.  Returns how many were not. */
static size_t find_requests (struct detent_selector *s, const struct detent_call *call,
                             uint64_t stamp)
{
    size_t n = 0;

    for (size_t i = 0; i < call->n_requests; i++) {
        int64_t *own = s->own + n * s->n_own; /* kept if it is not found */
        const int64_t *slot;

        own_of (s, call->request + i * s->schema->n_fields, own);
        slot = stamp ? request_slot (s, stamp, own) : NULL;
        if (slot && is_in (slot, stamp, own, s->n_own))
            give_row (s, i, slot + 1 + s->n_own);
        else
            s->missing[n++] = i;
    }
    return n;
}

static int stopped (struct detent_selector *s, int r, struct dt_vm_stop *stop,
                    struct dt_err *reterr)
{
    if (stop->of_request)
        stop->request = s->missing[stop->request];
    dt_vm_describe (s->vm, stop, reterr);
    return dt_err_prefix (reterr, r, "%s/%s", dt_vm_family (s->vm), dt_vm_site (s->vm));
}

/* All inputs of a call's requests into s->own. */
static size_t take_all (struct detent_selector *s, const struct detent_call *call)
{
    for (size_t i = 0; i < call->n_requests; i++) {
        own_of (s, call->request + i * s->schema->n_fields, s->own + i * s->n_own);
        s->missing[i] = i;
    }
    return call->n_requests;
}

/* The least and the largest of each own input, as two requests. */
static void take_ends (struct detent_selector *s, const struct detent_call *call)
{
    size_t n_fields = s->schema->n_fields;
    const int64_t *end = call->request + call->n_requests * n_fields;

    for (size_t k = 0; k < s->n_own; k++) {
        int64_t least = INT64_MAX, most = INT64_MIN;

        for (const int64_t *row = call->request; row < end; row += n_fields) {
            int64_t v = row[s->own_field[k]];

            least = v < least ? v : least;
            most = v > most ? v : most;
        }
        s->own[k] = least;
        s->own[s->n_own + k] = most;
    }
}

/* The whole call where the ends speak for all requests; which one is refused is found
 * out with all of them. */
static int run_by_ends (struct detent_selector *s, const struct detent_call *call,
                        struct dt_err *reterr)
{
    struct dt_vm_stop stop = { 0 };
    int r;

    take_ends (s, call);
    if (dt_vm_run (s->vm, s->regs, s->in, s->own, 2, s->value, NULL, &stop) == 0)
        return 0;
    r = dt_vm_run (s->vm, s->regs, s->in, s->own, take_all (s, call), s->value, NULL, &stop);
    return r < 0 ? stopped (s, r, &stop, reterr) : r;
}

/* Run the program for what is missing, and remember it. */
static int run (struct detent_selector *s, int64_t *call_slot, uint64_t stamp, size_t n_missing,
                struct dt_err *reterr)
{
    struct dt_vm_stop stop = { 0 };
    int r;

    if ((r = dt_vm_run (s->vm, s->regs, s->in, s->own, n_missing, s->value, s->own_out, &stop))
        < 0)
        return stopped (s, r, &stop, reterr);
    if (!stamp) {
        stamp = ++s->stamp;
        put (call_slot, stamp, s->in, s->n_in, s->value, s->n_out);
    }
    for (size_t k = 0; s->n_own && k < n_missing; k++) {
        const int64_t *own = s->own + k * s->n_own, *row = s->own_out + k * s->n_out;

        give_row (s, s->missing[k], row);
        put (request_slot (s, stamp, own), stamp, own, s->n_own, row, s->n_out);
    }
    return 0;
}

/* --- free tables ------------------------------------------------------------------- */

static int holds (const struct detent_selector *s, const struct dt_vm_cell *c)
{
    for (size_t i = 0; i < c->n; i++) {
        int64_t v = s->quantity[dt_schema_quantity (s->schema, c->when[i].quantity)];

        if (v < c->when[i].lo || v > c->when[i].hi)
            return 0;
    }
    return 1;
}

static void apply_table (struct detent_selector *s, const struct dt_vm_table *t, size_t n_requests)
{
    for (size_t k = 0; k < t->n; k++) {
        if (!holds (s, &t->cell[k]))
            continue;
        s->value[t->output] = t->cell[k].value;
        for (size_t i = 0; s->each[t->output] && i < n_requests; i++)
            s->each[t->output][i] = t->cell[k].value;
        return;
    }
}

/* ------------------------------------------------------------------------------------- */

/* The call's inputs may have been seen, and some of its requests. */
static int run_or_find (struct detent_selector *s, const struct detent_call *call,
                        struct dt_err *reterr)
{
    uint64_t stamp = 0; /* of this call, if its inputs were seen */
    int64_t *slot;
    size_t n;

    slot = slot_of (s->calls, DT_SELECTOR_CALLS, 1 + s->n_in + s->n_out, 0, s->in, s->n_in);
    if (slot[0] && is_in (slot, (uint64_t)slot[0], s->in, s->n_in)) {
        stamp = (uint64_t)slot[0];
        memcpy (s->value, slot + 1 + s->n_in, s->n_out * WORD);
    }
    n = s->n_own ? find_requests (s, call, stamp) : 0;
    return !stamp || n > 0 ? run (s, slot, stamp, n, reterr) : 0;
}

/* A call whose rows were not seen: 0 once s->value and s->each are its.  Where the ends
 * of the requests speak for all, running is shorter than looking each up. */
static int select_new (struct detent_selector *s, const struct detent_call *call,
                       struct dt_err *reterr)
{
    struct dt_call c = { .n_requests = call->n_requests, .request = call->request };
    int by_ends = s->n_own > 0 && s->max_requests >= 2 && dt_vm_by_largest (s->vm);
    int r;

    if ((r = dt_schema_derive (s->schema, &c, s->quantity, reterr)) < 0)
        return r;
    for (size_t i = 0; i < s->n_in; i++)
        s->in[i] = s->quantity[s->in_quantity[i]];
    r = by_ends ? run_by_ends (s, call, reterr) : run_or_find (s, call, reterr);
    if (r < 0)
        return r;
    for (size_t i = 0; i < dt_vm_tables (s->vm); i++)
        apply_table (s, dt_vm_table (s->vm, i), call->n_requests);
    return 0;
}

int detent_select (struct detent_selector *s, const struct detent_call *call,
                   struct detent_choice *ret, struct detent_error *err)
{
    size_t n = call->n_requests * s->schema->n_fields;
    struct dt_seen *t = n <= DT_SELECTOR_FEW_WORDS ? &s->few : &s->many;
    ptrdiff_t slot;
    int r;

    if (call->n_requests > s->max_requests)
        return dt_err_set (dt_handle_err (err), -DT_EINPUT, "%s/%s: a call of %zu requests; the "
                           "selector was made for %zu", dt_vm_family (s->vm), dt_vm_site (s->vm),
                           call->n_requests, s->max_requests);
    if (n > 0 && n <= t->room && (slot = dt_seen_find (t, call->request, n)) >= 0) {
        *ret = (struct detent_choice){ .n_fields = s->n_out, .value = dt_seen_value (t, slot),
                                       .each = dt_seen_each (t, slot) };
        return 0;
    }
    if ((r = select_new (s, call, dt_handle_err (err))) < 0)
        return r;
    if (n <= t->room)
        dt_seen_put (t, call->request, n, call->n_requests, s->value, s->each);
    *ret = (struct detent_choice){ .n_fields = s->n_out, .value = s->value,
                                   .each = (const int64_t *const *)s->each };
    return 0;
}
