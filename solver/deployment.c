/* solver/deployment.c - a deployment's facts: keys, types and what must agree. */
#include "solver/deployment.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "solver/yaml.h"

#define MAX_NAME 63
#define MAX_TEXT 1024
#define MAX_KEYS 16

struct reader {
    const char *file;
    struct dt_deployment *d;
    struct dt_err *err;
};

/* Read a value into a field of its record. */
typedef int (*read_f) (struct reader *r, const struct dt_yaml *y, void *field);

struct key {
    const char *name;
    read_f read;
    size_t offset; /* of the field in the record */
    int optional;
};

static int refuse (struct reader *r, size_t line, size_t column, const char *format, ...)
    __attribute__ ((format (printf, 4, 5)));
static int refuse (struct reader *r, size_t line, size_t column, const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start (ap, format);
    vsnprintf (text, sizeof text, format, ap);
    va_end (ap);
    return dt_err_set (r->err, -DT_EINPUT, "%s:%zu:%zu: %s", r->file, line, column, text);
}

static int wrong (struct reader *r, const struct dt_yaml *y, const char *want)
{
    char what[64];

    return refuse (r, y->line, y->column, "%s must be %s, not %s",
                   y->key ? y->key : "an entry", want, dt_yaml_describe (y, what));
}

/* --- scalars ---------------------------------------------------------------- */

static int read_text (struct reader *r, const struct dt_yaml *y, void *field)
{
    const char *p;

    if (y->kind == DT_YAML_INT || y->kind == DT_YAML_BOOL)
        return wrong (r, y, "text in quotes");
    if (y->kind != DT_YAML_TEXT || !*y->text)
        return wrong (r, y, "text");
    if (strlen (y->text) > MAX_TEXT)
        return refuse (r, y->line, y->column, "%s: text of more than %d bytes", y->key, MAX_TEXT);
    for (p = y->text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return refuse (r, y->line, y->column, "%s: a control character", y->key);
    *(const char **)field = y->text;
    return 0;
}

static int in (char c, const char *set)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr (set, c));
}

/* [a-z0-9][a-z0-9._-]{0,62} */
static int read_name (struct reader *r, const struct dt_yaml *y, void *field)
{
    const char *p = y->text;
    int ret;

    if ((ret = read_text (r, y, field)) < 0)
        return ret;
    if (in (*p, ""))
        while (in (*p, "._-"))
            p++;
    if (*p || strlen (y->text) > MAX_NAME)
        return refuse (r, y->line, y->column,
                       "%s \"%.80s\": a name is 1 to %d of a-z 0-9 . _ - and starts with a "
                       "letter or digit", y->key, y->text, MAX_NAME);
    return 0;
}

/* A file name without a folder. */
static int read_program (struct reader *r, const struct dt_yaml *y, void *field)
{
    size_t n;
    int ret;

    if ((ret = read_text (r, y, field)) < 0)
        return ret;
    n = strlen (y->text);
    if (n < 4 || n > MAX_NAME || strcmp (y->text + n - 3, ".py") != 0 || *y->text == '.'
        || strchr (y->text, '/'))
        return refuse (r, y->line, y->column,
                       "program \"%.80s\": must be the name of a .py file without a folder",
                       y->text);
    return 0;
}

static int read_count (struct reader *r, const struct dt_yaml *y, void *field)
{
    if (y->kind != DT_YAML_INT || y->i < 1)
        return wrong (r, y, "an integer of at least 1");
    *(int64_t *)field = y->i;
    return 0;
}

static int read_version (struct reader *r, const struct dt_yaml *y, void *field)
{
    (void)field;
    return y->kind == DT_YAML_INT && y->i == 1
               ? 0
               : wrong (r, y, "1 (the one version that is read)");
}

/* --- maps ------------------------------------------------------------------- */

