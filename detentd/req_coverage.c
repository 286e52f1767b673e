/* detentd/req_coverage.c - coverage: what stands behind each field, and what no trace
 * exercised. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "detentd/covering.h"
#include "detentd/dispatch.h"
#include "detentd/standing.h"
#include "trace/dtrace.h"

struct coverage {
    struct dt_ask *a;
    struct dt_store *s;
    struct dt_solving *v;
    Detent__CoverageReply *reply;
    const Detent__WorkerIdentity *who; /* NULL: certificates cannot be judged here */
    void **fields, **untried, **outside;
    size_t n_fields, n_untried, n_outside;
    struct dt_digest *trace; /* of the deployment */
    size_t n_traces, room_traces;
};

static struct dt_arena *arena (struct coverage *c)
{
    return &c->a->arena;
}

/* --- fields ------------------------------------------------------------------------------ */

static const char *claim_of (const struct coverage *c, const struct dt_solution *s,
                             const char *field)
{
    const struct dt_deployment *d = c->v->deployment;

    for (size_t i = 0; i < d->n_claims; i++)
        if (strcmp (d->claim[i].family, s->family) == 0 && strcmp (d->claim[i].field, field) == 0)
            return d->claim[i].reason;
    return NULL;
}

static int add_field (struct coverage *c, const struct dt_solution *s,
                      const struct dt_solution_point *p, uint64_t certified, uint64_t legal,
                      struct dt_err *reterr)
{
    Detent__CoveredField *m = dt_arena_alloc (arena (c), sizeof *m);
    const char *claim = p->by_claim ? claim_of (c, s, p->field) : NULL;
    char count[64];

    if (!m)
        return dt_err_nomem (reterr);
    detent__covered_field__init (m);
    m->family = (char *)s->family;
    m->site = (char *)s->site;
    m->field = (char *)p->field;
    snprintf (count, sizeof count, "%" PRIu64 " of %" PRIu64 " assignments", certified, legal);
    switch (dt_solution_standing (p, certified, legal)) {
    case DT_BY_BINDING:
        m->by = (char *)(p->batch ? "pinned" : "invariant");
        m->why = (char *)(p->batch ? "cut from the batch by the site's pins"
                                   : "no input of the batch reaches it");
        break;
    case DT_BY_CERTIFICATE:
        m->by = (char *)"certificate";
        m->why = dt_arena_strf (arena (c), "%s", count);
        break;
    case DT_BY_CLAIM:
        m->by = (char *)"claim";
        m->why = dt_arena_strf (arena (c), "%s%s%s%s", claim ? claim : "", certified ? "; " : "",
                                certified ? count : "", certified ? " have certificates" : "");
        break;
    case DT_BY_NOTHING:
        m->by = (char *)"nothing";
        m->why = (char *)"neither certificate nor claim";
        break;
    }
    if (!m->why || dt_ask_push (c->a, &c->fields, &c->n_fields, m) < 0)
        return dt_err_nomem (reterr);
    return 0;
}

static uint64_t count_legal (const struct dt_solution *s)
{
    uint64_t n = 0;

    for (size_t i = 0; i < s->n_assignments; i++)
        n += s->verdict[i] != DT_ILLEGAL;
    return n;
}

static int add_fields (struct coverage *c, size_t site, struct dt_err *reterr)
{
    const struct dt_solution *s = c->v->site[site].solution;
    uint64_t *certified, legal = count_legal (s);
    int r = dt_standing_count (c->s, &c->v->deployment->site[site], s, c->who, arena (c),
                               &certified, reterr);

    for (size_t k = 0; r == 0 && k < s->n_points; k++)
        r = add_field (c, s, &s->point[k], certified[k], legal, reterr);
    return r;
}

/* --- traffic ------------------------------------------------------------------------------- */

