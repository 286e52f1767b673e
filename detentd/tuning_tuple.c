/* detentd/tuning_tuple.c - the tuple of a tune: its bytes, and what is stored of it. */
#include "detentd/tuning_parts.h"

#include "detentd/covering.h"
#include "tuner/tuple.h"

/* Free fields without a claim, with the key of the certificates that cover them. */
static int note_free (struct dt_tuning *t, size_t i, struct dt_err *reterr)
{
    const struct dt_solution *s = t->solving.site[i].solution;
    struct dt_covering cover = dt_covering_of (&t->solving.deployment->site[i], s, t->measure.who);
    struct dt_tuning_site *site = &t->site[i];
    struct dt_digest key;
    int r;

    if (s->verdict[site->result.chosen] == DT_SAMPLED)
        t->row.sampled = 1;
    if (!dt_covering_needs_any (s))
        return 0;
    if (!(site->free = dt_arena_array (&t->solving.arena, s->n_points, sizeof *site->free)))
        return dt_err_nomem (reterr);
    if ((r = dt_covering_key (&cover, site->result.chosen, &t->solving.arena, &key, NULL, NULL,
                              reterr)) < 0)
        return r;
    for (size_t k = 0; k < s->n_points; k++)
        if (dt_covering_needs (&s->point[k]))
            site->free[site->n_free++] = (struct dt_free_row){
                .family = s->family, .site = s->site, .field = s->point[k].field, .key = key };
    return 0;
}

int dt_tuning_tuple (struct dt_tuning *t, struct dt_err *reterr)
{
    const Detent__WorkerIdentity *who = t->measure.who;
    struct dt_tuple_backend backend = { .name = who->name, .build = who->build,
                                        .libraries = who->libraries, .driver = who->driver,
                                        .device = who->device, .units = who->units };
    size_t n = t->solving.deployment->n_sites;
    struct dt_tuple_site *site = dt_arena_array (&t->solving.arena, n, sizeof *site);
    int r;

    if (!site)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++) {
        const struct dt_solution *s = t->solving.site[i].solution;

        site[i] = (struct dt_tuple_site){
            .solution = s,
            .assignment = t->site[i].result.chosen,
            .table = t->site[i].tables.table,
            .n_tables = t->site[i].tables.n,
            .pinned = dt_digest_of ("selector", t->site[i].pinned.data, t->site[i].pinned.len),
            .stock = dt_digest_of ("selector", s->stock.data, s->stock.len) };
        if ((r = dt_solving_program (&t->solving, &t->solving.deployment->site[i], &site[i].program,
                                     reterr)) < 0)
            return r;
    }
    t->row.deployment = t->job->deployment;
    t->row.uncovered = ""; /* a commit looks for certificates */
    for (size_t i = 0; i < n; i++)
        if ((r = note_free (t, i, reterr)) < 0)
            return r;
    return dt_tuple_encode (t->solving.deployment, &backend, site, n, &t->tuple, &t->row.bits,
                            &t->row.digest, reterr);
}

int dt_tuning_put (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct dt_tuning *t = ctx;
    size_t n = t->solving.deployment->n_sites;
    struct dt_selector_row *row = dt_arena_array (&t->solving.arena, n, sizeof *row);
    struct dt_digest digest;
    int r;

    if (!row)
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < n; i++) {
        const struct dt_solution *solution = t->solving.site[i].solution;

        row[i].family = solution->family;
        row[i].site = solution->site;
        if ((r = dt_store_blob_put (s, "selector", t->site[i].pinned.data,
                                    t->site[i].pinned.len, &row[i].pinned, reterr)) < 0
            || (r = dt_store_blob_put (s, "selector", solution->stock.data,
                                       solution->stock.len, &row[i].stock, reterr)) < 0)
            return r;
    }
    if ((r = dt_store_blob_put (s, "tuple", t->tuple.data, t->tuple.len, &digest, reterr)) < 0
        || (r = dt_store_tuple_put (s, &t->row, row, n, reterr)) < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < t->site[i].n_free; k++)
            if ((r = dt_store_tuple_free_put (s, &digest, &t->site[i].free[k], reterr)) < 0)
                return r;
    return dt_job_put_end (t->job, s, &t->reply, &digest, reterr);
}
