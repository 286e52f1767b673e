/* detentd/solving.c - a deployment that travelled by content, with its programs. */
#include "detentd/solving.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MAX_FILE_NAME 128

void dt_solving_done (struct dt_solving *v)
{
    for (size_t i = 0; v->site && i < v->deployment->n_sites; i++) {
        dt_solution_free (v->site[i].solution);
        dt_buf_done (&v->site[i].data);
        dt_buf_done (&v->site[i].standing.data);
    }
    dt_deployment_free (v->deployment);
    dt_arena_done (&v->arena);
}

static int ends_in (const char *name, const char *ending)
{
    size_t n = strlen (name), e = strlen (ending);

    return n > e && strcmp (name + n - e, ending) == 0;
}

/* A file's name goes into messages and imports: no folder, nothing odd. */
static int check_file_name (const char *name, int program, struct dt_err *reterr)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789._-,=";
    size_t n = strlen (name);

    if (n == 0 || n > MAX_FILE_NAME || name[0] == '.' || strspn (name, good) != n)
        return dt_err_set (reterr, -DT_EINPUT, "'%.140s' is no file name: letters, digits, '.', "
                           "'_', '-', ',' and '=', at most %d", name, MAX_FILE_NAME);
    if (program && !ends_in (name, ".py") && !ends_in (name, ".json"))
        return dt_err_set (reterr, -DT_EINPUT,
                           "program %s does not end in .py, nor in .json as data files do", name);
    return 0;
}

static int by_name (const void *a, const void *b)
{
    return strcmp (((const struct dt_source *)a)->name, ((const struct dt_source *)b)->name);
}

static int check_sources (struct dt_solving *v, struct dt_err *reterr)
{
    qsort (v->source, v->n_sources, sizeof *v->source, by_name);
    for (size_t i = 1; i < v->n_sources; i++)
        if (strcmp (v->source[i - 1].name, v->source[i].name) == 0)
            return dt_err_set (reterr, -DT_EINPUT, "program %s was sent twice",
                               v->source[i].name);
    return 0;
}

static int parse (struct dt_solving *v, const char *name, struct dt_err *reterr)
{
    int r = dt_deployment_parse (name, v->file, v->n_file, &v->deployment, reterr);

    if (r < 0)
        return r;
    v->site = dt_arena_array (&v->arena, v->deployment->n_sites, sizeof *v->site);
    return v->site ? 0 : dt_err_nomem (reterr);
}

int dt_solving_take (struct dt_solving *v, const Detent__Deployment *m, struct dt_err *reterr)
{
    int r;

    if (m->n_program > DT_SOURCE_MAX_FILES)
        return dt_err_set (reterr, -DT_ELIMIT, "%zu programs; at most %d may be sent",
                           m->n_program, DT_SOURCE_MAX_FILES);
    if ((r = check_file_name (m->file->name, 0, reterr)) < 0)
        return r;
    if (!(v->source = dt_arena_array (&v->arena, m->n_program, sizeof *v->source)))
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < m->n_program; i++) {
        const Detent__File *f = m->program[i];

        if ((r = check_file_name (f->name, 1, reterr)) < 0)
            return r;
        if (f->data.len > DT_SOURCE_MAX_BYTES)
            return dt_err_set (reterr, -DT_ELIMIT, "program %s has %zu bytes; the limit is %u",
                               f->name, f->data.len, DT_SOURCE_MAX_BYTES);
        v->source[v->n_sources++] = (struct dt_source){
            .name = f->name, .text = f->data.data ? (char *)f->data.data : "",
            .len = f->data.len };
    }
    v->file = m->file->data.data ? (const void *)m->file->data.data : "";
    v->n_file = m->file->data.len;
    if ((r = check_sources (v, reterr)) < 0)
        return r;
    if (!(v->text = dt_arena_array (&v->arena, v->n_sources, sizeof *v->text)))
        return dt_err_nomem (reterr);
    for (size_t i = 0; i < v->n_sources; i++)
        v->text[i] = dt_solve_text (&v->source[i]);
    return parse (v, m->file->name, reterr);
}

/* A blob, in the arena. */
static int get_blob (struct dt_solving *v, struct dt_store *s, const char *kind,
                     const struct dt_digest *digest, const void **ret, size_t *ret_n,
                     struct dt_err *reterr)
{
    struct dt_buf b = { 0 };
    int r = dt_store_blob_get (s, kind, digest, &b, reterr);

    if (r == 0) {
        *ret_n = b.len;
        *ret = dt_arena_strn (&v->arena, b.len ? (char *)b.data : "", b.len);
        r = *ret ? 0 : dt_err_nomem (reterr);
    }
    dt_buf_done (&b);
    return r;
}

struct loading {
    struct dt_solving *v;
    const char *name;
    struct dt_digest digest[DT_SOURCE_MAX_FILES];
};

static int note_source (void *ctx, const struct dt_source_row *row)
{
    struct loading *l = ctx;
    struct dt_solving *v = l->v;

    if (v->n_sources == DT_SOURCE_MAX_FILES)
        return -DT_ELIMIT;
    l->digest[v->n_sources] = row->digest;
    v->source[v->n_sources].name = dt_arena_strf (&v->arena, "%s", row->name);
    return v->source[v->n_sources++].name ? 0 : -ENOMEM;
}

