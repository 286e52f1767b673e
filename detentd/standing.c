/* detentd/standing.c - what stands behind the selection points of a solved site. */
#include "detentd/standing.h"

#include <errno.h>
#include <string.h>

#include "detentd/covering.h"

/* --- counting -------------------------------------------------------------------------- */

static int has_free (const struct dt_solution *s)
{
    size_t i;

    for (i = 0; i < s->n_points && !s->point[i].is_free; i++)
        ;
    return i < s->n_points;
}

/* Those of one legal assignment. */
static int count_one (struct dt_store *s, const struct dt_covering *cover, size_t assignment,
                      struct dt_arena *scratch, uint64_t *certified, struct dt_err *reterr)
{
    const struct dt_solution *solution = cover->solution;
    struct dt_digest key, certificate;
    int r = dt_covering_key (cover, assignment, scratch, &key, NULL, NULL, reterr);

    if (r == -DT_EUNSUPPORTED || r == -DT_EREFUSED)
        return 0; /* nothing certifies it */
    for (size_t i = 0; r >= 0 && i < solution->n_points; i++)
        if (solution->point[i].is_free
            && (r = dt_store_certified (s, &key, solution->point[i].field, &certificate, reterr))
                   > 0)
            certified[i]++;
    return r < 0 ? r : 0;
}

int dt_standing_count (struct dt_store *s, const struct dt_site *site,
                       const struct dt_solution *solution, const Detent__WorkerIdentity *who,
                       struct dt_arena *a, uint64_t **ret_certified, struct dt_err *reterr)
{
    uint64_t *certified = dt_arena_array (a, solution->n_points, sizeof *certified);
    struct dt_covering cover;
    int r = 0;

    if (!certified)
        return dt_err_nomem (reterr);
    *ret_certified = certified;
    if (!who || !has_free (solution))
        return 0;
    cover = dt_covering_of (site, solution, who);
    for (size_t i = 0; r == 0 && i < solution->n_assignments; i++) {
        struct dt_arena scratch = { 0 };

        if (solution->verdict[i] != DT_ILLEGAL)
            r = count_one (s, &cover, i, &scratch, certified, reterr);
        dt_arena_done (&scratch);
    }
    return r;
}

/* --- the cache -------------------------------------------------------------------------- */

struct finding {
    struct dt_solving *v;
    size_t site;
    const struct dt_standing_who *ask;
    const Detent__WorkerIdentity *who;
    struct dt_err *warning;
};

static void put_text (struct dt_canon *c, const char *key, const char *text)
{
    dt_canon_kstr (c, key, text ? text : "");
}

/* All that may change which certificates hold: those of sites of this name that were not
 * revoked, and who computes. */
static int digest_in_force (const struct dt_buf *certificates, const Detent__WorkerIdentity *who,
                            struct dt_digest *ret, struct dt_err *reterr)
{
    struct dt_canon c;
    int r;

    dt_canon_init (&c);
    dt_canon_map (&c);
    put_text (&c, "build", who ? who->build : NULL);
    dt_canon_kbytes (&c, "certificates", certificates->data, certificates->len);
    put_text (&c, "device", who ? who->device : NULL);
    put_text (&c, "driver", who ? who->driver : NULL);
    put_text (&c, "libraries", who ? who->libraries : NULL);
    put_text (&c, "name", who ? who->name : NULL);
    dt_canon_kint (&c, "units", who ? who->units : 0);
    dt_canon_end (&c);
    if ((r = dt_canon_finish (&c)) == 0)
        *ret = dt_digest_of ("in force", c.buf.data, c.buf.len);
    dt_canon_done (&c);
    return r == 0 ? 0 : r == -ENOMEM ? dt_err_nomem (reterr)
                                     : dt_err_set (reterr, r, "too many certificates to be named");
}

