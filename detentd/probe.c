/* detentd/probe.c - batches that ask a family's kernels whether selection shows. */
#include "detentd/probe.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MAX_CANDIDATES 96 /* of one field */
#define MAX_BASES 12      /* calls around which thresholds are sought, half of them long */
#define DRAWS 24          /* for one request, until the cheapest is taken */
#define LONG_DRAWS 12     /* for one that is as long as may be */
#define EVEN_SHARE 4.0    /* of a batch's work, one in so many is shared out evenly */

struct probe_field {
    int64_t value[MAX_CANDIDATES]; /* that a call of one request may have */
    size_t n;
};

struct dt_probe {
    const struct dt_schema *schema;
    const struct dt_vm *vm;
    struct dt_inputs inputs;
    struct probe_field field[DT_SCHEMA_MAX_FIELDS];
    int64_t *regs, *out, *own_out, *own;
    uint64_t state, salt;
};

static uint64_t next (struct dt_probe *p)
{
    uint64_t x = p->state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A query is among the keys that it sees: the one relation that no program states. */
static void mend (const struct dt_schema *s, int64_t *row)
{
    if (strcmp (s->family, "attention") == 0 && row[0] > row[1]) {
        int64_t swap = row[0];

        row[0] = row[1];
        row[1] = swap;
    }
}

/* Equal requests are one request with one data, so that it is met in many batches. */
static uint64_t seed_of (const struct dt_probe *p, const int64_t *row)
{
    uint64_t x = p->salt;

    for (size_t f = 0; f < p->schema->n_fields; f++)
        x = (x ^ (uint64_t)row[f]) * 0x9e3779b97f4a7c15u, x ^= x >> 29;
    return x;
}

/* Run the selector on quantities; 1 if it takes them. */
static int takes (struct dt_probe *p, const int64_t *in, const int64_t *own, size_t n)
{
    struct dt_vm_stop stop;

    return dt_vm_run (p->vm, p->regs, in, own, n, p->out, p->own_out, &stop) == 0;
}

static int takes_rows (struct dt_probe *p, const int64_t *row, size_t n)
{
    struct dt_call call = { .n_requests = n, .request = row };
    int64_t in[DT_VM_MAX_INPUTS];

    return n <= DT_PROBE_MAX_REQUESTS && dt_inputs_fill (&p->inputs, &call, in, p->own, NULL) == 0
           && takes (p, in, p->own, n);
}

/* --- candidates ----------------------------------------------------------------------- */

/* Could `v` stand in field f of a call of one request? */
static int possible (struct dt_probe *p, size_t f, int64_t v)
{
    int64_t others[] = { 1, v, 0 }, row[DT_SCHEMA_MAX_FIELDS];

    for (size_t k = 0; k <= DT_ARRAY_SIZE (others); k++) {
        for (size_t g = 0; g < p->schema->n_fields; g++)
            row[g] = g == f                        ? v
                     : k < DT_ARRAY_SIZE (others)  ? others[k]
                     : p->field[g].n > 0           ? p->field[g].value[0] /* found before */
                                                   : 0;
        mend (p->schema, row);
        if (row[f] == v && takes_rows (p, row, 1))
            return 1;
    }
    return 0;
}

static int ascending (const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Sort, and leave out what comes twice. */
static size_t sort_values (int64_t *value, size_t n)
{
    size_t kept = 0;

    qsort (value, n, sizeof *value, ascending);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || value[i] != value[kept - 1])
            value[kept++] = value[i];
    return kept;
}

static void add_candidate (struct dt_probe *p, size_t f, int64_t v)
{
    struct probe_field *c = &p->field[f];

    if (v >= 0 && c->n < MAX_CANDIDATES && possible (p, f, v))
        c->value[c->n++] = v;
}

/* Powers of two, what lies beside them, and between; and likewise numbers of the steps
 * in which the domain of an input goes (bytes of a row, say). */
static void find_candidates (struct dt_probe *p, size_t f)
{
    static const int64_t small[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33 };

    for (size_t i = 0; i < DT_ARRAY_SIZE (small); i++)
        add_candidate (p, f, small[i]);
    for (int k = 6; k < 40; k++) {
        int64_t v = (int64_t)1 << k;

        add_candidate (p, f, v - v / 4);
        add_candidate (p, f, v - 1);
        add_candidate (p, f, v);
        add_candidate (p, f, v + 1);
    }
    for (size_t i = 0; i < dt_vm_inputs (p->vm); i++) {
        const struct dt_vm_input *in = dt_vm_input (p->vm, i);

        for (size_t k = 0; in->step > 1 && k < DT_ARRAY_SIZE (small); k++)
            if (small[k] <= (in->hi - in->lo) / in->step)
                add_candidate (p, f, in->lo + small[k] * in->step);
    }
    p->field[f].n = sort_values (p->field[f].value, p->field[f].n);
}

int dt_probe_new (const struct dt_schema *schema, const struct dt_vm *vm, uint64_t seed,
                  struct dt_probe **ret, struct dt_err *reterr)
{
    size_t n_out = dt_vm_outputs (vm), n = DT_PROBE_MAX_REQUESTS;
    struct dt_probe *p = dt_calloc (1, sizeof *p);
    int r;

    if (!p)
        return dt_err_nomem (reterr);
    *p = (struct dt_probe){ .schema = schema, .vm = vm, .state = seed, .salt = seed };
    if ((r = dt_inputs_map (vm, schema, &p->inputs, reterr)) < 0)
        goto fail;
    p->regs = dt_calloc (dt_vm_registers (vm), sizeof *p->regs);
    p->out = dt_calloc (n_out, sizeof *p->out);
    p->own_out = dt_calloc (n * n_out, sizeof *p->own_out);
    p->own = dt_calloc (n * (p->inputs.n_own + 1), sizeof *p->own);
    if (!p->regs || !p->out || !p->own_out || !p->own) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    dt_vm_prepare (vm, p->regs);
    for (size_t f = 0; f < schema->n_fields; f++) {
        find_candidates (p, f);
        if (p->field[f].n == 0) {
            r = dt_err_set (reterr, -DT_EREFUSED, "selection takes no call of one request, "
                            "whatever its %s", schema->field[f]);
            goto fail;
        }
    }
    *ret = p;
    return 0;
fail:
    dt_probe_free (p);
    return r;
}

struct dt_probe *dt_probe_free (struct dt_probe *p)
{
    if (!p)
        return NULL;
    dt_free (p->regs);
    dt_free (p->out);
    dt_free (p->own_out);
    dt_free (p->own);
    dt_free (p);
    return NULL;
}

/* --- batches ---------------------------------------------------------------------------- */

static int make_batch (struct dt_probe *p, struct dt_arena *a, size_t n,
                       struct dt_probe_batch *ret, struct dt_err *reterr)
{
    ret->n = 0;
    ret->request = dt_arena_array (a, n * p->schema->n_fields + 1, sizeof *ret->request);
    ret->seed = dt_arena_array (a, n + 1, sizeof *ret->seed);
    return ret->request && ret->seed ? 0 : dt_err_nomem (reterr);
}

static double work_of (const struct dt_probe *p, const int64_t *row)
{
    struct dt_call call = { .n_requests = 1, .request = row };

    return dt_schema_work (p->schema, &call);
}

/* A request of at most `work`, or the cheapest of some.  Half of the requests are
 * short in their first field, as decodes are. */
static void draw_request (struct dt_probe *p, double work, int64_t *ret)
{
    double least = 0;

    for (int i = 0; i < DRAWS; i++) {
        int64_t row[DT_SCHEMA_MAX_FIELDS];

        for (size_t f = 0; f < p->schema->n_fields; f++) {
            const struct probe_field *c = &p->field[f];
            int one = f == 0 && p->schema->n_fields > 1 && next (p) % 2;
            size_t room = one ? c->n < 3 ? c->n : 3 : c->n;

            row[f] = c->value[next (p) % room];
        }
        mend (p->schema, row);
        if (!takes_rows (p, row, 1))
            continue;
        if (least == 0 || work_of (p, row) < least) {
            least = work_of (p, row);
            memcpy (ret, row, p->schema->n_fields * sizeof *row);
        }
        if (least <= work)
            return;
    }
    if (least == 0) /* what `possible` found */
        for (size_t f = 0; f < p->schema->n_fields; f++)
            ret[f] = p->field[f].value[0] ? p->field[f].value[0]
                                          : p->field[f].value[p->field[f].n > 1];
}

/* The longest of some requests of at most `work`. */
static void draw_long (struct dt_probe *p, double work, int64_t *ret)
{
    int64_t row[DT_SCHEMA_MAX_FIELDS];
    double is, most;

    draw_request (p, work, ret);
    most = work_of (p, ret);
    for (int i = 0; i < LONG_DRAWS; i++) {
        draw_request (p, work, row);
        is = work_of (p, row);
        if (is > most ? is <= work : is < most && most > work) {
            most = is;
            memcpy (ret, row, p->schema->n_fields * sizeof *row);
        }
    }
}

static void put_row (struct dt_probe *p, struct dt_probe_batch *b, size_t i, const int64_t *row)
{
    memcpy (b->request + i * p->schema->n_fields, row, p->schema->n_fields * sizeof *row);
    b->seed[i] = seed_of (p, row);
}

/* Long requests are drawn first, while there is room; where they stand is chance. */
static void shuffle (struct dt_probe *p, struct dt_probe_batch *b)
{
    size_t n_fields = p->schema->n_fields;
    int64_t swap[DT_SCHEMA_MAX_FIELDS];

    for (size_t i = b->n; i > 1; i--) {
        size_t k = next (p) % i;

        memcpy (swap, b->request + k * n_fields, n_fields * sizeof *swap);
        put_row (p, b, k, b->request + (i - 1) * n_fields);
        put_row (p, b, i - 1, swap);
    }
}

/* Requests until there are n, or selection takes no more. */
static void draw_rows (struct dt_probe *p, size_t n, double work, struct dt_probe_batch *ret)
{
    int64_t row[DT_SCHEMA_MAX_FIELDS];
    double left = work, even = work / (EVEN_SHARE * (double)n);

    ret->n = 0;
    for (size_t i = 0; i < n; i++) {
        /* One as long as half of the work allows, then half of what is left, so that there
         * is something long and something short; nobody is left with nothing. */
        if (i == 0 && n > 1)
            draw_long (p, work / 2, row);
        else
            draw_request (p, left / 2 > even ? left / 2 : even, row);
        put_row (p, ret, i, row);
        if (!takes_rows (p, ret->request, i + 1))
            break;
        ret->n = i + 1;
        left -= work_of (p, row);
        left = left > 1 ? left : 1;
    }
}

int dt_probe_draw (struct dt_probe *p, struct dt_arena *a, size_t n, double work,
                   struct dt_probe_batch *ret, struct dt_err *reterr)
{
    struct dt_probe_batch next;

    if (n > DT_PROBE_MAX_REQUESTS)
        n = DT_PROBE_MAX_REQUESTS;
    if (make_batch (p, a, n, ret, reterr) < 0 || make_batch (p, a, n, &next, reterr) < 0)
        return -ENOMEM;
    draw_rows (p, n, work, ret);
    /* Long ones may leave the others no room in the domain (a budget of tokens). */
    while (ret->n < n && work > (double)n) {
        work /= 4;
        draw_rows (p, n, work, &next);
        if (next.n <= ret->n)
            continue;
        *ret = next;
        if (make_batch (p, a, n, &next, reterr) < 0)
            return -ENOMEM;
    }
    shuffle (p, ret);
    return 0;
}

int dt_probe_select (struct dt_probe *p, const struct dt_probe_batch *b, int64_t *out)
{
    if (b->n == 0 || !takes_rows (p, b->request, b->n))
        return 0;
    for (size_t i = 0; i < dt_vm_outputs (p->vm); i++)
        out[i] = dt_vm_output (p->vm, i)->own ? p->own_out[i] : p->out[i];
    return 1;
}

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
    if (!takes (p, b->in, b->own, 1))
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
    size_t kept = sort_values (value, n);

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
            draw_long (p, DBL_MAX, row);
        else
            draw_request (p, 64, row);
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
           && takes_rows (p, b->request, b->n);
}

/* Put a request whose field f is `v` first. */
static void lead (struct dt_probe *p, struct dt_probe_batch *b, size_t f, int64_t v)
{
    int64_t row[DT_SCHEMA_MAX_FIELDS];

    draw_request (p, 1, row);
    row[f] = v;
    if (strcmp (p->schema->family, "attention") == 0 && row[0] > row[1])
        row[1 - f] = v; /* the other one gives way */
    put_row (p, b, 0, row);
}

/* Others of the batch that are above `v` in field f become its first request. */
static void cap (struct dt_probe *p, struct dt_probe_batch *b, size_t f, int64_t v)
{
    for (size_t i = 1; i < b->n; i++)
        if (b->request[i * p->schema->n_fields + f] > v)
            put_row (p, b, i, b->request);
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

        draw_request (p, 1, row);
        row[f] = x;
        if (strcmp (p->schema->family, "attention") == 0 && row[0] > row[1])
            row[1 - f] = x;
        put_row (p, b, b->n, row);
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
        if (make_batch (p, a, FILLED, ret, reterr) < 0)
            return -ENOMEM;
        for (size_t i = 0; i < b.n; i++)
            put_row (p, ret, i, b.request + i * p->schema->n_fields);
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
