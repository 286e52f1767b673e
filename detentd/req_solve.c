/* detentd/req_solve.c - solve and pins. */
#include <errno.h>

#include "base/time.h"
#include "detentd/dispatch.h"
#include "detentd/publish.h"
#include "detentd/standing.h"
#include "proto/wire.h"
#include "trace/schema.h"

/* A solution from the store.  A damaged one is a miss, with a warning. */
static int stored (struct dt_ask *a, struct dt_store *s, struct dt_solved_site *site)
{
    struct dt_err err = { "" };
    int r = dt_solving_stored (site, s, &err);

    if (r < 0 && r != -DT_ENOTFOUND)
        dt_err_set (&a->warning, r, "solved again: %s", err.text);
    return r == 0;
}

static int is_hit (const struct dt_solved_site *site)
{
    return site->cached && site->standing.cached;
}

static int find_standing (struct dt_ask *a, struct dt_store *s, struct dt_solving *v, size_t i,
                          struct dt_err *reterr)
{
    struct dt_standing_who who = { .table = a->d->who, .options = a->d->options };

    return dt_standing_find (v, i, s, &who, &a->warning, reterr);
}

static int encode (struct dt_solved_site *site, struct dt_err *reterr)
{
    struct dt_canon c;
    int r;

    dt_canon_init (&c);
    dt_solution_encode (site->solution, &c);
    if ((r = dt_canon_finish (&c)) == 0) {
        site->data = c.buf; /* moved */
        return 0;
    }
    dt_canon_done (&c);
    return r == -ENOMEM ? dt_err_nomem (reterr)
                        : dt_err_set (reterr, r, "the solution is too large to store");
}

/* What the site's question has for an answer, from the store or found now. */
static int answer (struct dt_ask *a, struct dt_store *s, struct dt_solving *v,
                       const struct dt_schema_of *schema, size_t i, struct dt_err *reterr)
{
    const Detent__SolveRequest *rq = a->rq->solve;
    struct dt_site_options options = { .strict = rq->has_strict && rq->strict,
                                       .no_free = rq->has_no_free && rq->no_free,
                                       .n_threads = 2 /* beside the daemon's other jobs */,
                                       .text = v->text, .input = dt_schema_check_input };
    struct dt_solved_site *site = &v->site[i];
    uint64_t start;
    int r;

    options.family = dt_schema_family (schema, v->deployment->site[i].family);
    if ((r = dt_site_key (v->deployment, i, v->source, v->n_sources, &options, &site->key,
                          reterr)) < 0)
        return r;
    if (stored (a, s, site))
        return 0;
    start = dt_time_mono_ns ();
    if ((r = dt_site_solve (v->deployment, i, v->source, v->n_sources, &options, &site->solution,
                            NULL, reterr)) < 0)
        return r;
    site->solve_us = (dt_time_mono_ns () - start) / 1000;
    return encode (site, reterr);
}

/* A hit of the JIT cache is one of its whole key: the answer, and what certificates in
 * force make of its points. */
static int solve_site (struct dt_ask *a, struct dt_store *s, struct dt_solving *v,
                       const struct dt_schema_of *schema, size_t i, struct dt_err *reterr)
{
    struct dt_solved_site *site = &v->site[i];
    int r;

    if ((r = answer (a, s, v, schema, i, reterr)) < 0
        || (r = find_standing (a, s, v, i, reterr)) < 0)
        return r;
    atomic_fetch_add (is_hit (site) ? &a->d->cache_hits : &a->d->cache_misses, 1);
    return 0;
}

/* In a transaction: what the cache lacks, and the deployment as solved. */
static int put (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_solving *v = ctx;
    const struct dt_deployment *d = v->deployment;
    struct dt_source_row *source = dt_arena_array (&v->arena, v->n_sources, sizeof *source);
    struct dt_site_row *site = dt_arena_array (&v->arena, d->n_sites, sizeof *site);
    struct dt_digest file;
    int r;

    if (!source || !site)
        return dt_err_nomem (reterr);
    if ((r = dt_store_blob_put (s, "deployment", v->file, v->n_file, &file, reterr)) < 0)
        return r;
    for (size_t i = 0; i < v->n_sources; i++) {
        source[i].name = v->source[i].name;
        if ((r = dt_store_blob_put (s, "source", v->source[i].text, v->source[i].len,
                                    &source[i].digest, reterr)) < 0)
            return r;
    }
    for (size_t i = 0; i < d->n_sites; i++) {
        site[i] = (struct dt_site_row){ .family = d->site[i].family, .site = d->site[i].site,
                                        .key = v->site[i].key };
        if (!v->site[i].cached
            && (r = dt_store_solution_put (s, &v->site[i].key, v->site[i].data.data,
                                           v->site[i].data.len, v->site[i].solve_us, reterr)) < 0)
            return r;
        if (!v->site[i].standing.cached
            && (r = dt_store_standing_put (s, &v->site[i].standing.key, &v->site[i].key,
                                           v->site[i].standing.data.data,
                                           v->site[i].standing.data.len, reterr)) < 0)
            return r;
    }
    return dt_store_deployment_put (s, d->name, &file, source, v->n_sources, site, d->n_sites,
                                    reterr);
}

/* All but this of a frame may be solutions; names and numbers are far less. */
#define ROOM_BYTES (1u << 20)