static int find_key (struct finding *f, struct dt_store *s, struct dt_err *reterr)
{
    const struct dt_deployment *d = f->v->deployment;
    const struct dt_site *site = &d->site[f->site];
    struct dt_solved_site *solved = &f->v->site[f->site];
    struct dt_buf certificates = { 0 };
    struct dt_digest in_force;
    int r = dt_store_in_force (s, site->family, site->site, &certificates, reterr);
    int any = certificates.len > 0;

    if (r == 0 && any)
        r = dt_who_get (f->ask->table, f->ask->options, d->backend, dt_covering_units (d), 0,
                        &f->v->arena, &f->who, &solved->standing.unjudged, reterr);
    if (r == 0 && any)
        r = digest_in_force (&certificates, f->who, &in_force, reterr);
    if (r == 0)
        solved->standing.key = dt_solve_cache_key (&solved->key, any ? &in_force : NULL);
    dt_buf_done (&certificates);
    return r;
}

static int encode (struct dt_solved_site *site, struct dt_err *reterr)
{
    struct dt_canon c;
    int r;

    dt_canon_init (&c);
    dt_canon_list (&c);
    for (size_t i = 0; i < site->solution->n_points; i++)
        dt_canon_int (&c, (int64_t)site->standing.certified[i]);
    dt_canon_end (&c);
    if ((r = dt_canon_finish (&c)) == 0) {
        site->standing.data = c.buf; /* moved */
        return 0;
    }
    dt_canon_done (&c);
    return dt_err_nomem (reterr); /* it is far from too long */
}

/* Of a solution whose number of points need not be known: the key says that it is this
 * one's. */
static int decode (struct dt_solving *v, struct dt_solved_site *site, const struct dt_buf *b,
                   struct dt_err *reterr)
{
    struct dt_canon_iter it = { 0 };
    struct dt_canon_value list, item;
    uint64_t *certified;
    int64_t count;
    size_t n, i = 0;
    int r;

    if ((r = dt_canon_check (b->data, b->len, &list, reterr)) < 0)
        return r;
    n = dt_canon_count (list);
    if (!(certified = dt_arena_array (&v->arena, n, sizeof *certified)))
        return dt_err_nomem (reterr);
    while (dt_canon_tag (list) == 'l' && dt_canon_next (list, &it, NULL, NULL, &item)
           && dt_canon_as_int (item, &count) == 0 && count >= 0)
        certified[i++] = (uint64_t)count;
    if (dt_canon_tag (list) != 'l' || i != n)
        return dt_err_set (reterr, -DT_ECORRUPT, "a standing that is no list of counts");
    site->standing.certified = certified;
    site->standing.n_points = n;
    return 0;
}

static int stored (struct finding *f, struct dt_store *s, struct dt_err *reterr)
{
    struct dt_solved_site *site = &f->v->site[f->site];
    struct dt_buf b = { 0 };
    int r = dt_store_standing_get (s, &site->standing.key, &b, reterr);

    if (r == 0)
        r = decode (f->v, site, &b, reterr);
    dt_buf_done (&b);
    return r;
}

/* In one view of the store: what is counted is what the key says. */
static int find (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct finding *f = ctx;
    struct dt_solved_site *site = &f->v->site[f->site];
    struct dt_err err = { "" };
    int r;

    if ((r = find_key (f, s, reterr)) < 0)
        return r;
    if ((r = stored (f, s, &err)) == 0) {
        site->standing.cached = 1;
        return 0;
    }
    if (r == -ENOMEM)
        return dt_err_nomem (reterr);
    if (r != -DT_ENOTFOUND)
        dt_err_set (f->warning, r, "certificates are counted again: %s", err.text);
    if ((r = dt_solving_decode (site, reterr)) < 0)
        return r;
    site->standing.n_points = site->solution->n_points;
    if ((r = dt_standing_count (s, &f->v->deployment->site[f->site], site->solution, f->who,
                                &f->v->arena, &site->standing.certified, reterr)) < 0)
        return r;
    return encode (site, reterr);
}

int dt_standing_find (struct dt_solving *v, size_t site, struct dt_store *s,
                      const struct dt_standing_who *who, struct dt_err *warning,
                      struct dt_err *reterr)
{
    struct finding f = { .v = v, .site = site, .ask = who, .warning = warning };

    return dt_store_read (s, find, &f, reterr);
}
