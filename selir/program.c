/* selir/program.c - a program and the files that it imports. */
#include "selir/program.h"

#include <string.h>

#include "base/mem.h"
#include "selir/check.h"
#include "selir/parse.h"

struct loader {
    struct dt_program *p;
    const struct dt_source *source;
    size_t n;
    struct dt_module **module; /* [n], NULL until imported */
    struct dt_err *err;
};

static int names (const struct dt_source *s, const char *module)
{
    size_t n = strlen (module);

    return strncmp (s->name, module, n) == 0 && strcmp (s->name + n, ".py") == 0;
}

static struct dt_module *find (void *ctx, const char *name)
{
    struct loader *l = ctx;
    size_t i;

    for (i = 0; i < l->n; i++)
        if (names (&l->source[i], name))
            return l->module[i];
    return NULL;
}

static int load (struct loader *l, size_t index);

static int follow (struct loader *l, const struct dt_module *m, const struct dt_import *i)
{
    size_t k;

    if (strcmp (i->module, "__future__") == 0 || strcmp (i->module, "selir") == 0)
        return 0;
    for (k = 0; k < l->n; k++)
        if (names (&l->source[k], i->module))
            break;
    if (k == l->n)
        return dt_diag (l->err, -DT_ESYNTAX, &m->source, i->at, "import selir, or a file of the same folder",
                        "there is no module '%s'", i->module);
    if (l->module[k] && l->module[k]->state != 2)
        return dt_diag (l->err, -DT_ESYNTAX, &m->source, i->at, "move what both need to a third file",
                        "'%s' imports itself in a circle", i->module);
    return l->module[k] ? 0 : load (l, k);
}

static int follow_all (struct loader *l, const struct dt_module *m)
{
    const struct dt_import *i;
    uint32_t k;
    int r;

    for (k = 0; k < m->body.n; k++)
        if (m->body.stmt[k]->kind == DT_STMT_IMPORT)
            for (i = m->body.stmt[k]->import; i; i = i->next)
                if ((r = follow (l, m, i)) < 0)
                    return r;
    return 0;
}

static int is_program (const struct dt_source *src)
{
    size_t n = strlen (src->name);

    return n >= 3 && strcmp (src->name + n - 3, ".py") == 0;
}

static int copy_text (struct loader *l, struct dt_source *to, const struct dt_source *from)
{
    struct dt_arena *a = &l->p->arena;

    if (from->len > DT_SOURCE_MAX_BYTES)
        return dt_err_set (l->err, -DT_ELIMIT, "file %s: larger than %u bytes", from->name, DT_SOURCE_MAX_BYTES);
    to->len = from->len;
    if (!(to->name = dt_arena_strf (a, "%s", from->name)) || !(to->text = dt_arena_strn (a, from->text, from->len)))
        return dt_err_nomem (l->err);
    return 0;
}

/* Data files are kept as they are; the call of table () reads one. */
static int copy_data (struct loader *l)
{
    struct dt_program *p = l->p;
    size_t i;
    int r;

    if (!(p->data = dt_arena_array (&p->arena, l->n, sizeof *p->data)))
        return dt_err_nomem (l->err);
    for (i = 1; i < l->n; i++)
        if (!is_program (&l->source[i]) && (r = copy_text (l, &p->data[p->n_data++], &l->source[i])) < 0)
            return r;
    return 0;
}

static int copy_source (struct loader *l, struct dt_module *m, const struct dt_source *src)
{
    size_t n = strlen (src->name);

    if (n < 4 || n > 255 || strcmp (src->name + n - 3, ".py") != 0 || strchr (src->name, '/'))
        return dt_err_set (l->err, -DT_EINPUT, "program file '%s': a name without folders that ends in .py is needed", src->name);
    if (!(m->name = dt_arena_strn (&l->p->arena, src->name, n - 3)))
        return dt_err_nomem (l->err);
    return copy_text (l, &m->source, src);
}

/* Parse a file, then the files that it imports, then check it.  At most
 * DT_SOURCE_MAX_FILES deep. */
static int load (struct loader *l, size_t index)
{
    struct dt_module *m = dt_arena_alloc (&l->p->arena, sizeof *m);
    int r;

    if (!m)
        return dt_err_nomem (l->err);
    l->module[index] = m;
    m->file = l->p->n_files;
    l->p->file[l->p->n_files++] = m;
    m->state = 1;
    if ((r = copy_source (l, m, &l->source[index])) < 0
        || (r = dt_parse (&m->source, m->file, &l->p->arena, &l->p->n_exprs, &m->body, l->err)) < 0
        || (r = follow_all (l, m)) < 0 || (r = dt_check_module (l->p, m, find, l, l->err)) < 0)
        return r;
    m->state = 2;
    l->p->module[l->p->n_modules++] = m;
    return 0;
}

int dt_program_parse (const struct dt_source *source, size_t n_sources,
                      struct dt_program **ret, struct dt_err *reterr)
{
    struct dt_module *module[DT_SOURCE_MAX_FILES] = { NULL };
    struct loader l = { .source = source, .n = n_sources, .module = module, .err = reterr };
    int r;

    if (n_sources == 0 || n_sources > DT_SOURCE_MAX_FILES)
        return dt_err_set (reterr, -DT_ELIMIT, "a program has 1 to %d files, not %zu", DT_SOURCE_MAX_FILES, n_sources);
    if (!(l.p = dt_calloc (1, sizeof *l.p)))
        return dt_err_nomem (reterr);
    if (!(l.p->module = dt_arena_array (&l.p->arena, n_sources, sizeof (struct dt_module *)))
        || !(l.p->file = dt_arena_array (&l.p->arena, n_sources, sizeof (struct dt_module *)))) {
        r = dt_err_nomem (reterr);
        goto fail;
    }
    if ((r = copy_data (&l)) < 0 || (r = load (&l, 0)) < 0)
        goto fail;
    l.p->main = module[0];
    if ((r = dt_check_program (l.p, reterr)) < 0)
        goto fail;
    *ret = l.p;
    return 0;
fail:
    dt_program_free (l.p);
    return r;
}

struct dt_program *dt_program_free (struct dt_program *p)
{
    if (p) {
        dt_arena_done (&p->arena);
        dt_free (p);
    }
    return NULL;
}

const char *dt_program_family (const struct dt_program *p)
{
    return p->selection->family;
}

size_t dt_program_facts (const struct dt_program *p)
{
    return p->facts->n_fields;
}

const char *dt_program_fact (const struct dt_program *p, size_t i)
{
    return p->facts->field[i].name;
}
