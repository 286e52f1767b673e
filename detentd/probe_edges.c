/* detentd/probe_edges.c - where selection changes course, and batches right there. */
#include "detentd/probing.h"

#include <errno.h>
#include <float.h>
#include <string.h>

#define MAX_BASES 12      /* calls around which thresholds are sought, half of them long */

/* --- thresholds -------------------------------------------------------------------------- */

/* A point at which one input varies and all others are a call's. */
struct base {
    int64_t in[DT_VM_MAX_INPUTS], own[DT_VM_MAX_INPUTS];
    int64_t *at; /* the input's place in one of them */
};

/* Do the free values at `v` differ from `was`?  -1: refused.  `was` is replaced. */
static int changes (struct dt_probe *p, struct base *b, int64_t v, int64_t *was)
{
    int r = 0;

    *b->at = v;
    if (!dt_probe_takes (p, b->in, b->own, 1))
        return -1;
    for (size_t i = 0; i < dt_vm_outputs (p->vm); i++) {
        const struct dt_vm_output *o = dt_vm_output (p->vm, i);
        int64_t is = o->own ? p->own_out[i] : p->out[i];

        if (o->binding)
            continue;
        r |= is != was[i];
        was[i] = is;
    }
    return r;
}

/* The least value above `lo`, at most `hi`, at which what is at `lo` has changed; both
 * count steps of the input's domain. */
static int64_t bisect (struct dt_probe *p, struct base *b, const struct dt_vm_input *input,
                       int64_t lo, int64_t hi)
{
    int64_t was[DT_VM_MAX_OUTPUTS] = { 0 };

    while (hi - lo > 1) {
        int64_t middle = lo + (hi - lo) / 2;

        changes (p, b, input->lo + lo * input->step, was);
        if (changes (p, b, input->lo + middle * input->step, was) == 0)
            lo = middle;
        else
            hi = middle;
    }
    return hi;
}

/* Every value up to the 64th, then steps of a thirty-second. */
static void scan (struct dt_probe *p, struct base *b, const struct dt_vm_input *input,
                  int64_t *ret, size_t *n, size_t room)
{
    int64_t was[DT_VM_MAX_OUTPUTS] = { 0 }, last = 0, end = (input->hi - input->lo) / input->step;
    int seen = 0;

    for (int64_t k = 0; k <= end && *n < room;) {
        int changed = changes (p, b, input->lo + k * input->step, was);

        if (changed > 0 && seen)
            ret[(*n)++] = input->lo + bisect (p, b, input, last, k) * input->step;
        seen = changed >= 0;
        last = k;
        if (k == end)
            break;
        k += k < 64 ? 1 : k / 32;
        k = k > end ? end : k;
    }
}

/* Sort, and choose evenly. */
static size_t thin (int64_t *value, size_t n, size_t room)
{
    size_t kept = dt_probe_sort (value, n);

    if (kept <= room)
        return kept;
    for (size_t i = 0; i < room; i++)
        value[i] = value[i * (kept - 1) / (room - 1)];
    return room;
}

/* The place of an input of the selector among its scalar or own ones. */
static int64_t *place_of (const struct dt_probe *p, size_t input, struct base *b)
{
    size_t own = 0, scalar = 0;

    for (size_t i = 0; i < input; i++)
        if (dt_vm_input (p->vm, i)->klass == DT_VM_OWN)
            own++;
        else
            scalar++;
    return dt_vm_input (p->vm, input)->klass == DT_VM_OWN ? &b->own[own] : &b->in[scalar];
}

size_t dt_probe_thresholds (struct dt_probe *p, size_t input, int64_t *ret, size_t room)
{
    const struct dt_vm_input *in = dt_vm_input (p->vm, input);
    int64_t found[MAX_BASES * 64];
    size_t n = 0;

    if (in->type == DT_VM_TYPE_ENUM || in->step == 0)
        return 0;
    for (size_t k = 0; k < MAX_BASES; k++) {
        int64_t row[DT_SCHEMA_MAX_FIELDS];
        struct dt_call call = { .n_requests = 1, .request = row };
        struct base b;

        if (k % 2)
            dt_probe_long (p, DBL_MAX, row);
        else
            dt_probe_request (p, 64, row);
        b.at = place_of (p, input, &b);
        if (dt_inputs_fill (&p->inputs, &call, b.in, b.own, NULL) == 0)
            scan (p, &b, in, found, &n, (k + 1) * 64);
    }
    n = thin (found, n, room);
    memcpy (ret, found, n * sizeof *ret);
    return n;
}

