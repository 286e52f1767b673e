/* trace/step.c - the calls that one step of an engine makes at each site. */
#include "trace/step.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* Numbers of rows that are told apart: 1, 2, 3 to 4, 5 to 8, ... 32,769 to 65,536. */
enum { ROW_CLASSES = 17 };
_Static_assert (DT_TRACE_MAX_REQUESTS <= 1 << (ROW_CLASSES - 1), "raise ROW_CLASSES");

struct step_site {
    int (*add) (struct dt_step *s, size_t site, struct dt_err *reterr);
    uint32_t *route; /* moe: [max_tokens * top_k] experts of token i */
    uint32_t *of;    /* totals: [max_tokens + 1][ROW_CLASSES][2] the call of so many
                        tokens and rows, then the captured one; 0: none so far, else
                        its index + 1 */
};

struct dt_step {
    struct dt_trace *t;
    const struct dt_step_facts *facts; /* [n_sites] or NULL */
    struct step_site *site;            /* [n_sites] */
    size_t max_rows, max_tokens;
    /* The step at hand. */
    const struct dt_step_row *row; /* [n] as given           */
    struct dt_step_row *sorted;    /* [n] most tokens first  */
    size_t n;
    int64_t tokens, longest;
    int64_t *field; /* of one call */
    uint64_t *id;
};

static const struct dt_step_facts *facts (const struct dt_step *s, size_t site)
{
    static const struct dt_step_facts none = { 0 };

    return s->facts ? &s->facts[site] : &none;
}

/* --- families ---------------------------------------------------------------- */

static int add_attention (struct dt_step *s, size_t site, struct dt_err *reterr)
{
    struct dt_call call = { s->n, s->field };

    for (size_t k = 0; k < s->n; k++) {
        s->field[2 * k] = s->row[k].query;
        s->field[2 * k + 1] = s->row[k].kv;
        s->id[k] = s->row[k].id;
    }
    return dt_trace_add_call (s->t, site, 1, 0, &call, s->id, reterr);
}

static size_t class_of (size_t n)
{
    size_t c = 0;

    while ((size_t)1 << c < n)
        c++;
    return c;
}

/* A call of `rows` rows that sees its total alone: again the first one of that total and
 * about as many requests, else a new one of what s->field and s->id hold. */
static int add_total (struct dt_step *s, size_t site, size_t rows, int captured, int synthetic,
                      struct dt_err *reterr)
{
    struct dt_trace_site *t = &s->t->site[site];
    size_t key = (size_t)s->tokens * ROW_CLASSES + class_of (s->n);
    uint32_t *of = &s->site[site].of[2 * key + (size_t)captured];
    struct dt_call call = { rows, s->field };
    int r;

    if (*of)
        call = dt_trace_call_get (t, *of - 1);
    if ((r = dt_trace_add_call (s->t, site, 1, synthetic, &call, *of ? NULL : s->id, reterr)) == 0
        && !*of)
        *of = (uint32_t)t->n_calls;
    return r;
}

static int add_tokens (struct dt_step *s, size_t site, struct dt_err *reterr)
{
    for (size_t k = 0; k < s->n; k++) {
        s->field[k] = s->sorted[k].query;
        s->id[k] = s->sorted[k].id;
    }
    return add_total (s, site, s->n, 0, 0, reterr);
}

static int add_bytes (struct dt_step *s, size_t site, struct dt_err *reterr)
{
    const struct dt_step_facts *f = facts (s, site);
    int captured = s->longest == 1 && (int64_t)s->n <= f->graph_max_batch;

    for (size_t k = 0; k < s->n; k++) {
        if (__builtin_mul_overflow (s->sorted[k].query, f->row_bytes, &s->field[2 * k]))
            return dt_err_set (reterr, -DT_EINPUT, "site %.64s: a call's bytes leave 64 bits",
                               s->t->site[site].site);
        s->field[2 * k + 1] = captured;
        s->id[k] = s->sorted[k].id;
    }
    return add_total (s, site, s->n, captured, 0, reterr);
}

/* Loads follow the number of tokens, so this call, too, sees its total alone. */
static int add_experts (struct dt_step *s, size_t site, struct dt_err *reterr)
{
    const struct dt_step_facts *f = facts (s, site);
    size_t rows = s->n + (size_t)f->experts;
    const uint32_t *route = s->site[site].route;
    int64_t *expert = s->field + 2 * s->n;

    memset (s->field, 0, 2 * rows * sizeof *s->field);
    for (size_t k = 0; k < s->n; k++) {
        s->field[2 * k] = s->sorted[k].query;
        s->id[k] = s->sorted[k].id;
    }
    for (int64_t i = 0; i < s->tokens * f->top_k; i++)
        expert[2 * route[i] + 1]++;
    for (size_t e = 0; e < (size_t)f->experts; e++)
        s->id[s->n + e] = e;
    return add_total (s, site, rows, 0, 1, reterr);
}

/* --- routing ------------------------------------------------------------------- */

