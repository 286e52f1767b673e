/* verify/battery.c - which batches to run, and what came out. */
#include "verify/battery.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "verify/runner.h"

#define TIMED_REPEATS 3
#define TARGETS 3 /* requests of a call that are put into other batches */

/* A request, and its first output under each variant. */
struct group {
    const int64_t *field;
    uint64_t id, seed;
    struct {
        uint8_t *bytes;
        size_t len, n_requests;
        int64_t param[DT_BATTERY_MAX_PARAMS];
    } first[DT_BATTERY_VARIANTS];
};

/* A recorded call whose requests have seeds. */
struct recorded {
    struct group *group; /* [n] */
    size_t n;
};

struct battery {
    const struct dt_battery *o;
    struct dt_battery_result *result;
    struct dt_runner runner;
    struct dt_err *err;
    uint64_t random, run;
    struct group **row;   /* [max_requests] of the batch at hand */
    int64_t *request;     /* [max_requests * n_fields] */
    uint64_t *seed;       /* [max_requests] */
    size_t n;
};

static uint64_t draw (struct battery *b)
{
    uint64_t x = b->random += 0x9e3779b97f4a7c15u; /* splitmix64 */

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* --- comparing -------------------------------------------------------------------- */

static double element (const struct battery *b, const uint8_t *bytes, size_t i)
{
    uint32_t word = 0;
    float f;

    if (b->runner.element_bytes == 2) {
        uint16_t half;

        memcpy (&half, bytes + 2 * i, 2);
        word = (uint32_t)half << 16;
    } else
        memcpy (&word, bytes + 4 * i, 4);
    memcpy (&f, &word, 4);
    return (double)f;
}

static int64_t param_of (const struct dt_backend_value *p, size_t request)
{
    return p->each ? p->each[request] : p->one;
}

static void note_change (struct battery *b, struct dt_battery_change *c, const struct group *g,
                         enum dt_battery_variant v, const uint8_t *bytes,
                         const struct dt_backend_value *param, size_t request)
{
    size_t size = b->runner.element_bytes, n = g->first[v].len / size;

    if (c->is)
        return;
    *c = (struct dt_battery_change){ .is = 1, .id = g->id, .seed = g->seed, .element = n,
                                     .n_elements = n,
                                     .n_requests = { g->first[v].n_requests, b->n } };
    memcpy (c->field, g->field, b->o->calls->schema->n_fields * sizeof *c->field);
    for (size_t i = 0; i < n; i++)
        if (memcmp (bytes + i * size, g->first[v].bytes + i * size, size)) {
            c->element = c->n_different++ ? c->element : i;
        }
    c->value[0] = element (b, g->first[v].bytes, c->element);
    c->value[1] = element (b, bytes, c->element);
    memcpy (c->param[0], g->first[v].param, sizeof c->param[0]);
    for (size_t i = 0; i < b->o->family->n_params; i++)
        c->param[1][i] = param_of (&param[i], request);
}

static int has_nan (const struct battery *b, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len / b->runner.element_bytes; i++)
        if (isnan (element (b, bytes, i)))
            return 1;
    return 0;
}

static int compare_row (struct battery *b, enum dt_battery_variant v, size_t request,
                        const uint8_t *bytes, size_t len, const struct dt_backend_value *param)
{
    struct group *g = b->row[request];

    if (len == 0)
        return 0; /* a request that asks nothing has no output */
    b->result->variant[v].nan += (uint64_t)has_nan (b, bytes, len);
    if (!g->first[v].bytes) {
        if (!(g->first[v].bytes = dt_memdup (bytes, len)))
            return dt_err_nomem (b->err);
        g->first[v].len = len;
        g->first[v].n_requests = b->n;
        for (size_t i = 0; i < b->o->family->n_params; i++)
            g->first[v].param[i] = param_of (&param[i], request);
        return 0;
    }
    b->result->variant[v].compared++;
    if (len == g->first[v].len && !memcmp (bytes, g->first[v].bytes, len))
        return 0;
    b->result->variant[v].changed++;
    note_change (b, &b->result->variant[v].first, g, v, bytes, param, request);
    return 0;
}

/* --- one batch -------------------------------------------------------------------- */