/* Borrows from the solving. */
static int describe (struct dt_arena *arena, const struct dt_solving *v,
                     Detent__SiteSolution ***ret, size_t *ret_n, struct dt_err *reterr)
{
    size_t n = v->deployment->n_sites, bytes = 0;
    Detent__SiteSolution *m = dt_arena_array (arena, n, sizeof *m);
    Detent__SiteSolution **list = dt_arena_array (arena, n, sizeof *list);

    if (!m || !list)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++) {
        const struct dt_solved_site *site = &v->site[i];

        detent__site_solution__init (list[i] = &m[i]);
        m[i].family = (char *)v->deployment->site[i].family;
        m[i].site = (char *)v->deployment->site[i].site;
        m[i].key = (ProtobufCBinaryData){ DT_DIGEST_BYTES, (uint8_t *)site->standing.key.bytes };
        m[i].question = (ProtobufCBinaryData){ DT_DIGEST_BYTES, (uint8_t *)site->key.bytes };
        m[i].certified = site->standing.certified;
        m[i].n_certified = site->standing.n_points;
        m[i].unjudged = (char *)site->standing.unjudged;
        m[i].cached = is_hit (site);
        m[i].solve_us = site->solve_us;
        m[i].solution = (ProtobufCBinaryData){ site->data.len, site->data.data };
        bytes += site->data.len;
    }
    if (bytes > DT_WIRE_MAX_BYTES - ROOM_BYTES)
        return dt_err_set (reterr, -DT_ELIMIT,
                           "the solutions of deployment %s have %zu bytes; a reply takes at most "
                           "%u: split its sites over several deployments, or solve it --offline",
                           v->deployment->name, bytes, DT_WIRE_MAX_BYTES - ROOM_BYTES);
    *ret = list;
    *ret_n = n;
    return 0;
}

/* The reply borrows from the solving, which lives until the ask is released. */
static int reply_solve (struct dt_ask *a, struct dt_solving *v, struct dt_err *reterr)
{
    Detent__SolveReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    int r;

    if (!reply)
        return dt_err_nomem (reterr);
    detent__solve_reply__init (reply);
    reply->deployment = (char *)v->deployment->name;
    if ((r = describe (&a->arena, v, &reply->site, &reply->n_site, reterr)) < 0)
        return r;
    a->reply.body_case = DETENT__REPLY__BODY_SOLVE;
    a->reply.solve = reply;
    return 0;
}

/* Everything was there, and the store holds the same deployment: there is nothing to
 * write, and nothing to wait for. */
static int is_known (const struct dt_solving *v, struct dt_store *s, struct dt_err *reterr)
{
    size_t i;

    for (i = 0; i < v->deployment->n_sites && is_hit (&v->site[i]); i++)
        ;
    return i < v->deployment->n_sites ? 0 : dt_solving_is_stored (v, s, reterr);
}

static int solve (struct dt_ask *a, struct dt_store *s, struct dt_err *reterr)
{
    struct dt_solving *v = dt_ask_solving (a);
    struct dt_schema_of *schema;
    int r;

    if (!v)
        return dt_err_nomem (reterr);
    if ((r = dt_solving_take (v, a->rq->solve->deployment, reterr)) < 0)
        return r;
    if ((r = dt_families_get (a->d->families, a->d->options, v->deployment->backend, &schema,
                              &a->warning, reterr)) < 0)
        return r;
    for (size_t i = 0; r == 0 && i < v->deployment->n_sites; i++)
        r = solve_site (a, s, v, schema, i, reterr);
    dt_schema_unref (schema);
    if (r < 0)
        return r;
    if ((r = reply_solve (a, v, reterr)) < 0) /* what no reply can tell is not stored */
        return r;
    if ((r = is_known (v, s, reterr)) != 0)
        return r < 0 ? r : 0;
    return dt_pool_transact (a->d->writer, put, v, reterr);
}

/* Subscribers learn that there is a solve, and ask for it: it may be large. */
static void solved (struct dt_ask *a)
{
    Detent__SolveReply body = DETENT__SOLVE_REPLY__INIT;
    Detent__Reply event = a->reply;

    body.deployment = a->reply.solve->deployment;
    event.solve = &body;
    dt_publish (a->d, "solve", &event);
}

int dt_req_solve (struct dt_ask *a, struct dt_err *reterr)
{
    a->after = solved;
    return dt_ask_crew (a, solve, reterr);
}

static int pins (struct dt_ask *a, struct dt_store *s, struct dt_err *reterr)
{
    Detent__PinsReply *reply = dt_arena_alloc (&a->arena, sizeof *reply);
    struct dt_solving *v = dt_ask_solving (a);
    int r;

    if (!reply || !v)
        return dt_err_nomem (reterr);
    detent__pins_reply__init (reply);
    reply->deployment = a->rq->pins->deployment;
    if ((r = dt_solving_load (v, s, reply->deployment, reterr)) < 0)
        return r;
    for (size_t i = 0; i < v->deployment->n_sites; i++)
        if ((r = find_standing (a, s, v, i, reterr)) < 0)
            return r;
    if ((r = describe (&a->arena, v, &reply->site, &reply->n_site, reterr)) < 0)
        return r;
    a->reply.body_case = DETENT__REPLY__BODY_PINS;
    a->reply.pins = reply;
    return 0;
}

int dt_req_pins (struct dt_ask *a, struct dt_err *reterr)
{
    int r = dt_check_name ("deployment", a->rq->pins->deployment, reterr);

    return r < 0 ? r : dt_ask_crew (a, pins, reterr);
}