static int note_trace (void *ctx, const struct dt_trace_row *row)
{
    struct coverage *c = ctx;
    void *items = c->trace;

    if (strcmp (row->deployment, c->v->deployment->name) != 0)
        return 0;
    if (dt_grow (&items, &c->room_traces, c->n_traces, sizeof *c->trace) < 0)
        return -ENOMEM;
    c->trace = items;
    c->trace[c->n_traces++] = row->digest;
    return 0;
}

/* What the traces' calls of one site had: the range of each quantity, and which graph
 * buckets were met. */
struct seen {
    int64_t lo[DT_SCHEMA_MAX_QUANTITIES], hi[DT_SCHEMA_MAX_QUANTITIES];
    uint8_t *bucket; /* [deployment->n_graph_buckets] */
    int any;
};

static void widen (struct seen *x, size_t q, int64_t v)
{
    x->lo[q] = v < x->lo[q] ? v : x->lo[q];
    x->hi[q] = v > x->hi[q] ? v : x->hi[q];
}

/* The quantity by which graphs are captured: of attention the number of requests, of a
 * product or a norm its tokens.  -1: the family has none. */
static int bucket_quantity (const struct dt_schema *schema)
{
    int q = dt_schema_quantity (schema, "requests");

    return q >= 0 ? q : dt_schema_quantity (schema, "tokens");
}

/* A call runs the graph of the least bucket that holds it. */
static void meet_bucket (const struct dt_deployment *d, struct seen *x, int64_t v)
{
    for (size_t i = 0; i < d->n_graph_buckets; i++)
        if (v <= d->graph_bucket[i]) {
            x->bucket[i] = 1;
            return;
        }
}

static void look_at (const struct dt_deployment *d, const struct dt_trace_site *t, struct seen *x)
{
    const struct dt_schema *schema = t->schema;
    int of = bucket_quantity (schema);

    for (size_t i = 0; i < t->n_calls; i++) {
        struct dt_call call = dt_trace_call_get (t, i);
        int64_t q[DT_SCHEMA_MAX_QUANTITIES];

        if (dt_schema_derive (schema, &call, q, NULL) < 0)
            continue;
        x->any = 1;
        for (size_t k = 0; k < schema->n_quantities; k++)
            for (size_t j = 0; j < (schema->quantity[k].own ? call.n_requests : 1); j++)
                widen (x, k, schema->quantity[k].own
                                 ? dt_schema_own (schema, k, call.request + j * schema->n_fields)
                                 : q[k]);
        if (of >= 0)
            meet_bucket (d, x, q[of]);
    }
}

static int add_untried (struct coverage *c, const struct dt_site *site, const char *what,
                        const char *seen, const char *missing, struct dt_err *reterr)
{
    Detent__Untried *m = dt_arena_alloc (arena (c), sizeof *m);

    if (!m)
        return dt_err_nomem (reterr);
    detent__untried__init (m);
    m->family = (char *)site->family;
    m->site = (char *)site->site;
    m->what = (char *)what;
    m->seen = (char *)seen;
    m->missing = (char *)missing;
    if (!seen || !missing || !what || dt_ask_push (c->a, &c->untried, &c->n_untried, m) < 0)
        return dt_err_nomem (reterr);
    return 0;
}

/* Of one input of the program: what of its domain lies beyond what was seen. */
static int tell_input (struct coverage *c, const struct dt_site *site,
                       const struct dt_vm_input *in, const struct seen *x, int q,
                       struct dt_err *reterr)
{
    struct dt_arena *a = arena (c);
    const char *seen, *missing = "";