static int select_both (struct battery *b, struct dt_backend_value param[][DT_BATTERY_MAX_PARAMS])
{
    struct detent_call call = { b->n, b->request };
    int r;

    for (int v = 0; v < DT_BATTERY_VARIANTS; v++) {
        struct detent_error err = { "" };
        struct detent_choice c;

        if ((r = detent_select (b->o->selector[v], &call, &c, &err)) < 0)
            return dt_err_set (b->err, r, "%s selection: %s",
                               v == DT_BATTERY_STOCK ? "stock" : "Detent's", err.text);
        for (size_t i = 0; i < b->o->family->n_params; i++)
            param[v][i] = (struct dt_backend_value){ .one = c.value[b->o->field_of[i]],
                                                     .each = c.each[b->o->field_of[i]] };
        if (v == DT_BATTERY_DETENT && b->o->tweak)
            b->o->tweak (b->o->family, b->run, param[v]);
    }
    return 0;
}

static int compare_rows (struct battery *b, enum dt_battery_variant v,
                         const struct dt_backend_value *param)
{
    int r;

    if ((r = dt_runner_read (&b->runner, b->err)) < 0)
        return r;
    for (size_t i = 0; i < b->n; i++) {
        const struct dt_backend_row *row = &b->runner.row[i];

        if ((r = compare_row (b, v, i, b->runner.host + row->offset, row->length, param)) < 0)
            return r;
    }
    return 0;
}

/* Run the batch in b->row under both variants, taking turns who goes first. */
static int run_batch (struct battery *b, int is_recorded)
{
    struct dt_backend_value param[DT_BATTERY_VARIANTS][DT_BATTERY_MAX_PARAMS] = { { { 0, NULL } } };
    uint64_t best[DT_BATTERY_VARIANTS] = { UINT64_MAX, UINT64_MAX }, ns = 0;
    size_t fields = b->o->calls->schema->n_fields;
    int r;

    for (size_t i = 0; i < b->n; i++) {
        memcpy (b->request + i * fields, b->row[i]->field, fields * sizeof *b->request);
        b->seed[i] = b->row[i]->seed;
    }
    if ((r = select_both (b, param)) < 0) {
        b->result->refused++;
        return r == -DT_EREFUSED && !is_recorded ? 0 : r;
    }
    if ((r = dt_runner_fill (&b->runner, b->n, b->request, b->seed, param[0], param[1],
                             is_recorded ? 0 : draw (b), b->err)) < 0)
        return r;
    for (int k = 0; k < (is_recorded ? TIMED_REPEATS : 1); k++)
        for (int turn = 0; turn < DT_BATTERY_VARIANTS; turn++) {
            int v = (turn ^ k ^ (int)b->run) & 1;

            if ((r = dt_runner_run (&b->runner, param[v], &ns, b->err)) < 0
                || (k == 0 && (r = compare_rows (b, (enum dt_battery_variant)v, param[v])) < 0))
                return r;
            best[v] = ns < best[v] ? ns : best[v];
        }
    for (int v = 0; is_recorded && v < DT_BATTERY_VARIANTS; v++)
        b->result->variant[v].ns += best[v];
    b->result->batches++;
    b->run++;
    return 0;
}

/* --- which batches ------------------------------------------------------------------ */

static void forget (struct recorded *c)
{
    for (size_t i = 0; i < c->n; i++)
        for (int v = 0; v < DT_BATTERY_VARIANTS; v++)
            dt_free (c->group[i].first[v].bytes);
    dt_free (c->group);
    *c = (struct recorded){ NULL, 0 };
}

/* A call of the trace, as often as it came. */
static int pick (struct battery *b, struct recorded *ret)
{
    const struct dt_trace_site *s = b->o->calls;
    uint64_t total = 0, at;
    size_t k = 0;

    for (size_t i = 0; i < s->n_calls; i++)
        total += s->call[i].count;
    for (at = draw (b) % total; at >= s->call[k].count; k++)
        at -= s->call[k].count;
    if (s->call[k].n_requests > b->o->max_requests)
        return dt_err_set (b->err, -DT_EREFUSED,
                           "the trace has a call of %u requests, the deployment takes %zu",
                           s->call[k].n_requests, b->o->max_requests);
    ret->n = s->call[k].n_requests;
    if (!(ret->group = dt_calloc (ret->n, sizeof *ret->group))) {
        ret->n = 0;
        return dt_err_nomem (b->err);
    }
    for (size_t i = 0; i < ret->n; i++) {
        size_t request = s->call[k].at + i;

        ret->group[i].field = s->field + request * s->schema->n_fields;
        ret->group[i].id = s->id[request];
        ret->group[i].seed = draw (b);
    }
    return 0;
}

static int run_recorded (struct battery *b, const struct recorded *c)
{
    for (b->n = 0; b->n < c->n; b->n++)
        b->row[b->n] = &c->group[b->n];
    return run_batch (b, 1);
}