static int unknown_key (struct reader *r, const struct dt_yaml *y, const struct key *key,
                        size_t n, const char *what)
{
    const char *name[MAX_KEYS], *near;
    size_t i;

    for (i = 0; i < n; i++)
        name[i] = key[i].name;
    near = dt_suggest (y->key, name, n);
    return refuse (r, y->key_line, y->key_column, "%s has no key \"%.64s\"%s%s%s", what, y->key,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* Read a map by its table into the record at `base`. */
static int read_record (struct reader *r, const struct dt_yaml *map, const char *what,
                        const struct key *key, size_t n, void *base)
{
    const struct dt_yaml *y;
    uint8_t seen[MAX_KEYS] = { 0 };
    size_t i;
    int ret;

    if (map->kind != DT_YAML_MAP)
        return wrong (r, map, "a map");
    for (y = map->first; y; y = y->next) {
        for (i = 0; i < n && strcmp (key[i].name, y->key) != 0; i++)
            ;
        if (i == n)
            return unknown_key (r, y, key, n, what);
        seen[i] = 1;
        if ((ret = key[i].read (r, y, (char *)base + key[i].offset)) < 0)
            return ret;
    }
    for (i = 0; i < n; i++)
        if (!seen[i] && !key[i].optional)
            return refuse (r, map->line, map->column, "%s needs the key \"%s\"", what,
                           key[i].name);
    return 0;
}

static int read_fact (struct reader *r, const struct dt_yaml *y, struct dt_fact *ret)
{
    const char *p = y->key;

    if (*p >= 'a' && *p <= 'z')
        while (in (*p, "_"))
            p++;
    if (p == y->key || *p || strlen (y->key) > MAX_NAME)
        return refuse (r, y->key_line, y->key_column,
                       "\"%.80s\": a fact's name is 1 to %d of a-z 0-9 _ and starts with a letter",
                       y->key, MAX_NAME);
    ret->name = y->key;
    if (y->kind == DT_YAML_INT || y->kind == DT_YAML_BOOL) {
        ret->kind = y->kind == DT_YAML_INT ? DT_FACT_INT : DT_FACT_BOOL;
        ret->i = y->i;
        return 0;
    }
    if (y->kind != DT_YAML_TEXT)
        return wrong (r, y, "an integer, true, false or text");
    ret->kind = DT_FACT_STR;
    return read_text (r, y, &ret->s);
}

struct facts {
    struct dt_fact *fact;
    size_t n;
};

static int read_facts (struct reader *r, const struct dt_yaml *map, void *field)
{
    struct facts *f = field;
    const struct dt_yaml *y;
    int ret;

    if (map->kind != DT_YAML_MAP)
        return wrong (r, map, "a map");
    if (!(f->fact = dt_arena_array (&r->d->arena, map->n, sizeof *f->fact)))
        return dt_err_nomem (r->err);
    for (y = map->first; y; y = y->next)
        if ((ret = read_fact (r, y, &f->fact[f->n++])) < 0)
            return ret;
    return 0;
}

/* Facts that are counts. */
static int read_counts (struct reader *r, const struct dt_yaml *map, void *field)
{
    const struct dt_yaml *y;
    int64_t count;
    int ret;

    if ((ret = read_facts (r, map, field)) < 0)
        return ret;
    for (y = map->first; y; y = y->next)
        if ((ret = read_count (r, y, &count)) < 0)
            return ret;
    return 0;
}

/* A list of counts, each larger than the one before. */
struct counts {
    int64_t *value;
    size_t n;
};

static int read_ascending (struct reader *r, const struct dt_yaml *list, void *field)
{
    struct counts *c = field;
    const struct dt_yaml *y;

    if (list->kind != DT_YAML_LIST)
        return wrong (r, list, "a list");
    if (!(c->value = dt_arena_array (&r->d->arena, list->n, sizeof *c->value)))
        return dt_err_nomem (r->err);
    for (y = list->first; y; y = y->next, c->n++) {
        if (y->kind != DT_YAML_INT || y->i < 1)
            return refuse (r, y->line, y->column, "%s: an entry must be an integer of at least 1",
                           list->key);
        if (c->n > 0 && y->i <= c->value[c->n - 1])
            return refuse (r, y->line, y->column, "%s must ascend", list->key);
        c->value[c->n] = y->i;
    }
    return 0;
}

/* --- the document ------------------------------------------------------------
 * Records as the file has them; they become a dt_deployment when all is read,
 * for a site's facts need the limits, which may come later. */

struct engine {
    const char *name, *build;
};
static const struct key engine_key[] = {
    { "name", read_name, offsetof (struct engine, name), 0 },
    { "build", read_text, offsetof (struct engine, build), 0 },
};
static int read_engine (struct reader *r, const struct dt_yaml *y, void *field)
{
    return read_record (r, y, "engine", engine_key, DT_ARRAY_SIZE (engine_key), field);
}

struct document {
    const char *name, *model, *backend;
    struct engine engine;
    struct facts parallelism, limits;
    struct counts graph_buckets;
    const struct dt_yaml *sites, *claims, *outside;
};
static int keep (struct reader *r, const struct dt_yaml *y, void *field)
{
    if (y->kind != DT_YAML_LIST)
        return wrong (r, y, "a list");
    *(const struct dt_yaml **)field = y;
    return 0;
}
static const struct key document_key[] = {
    { "version", read_version, 0, 0 },
    { "name", read_name, offsetof (struct document, name), 0 },
    { "model", read_text, offsetof (struct document, model), 0 },
    { "engine", read_engine, offsetof (struct document, engine), 0 },
    { "backend", read_name, offsetof (struct document, backend), 0 },
    { "parallelism", read_counts, offsetof (struct document, parallelism), 1 },
    { "limits", read_counts, offsetof (struct document, limits), 0 },
    { "graph_buckets", read_ascending, offsetof (struct document, graph_buckets), 1 },
    { "sites", keep, offsetof (struct document, sites), 0 },
    { "claims", keep, offsetof (struct document, claims), 1 },
    { "outside", keep, offsetof (struct document, outside), 1 },
};

struct site {
    const char *family, *site, *program;
    int64_t calls_per_step;
    struct facts facts;
};
static const struct key site_key[] = {
    { "family", read_name, offsetof (struct site, family), 0 },
    { "site", read_name, offsetof (struct site, site), 0 },
    { "program", read_program, offsetof (struct site, program), 0 },
    { "calls_per_step", read_count, offsetof (struct site, calls_per_step), 0 },
    { "facts", read_facts, offsetof (struct site, facts), 0 },
};
static const struct key outside_key[] = {
    { "what", read_text, offsetof (struct dt_outside, what), 0 },
    { "reason", read_text, offsetof (struct dt_outside, reason), 0 },
};
static const struct key claim_key[] = {
    { "family", read_name, offsetof (struct dt_claim, family), 0 },
    { "field", read_text, offsetof (struct dt_claim, field), 0 },
    { "reason", read_text, offsetof (struct dt_claim, reason), 0 },
    { "source", read_text, offsetof (struct dt_claim, source), 0 },
};

/* The entry of a map whose key is `key`; it is there. */
static const struct dt_yaml *entry (const struct dt_yaml *map, const char *key)
{
    const struct dt_yaml *y;

    for (y = map->first; y && strcmp (y->key, key) != 0; y = y->next)
        ;
    return y;
}

/* The limits, then the site's own facts; no name in both. */
static int join_facts (struct reader *r, const struct dt_yaml *map, const struct facts *own,
                       struct dt_site *s)
{
    const struct dt_yaml *y;
    size_t i, n = r->d->n_limits;

    s->fact = dt_arena_array (&r->d->arena, n + own->n, sizeof *s->fact);
    if (!s->fact)
        return dt_err_nomem (r->err);
    if (n > 0)
        memcpy (s->fact, r->d->limit, n * sizeof *s->fact);
    s->n_limits = n;
    s->n_facts = n + own->n;
    for (i = 0, y = entry (map, "facts")->first; i < own->n; i++, y = y->next) {
        s->n_facts = n;
        if (dt_site_fact (s, own->fact[i].name))
            return refuse (r, y->key_line, y->key_column,
                           "\"%s\" is a fact of this site and one of the limits", y->key);
        s->fact[n + i] = own->fact[i];
    }
    s->n_facts = n + own->n;
    return 0;
}

static int read_site (struct reader *r, const struct dt_yaml *y)
{
    struct dt_deployment *d = r->d;
    struct dt_site *s = &d->site[d->n_sites];
    struct site in_file = { 0 };
    int ret;

    ret = read_record (r, y, "a site", site_key, DT_ARRAY_SIZE (site_key), &in_file);
    if (ret < 0)
        return ret;
    if (dt_deployment_find (d, in_file.family, in_file.site) >= 0)
        return refuse (r, y->line, y->column, "site \"%s\" of family \"%s\" is here twice",
                       in_file.site, in_file.family);
    s->family = in_file.family;
    s->site = in_file.site;
    s->program = in_file.program;
    s->calls_per_step = in_file.calls_per_step;
    if ((ret = join_facts (r, y, &in_file.facts, s)) < 0)
        return ret;
    d->n_sites++;
    return 0;
}

static int read_claim (struct reader *r, const struct dt_yaml *y)
{
    struct dt_deployment *d = r->d;
    struct dt_claim *c = &d->claim[d->n_claims];
    size_t i;
    int ret;

    if ((ret = read_record (r, y, "a claim", claim_key, DT_ARRAY_SIZE (claim_key), c)) < 0)
        return ret;
    for (i = 0; i < d->n_claims; i++)
        if (strcmp (d->claim[i].family, c->family) == 0
            && strcmp (d->claim[i].field, c->field) == 0)
            return refuse (r, y->line, y->column, "field \"%s\" of family \"%s\" is claimed twice",
                           c->field, c->family);
    for (i = 0; i < d->n_sites; i++)
        if (strcmp (d->site[i].family, c->family) == 0)
            break;
    if (i == d->n_sites)
        return refuse (r, y->line, y->column, "a claim about family \"%s\", which no site has",
                       c->family);
    d->n_claims++;
    return 0;
}

static int fill (struct reader *r, const struct document *doc)
{
    struct dt_deployment *d = r->d;
    const struct dt_yaml *y;
    int ret;

    d->name = doc->name;
    d->model = doc->model;
    d->engine = doc->engine.name;
    d->engine_build = doc->engine.build;
    d->backend = doc->backend;
    d->parallelism = doc->parallelism.fact;
    d->n_parallelism = doc->parallelism.n;
    d->limit = doc->limits.fact;
    d->n_limits = doc->limits.n;
    d->graph_bucket = doc->graph_buckets.value;
    d->n_graph_buckets = doc->graph_buckets.n;
    d->site = dt_arena_array (&d->arena, doc->sites->n, sizeof *d->site);
    d->claim = dt_arena_array (&d->arena, doc->claims ? doc->claims->n : 0, sizeof *d->claim);
    d->outside = dt_arena_array (&d->arena, doc->outside ? doc->outside->n : 0,
                                 sizeof *d->outside);
    if (!d->site || !d->claim || !d->outside)
        return dt_err_nomem (r->err);
    if (doc->sites->n == 0)
        return refuse (r, doc->sites->line, doc->sites->column, "sites: at least one is needed");
    for (y = doc->sites->first; y; y = y->next)
        if ((ret = read_site (r, y)) < 0)
            return ret;
    for (y = doc->claims ? doc->claims->first : NULL; y; y = y->next)
        if ((ret = read_claim (r, y)) < 0)
            return ret;
    for (y = doc->outside ? doc->outside->first : NULL; y; y = y->next, d->n_outside++)
        if ((ret = read_record (r, y, "a part outside selection", outside_key,
                                DT_ARRAY_SIZE (outside_key), &d->outside[d->n_outside])) < 0)
            return ret;
    return 0;
}

int dt_deployment_parse (const char *file, const void *data, size_t n,
                         struct dt_deployment **ret, struct dt_err *reterr)
{
    struct reader rd = { .file = file, .err = reterr };
    struct document doc = { 0 };
    struct dt_yaml *root;
    int r;

    if (!(rd.d = dt_calloc (1, sizeof *rd.d)))
        return dt_err_nomem (reterr);
    if ((r = dt_yaml_parse (file, data, n, &rd.d->arena, &root, reterr)) < 0)
        goto fail;
    if ((r = read_record (&rd, root, "a deployment", document_key,
                          DT_ARRAY_SIZE (document_key), &doc)) < 0)
        goto fail;
    if ((r = fill (&rd, &doc)) < 0)
        goto fail;
    *ret = rd.d;
    return 0;
fail:
    dt_deployment_free (rd.d);
    return r;
}

struct dt_deployment *dt_deployment_free (struct dt_deployment *d)
{
    if (d) {
        dt_arena_done (&d->arena);
        dt_free (d);
    }
    return NULL;
}

const struct dt_fact *dt_site_fact (const struct dt_site *s, const char *name)
{
    size_t i;

    for (i = 0; i < s->n_facts; i++)
        if (strcmp (s->fact[i].name, name) == 0)
            return &s->fact[i];
    return NULL;
}

int dt_site_is_called (const char *family, const char *site, const char *name)
{
    size_t n = strlen (family);

    return !strcmp (site, name)
           || (!strncmp (family, name, n) && name[n] == '/' && !strcmp (site, name + n + 1));
}

int64_t dt_deployment_find (const struct dt_deployment *d, const char *family, const char *site)
{
    size_t i;

    for (i = 0; i < d->n_sites; i++)
        if (strcmp (d->site[i].family, family) == 0 && strcmp (d->site[i].site, site) == 0)
            return (int64_t)i;
    return -1;
}