    if (in->step == 0 || (x->any && x->lo[q] <= in->lo && x->hi[q] >= in->hi))
        return 0;
    if (!x->any)
        missing = dt_arena_strf (a, "%" PRId64 "..%" PRId64, in->lo, in->hi);
    else {
        if (x->lo[q] > in->lo)
            missing = dt_arena_strf (a, "%" PRId64 "..%" PRId64, in->lo, x->lo[q] - 1);
        if (missing && x->hi[q] < in->hi)
            missing = dt_arena_strf (a, "%s%s%" PRId64 "..%" PRId64, missing, *missing ? ", " : "",
                                     x->hi[q] + 1, in->hi);
    }
    seen = x->any ? dt_arena_strf (a, "%" PRId64 "..%" PRId64, x->lo[q], x->hi[q]) : "";
    return add_untried (c, site, dt_arena_strf (a, "%s", in->name), seen, missing, reterr);
}

static int tell_buckets (struct coverage *c, const struct dt_site *site, const struct seen *x,
                         struct dt_err *reterr)
{
    const struct dt_deployment *d = c->v->deployment;
    const char *missing = "";
    size_t n = 0;

    for (size_t i = 0; i < d->n_graph_buckets; i++) {
        if (x->bucket[i]) {
            n++;
            continue;
        }
        if (!(missing = dt_arena_strf (arena (c), "%s%s%" PRId64, missing, *missing ? ", " : "",
                                       d->graph_bucket[i])))
            return dt_err_nomem (reterr);
    }
    if (!*missing)
        return 0;
    return add_untried (c, site, "graph bucket",
                        dt_arena_strf (arena (c), "%zu of %zu", n, d->n_graph_buckets), missing,
                        reterr);
}

/* Against the domains that the site's program states. */
static int tell_site (struct coverage *c, size_t i, const struct seen *x, struct dt_err *reterr)
{
    const struct dt_site *site = &c->v->deployment->site[i];
    const struct dt_schema *schema = dt_schema_find (site->family);
    const struct dt_solution *s = c->v->site[i].solution;
    struct dt_vm *vm;
    int r;

    if ((r = dt_vm_load (s->stock.data, s->stock.len, &vm, reterr)) < 0)
        return r;
    for (size_t k = 0; r == 0 && schema && k < dt_vm_inputs (vm); k++) {
        int q = dt_schema_quantity (schema, dt_vm_input (vm, k)->name);

        if (q >= 0)
            r = tell_input (c, site, dt_vm_input (vm, k), x, q, reterr);
    }
    if (r == 0 && schema && bucket_quantity (schema) >= 0)
        r = tell_buckets (c, site, x, reterr);
    dt_vm_free (vm);
    return r;
}

static int add_outside (struct coverage *c, const char *what, const char *state, const char *why,
                        struct dt_err *reterr)
{
    Detent__OutsidePart *m = dt_arena_alloc (arena (c), sizeof *m);

    if (!m || !what)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < c->n_outside; i++)
        if (strcmp (((Detent__OutsidePart *)c->outside[i])->what, what) == 0)
            return 0;
    detent__outside_part__init (m);
    m->what = (char *)what;
    m->state = (char *)state;
    m->why = (char *)why;
    return dt_ask_push (c->a, &c->outside, &c->n_outside, m) < 0 ? dt_err_nomem (reterr) : 0;
}

/* Calls of a trace that belong to no site of the deployment. */
static int find_strangers (struct coverage *c, const struct dt_trace *t, struct dt_err *reterr)
{
    int r;

    for (size_t i = 0; i < t->n_sites; i++)
        if (t->site[i].n_calls
            && dt_deployment_find (c->v->deployment, t->site[i].family, t->site[i].site) < 0
            && (r = add_outside (c, dt_arena_strf (arena (c), "%s/%s", t->site[i].family,
                                                   t->site[i].site), "not analysed",
                                 "a trace has calls of it, and the deployment no site",
                                 reterr)) < 0)
            return r;
    return 0;
}

static int look_at_trace (struct coverage *c, const struct dt_digest *digest, struct seen *seen,
                          struct dt_err *reterr)
{
    const struct dt_deployment *d = c->v->deployment;
    struct dt_trace *t = NULL;
    struct dt_buf b = { 0 };
    int r = dt_store_blob_get (c->s, "trace", digest, &b, reterr);