static int run_permuted (struct battery *b, const struct recorded *c)
{
    for (b->n = 0; b->n < c->n; b->n++) { /* inside out, as Durstenfeld shuffles */
        size_t j = draw (b) % (b->n + 1);

        b->row[b->n] = b->row[j];
        b->row[j] = &c->group[b->n];
    }
    return run_batch (b, 0);
}

static int run_alone (struct battery *b, struct group *target)
{
    b->row[0] = target;
    b->n = 1;
    return run_batch (b, 0);
}

/* The target at a random row of another call; in place of a request if that is full. */
static int run_among (struct battery *b, const struct recorded *other, struct group *target)
{
    size_t at = draw (b) % (other->n + 1), skip = other->n;

    if (other->n == b->o->max_requests)
        skip = draw (b) % other->n;
    b->n = 0;
    for (size_t i = 0; i < other->n; i++) {
        if (i == at)
            b->row[b->n++] = target;
        if (i != skip)
            b->row[b->n++] = &other->group[i];
    }
    if (at == other->n)
        b->row[b->n++] = target;
    return run_batch (b, 0);
}

/* The batch in b->row, or as much of it as the selections take: two calls together may
 * have more tokens than an engine gives a step. */
static int run_part (struct battery *b)
{
    uint64_t refused;
    int r;

    do {
        refused = b->result->refused;
        r = run_batch (b, 0);
    } while (r == 0 && b->result->refused > refused && (b->n /= 2) > 0);
    return r;
}

/* Some requests of two calls, any number of them and in any order. */
static int run_mixed (struct battery *b, const struct recorded *x, const struct recorded *y)
{
    size_t total = x->n + y->n;
    size_t most = total < b->o->max_requests ? total : b->o->max_requests;
    size_t want = 1 + draw (b) % most;

    b->n = 0;
    for (size_t i = 0; i < total; i++)
        if (draw (b) % (total - i) < want - b->n) {
            size_t j = draw (b) % (b->n + 1);

            b->row[b->n++] = b->row[j];
            b->row[j] = i < x->n ? &x->group[i] : &y->group[i - x->n];
        }
    return run_part (b);
}

/* A request of the call that has an output, if a few draws find one. */
static struct group *pick_target (struct battery *b, const struct recorded *c)
{
    struct group *g = &c->group[draw (b) % c->n];

    for (int i = 0; i < 8 && !g->first[DT_BATTERY_DETENT].bytes; i++)
        g = &c->group[draw (b) % c->n];
    return g;
}

static int run_round (struct battery *b, const struct recorded *before, const struct recorded *now)
{
    int r;

    if ((r = run_recorded (b, now)) < 0 || (r = run_permuted (b, now)) < 0)
        return r;
    for (int i = 0; i < TARGETS; i++) {
        struct group *target = pick_target (b, now);

        if ((r = run_alone (b, target)) < 0
            || (before->n && (r = run_among (b, before, target)) < 0)
            || (r = run_mixed (b, before, now)) < 0)
            return r;
    }
    return 0;
}

static int run_rounds (struct battery *b)
{
    struct recorded before = { NULL, 0 }, now = { NULL, 0 };
    int r = 0;

    while (r == 0 && b->result->variant[DT_BATTERY_DETENT].compared < b->o->rows) {
        uint64_t rows = b->result->variant[DT_BATTERY_DETENT].compared;

        if ((r = pick (b, &now)) < 0 || (r = run_round (b, &before, &now)) < 0)
            break;
        forget (&before);
        before = now;
        now = (struct recorded){ NULL, 0 };
        if (b->result->variant[DT_BATTERY_DETENT].compared == rows && b->result->batches > 100)
            break; /* requests without output: there is nothing to compare */
    }
    forget (&before);
    forget (&now);
    return r;
}

int dt_battery_run (const struct dt_battery *o, struct dt_battery_result *ret,
                    struct dt_err *reterr)
{
    struct dt_battery_result result = { .batches = 0 };
    struct battery b = { .o = o, .result = &result, .err = reterr, .random = o->seed };
    int r;

    dt_runner_init (&b.runner, o);
    b.row = dt_calloc (o->max_requests, sizeof *b.row);
    b.request = dt_calloc (o->max_requests, o->calls->schema->n_fields * sizeof *b.request);
    b.seed = dt_calloc (o->max_requests, sizeof *b.seed);
    if (!b.row || !b.request || !b.seed)
        r = dt_err_nomem (reterr);
    else
        r = o->calls->n_calls ? run_rounds (&b) : 0;
    dt_runner_done (&b.runner);
    dt_free (b.row);
    dt_free (b.request);
    dt_free (b.seed);
    if (r == 0)
        *ret = result;
    return r;
}