static double unit (uint64_t *x)
{
    uint64_t z = *x += 0x9e3779b97f4a7c15u; /* splitmix64 */

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* The first expert whose running popularity is above `at`. */
static uint32_t find_expert (const double *sum, uint32_t n, double at)
{
    uint32_t lo = 0, hi = n - 1;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (sum[mid] > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Distinct experts of one token: drawn again where one is there, at last the first
 * that is free, for the rare must not make it endless. */
static void route_token (const double *sum, const struct dt_step_facts *f, uint64_t *x,
                         uint32_t *ret)
{
    for (int64_t k = 0; k < f->top_k; k++) {
        int64_t i, tries = 0;

        do {
            ret[k] = tries < 64 ? find_expert (sum, (uint32_t)f->experts,
                                               unit (x) * sum[f->experts - 1])
                                : (uint32_t)(tries - 64);
            for (i = 0; i < k && ret[i] != ret[k]; i++)
                ;
            tries++;
        } while (i < k);
    }
}

static int make_route (struct dt_step *s, size_t site, struct dt_err *reterr)
{
    const struct dt_step_facts *f = facts (s, site);
    double *sum = dt_calloc ((size_t)f->experts, sizeof *sum);
    uint32_t *route = dt_calloc (s->max_tokens * (size_t)f->top_k, sizeof *route);
    uint64_t x = 1;

    s->site[site].route = route;
    if (!sum || !route) {
        dt_free (sum);
        return dt_err_nomem (reterr);
    }
    for (int64_t e = 0; e < f->experts; e++)
        sum[e] = (e ? sum[e - 1] : 0) + 1 / sqrt ((double)e + 1);
    for (size_t i = 0; i < s->max_tokens; i++)
        route_token (sum, f, &x, route + i * (size_t)f->top_k);
    dt_free (sum);
    return 0;
}

/* --- sites --------------------------------------------------------------------- */

static const struct {
    const char *family;
    int (*add) (struct dt_step *s, size_t site, struct dt_err *reterr);
} families[] = {
    { "attention", add_attention }, { "gemm", add_tokens }, { "rowwise", add_tokens },
    { "allreduce", add_bytes },     { "moe", add_experts },
};

static int init_site (struct dt_step *s, size_t site, struct dt_err *reterr)
{
    const struct dt_trace_site *t = &s->t->site[site];
    const struct dt_step_facts *f = facts (s, site);

    for (size_t i = 0; i < DT_ARRAY_SIZE (families); i++)
        if (strcmp (families[i].family, t->family) == 0)
            s->site[site].add = families[i].add;
    if (s->site[site].add == add_bytes && f->row_bytes < 1)
        return dt_err_set (reterr, -DT_EINPUT, "site %s/%.64s: how many bytes a token has is not "
                           "stated (fact row_bytes, or hidden)", t->family, t->site);
    if (s->site[site].add != add_attention
        && !(s->site[site].of = dt_calloc (2 * ROW_CLASSES, (s->max_tokens + 1) * sizeof (uint32_t))))
        return dt_err_nomem (reterr);
    if (s->site[site].add != add_experts)
        return 0;
    if (f->experts < 1 || f->top_k < 1 || f->top_k > f->experts
        || f->experts > DT_TRACE_MAX_REQUESTS - (int64_t)s->max_rows)
        return dt_err_set (reterr, -DT_EINPUT, "site %s/%.64s: facts experts and top_k are not "
                           "stated, top_k is above experts, or they are too many", t->family, t->site);
    return make_route (s, site, reterr);
}

/* Rows of the largest call. */
static size_t most_rows (const struct dt_step *s)
{
    size_t most = s->max_rows;

    for (size_t i = 0; i < s->t->n_sites; i++)
        if (s->site[i].add == add_experts && s->max_rows + (size_t)facts (s, i)->experts > most)
            most = s->max_rows + (size_t)facts (s, i)->experts;
    return most;
}

int dt_step_new (struct dt_trace *t, const struct dt_step_facts *facts, size_t max_rows,
                 size_t max_tokens, struct dt_step **ret, struct dt_err *reterr)
{
    struct dt_step *s = dt_calloc (1, sizeof *s);
    int r = 0;

    if (!s)
        return dt_err_nomem (reterr);
    *s = (struct dt_step){ .t = t, .facts = facts, .max_rows = max_rows, .max_tokens = max_tokens };
    if (!(s->site = dt_calloc (t->n_sites, sizeof *s->site)))
        r = dt_err_nomem (reterr);
    for (size_t i = 0; r == 0 && i < t->n_sites; i++)
        r = init_site (s, i, reterr);
    if (r < 0)
        goto fail;
    s->sorted = dt_calloc (max_rows, sizeof *s->sorted);
    s->field = dt_calloc (most_rows (s), DT_SCHEMA_MAX_FIELDS * sizeof *s->field);
    s->id = dt_calloc (most_rows (s), sizeof *s->id);
    if (!s->sorted || !s->field || !s->id) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    *ret = s;
    return 0;
fail:
    dt_step_free (s);
    return r;
}

struct dt_step *dt_step_free (struct dt_step *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; s->site && i < s->t->n_sites; i++) {
        dt_free (s->site[i].route);
        dt_free (s->site[i].of);
    }
    dt_free (s->site);
    dt_free (s->sorted);
    dt_free (s->field);
    dt_free (s->id);
    dt_free (s);
    return NULL;
}

/* Most tokens first, else as they are: few rows of a step have more than one. */
static void sort_rows (struct dt_step *s)
{
    for (size_t k = 0; k < s->n; k++) {
        size_t at = k;

        for (; at > 0 && s->sorted[at - 1].query < s->row[k].query; at--)
            s->sorted[at] = s->sorted[at - 1];
        s->sorted[at] = s->row[k];
    }
}

int dt_step_add (struct dt_step *s, const struct dt_step_row *row, size_t n,
                 struct dt_err *reterr)
{
    int r = 0;

    s->row = row;
    s->n = n;
    s->tokens = 0;
    sort_rows (s);
    s->longest = s->sorted[0].query;
    for (size_t k = 0; k < n; k++)
        s->tokens += row[k].query;
    for (size_t i = 0; r == 0 && i < s->t->n_sites; i++)
        r = s->site[i].add (s, i, reterr);
    return r;
}