    if (r == 0)
        r = dt_trace_decode (b.data, b.len, &t, reterr);
    dt_buf_done (&b);
    if (r < 0)
        return r;
    for (size_t i = 0; i < t->n_sites; i++) {
        int64_t k = dt_deployment_find (d, t->site[i].family, t->site[i].site);

        if (k >= 0)
            look_at (d, &t->site[i], &seen[k]);
    }
    r = find_strangers (c, t, reterr);
    dt_trace_free (t);
    return r;
}

static int tell_traffic (struct coverage *c, struct dt_err *reterr)
{
    const struct dt_deployment *d = c->v->deployment;
    struct seen *seen = dt_arena_array (arena (c), d->n_sites, sizeof *seen);
    int r;

    if (!seen)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < d->n_sites; i++) {
        for (size_t q = 0; q < DT_SCHEMA_MAX_QUANTITIES; q++) {
            seen[i].lo[q] = INT64_MAX;
            seen[i].hi[q] = INT64_MIN;
        }
        if (!(seen[i].bucket = dt_arena_array (arena (c), d->n_graph_buckets, 1)))
            return dt_err_nomem (reterr);
    }
    if ((r = dt_store_traces (c->s, NULL, note_trace, c, reterr)) < 0)
        return r == -ENOMEM ? dt_err_nomem (reterr) : r;
    for (size_t i = 0; i < c->n_traces; i++)
        if ((r = look_at_trace (c, &c->trace[i], seen, reterr)) < 0)
            return r;
    for (size_t i = 0; i < d->n_sites; i++)
        if ((r = tell_site (c, i, &seen[i], reterr)) < 0)
            return r;
    c->reply->traces = c->n_traces;
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int tell (struct coverage *c, struct dt_err *reterr)
{
    const struct dt_deployment *d = c->v->deployment;
    const char *unknown;
    int r;

    if ((r = dt_who_get (c->a->d->who, c->a->d->options, d->backend, dt_covering_units (d), 1,
                         arena (c), &c->who, &unknown, reterr)) < 0)
        return r;
    c->reply->unknown = (char *)unknown;
    for (size_t i = 0; i < d->n_sites; i++)
        if ((r = add_fields (c, i, reterr)) < 0)
            return r;
    for (size_t i = 0; i < d->n_outside; i++)
        if ((r = add_outside (c, d->outside[i].what, "outside", d->outside[i].reason, reterr)) < 0)
            return r;
    return tell_traffic (c, reterr);
}

static int coverage (struct dt_ask *a, struct dt_store *s, struct dt_err *reterr)
{
    const char *name = a->rq->coverage->deployment;
    struct coverage c = { .a = a, .s = s, .v = dt_ask_solving (a) };
    int r;

    if (!c.v || !(c.reply = dt_arena_alloc (&a->arena, sizeof *c.reply)))
        return dt_err_nomem (reterr);
    detent__coverage_reply__init (c.reply);
    c.reply->deployment = (char *)name;
    if ((r = dt_solving_load (c.v, s, name, reterr)) == 0)
        r = tell (&c, reterr);
    dt_free (c.trace);
    c.reply->field = (Detent__CoveredField **)c.fields;
    c.reply->n_field = c.n_fields;
    c.reply->untried = (Detent__Untried **)c.untried;
    c.reply->n_untried = c.n_untried;
    c.reply->outside = (Detent__OutsidePart **)c.outside;
    c.reply->n_outside = c.n_outside;
    a->reply.body_case = DETENT__REPLY__BODY_COVERAGE;
    a->reply.coverage = c.reply;
    return r;
}

int dt_req_coverage (struct dt_ask *a, struct dt_err *reterr)
{
    int r = dt_check_name ("deployment", a->rq->coverage->deployment, reterr);

    return r < 0 ? r : dt_ask_crew (a, coverage, reterr);
}