static int note_site (void *ctx, const struct dt_site_row *row)
{
    struct loading *l = ctx;
    struct dt_deployment *d = l->v->deployment;

    for (size_t i = 0; i < d->n_sites; i++)
        if (strcmp (d->site[i].family, row->family) == 0
            && strcmp (d->site[i].site, row->site) == 0)
            l->v->site[i].key = row->key;
    return 0;
}

int dt_solving_stored (struct dt_solved_site *site, struct dt_store *s, struct dt_err *reterr)
{
    struct dt_buf b = { 0 };
    int r;

    if ((r = dt_store_solution_get (s, &site->key, &b, &site->solve_us, reterr)) < 0) {
        dt_buf_done (&b);
        return r;
    }
    site->data = b; /* moved */
    site->cached = 1;
    return 0;
}

int dt_solving_decode (struct dt_solved_site *site, struct dt_err *reterr)
{
    struct dt_canon_value value;
    int r;

    if (site->solution)
        return 0;
    if ((r = dt_canon_check (site->data.data, site->data.len, &value, reterr)) < 0)
        return r;
    return dt_solution_decode (value, &site->solution, reterr);
}

/* Everything in one read: a solve of the same deployment may come in between. */
static int load (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct loading *l = ctx;
    struct dt_solving *v = l->v;
    struct dt_digest file;
    const void *text;
    int r;

    if ((r = dt_store_deployment_get (s, l->name, &file, reterr)) < 0
        || (r = get_blob (v, s, "deployment", &file, &v->file, &v->n_file, reterr)) < 0
        || (r = dt_store_sources (s, l->name, note_source, l, reterr)) < 0)
        return r;
    for (size_t i = 0; i < v->n_sources; i++) {
        if ((r = get_blob (v, s, "source", &l->digest[i], &text, &v->source[i].len, reterr)) < 0)
            return r;
        v->source[i].text = text;
    }
    if ((r = parse (v, l->name, reterr)) < 0
        || (r = dt_store_sites (s, l->name, note_site, l, reterr)) < 0)
        return r;
    for (size_t i = 0; i < v->deployment->n_sites; i++)
        if ((r = dt_solving_stored (&v->site[i], s, reterr)) < 0
            || (r = dt_solving_decode (&v->site[i], reterr)) < 0)
            return dt_err_prefix (reterr, r, "deployment '%s' must be solved again", l->name);
    return 0;
}

int dt_solving_load (struct dt_solving *v, struct dt_store *s, const char *name,
                     struct dt_err *reterr)
{
    struct loading l = { .v = v, .name = name };

    if (!(v->source = dt_arena_array (&v->arena, DT_SOURCE_MAX_FILES, sizeof *v->source)))
        return dt_err_nomem (reterr);
    return dt_store_read (s, load, &l, reterr);
}

struct comparing {
    const struct dt_solving *v;
    size_t n_sources, n_sites; /* rows that are as here */
};

static int compare_source (void *ctx, const struct dt_source_row *row)
{
    struct comparing *c = ctx;
    const struct dt_solving *v = c->v;

    for (size_t i = 0; i < v->n_sources; i++)
        if (strcmp (v->source[i].name, row->name) == 0) {
            c->n_sources += dt_digest_equal (&v->text[i], &row->digest) != 0;
            return 0;
        }
    c->n_sources = SIZE_MAX / 2; /* one that is not here */
    return 0;
}

static int compare_site (void *ctx, const struct dt_site_row *row)
{
    struct comparing *c = ctx;
    int64_t i = dt_deployment_find (c->v->deployment, row->family, row->site);

    c->n_sites += i < 0 || !dt_digest_equal (&c->v->site[i].key, &row->key) ? SIZE_MAX / 2 : 1;
    return 0;
}

static int compare (struct dt_store *s, void *ctx, struct dt_err *reterr)
{
    struct comparing *c = ctx;
    const struct dt_solving *v = c->v;
    struct dt_digest file, is = dt_digest_of ("deployment", v->file, v->n_file);
    int r;

    if ((r = dt_store_deployment_get (s, v->deployment->name, &file, reterr)) < 0)
        return r;
    if (!dt_digest_equal (&file, &is))
        return -DT_ENOTFOUND;
    if ((r = dt_store_sources (s, v->deployment->name, compare_source, c, reterr)) < 0)
        return r;
    return dt_store_sites (s, v->deployment->name, compare_site, c, reterr);
}

int dt_solving_is_stored (const struct dt_solving *v, struct dt_store *s, struct dt_err *reterr)
{
    struct comparing c = { .v = v };
    int r = dt_store_read (s, compare, &c, reterr);

    if (r == -DT_ENOTFOUND)
        return 0;
    return r < 0 ? r : c.n_sources == v->n_sources && c.n_sites == v->deployment->n_sites;
}

int dt_solving_program (const struct dt_solving *v, const struct dt_site *site,
                        struct dt_digest *ret, struct dt_err *reterr)
{
    struct dt_source source[DT_SOURCE_MAX_FILES];
    struct dt_program *program;
    size_t n = 1;
    int r;

    source[0].name = NULL;
    for (size_t i = 0; i < v->n_sources; i++)
        if (strcmp (v->source[i].name, site->program) == 0)
            source[0] = v->source[i];
        else if (n < DT_SOURCE_MAX_FILES)
            source[n++] = v->source[i];
    if (!source[0].name)
        return dt_err_set (reterr, -DT_EINPUT, "program %s of site %s was not sent",
                           site->program, site->site);
    if ((r = dt_program_parse (source, n, &program, reterr)) < 0)
        return r;
    r = dt_program_digest (program, ret, reterr);
    dt_program_free (program);
    return r;
}
