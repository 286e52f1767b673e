/* detentd/probe.c - batches that ask a family's kernels whether selection shows. */
#include "detentd/probing.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define DRAWS 24          /* for one request, until the cheapest is taken */
#define LONG_DRAWS 12     /* for one that is as long as may be */
#define EVEN_SHARE 4.0    /* of a batch's work, one in so many is shared out evenly */

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
int dt_probe_takes (struct dt_probe *p, const int64_t *in, const int64_t *own, size_t n)
{
    struct dt_vm_stop stop;

    return dt_vm_run (p->vm, p->regs, in, own, n, p->out, p->own_out, &stop) == 0;
}

int dt_probe_takes_rows (struct dt_probe *p, const int64_t *row, size_t n)
{
    struct dt_call call = { .n_requests = n, .request = row };
    int64_t in[DT_VM_MAX_INPUTS];

    return n <= DT_PROBE_MAX_REQUESTS && dt_inputs_fill (&p->inputs, &call, in, p->own, NULL) == 0
           && dt_probe_takes (p, in, p->own, n);
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
        if (row[f] == v && dt_probe_takes_rows (p, row, 1))
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
size_t dt_probe_sort (int64_t *value, size_t n)
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
    struct dt_probe_field *c = &p->field[f];

    if (v >= 0 && c->n < DT_PROBE_MAX_CANDIDATES && possible (p, f, v))
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
    p->field[f].n = dt_probe_sort (p->field[f].value, p->field[f].n);
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

int dt_probe_batch_init (struct dt_probe *p, struct dt_arena *a, size_t n,
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
void dt_probe_request (struct dt_probe *p, double work, int64_t *ret)
{
    double least = 0;

    for (int i = 0; i < DRAWS; i++) {
        int64_t row[DT_SCHEMA_MAX_FIELDS];

        for (size_t f = 0; f < p->schema->n_fields; f++) {
            const struct dt_probe_field *c = &p->field[f];
            int one = f == 0 && p->schema->n_fields > 1 && next (p) % 2;
            size_t room = one ? c->n < 3 ? c->n : 3 : c->n;

            row[f] = c->value[next (p) % room];
        }
        mend (p->schema, row);
        if (!dt_probe_takes_rows (p, row, 1))
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
void dt_probe_long (struct dt_probe *p, double work, int64_t *ret)
{
    int64_t row[DT_SCHEMA_MAX_FIELDS];
    double is, most;

    dt_probe_request (p, work, ret);
    most = work_of (p, ret);
    for (int i = 0; i < LONG_DRAWS; i++) {
        dt_probe_request (p, work, row);
        is = work_of (p, row);
        if (is > most ? is <= work : is < most && most > work) {
            most = is;
            memcpy (ret, row, p->schema->n_fields * sizeof *row);
        }
    }
}

void dt_probe_put (struct dt_probe *p, struct dt_probe_batch *b, size_t i, const int64_t *row)
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
        dt_probe_put (p, b, k, b->request + (i - 1) * n_fields);
        dt_probe_put (p, b, i - 1, swap);
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
            dt_probe_long (p, work / 2, row);
        else
            dt_probe_request (p, left / 2 > even ? left / 2 : even, row);
        dt_probe_put (p, ret, i, row);
        if (!dt_probe_takes_rows (p, ret->request, i + 1))
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
    if (dt_probe_batch_init (p, a, n, ret, reterr) < 0
        || dt_probe_batch_init (p, a, n, &next, reterr) < 0)
        return -ENOMEM;
    draw_rows (p, n, work, ret);
    /* Long ones may leave the others no room in the domain (a budget of tokens). */
    while (ret->n < n && work > (double)n) {
        work /= 4;
        draw_rows (p, n, work, &next);
        if (next.n <= ret->n)
            continue;
        *ret = next;
        if (dt_probe_batch_init (p, a, n, &next, reterr) < 0)
            return -ENOMEM;
    }
    shuffle (p, ret);
    return 0;
}

int dt_probe_select (struct dt_probe *p, const struct dt_probe_batch *b, int64_t *out)
{
    if (b->n == 0 || !dt_probe_takes_rows (p, b->request, b->n))
        return 0;
    for (size_t i = 0; i < dt_vm_outputs (p->vm); i++)
        out[i] = dt_vm_output (p->vm, i)->own ? p->own_out[i] : p->out[i];
    return 1;
}