/* --- a batch at a value ---------------------------------------------------------------------- */

static int quantity_of (const struct dt_probe *p, size_t input)
{
    return dt_schema_quantity (p->schema, dt_vm_input (p->vm, input)->name);
}

/* Is the quantity of the batch (or an own one of its first request) `v`, and does
 * selection take it? */
static int is_at (struct dt_probe *p, const struct dt_probe_batch *b, int q, int64_t v,
                  double work)
{
    struct dt_call call = { .n_requests = b->n, .request = b->request };
    int64_t quantity[DT_SCHEMA_MAX_QUANTITIES];

    if (b->n == 0 || dt_schema_derive (p->schema, &call, quantity, NULL) < 0)
        return 0;
    if (p->schema->quantity[q].own)
        quantity[q] = dt_schema_own (p->schema, (size_t)q, b->request);
    return quantity[q] == v && dt_schema_work (p->schema, &call) <= work
           && dt_probe_takes_rows (p, b->request, b->n);
}

/* Put a request whose field f is `v` first. */
static void lead (struct dt_probe *p, struct dt_probe_batch *b, size_t f, int64_t v)
{
    int64_t row[DT_SCHEMA_MAX_FIELDS];

    dt_probe_request (p, 1, row);
    row[f] = v;
    if (strcmp (p->schema->family, "attention") == 0 && row[0] > row[1])
        row[1 - f] = v; /* the other one gives way */
    dt_probe_put (p, b, 0, row);
}

/* Others of the batch that are above `v` in field f become its first request. */
static void cap (struct dt_probe *p, struct dt_probe_batch *b, size_t f, int64_t v)
{
    for (size_t i = 1; i < b->n; i++)
        if (b->request[i * p->schema->n_fields + f] > v)
            dt_probe_put (p, b, i, b->request);
}

/* Requests whose field f sums to `v`. */
static void fill_up (struct dt_probe *p, struct dt_probe_batch *b, size_t f, int64_t v,
                     size_t room)
{
    int64_t most = p->field[f].value[p->field[f].n - 1], sum = 0;
    size_t n_fields = p->schema->n_fields, n = 0;

    while (n < b->n && sum + b->request[n * n_fields + f] <= v)
        sum += b->request[n++ * n_fields + f];
    for (b->n = n; sum < v && b->n < room; b->n++) {
        int64_t row[DT_SCHEMA_MAX_FIELDS], x = v - sum < most ? v - sum : most;

        dt_probe_request (p, 1, row);
        row[f] = x;
        if (strcmp (p->schema->family, "attention") == 0 && row[0] > row[1])
            row[1 - f] = x;
        dt_probe_put (p, b, b->n, row);
        sum += x;
    }
}

enum { COUNT, LONGEST, SUM, STRATEGIES };

static int try_at (struct dt_probe *p, struct dt_arena *a, int strategy, size_t f, int64_t v,
                   double work, struct dt_probe_batch *ret, struct dt_err *reterr)
{
    enum { FILLED = 128 };
    size_t n = strategy == COUNT ? (size_t)v : 3;
    struct dt_probe_batch b;

    if (strategy == COUNT && (v < 1 || v > DT_PROBE_MAX_REQUESTS))
        return 0;
    if (dt_probe_draw (p, a, n, strategy == COUNT ? work : work / 4, &b, reterr) < 0)
        return -ENOMEM;
    *ret = b;
    if (strategy == LONGEST && b.n > 0) {
        lead (p, ret, f, v);
        cap (p, ret, f, v);
    } else if (strategy == SUM) {
        if (dt_probe_batch_init (p, a, FILLED, ret, reterr) < 0)
            return -ENOMEM;
        for (size_t i = 0; i < b.n; i++)
            dt_probe_put (p, ret, i, b.request + i * p->schema->n_fields);
        ret->n = b.n;
        fill_up (p, ret, f, v, FILLED);
    }
    return 1;
}

int dt_probe_at (struct dt_probe *p, struct dt_arena *a, size_t input, int64_t v, double work,
                 struct dt_probe_batch *ret, struct dt_err *reterr)
{
    int q = quantity_of (p, input), r;

    for (int strategy = 0; strategy < STRATEGIES; strategy++)
        for (size_t f = 0; f < (strategy == COUNT ? 1 : p->schema->n_fields); f++) {
            struct dt_probe_batch b;

            if ((r = try_at (p, a, strategy, f, v, work, &b, reterr)) < 0)
                return r;
            if (r && is_at (p, &b, q, v, work * 16)) {
                *ret = b;
                return 1;
            }
        }
    return 0;
}
